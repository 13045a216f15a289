"""Descriptors, of which a process may hold so many: each connection is one, and so is each open file.

The limit of a shell is often 1,024, of macOS 256, and a connection that takes the last one breaks
whatever opens a file next: a module that is loaded late, a tool, a log. So connections leave a few of
them alone. The kernel hands out the lowest number that is free, so the number of a new socket alone
says how many are taken.
"""

import errno
import socket
import ssl
import sys
from collections.abc import Callable

from rig.errors import UpstreamError

if sys.platform != "win32":
    import resource

RESERVE = 64
"""Descriptors that connections leave to the rest of the program, of a limit below 256 a quarter. The forty
threads that resolve names at the same time hold one or two each, modules and files that are read one."""

TOO_MANY_FILES = "too_many_files"
"""The `reason` of every error that stands for a lack of descriptors."""

WHY_SHORT = (
    "this process, or the system, has as many files open as it may: raise the limit (ulimit -n), or bound"
    " how many requests are under way: Client(slots=...)"
)
"""What is wrong and what a person can do about it; the end of the sentences of such errors."""

_SHORT = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


class Reserve:
    """The descriptors that connections leave alone.

    Args:
        limit: says how many the process may hold; asked only where a number looks as if it were one of
            the last, so a limit that is raised later holds from then on.

    Attributes:
        begins: numbers below are no part of it, for all that was known last.
    """

    __slots__ = ("_limit", "begins")

    def __init__(self, limit: Callable[[], int]) -> None:
        self._limit = limit
        self.begins = 0

    def holds(self, number: int) -> bool:
        """Whether a descriptor is one of the last; to be asked of those from `begins` on.

        Args:
            number: the descriptor.
        """
        limit = self._limit()
        self.begins = limit - min(RESERVE, limit // 4)
        return number >= self.begins

    def forget(self) -> None:
        """Ask for the limit anew: the kernel refused one that it should have given."""
        self.begins = 0


def _limit() -> int:
    if sys.platform == "win32":  # sockets are not counted there
        return sys.maxsize
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft


reserve = Reserve(_limit)
"""That of this process."""


def is_short(fault: BaseException) -> bool:
    """Whether something failed because the process, or the system, has nothing left to open it with.

    Args:
        fault: what the operating system raised. Without a descriptor for its socket a resolver often says
            only that a name can't be resolved, so of that one it is tried whether there is one.
    """
    if isinstance(fault, socket.gaierror):
        return _has_none()
    # SSLError is an OSError whose number is OpenSSL's.
    return (
        isinstance(fault, OSError) and not isinstance(fault, ssl.SSLError) and fault.errno in _SHORT
    )


def too_many_files() -> UpstreamError:
    """The error where no descriptor is left. Nothing was sent, and other requests will be done."""
    return UpstreamError(WHY_SHORT, reason=TOO_MANY_FILES, retryable=True)


def _has_none() -> bool:
    try:
        socket.socket().close()
    except OSError:
        return True
    return False
