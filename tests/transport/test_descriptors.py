"""How many descriptors are left, and what says that none is."""

import errno
import os
import resource
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from rig.transport.descriptors import (
    RESERVE,
    TOO_MANY_FILES,
    Reserve,
    is_short,
    too_many_files,
)


@contextmanager
def nothing_left() -> Iterator[None]:
    """The process can open nothing more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = os.dup(0)
    os.close(lowest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


HOLDS: dict[str, tuple[int, int, bool]] = {
    "the first": (1024, 3, False),
    "the last that connections take": (1024, 1024 - RESERVE - 1, False),
    "the first that they leave": (1024, 1024 - RESERVE, True),
    "the very last": (1024, 1023, True),
    "of a low limit a quarter is left": (64, 47, False),
    "and no more": (64, 48, True),
}


@pytest.mark.parametrize(("limit", "number", "held"), HOLDS.values(), ids=HOLDS)
def test_the_last_descriptors_are_left_alone(limit: int, number: int, held: bool) -> None:
    assert Reserve(lambda: limit).holds(number) is held


def test_a_limit_that_is_raised_or_lowered_is_seen() -> None:
    limit = 100
    reserve = Reserve(lambda: limit)
    assert reserve.holds(80)
    limit = 1000
    assert not reserve.holds(80)
    assert reserve.begins == 1000 - RESERVE
    limit = 100
    reserve.forget()
    assert reserve.begins <= 80
    assert reserve.holds(80)


SHORT: dict[str, tuple[BaseException, bool]] = {
    "of the process": (OSError(errno.EMFILE, "x"), True),
    "of the system": (OSError(errno.ENFILE, "x"), True),
    "no buffers": (OSError(errno.ENOBUFS, "x"), True),
    "no memory": (OSError(errno.ENOMEM, "x"), True),
    "refused": (ConnectionRefusedError(errno.ECONNREFUSED, "x"), False),
    "no number": (OSError("x"), False),
    "a number of OpenSSL": (ssl.SSLError(errno.EMFILE, "x"), False),
    "a number of the resolver": (socket.gaierror(errno.EMFILE, "x"), False),
    "no fault of the system": (ValueError(errno.EMFILE), False),
}


@pytest.mark.parametrize(("fault", "short"), SHORT.values(), ids=SHORT)
def test_a_lack_of_descriptors_is_told_from_other_faults(fault: BaseException, short: bool) -> None:
    assert is_short(fault) is short


def test_a_resolver_that_could_open_nothing_says_only_that_it_does_not_know() -> None:
    fault = socket.gaierror(socket.EAI_AGAIN, "x")
    with nothing_left():
        short = is_short(fault)
    assert short


def test_the_error_may_be_tried_again_and_says_what_to_change() -> None:
    error = too_many_files()
    assert (error.reason, error.retryable, error.status) == (TOO_MANY_FILES, True, None)
    assert "ulimit -n" in error.message
    assert "slots" in error.message
