"""The counting limiter: content codings decoded under a cap. No I/O.

Decoded bytes are counted before they are kept: zlib is asked for at most one byte more than the
cap has room for, so the memory needed is about the cap, whatever the ratio of the bomb.

What it does not do: brotli and zstd, whose decoders in Python can't be told where to stop, and
several codings at once, which multiply their ratios. Ask servers for `ACCEPT_ENCODING`.
"""

import zlib
from typing import Protocol

from rig.errors import ProtocolError, ResponseTooLargeError, StreamCutError

ACCEPT_ENCODING = "gzip, deflate"
"""What to offer in requests: exactly what `BodyDecoder` reads, besides identity."""

RAW_BYTES_PER_DECODED = 2
"""Bytes on the wire allowed for each decoded byte of the cap. Deflate expands data by 0.1 % at worst;
a server that flushes after each small event needs 5 bytes more a piece. Beyond that it is sending
blocks or members with nothing in them."""

RAW_ALLOWANCE_BYTES = 64 * 1024
"""Bytes on the wire allowed on top, for headers and for small caps."""

_STEP_BYTES = 16 * 1024
"""Bytes given to zlib at a time. It copies what it did not use at the end of every gzip member, and a
member may have 20 bytes: without steps a large read full of them would cost its square."""

_GZIP_MAGIC = b"\x1f\x8b"
_GZIP, _ZLIB, _RAW_DEFLATE = 31, 15, -15  # wbits of zlib.decompressobj

_IDENTITY = frozenset({"", "identity"})
_GZIP_NAMES = frozenset({"gzip", "x-gzip"})


class _Inflater(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


class BodyDecoder:
    """Incremental decoder of one body. Linear in the bytes fed, bounded in those returned.

    gzip may have several members; `deflate` is read with or without its zlib wrapper, since servers
    send both (RFC 9110 8.4.1.2). Bytes behind a complete coding are ignored, as gzip(1) and urllib3
    do: the data before them passed its checksum. They count as raw bytes all the same. A body of
    no bytes at all is empty in every coding.

    Args:
        content_encoding: the header's value, "" without one; repeated headers joined by commas.
        max_bytes: decoded bytes that may pass; exactly so many do.

    Attributes:
        identity: there is no coding: bytes are handed through.

    Raises:
        ProtocolError: a coding we don't read, or several (reason content_encoding).
    """

    __slots__ = (
        "_decoded",
        "_gzip",
        "_held",
        "_inflater",
        "_max_bytes",
        "_raw",
        "_whole",
        "identity",
    )

    def __init__(self, content_encoding: str, max_bytes: int) -> None:
        coding = content_encoding.strip().lower()
        self.identity = coding in _IDENTITY
        self._gzip = coding in _GZIP_NAMES
        if not (self.identity or self._gzip or coding == "deflate"):
            raise ProtocolError(
                "the answer has a Content-Encoding that was not offered; only gzip and deflate are read",
                reason="content_encoding",
                detail=content_encoding,
            )
        self._max_bytes = max_bytes
        self._raw = 0
        self._decoded = 0
        self._inflater: _Inflater | None = None
        self._held = b""  # too little to tell what begins here
        self._whole = False  # a coding was complete, and nothing has begun since

    @property
    def decoded_bytes(self) -> int:
        """Bytes returned so far."""
        return self._decoded

    def feed(self, raw: bytes) -> bytes:
        """Add bytes of the body and return what they decode to.

        Args:
            raw: bytes without transfer coding, split anywhere.

        Returns:
            Decoded bytes, `b""` while there are none.

        Raises:
            ResponseTooLargeError: the decoded bytes outgrew the cap (reason decoded), or the raw
                ones their bound (reason raw); every later call raises too.
            ProtocolError: the data is corrupt (reason corrupt_encoding).
        """
        if self.identity:
            self._decoded += len(raw)
            if self._decoded > self._max_bytes:
                self._count(0)
            return raw
        self._count(0)  # once too large, always too large
        self._raw += len(raw)
        if self._raw > self._max_bytes * RAW_BYTES_PER_DECODED + RAW_ALLOWANCE_BYTES:
            raise ResponseTooLargeError(
                f"the answer decodes to less than {self._max_bytes} bytes, but takes far more to send",
                reason="raw",
            )
        if len(raw) <= _STEP_BYTES:
            return self._inflate(raw)
        steps = range(0, len(raw), _STEP_BYTES)
        return b"".join([self._inflate(raw[at : at + _STEP_BYTES]) for at in steps])

    def finish(self) -> bytes:
        """Tell that the body is over.

        Returns:
            The rest, which is always `b""`: nothing is held back.

        Raises:
            StreamCutError: the coding is not complete (reason encoding_cut).
        """
        if self._raw and not self.identity and not self._whole:
            raise StreamCutError(
                "the compressed answer ended before it was complete", reason="encoding_cut"
            )
        return b""

    def _count(self, more: int) -> None:
        self._decoded += more
        if self._decoded > self._max_bytes:
            raise ResponseTooLargeError(
                f"the answer is larger than the cap of {self._max_bytes} bytes; raise max_response_bytes"
                " if it is an honest one",
                reason="decoded",
            )

    def _inflate(self, data: bytes) -> bytes:
        """Decode one step; each turn of the loop ends a member or the data."""
        pieces: list[bytes] = []
        data = self._held + data
        self._held = b""
        while data:
            inflater = self._inflater = self._inflater or self._begin(data)
            if inflater is None:
                break
            pieces.append(self._decompress(inflater, data))
            data = inflater.unused_data
            self._whole = inflater.eof
            if inflater.eof:
                self._inflater = None
        return b"".join(pieces)

    def _decompress(self, inflater: _Inflater, data: bytes) -> bytes:
        # Never 0, which would mean "no limit". All of `data` is used unless the cap is passed.
        room = max(1, self._max_bytes - self._decoded + 1)
        try:
            piece = inflater.decompress(data, room)
        except zlib.error:
            piece = None
        if piece is None:
            raise ProtocolError("the compressed answer is corrupt", reason="corrupt_encoding")
        self._count(len(piece))
        return piece

    def _begin(self, data: bytes) -> _Inflater | None:
        """What decodes the coding that begins with `data`; None when that is too short or no coding."""
        wbits = self._next_member(data) if self._whole else self._first_member(data)
        return None if wbits is None else zlib.decompressobj(wbits)

    def _first_member(self, data: bytes) -> int | None:
        if self._gzip:
            return _GZIP
        if len(data) < 2:
            self._held = data
            return None
        # RFC 1950 2.2: method 8, and the first two bytes are a multiple of 31.
        wrapped = data[0] & 0x0F == 8 and int.from_bytes(data[:2], "big") % 31 == 0
        return _ZLIB if wrapped else _RAW_DEFLATE

    def _next_member(self, data: bytes) -> int | None:
        if self._gzip and data[:2] == _GZIP_MAGIC:
            return _GZIP
        if self._gzip and data == _GZIP_MAGIC[:1]:
            self._held = data
        else:
            self._gzip = False  # the rest is junk, wherever it is split
        return None
