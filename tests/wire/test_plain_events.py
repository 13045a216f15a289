"""Events that differ in their text alone are read at once, and tell what reading them one by one tells."""

import json
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_core import from_json

from rig.errors import RigError
from rig.model import Delta
from rig.text.salvage import OfferedTool
from rig.wire.assembly import StreamAssembler
from rig.wire.chat_stream import ChatStream
from rig.wire.plain_events import MAX_LESSONS, PlainEvents
from rig.wire.sse import Event


def chunk(content: object = "a", finish: object = None, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": {"content": content}, "finish_reason": finish}
    return {"id": "c", "created": 7, "model": "m", "choices": [choice], **more}


def block(*chunks: dict[str, Any] | bytes) -> bytes:
    datas = (one if isinstance(one, bytes) else json.dumps(one).encode() for one in chunks)
    return b"".join(b"data: " + data + b"\n\n" for data in datas)


def taught(one: dict[str, Any]) -> PlainEvents:
    plain = PlainEvents()
    plain.learn(json.dumps(one).encode(), one)
    return plain


RAW = json.dumps(chunk("TEXT")).encode()


@pytest.mark.parametrize(
    "texts",
    [
        ["b"],
        ["b", "c", ""],
        [' "quoted"\n', "\\", "{}"],
        ["\u00e9", "\u4f60\U0001f600"],
        ["data: b"],
    ],
)
def test_texts_are_those_that_the_events_hold(texts: list[str]) -> None:
    assert taught(chunk()).texts(block(*map(chunk, texts))) == texts
    raw = (json.dumps(chunk(text), ensure_ascii=False).encode() for text in texts)
    assert taught(chunk()).texts(block(*raw)) == texts


@pytest.mark.parametrize(
    "data",
    [
        json.dumps(chunk("b", created=8)).encode(),
        json.dumps(chunk("b", "stop")).encode(),
        json.dumps(chunk("b", usage={})).encode(),
        json.dumps(chunk(None)).encode(),
        RAW.replace(b"TEXT", b'", "role": "a'),
        RAW.replace(b"TEXT", b"\\"),
        RAW.replace(b'"TEXT"', b'"'),
        RAW.replace(b"TEXT", b"\\u12"),
        RAW.replace(b"TEXT", b"\\ud83d"),
        RAW.replace(b"TEXT", b"\t"),
        RAW.replace(b"TEXT", b"\xc3"),
        RAW.replace(b"TEXT", b"a\ndata: b"),
        RAW + b" ",
        b"[DONE]",
    ],
)
def test_any_other_event_is_left_to_be_read(data: bytes) -> None:
    plain = taught(chunk())
    assert plain.texts(block(chunk(), data)) is None
    assert plain.texts(block(data, chunk())) is None
    assert plain.texts(block(data)) is None
    assert plain.texts(block(chunk())) == ["a"]


@pytest.mark.parametrize("second", [b'b","c', b',"c'])
def test_halves_that_only_together_are_two_strings_are_left_to_be_read(second: bytes) -> None:
    pieces = (RAW.replace(b"TEXT", piece) for piece in (b"a\\", second))
    assert taught(chunk()).texts(block(*pieces)) is None


@pytest.mark.parametrize(
    "data",
    [
        b'{"content":"a","choices":[{"delta":{"content":"a"}}]}',
        b'{"choices":[{"delta":{"content":"a","content":"b"}}]}',
        b'{"choices":[{"delta":{"\\u0063ontent":"a"}}],"x":{"content":"a"}}',
        b'{"choices":[{"delta":\n{"content":"a"}}]}',
        b'{"choices":[{"delta":{"\\u0063ontent":"rig\'s own"}}],"x":{"content":"a"}}',
        b'{"x":{"content":"b"},"x":0,"choices":[{"delta":{"\\u0063ontent":"a"}}]}',
    ],
)
def test_nothing_is_learned_where_the_text_does_not_stand_alone(data: bytes) -> None:
    plain = PlainEvents()
    plain.learn(data, from_json(data))
    assert plain.texts(block(data)) is None


def test_a_stream_that_changes_each_event_is_soon_left_alone() -> None:
    plain = PlainEvents()
    chunks = [chunk(padding="x" * count) for count in range(MAX_LESSONS)]
    for one in chunks:
        assert plain.curious
        plain.learn(json.dumps(one).encode(), one)
    assert not plain.curious
    assert plain.texts(block(chunks[-1])) == ["a"]
    assert plain.curious


class OneByOne(StreamAssembler):
    """Reads each event in full."""

    @property
    def knows_plain(self) -> bool:
        return False

    def feed_plain(self, block: bytes) -> None:
        return None

    def feed_one(self, block: bytes) -> None:
        return None


def outcome(chat: ChatStream) -> object:
    try:
        return chat.close(), chat.reply()
    except RigError as error:
        return type(error), error.reason, error.text, error.tool_calls


def deltas_of(chat: ChatStream, piece: bytes) -> list[Delta]:
    one = chat.feed_one(piece)
    return chat.feed(piece) if one is None else [one]


def told(pieces: list[bytes], **settings: Any) -> object:
    chat = ChatStream(**settings)
    assembler = chat.assembler
    heard: list[object] = []
    for piece in pieces:
        deltas = deltas_of(chat, piece)
        facts = chat.untold, chat.complete, chat.ended, assembler.blank, assembler.skipped
        heard.append((deltas, facts, assembler.take_held()))
    return heard, outcome(chat)


TEXTS = st.one_of(
    st.text(max_size=4),
    st.sampled_from(
        [
            "",
            " ",
            "\n",
            "word",
            " word",
            "<think>",
            "</think>",
            "<",
            "</s>",
            "a<b",
            "\u2028",
            '"',
            "\\",
        ]
    ),
    st.sampled_from(["{", '{"a": ', "1}", "{}", "null", '{"a": 1'])
    | st.sampled_from(["<|", "tool_call|>", "a ", "[", "[TOOL_CALLS]", "\u273f"]),
    st.sampled_from(
        [" " * 99, " " * 150, "\t" * 199, "w" * 90, "]", ">", "[add(a=1)]", '{"a": 1}']
    ),
)
ODD = st.sampled_from(
    [
        b"data: [DONE]\n\n",
        b": keep-alive\n\n",
        b"event: message\ndata: " + RAW + b"\n\n",
        b"data: " + RAW + b"\r\n\r\n",
        b"data:" + RAW + b"\n\n",
        b"\n\n\n",
        b"data: \n\n",
        b"data: {broken\n\n",
        b"data: " + RAW.replace(b"TEXT", b"\xff") + b"\n\n",
        b"data: " + RAW.replace(b"TEXT", b"\\") + b"\n\n",
        b"data: " + RAW.replace(b"TEXT", b'b","c') + b"\n\n",
        b"data: " + RAW[:9] + b"\ndata: " + RAW[9:] + b"\n\n",
        b"data: " + RAW[:9] + b"\n" + RAW[9:] + b"\n\n",
        block({"error": {"message": "broken"}}),
        block(chunk("b", "stop")),
        block(chunk("b", error=None)),
        block(chunk("b", usage={"prompt_tokens": 1, "completion_tokens": 2})),
        block({"id": "c", "choices": [{"index": 0, "delta": {"reasoning_content": "t"}}]}),
        block({"id": "c", "choices": [{"index": 1, "delta": {"content": "other"}}]}),
        block({"id": "c", "choices": [{"index": 0, "delta": {"refusal": "no"}}]}),
        *(
            block({"id": "c", "choices": [{"index": 0, "delta": {"tool_calls": [call]}}]})
            for call in (
                {"index": 0, "id": "c0", "function": {"name": "add", "arguments": ""}},
                {"index": 1, "id": "c1", "function": {"name": "add", "arguments": '{"a"'}},
                {"index": 0, "id": "c2", "function": {"name": "add", "arguments": "{}"}},
                {"index": 0, "function": {"arguments": {"a": 1}}},
            )
        ),
    ]
)
SHAPES: dict[str, Callable[[str], dict[str, Any]]] = {
    "llama.cpp": lambda text: {"content": text},
    "llama.cpp, thoughts": lambda text: {"reasoning_content": text},
    "DeepSeek": lambda text: {"content": text, "reasoning_content": None},
    "DeepSeek, thoughts": lambda text: {"content": None, "reasoning_content": text},
    "Ollama": lambda text: {"role": "assistant", "content": text},
    "Ollama, thoughts": lambda text: {"role": "assistant", "content": "", "reasoning": text},
    "vLLM, thoughts": lambda text: {"reasoning": text},
    "twice": lambda text: {"reasoning": text, "reasoning_content": text},
    "with thoughts": lambda text: {"content": text, "reasoning_content": "t"},
    "with text": lambda text: {"content": "b", "reasoning": text},
    "with calls": lambda text: {
        "reasoning": text,
        "tool_calls": [{"index": 0, "function": {"arguments": "{"}}],
    },
    "arguments": lambda text: {"tool_calls": [{"index": 0, "function": {"arguments": text}}]},
    "arguments among nothing": lambda text: {
        "content": None,
        "tool_calls": [
            {"index": 1, "id": None, "type": None, "function": {"name": None, "arguments": text}}
        ],
    },
    "arguments with an id": lambda text: {
        "tool_calls": [{"index": 0, "id": "c0", "function": {"arguments": text}}]
    },
    "with no calls": lambda text: {"reasoning": text, "tool_calls": [], "function_call": None},
    "as parts": lambda text: {"content": [{"type": "text", "text": text}]},
    "parts of thoughts": lambda text: {"reasoning_details": [{"text": text}]},
}
ENDS: list[dict[str, Any]] = [
    {"finish_reason": None},
    {"finish_reason": None, "logprobs": None, "stop_reason": None},
    {},
    {"finish_reason": None, "native_finish_reason": "stop", "logprobs": None},
    {"finish_reason": "length"},
]


def shaped(
    shape: Callable[[str], dict[str, Any]], end: dict[str, Any], created: int, text: str
) -> dict[str, Any]:
    return chunk(created=created) | {"choices": [{"index": 0, "delta": shape(text), **end}]}


PLAIN = st.builds(
    lambda texts, ascii_only, shape, end, created: block(
        *(
            json.dumps(shaped(shape, end, created, text), ensure_ascii=ascii_only).encode()
            for text in texts
        )
    ),
    st.lists(TEXTS, max_size=12),
    st.booleans(),
    st.sampled_from([*SHAPES.values()]),
    st.sampled_from([*ENDS[:1] * 6, *ENDS]),
    st.integers(1, 2),
)


@pytest.mark.parametrize("end", ENDS[:2], ids=["bare", "with nothing more"])
@pytest.mark.parametrize(
    "name",
    [
        "llama.cpp",
        "llama.cpp, thoughts",
        "DeepSeek",
        "DeepSeek, thoughts",
        "Ollama",
        "Ollama, thoughts",
        "vLLM, thoughts",
        "with no calls",
    ],
)
def test_texts_and_thoughts_of_many_servers_are_read_at_once(
    name: str, end: dict[str, Any]
) -> None:
    assembler = StreamAssembler()
    shape = SHAPES[name]
    assembler.feed([Event(type="message", data=json.dumps(shaped(shape, end, 1, "a")).encode())])
    deltas = assembler.feed_plain(block(*(shaped(shape, end, 1, text) for text in "bc")))
    thoughts = "thoughts" in name or name == "with no calls"
    assert deltas == [Delta(reasoning=one) if thoughts else Delta(text=one) for one in "bc"]


def calling(*calls: Any) -> bytes:
    choice = {"index": 0, "delta": {"tool_calls": list(calls)}, "finish_reason": None}
    return block({"id": "c", "model": "m", "choices": [choice]})


BEGUN = {"index": 0, "id": "c0", "function": {"name": "add", "arguments": ""}}


def test_arguments_are_read_at_once() -> None:
    chat = ChatStream()
    chat.feed(calling(BEGUN) + calling({"index": 0, "function": {"arguments": '{"a"'}}))
    pieces = [calling({"index": 0, "function": {"arguments": text}}) for text in (": 1", "", "}")]
    deltas = chat.assembler.feed_plain(b"".join(pieces))
    assert deltas is not None
    assert [one.tool_call.arguments for one in deltas if one.tool_call] == [": 1", "}"]
    assert chat.feed_one(pieces[0]) is None


@pytest.mark.parametrize(
    "calls",
    [
        [{"index": 0, "function": {"arguments": " "}}, {"index": 1, "function": {}}],
        [{"index": 0, "id": "c1", "function": {"arguments": "{}"}}],
        [{"index": 0, "function": {"name": "add", "arguments": "{}"}}],
        [{"function": {"arguments": "{}"}}],
        [{"index": 0, "function": {"arguments": {"a": "b"}}}],
        [{"index": 0, "function": {"arguments": ""}}],
        [{"index": 0, "arguments": "{}"}],
        [None],
    ],
)
def test_other_pieces_of_calls_are_left_to_be_read(calls: list[Any]) -> None:
    chat = ChatStream()
    chat.feed(calling(BEGUN) + calling(*calls))
    assert chat.assembler.feed_plain(calling(*calls)) is None


@pytest.mark.parametrize("end", ENDS[:2], ids=["bare", "with nothing more"])
@pytest.mark.parametrize(
    "name", ["llama.cpp", "DeepSeek", "Ollama", "vLLM, thoughts", "Ollama, thoughts"]
)
@pytest.mark.parametrize(
    "tools", [(), (OfferedTool("add", {"type": "object"}),)], ids=["", "tools"]
)
@pytest.mark.parametrize("thought_before", [False, True])
@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"], ids=["LF", "CR LF"])
def test_a_word_that_comes_alone_is_read_as_one(
    name: str,
    end: dict[str, Any],
    tools: tuple[OfferedTool, ...],
    thought_before: bool,
    line_end: bytes,
) -> None:
    chat, shape = ChatStream(tools=tools), SHAPES[name]
    if thought_before:
        chat.feed(block(shaped(SHAPES["vLLM, thoughts"], end, 1, "hm")))
    words = ["Well,", " this", " \u4e16\u754c ", "is"]
    told = ""
    for number, word in enumerate(words):
        data = block(json.dumps(shaped(shape, end, 1, word), ensure_ascii=False).encode())
        data = data.replace(b"\n", line_end)
        one = chat.feed_one(data)
        assert one is not None or number == 0
        told += "".join(one.text + one.reasoning for one in ([one] if one else chat.feed(data)))
    assert told == "".join(words)


@pytest.mark.parametrize("text", ["", " ", "a  ", "a\n", '"', "\\", "<", "[", "\u25c1"])
def test_any_other_word_is_left_to_be_read(text: str) -> None:
    chat = ChatStream()
    chat.feed(block(chunk("a"), chunk("b")))
    data = block(json.dumps(chunk(text), ensure_ascii=False).encode())
    assert chat.feed_one(data) is None
    assert chat.feed_one(block(chunk("c"))) == Delta(text="c")
    assert chat.feed_one(block(chunk("c"), chunk("c"))) is None
    assert chat.feed_one(block(chunk("c"))[:-1]) is None
    chat.feed(b"\n")  # a line end more than a blank line has
    assert chat.feed_one(block(chunk("c"))) is None


COUNTED = chunk("b", usage={"prompt_tokens": 9, "completion_tokens": 2})
TIMED = chunk("b", timings={"prompt_n": 9, "predicted_n": 2})


@pytest.mark.parametrize(
    ("told_again", "told_between"),
    [
        (chunk(x_groq={"usage": {"prompt_tokens": 1, "completion_tokens": 1}}), COUNTED),
        (chunk(usageMetadata={"promptTokenCount": 1, "candidatesTokenCount": 1}), COUNTED),
        (chunk(usage={"prompt_tokens": 1, "completion_tokens": 1}), COUNTED),
        (chunk(timings={"prompt_n": 1, "predicted_n": 1}), TIMED),
        (chunk(timings=None), TIMED),
        (chunk(usage=None), COUNTED),
    ],
)
def test_what_an_event_tells_beside_its_text_is_heard_each_time(
    told_again: dict[str, Any], told_between: dict[str, Any]
) -> None:
    pieces = [block(one) for one in (told_again, told_again, told_between, told_again)]
    pieces.append(block(chunk("b", "stop"), b"[DONE]"))
    assert told(pieces) == told(pieces, assembler=OneByOne)


@given(
    parts=st.lists(st.one_of(PLAIN, PLAIN, ODD), max_size=8),
    cuts=st.lists(st.integers(0, 1 << 14), max_size=6),
    each=st.integers(0, 3),
    cap=st.sampled_from([40, 1 << 20]),
    event_cap=st.sampled_from([60, 150, 400, None]),
    thinking=st.booleans(),
    crlf=st.booleans(),
    tools=st.sampled_from([(), (OfferedTool("add", {"type": "object"}),)]),
)
def test_a_stream_tells_the_same_however_its_events_are_read(
    parts: list[bytes],
    cuts: list[int],
    each: int,
    cap: int,
    event_cap: int | None,
    thinking: bool,
    crlf: bool,
    tools: tuple[OfferedTool, ...],
) -> None:
    data = b"".join(parts)
    if crlf:
        data = data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    if each:  # so many events a read
        ends = [found.end() for found in re.finditer(b"\n\n|\r\n\r\n", data)]
        places = sorted({0, len(data), *ends[::each]})
    pieces = [data[start:end] for start, end in pairwise(places)]
    bounds = {
        "max_response_bytes": cap,
        "max_event_bytes": event_cap,
        "thinking": thinking,
        "tools": tools,
    }
    assert told(pieces, **bounds) == told(pieces, **bounds, assembler=OneByOne)


WORDS = st.lists(
    st.one_of(
        st.sampled_from(["a", " b", "c ", "\n", "  ", "", "w" * 90, "so:", "`", "as in"]),
        st.sampled_from(["</s>", "<th", "ink>", "</think>", "<think>"]),
        st.sampled_from(["[add", "add(a=1)", "<tool_call>", '{"name": "add", "arguments": {}}']),
    ),
    min_size=1,
    max_size=12,
)
STARTS = ["a", " ", "Here is my", "<think>", "a</think>"]
"""Texts of the event that is learned from: each leaves the filters in another state."""


@settings(max_examples=500)
@given(
    shape=st.sampled_from(
        [SHAPES[name] for name in ("llama.cpp", "llama.cpp, thoughts", "Ollama", "arguments")]
    ),
    start=st.sampled_from(STARTS),
    bursts=st.lists(
        WORDS | st.just([" thought process:", "a", "Here is my response:"]), max_size=4
    ),
    odd=st.lists(ODD, max_size=2),
    apart=st.booleans(),
    cap=st.sampled_from([100, 1 << 20, 1 << 20]),
    event_cap=st.sampled_from([200, None, None]),
    thinking=st.booleans(),
    tools=st.sampled_from([(), (OfferedTool("add", {"type": "object"}),)]),
)
def test_bursts_of_one_server_are_read_as_its_events_alone_are(
    shape: Callable[[str], dict[str, Any]],
    start: str,
    bursts: list[list[str]],
    odd: list[bytes],
    apart: bool,
    cap: int,
    event_cap: int | None,
    thinking: bool,
    tools: tuple[OfferedTool, ...],
) -> None:
    """Here nearly every burst is like the event before it, so that the short way is taken."""
    pieces = [block(shaped(shape, ENDS[0], 1, start))]
    for number, texts in enumerate(bursts):
        pieces.append(block(*(shaped(shape, ENDS[0], 1, text) for text in texts)))
        pieces.extend(odd[number : number + 1])
    if not apart:
        pieces[1:] = [b"".join(pieces[1:])]
    bounds = {
        "max_response_bytes": cap,
        "max_event_bytes": event_cap,
        "thinking": thinking,
        "tools": tools,
    }
    assert told(pieces, **bounds) == told(pieces, **bounds, assembler=OneByOne)


def test_what_stands_behind_the_end_is_not_read_where_all_came_at_once() -> None:
    many = block(*(chunk(str(number)) for number in range(20)))
    pieces = [block(chunk()), many + block(b"[DONE]") + many]
    assert told(pieces) == told(pieces, assembler=OneByOne)


DATA = Path(__file__).parents[1] / "data" / "text"
CALL = '<tool_call>{"name": "search", "arguments": {"query": "x"}}</tool_call>'
OFFERED = tuple(
    OfferedTool(one["name"], one["parameters"])
    for one in from_json((DATA / "salvage-tools.json").read_bytes())
)


@pytest.mark.parametrize("burst", [3, 20])
@pytest.mark.parametrize("name", ["salvage-cases", "salvage-places"])
def test_calls_in_bursts_of_text_are_held_back_as_in_events_alone(name: str, burst: int) -> None:
    """What stands before a call decides whether it is one, also where it passed all at once."""
    differ: list[str] = []
    for line in (DATA / f"{name}.jsonl").read_bytes().splitlines():
        row = from_json(line)
        text = row["input"] if "input" in row else row["text"].replace("@", CALL)
        words = re.findall(r"\S{1,6}|\s{1,6}", text)
        events = [block(chunk(word)) for word in words]
        pieces = [b"".join(events[start : start + burst]) for start in range(0, len(events), burst)]
        pieces = [block(chunk("Well, ")), *pieces, block(chunk(None, "stop"))]
        if told(pieces, tools=OFFERED) != told(pieces, tools=OFFERED, assembler=OneByOne):
            differ.append(text)
    assert differ == []
