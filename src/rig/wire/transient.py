"""Whether a failure was the server going away, and not anything wrong with the request. No I/O.

A benchmark that counts a redeploy as a failed task reports the wrong number, and an agent that takes
one for a bad request rewrites a prompt that was fine. So this is narrow on purpose: it knows faults
that say a connection or a backend died, or that an endpoint was busy. Refusals, a 500 for what the
model wrote, and deadlines of the caller are none.

The order of evidence: what rig's own errors say; the kind of an exception, or of what it was raised
from; its text. A number in a text counts only where it is used as a status. What is returned is always
a sentence of this file, so it may be shown and logged.
"""

import errno
import re
from collections.abc import Iterator
from itertools import chain
from typing import Final, cast

from rig.errors import (
    RateLimitedError,
    RequestTimeoutError,
    RigError,
    ServerError,
    StreamCutError,
    UpstreamError,
)
from rig.wire.status_text import statuses_in

MAX_LINKS: Final = 16
"""Exceptions looked at along a chain of causes. Wrapping goes three or four deep; a chain may also be
a circle."""

MAX_GROUP_DEPTH: Final = 8
"""Groups inside groups that are opened: one a task group, and nobody nests eight of them."""

CANCELLED: Final = "the peer cancelled the stream: the server was restarted or replaced meanwhile"
GOAWAY: Final = "the server closed the connection on purpose (GOAWAY), as it does before a restart"
NO_BACKEND: Final = "the proxy has no backend available for the model"
REFUSED: Final = "the connection was refused: nothing listens there, or not yet again"
RESET: Final = "the connection was reset"
ENDED: Final = "the connection ended before the answer was complete"
UNAVAILABLE: Final = "the server, or the one behind its gateway, is not available at the moment"
BUSY: Final = "the endpoint is busy or limits requests"
TRANSPORT: Final = "the connection failed"

UNAVAILABLE_STATUSES: Final = frozenset({502, 503, 504, 520, 521, 522, 523, 524, 529})
"""What proxies answer for a server behind them: RFC 9110, Cloudflare's 52x, and 529 (overloaded)."""

_BUSY_STATUSES: Final = frozenset({429})
_PASSING_4XX: Final = frozenset({408, 425, 429})


def _phrases(*phrases: str) -> re.Pattern[str]:
    """The phrases, each at the beginning of a word: `upstream error` is no stream error."""
    return re.compile("|".join(rf"(?<![a-z0-9]){phrase}" for phrase in phrases))


_BY_TEXT: Final[tuple[tuple[str, re.Pattern[str], frozenset[int]], ...]] = (
    (CANCELLED, _phrases("cancel; received from peer"), frozenset()),
    (GOAWAY, _phrases("goaway"), frozenset()),
    (NO_BACKEND, _phrases("no backend available"), frozenset()),
    (REFUSED, _phrases("connection refused"), frozenset()),
    (RESET, _phrases("connection reset", "connection aborted", "broken pipe"), frozenset()),
    (
        ENDED,
        _phrases(
            "unexpected eof(?! while parsing)",  # Python's own words for cut source text
            "server disconnected",  # httpx, aiohttp
            "peer closed connection",  # httpx, of a body cut short
            "remote end closed connection",  # urllib3
        ),
        frozenset(),
    ),
    (
        UNAVAILABLE,
        _phrases("bad gateway", "service unavailable", "gateway time-?out"),
        UNAVAILABLE_STATUSES,
    ),
    (BUSY, _phrases("backpressure", "rate[ -]?limit", "too many requests"), _BUSY_STATUSES),
    (BUSY, _phrases("retry budget"), frozenset()),
    (TRANSPORT, _phrases("stream error", "server closed"), frozenset()),
)
"""What a text says, the most telling first: by a phrase in lower case, or by a status."""

_NETWORK_FAULTS: Final = {
    "connect_refused": REFUSED,
    "connect_failed": TRANSPORT,
    "dns": TRANSPORT,
    "write_failed": RESET,
    "reset": RESET,
    "eof": ENDED,
    "no_endpoint": UNAVAILABLE,  # of a pool
    "too_many_files": TRANSPORT,
}
"""By the reason of an `UpstreamError` without a status."""

_ERRNOS: Final = frozenset({
    errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.ENETDOWN, errno.ENETRESET, errno.ENETUNREACH,
    errno.ETIMEDOUT,
})  # fmt: skip

# By name, because importing their modules would be I/O or a dependency. "" says: certainly none.
_BY_NAME: Final = {
    "BrokenResourceError": RESET,
    "ConnectError": TRANSPORT,
    "ConnectTimeout": TRANSPORT,
    "EndOfStream": ENDED,
    "ReadError": RESET,
    "SSLCertVerificationError": "",
    "SSLEOFError": ENDED,
    "SSLZeroReturnError": ENDED,
    "TimeoutException": "",
    "WriteError": RESET,
    "gaierror": TRANSPORT,
}
_LIBRARIES: Final = frozenset({
    "anyio", "httpcore", "httpcore2", "httpx", "httpx2", "socket", "ssl", "trio",
})  # fmt: skip


def is_transient(error: BaseException | str | None) -> bool:
    """Whether a failure was the server or the connection going away; see `transient_reason`.

    Args:
        error: an exception of rig or of anybody else, or the text of one.
    """
    return bool(transient_reason(error))


def transient_reason(error: BaseException | str | None) -> str:
    """Which fault of the server or the connection a failure was, for a log or a row of results.

    Args:
        error: an exception of rig or of anybody else, or the text of one. Of a group of exceptions,
            all must be transient.

    Returns:
        A sentence without any text of the endpoint; "" when the failure is not transient.
    """
    if error is None:
        return ""
    return _text_reason(error) if isinstance(error, str) else _reason(error, MAX_GROUP_DEPTH)


def _reason(error: BaseException, depth: int) -> str:
    if isinstance(error, BaseExceptionGroup):
        return _group_reason(cast("BaseExceptionGroup[BaseException]", error), depth)
    links = list(_links(error))
    # Of kinds the outermost decides, of a library's the innermost: a ConnectError may be anything.
    for reason in chain(map(_kind_reason, links), map(_library_reason, reversed(links))):
        if reason is not None:
            return reason
    inner = links[-1].__cause__
    if isinstance(inner, BaseExceptionGroup):
        reason = _group_reason(cast("BaseExceptionGroup[BaseException]", inner), depth)
        if reason:
            return reason
    return _text_reason(str(error))


def _group_reason(group: BaseExceptionGroup[BaseException], depth: int) -> str:
    """The first reason of a group whose members all have one."""
    if not depth:
        return ""
    reasons = [_reason(member, depth - 1) for member in group.exceptions]
    return reasons[0] if all(reasons) else ""


def _links(error: BaseException) -> Iterator[BaseException]:
    """The exception and what it was raised from, up to the first of rig's, which says it all."""
    link: BaseException | None = error
    for _ in range(MAX_LINKS):
        if link is None or isinstance(link, BaseExceptionGroup):
            return
        yield link
        link = None if isinstance(link, RigError) else link.__cause__


def _kind_reason(error: BaseException) -> str | None:
    """What the kind of one exception says; "" for certainly not, None for nothing."""
    match error:
        case RigError():
            return _rig_reason(error)
        case ConnectionRefusedError():
            return REFUSED
        case ConnectionError():
            return RESET
        case OSError() if error.errno in _ERRNOS:
            return TRANSPORT
        case EOFError():
            return ENDED
        case TimeoutError():
            return ""  # of a deadline: the kernel's own has an errno
        case Exception():
            return None
        case _:
            return ""  # cancelled, or the program ends


def _library_reason(error: BaseException) -> str | None:
    """The same for exceptions of the libraries that HTTP clients are made of."""
    for kind in type(error).__mro__:
        if kind.__name__ in _BY_NAME and kind.__module__.partition(".")[0] in _LIBRARIES:
            return _BY_NAME[kind.__name__]
    return None


def _rig_reason(error: RigError) -> str:
    match error:
        case RateLimitedError():
            return BUSY if error.retryable and error.reason != "quota" else ""
        case ServerError():
            return _server_reason(error) if error.retryable else ""
        case StreamCutError(reason="failed"):
            return UNAVAILABLE
        case StreamCutError():
            return _NETWORK_FAULTS.get(error.reason, ENDED)
        case RequestTimeoutError():
            return TRANSPORT if error.reason in {"connect", "too_many_files"} else ""
        case UpstreamError() if type(error) is UpstreamError and error.status is None:
            return _NETWORK_FAULTS.get(error.reason, "") or _text_reason(error.detail)
        case _:
            return ""


def _server_reason(error: ServerError) -> str:
    """Of a 5xx: what it tells, or what its status says. A 500 alone may be anything."""
    unavailable = error.status in UNAVAILABLE_STATUSES or error.reason == "loading"
    return _text_reason(error.detail) or (UNAVAILABLE if unavailable else "")


def _text_reason(text: str) -> str:
    lower = text.lower()
    if "parse" in lower and ("tool call" in lower or "tool_call" in lower):
        return ""  # a cut call: the same context cuts it again, whatever the text says of an EOF
    statuses = [*statuses_in(lower)]
    if statuses and statuses[0] < 500 and statuses[0] not in _PASSING_4XX:
        return ""
    for reason, phrases, named in _BY_TEXT:
        if phrases.search(lower) or not named.isdisjoint(statuses):
            return reason
    return ""
