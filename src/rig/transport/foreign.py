"""Exceptions of httpx, httpx2 and what is under them, as rig's own. No import of httpx2.

No I/O either, but for a look at whether a descriptor is left where a name was not resolved.

Classes are known by name: a caller's client may be of a library this process has another copy of. Their
messages and attributes hold URLs and headers, so nothing of them is kept, and the caller of
`rig_error_from` must raise the result where no exception is being handled.
"""

import socket
import ssl
from collections.abc import Iterator
from typing import Literal, NamedTuple, cast

from rig.errors import (
    InvalidRequestError,
    NotConfiguredError,
    ProtocolError,
    RequestTimeoutError,
    RigError,
    StreamCutError,
    UpstreamError,
)
from rig.transport.descriptors import is_short, too_many_files

Phase = Literal["first_byte", "idle"]
"""What was being waited for: the head, or more of the body."""

MAX_CHAIN = 16
"""Links followed from an exception to its causes. httpx over httpcore over anyio over a socket has 6."""


class _Row(NamedTuple):
    error: type[RigError]
    reason: str
    message: str


_CONNECT = _Row(UpstreamError, "connect_failed", "the server can't be reached")
_BROKEN = _Row(UpstreamError, "reset", "the server broke the connection")
_NOT_HTTP = _Row(ProtocolError, "http", "the answer is not valid HTTP")
_BAD_REQUEST = _Row(InvalidRequestError, "http", "the request can't be sent as HTTP")
_BAD_URL = _Row(InvalidRequestError, "url", "the URL is not one that can be requested")
_SLOW = _Row(RequestTimeoutError, "", "the http client's own time-out ended the wait")
_CONSUMED = _Row(
    NotConfiguredError,
    "http_client",
    "the http client had read or closed the answer before rig could: look at its hooks and its auth",
)

FOREIGN: dict[str, _Row] = {
    # httpx and httpx2; httpcore and h11 use some of the names, for the same things.
    "CloseError": _BROKEN,
    "ConnectError": _CONNECT,
    "ConnectTimeout": _SLOW._replace(reason="connect"),
    "CookieConflict": _BAD_REQUEST,
    "DecodingError": _Row(ProtocolError, "corrupt_encoding", "the compressed answer is corrupt"),
    "HTTPError": _Row(UpstreamError, "", "the http client failed"),
    "HTTPStatusError": _Row(UpstreamError, "status", "the endpoint answered with an error"),
    "InvalidURL": _BAD_URL,
    "LocalProtocolError": _BAD_REQUEST,
    "NetworkError": _BROKEN,
    "PoolTimeout": _SLOW._replace(
        reason="connect", message="the http client's pool had no connection free in time"
    ),
    "ProtocolError": _NOT_HTTP,
    "ProxyError": _CONNECT._replace(message="the http client's proxy refused the request"),
    "ReadError": _BROKEN,
    "ReadTimeout": _SLOW,
    "RemoteProtocolError": _NOT_HTTP,
    "RequestError": _Row(UpstreamError, "", "the http client could not make the request"),
    "RequestNotRead": _CONSUMED,
    "ResponseNotRead": _CONSUMED,
    "SSEError": _NOT_HTTP,
    "StreamClosed": _CONSUMED,
    "StreamConsumed": _CONSUMED,
    "StreamError": _CONSUMED,
    "TimeoutException": _SLOW,
    "TooManyRedirects": _Row(ProtocolError, "status", "the endpoint redirects without end"),
    "TransportError": _BROKEN,
    "UnsupportedProtocol": _BAD_URL,
    "WriteError": _Row(UpstreamError, "write_failed", "the request can't be written"),
    "WriteTimeout": _SLOW._replace(reason="write"),
    # httpcore and anyio, where a caller's transport lets them through.
    "BrokenResourceError": _BROKEN,
    "ClosedResourceError": _BROKEN,
    "ConnectionFailed": _CONNECT,
    "ConnectionNotAvailable": _CONNECT,
    "EndOfStream": _BROKEN._replace(reason="eof"),
    # The operating system.
    "BrokenPipeError": _Row(UpstreamError, "write_failed", "the request can't be written"),
    "ConnectionRefusedError": _CONNECT._replace(reason="connect_refused"),
    "ConnectionError": _BROKEN,
    "SSLError": _CONNECT._replace(reason="tls", message="no TLS connection can be made"),
    "TimeoutError": _SLOW,
    "gaierror": _CONNECT._replace(reason="dns", message="the server's name can't be resolved"),
    "OSError": _CONNECT,
}
"""By the name of a class, or of the nearest base class that has a row."""

_LIBRARIES = frozenset(
    {
        "anyio",
        "builtins",
        "h11",
        "httpcore",
        "httpcore2",
        "httpx",
        "httpx2",
        "socket",
        "ssl",
        "trio",
    }
)
"""Packages whose classes the names stand for. Others have classes of the same names."""


def rig_error_from(fault: Exception, phase: Phase) -> RigError | None:
    """The error a foreign exception stands for.

    Args:
        fault: what a http client raised.
        phase: what was being waited for.

    Returns:
        An error that holds nothing of it; None for what is no http client's: a bug, or a caller's own.
    """
    if (row := _row(type(fault))) is None:
        return None
    response = getattr(fault, "response", None)
    if row.reason == "status" and isinstance(status := getattr(response, "status_code", None), int):
        from rig.wire.faults import error_from_response  # noqa: PLC0415 of clients that raise for a status

        return error_from_response(status, {}, b"")
    if row is _CONNECT:
        if any(is_short(cause) for cause in _causes(fault)):
            return too_many_files()
        row = FOREIGN[_why_no_connection(fault)]
    elif row is _NOT_HTTP:
        row = _ended_early(fault, row)
    reason = row.reason or (phase if row.error is RequestTimeoutError else "")
    if phase == "idle" and reason in {"eof", "reset"}:
        return StreamCutError(
            "the server broke the connection before its answer was complete", reason=reason
        )
    return row.error(row.message, reason=reason)


def _row(kind: type[BaseException]) -> _Row | None:
    for base in kind.__mro__:
        if base.__name__ in FOREIGN and base.__module__.partition(".")[0].lstrip("_") in _LIBRARIES:
            return FOREIGN[base.__name__]
    return None


def _why_no_connection(fault: BaseException) -> str:
    """The name of the most telling row among the causes of a failed connection."""
    for cause in _causes(fault):
        if isinstance(cause, socket.gaierror):
            return "gaierror"
        if isinstance(cause, ssl.SSLError):
            return "SSLError"
        if isinstance(cause, ConnectionRefusedError):
            return "ConnectionRefusedError"
    return "OSError"


def _causes(fault: BaseException) -> Iterator[BaseException]:
    """The exception and what led to it, groups opened; at most `MAX_CHAIN` of them."""
    waiting: list[BaseException] = [fault]
    for _ in range(MAX_CHAIN):
        if not waiting:
            return
        cause = waiting.pop()
        yield cause
        if isinstance(cause, BaseExceptionGroup):
            waiting.extend(reversed(cast("BaseExceptionGroup[BaseException]", cause).exceptions))
        if (before := cause.__cause__ or cause.__context__) is not None:
            waiting.append(before)


def _ended_early(fault: Exception, row: _Row) -> _Row:
    """Tell an end of the connection from bad HTTP: httpcore and h11 have one class for both.

    Their texts are constants of theirs (httpcore/_async/http11.py, h11/_readers.py); nothing the
    server sent is in the beginnings looked at.
    """
    text = str(fault)
    if text.startswith(("Server disconnected", "peer closed connection")):
        return _BROKEN._replace(reason="eof", message="the server closed the connection early")
    return row
