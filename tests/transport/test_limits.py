"""Content codings under a cap."""

import gzip
import sys
import tracemalloc
import zlib
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.errors import ProtocolError, ResponseTooLargeError, StreamCutError
from rig.transport.limits import RAW_ALLOWANCE_BYTES, RAW_BYTES_PER_DECODED, BodyDecoder

STEPS = [1, 2, 3, 7, 100_000]
TEXT = b'{"choices": [{"message": {"content": "hello"}}]}' * 5


def pieces_of(raw: bytes, step: int) -> list[bytes]:
    return [raw[at : at + step] for at in range(0, len(raw), step)]


def feed_all(decoder: BodyDecoder, pieces: Iterable[bytes]) -> bytes:
    return b"".join([decoder.feed(piece) for piece in pieces])


def decode(coding: str, pieces: Iterable[bytes], max_bytes: int = 1 << 20) -> bytes:
    decoder = BodyDecoder(coding, max_bytes)
    return feed_all(decoder, pieces) + decoder.finish()


def raw_deflate(data: bytes) -> bytes:
    deflater = zlib.compressobj(wbits=-15)
    return deflater.compress(data) + deflater.flush()


def flushed(wbits: int, parts: Iterable[bytes]) -> bytes:
    """A stream as a server sends it that flushes after every event."""
    deflater = zlib.compressobj(wbits=wbits)
    blocks = [deflater.compress(part) + deflater.flush(zlib.Z_SYNC_FLUSH) for part in parts]
    return b"".join(blocks) + deflater.flush()


def with_gzip_fields(data: bytes) -> bytes:
    """A member with every optional field of RFC 1952: extra, name, comment, header checksum."""
    plain = gzip.compress(data, mtime=0)
    head = plain[:3] + b"\x1e" + plain[4:10] + b"\x05\x00extra" + b"name\0" + b"comment\0"
    return head + (zlib.crc32(head) & 0xFFFF).to_bytes(2, "little") + plain[10:]


WHOLE: dict[str, tuple[str, bytes, bytes]] = {
    "no coding": ("", TEXT, TEXT),
    "identity": ("Identity", TEXT, TEXT),
    "gzip": ("gzip", gzip.compress(TEXT), TEXT),
    "gzip in any case, with spaces": (" GZip ", gzip.compress(TEXT), TEXT),
    "x-gzip": ("x-gzip", gzip.compress(TEXT), TEXT),
    "gzip of nothing": ("gzip", gzip.compress(b""), b""),
    "gzip with all header fields": ("gzip", with_gzip_fields(TEXT), TEXT),
    "two gzip members": ("gzip", gzip.compress(TEXT) + gzip.compress(b"more"), TEXT + b"more"),
    "empty members between": ("gzip", gzip.compress(b"") * 3 + gzip.compress(TEXT) + gzip.compress(b""), TEXT),
    "zeros after gzip": ("gzip", gzip.compress(TEXT) + bytes(512), TEXT),
    "junk after gzip": ("gzip", gzip.compress(TEXT) + b"junk" + gzip.compress(b"more"), TEXT),
    "half a magic after gzip": ("gzip", gzip.compress(TEXT) + b"\x1f", TEXT),
    "half a magic and junk after gzip": ("gzip", gzip.compress(TEXT) + b"\x1fjunk", TEXT),
    "gzip flushed after every event": ("gzip", flushed(31, [TEXT] * 20), TEXT * 20),
    "deflate with its wrapper": ("deflate", zlib.compress(TEXT), TEXT),
    "deflate at every level": ("deflate", zlib.compress(TEXT, 1), TEXT),
    "deflate without a wrapper": ("deflate", raw_deflate(TEXT), TEXT),
    "raw deflate of nothing": ("deflate", raw_deflate(b""), b""),
    "raw deflate whose start divides by 31, as zlib's header does": ("deflate", b"\xb3\xb4\xb4\x04\x00", b"999"),
    "raw deflate, stored": ("deflate", b"\x01\x03\x00\xfc\xffabc", b"abc"),
    "junk after deflate": ("deflate", zlib.compress(TEXT) + zlib.compress(TEXT), TEXT),
    "no bytes, gzip": ("gzip", b"", b""),
    "no bytes, deflate": ("deflate", b"", b""),
}  # fmt: skip


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(("coding", "raw", "expected"), WHOLE.values(), ids=WHOLE)
def test_a_body_decodes_the_same_however_it_is_split(
    coding: str, raw: bytes, expected: bytes, step: int
) -> None:
    assert decode(coding, pieces_of(raw, step)) == expected


@pytest.mark.parametrize(
    "coding",
    ["br", "zstd", "compress", "gzip, gzip", "gzip,", "identity, gzip", "gzip;q=1", "*", "\u212a"],
)
def test_other_codings_and_lists_are_refused(coding: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        BodyDecoder(coding, 10)
    assert caught.value.reason == "content_encoding"
    assert caught.value.detail == coding
    assert coding not in str(caught.value)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(
    ("coding", "raw"),
    [
        ("", TEXT), ("gzip", gzip.compress(TEXT)), ("deflate", zlib.compress(TEXT)), ("deflate", raw_deflate(TEXT)),
        ("gzip", gzip.compress(TEXT[:50]) + gzip.compress(TEXT[50:])),
    ],
    ids=["identity", "gzip", "deflate", "raw deflate", "two members"],
)  # fmt: skip
def test_exactly_the_cap_passes_and_one_byte_more_does_not(
    coding: str, raw: bytes, step: int
) -> None:
    assert decode(coding, pieces_of(raw, step), max_bytes=len(TEXT)) == TEXT
    with pytest.raises(ResponseTooLargeError) as caught:
        decode(coding, pieces_of(raw, step), max_bytes=len(TEXT) - 1)
    assert caught.value.reason == "decoded"


@pytest.mark.parametrize("coding", ["", "gzip", "deflate"])
def test_a_cap_of_nothing_lets_nothing_through(coding: str) -> None:
    raw = {"": b"", "gzip": gzip.compress(b""), "deflate": zlib.compress(b"")}[coding]
    assert decode(coding, [raw], max_bytes=0) == b""
    raw = {"": b"a", "gzip": gzip.compress(b"a"), "deflate": zlib.compress(b"a")}[coding]
    with pytest.raises(ResponseTooLargeError):
        decode(coding, [raw], max_bytes=0)


@pytest.mark.parametrize("coding", ["", "gzip", "deflate"])
def test_once_too_large_it_stays_too_large(coding: str) -> None:
    raw = {"": TEXT, "gzip": gzip.compress(TEXT), "deflate": zlib.compress(TEXT)}[coding]
    decoder = BodyDecoder(coding, 10)
    for _ in range(3):
        with pytest.raises(ResponseTooLargeError):
            decoder.feed(raw)


CUT = {
    "gzip": ("gzip", gzip.compress(TEXT)),
    "gzip with fields": ("gzip", with_gzip_fields(TEXT)),
    "second member": ("gzip", gzip.compress(TEXT) + gzip.compress(TEXT)[:2]),
    "deflate": ("deflate", zlib.compress(TEXT)),
    "raw deflate": ("deflate", raw_deflate(TEXT)),
}


@pytest.mark.parametrize(("coding", "raw"), CUT.values(), ids=CUT)
def test_a_coding_cut_anywhere_is_a_cut(coding: str, raw: bytes) -> None:
    lengths = (
        range(1, len(raw)) if raw.count(b"\x1f\x8b") == 1 or coding == "deflate" else [len(raw)]
    )
    for length in lengths:
        with pytest.raises(StreamCutError) as caught:
            decode(coding, [raw[:length]])
        assert caught.value.reason == "encoding_cut"


def flip(raw: bytes, at: int) -> bytes:
    changed = bytearray(raw)
    changed[at] ^= 0xFF
    return bytes(changed)


CORRUPT = {
    "not gzip at all": ("gzip", TEXT),
    "gzip checksum": ("gzip", flip(gzip.compress(TEXT), -8)),
    "gzip length": ("gzip", flip(gzip.compress(TEXT), -1)),
    "gzip method": ("gzip", flip(gzip.compress(TEXT), 2)),
    "gzip data": ("gzip", flip(gzip.compress(TEXT), 12)),
    "second member": ("gzip", gzip.compress(TEXT) + b"\x1f\x8b\x00rest of it"),
    "zlib checksum": ("deflate", flip(zlib.compress(TEXT), -1)),
    "a preset dictionary": ("deflate", b"\x78\xbb" + b"\0\0\0\1" + raw_deflate(TEXT)),
    "not deflate at all": ("deflate", b"\xff\xff" + TEXT),
}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(("coding", "raw"), CORRUPT.values(), ids=CORRUPT)
def test_corrupt_data_is_a_protocol_error_without_zlibs_own(
    coding: str, raw: bytes, step: int
) -> None:
    decoder = BodyDecoder(coding, 1 << 20)
    with pytest.raises(ProtocolError) as caught:
        feed_all(decoder, pieces_of(raw, step))
    assert caught.value.reason == "corrupt_encoding"
    assert caught.value.__context__ is None
    with pytest.raises(ProtocolError):
        decoder.feed(raw)


def bomb(size_mb: int) -> list[bytes]:
    """A gzip stream of zeros, at a ratio of 1000, in reads of 64 KiB."""
    deflater = zlib.compressobj(wbits=31)
    head = deflater.compress(bytes(1 << 20)) + deflater.flush(zlib.Z_FULL_FLUSH)
    block = deflater.compress(bytes(1 << 20)) + deflater.flush(zlib.Z_FULL_FLUSH)
    return pieces_of(head + block * (size_mb - 1), 1 << 16)


@pytest.mark.parametrize("max_bytes", [1000, 1 << 20])
def test_ten_gigabytes_of_zeros_cost_the_cap(max_bytes: int) -> None:
    pieces = bomb(10_000)
    decoder = BodyDecoder("gzip", max_bytes)
    tracemalloc.start()
    try:
        with pytest.raises(ResponseTooLargeError):
            feed_all(decoder, pieces)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3 * max_bytes + (1 << 18)


EMPTY_BLOCK = b"\x00\x00\x00\xff\xff"

ENDLESS = {
    "empty deflate blocks": ("deflate", b"\x78\x9c", EMPTY_BLOCK),
    "empty blocks in gzip": ("gzip", gzip.compress(b"")[:10], EMPTY_BLOCK),
    "empty gzip members": ("gzip", b"", gzip.compress(b"")),
    "a gzip name without end": ("gzip", b"\x1f\x8b\x08\x08\0\0\0\0\0\3", b"name"),
    "junk": ("gzip", gzip.compress(b"x"), b"junk"),
}


@pytest.mark.parametrize(("coding", "head", "unit"), ENDLESS.values(), ids=ENDLESS)
def test_input_that_decodes_to_nothing_is_bounded(coding: str, head: bytes, unit: bytes) -> None:
    max_bytes = 10_000
    decoder = BodyDecoder(coding, max_bytes)
    decoder.feed(head)
    bound = max_bytes * RAW_BYTES_PER_DECODED + RAW_ALLOWANCE_BYTES
    assert feed_all(decoder, [unit] * ((bound - len(head)) // len(unit))) == b""
    with pytest.raises(ResponseTooLargeError) as caught:
        decoder.feed(unit)
    assert caught.value.reason == "raw"


def test_a_server_that_flushes_every_small_event_is_not_taken_for_one_that_sends_nothing() -> None:
    events = [b"data: %d\n\n" % number for number in range(100_000)]
    size = sum(map(len, events))
    assert len(decode("gzip", pieces_of(flushed(31, events), 5000), max_bytes=size)) == size


def test_decoded_bytes_counts_what_was_returned() -> None:
    decoder = BodyDecoder("gzip", 1 << 20)
    decoder.feed(gzip.compress(TEXT))
    assert decoder.decoded_bytes == len(TEXT)


@given(
    st.sampled_from(["", "gzip", "deflate"]),
    st.lists(st.binary(max_size=200), max_size=5),
    st.integers(1, 50),
)
def test_what_zlib_packs_we_unpack(coding: str, parts: list[bytes], step: int) -> None:
    packed = b"".join(parts) if not coding else flushed({"gzip": 31, "deflate": 15}[coding], parts)
    assert decode(coding, pieces_of(packed, step)) == b"".join(parts)


@given(
    st.sampled_from(["gzip", "deflate"]),
    st.sampled_from([b"", b"\x1f\x8b\x08\x00\0\0\0\0\0\3", b"\x78\x9c"]),
    st.binary(max_size=300),
    st.integers(1, 50),
)
def test_any_bytes_raise_our_errors_only_and_the_same_in_any_split(
    coding: str, head: bytes, raw: bytes, step: int
) -> None:
    def outcome(pieces: list[bytes]) -> bytes | str:
        try:
            return decode(coding, pieces, max_bytes=100)
        except (ProtocolError, StreamCutError, ResponseTooLargeError) as error:
            return error.reason

    assert outcome(pieces_of(head + raw, step)) == outcome([head + raw])


decompressobj = zlib.decompressobj


class Meter:
    """Stands for `zlib.decompressobj`; counts members, and bytes in and handed back."""

    work = 0

    def __init__(self, wbits: int) -> None:
        self._real = decompressobj(wbits)
        Meter.work += 10
        self.eof = False

    @property
    def unused_data(self) -> bytes:
        Meter.work += len(self._real.unused_data)
        return self._real.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        Meter.work += len(data)
        out = self._real.decompress(data, max_length)
        self.eof = self._real.eof
        return out


@pytest.mark.parametrize("step", [1, 1000, 1 << 30])
@pytest.mark.parametrize(
    "unit",
    [gzip.compress(b""), gzip.compress(b"abc"), gzip.compress(TEXT)],
    ids=["empty", "small", "large"],
)
def test_work_grows_with_the_bytes_and_no_faster(
    unit: bytes, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zlib, "decompressobj", Meter)

    def work(count: int) -> int:
        Meter.work = 0
        decode("gzip", pieces_of(unit * count, min(step, sys.maxsize)))
        return Meter.work

    assert work(4 * 800) < 4.5 * work(800)
