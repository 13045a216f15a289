"""Exceptions of the http libraries: every one has a row, and nothing of it survives."""

import errno
import socket
import ssl
from collections.abc import Iterator
from types import ModuleType

import anyio
import h11
import httpcore
import httpx
import httpx2
import pytest

from rig.errors import (
    InvalidRequestError,
    NotConfiguredError,
    ProtocolError,
    RequestTimeoutError,
    RigError,
    StreamCutError,
    UpstreamError,
)
from rig.transport.foreign import FOREIGN, MAX_CHAIN, Phase, rig_error_from

SECRET = "http://user:planted@host/planted"
REQUEST = httpx.Request("POST", SECRET)


def exceptions_of(module: ModuleType) -> Iterator[type[Exception]]:
    for name in dir(module):
        found = getattr(module, name)
        if isinstance(found, type) and issubclass(found, Exception):
            yield found


@pytest.mark.parametrize("module", [httpx, httpx2, httpcore, h11], ids=lambda m: m.__name__)
def test_every_exception_a_library_exports_has_a_row(module: ModuleType) -> None:
    names = {kind.__name__ for kind in exceptions_of(module) if not issubclass(kind, Warning)}
    assert names <= FOREIGN.keys()


@pytest.mark.parametrize("module", [httpx, httpx2, httpcore], ids=lambda m: m.__name__)
def test_every_exception_becomes_ours_and_keeps_no_text(module: ModuleType) -> None:
    for kind in exceptions_of(module):
        fault = kind.__new__(kind, SECRET)
        error = rig_error_from(fault, "first_byte")
        assert isinstance(error, RigError), kind
        assert "planted" not in f"{error} {error!r} {error.args} {error.detail} {vars(error)}"


ROWS: dict[str, tuple[Exception, Phase, type[RigError], str]] = {
    "connect": (httpx.ConnectError(SECRET), "first_byte", UpstreamError, "connect_failed"),
    "connect time-out": (
        httpx.ConnectTimeout(SECRET),
        "first_byte",
        RequestTimeoutError,
        "connect",
    ),
    "pool time-out": (httpx.PoolTimeout(SECRET), "first_byte", RequestTimeoutError, "connect"),
    "write time-out": (httpx.WriteTimeout(SECRET), "first_byte", RequestTimeoutError, "write"),
    "no head": (httpx.ReadTimeout(SECRET), "first_byte", RequestTimeoutError, "first_byte"),
    "no more": (httpx.ReadTimeout(SECRET), "idle", RequestTimeoutError, "idle"),
    "reset": (httpx.ReadError(SECRET), "first_byte", UpstreamError, "reset"),
    "reset in the body": (httpx.ReadError(SECRET), "idle", StreamCutError, "reset"),
    "write": (httpx.WriteError(SECRET), "first_byte", UpstreamError, "write_failed"),
    "dropped": (
        httpx.RemoteProtocolError("Server disconnected without sending a response."),
        "first_byte",
        UpstreamError,
        "eof",
    ),
    "cut": (
        httpx.RemoteProtocolError("peer closed connection without sending complete message body"),
        "idle",
        StreamCutError,
        "eof",
    ),
    "not http": (
        h11.RemoteProtocolError("illegal status line"),
        "first_byte",
        ProtocolError,
        "http",
    ),
    "bad header": (httpx.LocalProtocolError(SECRET), "first_byte", InvalidRequestError, "http"),
    "bad url": (httpx.InvalidURL(SECRET), "first_byte", InvalidRequestError, "url"),
    "consumed": (httpx.StreamConsumed(), "idle", NotConfiguredError, "http_client"),
    "corrupt": (httpx.DecodingError(SECRET), "idle", ProtocolError, "corrupt_encoding"),
    "proxy": (httpx.ProxyError(SECRET), "first_byte", UpstreamError, "connect_failed"),
    "os": (OSError(5, SECRET), "first_byte", UpstreamError, "connect_failed"),
    "os without a descriptor": (OSError(24, SECRET), "first_byte", UpstreamError, "too_many_files"),
    "os refused": (ConnectionRefusedError(), "first_byte", UpstreamError, "connect_refused"),
    "os reset": (ConnectionResetError(), "first_byte", UpstreamError, "reset"),
    "os time-out": (TimeoutError(), "idle", RequestTimeoutError, "idle"),
    "resolver": (socket.gaierror(-2, SECRET), "first_byte", UpstreamError, "dns"),
    "tls": (ssl.SSLCertVerificationError(), "first_byte", UpstreamError, "tls"),
    "anyio": (anyio.BrokenResourceError(), "first_byte", UpstreamError, "reset"),
}


@pytest.mark.parametrize(("fault", "phase", "error", "reason"), ROWS.values(), ids=ROWS)
def test_faults_have_types_and_reasons(
    fault: Exception, phase: Phase, error: type[RigError], reason: str
) -> None:
    mapped = rig_error_from(fault, phase)
    assert type(mapped) is error
    assert mapped is not None
    assert mapped.reason == reason


CAUSES: dict[str, tuple[BaseException, str]] = {
    "refused": (ConnectionRefusedError(), "connect_refused"),
    "resolver": (socket.gaierror(-2, "x"), "dns"),
    "tls": (ssl.SSLError(1, "x"), "tls"),
    "no descriptor": (OSError(errno.EMFILE, "x"), "too_many_files"),
    "none in a group": (
        ExceptionGroup("x", [ConnectionRefusedError(), OSError(errno.ENFILE, "x")]),
        "too_many_files",
    ),
    "a group": (ExceptionGroup("x", [OSError(), ConnectionRefusedError()]), "connect_refused"),
    "something else": (KeyError(), "connect_failed"),
}


@pytest.mark.parametrize(("cause", "reason"), CAUSES.values(), ids=CAUSES)
def test_a_failed_connection_is_told_by_its_causes(cause: BaseException, reason: str) -> None:
    inner = httpcore.ConnectError("x")
    inner.__cause__ = cause
    fault = httpx.ConnectError("x")
    fault.__cause__ = inner
    error = rig_error_from(fault, "first_byte")
    assert error is not None
    assert error.reason == reason


def test_a_chain_without_end_is_followed_a_little_way() -> None:
    fault: Exception = httpx.ConnectError("x")
    for _ in range(10 * MAX_CHAIN):
        outer = httpx.ConnectError("x")
        outer.__cause__ = fault
        fault = outer
    error = rig_error_from(fault, "first_byte")
    assert error is not None
    assert error.reason == "connect_failed"


def test_a_status_raised_by_a_hook_is_classified() -> None:
    response = httpx.Response(429, request=REQUEST)
    fault = httpx.HTTPStatusError(SECRET, request=REQUEST, response=response)
    error = rig_error_from(fault, "first_byte")
    assert error is not None
    assert (error.status, error.code) == (429, "rate_limited")


@pytest.mark.parametrize("bug", [KeyError("x"), ZeroDivisionError(), ValueError("x")], ids=repr)
def test_bugs_are_not_ours_to_hide(bug: Exception) -> None:
    assert rig_error_from(bug, "first_byte") is None


def test_a_class_of_the_same_name_from_elsewhere_is_not_meant() -> None:
    class ReadError(Exception):
        pass

    assert rig_error_from(ReadError(), "first_byte") is None
