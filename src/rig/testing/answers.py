"""What a fake server sends: any status, any bytes, any framing. Values only, no I/O."""

import gzip
import json
import zlib
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Literal

from rig.late_dataclass import dataclass
from rig.testing.received import ReceivedRequest
from rig.testing.steps import Step

Headers = Mapping[str, str] | Sequence[tuple[str, str]]
"""Names and values, in their order; pairs where a name comes twice."""
Framing = Literal["length", "chunked", "close"]
"""How the end of a body is told: content-length, chunks, or the end of the connection."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What is sent for one request.

    Attributes:
        steps: what to do, in order; iterated anew for every request, so it may be lazy.
        keep_alive: whether the connection outlives the answer; None decides by its head.
    """

    steps: Iterable[Step]
    keep_alive: bool | None = None


Responder = Callable[[ReceivedRequest], "Answer | str | Awaitable[Answer | str]"]
"""Looks at the request and answers it; may be a coroutine function."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """The last answer of a script, given for ever."""

    answer: Answer | Responder | str


def repeat(answer: Answer | Responder | str) -> Repeat:
    """Give this answer to every request from here on.

    Args:
        answer: must be the last of its script.
    """
    return Repeat(answer)


@dataclass(frozen=True, slots=True)
class LazySteps:
    """Steps that are made while they are sent: bodies of any size cost nothing to describe.

    Attributes:
        make: starts a fresh iterator.
    """

    make: Callable[[], Iterator[Step]]

    def __iter__(self) -> Iterator[Step]:
        return self.make()


def raw(*steps: Step, keep_alive: bool | None = None) -> Answer:
    """An answer byte for byte; nothing is added.

    On a socket, neighbouring bytes may reach the client in one read; put a `Pause` or an `Until`
    between them where the boundary matters. In process every step is a chunk of its own.

    Args:
        steps: bytes, waits and endings.
        keep_alive: whether the connection stays open; None decides by the head.
    """
    return Answer(steps, keep_alive)


def head(status: int = 200, headers: Headers = ()) -> bytes:
    """Status line and headers, with the empty line that ends them.

    Args:
        status: HTTP status.
        headers: in their order.
    """
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = ""
    fields = (f"{name}: {value}" for name, value in _pairs(headers))
    lines = [f"HTTP/1.1 {status} {phrase}", *fields]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _pairs(headers: Headers) -> list[tuple[str, str]]:
    return list(headers.items()) if isinstance(headers, Mapping) else list(headers)


def chunk(data: bytes) -> bytes:
    """One chunk of a chunked body."""
    return b"%x\r\n%b\r\n" % (len(data), data)


LAST_CHUNK = b"0\r\n\r\n"
"""What ends a chunked body."""


def chunked(*parts: Step, end: bool = True) -> tuple[Step, ...]:
    """Steps of a chunked body: every bytes part becomes one chunk, other steps stay.

    Args:
        parts: the chunks and the waits between them; empty bytes are left out.
        end: whether the body is finished.
    """
    steps = [chunk(part) if isinstance(part, bytes) else part for part in parts if part != b""]
    return (*steps, LAST_CHUNK) if end else tuple(steps)


def answer(
    status: int = 200,
    body: bytes | str | Mapping[str, Any] | Sequence[Any] = b"",
    headers: Headers = (),
    *,
    content_type: str | None = None,
    content_encoding: Literal["gzip", "deflate"] | None = None,
    framing: Framing = "length",
) -> Answer:
    """An answer of any status and body.

    Args:
        status: HTTP status.
        body: bytes and text are sent as they are, everything else as JSON.
        headers: sent after the ones made here, and instead of those of the same name.
        content_type: None says application/json, for bytes and text too, as servers mostly do.
        content_encoding: compresses the body and says so.
        framing: how the end of the body is told.
    """
    data = encode_body(body)
    pairs = _pairs(headers)
    made = [("Content-Type", content_type or "application/json; charset=utf-8")]
    if content_encoding is not None:
        data = gzipped(data) if content_encoding == "gzip" else deflated(data)
        made.append(("Content-Encoding", content_encoding))
    made.append(_FRAMING_HEADERS[framing](len(data)))
    given = {name.lower() for name, _ in pairs}
    start = head(status, [*(pair for pair in made if pair[0].lower() not in given), *pairs])
    if framing == "chunked":
        return Answer((start, *chunked(data)))
    return Answer((start + data,))


_FRAMING_HEADERS: dict[Framing, Callable[[int], tuple[str, str]]] = {
    "length": lambda size: ("Content-Length", str(size)),
    "chunked": lambda _: ("Transfer-Encoding", "chunked"),
    "close": lambda _: ("Connection", "close"),
}


def encode_body(body: bytes | str | Mapping[str, Any] | Sequence[Any]) -> bytes:
    """Bytes as they are, text as UTF-8, everything else as JSON without spaces."""
    if isinstance(body, bytes):
        return body
    if isinstance(body, str):
        return body.encode()
    try:
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:  # lone surrogates only travel as escapes
        return json.dumps(body, separators=(",", ":")).encode()


def gzipped(data: bytes) -> bytes:
    """The data as one gzip member, the same bytes every time."""
    return gzip.compress(data, mtime=0)


def deflated(data: bytes) -> bytes:
    """The data in the zlib format that HTTP calls deflate."""
    return zlib.compress(data)
