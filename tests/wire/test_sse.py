"""The event stream parser: the framing of the specification, and of the servers that bend it."""

import re
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rig.errors import ResponseTooLargeError
from rig.wire.sse import MAX_EVENT_BYTES, Event, SSEParser

STEPS = [1, 2, 7, 10_000]


def message(data: str | bytes) -> Event:
    return Event("message", data.encode() if isinstance(data, str) else data)


def pieces_of(raw: bytes, step: int) -> list[bytes]:
    return [raw[start : start + step] for start in range(0, len(raw), step)]


def feed(parser: SSEParser, pieces: list[bytes]) -> list[Event]:
    return [event for piece in pieces for event in parser.feed(piece)]


def parse(pieces: list[bytes]) -> list[Event]:
    return feed(SSEParser(), pieces)


CASES: dict[str, tuple[bytes, list[Event]]] = {
    "one event": (b'data: {"a":1}\n\n', [message('{"a":1}')]),
    "two events in one read": (b'data: {"a":1}\n\ndata: {}\n\n', [message('{"a":1}'), message("{}")]),
    "no space after the colon": (b'data:{"a":1}\n\n', [message('{"a":1}')]),
    "only one space goes": (b"data:  two\n\n", [message(" two")]),
    "crlf": (b"data: {}\r\n\r\ndata: b\r\n\r\n", [message("{}"), message("b")]),
    "cr": (b"data: {}\r\rdata: b\r\r", [message("{}"), message("b")]),
    "line ends mixed": (b"data: a\r\n\ndata: b\n\rdata: c\r\r\n", [message(c) for c in "abc"]),
    "lf after crlf": (b"data: a\r\n\r\n\ndata: b\n\n", [message("a"), message("b")]),
    "a comment is silent": (b": ping\n\ndata: a\n\n", [message("a")]),
    "comments beside data": (b": one\ndata: a\n:\n\n:\n\n", [message("a")]),
    "data that is a comment": (b"data: : keepalive\n\ndata:: ping\n\n", []),
    "no data": (b"data\n\ndata:\n\ndata: \n\nid: 7\n\nevent: ping\n\n", []),
    "an id does not make an event of a ping": (b"id: 1\ndata: a\n\n: ping\n\n", [message("a")]),
    "several data lines": (b'data: {"a":\ndata:  1}\n\n', [message('{"a":\n 1}')]),
    "a data line without colon": (b"data: a\ndata\ndata: b\n\n", [message("a\n\nb")]),
    "a byte order mark": (b"\xef\xbb\xbfdata: {}\n\n", [message("{}")]),
    "only the first byte order mark": (
        b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\ndata: b\n\n",
        [message("b")],
    ),
    "a byte order mark before a comment": (b"\xef\xbb\xbf: hi\n\ndata: a\n\n", [message("a")]),
    "a named event": (b"event: ping\ndata: {}\n\n", [Event("ping", b"{}")]),
    "a name lasts for one event": (
        b"event: ping\ndata: {}\n\ndata: {}\n\n",
        [Event("ping", b"{}"), message("{}")],
    ),
    "an error event": (b"event: error\ndata: no\n\n", [Event("error", b"no")]),
    "an error event after its data": (b"data: {}\nevent:error\n\n", [Event("error", b"{}")]),
    "an error event without data": (b"event: error\n\n", [Event("error", b"")]),
    "llama.cpp's error field": (b'error: {"code":400}\n\n', [Event("error", b'{"code":400}')]),
    "unknown fields": (b"retry: 3\nid: 1\nfoo: bar\ndata: a\nbaz\n\n", [message("a")]),
    "blank lines between events": (b"\n\n\n\ndata: a\n\n\n\n\ndata: b\n\n\n", [message("a"), message("b")]),
    "a colon inside data": (b"data: a: b\n\n", [message("a: b")]),
    "line separators of unicode are data": (
        'data: {"a":"x\u2028y\u2029z\u0085!\x0b\x0c\x1c"}\n\n'.encode(),
        [message('{"a":"x\u2028y\u2029z\u0085!\x0b\x0c\x1c"}')],
    ),
    "bytes that are no utf-8": (b"data: \xff\xfe\n\n", [message(b"\xff\xfe")]),
    "an unfinished event waits": (b"data: a\n\ndata: b\n", [message("a")]),
    "nothing": (b"", []),
}  # fmt: skip


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(("raw", "expected"), CASES.values(), ids=CASES.keys())
def test_events_do_not_depend_on_where_reads_split(
    raw: bytes, expected: list[Event], step: int
) -> None:
    assert parse(pieces_of(raw, step)) == expected


UNFINISHED: dict[str, tuple[bytes, list[Event]]] = {
    "no blank line": (b"data: {}\n\ndata: [DONE]\n", [message("{}"), message("[DONE]")]),
    "no line end": (b"data: {}\n\ndata: [DONE]", [message("{}"), message("[DONE]")]),
    "a carriage return": (b"data: [DONE]\r", [message("[DONE]")]),
    "no blank line anywhere": (b"data: a\ndata: b", [message("a\nb")]),
    "behind a byte order mark": (b"\xef\xbb\xbfdata: a", [message("a")]),
    "an error": (b"error: no", [Event("error", b"no")]),
    "a comment": (b"data: a\n\n: ping", [message("a")]),
    "nothing": (b"data: a\n\n", [message("a")]),
}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(("raw", "expected"), UNFINISHED.values(), ids=UNFINISHED.keys())
def test_the_end_of_a_whole_body_hands_out_the_event_without_a_blank_line(
    raw: bytes, expected: list[Event], step: int
) -> None:
    parser = SSEParser()
    events = [event for piece in pieces_of(raw, step) for event in parser.feed(piece)]
    assert events + parser.eof() == expected
    assert parser.eof() == []


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("ending", [b"\n\n", b"\r\r", b"\r\n\r\n"])
def test_an_event_of_exactly_the_limit_passes_and_one_byte_more_does_not(
    ending: bytes, step: int
) -> None:
    exact = b"data: " + b"x" * 94
    events = feed(SSEParser(max_event_bytes=100), pieces_of(exact + ending, step))
    assert [len(event.data) for event in events] == [94]
    with pytest.raises(ResponseTooLargeError) as raised:
        feed(SSEParser(max_event_bytes=100), pieces_of(exact + b"y" + ending, step))
    assert raised.value.reason == "event"


@pytest.mark.parametrize("step", STEPS)
def test_the_limit_holds_for_all_lines_of_an_event_together(step: int) -> None:
    parser = SSEParser(max_event_bytes=100)
    with pytest.raises(ResponseTooLargeError):
        feed(parser, pieces_of(b"data: 1234\n" * 10 + b"\n", step))
    assert parser.fault is not None


@pytest.mark.parametrize("step", [1, 3, 1000])
def test_an_event_without_end_is_refused_before_it_fills_the_memory(step: int) -> None:
    parser = SSEParser(max_event_bytes=1000)
    with pytest.raises(ResponseTooLargeError):
        feed(parser, [b"x" * step] * 1001)
    assert parser.work <= 1001 + step


def test_the_events_before_one_too_large_are_handed_out_first() -> None:
    parser = SSEParser(max_event_bytes=10)
    assert parser.feed(b"data: a\n\ndata: much too long\n\ndata: c\n\n") == [message("a")]
    assert parser.fault is not None
    with pytest.raises(ResponseTooLargeError):
        parser.feed(b"data: c\n\n")
    with pytest.raises(ResponseTooLargeError):
        parser.eof()


def test_the_limit_is_generous_by_default() -> None:
    big = b"data: " + b"x" * 200_000 + b"\n\n"
    assert len(parse([big])) == 1
    assert MAX_EVENT_BYTES == 1 << 20


def reference(raw: bytes) -> list[Event]:
    """The specification's algorithm, with our three differences, on the whole stream."""
    events: list[Event] = []
    data: list[bytes] = []
    kind = ""
    raw = raw.removeprefix(b"\xef\xbb\xbf")
    for line in re.split(rb"\r\n|\r|\n", raw)[:-1]:
        if line:
            name, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if name in {b"data", b"error"}:
                data.append(value)
            if name == b"event":
                kind = value.decode(errors="replace")
            if name == b"error":
                kind = "error"
            continue
        joined = b"\n".join(data)
        if kind == "error" or (joined.strip() and not joined.strip().startswith(b":")):
            events.append(Event(kind or "message", joined))
        data, kind = [], ""
    return events


fragments = st.sampled_from([
    b"data: ", b"data:", b"data", b"event: error", b"event:x", b"error: ", b"id: 1", b":", b" ",
    b"\n", b"\n\n", b"\r", b"\r\n", b"\r\n\r\n", b"{}", b"[DONE]", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"x",
])  # fmt: skip


@given(st.lists(fragments, max_size=30), st.lists(st.integers(1, 5), max_size=60))
@example([b"data: a", b"\r", b"\n", b"\r", b"\n"], [1] * 11)
@example([b"data: a\n", b"\n\nx"], [8])
@example([b"\r", b"\n", b"\ndata: x\n\n"], [1])
def test_any_stream_split_anywhere_reads_as_the_specification_says(
    parts: list[bytes], sizes: list[int]
) -> None:
    raw = b"".join(parts)
    pieces: list[bytes] = []
    start = 0
    for size in sizes:
        pieces.append(raw[start : start + size])
        start += size
    pieces.append(raw[start:])
    assert parse(pieces) == parse([raw]) == reference(raw)


WORK: dict[str, Callable[[int], bytes]] = {
    "many events": lambda n: b'data: {"a":1}\n\n' * (n // 16),
    "many events, crlf": lambda n: b'data: {"a":1}\r\n\r\n' * (n // 18),
    "one long line": lambda n: b"data: " + b"x" * n + b"\n\n",
    "many lines": lambda n: b"data: x\n" * (n // 8) + b"\n",
    "nothing but line ends": lambda n: b"\n" * n,
    "nothing but carriage returns": lambda n: b"\r" * n,
    "comments": lambda n: b":\n\n" * (n // 3),
}


@pytest.mark.parametrize("step", [1, 3, 1 << 20])
@pytest.mark.parametrize("build", WORK.values(), ids=WORK.keys())
def test_work_grows_with_the_bytes_and_no_faster(build: Callable[[int], bytes], step: int) -> None:
    def work(size: int) -> int:
        parser = SSEParser(max_event_bytes=1 << 30)
        for piece in pieces_of(build(size), step):
            parser.feed(piece)
        return parser.work

    assert work(10_000) > 5_000
    assert work(40_000) <= 4.1 * work(10_000)
