"""Streamed messages of Anthropic's API: the same reply as without streaming, however they are cut up."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.errors import (
    EmptyReplyError,
    InputTooLargeError,
    RateLimitedError,
    ResponseTooLargeError,
    RigError,
    ServerError,
    StreamCutError,
)
from rig.messages import SignedThought
from rig.model import Delta, Reply
from rig.wire.anthropic.assembly import MAX_BLOCKS, MessageAssembler
from rig.wire.anthropic.decode import decode_message
from rig.wire.anthropic.wire import MESSAGES
from rig.wire.chat_stream import ChatStream
from rig.wire.sse import Event

Value = dict[str, Any]

START: Value = {
    "type": "message_start",
    "message": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": [],
        "stop_reason": None,
        "usage": {"input_tokens": 2, "cache_read_input_tokens": 10, "output_tokens": 1},
    },
}
PING: Value = {"type": "ping"}
OVER: Value = {"type": "message_stop"}


def begin(index: object, **block: object) -> Value:
    return {"type": "content_block_start", "index": index, "content_block": block}


def piece(index: object, **delta: object) -> Value:
    return {"type": "content_block_delta", "index": index, "delta": delta}


def over(index: object) -> Value:
    return {"type": "content_block_stop", "index": index}


def stop(reason: object = "end_turn", tokens: int = 7, **delta: object) -> Value:
    return {
        "type": "message_delta",
        "delta": {"stop_reason": reason, "stop_sequence": None, **delta},
        "usage": {"output_tokens": tokens},
    }


def texts(*pieces: str, index: int = 0) -> list[Value]:
    said = [piece(index, type="text_delta", text=one) for one in pieces]
    return [begin(index, type="text", text=""), *said, over(index)]


def call(*pieces: str, index: int = 0, name: str = "f", identity: str = "toolu_1") -> list[Value]:
    given = [piece(index, type="input_json_delta", partial_json=one) for one in pieces]
    return [begin(index, type="tool_use", id=identity, name=name, input={}), *given, over(index)]


def thought(*pieces: str, index: int = 0, signature: str = "s") -> list[Value]:
    thinking = [piece(index, type="thinking_delta", thinking=one) for one in pieces]
    sign = piece(index, type="signature_delta", signature=signature)
    return [begin(index, type="thinking", thinking=""), *thinking, sign, over(index)]


def whole(*content: object, reason: str = "end_turn", **fields: object) -> Value:
    """The same message when it is not streamed."""
    usage = {"input_tokens": 2, "cache_read_input_tokens": 10, "output_tokens": 7}
    return {
        "id": "msg_1",
        "type": "message",
        "model": "claude",
        "content": content,
        "stop_reason": reason,
        "usage": usage,
        **fields,
    }


def text(said: str) -> Value:
    return {"type": "text", "text": said}


def use(given: object, name: str = "f", identity: str = "toolu_1") -> Value:
    return {"type": "tool_use", "id": identity, "name": name, "input": given}


REDACTED: Value = {"type": "redacted_thinking", "data": "xyz"}
HM: Value = {"type": "thinking", "thinking": "hm, yes", "signature": "s"}

CASES: dict[str, tuple[list[Value], Value]] = {
    "a text": ([START, PING, *texts("Hel", "lo"), stop(), OVER], whole(text("Hello"))),
    "two texts": (
        [START, *texts("a"), *texts("b", index=1), stop(), OVER],
        whole(text("a"), text("b")),
    ),
    "text with the block's begin": (
        [START, begin(0, type="text", text="Hel"), piece(0, type="text_delta", text="lo"), stop()],
        whole(text("Hello")),
    ),
    "cut": (
        [START, *texts("Hel"), stop("max_tokens"), OVER],
        whole(text("Hel"), reason="max_tokens"),
    ),
    "a call": (
        [START, *call("", '{"x"', ": 1}"), stop("tool_use"), OVER],
        whole(use('{"x": 1}'), reason="tool_use"),
    ),
    "text and calls": (
        [
            START,
            *texts("look"),
            *call("{}", index=1),
            *call('{"y": null}', index=2, name="g", identity="toolu_2"),
            stop("tool_use"),
            OVER,
        ],
        whole(text("look"), use("{}"), use('{"y": null}', "g", "toolu_2"), reason="tool_use"),
    ),
    "a call without input": (
        [START, *call(), stop("tool_use"), OVER],
        whole(use({}), reason="tool_use"),
    ),
    "an input that came with the block": (
        [
            START,
            begin(0, type="tool_use", id="toolu_1", name="f", input={"x": 1}),
            over(0),
            stop("tool_use"),
            OVER,
        ],
        whole(use({"x": 1}), reason="tool_use"),
    ),
    "an input that came with the block, which never stops": (
        [
            START,
            begin(0, type="tool_use", id="toolu_1", name="f", input={"x": 1}),
            stop("tool_use"),
        ],
        whole(use({"x": 1}), reason="tool_use"),
    ),
    "an input that came with the block and again in pieces": (
        [
            START,
            begin(0, type="tool_use", id="toolu_1", name="f", input={"x": 1}),
            piece(0, type="input_json_delta", partial_json='{"x":1}'),
            over(0),
            stop("tool_use"),
            OVER,
        ],
        whole(use('{"x":1}'), reason="tool_use"),
    ),
    "blocks that overlap, as llama.cpp's do": (
        [
            START,
            begin(0, type="thinking", thinking=""),
            piece(0, type="thinking_delta", thinking="hm, yes"),
            begin(1, type="text", text=""),
            piece(1, type="text_delta", text="hi"),
            piece(0, type="signature_delta", signature="s"),
            over(0),
            over(1),
            stop(),
            OVER,
        ],
        whole(HM, text("hi")),
    ),
    "thoughts": (
        [START, *thought("hm, ", "yes"), *texts("hi", index=1), stop(), OVER],
        whole(HM, text("hi")),
    ),
    "thoughts that are kept": (
        [START, *thought(), *texts("hi", index=1), stop(), OVER],
        whole({"type": "thinking", "thinking": "", "signature": "s"}, text("hi")),
    ),
    "a redacted thought": (
        [START, begin(0, **REDACTED), over(0), *call("{}", index=1), stop("tool_use"), OVER],
        whole(REDACTED, use("{}"), reason="tool_use"),
    ),
    "a signature in pieces": (
        [
            START,
            begin(0, type="thinking", thinking="hm, yes", signature=""),
            piece(0, type="signature_delta", signature="a"),
            piece(0, type="signature_delta", signature="b"),
            *texts("hi", index=1),
            stop(),
        ],
        whole({**HM, "signature": "ab"}, text("hi")),
    ),
    "leaked thoughts": (
        [START, *texts("<thi", "nk>hm</think>", "hi"), stop(), OVER],
        whole(text("<think>hm</think>hi")),
    ),
    "blocks nobody asked for": (
        [
            START,
            begin(0, type="server_tool_use", id="1", name="web_search", input={}),
            piece(0, type="input_json_delta", partial_json='{"q": 1}'),
            over(0),
            begin(1, type="web_search_tool_result", content=[]),
            *texts("hi", index=2),
            {"type": "an_event_to_come", "index": 0},
            piece(2, type="citations_delta", citation={}),
            stop(),
            OVER,
        ],
        whole(text("hi")),
    ),
    "no begin": (
        [START, piece(0, type="text_delta", text="hi"), stop(), OVER],
        whole(text("hi")),
    ),
    "no start": ([*texts("hi"), stop(), OVER], whole(text("hi"))),
    "no stop": ([START, *texts("hi"), OVER], whole(text("hi"), reason="")),
    "no end": ([START, *texts("hi"), stop()], whole(text("hi"))),
    "the whole message at once": ([whole(text("hi"))], whole(text("hi"))),
    "a start that holds the message": (
        [{"type": "message_start", "message": whole(text("hi"))}, OVER],
        whole(text("hi")),
    ),
    "a refusal": (
        [
            START,
            *texts("I"),
            stop("refusal", stop_details={"category": "bio", "explanation": "No."}),
        ],
        whole(text("I"), reason="refusal", stop_details={"category": "bio", "explanation": "No."}),
    ),
    "a refusal before a word": (
        [START, stop("refusal", stop_details={"type": "refusal", "explanation": "No."}), OVER],
        whole(reason="refusal", stop_details={"type": "refusal", "explanation": "No."}),
    ),
    "chunks of a chat completion, from a proxy": (
        [
            {"choices": [{"delta": {"content": "hi"}}], "id": "msg_1", "model": "claude"},
            {"choices": [{"delta": {}, "finish_reason": "stop"}]},
        ],
        whole(text("hi")),
    ),
}


def events(values: Sequence[Value], *, named: bool = True) -> list[Event]:
    return [
        Event(str(value.get("type", "message")) if named else "message", json.dumps(value).encode())
        for value in values
    ]


def wire(values: Sequence[Value]) -> bytes:
    lines = [
        f"event: {value['type']}\ndata: {json.dumps(value)}\n\n"
        if "type" in value
        else f"data: {json.dumps(value)}\n\n"
        for value in values
    ]
    return "".join(lines).encode()


def run(given: list[Event], **settings: Any) -> tuple[Reply, list[Delta]]:
    assembler = MessageAssembler(**settings)
    deltas = [delta for one in given for delta in assembler.feed([one])]
    deltas += assembler.close()
    reply = assembler.reply()
    assert standing(deltas) == reply.text
    assert [delta.finish_reason for delta in deltas].index(reply.finish_reason) == len(deltas) - 1
    at_once = MessageAssembler(**settings)
    assert at_once.feed(given) + at_once.close() == deltas
    assert at_once.reply() == reply
    return reply, deltas


def standing(deltas: list[Delta]) -> str:
    shown = ""
    for delta in deltas:
        assert shown.endswith(delta.retracted)
        shown = shown.removesuffix(delta.retracted) if delta.retracted else shown
        shown += delta.text
    return shown


def failure(values: Sequence[Value], **settings: Any) -> RigError:
    assembler = MessageAssembler(**settings)
    assembler.feed(events(values))
    with pytest.raises(RigError) as raised:
        assembler.close()
    return raised.value


def comparable(reply: Reply) -> Reply:
    """Without the usage, which not every case tells, and without ids that are made of the body."""
    return Reply(
        text=reply.text,
        reasoning=reply.reasoning,
        tool_calls=reply.tool_calls,
        finish_reason=reply.finish_reason,
        refusal=reply.refusal,
        reasoning_field=reply.reasoning_field,
        thoughts=reply.thoughts,
    )


@pytest.mark.parametrize("named", [True, False], ids=["named events", "events without a name"])
@pytest.mark.parametrize(("streamed", "same"), CASES.values(), ids=CASES.keys())
def test_a_streamed_message_is_the_message(streamed: list[Value], same: Value, named: bool) -> None:
    reply, _ = run(events(streamed, named=named))
    assert comparable(reply) == comparable(decode_message(json.dumps(same).encode()))


@pytest.mark.parametrize("step", [1, 3, 64, 1 << 20])
@pytest.mark.parametrize(("streamed", "same"), CASES.values(), ids=CASES.keys())
def test_how_the_bytes_are_split_makes_no_difference(
    streamed: list[Value], same: Value, step: int
) -> None:
    body = wire(streamed)
    stream = MESSAGES.stream(max_response_bytes=1 << 20)
    for start in range(0, len(body), step):
        stream.feed(body[start : start + step])
    stream.close()
    assert stream.reply() == run(events(streamed))[0]


def test_deltas_tell_what_comes() -> None:
    streamed = [
        START,
        *thought("hm"),
        *texts("Hel", "lo", index=1),
        *call('{"x"', ": 1}", index=2),
        stop("tool_use"),
        OVER,
    ]
    reply, deltas = run(events(streamed))
    assert [delta.reasoning for delta in deltas if delta.reasoning] == ["hm"]
    assert [delta.text for delta in deltas if delta.text] == ["Hel", "lo"]
    news = [delta.tool_call for delta in deltas if delta.tool_call]
    assert [one.stage for one in news] == ["started", "arguments", "arguments", "finished"]
    assert {(one.index, one.id, one.name) for one in news} == {(0, "toolu_1", "f")}
    assert [one.arguments for one in news] == ["", '{"x"', ": 1}", '{"x": 1}']
    assert deltas[-1].usage == reply.usage
    assert reply.model == "claude"


def test_the_counters_of_start_and_end_are_one_usage() -> None:
    reply, _ = run(events([START, *texts("hi"), stop(tokens=7), OVER]))
    usage = reply.usage
    assert (usage.prompt_tokens, usage.cached_tokens) == (12, 10)
    assert (usage.completion_tokens, usage.total_tokens) == (7, 19)


def test_the_last_counters_win() -> None:
    late = {
        **stop(),
        "usage": {"input_tokens": 20, "output_tokens": 7, "cache_read_input_tokens": 0},
    }
    usage = run(events([START, *texts("hi"), stop(tokens=3), late, OVER]))[0].usage
    assert (usage.prompt_tokens, usage.completion_tokens) == (30, 7)


def test_a_call_that_was_cut_is_never_finished() -> None:
    _, deltas = run(events([START, *call('{"x": 1}'), stop("max_tokens"), OVER]))
    assert [one.tool_call.stage for one in deltas if one.tool_call] == ["started", "arguments"]


CUT: dict[str, tuple[list[Value], str, str]] = {
    "nothing": ([], "", "no_events"),
    "nothing but pings": ([PING, PING], "", "no_events"),
    "a start": ([START], "", "unfinished"),
    "a text": ([START, *texts("Hel")], "Hel", "unfinished"),
    "a call": ([START, *texts("Hel"), *call('{"x', index=1)], "Hel", "unfinished"),
    "a stop without a reason": ([START, *texts("Hel"), stop(None)], "Hel", "unfinished"),
}


@pytest.mark.parametrize(("streamed", "text_so_far", "reason"), CUT.values(), ids=CUT.keys())
def test_a_stream_that_breaks_is_an_error_with_what_had_come(
    streamed: list[Value], text_so_far: str, reason: str
) -> None:
    error = failure(streamed)
    assert isinstance(error, StreamCutError)
    assert (error.text, error.reason) == (text_so_far, reason)


def test_calls_of_a_broken_stream_are_told_of() -> None:
    error = failure([START, *call('{"x', index=1)])
    assert isinstance(error, StreamCutError)
    assert [(one.name, one.arguments) for one in error.tool_calls] == [("f", '{"x')]


def fault(kind: str, said: str = "no") -> Value:
    return {"type": "error", "error": {"type": kind, "message": said}}


FAULTS: dict[str, tuple[Value, type[RigError], bool]] = {
    "overloaded": (fault("overloaded_error"), ServerError, True),
    "too fast": (fault("rate_limit_error"), RateLimitedError, True),
    "its own": (fault("api_error"), ServerError, True),
    "too long": (
        fault("invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"),
        InputTooLargeError,
        False,
    ),
}


@pytest.mark.parametrize(
    "before", [[], [START], [START, *texts("Hel")]], ids=["first", "start", "text"]
)
@pytest.mark.parametrize("named", [True, False], ids=["named", "without a name"])
@pytest.mark.parametrize(("told", "kind", "retryable"), FAULTS.values(), ids=FAULTS.keys())
def test_a_fault_in_the_stream_is_the_fault_it_tells_of(
    told: Value, kind: type[RigError], retryable: bool, named: bool, before: list[Value]
) -> None:
    assembler = MessageAssembler()
    assembler.feed([*events(before), *events([told], named=named), *events([stop(), OVER])])
    assert assembler.ended
    with pytest.raises(kind) as raised:
        assembler.close()
    assert raised.value.retryable == retryable


def test_a_fault_behind_a_complete_message_does_no_harm() -> None:
    reply, _ = run(events([START, *texts("hi"), stop(), fault("overloaded_error")]))
    assert reply.text == "hi"


def test_an_empty_message_is_an_error_with_its_reasoning() -> None:
    assembler = MessageAssembler()
    assembler.feed(events([START, *thought("hm"), stop(), OVER]))
    assembler.close()
    with pytest.raises(EmptyReplyError) as caught:
        assembler.reply()
    assert caught.value.reasoning == "hm"


BOMBS: dict[str, tuple[list[Value], str]] = {
    "text": (
        [START, begin(0, type="text"), *[piece(0, type="text_delta", text="x" * 99)] * 99],
        "decoded",
    ),
    "thoughts": ([START, *[piece(0, type="thinking_delta", thinking="x" * 99)] * 99], "decoded"),
    "a signature": (
        [START, *[piece(0, type="signature_delta", signature="x" * 99)] * 99],
        "decoded",
    ),
    "a redacted thought": (
        [START, begin(0, type="redacted_thinking", data="x" * 9999), over(0)],
        "decoded",
    ),
    "input": (
        [START, begin(0, type="tool_use", id="1", name="f")]
        + [piece(0, type="input_json_delta", partial_json="x" * 99)] * 99,
        "decoded",
    ),
    "blocks": ([START, *[begin(index, type="text") for index in range(MAX_BLOCKS + 1)]], "blocks"),
}


@pytest.mark.parametrize(("streamed", "reason"), BOMBS.values(), ids=BOMBS.keys())
def test_a_message_without_end_is_cut_at_the_limit(streamed: list[Value], reason: str) -> None:
    error = failure(streamed, max_response_bytes=4096)
    assert isinstance(error, ResponseTooLargeError)
    assert error.reason == reason


def test_exactly_the_limit_passes() -> None:
    body = [START, *thought("x" * 10, signature="s" * 6), *texts("y" * 16, index=1), stop(), OVER]
    assert run(events(body), max_response_bytes=32)[0].text == "y" * 16
    assert isinstance(failure(body, max_response_bytes=31), ResponseTooLargeError)


def test_a_body_that_was_not_streamed_is_read_as_a_message() -> None:
    body = json.dumps(whole(HM, text("hi"), use({}), reason="tool_use")).encode()
    stream = MESSAGES.stream(content_type="application/json", max_response_bytes=1 << 20)
    deltas = stream.feed(body) + stream.close()
    reply = stream.reply()
    assert isinstance(stream, ChatStream)
    assert (reply.text, reply.thoughts) == (
        "hi",
        (SignedThought(thinking="hm, yes", signature="s"),),
    )
    assert [one.tool_call.stage for one in deltas if one.tool_call][-1] == "finished"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=6), inner, max_size=2)
    ),
    max_leaves=5,
)
TYPES = st.sampled_from([
    "message_start", "content_block_start", "content_block_delta", "content_block_stop",
    "message_delta", "message_stop", "message", "ping", "error", "x",
])  # fmt: skip
KINDS = st.sampled_from([
    "text", "tool_use", "thinking", "redacted_thinking", "text_delta", "input_json_delta",
    "thinking_delta", "signature_delta",
])  # fmt: skip
FIELDS = [
    "text", "thinking", "signature", "data", "id", "name", "input", "partial_json", "stop_reason",
    "stop_details", "content", "usage",
]  # fmt: skip
INNER = st.fixed_dictionaries({"type": KINDS | JSON}, optional=dict.fromkeys(FIELDS, JSON))
ANY = st.lists(
    st.fixed_dictionaries(
        {"type": TYPES | JSON},
        optional={
            "index": JSON,
            "message": INNER | JSON,
            "content_block": INNER | JSON,
            "delta": INNER | JSON,
            "usage": JSON,
            "error": JSON,
            "content": JSON,
        },
    ),
    max_size=8,
)


@given(ANY, st.booleans())
def test_any_events_are_a_reply_or_an_error_of_ours(values: list[Value], named: bool) -> None:
    try:
        reply, _ = run([
            Event(str(value["type"]) if named else "message", json.dumps(value).encode())
            for value in values
        ])  # fmt: skip
    except RigError:
        return
    assert reply.text or reply.tool_calls or reply.refusal or reply.finish_reason == "length"


@given(ANY, st.integers(1, 9))
def test_any_bytes_are_read_the_same_however_they_are_split(values: list[Value], step: int) -> None:
    body = b"".join(b"data: " + json.dumps(value).encode() + b"\n\n" for value in values)
    outcomes: list[object] = []
    for width in (step, len(body) + 1):
        stream = MESSAGES.stream(max_response_bytes=1 << 20)
        deltas: list[Delta] = []
        for start in range(0, len(body), width):
            deltas += stream.feed(body[start : start + width])
        try:
            deltas += stream.close()
            outcomes.append((deltas, stream.reply()))
        except RigError as error:
            outcomes.append((deltas, type(error), error.reason))
    assert outcomes[0] == outcomes[1]
