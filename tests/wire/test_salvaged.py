"""Calls that come as text, in whole replies and in streams."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import from_json

from rig.errors import EmptyReplyError, ProtocolError, RigError, TruncatedToolCallError
from rig.messages import Message, ToolCall
from rig.model import ChatOptions, ChatRequest, Delta, Reply
from rig.text.salvage import OfferedTool
from rig.wire.anthropic.decode import decode_message
from rig.wire.assembly import StreamAssembler
from rig.wire.chat_stream import ChatStream
from rig.wire.decode import decode_chat
from rig.wire.salvaged import offered
from rig.wire.sse import SSEParser

DATA = Path(__file__).parent.parent / "data" / "text"


def rows(name: str) -> list[dict[str, Any]]:
    return [from_json(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


def tools_of(listed: list[dict[str, Any]]) -> tuple[OfferedTool, ...]:
    return tuple(OfferedTool(tool["name"], tool["parameters"]) for tool in listed)


TOOLS = tools_of(from_json((DATA / "salvage-tools.json").read_text(encoding="utf-8")))
CASES = rows("salvage-cases.jsonl")
REPORTS = {row["id"]: row for row in rows("tool-calls.jsonl")}
HERMES = '<tool_call>{"name":"search","arguments":{"q":"x"}}</tool_call>'
KIMI = (
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.search:0"
    '<|tool_call_argument_begin|>{"q": "x"}<|tool_call_end|><|tool_calls_section_end|>'
)


def body(content: object, finish: str = "stop", **message: object) -> bytes:
    choice = {"message": {"content": content, **message}, "finish_reason": finish}
    return json.dumps({"choices": [choice]}).encode()


def decoded(data: bytes, tools: tuple[OfferedTool, ...] = TOOLS) -> Reply | RigError:
    try:
        return decode_chat(data, tools=tools)
    except RigError as error:
        return error


def streamed(
    parts: list[dict[str, str]], finish: str = "stop", *, thinking: bool = False
) -> tuple[Reply | RigError, list[Delta]]:
    chunks: list[dict[str, Any]] = [{"choices": [{"delta": part}]} for part in parts]
    chunks.append({"choices": [{"delta": {}, "finish_reason": finish}]})
    data = b"".join(f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks)
    assembler = StreamAssembler(tools=TOOLS, thinking=thinking)
    deltas = assembler.feed(SSEParser().feed(data))
    deltas += assembler.close()
    try:
        return assembler.reply(), deltas
    except RigError as error:
        return error, deltas


def standing(deltas: list[Delta]) -> str:
    text = ""
    for delta in deltas:
        text = delta.text if delta.retracted else text + delta.text
    return text


def plain(reply: Reply | RigError) -> object:
    """What must not depend on the way a reply came: all but the ids, which are made of the body."""
    if isinstance(reply, RigError):
        return type(reply), reply.reason
    calls = [(call.name, call.arguments, call.origin, call.repairs) for call in reply.tool_calls]
    return reply.text, reply.reasoning, calls, reply.finish_reason


def test_a_call_as_text_is_a_call_and_says_where_it_came_from() -> None:
    reply = decode_chat(body(f"I look.\n{HERMES}"), tools=TOOLS)
    [call] = reply.tool_calls
    assert (call.name, call.input, call.origin, call.repairs) == (
        "search",
        {"q": "x"},
        "hermes",
        (),
    )
    assert (reply.text, reply.finish_reason) == ("I look.", "stop")
    assert call.id


def test_calls_as_text_have_ids_of_their_own() -> None:
    reply = decode_chat(body(HERMES * 3), tools=TOOLS)
    assert len({call.id for call in reply.tool_calls}) == 3


def test_a_reply_that_does_not_say_how_it_ended_ended_with_its_calls() -> None:
    assert decode_chat(body(HERMES, ""), tools=TOOLS).finish_reason == "tool_calls"


def test_without_tools_the_text_stays_as_it_is() -> None:
    assert decode_chat(body(HERMES)).text == HERMES


def test_beside_calls_of_its_own_the_text_is_not_searched() -> None:
    native = [{"id": "c", "function": {"name": "ping", "arguments": "{}"}}]
    reply = decode_chat(body(HERMES, tool_calls=native), tools=TOOLS)
    assert [(call.name, call.origin) for call in reply.tool_calls] == [("ping", "native")]


def test_a_garbled_copy_of_a_call_is_none() -> None:
    row = REPORTS["text-harmony-parallel-leak"]
    reply = decode_chat(row["input"].encode(), tools=tools_of(row["tools"]))
    [call] = reply.tool_calls
    assert call.input == row["expect"]["tool_calls"][0]["arguments"]


def test_a_section_at_the_end_of_the_thoughts_is_the_call() -> None:
    row = REPORTS["reason-kimi-call-in-reasoning"]
    reply = decode_chat(row["input"].encode(), tools=tools_of(row["tools"]))
    [call] = reply.tool_calls
    assert (call.name, call.input, call.origin) == (
        "list_directory",
        {"path": "/some/path"},
        "kimi",
    )
    assert reply.reasoning == row["expect"]["reasoning"]


def test_a_draft_in_the_thoughts_of_an_answer_is_none() -> None:
    reply = decode_chat(body("done", reasoning_content=f"Maybe {KIMI}"), tools=TOOLS)
    assert (reply.text, reply.tool_calls) == ("done", ())
    assert reply.reasoning == f"Maybe {KIMI}"


def test_thoughts_without_a_call_are_no_answer() -> None:
    error = decoded(body("", reasoning_content=f"{KIMI} or not"))
    assert isinstance(error, EmptyReplyError)
    assert error.reasoning == f"{KIMI} or not"


def test_a_call_nobody_can_make_is_an_error_that_keeps_what_was_sent() -> None:
    error = decoded(body('<tool_call>{"name":"find","arguments":{"q":"secret"}}</tool_call>'))
    assert isinstance(error, ProtocolError)
    assert error.reason == "tool_call"
    assert "find" in error.detail
    assert "find" not in str(error)


def test_a_call_that_was_cut_with_a_clean_finish_is_an_error_of_its_own() -> None:
    assert isinstance(decoded(body(HERMES[:40])), TruncatedToolCallError)


def test_a_call_that_was_cut_at_the_limit_is_no_error_here_and_not_shown() -> None:
    reply = decode_chat(body(f"I look.\n{HERMES[:40]}", "length"), tools=TOOLS)
    assert (reply.text, reply.tool_calls, reply.finish_reason) == ("I look.", (), "length")


def test_a_refusal_is_not_searched() -> None:
    reply = decode_chat(body(HERMES, "content_filter"), tools=TOOLS)
    assert reply.tool_calls == ()


def test_nothing_but_remains_is_an_empty_reply() -> None:
    assert isinstance(decoded(body("<tool_call></tool_call>")), EmptyReplyError)


def test_a_message_of_the_other_api_is_searched_too() -> None:
    data = {"content": [{"type": "text", "text": HERMES}], "stop_reason": "end_turn"}
    [call] = decode_message(json.dumps(data).encode(), tools=TOOLS).tool_calls
    assert call.origin == "hermes"


def test_a_stop_token_behind_a_call_is_none_of_it() -> None:
    [call] = decode_chat(body('search(q="x")<|im_end|>'), tools=TOOLS).tool_calls
    assert call.input == {"q": "x"}


class Named:
    name, description = "search", "Search."
    input_schema: dict[str, Any] = {"type": "object", "properties": {}}  # noqa: RUF012 a protocol's attribute


@pytest.mark.parametrize(
    ("choice", "count"), [(None, 1), ("auto", 1), ("required", 1), ("none", 0)]
)
def test_calls_are_looked_for_unless_they_were_ruled_out(choice: str | None, count: int) -> None:
    request = ChatRequest(
        model="m",
        messages=(Message(role="user", content="hi"),),
        max_tokens=1,
        tools=(Named(),),
        options=ChatOptions(tool_choice=choice),
    )
    assert len(offered(request)) == count


# --- Streams ---


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize("row", CASES, ids=lambda row: row["id"])
def test_a_stream_shows_no_call_and_becomes_the_reply_of_a_whole_body(
    row: dict[str, Any], size: int
) -> None:
    text = row["input"]
    parts = [{"content": text[start : start + size]} for start in range(0, len(text), size)]
    reply, deltas = streamed(parts)
    assert plain(reply) == plain(decoded(body(text)))
    if isinstance(reply, Reply):
        assert standing(deltas) == reply.text
        for index, call in enumerate(reply.tool_calls):
            news = [one for delta in deltas if (one := delta.tool_call) and one.index == index]
            assert [one.stage for one in news] == ["started", "arguments", "finished"]
            assert news[-1].arguments == call.arguments
    if row["calls"]:
        shown = "".join(delta.text for delta in deltas)
        assert "search" not in shown.replace(row["text"], "")
        if "think" not in text and "thought" not in row["id"]:
            assert not any(delta.retracted for delta in deltas)


def test_a_reported_stream_shows_nothing_of_its_markup() -> None:
    row = REPORTS["text-stream-tag-split"]
    stream = ChatStream(tools=tools_of(row["tools"]))
    deltas = [*stream.feed(row["input"].encode()), *stream.close()]
    assert "".join(delta.text for delta in deltas) == row["expect"]["text"]
    [call] = stream.reply().tool_calls
    assert call.input == {"path": "/tmp"}


def test_a_body_instead_of_a_stream_is_searched_too() -> None:
    stream = ChatStream(tools=TOOLS)
    stream.feed(body(HERMES))
    deltas = stream.close()
    assert [delta.tool_call.stage for delta in deltas if delta.tool_call] == [
        "started",
        "arguments",
        "finished",
    ]


@pytest.mark.parametrize("size", [1, 4, 1000])
@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_a_section_at_the_end_of_streamed_thoughts_is_not_told(field: str, size: int) -> None:
    thought = f"I look. {KIMI}"
    reply, deltas = streamed(
        [{field: thought[start : start + size]} for start in range(0, len(thought), size)]
    )
    assert isinstance(reply, Reply)
    assert [call.name for call in reply.tool_calls] == ["search"]
    assert "".join(delta.reasoning for delta in deltas) == reply.reasoning == "I look."


def test_a_draft_in_streamed_thoughts_is_told_when_the_answer_comes() -> None:
    reply, deltas = streamed([{"reasoning": f"Maybe {KIMI} so"}, {"content": "done"}])
    assert isinstance(reply, Reply)
    assert (reply.text, reply.tool_calls) == ("done", ())
    assert "".join(delta.reasoning for delta in deltas) == f"Maybe {KIMI} so"


def test_a_model_that_did_not_think_after_all_shows_no_call() -> None:
    reply, deltas = streamed([{"content": char} for char in HERMES], thinking=True)
    assert isinstance(reply, Reply)
    assert [call.name for call in reply.tool_calls] == ["search"]
    assert "".join(delta.text + delta.reasoning for delta in deltas) == ""


def test_a_draft_in_an_assumed_thought_is_one() -> None:
    text = f"Maybe {HERMES} or so.</think>done"
    reply, deltas = streamed([{"content": char} for char in text], thinking=True)
    assert isinstance(reply, Reply)
    assert (reply.text, reply.tool_calls, standing(deltas)) == ("done", (), "done")


def test_what_is_held_back_is_told_to_who_watches_for_loops() -> None:
    assembler = StreamAssembler(tools=TOOLS)
    chunk = {"choices": [{"delta": {"content": HERMES[:30]}}]}
    assembler.feed(SSEParser().feed(f"data: {json.dumps(chunk)}\n\n".encode()))
    assert assembler.take_held() == HERMES[:30]
    assert assembler.take_held() == ""


def test_a_server_that_separates_late_shows_no_call_either() -> None:
    parts = [
        {"content": "so "},
        {"content": HERMES[:20]},
        {"reasoning": "why"},
        {"content": HERMES[20:]},
    ]
    reply, deltas = streamed(parts)
    assert isinstance(reply, Reply)
    assert (reply.text, [call.name for call in reply.tool_calls]) == ("so", ["search"])
    assert "tool_call" not in "".join(delta.text for delta in deltas)


pieces = st.lists(
    st.sampled_from([row["input"] for row in CASES] + ["<think>", "</think>", "\n", " ", "a", "<", "{"]),
    min_size=1,
    max_size=3,
)  # fmt: skip


@given(pieces, st.data(), st.booleans())
def test_any_chunks_give_the_reply_of_a_whole_body(
    texts: list[str],
    data: st.DataObject,
    cut: bool,
) -> None:
    text = "".join(texts)
    ends = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=5)))
    parts = [text[a:b] for a, b in zip([0, *ends], [*ends, len(text)], strict=True)]
    finish = "length" if cut else "stop"
    reply, deltas = streamed([{"content": part} for part in parts], finish)
    assert plain(reply) == plain(decoded(body(text, finish)))
    if isinstance(reply, Reply):
        assert standing(deltas) == reply.text


def test_native_calls_are_not_mistaken() -> None:
    assert ToolCall().origin == "native"
