"""Reading answers back: heads, and bodies by their framing. No I/O.

A fake answers with bytes it was told to send, right or wrong; this reads them as far as they make
sense. It checks nothing: rig's own reader of responses is what is under test.
"""

from collections.abc import Iterator
from itertools import islice

from rig.late_dataclass import dataclass
from rig.testing.answers import Answer
from rig.testing.received import ReceivedRequest

_NO_BODY = frozenset({204, 304})

MAX_HEAD_STEPS = 64
"""Steps of an answer searched for the end of its head, when it decides whether the connection stays."""


class BrokenAnswerError(Exception):
    """The bytes of an answer are no HTTP, or end too early."""


@dataclass(frozen=True, slots=True)
class AnswerHead:
    """Status and headers of an answer."""

    status: int
    headers: list[tuple[bytes, bytes]]

    def value(self, name: bytes) -> bytes:
        """The first value of a header, lower case, empty when absent."""
        return next((value for key, value in self.headers if key.lower() == name), b"").lower()

    @property
    def chunked(self) -> bool:
        """Whether the body comes in chunks."""
        return b"chunked" in self.value(b"transfer-encoding")

    @property
    def length(self) -> int | None:
        """Bytes of the body, None when the end of the connection ends it."""
        if self.status in _NO_BODY:
            return 0
        text = self.value(b"content-length")
        return int(text) if text.isdigit() and not self.chunked else None


def parse_head(data: bytes) -> tuple[AnswerHead, bytes] | None:
    """The final head and the bytes behind it; None while it is incomplete. 1xx heads are skipped.

    Args:
        data: the answer so far.

    Raises:
        BrokenAnswerError: it is no HTTP.
    """
    while True:
        text, found, rest = data.partition(b"\r\n\r\n")
        if not found:
            return None
        status_line, *lines = text.split(b"\r\n")
        version, _, status = status_line.partition(b" ")
        if not version.startswith(b"HTTP/1.") or not status[:3].isdigit():
            raise BrokenAnswerError("the status line can't be read")
        if status.startswith(b"1") and not status.startswith(b"101"):
            data = rest
            continue
        return AnswerHead(int(status[:3]), [_header(line) for line in lines]), rest


def _header(line: bytes) -> tuple[bytes, bytes]:
    name, colon, value = line.partition(b":")
    if not colon:
        raise BrokenAnswerError("a header can't be read")
    return name, value.strip(b" \t")


def stays_open(answer: Answer, request: ReceivedRequest) -> bool:
    """Whether the connection outlives this answer to this request."""
    if answer.keep_alive is not None:
        return answer.keep_alive
    if (request.header("connection") or "").lower() == "close":
        return False
    head = _head_of(answer)
    if head is None or head.value(b"connection") == b"close":
        return False
    return head.chunked or head.length is not None


def _head_of(answer: Answer) -> AnswerHead | None:
    data = b""
    for step in islice(answer.steps, MAX_HEAD_STEPS):
        if isinstance(step, bytes):
            data += step
            try:
                parsed = parse_head(data)
            except BrokenAnswerError:
                return None
            if parsed is not None:
                return parsed[0]
    return None


class BodyReader:
    """Takes the framing off a body.

    Args:
        head: the head in front of it.
    """

    def __init__(self, head: AnswerHead) -> None:
        self._chunks = _Dechunker() if head.chunked else None
        self._left = head.length

    @property
    def complete(self) -> bool:
        """Whether all that was promised has come; a body without a length never is."""
        return self._chunks.complete if self._chunks else self._left == 0

    @property
    def may_end(self) -> bool:
        """Whether the end of the connection is a proper end."""
        return self.complete or (self._chunks is None and self._left is None)

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The pieces of the body in these bytes."""
        if self._chunks:
            yield from self._chunks.feed(data)
        elif self._left is None:
            yield data
        elif piece := data[: self._left]:
            self._left -= len(piece)
            yield piece


class _Dechunker:
    def __init__(self) -> None:
        self.complete = False
        self._buffer = b""
        self._left = 0  # bytes of the chunk in progress, with the line end behind it

    def feed(self, data: bytes) -> Iterator[bytes]:
        self._buffer += data
        while self._buffer and not self.complete:
            if self._left > 2:
                piece = self._buffer[: self._left - 2]
                self._left -= len(piece)
                self._buffer = self._buffer[len(piece) :]
                yield piece
            elif self._left:
                gone = min(self._left, len(self._buffer))
                self._left -= gone
                self._buffer = self._buffer[gone:]
            elif not self._begin():
                return

    def _begin(self) -> bool:
        line, found, rest = self._buffer.partition(b"\r\n")
        if not found:
            return False
        try:
            size = int(line.partition(b";")[0].strip(), 16)
        except ValueError:
            raise BrokenAnswerError("a chunk has no size") from None
        if size == 0:
            self.complete = b"\r\n\r\n" in self._buffer  # behind the trailers, if any
            return self.complete
        self._left, self._buffer = size + 2, rest
        return True
