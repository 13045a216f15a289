"""Messages of Anthropic's API: what they say, what they cost, and what is wrong with them."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.errors import (
    EmptyReplyError,
    InputTooLargeError,
    InvalidRequestError,
    ModelNotFoundError,
    NotConfiguredError,
    ProtocolError,
    RateLimitedError,
    RigError,
    ServerError,
    UnauthorizedError,
)
from rig.messages import SignedThought
from rig.model import Reply
from rig.wire.anthropic.decode import decode_count_tokens, decode_message
from rig.wire.faults import error_from_response


def message(*content: object, stop: object = "end_turn", **fields: object) -> bytes:
    usage = {"input_tokens": 5, "output_tokens": 3}
    value = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": list(content),
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage,
        **fields,
    }
    return json.dumps(value).encode()


def text(said: object) -> dict[str, object]:
    return {"type": "text", "text": said}


def use(given: object, name: object = "f", identity: object = "toolu_1") -> dict[str, object]:
    return {"type": "tool_use", "id": identity, "name": name, "input": given}


def thinking(thought: str, **fields: object) -> dict[str, object]:
    return {"type": "thinking", "thinking": thought, **fields}


def said(reply: Reply) -> tuple[str, str, list[tuple[str, str]], str]:
    calls = [(call.name, call.arguments) for call in reply.tool_calls]
    return reply.text, reply.reasoning, calls, reply.finish_reason


CASES: dict[str, tuple[bytes, tuple[str, str, list[tuple[str, str]], str]]] = {
    "a text": (message(text("hi")), ("hi", "", [], "stop")),
    "two texts": (message(text("a"), text("b")), ("ab", "", [], "stop")),
    "a stop sequence": (message(text("a"), stop="stop_sequence"), ("a", "", [], "stop")),
    "cut": (message(text("a"), stop="max_tokens"), ("a", "", [], "length")),
    "cut by the window": (
        message(text("a"), stop="model_context_window_exceeded"),
        ("a", "", [], "length"),
    ),
    "cut before a word": (message(stop="max_tokens"), ("", "", [], "length")),
    "a call": (
        message(text("look"), use({"x": 1}), stop="tool_use"),
        ("look", "", [("f", '{"x":1}')], "tool_calls"),
    ),
    "calls": (
        message(use({}), use({"y": None}, "g", "toolu_2"), stop="tool_use"),
        ("", "", [("f", "{}"), ("g", '{"y":null}')], "tool_calls"),
    ),
    "an input that is the text of an object": (
        message(use('{"x": 1}'), stop="tool_use"),
        ("", "", [("f", '{"x": 1}')], "tool_calls"),
    ),
    "an input of nothing": (message(use(None), stop=None), ("", "", [("f", "{}")], "tool_calls")),
    "thoughts": (
        message(thinking("hm", signature="s"), text("hi")),
        ("hi", "hm", [], "stop"),
    ),
    "tags in the text of a server that separates": (
        message(thinking("hm", signature="s"), text("a <think>b</think>")),
        ("a <think>b</think>", "hm", [], "stop"),
    ),
    "leaked thoughts": (message(text("<think>hm</think>hi")), ("hi", "hm", [], "stop")),
    "content as a text": (
        message(content="hi"),
        ("hi", "", [], "stop"),
    ),
    "one block alone": (message(content=text("hi")), ("hi", "", [], "stop")),
    "blocks of a kind nobody asked for": (
        message(
            {"type": "server_tool_use", "id": "1", "name": "web_search", "input": {}},
            {"type": "web_search_tool_result", "content": []},
            "text",
            None,
            text("hi"),
            text(None),
        ),
        ("hi", "", [], "stop"),
    ),
    "a pause": (message(text("hi"), stop="pause_turn"), ("hi", "", [], "unknown")),
    "a chat completion, from a proxy": (
        json.dumps({"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}).encode(),
        ("hi", "", [], "stop"),
    ),
}


@pytest.mark.parametrize(("body", "expected"), CASES.values(), ids=CASES.keys())
def test_what_a_message_says(
    body: bytes, expected: tuple[str, str, list[tuple[str, str]], str]
) -> None:
    assert said(decode_message(body)) == expected


def test_what_a_message_costs() -> None:
    body = message(
        text("hi"),
        usage={
            "input_tokens": 1,
            "cache_read_input_tokens": 31,
            "cache_creation_input_tokens": 2,
            "output_tokens": 8,
        },
    )
    reply = decode_message(body, latency_s=0.5)
    usage = reply.usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (34, 8, 42)
    assert (usage.cached_tokens, usage.cache_creation_tokens, usage.latency_s) == (31, 2, 0.5)
    assert reply.model == "claude"


def test_no_usage_is_not_reported() -> None:
    assert not decode_message(message(text("hi"), usage=None)).usage.reported


def test_ids_are_made_where_they_are_missing_or_repeated() -> None:
    reply = decode_message(message(use({}, identity=None), use({}), use({}), stop="tool_use"))
    ids = [call.id for call in reply.tool_calls]
    assert len({*ids}) == 3
    assert all(ids)
    assert ids[1] == "toolu_1"


def test_signed_thoughts_are_kept_in_order_to_be_sent_back() -> None:
    reply = decode_message(
        message(
            thinking("one", signature="s1"),
            {"type": "redacted_thinking", "data": "xyz"},
            thinking("", signature="s2"),
            thinking("unsigned"),
            use({}),
            stop="tool_use",
        )
    )
    assert reply.thoughts == (
        SignedThought(thinking="one", signature="s1"),
        SignedThought(type="redacted_thinking", data="xyz"),
        SignedThought(signature="s2"),
        SignedThought(thinking="unsigned"),
    )
    assert reply.message().thoughts == reply.thoughts
    assert reply.message().reasoning == "oneunsigned"


def test_a_server_that_keeps_its_thoughts_has_separated_them_all_the_same() -> None:
    reply = decode_message(message(thinking("", signature="s"), text("hi")))
    assert reply.reasoning_field is not None
    assert reply.reasoning == ""


@pytest.mark.parametrize(
    ("details", "category", "shown"),
    [
        (None, "refusal", ""),
        ({"type": "refusal", "category": None, "explanation": None}, "refusal", ""),
        ({"type": "refusal", "category": "cyber", "explanation": "No."}, "cyber", "No."),
        ({"category": 1}, "refusal", ""),
    ],
)
def test_a_refusal_is_an_outcome_with_its_category(
    details: object, category: str, shown: str
) -> None:
    reply = decode_message(message(stop="refusal", stop_details=details))
    assert (reply.refusal, reply.finish_reason, reply.text) == (category, "content_filter", shown)
    spoken = decode_message(message(text("I can't."), stop="refusal", stop_details=details))
    assert (spoken.refusal, spoken.text) == (category, "I can't.")


EMPTY: dict[str, tuple[bytes, str, str]] = {
    "no blocks": (message(), "no_answer", ""),
    "nothing but a thought": (message(thinking("hm", signature="s")), "no_answer", "hm"),
    "blank": (message(text(" \n")), "no_answer", ""),
    "no content": (b'{"type": "message"}', "no_choices", ""),
    "an object of another kind": (b'{"object": "list"}', "no_choices", ""),
    "an empty object": (b"{}", "no_choices", ""),
}


@pytest.mark.parametrize(("body", "reason", "reasoning"), EMPTY.values(), ids=EMPTY.keys())
def test_an_empty_message_is_an_error(body: bytes, reason: str, reasoning: str) -> None:
    with pytest.raises(EmptyReplyError) as caught:
        decode_message(body)
    assert (caught.value.reason, caught.value.reasoning) == (reason, reasoning)


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"1", b"event: message_start\ndata: {}"])
def test_what_is_no_message_is_said_so(body: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode_message(body)


def error(kind: str, said: str = "no") -> dict[str, object]:
    return {"type": "error", "error": {"type": kind, "message": said}, "request_id": "req_1"}


FAULTS: dict[str, tuple[int, dict[str, object], type[RigError], bool]] = {
    "invalid": (400, error("invalid_request_error"), InvalidRequestError, False),
    "a key": (401, error("authentication_error"), UnauthorizedError, False),
    "a permission": (403, error("permission_error"), UnauthorizedError, False),
    "no such path": (404, error("not_found_error"), NotConfiguredError, False),
    "no such model": (
        404,
        error("not_found_error", "model: claude-x"),
        ModelNotFoundError,
        False,
    ),
    "too large": (413, error("request_too_large"), InputTooLargeError, False),
    "too long": (
        400,
        error("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
        InputTooLargeError,
        False,
    ),
    "too fast": (429, error("rate_limit_error"), RateLimitedError, True),
    "its own": (500, error("api_error"), ServerError, True),
    "overloaded": (529, error("overloaded_error"), ServerError, True),
}


@pytest.mark.parametrize(("status", "value", "kind", "retryable"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_the_same_with_its_status_and_at_200(
    status: int, value: dict[str, object], kind: type[RigError], retryable: bool
) -> None:
    body = json.dumps(value).encode()
    told = error_from_response(status, {}, body)
    assert (type(told), told.retryable, told.status) == (kind, retryable, status)
    with pytest.raises(kind) as caught:
        decode_message(body)
    assert caught.value.retryable == retryable


def test_the_sizes_of_a_prompt_that_is_too_long_are_read() -> None:
    body = json.dumps(FAULTS["too long"][1]).encode()
    told = error_from_response(400, {}, body)
    assert isinstance(told, InputTooLargeError)
    assert (told.prompt_tokens, told.context_tokens) == (210000, 200000)


@pytest.mark.parametrize(
    ("body", "count"),
    [
        (b'{"input_tokens": 30}', 30),
        (b'{"input_tokens": 0}', 0),
        (b'{"input_tokens": 21, "context_management": {"original_input_tokens": 21}}', 21),
        (b'{"count": 11, "tokens": [1, 2]}', 11),
    ],
)
def test_a_count_is_read(body: bytes, count: int) -> None:
    assert decode_count_tokens(body) == count


@pytest.mark.parametrize(
    "body", [b"{}", b'{"input_tokens": true}', b'{"input_tokens": -1}', b"<html>", b"[]"]
)
def test_an_answer_without_a_count_is_none(body: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode_count_tokens(body)


def test_a_fault_instead_of_a_count_is_raised() -> None:
    with pytest.raises(RateLimitedError):
        decode_count_tokens(json.dumps(error("rate_limit_error")).encode())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
BLOCKS = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "thinking", "redacted_thinking", "tool_use", "x"]) | JSON},
    optional=dict.fromkeys(("text", "thinking", "signature", "data", "id", "name", "input"), JSON),
)


@given(
    st.fixed_dictionaries(
        {"content": st.lists(BLOCKS | JSON, max_size=4) | JSON},
        optional={
            "stop_reason": st.sampled_from(["end_turn", "tool_use", "max_tokens", "refusal"])
            | JSON,
            "stop_details": JSON,
            "usage": JSON,
            "error": JSON,
            "model": JSON,
            "id": JSON,
        },
    )
)
def test_any_message_is_a_reply_or_an_error_of_ours(value: dict[str, Any]) -> None:
    body = json.dumps(value).encode()
    try:
        reply = decode_message(body)
    except RigError:
        return
    assert reply.text or reply.tool_calls or reply.refusal or reply.finish_reason == "length"
    assert len({call.id for call in reply.tool_calls}) == len(reply.tool_calls)


@given(st.binary(max_size=64))
def test_any_bytes_are_a_reply_or_an_error_of_ours(body: bytes) -> None:
    try:
        decode_message(body)
    except RigError:
        return


@pytest.mark.parametrize(
    "block",
    [
        {"type": "text", "text": "It is 42."},
        {"type": "tool_use", "id": "c1", "name": "add", "input": {"a": 40, "b": 2}},
    ],
    ids=["text", "call"],
)
def test_a_plain_message_is_read_as_a_plain_completion(
    block: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def search(*_: object, **__: object) -> None:
        raise AssertionError("nothing is odd about it")

    monkeypatch.setattr("rig.wire.decode.read_any_completion", search)
    usage = {"input_tokens": 2, "cache_read_input_tokens": 10, "output_tokens": 7}
    finish = "tool_use" if block["type"] == "tool_use" else "end_turn"
    said = {"type": "message", "content": [block], "stop_reason": finish, "usage": usage}
    reply = decode_message(json.dumps(said).encode())
    assert reply.text or reply.tool_calls
    assert (reply.usage.prompt_tokens, reply.usage.cached_tokens) == (12, 10)
