"""HTTP/1.1 responses: bytes in; head, data and end out. No I/O.

Source: RFC 9112 (framing) and RFC 9110 (fields). One `ResponseReader` reads the answer to one
request that was neither HEAD nor CONNECT.

What is refused, although a lenient client would guess: a line that ends in a bare LF, a bare CR,
a folded field, whitespace before a colon, control characters, any transfer coding but `chunked`,
`Transfer-Encoding` beside `Content-Length` or in HTTP/1.0, lengths that disagree. Each of them lets
two readers of one connection see different messages. What a size bounds is written beside it.

Rules for whoever edits this file: a step consumes bytes from `pos` on and never looks back; only
an unfinished line is kept, and it is searched once. The result must not depend on where the input
is split, but for two things: how much data one `Data` holds, and how much of a body was handed out
before a violation in it was found.
"""

import re
from collections.abc import Callable
from typing import Final, NamedTuple, NoReturn

from rig.errors import ProtocolError, StreamCutError
from rig.late_dataclass import dataclass

MAX_HEAD_BYTES = 64 * 1024
"""Bytes of one status line and its fields. The heads of model servers are 150-400 bytes, behind a
CDN 2 KiB; http.client allows 64 KiB for a single line, httpcore 100 KiB for the whole head."""

MAX_HEADERS = 100
"""Fields in one head. http.client's number; a CDN sends about 35."""

MAX_INFORMATIONAL = 16
"""Interim (1xx) answers before the real one. Go's net/http began with 5; a proxy that sends a 102
at intervals while a model thinks needs a few more."""

MAX_CHUNK_LINE_BYTES = 256
"""Bytes of one chunk size line with its extensions and CRLF. A size needs 3; the longest extension
in use, a signature in hex, about 90."""

MAX_TRAILER_BYTES = 8 * 1024
"""Bytes of all trailer fields. They are read only to find the end, then dropped."""

MAX_EXTENSION_EXCESS = 16 * 1024
"""Bytes of chunk extensions beyond twice the data they came with, over a whole body: Go's bound
against bodies that are nearly all framing (CVE-2023-39326)."""

MAX_LENGTH_DIGITS = 18
"""Digits of a Content-Length: below 10**18, so below 2**63 for everyone who handles it later."""

MAX_EXCESS_BYTES = 1024
"""Bytes kept of what follows the end. That there are any is what matters."""

# At most 16 digits (64 bits); extensions, padding and everything wrong take the slow path.
_PLAIN_SIZE = re.compile(rb"([0-9A-Fa-f]{1,16})\r\n")
# RFC 9112 7.1; white space before CRLF is not in it, but some servers pad their sizes (h11 allows it too).
_SIZE_LINE = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(;[\t\x20-\x7e\x80-\xff]*)?")
# The space and the reason after the status are optional in practice (scrapy/scrapy#345).
_STATUS_LINE = re.compile(rb"HTTP/(1\.[01]) ([1-9][0-9]{2})(?: ([\t\x20-\x7e\x80-\xff]*))?")
# A whole head without anything a rule would be asked about, line by line what `_take_status` and `_field` take.
_PLAIN_HEAD = re.compile(
    rb"HTTP/(1\.1) ([2-9][0-9]{2})(?: ([\t\x20-\x7e\x80-\xff]*+))?\r\n"
    rb"((?:[!#$%&'*+.^_`|~0-9A-Za-z-]++:[\t\x20-\x7e\x80-\xff]*+\r\n)*+)\r\n"
)
_VERSION = b"HTTP/1."
_TOKEN = b"!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")

_NO_CONTENT = frozenset({204, 304})
_FRAMING_FIELDS = frozenset({b"content-length", b"transfer-encoding"})

_SENTENCES: Final = {
    "chunk_end": "a chunk is longer than its size says",
    "chunk_line": "a chunk's size line is too long",
    "chunk_overhead": "the chunks carry far more extensions than data",
    "chunk_size": "a chunk's size is not a hexadecimal number",
    "content_length": "its Content-Length is not one number",
    "failed": "it was refused before",
    "framing_conflict": "it has both Transfer-Encoding and Content-Length",
    "header": "a header line is malformed",
    "header_count": "it has too many headers",
    "head_size": "its headers are too long",
    "informational": "it sends interim answers without end",
    "line_end": "a line does not end in CRLF",
    "obs_fold": "a header is folded over two lines",
    "status_line": "it does not begin with an HTTP/1.x status line",
    "trailers": "its trailers are too long or hold framing fields",
    "transfer_encoding": "its Transfer-Encoding is not just chunked",
    "upgrade": "it switches to another protocol",
}
"""Every `reason` of a ProtocolError from this file, and the sentence people read."""


class Head(NamedTuple):
    """Status line and fields of the final answer; interim answers are not shown.

    Attributes:
        status: 200 to 999.
        reason: the reason phrase as sent, often empty.
        headers: names in lower case and values, in the order sent, repeated ones repeated.
        http_version: `b"1.1"` or `b"1.0"`.
    """

    status: int
    reason: bytes
    headers: tuple[tuple[bytes, bytes], ...]
    http_version: bytes


@dataclass(frozen=True, slots=True)
class Data:
    """Bytes of the body, never empty, without transfer coding; boundaries mean nothing."""

    data: bytes


@dataclass(frozen=True, slots=True)
class End:
    """The message is complete."""


Event = Head | Data | End
"""What `ResponseReader.feed` returns: at most one of each kind a call, in this order."""

_END = End()
_CRLF = b"\r\n"

_Step = Callable[["ResponseReader", bytes, int, list[bytes]], int]


def _refuse(reason: str, line: bytes = b"") -> NoReturn:
    """Raise the error of one row of `_SENTENCES`.

    Args:
        reason: the row.
        line: what the server sent, for `detail` only.

    Raises:
        ProtocolError: always.
    """
    raise ProtocolError(
        f"the answer is not valid HTTP/1.1: {_SENTENCES[reason]}",
        reason=reason,
        detail=line[:200].decode("latin-1"),
    )


def _field(line: bytes) -> tuple[bytes, bytes]:
    """Name in lower case and value of one field line without its CRLF."""
    name, colon, value = line.partition(b":")
    if not colon or not name or name.translate(None, _TOKEN) or _CONTROL.search(value):
        _refuse("obs_fold" if line[:1] in (b" ", b"\t") else "header", line)
    return name.lower(), value.strip(b" \t")


def _content_length(values: list[bytes]) -> int | None:
    """The one length the fields agree on, None without fields.

    A list of equal numbers is one number (RFC 9112 6.3, rule 5): proxies join repeated fields.
    """
    if not values:
        return None
    lengths = {item.strip(b" \t") for value in values for item in value.split(b",")}
    length = lengths.pop()
    # bytes.isdigit() knows ASCII digits only: no sign, underscore or white space gets through.
    if lengths or not length.isdigit() or len(length) > MAX_LENGTH_DIGITS:
        _refuse("content_length")
    return int(length)


def _is_chunked(codings: list[bytes], version: bytes) -> bool:
    """True for the one coding we read, False without any.

    HTTP/1.0 has no transfer codings; one in it means faulty framing (RFC 9112 6.1).
    """
    if not codings:
        return False
    if len(codings) > 1 or codings[0].lower() != b"chunked" or version == b"1.0":
        _refuse("transfer_encoding")
    return True


def _persists(headers: list[tuple[bytes, bytes]], version: bytes) -> bool:
    """True when the peer keeps the connection open after this message (RFC 9112 9.3)."""
    named = [value for name, value in headers if name == b"connection"]
    if not named:
        return version == b"1.1"
    options = {option.strip(b" \t").lower() for value in named for option in value.split(b",")}
    if b"close" in options:
        return False
    return version == b"1.1" or b"keep-alive" in options


def read_plain(data: bytes) -> tuple[Head, bytes] | None:
    """Read an answer that came at once and has nothing a rule would be asked about: most small ones.

    Args:
        data: the first bytes of an answer.

    Returns:
        Its head and its body, as `ResponseReader` would read them, with a connection that can carry
        another request. None for every other answer, and for one that is to be refused: ask the reader.
    """
    found = _PLAIN_HEAD.match(data)
    if found is None or found.end() > MAX_HEAD_BYTES:
        return None
    lines = found[4].split(_CRLF)
    status, length = int(found[2]), -1
    if len(lines) > MAX_HEADERS or status in _NO_CONTENT:
        return None
    headers: list[tuple[bytes, bytes]] = []
    for line in lines[:-1]:
        name, _, value = line.partition(b":")
        name, value = name.lower(), value.strip(b" \t")
        headers.append((name, value))
        if name == b"content-length":
            if length >= 0 or not value.isdigit() or len(value) > MAX_LENGTH_DIGITS:
                return None
            length = int(value)
        elif name == b"transfer-encoding" or (
            name == b"connection" and value.lower() != b"keep-alive"
        ):
            return None
    if found.end() + length != len(data) or length < 0:
        return None
    head = Head(status, found[3] or b"", tuple(headers), found[1])
    return head, data[found.end() :]


class ResponseReader:
    """Incremental reader of one response. Every size is bounded; the work is linear in the bytes.

    Args:
        max_head_bytes: for one status line with its fields, interim answers each on their own.
        max_chunk_line_bytes: for one chunk size line, with its extensions and CRLF; at least 18.
        max_trailer_bytes: for all trailer fields together.
        max_headers: fields in one head.
        max_informational: interim answers (1xx) that are skipped before the final one.
    """

    __slots__ = (
        "_budget",
        "_excess",
        "_extension_excess",
        "_head",
        "_headers",
        "_held",
        "_informational",
        "_left",
        "_max_chunk_line_bytes",
        "_max_head_bytes",
        "_max_headers",
        "_max_informational",
        "_max_trailer_bytes",
        "_persists",
        "_reason",
        "_started",
        "_status",
        "_step",
        "_version",
    )

    def __init__(
        self,
        *,
        max_head_bytes: int = MAX_HEAD_BYTES,
        max_chunk_line_bytes: int = MAX_CHUNK_LINE_BYTES,
        max_trailer_bytes: int = MAX_TRAILER_BYTES,
        max_headers: int = MAX_HEADERS,
        max_informational: int = MAX_INFORMATIONAL,
    ) -> None:
        self._max_head_bytes = max_head_bytes
        self._max_chunk_line_bytes = max(max_chunk_line_bytes, 18)  # what _PLAIN_SIZE takes
        self._max_trailer_bytes = max_trailer_bytes
        self._max_headers = max_headers
        self._max_informational = max_informational
        # Functions, not bound methods: those would make the reader a reference cycle.
        self._step: _Step = ResponseReader._read_version
        self._held = bytearray()  # an unfinished line
        self._budget = max_head_bytes  # bytes left for the head or the trailers being read
        self._left = 0  # bytes left of the content or of the chunk being read
        self._status = 0  # 0: the status line has not come
        self._reason = b""
        self._version = b""
        self._headers: list[tuple[bytes, bytes]] = []
        self._head: Head | None = None  # read, not yet returned
        self._informational = 0
        self._extension_excess = 0
        self._persists = False
        self._excess = b""
        self._started = False

    @property
    def started(self) -> bool:
        """True once any byte of the answer came, be it of an interim one."""
        return self._started

    @property
    def done(self) -> bool:
        """True after `End`."""
        return self._step is ResponseReader._read_excess

    @property
    def keep_alive(self) -> bool:
        """True when the connection can carry another request: the answer is over, and clean."""
        return self.done and self._persists and not self._excess

    @property
    def excess(self) -> bytes:
        """The first bytes that came after the end; nobody asked for them."""
        return self._excess

    def feed(self, data: bytes) -> list[Event]:
        """Add bytes as they came from the socket and return what they complete.

        Args:
            data: any number of bytes; none is not an end of file, that is `eof()`.

        Returns:
            At most one `Head`, one `Data` and one `End`, in this order. All chunks that one call
            completes are joined, so that what follows pays once per read and not once per chunk.

        Raises:
            ProtocolError: the bytes break the protocol or a bound. `reason` tells which; data of
                the same call is dropped, and every later call raises too.
        """
        pieces: list[bytes] = []
        done = ResponseReader._read_excess
        was_done = self._step is done
        pos, size = 0, len(data)
        try:
            while pos < size:  # every step consumes at least one byte, or raises
                self._started = True
                pos = self._step(self, data, pos, pieces)
        except ProtocolError:
            self._step = ResponseReader._refuse_all
            raise

        events: list[Event] = []
        if self._head is not None:
            events.append(self._head)
            self._head = None
        if pieces:
            events.append(Data(pieces[0] if len(pieces) == 1 else b"".join(pieces)))
        if self._step is done and not was_done:
            events.append(_END)
        return events

    def one_chunk(self, data: bytes) -> bytes | None:
        """Read bytes that are exactly one chunk: nearly each read of a slow stream.

        Args:
            data: bytes as they came from the socket.

        Returns:
            The data of the chunk, which is all that `feed` would have returned; None where only `feed` can
            tell. Nothing was read then.
        """
        if self._step is not ResponseReader._read_chunks or self._held:
            return None
        plain = _PLAIN_SIZE.match(data)
        if plain is None:
            return None
        start = plain.end()
        stop = len(data) - 2
        if start + int(plain[1], 16) != stop or stop == start or data[stop:] != _CRLF:
            return None
        return data[start:stop]

    def eof(self) -> list[Event]:
        """Tell that the peer closed the connection.

        Returns:
            `End` for a body that only the close ends; nothing when the answer was over already.

        Raises:
            StreamCutError: something is missing; `started` tells whether anything had come at all.
            ProtocolError: the answer was refused before.
        """
        if self._step is ResponseReader._refuse_all:
            _refuse("failed")
        self._persists = False
        if self.done:
            return []
        if self._step is ResponseReader._read_until_close:
            self._step = ResponseReader._read_excess
            return [_END]
        missing = "was complete" if self._started else "began"
        raise StreamCutError(
            f"the server closed the connection before its answer {missing}", reason="eof"
        )

    # --- Steps: each consumes bytes of `data` from `pos` and returns where it stopped. ---

    def _read_version(self, data: bytes, pos: int, _pieces: list[bytes]) -> int:
        """Refuse what is not HTTP at its first wrong byte: a line end may never come.

        A plain head that came at once is read in one go, a fifth of the work.
        """
        if not self._held and (plain := _PLAIN_HEAD.match(data, pos)) is not None:
            end = plain.end()
            lines = plain[4].split(_CRLF)
            if end - pos <= self._budget and len(lines) - 1 <= self._max_headers:
                self._take_plain(plain, lines)
                return end
        want = _VERSION[len(self._held) :]
        got = data[pos : pos + len(want)]
        if not want.startswith(got):
            _refuse("status_line", bytes(self._held) + data[pos : pos + 200])
        self._held += got
        if len(got) == len(want):
            self._step = ResponseReader._read_head
        return pos + len(got)

    def _read_head(self, data: bytes, pos: int, _pieces: list[bytes]) -> int:
        size = len(data)
        while pos < size:
            line, pos = self._take_line(data, pos, self._budget, "head_size")
            if line is None:
                break
            self._budget -= len(line) + 2
            if not self._status:
                self._take_status(line)
            elif not line:
                self._end_head()
                break
            elif len(self._headers) >= self._max_headers:
                _refuse("header_count")
            else:
                self._headers.append(_field(line))
        return pos

    def _read_content(self, data: bytes, pos: int, pieces: list[bytes]) -> int:
        piece = data[pos : pos + self._left]
        pieces.append(piece)
        self._left -= len(piece)
        if not self._left:
            self._step = ResponseReader._read_excess
        return pos + len(piece)

    def _read_until_close(self, data: bytes, pos: int, pieces: list[bytes]) -> int:
        pieces.append(data[pos:])
        return len(data)

    def _read_chunks(self, data: bytes, pos: int, pieces: list[bytes]) -> int:
        """Take whole chunks with plain sizes in one go; leave the rest to one slow step."""
        size = len(data)
        if not self._held:
            while plain := _PLAIN_SIZE.match(data, pos):
                start = plain.end()
                stop = start + int(plain[1], 16)
                if stop == start or stop + 2 > size:
                    break
                if data[stop : stop + 2] != _CRLF:
                    _refuse("chunk_end")
                pieces.append(data[start:stop])
                pos = stop + 2
            if pos == size:
                return pos
        line, pos = self._take_line(data, pos, self._max_chunk_line_bytes, "chunk_line")
        if line is not None:
            self._take_size(line)
        return pos

    def _read_chunk(self, data: bytes, pos: int, pieces: list[bytes]) -> int:
        piece = data[pos : pos + self._left]
        pieces.append(piece)
        self._left -= len(piece)
        if not self._left:
            self._step = ResponseReader._read_chunk_end
        return pos + len(piece)

    def _read_chunk_end(self, data: bytes, pos: int, _pieces: list[bytes]) -> int:
        want = _CRLF[len(self._held) :]
        got = data[pos : pos + len(want)]
        if not want.startswith(got):
            _refuse("chunk_end")
        if len(got) < len(want):
            self._held += got
        else:
            self._held.clear()
            self._step = ResponseReader._read_chunks
        return pos + len(got)

    def _read_trailers(self, data: bytes, pos: int, _pieces: list[bytes]) -> int:
        size = len(data)
        while pos < size:
            line, pos = self._take_line(data, pos, self._budget, "trailers")
            if line is None:
                break
            self._budget -= len(line) + 2
            if not line:
                self._step = ResponseReader._read_excess
                break
            if _field(line)[0] in _FRAMING_FIELDS:
                _refuse("trailers")
        return pos

    def _read_excess(self, data: bytes, pos: int, _pieces: list[bytes]) -> int:
        self._excess += data[pos : pos + MAX_EXCESS_BYTES - len(self._excess)]
        return len(data)

    def _refuse_all(self, _data: bytes, _pos: int, _pieces: list[bytes]) -> int:
        _refuse("failed")

    # --- What the steps share. ---

    def _take_line(
        self, data: bytes, pos: int, limit: int, reason: str
    ) -> tuple[bytes | None, int]:
        """The line at `pos` without its CRLF, or None when its end has not come; and where it ends."""
        newline = data.find(b"\n", pos)
        if newline < 0:
            self._held += data[pos:]
            if len(self._held) > limit:
                _refuse(reason)
            return None, len(data)
        line = data[pos : newline + 1]
        if self._held:
            line = bytes(self._held) + line
            self._held.clear()
        if len(line) > limit:
            _refuse(reason)
        if line[-2:] != _CRLF:
            _refuse("line_end")
        return line[:-2], newline + 1

    def _take_plain(self, head: re.Match[bytes], lines: list[bytes]) -> None:
        self._version, self._status, self._reason = head[1], int(head[2]), head[3] or b""
        for line in lines[:-1]:
            name, _, value = line.partition(b":")
            self._headers.append((name.lower(), value.strip(b" \t")))
        self._end_head()

    def _take_status(self, line: bytes) -> None:
        found = _STATUS_LINE.fullmatch(line)
        if found is None:
            _refuse("status_line", line)
        self._status = int(found[2])
        self._reason = found[3] or b""
        self._version = found[1]

    def _end_head(self) -> None:
        """Decide how the body is framed (RFC 9112 6.3) and whether the connection persists."""
        status, version, headers = self._status, self._version, self._headers
        length = _content_length([v for n, v in headers if n == b"content-length"])
        chunked = _is_chunked([v for n, v in headers if n == b"transfer-encoding"], version)
        if chunked and length is not None:
            _refuse("framing_conflict")
        if status < 200:
            self._skip_informational(status)
            return

        self._head = Head(
            status=status, reason=self._reason, headers=tuple(headers), http_version=version
        )
        self._persists = _persists(headers, version)
        if status in _NO_CONTENT:
            # A 304 may tell the length it would have had; anything else announces a body that
            # must not exist, and a server that sends it all the same would answer the next request.
            self._persists &= not chunked and (status == 304 or not length)
            self._step = ResponseReader._read_excess
        elif chunked:
            self._step = ResponseReader._read_chunks
        elif length is None:
            self._step = (
                ResponseReader._read_until_close
            )  # eof() ends it, and the connection with it
        else:
            self._left = length
            self._step = ResponseReader._read_content if length else ResponseReader._read_excess

    def _skip_informational(self, status: int) -> None:
        if status == 101:
            _refuse("upgrade")
        self._informational += 1
        if self._informational > self._max_informational:
            _refuse("informational")
        self._budget = self._max_head_bytes
        self._status = 0
        self._headers = []
        self._step = ResponseReader._read_version

    def _take_size(self, line: bytes) -> None:
        found = _SIZE_LINE.fullmatch(line)
        if found is None:
            _refuse("chunk_size", line)
        self._left = int(found[1], 16)
        if len(line) > len(found[1]):
            # Plain sizes are not counted, because the fast path doesn't see them one by one.
            excess = self._extension_excess + len(line) - 16 - 2 * self._left
            self._extension_excess = max(0, excess)
            if excess > MAX_EXTENSION_EXCESS:
                _refuse("chunk_overhead")
        if self._left:
            self._step = ResponseReader._read_chunk
        else:
            self._budget = self._max_trailer_bytes
            self._step = ResponseReader._read_trailers
