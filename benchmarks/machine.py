"""The machine a measurement ran on, and the little that is asked of it."""

import contextlib
import os
import platform
import re
import resource
from pathlib import Path


def pin(core: int) -> None:
    """Stay on one core where the system can do that and has more than one.

    The server has core 0, the client core 1: neither takes the other's cache, or its turn.
    """
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        if len(cores) > 1:
            os.sched_setaffinity(0, {cores[core]})


def allow_files(count: int) -> None:
    """Raise the number of open files as far as the machine allows, `count` at least where it does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count if hard == resource.RLIM_INFINITY else min(count, hard)
    with contextlib.suppress(ValueError, OSError):  # macOS says infinity and means 10,240
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))


def peak_rss_mb() -> float:
    """The most memory this process has had, in MB.

    Linux's ru_maxrss counts the parent's memory before exec, hence the file.
    """
    status = Path("/proc/self/status")
    if status.exists():
        found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text(encoding="ascii"))
        if found:
            return int(found[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)


def rss_mb() -> float:
    """The memory this process has now, in MB; the peak where the system does not tell."""
    status = Path("/proc/self/status")
    if status.exists():
        found = re.search(r"VmRSS:\s+(\d+) kB", status.read_text(encoding="ascii"))
        if found:
            return int(found[1]) / 1024
    return peak_rss_mb()


def described() -> str:
    """One line: processor, cores, system, Python."""
    name = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        found = re.search(r"model name\s*:\s*(.+)", info.read_text(encoding="utf-8"))
        name = found[1].strip() if found else name
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{name}, {os.cpu_count()} cores, {platform.system()} {platform.release()}, {python}"
