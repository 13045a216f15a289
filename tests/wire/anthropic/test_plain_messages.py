"""Events of a message that differ in their text alone are read at once, and tell what each alone would tell."""

import json
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from rig.errors import RigError
from rig.model import Delta
from rig.text.salvage import OfferedTool
from rig.transport.http1 import Data, ResponseReader
from rig.wire.anthropic.assembly import MessageAssembler
from rig.wire.anthropic.decode import decode_message
from rig.wire.chat_stream import ChatStream
from rig.wire.plain_events import MAX_LESSONS

CAPTURES = Path(__file__).parents[2] / "data" / "anthropic" / "captures"
TOOLS = (OfferedTool("add", {"type": "object"}),)
Value = dict[str, Any]


class OneByOne(MessageAssembler):
    """Reads each event in full."""

    @property
    def knows_plain(self) -> bool:
        return False

    def feed_plain(self, block: bytes) -> None:
        return None

    def feed_one(self, block: bytes) -> None:
        return None


def piece(index: object = 0, **delta: object) -> Value:
    return {"type": "content_block_delta", "index": index, "delta": delta}


def said(text: object, index: object = 0) -> Value:
    return piece(index, type="text_delta", text=text)


def thought(text: object, index: object = 0) -> Value:
    return piece(index, type="thinking_delta", thinking=text)


def given(text: object, index: object = 0) -> Value:
    return piece(index, type="input_json_delta", partial_json=text)


def begin(index: object, **block: object) -> Value:
    return {"type": "content_block_start", "index": index, "content_block": block}


def block(*values: Value, ascii_only: bool = True, named: bool = True) -> bytes:
    datas = [(one, json.dumps(one, ensure_ascii=ascii_only)) for one in values]
    lines = [
        f"event: {one.get('type')}\ndata: {data}" if named else f"data: {data}"
        for one, data in datas
    ]
    return "".join(f"{line}\n\n" for line in lines).encode()


def outcome(chat: ChatStream) -> object:
    try:
        return chat.close(), chat.reply()
    except RigError as error:
        return type(error), error.reason, error.text, error.tool_calls


def stream(assembler: type[MessageAssembler] = MessageAssembler, **bounds: Any) -> ChatStream:
    return ChatStream(assembler=assembler, decode=decode_message, **bounds)


def told(pieces: list[bytes], assembler: type[MessageAssembler], **bounds: Any) -> object:
    chat = stream(assembler, **bounds)
    heard: list[object] = []
    for one in pieces:
        delta = chat.feed_one(one)
        deltas = chat.feed(one) if delta is None else [delta]
        facts = chat.untold, chat.complete, chat.ended, chat.assembler.blank, chat.assembler.skipped
        heard.append((deltas, facts, chat.assembler.take_held()))
    return heard, outcome(chat)


def assert_same(pieces: list[bytes], **bounds: Any) -> None:
    assert told(pieces, MessageAssembler, **bounds) == told(pieces, OneByOne, **bounds)


@pytest.mark.parametrize("named", [True, False], ids=["named", "without a name"])
def test_texts_and_thoughts_of_a_message_are_read_at_once(named: bool) -> None:
    chat = stream()
    chat.feed(block(thought("a"), named=named))
    assert chat.assembler.feed_plain(block(thought("b"), thought("c"), named=named)) == [
        Delta(reasoning="b"),
        Delta(reasoning="c"),
    ]
    assert chat.feed_one(block(thought("d"), named=named)) == Delta(reasoning="d")
    chat.feed(block(said("a", 1), named=named))
    assert chat.assembler.feed_plain(block(said("b", 1), said("c", 1), named=named)) == [
        Delta(text="b"),
        Delta(text="c"),
    ]
    assert chat.feed_one(block(said("d", 1), named=named)) == Delta(text="d")


@pytest.mark.parametrize(
    "other",
    [
        block(said("b", 1)),
        block(said("b"), named=False),
        block(thought("b")),
        block(piece(type="text_delta", thinking="b")),
        block(piece(type="input_json_delta", partial_json="b")),
        block(piece(type="signature_delta", signature="b")),
        block(said("b") | {"error": {"message": "no"}}),
        block(said("b")).replace(b"event: ", b"event:"),
        block(said("b")).replace(b"event: content_block_delta", b"event: ping"),
        block(said("b")).replace(b"\n\n", b"\nid: 7\n\n"),
        block(said(None)),
    ],
)
def test_any_other_event_is_left_to_be_read(other: bytes) -> None:
    chat = stream()
    chat.feed(block(said("a")))
    assert chat.feed_one(other) is None
    assert chat.assembler.feed_plain(other) is None
    assert chat.assembler.feed_plain(block(said("a")) + other) is None
    assert chat.assembler.feed_plain(block(said("c"))) == [Delta(text="c")]


@pytest.mark.parametrize(
    "taught",
    [
        b'event: content_block_delta\ndata: {"type":"content_block_delta",\ndata: "delta":{"type":"text_delta","text":"a"}}\n\n',
        b'data: {"type":"content_block_delta","text":"a","delta":{"type":"text_delta","text":"a"}}\n\n',
        block(piece(type="input_json_delta", partial_json="")),
        block(piece("x", type="input_json_delta", partial_json="{")),
        block(piece(type="signature_delta", signature="a")),
        block(said("")),
        block({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "a"}}),
    ],
)  # fmt: skip
def test_nothing_is_learned_of_what_is_not_a_text_alone(taught: bytes) -> None:
    chat = stream()
    chat.feed(taught)
    assert chat.assembler.feed_plain(taught) is None


def test_thoughts_that_come_at_once_are_signed_with_the_others() -> None:
    chat = stream()
    chat.feed(block(begin(2, type="thinking", thinking=""), thought("a", 2)))
    chat.feed(block(thought("b", 2), thought("c", 2)))
    assert chat.feed_one(block(thought("d", 2))) == Delta(reasoning="d")
    chat.feed(
        block(piece(2, type="signature_delta", signature="s"), begin(3, type="text"), said("hi", 3))
    )
    chat.feed(block({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}))
    chat.close()
    (kept,) = chat.reply().thoughts
    assert (kept.thinking, kept.signature) == ("abcd", "s")


def test_a_block_that_began_anew_is_a_thought_again_with_its_next_piece() -> None:
    stop = block({"type": "message_delta", "delta": {"stop_reason": "end_turn"}})
    again = block(begin(0, type="text", text="hi"))
    assert_same([block(thought("a")), again, block(thought("b"), thought("c")), stop])
    assert_same([block(thought("a")), again, block(thought("b")), stop])


def test_arguments_are_read_at_once() -> None:
    chat = stream()
    chat.feed(block(begin(1, type="tool_use", id="c", name="add", input={}), given('{"a"', 1)))
    deltas = chat.assembler.feed_plain(block(given(": 1", 1), given("", 1), given("}", 1)))
    assert deltas is not None
    assert [one.tool_call.arguments for one in deltas if one.tool_call] == [": 1", "}"]
    assert chat.feed_one(block(given(" ", 1))) is None
    chat.feed(block({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}))
    chat.close()
    assert [call.input for call in chat.reply().tool_calls] == [{"a": 1}]


def chunk(delta: Value, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return block({"id": "c", "choices": [choice]}, named=False)


def test_thoughts_of_chunks_from_a_proxy_are_kept_in_no_block() -> None:
    thoughts = [chunk({"reasoning": text}) for text in "abc"]
    pieces = [thoughts[0], b"".join(thoughts), thoughts[1], chunk({"content": "hi"}, "stop")]
    assert_same(pieces)
    assert_same([block(begin(0, type="thinking", thinking="t")), *pieces])


@pytest.mark.parametrize("kind", ["text", "tool_use", "server_tool_use", "thinking"])
def test_arguments_count_while_their_block_is_a_call(kind: str) -> None:
    begun = begin(0, type="tool_use", id="c", name="add", input={"b": 2})
    again = begin(0, type=kind, id="d", name="add", input={"b": 3})
    stop = block({"type": "message_delta", "delta": {"stop_reason": "tool_use"}})
    assert_same([block(begun, given("{")), block(again), block(given("}"), given(" ")), stop])


TEXTS = st.sampled_from([
    "word", " word", "a ", "", " ", "\n", "w" * 90, " " * 150, "<think>", "</think>", "<th", "ink>", "</s>", "a<b", '"', "\\",
    "\u2028", "\u4f60", "\U0001f600", "[add(a=1)]", '{"name": "add", "arguments": {}}', "Here is my", " thought process:",
    "{", '{"a": ', "1}", "{}", "null",
]) | st.text(max_size=4)  # fmt: skip
TOOL = begin(0, type="tool_use", id="c", name="add", input={"a": 1})
ODD: list[Value] = [
    TOOL, given("{"), given(None), begin(0, type="tool_use"), begin(0, type="server_tool_use", id="c", name="add"),
    {"type": "ping"}, begin(0, type="text", text="b"), begin(0, type="thinking", thinking="t"), {"type": "message_stop"},
    begin(1, type="tool_use", id="c", name="add", input={}), piece(1, type="input_json_delta", partial_json='{"a": 1}'),
    begin(0, type="redacted_thinking", data="d"), piece(0, type="signature_delta", signature="s"), said(None), thought(None),
    {"type": "content_block_stop", "index": 0}, {"type": "content_block_stop", "index": 1}, said("a", "x"), said("a") | {"usage": {}},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 7}},
    {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}}, {"type": "error", "error": {"type": "overloaded_error"}},
    {"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 2}, "content": []}},
    {"choices": [{"index": 0, "delta": {"content": "b"}}]}, {"choices": [{"index": 0, "delta": {"reasoning": "b"}}]},
    {"choices": [{"index": 1, "delta": {}, "finish_reason": None}]}, said("b") | {"choices": []}, said("b") | {"error": None},
]  # fmt: skip
RAW = [
    b"data: [DONE]\n\n", b": ping\n\n", b"\n\n\n", b"data: {broken\n\n", block(said("b")).replace(b'"b"', b'"\\ud83d"'),
    block(said("b")).replace(b"\n", b"\r\n"), block(said("b")).replace(b'"b"', b'"b","text":"c"'),
]  # fmt: skip


def burst(
    shape: Callable[[object, object], Value],
    index: object,
    texts: list[str],
    ascii_only: bool,
    named: bool,
) -> bytes:
    return block(*(shape(text, index) for text in texts), ascii_only=ascii_only, named=named)


BURSTS = st.builds(
    burst,
    st.sampled_from([said, said, thought, given, given]),
    st.sampled_from([0, 0, 0, 1, True, None]),
    st.lists(TEXTS, min_size=1, max_size=8),
    st.booleans(),
    st.sampled_from([True, True, True, False]),
)


@hypothesis.settings(max_examples=500)
@hypothesis.given(
    first=st.lists(
        st.sampled_from(
            [said("a"), thought("a"), given("{"), TOOL, begin(0, type="text"), said("<think>")]
        ),
        max_size=2,
    ),
    parts=st.lists(
        BURSTS | BURSTS | st.sampled_from(ODD).map(block) | st.sampled_from(RAW), max_size=8
    ),
    cuts=st.lists(st.integers(0, 1 << 14), max_size=6),
    each=st.integers(0, 3),
    cap=st.sampled_from([40, 1 << 20, 1 << 20]),
    thinking=st.booleans(),
    tools=st.sampled_from([(), TOOLS]),
)
def test_a_message_tells_the_same_however_its_events_are_read(
    first: list[Value],
    parts: list[bytes],
    cuts: list[int],
    each: int,
    cap: int,
    thinking: bool,
    tools: tuple[OfferedTool, ...],
) -> None:
    data = block(*first) + b"".join(parts)
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    if each:  # so many events a read
        ends = [found.end() for found in re.finditer(b"\n\n", data)]
        places = sorted({0, len(data), *ends[::each]})
    pieces = [data[start:end] for start, end in pairwise(places)]
    assert_same(pieces, max_response_bytes=cap, thinking=thinking, tools=tools)


@pytest.mark.parametrize("step", [1, 7, 200, 1 << 20])
@pytest.mark.parametrize(
    "path", sorted(CAPTURES.glob("*/*.raw")), ids=lambda path: f"{path.parent.name}/{path.stem}"
)
def test_streams_of_real_servers_tell_the_same(path: Path, step: int) -> None:
    reader = ResponseReader()
    events = [*reader.feed(path.read_bytes()), *reader.eof()]
    body = b"".join(event.data for event in events if isinstance(event, Data))
    assert_same([body[start : start + step] for start in range(0, len(body), step)])


def test_a_message_that_changes_each_event_is_soon_left_alone() -> None:
    chat = stream()
    for number in range(MAX_LESSONS):
        assert chat.assembler.knows_plain
        chat.feed(block(said("a") | {"padding": number}))
    assert not chat.assembler.knows_plain
