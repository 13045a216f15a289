"""Requests as a fake server receives them: bytes in, requests out. No I/O."""

from dataclasses import dataclass, field
from typing import Any

import anyio
from pydantic_core import from_json

MAX_HEAD_BYTES = 256 * 1024
"""Bytes of request line and headers. Real servers stop at 8 to 64 KiB; a fake should outlast them,
so that a test sees what was sent."""

MAX_BODY_BYTES = 128 * 1024 * 1024
"""Bytes of a request body. A prompt with images is a few MiB; this bounds a test gone wild."""

_END_OF_HEAD = b"\r\n\r\n"
_LINE_END = b"\r\n"
_MAX_CHUNK_LINE_BYTES = 1024


class BadRequestError(Exception):
    """What arrived is not a request this server reads; it answers 400 and closes."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReceivedRequest:
    """One request, as it arrived.

    Attributes:
        method: POST, GET.
        target: path and query, as sent.
        headers: names and values in their order, as sent.
        body: the body, without chunk framing.
        raw: every byte of it, framing included.
        connection: number of the connection it came on, from 0.
        disconnected: set when the client went away before the answer was complete.
    """

    method: str
    target: str
    headers: list[tuple[str, str]] = field(repr=False)
    body: bytes = field(default=b"", repr=False)
    raw: bytes = field(default=b"", repr=False)
    connection: int = 0
    disconnected: anyio.Event = field(default_factory=anyio.Event, repr=False)

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]

    @property
    def json(self) -> Any:  # noqa: ANN401 a test reads what it knows it sent
        """The body, parsed.

        Raises:
            ValueError: it is not JSON.
        """
        return from_json(self.body)

    def header(self, name: str) -> str | None:
        """The first value of a header, None when it was not sent.

        Args:
            name: in any case.
        """
        wanted = name.lower()
        return next((value for key, value in self.headers if key.lower() == wanted), None)


@dataclass(slots=True)
class _Head:
    method: str
    target: str
    headers: list[tuple[str, str]]

    def value(self, name: str) -> str:
        return next((value for key, value in self.headers if key.lower() == name), "")


class RequestReader:
    """Incremental reader of HTTP/1.1 requests: content-length and chunked bodies.

    Args:
        connection: number of the connection, given to every request.
    """

    def __init__(self, connection: int = 0) -> None:
        self._connection = connection
        self._buffer = bytearray()
        self._head: _Head | None = None
        self._position = 0  # start of what is not parsed yet
        self._searched = 0  # where the search for the end of the head goes on
        self._chunks: list[bytes] = []
        self._body_bytes = 0

    def feed(self, data: bytes) -> None:
        """Add bytes that arrived."""
        self._buffer += data

    def next_request(self) -> ReceivedRequest | None:
        """The next complete request, None when more bytes are needed.

        Raises:
            BadRequestError: the bytes are no request, or it is too large.
        """
        if self._head is None:
            self._head = self._read_head()
        if self._head is None:
            return None
        if "chunked" in self._head.value("transfer-encoding").lower():
            complete = self._read_chunks()
        else:
            complete = self._read_length(self._head)
        return self._take(self._head) if complete else None

    def _read_head(self) -> _Head | None:
        end = self._buffer.find(_END_OF_HEAD, self._searched)
        if end > MAX_HEAD_BYTES or (end < 0 and len(self._buffer) > MAX_HEAD_BYTES):
            raise BadRequestError("the head is too large")
        if end < 0:
            self._searched = max(0, len(self._buffer) - len(_END_OF_HEAD))
            return None
        self._position = end + len(_END_OF_HEAD)
        return _parse_head(self._buffer[:end].decode("latin-1"))

    def _read_length(self, head: _Head) -> bool:
        text = head.value("content-length") or "0"
        if not (text.isascii() and text.isdigit() and len(text) < 16) or int(text) > MAX_BODY_BYTES:
            raise BadRequestError("the content-length can't be read")
        length = int(text)
        if len(self._buffer) - self._position < length:
            return False
        self._chunks.append(bytes(self._buffer[self._position : self._position + length]))
        self._position += length
        return True

    def _read_chunks(self) -> bool:
        while (line_end := self._buffer.find(_LINE_END, self._position)) >= 0:
            size = _chunk_size(self._buffer[self._position : line_end])
            start = line_end + len(_LINE_END)
            if size == 0:
                return self._skip_trailers(line_end)
            self._body_bytes += size
            if self._body_bytes > MAX_BODY_BYTES:
                raise BadRequestError("the body is too large")
            if len(self._buffer) < start + size + len(_LINE_END):
                self._body_bytes -= size
                return False
            self._chunks.append(bytes(self._buffer[start : start + size]))
            self._position = start + size + len(_LINE_END)
        if len(self._buffer) - self._position > _MAX_CHUNK_LINE_BYTES:
            raise BadRequestError("a chunk has no size")
        return False

    def _skip_trailers(self, line_end: int) -> bool:
        end = self._buffer.find(_END_OF_HEAD, line_end)
        if end < 0 and len(self._buffer) - line_end > MAX_HEAD_BYTES:
            raise BadRequestError("the trailers are too large")
        if end < 0:
            return False
        self._position = end + len(_END_OF_HEAD)
        return True

    def _take(self, head: _Head) -> ReceivedRequest:
        request = ReceivedRequest(
            method=head.method,
            target=head.target,
            headers=head.headers,
            body=b"".join(self._chunks),
            raw=bytes(self._buffer[: self._position]),
            connection=self._connection,
        )
        del self._buffer[: self._position]
        self._head, self._position, self._searched = None, 0, 0
        self._chunks, self._body_bytes = [], 0
        return request


def _parse_head(text: str) -> _Head:
    request_line, *lines = text.split("\r\n")
    words = request_line.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise BadRequestError("the request line can't be read")
    headers: list[tuple[str, str]] = []
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or name != name.strip() or not name:
            raise BadRequestError("a header can't be read")
        headers.append((name, value.strip(" \t")))
    return _Head(words[0], words[1], headers)


def _chunk_size(line: bytearray) -> int:
    digits = bytes(line).partition(b";")[0].strip()
    if not digits or len(digits) > 8 or digits.strip(b"0123456789abcdefABCDEF"):
        raise BadRequestError("a chunk has no size")
    return int(digits, 16)
