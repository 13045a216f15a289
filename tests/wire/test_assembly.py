"""Events of a streamed reply to deltas and a reply: the same reply as without streaming."""

import json
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.errors import (
    EmptyReplyError,
    InputTooLargeError,
    ProtocolError,
    RateLimitedError,
    ResponseTooLargeError,
    RigError,
    ServerError,
    StreamCutError,
    UpstreamError,
)
from rig.model import Delta, Reply
from rig.wire.assembly import MAX_SKIPPED_EVENTS, StreamAssembler
from rig.wire.call_assembly import MAX_CALLS
from rig.wire.decode import decode_chat
from rig.wire.sse import Event

DONE = Event("message", b"[DONE]")


def event(value: object, kind: str = "message") -> Event:
    return Event(kind, json.dumps(value).encode())


def chunk(delta: object = None, finish: object = None, **fields: object) -> Event:
    """One chunk with one choice; extra fields go beside `choices`."""
    return event({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **fields})


def say(*texts: str) -> list[Event]:
    return [chunk({"content": text}) for text in texts]


def call(arguments: str, *, index: int = 0, call_id: str = "", name: str = "") -> Event:
    function = {"arguments": arguments} | ({"name": name} if name else {})
    entry = {"index": index, "function": function} | ({"id": call_id} if call_id else {})
    return chunk({"tool_calls": [entry]})


STOP = [chunk({}, "stop"), DONE]


def run(events: list[Event], **settings: Any) -> tuple[Reply, list[Delta]]:
    """Feed events one by one, close, and check what must hold for every stream."""
    assembler = StreamAssembler(**settings)
    deltas = [delta for one in events for delta in assembler.feed([one])]
    deltas += assembler.close()
    assert assembler.close() == []
    reply = assembler.reply()
    assert standing(deltas) == reply.text
    assert [delta.finish_reason for delta in deltas].index(reply.finish_reason) == len(deltas) - 1
    at_once = StreamAssembler(**settings)
    assert at_once.feed(events) + at_once.close() == deltas
    assert at_once.reply() == reply
    return reply, deltas


def failure(events: list[Event], **settings: Any) -> RigError:
    assembler = StreamAssembler(**settings)
    assembler.feed(events)
    with pytest.raises(RigError) as raised:
        assembler.close()
    assert assembler.fault is raised.value
    assert assembler.ended
    return raised.value


def standing(deltas: list[Delta]) -> str:
    """The text a reader sees after the last delta."""
    text = ""
    for delta in deltas:
        if delta.retracted:
            assert delta.retracted == text
            text = ""
        text += delta.text
    return text


def reasoning(deltas: list[Delta]) -> str:
    return "".join(delta.reasoning for delta in deltas)


# --- Text and reasoning ---

TEXTS: dict[str, tuple[list[Event], str, str]] = {
    "text in pieces": ([*say("Hello", ", ", "world."), *STOP], "Hello, world.", ""),
    "the last token shares the finish chunk": (
        [*say("one"), chunk({"content": " two"}, "stop"), DONE],
        "one two",
        "",
    ),
    "a role in every delta, or null": (
        [chunk({"role": "assistant", "content": ""}), chunk({"role": None, "content": "a"}),
         chunk({"role": "assistant", "content": "b"}), *STOP],
        "ab",
        "",
    ),
    "a stop token at the end": ([*say("Par", "is.", "<|im_", "end|>"), *STOP], "Paris.", ""),
    "a stop token and blanks": ([*say("Paris.\n", "</s>", "\n"), *STOP], "Paris.", ""),
    "a stop token in the middle": ([*say("a </s", "> b"), *STOP], "a </s> b", ""),
    "the beginning of one": ([*say("a <|im"), *STOP], "a <|im", ""),
    "a stop token behind a thought": (
        [chunk({"reasoning": "hm"}), *say("a<|eot_id|>"), *STOP],
        "a",
        "hm",
    ),
    "a stop token before a thought that came late": (
        [*say("a</s>"), chunk({"reasoning": "hm"}), *STOP],
        "a",
        "hm",
    ),
    "text taken back with a held end": ([*say("r </s", "</think>", "a"), *STOP], "a", "r </s"),
    "a wrapped answer": ([*say("<think>r</think>", "<ans", "wer>a", "</answer>"), *STOP], "a", "r"),
    "the same thought twice": (
        [chunk({"reasoning_content": "r"}), *say("<think>r</think>", "a"), *STOP],
        "a",
        "r",
    ),
    "nulls everywhere": (
        [chunk({"content": None, "reasoning_content": None, "tool_calls": None, "refusal": None}),
         chunk({"content": "a", "tool_calls": None, "function_call": None}), *STOP],
        "a",
        "",
    ),
    "deltas that are null or missing": (
        [chunk(None), *say("a"), event({"choices": [{"index": 0}]}), event({"choices": [None]}), *STOP],
        "a",
        "",
    ),
    "chunks without choices": (
        [event({"choices": [], "prompt_filter_results": []}), *say("a"), event({"id": "x"}), *STOP],
        "a",
        "",
    ),
    "finish chunk, then a choice without delta": (
        [*say("body"), chunk({}, "stop"),
         event({"choices": [{"index": 0, "content_filter_results": {}, "finish_reason": None}]}), DONE],
        "body",
        "",
    ),
    "content as parts": (
        [chunk({"content": [{"type": "text", "text": "a"}]}), chunk({"content": {"type": "text", "text": "b"}}), *STOP],
        "ab",
        "",
    ),
    "thinking parts": (
        [chunk({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm "}]}]}),
         chunk({"content": [{"type": "thinking", "thinking": "so"}]}), *say("</think> answer <think>"), *STOP],
        "answer <think>",
        "hm so",
    ),
    "thinking parts beside a field that repeats them": (
        [chunk({"reasoning": "hm", "content": [{"type": "thinking", "thinking": "hm"}]}), *say("ok"), *STOP],
        "ok",
        "hm",
    ),
    "reasoning in its field": (
        [chunk({"reasoning_content": "think"}), chunk({"reasoning_content": " hard"}), *say("done"), *STOP],
        "done",
        "think hard",
    ),
    "reasoning in two fields that repeat each other": (
        [chunk({"reasoning": "why", "reasoning_content": "why"}), chunk({"content": "ok"}), *STOP],
        "ok",
        "why",
    ),
    "reasoning details": (
        [chunk({"reasoning_details": [{"type": "reasoning.text", "text": "why"}], "content": ""}), *say("ok"), *STOP],
        "ok",
        "why",
    ),
    "reasoning and text in one delta": ([chunk({"reasoning": "why", "content": "ok"}), *STOP], "ok", "why"),
    "blanks between thoughts": (
        [chunk({"reasoning": "a"}), chunk({"reasoning": " "}), chunk({"reasoning": "b\n"}), *say("ok"), *STOP],
        "ok",
        "a b",
    ),
    "reasoning of nothing but blanks": (
        [chunk({"reasoning": "\n"}), *say("<think>x</think>ok"), *STOP],
        "ok",
        "x",
    ),
    "tags stay where the server separates": (
        [chunk({"reasoning_content": "t"}), *say("write <thi", "nk> to", " think</think>"), *STOP],
        "write <think> to think</think>",
        "t",
    ),
    "a closer left at the head": (
        [chunk({"reasoning_content": "t"}), *say("</thi", "nk>\n\nIt is", " 21C."), *STOP],
        "It is 21C.",
        "t",
    ),
    "leaked tags, cut anywhere": ([*say("<th", "ink>hm", "</th", "ink>", "\n\nyes"), *STOP], "yes", "hm"),
    "an unclosed thought": ([*say("yes", "<think>", "but"), *STOP], "yes", "but"),
    "a thought whose opener the template ate": ([*say("hm ", "so</think>", "yes"), *STOP], "yes", "hm so"),
    "a legacy completion": (
        [event({"choices": [{"index": 0, "text": "Pa", "finish_reason": None}]}),
         event({"choices": [{"index": 0, "text": "ris", "finish_reason": "stop"}]}), DONE],
        "Paris",
        "",
    ),
    "a whole message in place of deltas": (
        [event({"choices": [{"message": {"content": "<think>a</think>b"}, "finish_reason": "stop"}]}), DONE],
        "b",
        "a",
    ),
    "a message that repeats the deltas": (
        [*say("a", "b"), event({"choices": [{"delta": {}, "message": {"content": "ab"}, "finish_reason": "stop"}]}), DONE],
        "ab",
        "",
    ),
    "a message behind an empty delta": (
        [chunk({"role": "assistant"}),
         event({"choices": [{"delta": {}, "message": {"content": "ab"}, "finish_reason": "stop"}]}), DONE],
        "ab",
        "",
    ),
    "two choices": (
        [event({"choices": [{"index": 1, "delta": {"content": "one"}}]}),
         event({"choices": [{"index": 0, "delta": {"content": "no"}}]}),
         event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
         event({"choices": [{"index": 0, "delta": {"content": "no"}}, {"index": 1, "delta": {"content": " more"}}]}),
         event({"choices": [{"index": 1, "delta": {}, "finish_reason": "stop"}]}), DONE],
        "one more",
        "",
    ),
    "a choice that is no list": ([event({"choices": {"delta": {"content": "a"}, "finish_reason": "stop"}}), DONE], "a", ""),
    "a copy of the text beside the choices": (
        [chunk({"content": "Hi"}, None, content="Hi", lastOne=False), chunk({"content": "!"}, "stop", content="!"), DONE],
        "Hi!",
        "",
    ),
    "named events": (
        [event({"message": "waiting in the queue"}, "status"), Event("ping", b"{}"),
         Event("completion", say("a")[0].data), *STOP],
        "a",
        "",
    ),
    "no blank lines between events": (
        [Event("message", b"\n".join(one.data for one in [*say("a", "b"), *STOP]))],
        "ab",
        "",
    ),
    "half a surrogate pair": ([Event("message", rb'{"choices":[{"delta":{"content":"a\ud83d"}}]}'), *STOP], "a\ufffd", ""),
    "bytes that are no utf-8": ([Event("message", b'{"choices":[{"delta":{"content":"a\xff"}}]}'), *STOP], "a\ufffd", ""),
    "not a number among log probabilities": (
        [Event("message", b'{"choices":[{"delta":{"content":"a"},"logprobs":{"content":[{"logprob":NaN}]}}]}'), *STOP],
        "a",
        "",
    ),
    "one event that is not JSON": ([*say("a"), Event("message", b'{"choices": [{"delta'), *say("b"), *STOP], "ab", ""),
    "text behind a finish_reason": ([*say("a"), chunk({}, "stop"), *say("b"), DONE], "ab", ""),
    "nothing behind the end counts": ([*say("a"), *STOP, *say("b"), DONE, event({"error": "late"})], "a", ""),
}  # fmt: skip


@pytest.mark.parametrize(("events", "text", "thoughts"), TEXTS.values(), ids=TEXTS.keys())
def test_text_and_reasoning_come_apart_and_whole(
    events: list[Event], text: str, thoughts: str
) -> None:
    reply, deltas = run(events)
    assert (reply.text, reply.reasoning) == (text, thoughts)
    assert reasoning(deltas) == thoughts


def test_text_that_turns_out_to_be_a_thought_is_taken_back() -> None:
    _, deltas = run([*say("hm ", "so", "</think>", "yes"), *STOP])
    assert [delta.retracted for delta in deltas if delta.retracted] == ["hm so"]


def test_no_part_of_a_tag_is_ever_shown() -> None:
    _, deltas = run([*say(*"<think>no</think>yes"), *STOP])
    assert [delta.text for delta in deltas if delta.text] == ["y", "e", "s"]


def test_text_read_as_a_thought_comes_back_when_the_server_separates_after_all() -> None:
    reply, deltas = run([*say("a <think> b"), chunk({"reasoning": "why"}), *say(" c"), *STOP])
    assert reply.text == "a <think> b c"
    assert reply.reasoning == "why"
    assert standing(deltas) == reply.text


def test_text_read_without_the_head_it_has_is_shown_anew() -> None:
    events = [*say("see ", "</think>", "that"), chunk({"reasoning": "why"}), *say(" tag"), *STOP]
    reply, deltas = run(events)
    assert reply.text == "see </think>that tag"
    assert [delta.retracted for delta in deltas if delta.retracted] == ["see", "that"]


@pytest.mark.parametrize(
    ("texts", "text", "thoughts"),
    [
        (["hm ", "so</think>", "yes"], "yes", "hm so"),
        (["<think>hm", "</think>yes"], "yes", "hm"),
    ],
)
def test_a_stream_known_to_begin_in_a_thought_takes_nothing_back(
    texts: list[str], text: str, thoughts: str
) -> None:
    reply, deltas = run([*say(*texts), *STOP], thinking=True)
    assert (reply.text, reply.reasoning) == (text, thoughts)
    assert reasoning(deltas) == thoughts
    assert not any(delta.retracted for delta in deltas)


def test_an_assumed_thought_is_the_answer_when_the_reply_ends_without_a_closer() -> None:
    reply, deltas = run([*say("just ", "yes"), *STOP], thinking=True)
    assert (reply.text, reply.reasoning) == ("just yes", "")
    assert standing(deltas) == "just yes"


def test_an_assumed_thought_stays_one_when_the_reply_was_cut() -> None:
    reply, _ = run([*say("hm ", "so"), chunk({}, "length"), DONE], thinking=True)
    assert (reply.text, reply.reasoning, reply.finish_reason) == ("", "hm so", "length")


def test_the_field_of_the_reasoning_is_kept() -> None:
    assert run([chunk({"reasoning": "t"}), *say("a"), *STOP])[0].reasoning_field == "reasoning"
    events = [chunk({"reasoning_content": "t"}), *say("a"), *STOP]
    assert run(events)[0].reasoning_field == "reasoning_content"
    assert run([*say("<think>t</think>a"), *STOP])[0].reasoning_field is None


# --- The end ---

FINISHES: dict[str, tuple[list[Event], str]] = {
    "finish and done": ([chunk({}, "stop"), DONE], "stop"),
    "no done": ([chunk({}, "stop")], "stop"),
    "no finish": ([DONE], "unknown"),
    "finish of empty text": ([chunk({}, ""), chunk({}, "null"), DONE], "unknown"),
    "another case": ([chunk({}, "STOP")], "stop"),
    "a word nobody knows": ([chunk({}, "banana")], "unknown"),
    "a word that is no text": ([chunk({}, 1), DONE], "unknown"),
    "a word in an object": ([chunk({}, {"type": "length"}), DONE], "length"),
    "camel case": ([chunk({}, "maxTokens"), DONE], "length"),
    "the provider's own word": (
        [Event("message", b'{"choices":[{"delta":{},"native_finish_reason":"MAX_TOKENS"}]}')],
        "length",
    ),
    "done twice": ([chunk({}, "stop"), DONE, DONE], "stop"),
    "done in quotes": ([Event("message", b'"[DONE]"')], "unknown"),
    "done with blanks": ([Event("message", b" [done] ")], "unknown"),
    "the first word stays": ([chunk({}, "stop"), chunk({}, "tool_calls"), DONE], "stop"),
    "a cut behind another word counts": ([chunk({}, "stop"), chunk({}, "length"), DONE], "length"),
    "a cut stays": ([chunk({}, "length"), chunk({}, "stop"), DONE], "length"),
    "null behind a word": ([chunk({}, "stop"), chunk({}, None), DONE], "stop"),
}


@pytest.mark.parametrize(("events", "finish"), FINISHES.values(), ids=FINISHES.keys())
def test_a_reply_is_complete_at_a_finish_reason_or_at_done(
    events: list[Event], finish: str
) -> None:
    reply, deltas = run([*say("text"), *events])
    assert reply.finish_reason == finish
    assert deltas[-1].finish_reason == finish


def test_it_is_known_when_reading_on_is_no_use() -> None:
    assembler = StreamAssembler()
    states: list[tuple[bool, bool]] = []
    for one in [*say("a"), chunk({}, "stop"), DONE]:
        assembler.feed([one])
        states.append((assembler.complete, assembler.ended))
    assert states == [(False, False), (True, False), (True, True)]


CUTS: dict[str, tuple[list[Event], str]] = {
    "text": (say("The chart ", "shows"), "The chart shows"),
    "text that ends like a tag": (say("a <thi"), "a <thi"),
    "reasoning only": ([chunk({"reasoning": "hm"})], ""),
    "an open thought": (say("a<think>b"), "a"),
    "nothing": ([], ""),
    "nothing but keep-alives": ([event({"choices": []})], ""),
}


@pytest.mark.parametrize(("events", "text"), CUTS.values(), ids=CUTS.keys())
def test_a_stream_that_just_ends_is_an_error_that_keeps_the_text(
    events: list[Event], text: str
) -> None:
    error = failure(events)
    assert isinstance(error, StreamCutError)
    assert error.text == text
    assert error.reason == ("unfinished" if events else "no_events")


def test_a_stream_that_just_ends_keeps_the_calls_it_had_begun() -> None:
    error = failure([call("{}", call_id="a", name="get"), call('{"a": "', index=1, name="set")])
    assert isinstance(error, StreamCutError)
    calls = [(call.name, call.arguments) for call in error.tool_calls]
    assert calls == [("get", "{}"), ("set", '{"a": "')]
    assert all(call.id for call in error.tool_calls)


@pytest.mark.parametrize("word", ["error", "network_error", "abort", {"type": "abort"}], ids=str)
def test_a_stream_that_the_server_calls_failed_is_an_error_that_keeps_what_came(
    word: object,
) -> None:
    events = [*say("half ", "a<"), call('{"a"', call_id="x", name="f"), chunk({}, word), DONE]
    error = failure(events)
    assert isinstance(error, StreamCutError)
    assert (error.reason, error.retryable, error.text) == ("failed", True, "half a<")
    assert [made.name for made in error.tool_calls] == ["f"]


def test_a_failure_behind_the_finished_reply_does_not_undo_it() -> None:
    reply, _ = run([*say("a"), chunk({}, "stop"), chunk({}, "error"), DONE])
    assert (reply.text, reply.finish_reason) == ("a", "stop")


CALL_PLACES: dict[str, Event] = {
    "on the choice": event(
        {"choices": [{"delta": {}, "tool_calls": [{"id": "x", "function": {"name": "f", "arguments": "{}"}}]}]}
    ),
    "as a part": chunk({"content": [{"type": "tool_use", "id": "x", "name": "f", "input": {}}]}),
    "with a call_id": chunk({"tool_calls": [{"call_id": "x", "function": {"name": "f", "arguments": "{}"}}]}),
}  # fmt: skip


@pytest.mark.parametrize("one", CALL_PLACES.values(), ids=CALL_PLACES)
def test_calls_are_found_wherever_servers_put_them(one: Event) -> None:
    reply, deltas = run([one, *STOP])
    assert [(made.id, made.name, made.arguments) for made in reply.tool_calls] == [("x", "f", "{}")]
    assert [delta.tool_call.stage for delta in deltas if delta.tool_call][-1] == "finished"


def test_a_call_that_says_nothing_beside_a_text_is_none() -> None:
    reply, _ = run([*say("a"), call("", call_id="x"), *STOP])
    assert (reply.text, reply.tool_calls) == ("a", ())


def test_of_two_choices_in_a_chunk_the_one_that_calls_itself_0_is_read() -> None:
    both = [{"index": 1, "delta": {"content": "b"}}, {"index": 0, "delta": {"content": "a"}}]
    assert run([event({"choices": both}), *STOP])[0].text == "a"


def test_usage_is_found_where_groq_puts_it() -> None:
    usage = {"usage": {"prompt_tokens": 3, "completion_tokens": 1}}
    reply, _ = run([*say("a"), chunk({}, "stop", x_groq=usage), DONE])
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (3, 1)


def test_a_reply_cannot_be_had_from_a_stream_that_just_ended() -> None:
    assembler = StreamAssembler()
    assembler.feed(say("a"))
    with pytest.raises(StreamCutError):
        assembler.reply()


# --- Errors ---

OVERFLOW = {
    "code": 400,
    "message": "the request exceeds the available context size",
    "type": "exceed_context_size_error",
}
FAULTS: dict[str, tuple[list[Event], type[RigError], int | None]] = {
    "an object": ([event({"error": {"message": "Internal", "code": 500}})], ServerError, 500),
    "a text": ([event({"error": "busy", "error_type": "overloaded"})], RigError, None),
    "an error event": ([event({"message": "no", "code": 500}, "error")], ServerError, 500),
    "an error event with an error": ([event({"error": {"code": 500}}, "error")], ServerError, 500),
    "an error event of plain text": ([Event("error", b"it broke")], UpstreamError, None),
    "an error event of JSON text": ([event("it broke", "error")], UpstreamError, None),
    "an error event of nothing": ([Event("error", b"")], UpstreamError, None),
    "an error event of null": ([event(None, "error")], UpstreamError, None),
    "llama.cpp's error field": ([event(OVERFLOW, "error")], InputTooLargeError, 400),
    "choices beside it": ([event({"choices": [], "error": {"code": 502, "message": "x"}})], ServerError, 502),
    "inside the choice": (
        [event({"choices": [{"index": 0, "delta": {}, "finish_reason": "error", "error": {"code": 429, "message": "x"}}]})],
        RateLimitedError,
        429,
    ),
    "in a list": ([event([{"error": {"code": 500, "message": "x"}}])], ServerError, 500),
    "object error": ([event({"object": "error", "message": "x", "code": 500})], ServerError, 500),
    "a detail": ([event({"detail": "x"})], RigError, None),
}  # fmt: skip


@pytest.mark.parametrize("before", [[], say("Part")], ids=["at once", "after text"])
@pytest.mark.parametrize(("events", "kind", "status"), FAULTS.values(), ids=FAULTS.keys())
def test_an_error_in_any_shape_ends_the_stream(
    events: list[Event], kind: type[RigError], status: int | None, before: list[Event]
) -> None:
    assembler = StreamAssembler()
    deltas = assembler.feed([*before, *events, *say(" more"), *STOP])
    assert isinstance(assembler.fault, kind)
    assert assembler.fault.status == status or status is None
    assert standing(deltas) == assembler.text == ("Part" if before else "")
    for attempt in (assembler.close, assembler.reply):
        with pytest.raises(kind):
            attempt()


@pytest.mark.parametrize("value", [None, "", {}, [], 0, False], ids=repr)
def test_an_error_of_nothing_is_none(value: object) -> None:
    text, error = {"content": "a"}, {"error": value}
    events = [
        event({"choices": [{"delta": text}], **error}),
        event({"choices": [{"delta": text, **error}]}),
        event({"choices": [], **error}),
    ]
    assert run([*events, *STOP])[0].text == "aa"


def test_an_error_behind_the_finished_reply_is_not_its_failure() -> None:
    reply, _ = run([*say("a"), chunk({}, "stop"), event({"error": {"code": 500}}), DONE])
    assert reply.text == "a"


def test_what_a_fault_says_is_never_in_its_message() -> None:
    error = failure([event({"error": {"message": "secret-sauce", "code": 500}})])
    assert "secret-sauce" not in str(error)
    assert "secret-sauce" in error.detail


def test_broken_events_are_skipped_and_counted() -> None:
    assembler = StreamAssembler()
    assembler.feed([*say("a"), Event("message", b"{"), event(3), event("x"), event([])])
    assert assembler.skipped == 4
    assert assembler.fault is None


def test_too_many_broken_events_end_the_stream() -> None:
    error = failure([*say("a"), *[Event("message", b"<p>")] * (MAX_SKIPPED_EVENTS + 1), *STOP])
    assert isinstance(error, ProtocolError)


@pytest.mark.parametrize("end", [[], [DONE]], ids=["cut", "done"])
def test_a_stream_of_nothing_but_broken_events_is_no_chat_completion(end: list[Event]) -> None:
    assert StreamAssembler().feed([Event("message", b"hello"), *end]) == []
    error = failure([Event("message", b"hello"), *end])
    assert isinstance(error, ProtocolError)
    assert error.reason == "unreadable"


EMPTY: dict[str, tuple[list[Event], str]] = {
    "no text and no call": ([chunk({"role": "assistant", "content": ""}), *STOP], "no_answer"),
    "blanks": ([*say(" ", "\n"), *STOP], "no_answer"),
    "reasoning only": ([chunk({"reasoning": "hm"}), *STOP], "no_answer"),
    "done at once": ([DONE], "no_choices"),
}


@pytest.mark.parametrize(("events", "reason"), EMPTY.values(), ids=EMPTY.keys())
def test_a_finished_reply_without_an_answer_is_an_error(events: list[Event], reason: str) -> None:
    assembler = StreamAssembler()
    usage = event({"choices": [], "usage": {"prompt_tokens": 36102, "completion_tokens": 3}})
    deltas = [*assembler.feed([usage, *events]), *assembler.close()]
    with pytest.raises(EmptyReplyError) as raised:
        assembler.reply(latency_s=1.5)
    assert raised.value.reason == reason
    assert raised.value.reasoning == ("hm" if "reasoning" in str(events) else "")
    assert deltas[-1].finish_reason is not None
    if raised.value.usage is not None:
        assert raised.value.usage.prompt_tokens == 36102


# --- Limits ---


@pytest.mark.parametrize("field", ["content", "reasoning", "refusal"])
def test_exactly_the_cap_passes_and_one_byte_more_does_not(field: str) -> None:
    pieces = [chunk({field: "\u00e9" * 5})] * 10
    exact = StreamAssembler(max_response_bytes=100)
    exact.feed([*pieces, *STOP])
    assert exact.fault is None
    assembler = StreamAssembler(max_response_bytes=100)
    assembler.feed(pieces)
    assert assembler.feed([chunk({field: "x"})]) == []
    assert isinstance(assembler.fault, ResponseTooLargeError)
    assert assembler.fault.reason == "decoded"


def test_text_and_arguments_share_the_cap() -> None:
    events = [call("x" * 50, call_id="id", name="get"), *say("y" * 45)]
    assert StreamAssembler(max_response_bytes=100).feed(events)
    assert isinstance(failure([*events, *say("z")], max_response_bytes=100), ResponseTooLargeError)
    legacy = chunk({"function_call": {"name": "get", "arguments": "x" * 98}})
    assert isinstance(failure([legacy], max_response_bytes=100), ResponseTooLargeError)


def test_framing_does_not_count_against_the_cap() -> None:
    padding = "x" * 10_000
    reply, _ = run([chunk({"content": "a"}, None, logprobs=padding), *STOP], max_response_bytes=1)
    assert reply.text == "a"


def test_calls_without_end_are_refused() -> None:
    events = [call("", index=index, name="get") for index in range(MAX_CALLS + 1)]
    error = failure(events)
    assert isinstance(error, ResponseTooLargeError)
    assert error.reason == "calls"


# --- Calls ---


def test_interleaved_calls_come_out_whole_and_are_told_of_in_full() -> None:
    reply, deltas = run(
        [
            call('{"p":', call_id="a", name="get"),
            call('{"p":', index=1, call_id="b", name="set"),
            call('"first"}'),
            call('"second"}', index=1),
            chunk({}, "tool_calls"),
            DONE,
        ]
    )
    assert [(one.id, one.name, one.input) for one in reply.tool_calls] == [
        ("a", "get", {"p": "first"}),
        ("b", "set", {"p": "second"}),
    ]
    news = [delta.tool_call for delta in deltas if delta.tool_call]
    assert [(one.stage, one.index) for one in news] == [
        ("started", 0), ("arguments", 0), ("started", 1), ("arguments", 1),
        ("arguments", 0), ("arguments", 1), ("finished", 0), ("finished", 1),
    ]  # fmt: skip
    assert [(one.id, one.arguments) for one in news[-2:]] == [
        (one.id, one.arguments) for one in reply.tool_calls
    ]


def test_calls_behind_an_early_finish_reason_are_not_lost() -> None:
    reply, _ = run(
        [
            call("{}", call_id="a", name="get"),
            chunk({}, "tool_calls"),
            call("{}", index=1, call_id="b", name="set"),
            chunk({}, "tool_calls"),
            chunk({}, "stop"),
            DONE,
        ]
    )
    assert [one.name for one in reply.tool_calls] == ["get", "set"]


def test_a_call_cut_at_the_limit_is_never_finished() -> None:
    reply, deltas = run([call('{"a": "', call_id="a", name="get"), chunk({}, "length"), DONE])
    assert reply.finish_reason == "length"
    assert not any(delta.tool_call and delta.tool_call.stage == "finished" for delta in deltas)


def test_a_call_that_looks_whole_in_the_chunk_that_was_cut_is_not_finished() -> None:
    """Seen in vLLM 0.32: it sent `{}` for a call of which only the name had been generated."""
    function = {"name": "get_weather", "arguments": "{}"}
    delta = {"content": None, "tool_calls": [{"index": 0, "id": "a", "function": function}]}
    reply, deltas = run([chunk(delta, "length"), DONE])
    assert reply.finish_reason == "length"
    assert not any(one.tool_call and one.tool_call.stage == "finished" for one in deltas)


def test_cut_arguments_are_not_finished_whatever_the_finish_reason_says() -> None:
    reply, deltas = run([call('{"a": "', call_id="a", name="get"), chunk({}, "tool_calls"), DONE])
    assert reply.tool_calls[0].arguments == '{"a": "'
    assert [delta.tool_call.stage for delta in deltas if delta.tool_call] == [
        "started",
        "arguments",
    ]


def test_calls_without_ids_get_fresh_ones_and_the_news_says_which() -> None:
    reply, deltas = run([
        call("{}", index=0, name="get"), call("{}", index=1, name="get"), chunk({}, "stop"), DONE
    ])  # fmt: skip
    ids = [one.id for one in reply.tool_calls]
    assert len(set(ids)) == 2
    assert all(ids)
    finished = [d.tool_call for d in deltas if d.tool_call and d.tool_call.stage == "finished"]
    assert [one.id for one in finished] == ids


def test_a_legacy_call_is_read_and_told_of_at_the_end() -> None:
    reply, deltas = run(
        [
            chunk({"function_call": {"name": "get", "arguments": '{"a"'}}),
            chunk({"function_call": {"arguments": ":1}"}}),
            chunk({}, "function_call"),
            DONE,
        ]
    )
    assert [(one.name, one.input) for one in reply.tool_calls] == [("get", {"a": 1})]
    assert reply.finish_reason == "tool_calls"
    stages = [delta.tool_call.stage for delta in deltas if delta.tool_call]
    assert stages == ["started", "arguments", "finished"]


@pytest.mark.parametrize("together", [True, False])
def test_the_same_call_in_both_fields_is_one_call(together: bool) -> None:
    function = {"name": "get", "arguments": "{}"}
    new = {"tool_calls": [{"index": 0, "id": "a", "function": function}]}
    old = {"function_call": function}
    events = [chunk(new | old)] if together else [chunk(old), chunk(new)]
    reply, deltas = run([*events, chunk({}, "tool_calls"), DONE])
    assert [one.id for one in reply.tool_calls] == ["a"]
    assert sum(1 for d in deltas if d.tool_call and d.tool_call.stage == "started") == 1


def test_a_call_nobody_can_answer_is_an_error() -> None:
    assembler = StreamAssembler()
    assembler.feed([call("{}", call_id="a"), chunk({}, "tool_calls"), DONE])
    with pytest.raises(ProtocolError):
        assembler.reply()


LOST: dict[str, list[tuple[str, str]]] = {
    "arguments": [("get", "{}"), ("", '{"a": 1}')],
    "a part of them": [("get", "{}"), ("", '"a": 1}')],
    "before the named one": [("", '{"a": 1}'), ("get", "{}")],
}


@pytest.mark.parametrize("calls", LOST.values(), ids=LOST.keys())
def test_arguments_without_a_name_are_never_dropped_beside_a_call(
    calls: list[tuple[str, str]],
) -> None:
    entries = [
        {"index": index, "id": f"c{index}", "function": {"name": name, "arguments": text}}
        for index, (name, text) in enumerate(calls)
    ]
    error = failure_of_reply([chunk({"tool_calls": [one]}) for one in entries])
    assert error.reason == "tool_call"
    body = {"choices": [{"message": {"tool_calls": entries}, "finish_reason": "tool_calls"}]}
    with pytest.raises(ProtocolError) as raised:
        decode_chat(json.dumps(body).encode())
    assert raised.value.reason == "tool_call"


def failure_of_reply(events: list[Event]) -> ProtocolError:
    assembler = StreamAssembler()
    assembler.feed([*events, chunk({}, "tool_calls"), DONE])
    with pytest.raises(ProtocolError) as raised:
        assembler.reply()
    return raised.value


@pytest.mark.parametrize("text", ["", " ", "{}", "null"], ids=repr)
def test_a_call_without_a_name_that_says_nothing_is_none_beside_another(text: str) -> None:
    reply, _ = run([
        call("{}", call_id="a", name="get"), call(text, index=1, call_id="b"), chunk({}, "tool_calls"), DONE
    ])  # fmt: skip
    assert [one.name for one in reply.tool_calls] == ["get"]


def test_calls_of_one_id_are_the_same_streamed_and_whole() -> None:
    entries = [
        {"index": index, "id": "c", "function": {"name": "get", "arguments": text}}
        for index, text in enumerate(['{"a": 1}', '{"a": 2}'])
    ]
    streamed, _ = run([*[chunk({"tool_calls": [one]}) for one in entries], *STOP])
    body = {"choices": [{"message": {"tool_calls": entries}, "finish_reason": "stop"}]}
    whole = decode_chat(json.dumps(body).encode())
    assert [(one.name, one.input) for one in streamed.tool_calls] == [
        (one.name, one.input) for one in whole.tool_calls
    ]
    assert len({one.id for one in streamed.tool_calls}) == 2


def test_the_calls_so_far_can_be_looked_at_any_time() -> None:
    assembler = StreamAssembler()
    assembler.feed([call('{"a": "', name="get")])
    assert [(one.name, one.arguments) for one in assembler.calls] == [("get", '{"a": "')]


# --- Usage, model, refusal ---

COUNTS = {"prompt_tokens": 23, "completion_tokens": 3, "total_tokens": 26}
USAGES: dict[str, list[Event]] = {
    "after the finish": [chunk({}, "stop"), event({"choices": [], "usage": COUNTS}), DONE],
    "in the finish chunk": [chunk({}, "stop", usage=COUNTS), DONE],
    "without choices at all": [chunk({}, "stop"), event({"usage": COUNTS}), DONE],
    "beside an empty choice": [
        chunk({}, "stop"),
        event({"choices": [{"index": 0, "delta": {}}], "usage": COUNTS}),
        DONE,
    ],
    "inside the choice": [
        event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "usage": COUNTS}]}),
        DONE,
    ],
    "cumulative, the last wins": [
        chunk({"content": ""}, None, usage={"prompt_tokens": 23, "completion_tokens": 1}),
        chunk({"content": ""}, None, usage={"prompt_tokens": 23, "completion_tokens": 2}),
        chunk({}, "stop", usage=COUNTS),
        DONE,
    ],
    "then nulls and zeros": [
        chunk({}, "stop", usage=COUNTS),
        event({"choices": [], "usage": None}),
        event({"choices": [], "usage": {"prompt_tokens": 0, "completion_tokens": 0}}),
        event({"choices": [], "usage": "none"}),
        DONE,
    ],
    "then booleans": [
        chunk({}, "stop", usage=COUNTS),
        event({"choices": [], "usage": {"prompt_tokens": True, "completion_tokens": True}}),
        DONE,
    ],
    "no done": [chunk({}, "stop"), event({"choices": [], "usage": COUNTS})],
}


@pytest.mark.parametrize("events", USAGES.values(), ids=USAGES.keys())
def test_the_last_usage_that_says_something_wins(events: list[Event]) -> None:
    reply, deltas = run([*say("a"), *events])
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (23, 3)
    assert reply.usage.total_tokens == 26
    assert deltas[-1].usage == reply.usage


def test_usage_that_nobody_reported_is_not_told() -> None:
    reply, deltas = run([*say("a"), *STOP])
    assert not reply.usage.reported
    assert deltas[-1].usage is None


def test_the_latency_is_the_callers() -> None:
    assembler = StreamAssembler()
    assembler.feed([*say("a"), *STOP])
    usage = assembler.reply(latency_s=2.5, time_to_first_token_s=0.5).usage
    assert (usage.latency_s, usage.time_to_first_token_s) == (2.5, 0.5)


def test_the_models_name_is_the_servers_first() -> None:
    events = [chunk({"content": "a"}, None, model=""), chunk({}, None, model="m"), *STOP]
    assert run([*events, chunk({}, None, model="n")])[0].model == "m"


def test_a_refusal_in_pieces_is_one() -> None:
    reply, deltas = run([chunk({"refusal": "I can't "}), chunk({"refusal": "do that."}), *STOP])
    assert (reply.refusal, reply.text) == ("refusal", "I can't do that.")
    assert standing(deltas) == reply.text


def test_a_filter_that_hit_is_a_refusal_with_its_category() -> None:
    results = {"hate": {"filtered": False}, "violence": {"filtered": True}}
    choice = {"index": 0, "delta": {}, "finish_reason": "content_filter"}
    events = [*say("a"), event({"choices": [choice | {"content_filter_results": results}]}), DONE]
    assert run(events)[0].refusal == "violence"


# --- The same reply as without streaming ---

texts = st.lists(
    st.sampled_from(["<think>", "</think>", "a", " ", "\n", "[THINK]", "[/THINK]", "<thi", "nk>", "\u00e9"]),
    max_size=8,
).map("".join)  # fmt: skip
names = st.sampled_from(["get", "set", "functions.get:0"])
arguments = st.sampled_from(["{}", '{"a": 1}', '{"a": "', "", '{"a": 1}</tool_call>', "no"])


@st.composite
def replies(draw: st.DrawFn) -> dict[str, Any]:
    """The body of a reply as a server sends it without streaming."""
    message: dict[str, Any] = {"role": "assistant", "content": draw(texts)}
    if draw(st.booleans()):
        message[draw(st.sampled_from(["reasoning", "reasoning_content"]))] = draw(texts)
    calls = draw(st.lists(st.tuples(names, arguments), max_size=3))
    message["tool_calls"] = [
        {"id": f"id{n}", "type": "function", "function": {"name": name, "arguments": text}}
        for n, (name, text) in enumerate(calls)
    ]
    finish = draw(st.sampled_from(["stop", "length", "tool_calls", "content_filter", "odd"]))
    usage = draw(st.sampled_from([None, COUNTS]))
    choices = [{"index": 0, "message": message, "finish_reason": finish}]
    return {"id": "c1", "model": "m", "choices": choices, "usage": usage}


def pieces(draw: st.DrawFn, text: str) -> list[str]:
    cuts = sorted(draw(st.sets(st.integers(1, max(1, len(text) - 1)), max_size=4)))
    return [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]


@st.composite
def streamed(draw: st.DrawFn, body: dict[str, Any]) -> list[Event]:
    """The same reply as a stream, cut anywhere."""
    choice = body["choices"][0]
    message = choice["message"]
    events: list[Event] = []
    for field in ("reasoning", "reasoning_content", "content"):
        events += [chunk({field: text}, None, id="c1", model="m") for text in pieces(draw, message.get(field, ""))]  # fmt: skip
    for index, wire in enumerate(message["tool_calls"]):
        name, text = wire["function"]["name"], wire["function"]["arguments"]
        events.append(call("", index=index, call_id=wire["id"], name=name))
        events += [call(piece, index=index) for piece in pieces(draw, text)]
    events.append(chunk({}, choice["finish_reason"], id="c1", model="m"))
    if body["usage"]:
        events.append(event({"choices": [], "usage": body["usage"]}))
    return [*events, DONE]


@given(st.data())
def test_a_reply_is_the_same_streamed_and_whole(data: st.DataObject) -> None:
    body = data.draw(replies())
    events = data.draw(streamed(body))
    expected: Reply | type[RigError]
    try:
        expected = decode_chat(json.dumps(body).encode())
    except RigError as error:
        expected = type(error)
    if isinstance(expected, Reply):
        assert run(events)[0] == expected
        return
    assembler = StreamAssembler()
    assembler.feed(events)
    with pytest.raises(expected):
        assembler.reply()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip
keys = st.sampled_from([
    "content", "reasoning", "reasoning_content", "reasoning_details", "thinking", "tool_calls", "refusal",
    "function_call", "role", "index", "id", "function", "name", "arguments", "delta", "message", "text",
    "finish_reason", "error", "usage", "choices", "model", "object", "detail", "type", "prompt_tokens",
    "content_filter_results", "parameters",
])  # fmt: skip
wireish = st.recursive(
    json_values,
    lambda inner: st.dictionaries(keys, inner, max_size=5) | st.lists(inner, max_size=3),
    max_leaves=25,
)
chunks = st.one_of(
    wireish,
    st.builds(lambda delta: {"choices": [{"index": 0, "delta": delta}]}, wireish),
    st.builds(lambda choice: {"choices": [choice]}, wireish),
    st.builds(lambda calls: {"choices": [{"delta": {"tool_calls": calls}}]}, wireish),
    st.builds(lambda word: {"choices": [{"delta": {}, "finish_reason": word}]}, json_values),
)
events_of_any_kind = st.one_of(
    st.builds(event, chunks, st.sampled_from(["message", "error", "ping"])),
    st.builds(Event, st.just("message"), st.binary(max_size=20)),
    st.just(DONE),
    st.just(STOP[0]),
)


@given(st.lists(events_of_any_kind, max_size=12), st.booleans())
def test_any_events_give_a_reply_or_a_rig_error(events: list[Event], thinking: bool) -> None:
    assembler = StreamAssembler(thinking=thinking)
    deltas = assembler.feed(events)
    assert isinstance(assembler.text, str)
    assert isinstance(assembler.calls, tuple)
    try:
        deltas += assembler.close()
        reply = assembler.reply()
    except RigError:
        return
    assert standing(deltas) == reply.text


# --- Work ---

WORK: dict[str, Callable[[int], list[Event]]] = {
    "text": lambda n: say("tok") * n,
    "a long text that ends like a tag": lambda n: say("<") * n,
    "leaked reasoning": lambda n: say("<think>", *["tok"] * n),
    "thoughts taken back again and again": lambda n: say("tok", "</think>") * (n // 2),
    "reasoning": lambda n: [chunk({"reasoning": "tok"})] * n,
    "one call": lambda n: [call("x", name="get"), *[call("x")] * n],
    "one call, its name repeated": lambda n: [call('{"a":"', name="get"), *[call("{}", name="get")] * n],
    "calls in turn": lambda n: [call("x", index=i % 9, name="get") for i in range(n)],
    "calls by id": lambda n: [chunk({"tool_calls": [{"id": f"i{i % 9}", "function": {"name": "get", "arguments": "x"}}]}) for i in range(n)],
    "legacy calls": lambda n: [chunk({"function_call": {"name": "get", "arguments": "x"}})] * n,
    "usage in every chunk": lambda n: [chunk({"content": "a"}, None, usage=COUNTS)] * n,
    "a line an event": lambda n: [Event("message", b"\n".join([say("a")[0].data] * n))],
}  # fmt: skip


@pytest.mark.parametrize("build", WORK.values(), ids=WORK.keys())
def test_work_grows_with_the_events_and_no_faster(build: Callable[[int], list[Event]]) -> None:
    def work(size: int) -> int:
        calls = 0

        def count(frame: FrameType, what: str, arg: object) -> None:
            nonlocal calls
            calls += what in {"call", "c_call"}

        events = build(size)
        assembler = StreamAssembler()
        before = sys.getprofile()
        sys.setprofile(count)
        try:
            assembler.feed([*events, *STOP])
        finally:
            sys.setprofile(before)
        assert assembler.fault is None
        return calls

    assert work(2000) <= 4.5 * work(500)


# --- What the next stream should know ---


@pytest.mark.parametrize(
    ("thinking", "texts", "expected"),
    [
        (False, ["plain"], None),
        (False, ["<think>a</think>b"], None),
        (False, ["a", "</think>b"], True),
        (True, ["a", "</think>b"], None),
        (True, ["a"], False),
        (True, [], None),
        (True, ["<think>a</think>b"], None),
    ],
    ids=[
        "no thought",
        "its own opener",
        "the opener was eaten",
        "assumed rightly",
        "assumed wrongly",
        "nothing said",
        "assumed, and it wrote an opener",
    ],
)
def test_whether_the_template_opens_a_thought_is_told(
    thinking: bool, texts: list[str], expected: bool | None
) -> None:
    assembler = StreamAssembler(thinking=thinking)
    assembler.feed([*say(*texts), *STOP])
    assembler.close()
    assert assembler.template_thinks is expected


@pytest.mark.parametrize(
    ("texts", "blank"),
    [(["a"], 0), (["a \n"], 2), (["a", " ", "\n"], 2), (["\n", "\n", "a"], 0), ([" ", " "], 2)],
    ids=str,
)
def test_whitespace_that_is_held_back_is_counted(texts: list[str], blank: int) -> None:
    assembler = StreamAssembler()
    assembler.feed(say(*texts))
    assert (assembler.blank, assembler.blank_where) == (blank, "content")


THINKING = [{"type": "thinking", "thinking": [{"type": "text", "text": "\n"}]}]
BLANKS: dict[str, tuple[list[dict[str, object]], dict[str, object], str]] = {
    "reasoning": ([], {"reasoning_content": "\n"}, "reasoning"),
    "behind a thought": ([{"reasoning": "hm \n"}], {"reasoning": "\n"}, "reasoning"),
    "thinking parts": ([], {"content": THINKING}, "reasoning"),
    "a legacy call": (
        [{"function_call": {"name": "get", "arguments": "{"}}], {"function_call": {"arguments": "\n"}}, "tool:get arguments"
    ),
    "a call before its name": (
        [], {"tool_calls": [{"index": 0, "id": "a", "function": {"arguments": "\n"}}]}, "tool: arguments"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("first", "again", "where"), BLANKS.values(), ids=BLANKS.keys())
def test_whitespace_is_counted_wherever_no_delta_tells_of_it(
    first: list[dict[str, object]], again: dict[str, object], where: str
) -> None:
    assembler = StreamAssembler()
    assembler.feed([*map(chunk, first), *[chunk(again)] * 9])
    chars = 9 + 2 * ("hm" in str(first))
    assert (assembler.blank, assembler.blank_where) == (chars, where)
    assembler.feed([Event("message", chunk(again).data.replace(rb"\n", b"x"))])
    assert assembler.blank == 0
