"""Reading HTTP/1.1 responses, in tables, against h11, and by counting work."""

import itertools
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import FrameType

import h11
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rig.errors import ProtocolError, StreamCutError
from rig.transport.http1 import (
    MAX_CHUNK_LINE_BYTES,
    MAX_EXCESS_BYTES,
    MAX_EXTENSION_EXCESS,
    MAX_HEAD_BYTES,
    MAX_HEADERS,
    MAX_INFORMATIONAL,
    MAX_TRAILER_BYTES,
    Data,
    End,
    Head,
    ResponseReader,
    read_plain,
)

STEPS = [1, 2, 3, 7, 100_000]
"""Bytes a feed: one by one, odd pieces, whole."""


@dataclass
class Read:
    """What came of one answer; `ended` None means that more bytes were wanted."""

    status: int | None = None
    headers: tuple[tuple[bytes, bytes], ...] = ()
    body: bytes = b""
    ended: bool = False
    keep_alive: bool = False
    excess: bytes = b""
    error: str = ""
    events: list[Head | Data | End] = field(default_factory=list, compare=False)


def read(
    pieces: Iterable[bytes], *, close: bool = False, reader: ResponseReader | None = None
) -> Read:
    reader = reader or ResponseReader()
    events: list[Head | Data | End] = []
    error = ""
    try:
        for piece in pieces:
            events += reader.feed(piece)
        if close:
            events += reader.eof()
    except (ProtocolError, StreamCutError) as problem:
        error = problem.reason
    heads = [event for event in events if isinstance(event, Head)]
    assert len(heads) <= 1
    return Read(
        status=heads[0].status if heads else None,
        headers=heads[0].headers if heads else (),
        body=b"".join(event.data for event in events if isinstance(event, Data)),
        ended=End() in events,
        keep_alive=reader.keep_alive,
        excess=reader.excess,
        error=error,
        events=events,
    )


def pieces_of(raw: bytes, step: int) -> list[bytes]:
    return [raw[at : at + step] for at in range(0, len(raw), step)]


def answer(*fields: bytes, body: bytes = b"", line: bytes = b"HTTP/1.1 200 OK") -> bytes:
    return b"\r\n".join((line, *fields, b"", b"")) + body


def chunked(body: bytes, *fields: bytes) -> bytes:
    return answer(b"Transfer-Encoding: chunked", *fields, body=body)


# name: (bytes, the peer closes, status, body, keep_alive, excess)
ACCEPTED: dict[str, tuple[bytes, bool, int, bytes, bool, bytes]] = {
    "content-length": (answer(b"Content-Length: 3", body=b"abc"), False, 200, b"abc", True, b""),
    "content-length 0 ends with the head": (answer(b"Content-Length: 0"), False, 200, b"", True, b""),
    "leading zeros": (answer(b"Content-Length: 003", body=b"abc"), False, 200, b"abc", True, b""),
    "a list of equal lengths": (answer(b"Content-Length: 3, 3", body=b"abc"), False, 200, b"abc", True, b""),
    "equal lengths twice": (
        answer(b"Content-Length: 3", b"content-length:3", body=b"abc"), False, 200, b"abc", True, b""),
    "chunked": (chunked(b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"), False, 200, b"abcde", True, b""),
    "chunked in any case": (
        answer(b"transfer-encoding: Chunked", body=b"0\r\n\r\n"), False, 200, b"", True, b""),
    "hex sizes in both cases": (
        chunked(b"a\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n"), False, 200, b"0123456789" * 2, True, b""),
    "sizes with leading zeros": (chunked(b"003\r\nabc\r\n000\r\n\r\n"), False, 200, b"abc", True, b""),
    "a size with padding": (chunked(b"3  \r\nabc\r\n0 \r\n\r\n"), False, 200, b"abc", True, b""),
    "extensions are ignored": (
        chunked(b'3;a="\t b";c\r\nabc\r\n3 ;x\r\ndef\r\n0;last\r\n\r\n'), False, 200, b"abcdef", True, b""),
    "data that looks like framing": (chunked(b"5\r\n\r\n0\r\n\r\n0\r\n\r\n"), False, 200, b"\r\n0\r\n", True, b""),
    "trailers are dropped": (
        chunked(b"1\r\na\r\n0\r\nX-Sum: 1\r\nY:\r\n\r\n"), False, 200, b"a", True, b""),
    "until close": (answer(b"Server: x", body=b"abc"), True, 200, b"abc", False, b""),
    "until close, empty": (answer(), True, 200, b"", False, b""),
    "no reason phrase": (answer(b"Content-Length: 0", line=b"HTTP/1.1 503"), False, 503, b"", True, b""),
    "an empty reason phrase": (answer(b"Content-Length: 0", line=b"HTTP/1.1 503 "), False, 503, b"", True, b""),
    "latin-1 in reason and value": (
        answer(b"X: \xe9", b"Content-Length: 0", line=b"HTTP/1.1 200 caf\xe9"), False, 200, b"", True, b""),
    "a tab inside a value": (answer(b"X: a\tb", b"Content-Length: 0"), False, 200, b"", True, b""),
    "204 has no body": (answer(line=b"HTTP/1.1 204 No Content"), False, 204, b"", True, b""),
    "204 that announces a body is not trusted again": (
        answer(b"Content-Length: 3", line=b"HTTP/1.1 204 No Content"), False, 204, b"", False, b""),
    "304 may name the length it would have": (
        answer(b"Content-Length: 3", line=b"HTTP/1.1 304 Not Modified"), False, 304, b"", True, b""),
    "304 with a transfer coding is not trusted again": (
        chunked(b"").replace(b"200 OK", b"304 No"), False, 304, b"", False, b""),
    "100 is skipped": (
        answer(line=b"HTTP/1.1 100 Continue") + answer(b"Content-Length: 1", body=b"a"), False, 200, b"a", True, b""),
    "103 and its fields are skipped": (
        answer(b"Link: </a>", line=b"HTTP/1.1 103 Early Hints") * 2 + answer(b"Content-Length: 1", body=b"a"),
        False, 200, b"a", True, b""),
    "connection: close": (
        answer(b"Content-Length: 1", b"Connection: Close", body=b"a"), False, 200, b"a", False, b""),
    "close among other options": (
        answer(b"Content-Length: 1", b"Connection: x,\tclose", body=b"a"), False, 200, b"a", False, b""),
    "close in a second field": (
        answer(b"Content-Length: 1", b"Connection: x", b"Connection: close", body=b"a"), False, 200, b"a", False, b""),
    "http/1.0 closes": (
        answer(b"Content-Length: 1", body=b"a", line=b"HTTP/1.0 200 OK"), False, 200, b"a", False, b""),
    "http/1.0 with keep-alive": (
        answer(b"Content-Length: 1", b"Connection: Keep-Alive", body=b"a", line=b"HTTP/1.0 200 OK"),
        False, 200, b"a", True, b""),
    "bytes after a length": (
        answer(b"Content-Length: 1", body=b"aHTTP/1.1"), False, 200, b"a", False, b"HTTP/1.1"),
    "bytes after the last chunk": (
        chunked(b"1\r\na\r\n0\r\n\r\n\r\n"), False, 200, b"a", False, b"\r\n"),
    "closed after the end": (answer(b"Content-Length: 1", body=b"a"), True, 200, b"a", False, b""),
    "an odd status": (answer(b"Content-Length: 0", line=b"HTTP/1.1 999 Denied"), False, 999, b"", True, b""),
}  # fmt: skip


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(
    ("raw", "close", "status", "body", "keep_alive", "excess"), ACCEPTED.values(), ids=ACCEPTED
)
def test_a_valid_answer_reads_the_same_however_it_is_split(
    raw: bytes, close: bool, status: int, body: bytes, keep_alive: bool, excess: bytes, step: int
) -> None:
    got = read(pieces_of(raw, step), close=close)
    assert (got.status, got.body, got.ended, got.keep_alive, got.excess, got.error) == (
        status, body, True, keep_alive, excess, "",
    )  # fmt: skip


LONG = b"a" * 100

REFUSED: dict[str, tuple[bytes, str]] = {
    "another protocol": (b"SSH-2.0-OpenSSH_9.6\r\n", "status_line"),
    "a tls alert, without any line end": (b"\x15\x03\x01\x00\x02\x02\x46", "status_line"),
    "http/2 preface": (b"PRI * HTTP/2.0\r\n\r\n", "status_line"),
    "http/0.9": (b"<html>hello</html>", "status_line"),
    "a blank line first": (b"\r\n" + answer(b"Content-Length: 0"), "status_line"),
    "http/2 in a status line": (answer(line=b"HTTP/2 200 OK"), "status_line"),
    "http/1.2": (answer(line=b"HTTP/1.2 200 OK"), "status_line"),
    "lower case": (answer(line=b"http/1.1 200 OK"), "status_line"),
    "two spaces": (answer(line=b"HTTP/1.1  200 OK"), "status_line"),
    "two digits": (answer(line=b"HTTP/1.1 20 OK"), "status_line"),
    "four digits": (answer(line=b"HTTP/1.1 2000 OK"), "status_line"),
    "status below 100": (answer(line=b"HTTP/1.1 099 OK"), "status_line"),
    "nul in the reason": (answer(line=b"HTTP/1.1 200 O\0K"), "status_line"),
    "bare cr in the reason": (answer(line=b"HTTP/1.1 200 O\rK"), "status_line"),
    "bare lf after the status line": (b"HTTP/1.1 200 OK\nContent-Length: 0\r\n\r\n", "line_end"),
    "bare lf after a field": (b"HTTP/1.1 200 OK\r\nContent-Length: 0\n\r\n", "line_end"),
    "bare lf ends the head": (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\n", "line_end"),
    "folded field": (answer(b"X: a", b" b", b"Content-Length: 0"), "obs_fold"),
    "folded with a colon": (answer(b"X: a", b"\tb: c", b"Content-Length: 0"), "obs_fold"),
    "folded first line": (answer(b" X: a", b"Content-Length: 0"), "obs_fold"),
    "no colon": (answer(b"X", b"Content-Length: 0"), "header"),
    "empty name": (answer(b": x", b"Content-Length: 0"), "header"),
    "space before the colon": (answer(b"Content-Length : 3", body=b"abc"), "header"),
    "nul in a name": (answer(b"X\0: a", b"Content-Length: 0"), "header"),
    "non-ascii name": (answer(b"X\xe9: a", b"Content-Length: 0"), "header"),
    "nul in a value": (answer(b"X: a\0b", b"Content-Length: 0"), "header"),
    "bare cr in a value": (answer(b"X: a\rContent-Length: 9", b"Content-Length: 0"), "header"),
    "cr cr lf": (answer(b"X: a\r", b"Content-Length: 0"), "header"),
    "escape in a value": (answer(b"X: \x1b[2J", b"Content-Length: 0"), "header"),
    "lengths that differ": (answer(b"Content-Length: 3", b"Content-Length: 4", body=b"abcd"), "content_length"),
    "lengths that differ in a list": (answer(b"Content-Length: 3, 4", body=b"abcd"), "content_length"),
    "equal lengths in different spellings": (answer(b"Content-Length: 3, 03", body=b"abc"), "content_length"),
    "a length and nothing": (answer(b"Content-Length: 3,", body=b"abc"), "content_length"),
    "empty length": (answer(b"Content-Length:", body=b"abc"), "content_length"),
    "negative length": (answer(b"Content-Length: -3", body=b"abc"), "content_length"),
    "signed length": (answer(b"Content-Length: +3", body=b"abc"), "content_length"),
    "length with an underscore": (answer(b"Content-Length: 1_0", body=b"abc"), "content_length"),
    "hexadecimal length": (answer(b"Content-Length: 0x3", body=b"abc"), "content_length"),
    "superscript length": (answer(b"Content-Length: \xb3", body=b"abc"), "content_length"),
    "length of 19 digits": (answer(b"Content-Length: 1000000000000000000"), "content_length"),
    "length of 5,000 digits": (answer(b"Content-Length: " + b"1" * 5000), "content_length"),
    "a bad length in a 204": (answer(b"Content-Length: x", line=b"HTTP/1.1 204 No"), "content_length"),
    "a bad length in a 103": (answer(b"Content-Length: x", line=b"HTTP/1.1 103 No"), "content_length"),
    "length and chunked": (chunked(b"0\r\n\r\n", b"Content-Length: 5"), "framing_conflict"),
    "gzip as transfer coding": (answer(b"Transfer-Encoding: gzip, chunked"), "transfer_encoding"),
    "identity": (answer(b"Transfer-Encoding: identity"), "transfer_encoding"),
    "chunked twice": (answer(b"Transfer-Encoding: chunked, chunked"), "transfer_encoding"),
    "two transfer-encoding fields": (
        answer(b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked"), "transfer_encoding"),
    "chunked with a vertical tab": (answer(b"Transfer-Encoding: \x0bchunked"), "header"),
    "xchunked": (answer(b"Transfer-Encoding: xchunked"), "transfer_encoding"),
    "chunked in http/1.0": (
        chunked(b"0\r\n\r\n").replace(b"HTTP/1.1", b"HTTP/1.0"), "transfer_encoding"),
    "switching protocols": (answer(b"Upgrade: h2c", line=b"HTTP/1.1 101 Switching"), "upgrade"),
    "empty size": (chunked(b"\r\nabc\r\n"), "chunk_size"),
    "size that is no number": (chunked(b"xyz\r\nabc\r\n"), "chunk_size"),
    "size with a sign": (chunked(b"+3\r\nabc\r\n"), "chunk_size"),
    "negative size": (chunked(b"-3\r\nabc\r\n"), "chunk_size"),
    "size with 0x": (chunked(b"0x3\r\nabc\r\n"), "chunk_size"),
    "size with an underscore": (chunked(b"1_0\r\nabc\r\n"), "chunk_size"),
    "space before a size": (chunked(b" 3\r\nabc\r\n"), "chunk_size"),
    "size of 17 digits": (chunked(b"0" * 16 + b"3\r\nabc\r\n"), "chunk_size"),
    "an event without chunk framing": (chunked(b'data: {"a": 1}\r\n\r\n'), "chunk_size"),
    "bare lf after a size": (chunked(b"3\nabc\r\n0\r\n\r\n"), "line_end"),
    "bare cr in an extension": (chunked(b"3;a\rb\r\nabc\r\n"), "chunk_size"),
    "nul in an extension": (chunked(b"3;a\0b\r\nabc\r\n"), "chunk_size"),
    "bare lf in an extension": (chunked(b"3;a\nb\r\nabc\r\n"), "line_end"),
    "a size line without end": (chunked(b"3;" + b"a" * MAX_CHUNK_LINE_BYTES), "chunk_line"),
    "data longer than its size": (chunked(b"3\r\nabcd\r\n0\r\n\r\n"), "chunk_end"),
    "no crlf after the data": (chunked(b"3\r\nabc0\r\n\r\n"), "chunk_end"),
    "bare lf after the data": (chunked(b"3\r\nabc\n0\r\n\r\n"), "chunk_end"),
    "cr and something after the data": (chunked(b"3\r\nabc\rx0\r\n\r\n"), "chunk_end"),
    "extensions without end": (
        chunked((b"1;" + b"a" * 200 + b"\r\nx\r\n") * (MAX_EXTENSION_EXCESS // 150)), "chunk_overhead"),
    "extensions without end, after much data": (
        chunked(b"ffff;a\r\n" + b"x" * 65535 + b"\r\n" + (b"1;" + b"a" * 200 + b"\r\nx\r\n") * (MAX_EXTENSION_EXCESS // 150)),
        "chunk_overhead"),
    "padding without end": (
        chunked((b"1" + b" " * 200 + b"\r\nx\r\n") * (MAX_EXTENSION_EXCESS // 150)), "chunk_overhead"),
    "bad trailer": (chunked(b"0\r\nX Y\r\n\r\n"), "header"),
    "bare lf after a trailer": (chunked(b"0\r\nX: y\n\r\n"), "line_end"),
    "a length in the trailers": (chunked(b"0\r\nContent-Length: 3\r\n\r\n"), "trailers"),
    "trailers without end": (chunked(b"0\r\n" + (b"X: " + LONG + b"\r\n") * 100), "trailers"),
    "one long trailer": (chunked(b"0\r\nX: " + b"a" * MAX_TRAILER_BYTES), "trailers"),
    "one long field": (answer(b"X: " + b"a" * MAX_HEAD_BYTES), "head_size"),
    "a long reason": (answer(line=b"HTTP/1.1 200 " + b"a" * MAX_HEAD_BYTES), "head_size"),
    "a field without end": (answer()[:-2] + b"X: " + b"a" * MAX_HEAD_BYTES, "head_size"),
    "many long fields": (answer(*[b"X: " + LONG * 10] * 66), "head_size"),
    "too many fields": (answer(*[b"X: a"] * (MAX_HEADERS + 1)), "header_count"),
    "interim answers without end": (answer(line=b"HTTP/1.1 102 Processing") * (MAX_INFORMATIONAL + 1), "informational"),
}  # fmt: skip


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(("raw", "reason"), REFUSED.values(), ids=REFUSED)
def test_a_violation_is_refused_for_the_same_reason_however_it_is_split(
    raw: bytes, reason: str, step: int
) -> None:
    got = read(pieces_of(raw, step))
    assert (got.error, got.ended) == (reason, False)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(
    ("raw", "status"),
    {
        "nothing": (b"", None),
        "in the version": (b"HTTP/", None),
        "in the status line": (b"HTTP/1.1 200 O", None),
        "in the head": (b"HTTP/1.1 200 OK\r\nContent-", None),
        "after an interim answer": (answer(line=b"HTTP/1.1 100 Continue"), None),
        "before the body": (answer(b"Content-Length: 3"), 200),
        "in the body": (answer(b"Content-Length: 3", body=b"ab"), 200),
        "in a size": (chunked(b"3"), 200),
        "in a chunk": (chunked(b"3\r\nab"), 200),
        "after a chunk": (chunked(b"3\r\nabc\r"), 200),
        "between chunks": (chunked(b"3\r\nabc\r\n"), 200),
        "after the last chunk": (chunked(b"0\r\n"), 200),
        "in the trailers": (chunked(b"0\r\nX: y\r\n"), 200),
    }.values(),
)
def test_a_close_before_the_end_is_a_cut(raw: bytes, status: int | None, step: int) -> None:
    reader = ResponseReader()
    got = read(pieces_of(raw, step), close=True, reader=reader)
    assert (got.status, got.ended, got.keep_alive, got.error) == (status, False, False, "eof")
    assert reader.started is bool(raw)


def test_limits_are_exact() -> None:
    head = answer(b"X: " + b"a" * 20, b"Content-Length: 0")
    assert read([head], reader=ResponseReader(max_head_bytes=len(head))).ended
    assert read([head], reader=ResponseReader(max_head_bytes=len(head) - 1)).error == "head_size"

    assert read([head], reader=ResponseReader(max_headers=2)).ended
    assert read([head], reader=ResponseReader(max_headers=1)).error == "header_count"

    interim = answer(line=b"HTTP/1.1 102 Processing")
    assert read([interim * 2 + head], reader=ResponseReader(max_informational=2)).ended
    assert (
        read([interim * 3 + head], reader=ResponseReader(max_informational=2)).error
        == "informational"
    )

    line = b"3;" + b"x" * 30 + b"\r\n"
    body = chunked(line + b"abc\r\n0\r\n\r\n")
    assert read([body], reader=ResponseReader(max_chunk_line_bytes=len(line))).ended
    assert (
        read([body], reader=ResponseReader(max_chunk_line_bytes=len(line) - 1)).error
        == "chunk_line"
    )

    trailers = b"X: y\r\n\r\n"
    body = chunked(b"0\r\n" + trailers)
    assert read([body], reader=ResponseReader(max_trailer_bytes=len(trailers))).ended
    assert (
        read([body], reader=ResponseReader(max_trailer_bytes=len(trailers) - 1)).error == "trailers"
    )


def test_every_interim_answer_has_the_head_limit_for_itself() -> None:
    interim = answer(b"X: " + LONG, line=b"HTTP/1.1 103 Early Hints")
    raw = interim * 5 + answer(b"Content-Length: 0")
    assert read([raw], reader=ResponseReader(max_head_bytes=len(interim))).ended


def test_honest_extensions_never_add_up() -> None:
    signed = b"40;chunk-signature=" + b"a" * 64 + b"\r\n" + b"x" * 64 + b"\r\n"
    assert read([chunked(signed * 5000 + b"0\r\n\r\n")]).ended


def test_the_head_keeps_order_case_of_values_and_repeats() -> None:
    got = read([answer(b"Set-A: 1", b"B:  x \t", b"SET-a: 2", b"Empty:", b"Content-Length: 0")])
    assert got.headers == (
        (b"set-a", b"1"),
        (b"b", b"x"),
        (b"set-a", b"2"),
        (b"empty", b""),
        (b"content-length", b"0"),
    )
    head = got.events[0]
    assert isinstance(head, Head)
    assert (head.reason, head.http_version) == (b"OK", b"1.1")


def test_one_read_gives_one_data_event() -> None:
    events = ResponseReader().feed(chunked(b"3\r\nabc\r\n2\r\nde\r\n4\r\nfg"))
    assert [type(event) for event in events] == [Head, Data]
    assert events[1] == Data(b"abcdefg")


def test_data_of_one_piece_is_not_copied() -> None:
    reader = ResponseReader()
    reader.feed(answer())
    piece = b"x" * 1000
    [event] = reader.feed(piece)
    assert isinstance(event, Data)
    assert event.data is piece


def test_a_refused_answer_stays_refused() -> None:
    reader = ResponseReader()
    with pytest.raises(ProtocolError):
        reader.feed(b"nonsense")
    with pytest.raises(ProtocolError):
        reader.feed(answer(b"Content-Length: 0"))
    with pytest.raises(ProtocolError):
        reader.eof()
    assert not reader.keep_alive


def test_bytes_after_the_end_spoil_the_connection_and_are_kept_bounded() -> None:
    reader = ResponseReader()
    assert read([answer(b"Content-Length: 0")], reader=reader).keep_alive
    for _ in range(3):
        assert reader.feed(b"x" * MAX_EXCESS_BYTES) == []
    assert not reader.keep_alive
    assert len(reader.excess) == MAX_EXCESS_BYTES


def test_nothing_fed_means_nothing() -> None:
    reader = ResponseReader()
    assert reader.feed(b"") == []
    assert not reader.started


@pytest.mark.parametrize(
    "raw", [b"SSH-2.0-secret\r\n", answer(b"bad secret"), chunked(b"secret\r\n")]
)
def test_what_the_server_sent_is_in_the_detail_only(raw: bytes) -> None:
    with pytest.raises(ProtocolError) as caught:
        ResponseReader().feed(raw)
    assert "secret" in caught.value.detail
    assert "secret" not in str(caught.value) + repr(caught.value)
    assert caught.value.__context__ is None


# --- Against h11 ---


def read_with_h11(raw: bytes) -> Read:
    peer = h11.Connection(our_role=h11.CLIENT, max_incomplete_event_size=1 << 20)
    peer.send(h11.Request(method="GET", target="/", headers=[("Host", "a")]))
    peer.send(h11.EndOfMessage())
    got = Read()
    try:
        peer.receive_data(raw)
        closed = False
        while not got.ended:
            event = peer.next_event()
            match event:
                case h11.Response():
                    got.status = event.status_code
                    got.headers = tuple(
                        (bytes(name), bytes(value)) for name, value in event.headers
                    )
                case h11.Data():
                    got.body += bytes(event.data)
                case h11.EndOfMessage():
                    got.ended = True
                case h11.NEED_DATA if not closed:
                    closed = True
                    peer.receive_data(b"")
                case h11.InformationalResponse():
                    pass
                case _:
                    got.error = "h11 stopped"
                    break
        got.keep_alive = peer.their_state is h11.DONE and not closed
        got.excess = peer.trailing_data[0]
    except h11.RemoteProtocolError as problem:
        got.error = str(problem)
    return got


def without_lengths(headers: tuple[tuple[bytes, bytes], ...]) -> list[tuple[bytes, bytes]]:
    return [(name, value) for name, value in headers if name != b"content-length"]


token = st.text("ab-Z09!~", min_size=1, max_size=8).map(str.encode)
value = st.text('ab ,;=\t"\xe9', max_size=12).map(lambda text: text.encode("latin-1"))
fields = st.lists(
    st.builds(lambda name, text: b"X-" + name + b": " + text, token, value), max_size=4
)
extension = st.sampled_from([b"", b"", b"", b";a", b";a=b;c", b"  "])
contents = st.lists(st.binary(min_size=1, max_size=40), max_size=6)


@st.composite
def valid_answers(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """An answer as a server may send it, and its body."""
    parts = draw(contents)
    body = b"".join(parts)
    head_fields = draw(fields)
    match draw(st.sampled_from(["length", "chunked", "close"])):
        case "length":
            head_fields.insert(0, b"Content-Length: %d" % len(body))
            framed = body
        case "chunked":
            head_fields.append(b"Transfer-Encoding: chunked")
            sizes = st.sampled_from([b"%x", b"%X", b"0%x"])
            chunks = [
                draw(sizes) % len(part) + draw(extension) + b"\r\n" + part + b"\r\n"
                for part in parts
            ]
            trailers = b"".join(line + b"\r\n" for line in draw(fields))
            framed = b"".join(chunks) + b"0" + draw(extension) + b"\r\n" + trailers + b"\r\n"
        case _:
            framed = body
    interim = answer(*draw(fields), line=b"HTTP/1.1 103 Early") * draw(st.integers(0, 2))
    version = (
        draw(st.sampled_from([b"1.1", b"1.1", b"1.0"]))
        if b"Transfer" not in b"".join(head_fields)
        else b"1.1"
    )
    line = b"HTTP/%s %d%s" % (
        version,
        draw(st.integers(205, 599).filter(lambda n: n != 304)),
        draw(st.sampled_from([b"", b" ", b" Fine \xe9"])),
    )
    return interim + answer(*head_fields, body=framed, line=line), body


@st.composite
def mutated_answers(draw: st.DrawFn) -> bytes:
    """A valid answer with a few bytes of the dangerous kind put in, taken out or replaced."""
    raw, _ = draw(valid_answers())
    fragments = st.sampled_from([
        b"\r", b"\n", b"\r\n", b"\0", b" ", b"\t", b":", b";", b",", b"0", b"f", b"-", b"\r\n\r\n", b"0\r\n\r\n",
        b"\r\nContent-Length: 3", b"\r\nContent-Length: 3, 3", b"\r\nTransfer-Encoding: chunked", b"\xe9", b"\x0b", b"\x7f",
    ])  # fmt: skip
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(raw)))
        raw = raw[:at] + draw(fragments) + raw[at + draw(st.integers(0, 3)) :]
    return raw


def cut_at(raw: bytes, cuts: list[int]) -> list[bytes]:
    edges = [0, *sorted({cut % (len(raw) + 1) for cut in cuts}), len(raw)]
    return [raw[start:stop] for start, stop in itertools.pairwise(edges)]


cuts = st.lists(st.integers(0, 1 << 16), max_size=12)


@given(valid_answers(), cuts)
def test_valid_answers_read_as_h11_reads_them_in_any_split(
    made: tuple[bytes, bytes], at: list[int]
) -> None:
    raw, body = made
    got = read(cut_at(raw, at), close=True)
    other = read_with_h11(raw)
    assert (got.body, got.ended, got.error) == (body, True, "")
    assert (other.body, other.ended, other.error) == (body, True, "")
    assert got.status == other.status
    assert without_lengths(got.headers) == without_lengths(other.headers)


# We take, and h11 does not, white space between a size and an extension: RFC 9112 7.1.1 has it.
SPACE_BEFORE_EXTENSION = re.compile(rb"[0-9A-Fa-f][ \t]+;")


@given(mutated_answers(), cuts)
@example(chunked(b"1\r\na\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n"), [])
@example(
    answer(b"Content-Length: 1", b"Connection: keep-alive", line=b"HTTP/1.0 200 OK", body=b"a"), []
)
def test_what_we_accept_h11_accepts_and_reads_the_same(raw: bytes, at: list[int]) -> None:
    # Where we refuse and h11 does not is on purpose: bare LF, folding, control characters other
    # than NUL, CR and LF, HTTP/1.0 or a length beside a transfer coding, framing fields in
    # trailers, HTTP/1.2 and up, 101, the bounds.
    got = read([raw])
    whole = read([raw], close=True)
    split = read(cut_at(raw, at), close=True)
    assert (split.ended, split.error, split.keep_alive) == (
        whole.ended,
        whole.error,
        whole.keep_alive,
    )
    if not whole.ended:
        return
    assert split == whole
    other = read_with_h11(raw)
    if SPACE_BEFORE_EXTENSION.search(raw) and not other.ended:
        return
    assert (whole.status, whole.body, whole.excess) == (other.status, other.body, other.excess)
    assert other.ended
    assert without_lengths(whole.headers) == without_lengths(other.headers)
    # One thing is looser: h11 never keeps an HTTP/1.0 connection, its `keep-alive` notwithstanding.
    if got.keep_alive and raw.startswith(b"HTTP/1.1"):
        assert other.keep_alive or b"HTTP/1.0" in raw


@given(mutated_answers(), st.integers(1, 7))
def test_a_head_that_comes_at_once_is_read_as_one_that_comes_in_pieces(raw: bytes, at: int) -> None:
    """One that is plain and whole is read in one go; a cut in its version rules that out."""
    whole, split = read([raw], close=True), read([raw[:at], raw[at:]], close=True)
    assert whole == split


PLAIN = answer(b"Content-Type: application/json", b"Content-Length: 2", body=b"{}")


CHUNKED = answer(b"Transfer-Encoding: chunked")


@given(
    before=st.sampled_from(
        [b"", b"3\r\nabc\r\n", b"3\r\nabc", b"3\r\nabc\r", b"3", b"0\r\n", b"0\r\n\r\n"]
    ),
    size=st.sampled_from(
        [
            b"3",
            b"03",
            b"000000000000000000003",
            b"3 ",
            b"3;a",
            b"A",
            b"0",
            b"",
            b"0x3",
            b"+3",
            b"3_",
        ]
    ),
    end=st.sampled_from([b"\r\n", b"\n", b"\r\n ", b""]),
    data=st.sampled_from([b"abc", b"abcdefghij", b"", b"a\r\nb", b"abc\r\n3\r\nabc"]),
    close=st.sampled_from([b"\r\n", b"\n", b"\r", b"", b"\r\n0\r\n\r\n", b"\r\n3\r\nabc\r\n"]),
)
@example(before=b"", size=b"3", end=b"\r\n", data=b"abc", close=b"\r\n")
def test_one_chunk_is_what_feeding_it_gives(
    before: bytes, size: bytes, end: bytes, data: bytes, close: bytes
) -> None:
    piece = size + end + data + close
    reader, other = ResponseReader(), ResponseReader()
    reader.feed(CHUNKED + before)
    other.feed(CHUNKED + before)
    one = reader.one_chunk(piece)
    if one is not None:
        assert other.feed(piece) == [Data(one)]
        assert len(one) == int(size, 16)
    elif before in (b"", b"3\r\nabc\r\n"):
        assert piece != b"3\r\nabc\r\n"
    # Nothing was read, or nothing of it has to be remembered.
    rest = [b"3\r\nxyz\r\n"] if one is not None else [piece]
    assert read(rest, reader=reader) == read(rest, reader=other)


@given(mutated_answers() | valid_answers().map(lambda made: made[0]))
@example(PLAIN)
def test_what_passes_for_plain_is_what_the_reader_reads(raw: bytes) -> None:
    plain = read_plain(raw)
    if plain is None:
        return
    head, body = plain
    got = read([raw])
    assert (got.status, got.headers, got.body) == (head.status, head.headers, body)
    assert (got.ended, got.keep_alive, got.excess, got.error) == (True, True, b"", "")
    assert got.events[0] == head


NOT_PLAIN: dict[str, bytes] = {
    "cut": PLAIN[:-1],
    "one byte more": PLAIN + b"x",
    "no length": answer(body=b"{}"),
    "chunks": answer(b"Transfer-Encoding: chunked", body=b"0\r\n\r\n"),
    "chunks and a length": answer(b"Transfer-Encoding: chunked", b"Content-Length: 2", body=b"{}"),
    "two lengths": answer(b"Content-Length: 2", b"Content-Length: 2", body=b"{}"),
    "a length of too many digits": answer(b"Content-Length: " + b"0" * 18 + b"2", body=b"{}"),
    "a length no int is made of": answer(b"Content-Length: " + b"1" * 5000, body=b"{}"),
    "a signed length": answer(b"Content-Length: +2", body=b"{}"),
    "closing": answer(b"Content-Length: 2", b"Connection: close", body=b"{}"),
    "an interim one": answer(b"Content-Length: 0", line=b"HTTP/1.1 100 Continue"),
    "no content": answer(b"Content-Length: 0", line=b"HTTP/1.1 204 No Content"),
    "an older version": answer(b"Content-Length: 2", line=b"HTTP/1.0 200 OK", body=b"{}"),
    "a bare line feed": PLAIN.replace(b"json\r\n", b"json\n"),
    "a folded header": PLAIN.replace(b"\r\nContent-L", b"\r\n Content-L"),
    "a control character": PLAIN.replace(b"json", b"js\x00on"),
    "a blank before the colon": PLAIN.replace(b"Length:", b"Length :"),
    "too many headers": answer(*[b"A: 1"] * MAX_HEADERS, b"Content-Length: 0"),
    "too long a head": answer(b"A: " + b"x" * MAX_HEAD_BYTES, b"Content-Length: 0"),
}


@pytest.mark.parametrize("raw", NOT_PLAIN.values(), ids=NOT_PLAIN)
def test_what_a_rule_is_asked_about_is_not_plain(raw: bytes) -> None:
    assert read_plain(PLAIN) is not None
    assert read_plain(raw) is None


pieces_of_http = st.lists(
    st.one_of(
        st.binary(max_size=20),
        st.sampled_from([b"HTTP/1.1 200 OK\r\n", b"Transfer-Encoding: chunked\r\n", b"Content-Length: 5\r\n", b"\r\n", b"5\r\nhello\r\n", b"0\r\n"]),
    ),
    max_size=12,
)  # fmt: skip


@given(pieces_of_http, st.booleans())
def test_any_bytes_raise_our_errors_only(pieces: list[bytes], close: bool) -> None:
    read(pieces, close=close)


# --- Work ---


class Meter:
    """Counts bytes that are searched or copied, and calls."""

    def __init__(self) -> None:
        self.work = 0

    def bytes(self, raw: bytes) -> bytes:
        meter = self

        class Counted(bytes):
            def find(self, sub: bytes, start: int = 0) -> int:  # type: ignore[override]  # as it is called
                at = super().find(sub, start)
                meter.work += (at if at >= 0 else len(self)) - start
                return at

            def __getitem__(self, key: slice) -> bytes:  # type: ignore[override]  # as it is called
                part = super().__getitem__(key)
                meter.work += len(part)
                return part

        return Counted(raw)

    def reader(self) -> ResponseReader:
        meter = self

        class Counted(bytearray):
            def __bytes__(self) -> bytes:
                meter.work += len(self)
                return self[:]

            def __getitem__(self, key: slice) -> bytes:  # type: ignore[override]  # as it is called
                part = bytearray.__getitem__(self, key)
                meter.work += len(part)
                return b"".join([part])

        reader = ResponseReader(
            max_head_bytes=1 << 30, max_headers=1 << 30, max_trailer_bytes=1 << 30
        )
        reader._held = Counted()
        return reader

    def calls(self, frame: FrameType, event: str, arg: object) -> None:
        if event in {"call", "c_call"}:
            self.work += 1


WORK: dict[str, tuple[Callable[[int], bytes], int]] = {
    "one long field, byte by byte": (lambda n: answer(b"X: " + b"a" * n, b"Content-Length: 0"), 1),
    "many fields, byte by byte": (
        lambda n: answer(*[b"X: a"] * (n // 10), b"Content-Length: 0"),
        1,
    ),
    "many fields at once": (lambda n: answer(*[b"X: a"] * n, b"Content-Length: 0"), 1 << 30),
    "many chunks at once": (lambda n: chunked(b"1\r\na\r\n" * n + b"0\r\n\r\n"), 1 << 30),
    "many chunks, byte by byte": (lambda n: chunked(b"1\r\na\r\n" * n + b"0\r\n\r\n"), 1),
    "many extensions at once": (
        lambda n: chunked(b"8;a\r\nabcdefgh\r\n" * n + b"0\r\n\r\n"),
        1 << 30,
    ),
    "one chunk, byte by byte": (lambda n: chunked(b"%x\r\n" % n + b"a" * n + b"\r\n0\r\n\r\n"), 1),
    "a length, in small pieces": (lambda n: answer(b"Content-Length: %d" % n, body=b"a" * n), 3),
    "trailers, byte by byte": (lambda n: chunked(b"0\r\nX: " + b"a" * n + b"\r\n\r\n"), 1),
    "many trailers at once": (lambda n: chunked(b"0\r\n" + b"X: a\r\n" * n + b"\r\n"), 1 << 30),
}


def work_for(raw: bytes, step: int) -> int:
    meter = Meter()
    reader = meter.reader()
    pieces = [meter.bytes(piece) for piece in pieces_of(raw, step)]
    before = sys.getprofile()
    sys.setprofile(meter.calls)
    try:
        for piece in pieces:
            reader.feed(piece)
    finally:
        sys.setprofile(before)
    assert reader.keep_alive
    return meter.work


@pytest.mark.parametrize(("build", "step"), WORK.values(), ids=WORK)
def test_work_grows_with_the_bytes_and_no_faster(build: Callable[[int], bytes], step: int) -> None:
    small, large = work_for(build(1000), step), work_for(build(4000), step)
    assert small > 1000
    assert large < 4.5 * small
