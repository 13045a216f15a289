"""Bodies that are larger than they should be, made while they are sent. No I/O."""

import zlib
from collections.abc import Iterator
from itertools import repeat as forever
from typing import Literal

from rig.testing.answers import LAST_CHUNK, Answer, LazySteps, chunk, encode_body, head
from rig.testing.completions import completion
from rig.testing.steps import Step

_PIECE_BYTES = 64 * 1024
_BLOCK_BYTES = 1 << 20
_GZIP_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"  # RFC 1952: deflate, no flags, no time
_ZLIB_HEADER = b"\x78\x9c"  # RFC 1950: deflate, 32 KiB window
_FINAL_BLOCK = b"\x03\x00"  # RFC 1951: an empty last block


def large_reply(size_bytes: int = 60 * 1000 * 1000) -> Answer:
    """A well-formed chat completion whose text has so many bytes, with its true content-length.

    Args:
        size_bytes: bytes of the text.
    """
    body = encode_body(completion({"role": "assistant", "content": "\0"}))
    before, _, after = body.partition(b"\\u0000")
    total = len(before) + size_bytes + len(after)
    start = head(200, {"Content-Type": "application/json", "Content-Length": str(total)})

    def steps() -> Iterator[Step]:
        yield start + before
        full, rest = divmod(size_bytes, _PIECE_BYTES)
        yield from forever(b"x" * _PIECE_BYTES, full)
        yield b"x" * rest + after

    return Answer(LazySteps(steps))


def endless_body(status: int = 200) -> Answer:
    """A chat completion whose text never ends, in chunks of 64 KiB.

    Args:
        status: the status it is sent with; error bodies have no end either.
    """
    body = encode_body(completion({"role": "assistant", "content": "\0"}))
    before = body.partition(b"\\u0000")[0]
    start = head(status, {"Content-Type": "application/json", "Transfer-Encoding": "chunked"})

    def steps() -> Iterator[Step]:
        yield start + chunk(before)
        yield from forever(chunk(b"x" * _PIECE_BYTES))

    return Answer(LazySteps(steps))


def endless_head() -> Answer:
    """Response headers that never end."""

    def steps() -> Iterator[Step]:
        yield b"HTTP/1.1 200 OK\r\n"
        yield from forever(b"X-Padding: " + b"x" * 1000 + b"\r\n")

    return Answer(LazySteps(steps), keep_alive=False)


def gzip_bomb(
    size_bytes: int = 200 << 20, *, coding: Literal["gzip", "deflate"] = "gzip", status: int = 200
) -> Answer:
    """A compressed body of zeros, a thousandth of its size on the wire, valid to its last byte.

    One compressed block ends in a full flush, so it can be repeated: 10 GB cost no more to make than
    what the client really reads.

    Args:
        size_bytes: bytes of the decoded body.
        coding: gzip, or deflate with its zlib wrapper.
        status: HTTP status; error bodies can be bombs too.
    """
    fields = {
        "Content-Type": "application/json",
        "Content-Encoding": coding,
        "Transfer-Encoding": "chunked",
    }

    def steps() -> Iterator[Step]:
        yield head(status, fields)
        for piece in _bomb(size_bytes, coding):
            yield chunk(piece)
        yield LAST_CHUNK

    return Answer(LazySteps(steps))


def _bomb(size_bytes: int, coding: Literal["gzip", "deflate"]) -> Iterator[bytes]:
    zeros = bytes(_BLOCK_BYTES)
    checksum, check = (0, zlib.crc32) if coding == "gzip" else (1, zlib.adler32)
    yield _GZIP_HEADER if coding == "gzip" else _ZLIB_HEADER
    full, rest = divmod(size_bytes, _BLOCK_BYTES)
    for block in forever(_deflated_block(zeros), full):
        checksum = check(zeros, checksum)
        yield block
    checksum = check(zeros[:rest], checksum)
    yield _deflated_block(zeros[:rest]) + _FINAL_BLOCK
    if coding == "gzip":
        yield checksum.to_bytes(4, "little") + (size_bytes % (1 << 32)).to_bytes(4, "little")
    else:
        yield checksum.to_bytes(4, "big")


def _deflated_block(data: bytes) -> bytes:
    compressor = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return compressor.compress(data) + compressor.flush(zlib.Z_FULL_FLUSH)
