"""A body at status 200 to a reply, or to the error it really is."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import to_json

from rig.errors import (
    EmptyReplyError,
    InputTooLargeError,
    InvalidRequestError,
    ModelNotFoundError,
    ProtocolError,
    RateLimitedError,
    RefusedError,
    RigError,
    ServerError,
    StreamCutError,
    UnauthorizedError,
    UpstreamError,
)
from rig.wire.decode import decode_chat, decode_models

CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}


def body(message: object = None, *, finish: object = "stop", **more: object) -> bytes:
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return to_json(
        {"id": "r1", "model": "m", "choices": [choice], **more}, inf_nan_mode="constants"
    )


def test_a_plain_reply() -> None:
    usage = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
    reply = decode_chat(body({"role": "assistant", "content": "hi"}, usage=usage), latency_s=1.5)
    assert (reply.text, reply.reasoning, reply.tool_calls) == ("hi", "", ())
    assert (reply.finish_reason, reply.model, reply.refusal) == ("stop", "m", None)
    assert reply.usage.total_tokens == 7
    assert reply.usage.latency_s == 1.5
    assert reply.usage.reported


def test_a_call_beside_text() -> None:
    reply = decode_chat(body({"content": "let me see", "tool_calls": [CALL]}, finish="stop"))
    assert reply.text == "let me see"
    assert [call.input for call in reply.tool_calls] == [{"a": 1}]
    assert reply.tool_calls[0].origin == "native"


FORGIVEN: dict[str, bytes] = {
    "byte order mark": b"\xef\xbb\xbf" + body({"content": "hi"}),
    "blanks before it": b"\n \r\n" + body({"content": "hi"}),
    "NaN log probabilities": body({"content": "hi"}, logprobs=[float("nan"), float("-inf")]),
    "more choices": to_json(
        {"choices": [{"message": {"content": "hi"}}, {"message": {"content": "other"}}]}
    ),
    "content parts": body(
        {"content": [{"type": "text", "text": "h"}, {"type": "text", "text": "i"}]}
    ),
    "surrounding blanks": body({"content": "\n\nhi\n"}),
    "a legacy completion": to_json({"choices": [{"text": "hi", "finish_reason": "stop"}]}),
    "a message that is a text": body("hi"),
    "a delta where the message belongs": to_json({"choices": [{"delta": {"content": "hi"}}]}),
    "nulls everywhere": to_json(
        {
            "id": None,
            "model": None,
            "usage": None,
            "error": None,
            "choices": [
                {
                    "finish_reason": None,
                    "logprobs": None,
                    "message": {
                        "content": "hi",
                        "tool_calls": None,
                        "function_call": None,
                        "refusal": None,
                        "reasoning": None,
                    },
                }
            ],
        }
    ),
    "empty error fields": body({"content": "hi"}, error={}, errors=[], detail=""),
    "usage that is no object": body({"content": "hi"}, usage=[1, 2]),
    "JSON in a JSON string": to_json(body({"content": "hi"}).decode()),
    "UTF-16": body({"content": "hi"}).decode().encode("utf-16"),
    "UTF-16, the other way round": b"\xfe\xff"
    + body({"content": "hi"}).decode().encode("utf-16-be"),
    "a number of 5,000 digits": body({"content": "hi"})[:-1] + b',"created":' + b"9" * 5000 + b"}",
    "choices out of order": to_json(
        {
            "choices": [
                {"index": 1, "message": {"content": "other"}},
                {"index": 0, "message": {"content": "hi"}},
            ]
        }
    ),
    "a text object": body(
        {"content": [{"type": "text", "text": {"value": "hi", "annotations": []}}]}
    ),
    "a stop token at the end": body({"content": "hi<|im_end|>"}),
    "a stop token behind blanks": body({"content": "hi\n</s>\n"}),
    "a call that says nothing": body(
        {
            "content": "hi",
            "tool_calls": [
                {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
            ],
        }
    ),
    "an empty call": body({"content": "hi", "tool_calls": [{}]}),
    "a legacy call that says nothing": body(
        {"content": "hi", "function_call": {"name": "", "arguments": ""}}
    ),
    "an error that is false": body({"content": "hi"}, error=False, success=True, code=0),
    "a good word of MiniMax": body(
        {"content": "hi"}, base_resp={"status_code": 0, "status_msg": ""}
    ),
}


def test_a_line_break_that_stands_in_a_text_as_it_is_is_read() -> None:
    raw = b'{"choices":[{"message":{"content":"a\nb"}}],"created":' + b"9" * 5000 + b"}"
    assert decode_chat(raw).text == "a\nb"


def test_a_text_of_digits_stays_beside_a_number_too_long() -> None:
    raw = body({"content": "9" * 5000})[:-1] + b',"created":' + b"9" * 5000 + b"}"
    assert decode_chat(raw).text == "9" * 5000


@pytest.mark.parametrize("raw", FORGIVEN.values(), ids=FORGIVEN)
def test_a_good_reply_survives_the_shape_it_comes_in(raw: bytes) -> None:
    reply = decode_chat(raw)
    assert (reply.text, reply.tool_calls) == ("hi", ())


BROKEN: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "not_json"),
    "plain text": (b"SECRET upstream connect error", "not_json"),
    "cut": (body({"content": "hi"})[:-3], "not_json"),
    "two replies": (body({"content": "SECRET"}) * 2, "not_json"),
    "a page": (b"<!DOCTYPE html><title>SECRET</title>", "html"),
    "a page after blanks": (b"\n\n <html>SECRET", "html"),
    "a stream": (b'data: {"SECRET": []}\n\ndata: [DONE]\n\n', "event_stream"),
    "a stream that begins with a comment": (b": SECRET\n\ndata: {}\n\n", "event_stream"),
    "a stream that begins with an id": (b"id: SECRET\ndata: {}\n\n", "event_stream"),
    "Ollama's own API": (
        to_json(
            {"model": "m", "message": {"role": "assistant", "content": "SECRET"}, "done": True}
        ),
        "other_api",
    ),
    "Ollama's own completions": (
        to_json({"model": "m", "response": "SECRET", "done": True}),
        "other_api",
    ),
    "llama.cpp's own completions": (to_json({"content": "SECRET", "stop": True}), "other_api"),
    "the Messages API": (
        to_json({"type": "message", "content": [{"type": "text", "text": "SECRET"}]}),
        "other_api",
    ),
    "the Responses API": (to_json({"object": "response", "output": ["SECRET"]}), "other_api"),
    "Google's own API": (to_json({"candidates": ["SECRET"]}), "other_api"),
    "a list": (b'["SECRET"]', "not_object"),
    "a number": (b"7", "not_object"),
    "null": (b"null", "not_object"),
    "a text": (b'"SECRET"', "not_json"),
    "choices as text": (b'{"choices": "SECRET"}', "not_completion"),
    "choices as an object": (b'{"choices": {"SECRET": 1}}', "not_completion"),
    "a choice that is null": (b'{"choices": [null]}', "not_completion"),
    "deep": (b'{"choices":' + b"[" * 5000, "not_json"),
    "a call without a name": (body({"tool_calls": [{"function": {"name": ""}}]}), "tool_call"),
    "a call that says nothing": (body({"tool_calls": [{}]}), "tool_call"),
    "a nameless call beside text": (
        body({"content": "SECRET", "tool_calls": [{"function": {"name": "", "arguments": "{}"}}]}),
        "tool_call",
    ),
    "a custom call beside text": (
        body({"content": "SECRET", "tool_calls": [{"type": "custom", "custom": {"name": "f"}}]}),
        "tool_call",
    ),
    "a custom call": (
        body({"tool_calls": [{"type": "custom", "custom": {"name": "SECRET"}}]}),
        "tool_call",
    ),
}


@pytest.mark.parametrize(("raw", "reason"), BROKEN.values(), ids=BROKEN)
def test_what_is_no_completion_is_a_protocol_error(raw: bytes, reason: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        decode_chat(raw)
    error = caught.value
    assert error.reason == reason
    assert not error.retryable
    assert "SECRET" not in str(error) + repr(error)
    assert error.__context__ is None
    if b"SECRET" in raw:
        assert "SECRET" in error.detail


@pytest.mark.parametrize("choices", [None, []])
def test_no_choice_is_an_empty_reply(choices: object) -> None:
    with pytest.raises(EmptyReplyError) as caught:
        decode_chat(to_json({"id": "1", "choices": choices}))
    assert caught.value.reason == "no_choices"
    assert "choices" in caught.value.detail


def test_an_answer_without_choices_is_an_empty_reply() -> None:
    with pytest.raises(EmptyReplyError):
        decode_chat(b'{"status": "ok"}')


@pytest.mark.parametrize(
    "message",
    [
        None,
        {},
        {"content": None},
        {"content": ""},
        {"content": " \n"},
        {"content": []},
        7,
        {"content": "<|im_end|>"},
        {"content": "\u200b"},
        {"content": "\u200b </s>"},
        {"content": "<think></think><|endoftext|>"},
    ],
)
@pytest.mark.parametrize("finish", ["stop", "tool_calls", "", None, "banana"])
def test_neither_text_nor_calls_is_an_empty_reply(message: object, finish: object) -> None:
    with pytest.raises(EmptyReplyError) as caught:
        decode_chat(body(message, finish=finish))
    assert caught.value.reason == "no_answer"


@pytest.mark.parametrize(
    "message",
    [
        {"content": None, "reasoning_content": "hm"},
        {"content": "<think>hm</think>"},
        {"content": "<think>hm"},
        {"content": [{"type": "thinking", "thinking": "hm"}]},
    ],
)
def test_an_empty_reply_keeps_its_thoughts_and_cost(message: object) -> None:
    with pytest.raises(EmptyReplyError) as caught:
        decode_chat(body(message, usage={"completion_tokens": 9}))
    assert caught.value.reasoning == "hm"
    assert caught.value.usage is not None
    assert caught.value.usage.completion_tokens == 9
    assert "hm" not in repr(caught.value)


def test_a_cut_reply_without_text_is_a_reply() -> None:
    reply = decode_chat(body({"content": "", "reasoning_content": "hm"}, finish="length"))
    assert (reply.text, reply.reasoning, reply.finish_reason) == ("", "hm", "length")


def test_a_cut_call_without_a_name_is_a_cut_reply() -> None:
    reply = decode_chat(body({"tool_calls": [{"function": {"name": ""}}]}, finish="length"))
    assert (reply.tool_calls, reply.finish_reason) == ((), "length")


REASONING: dict[str, tuple[dict[str, object], str, str, str | None]] = {
    "its own field": ({"content": "a", "reasoning_content": "hm"}, "a", "hm", "reasoning_content"),
    "vLLM's field": ({"content": "a", "reasoning": "hm"}, "a", "hm", "reasoning"),
    "leaked": ({"content": "<think>hm</think>a"}, "a", "hm", None),
    "leaked without an opener": ({"content": "hm</think>\n\na"}, "a", "hm", None),
    "leaked beside an empty field": (
        {"content": "<think>hm</think>a", "reasoning": ""},
        "a",
        "hm",
        None,
    ),
    "tags that belong there": (
        {"content": "write <think>x</think>", "reasoning": "hm"},
        "write <think>x</think>",
        "hm",
        "reasoning",
    ),
    "an orphan closer": ({"content": "</think>\na", "reasoning": "hm"}, "a", "hm", "reasoning"),
    "parts": ({"content": [{"type": "thinking", "thinking": "hm"}, "a"]}, "a", "hm", None),
    "parts of another kind": (
        {"content": [{"type": "reasoning_text", "text": "hm"}, {"type": "text", "text": "a"}]},
        "a",
        "hm",
        None,
    ),
    "a part with a flag": (
        {"content": [{"thought": True, "text": "hm"}, {"type": "text", "text": "a"}]},
        "a",
        "hm",
        None,
    ),
    "LiteLLM's blocks": (
        {"content": "a", "thinking_blocks": [{"type": "thinking", "thinking": "hm"}]},
        "a",
        "hm",
        None,
    ),
    "Copilot's field": ({"content": "a", "reasoning_text": "hm"}, "a", "hm", None),
    "a field named thought": ({"content": "a", "thought": "hm"}, "a", "hm", None),
    "in the field and again in the text": (
        {"content": "<think>\nhm\n</think>\na", "reasoning_content": "hm"},
        "a",
        "hm",
        "reasoning_content",
    ),
    "again, and the opener is lost": (
        {"content": "hm</think>a", "reasoning": "hm"},
        "a",
        "hm",
        "reasoning",
    ),
    "another thought than in the field": (
        {"content": "<think>x</think>a", "reasoning": "hm"},
        "<think>x</think>a",
        "hm",
        "reasoning",
    ),
    "a wrapped answer": ({"content": "<think>hm</think><answer>a</answer>"}, "a", "hm", None),
    "a wrapped answer, separated": (
        {"content": "<answer>a</answer>", "reasoning": "hm"},
        "<answer>a</answer>",
        "hm",
        "reasoning",
    ),
}


@pytest.mark.parametrize(
    ("message", "text", "reasoning", "field"), REASONING.values(), ids=REASONING
)
def test_reasoning_is_kept_apart(
    message: dict[str, object], text: str, reasoning: str, field: str | None
) -> None:
    reply = decode_chat(body(message))
    assert (reply.text, reply.reasoning, reply.reasoning_field) == (text, reasoning, field)


def test_only_a_field_s_reasoning_goes_back() -> None:
    leaked = decode_chat(body({"content": "<think>hm</think>a"}))
    assert leaked.message().reasoning is None
    own = decode_chat(body({"content": "a", "reasoning": "hm"}))
    assert (own.message().reasoning, own.message().reasoning_field) == ("hm", "reasoning")


REFUSALS: dict[str, tuple[bytes, str, str]] = {
    "the model declines": (body({"content": None, "refusal": "I can't."}), "refusal", "I can't."),
    "a refusal part": (
        body({"content": [{"type": "refusal", "refusal": "No."}]}),
        "refusal",
        "No.",
    ),
    "a filter": (body({"content": ""}, finish="content_filter"), "content_filter", ""),
    "a filter after some text": (
        body({"content": "so"}, finish="CONTENT_FILTER"),
        "content_filter",
        "so",
    ),
    "Gemini's word": (body({"content": None}, finish="SAFETY"), "safety", ""),
    "Anthropic's word": (body({"content": None}, finish="refusal"), "refusal", ""),
    "Azure's category": (
        to_json(
            {
                "choices": [
                    {
                        "message": {"content": ""},
                        "finish_reason": "content_filter",
                        "content_filter_results": {
                            "hate": {"filtered": False},
                            "violence": {"filtered": True, "severity": "high"},
                        },
                    }
                ]
            }
        ),
        "violence",
        "",
    ),
}


@pytest.mark.parametrize(("raw", "category", "text"), REFUSALS.values(), ids=REFUSALS)
def test_a_refusal_is_a_reply_with_a_category(raw: bytes, category: str, text: str) -> None:
    reply = decode_chat(raw)
    assert (reply.refusal, reply.text) == (category, text)


FAILED = ["error", "network_error", "ABORT", "insufficient_system_resource", {"type": "abort"}]


@pytest.mark.parametrize("word", FAILED, ids=str)
@pytest.mark.parametrize("place", ["finish_reason", "native_finish_reason"])
def test_a_reply_that_the_server_calls_failed_is_an_error_with_what_came(
    word: object, place: str
) -> None:
    message = {"content": "<think>hm</think>partial", "tool_calls": [CALL]}
    raw = to_json({"choices": [{"message": message, place: word}]})
    with pytest.raises(StreamCutError) as caught:
        decode_chat(raw)
    error = caught.value
    assert (error.reason, error.retryable, error.text) == ("failed", True, "partial")
    assert [call.name for call in error.tool_calls] == ["f"]


@pytest.mark.parametrize("message", [None, {"content": ""}, {"content": None, "reasoning": "hm"}])
def test_a_reply_that_failed_before_it_began_is_the_same_error(message: object) -> None:
    with pytest.raises(StreamCutError) as caught:
        decode_chat(body(message, finish="error"))
    assert caught.value.text == ""


CUT = ["max-tokens", "maxTokens", "token_limit", "contextLengthReached", {"type": "length"}]


@pytest.mark.parametrize("word", CUT, ids=str)
def test_a_cut_reply_is_one_however_the_server_says_so(word: object) -> None:
    assert decode_chat(body({"content": "half"}, finish=word)).finish_reason == "length"


CALL_PLACES: dict[str, dict[str, object]] = {
    "on the choice": {"message": {"content": ""}, "tool_calls": [CALL]},
    "as JSON text": {"message": {"tool_calls": to_json([CALL]).decode()}},
    "as a part": {"message": {"content": [{"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}}]}},
    "as a part and in its place": {
        "message": {
            "content": [{"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}}],
            "tool_calls": [CALL],
        }
    },
    "with a call_id": {"message": {"tool_calls": [{"call_id": "c1", "function": CALL["function"]}]}},
}  # fmt: skip


@pytest.mark.parametrize("choice", CALL_PLACES.values(), ids=CALL_PLACES)
def test_calls_are_found_wherever_servers_put_them(choice: dict[str, object]) -> None:
    (call,) = decode_chat(to_json({"choices": [choice]})).tool_calls
    assert (call.id, call.name, call.input) == ("c1", "f", {"a": 1})


def test_an_empty_refusal_is_none() -> None:
    assert decode_chat(body({"content": "hi", "refusal": ""})).refusal is None


FAULTS: dict[str, tuple[object, type[RigError], int | None]] = {
    "an object": (
        {"error": {"message": "SECRET", "type": "server_error", "code": 500}},
        ServerError,
        500,
    ),
    "a text": ({"error": "SECRET"}, UpstreamError, None),
    "a text that tells": ({"error": "SECRET server overloaded"}, ServerError, 503),
    "a status as text": ({"error": {"message": "SECRET", "code": "429"}}, RateLimitedError, 429),
    "only a type": (
        {"error": {"message": "SECRET", "type": "authentication_error"}},
        UnauthorizedError,
        401,
    ),
    "beside a choice": (
        {"error": {"message": "SECRET", "code": 502}, "choices": [{"message": {"content": "x"}}]},
        ServerError,
        502,
    ),
    "inside a choice": (
        {"choices": [{"error": {"message": "SECRET", "code": 502}, "finish_reason": "error"}]},
        ServerError,
        502,
    ),
    "vLLM's old shape": (
        {"object": "error", "message": "SECRET", "type": "BadRequestError", "code": 400},
        InvalidRequestError,
        400,
    ),
    "too large": (
        {"error": {"message": "SECRET maximum context length is 8192 tokens"}},
        InputTooLargeError,
        400,
    ),
    "no such model": (
        {"error": "model 'SECRET' not found, try pulling it first"},
        ModelNotFoundError,
        400,
    ),
    "a filter": (
        {"error": {"code": "content_policy_violation", "message": "SECRET"}},
        RefusedError,
        400,
    ),
    "FastAPI's": ({"detail": "SECRET"}, UpstreamError, None),
    "in a list": ([{"error": {"code": 503, "message": "SECRET"}}], ServerError, 503),
    "no choices, but an error": (
        {"choices": [], "error": {"message": "SECRET"}},
        UpstreamError,
        None,
    ),
    "nested JSON": ({"error": '{"message": "SECRET", "code": 429}'}, RateLimitedError, 429),
}


CHOICES = [{"index": 0, "message": {"content": "x"}, "finish_reason": "stop"}]
BESIDE_A_CHOICE: dict[str, tuple[dict[str, object], type[RigError], int]] = {
    "OpenAI's": ({"error": {"message": "SECRET", "code": 503}}, ServerError, 503),
    "vLLM's old shape": (
        {"object": "error", "message": "SECRET", "type": "BadRequestError", "code": 400},
        InvalidRequestError,
        400,
    ),
    "MiniMax's": (
        {"base_resp": {"status_code": 1004, "status_msg": "SECRET"}},
        UnauthorizedError,
        401,
    ),
}


@pytest.mark.parametrize(
    ("payload", "kind", "status"), BESIDE_A_CHOICE.values(), ids=BESIDE_A_CHOICE
)
def test_an_error_beside_a_choice_is_that_error(
    payload: dict[str, object], kind: type[RigError], status: int
) -> None:
    with pytest.raises(kind) as caught:
        decode_chat(to_json({"choices": CHOICES, **payload}))
    assert caught.value.status == status


@pytest.mark.parametrize(("payload", "kind", "status"), FAULTS.values(), ids=FAULTS)
def test_an_error_at_200_is_that_error(
    payload: object, kind: type[RigError], status: int | None
) -> None:
    with pytest.raises(RigError) as caught:
        decode_chat(to_json(payload))
    error = caught.value
    assert type(error) is kind
    assert error.status == status
    assert "SECRET" in error.detail
    assert "SECRET" not in str(error) + repr(error)


@pytest.mark.parametrize("word", ["", None, 7])
def test_a_missing_finish_word_with_calls_means_calls(word: object) -> None:
    assert decode_chat(body({"tool_calls": [CALL]}, finish=word)).finish_reason == "tool_calls"


def test_a_choice_s_usage_counts_when_there_is_no_other() -> None:
    raw = to_json({"choices": [{"message": {"content": "x"}, "usage": {"prompt_tokens": 3}}]})
    assert decode_chat(raw).usage.prompt_tokens == 3


USAGE_PLACES: dict[str, dict[str, object]] = {
    "camel case": {"usage": {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15}},
    "Google's": {
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
    },
    "Groq's": {"x_groq": {"id": "r", "usage": {"prompt_tokens": 10, "completion_tokens": 5}}},
}


@pytest.mark.parametrize("more", USAGE_PLACES.values(), ids=USAGE_PLACES)
def test_usage_is_found_wherever_servers_put_it(more: dict[str, object]) -> None:
    usage = decode_chat(body({"content": "x"}, **more)).usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (10, 5, 15)


def test_a_server_can_not_set_what_rig_measures() -> None:
    usage = {"prompt_tokens": 3, "latency_s": 99.0, "reported": False}
    read = decode_chat(body({"content": "x"}, usage=usage), latency_s=0.5).usage
    assert (read.latency_s, read.reported) == (0.5, True)


def test_thousands_of_calls_and_choices_are_read() -> None:
    raw = to_json({"choices": [{"message": {"tool_calls": [CALL] * 5000}}] * 3})
    calls = decode_chat(raw).tool_calls
    assert len({call.id for call in calls}) == 5000
    assert calls[0].id == "c1"


def test_a_reply_can_always_be_encoded() -> None:
    raw = rb'{"choices":[{"message":{"content":"x \ud83d","reasoning":"\ude00"}}],"model":"\ud800"}'
    reply = decode_chat(raw)
    (reply.text + reply.reasoning + reply.model).encode()
    assert reply.text == "x \ufffd"


MODELS: dict[str, tuple[object, tuple[str, ...]]] = {
    "OpenAI's": ({"object": "list", "data": [{"id": "a"}, {"id": "b"}]}, ("a", "b")),
    "Ollama's": ({"models": [{"name": "a:latest", "model": "a:latest"}]}, ("a:latest",)),
    "llama.cpp's both": ({"models": [{"name": "x"}], "data": [{"id": "a"}]}, ("a",)),
    "an empty data beside models": ({"models": [{"model": "x"}], "data": []}, ("x",)),
    "a bare list": ([{"id": "a"}, "b", "a"], ("a", "b")),
    "nonsense among them": ({"data": [None, 7, {}, {"id": ""}, {"id": 3, "name": "n"}]}, ("n",)),
    "none": ({"data": []}, ()),
}


@pytest.mark.parametrize(("payload", "names"), MODELS.values(), ids=MODELS)
def test_models_are_listed(payload: object, names: tuple[str, ...]) -> None:
    assert decode_models(to_json(payload)) == names


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (b"<html>", ProtocolError),
        (b"7", ProtocolError),
        (b"{}", ProtocolError),
        (b'{"data": 7}', ProtocolError),
        (b'{"error": {"code": 401, "message": "x"}}', UnauthorizedError),
    ],
)
def test_what_is_no_list_of_models_is_an_error(raw: bytes, kind: type[RigError]) -> None:
    with pytest.raises(kind):
        decode_models(raw)


KEYS = [
    "id", "model", "choices", "message", "delta", "text", "content", "tool_calls", "function_call",
    "function", "name", "arguments", "finish_reason", "usage", "prompt_tokens", "error", "code",
    "type", "reasoning", "reasoning_content", "refusal", "detail", "data", "models", "index",
    "content_filter_results", "thinking", "prompt_tokens_details", "cached_tokens",
]  # fmt: skip
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.floats()
    | st.integers()
    | st.sampled_from(["MARKER", "", "null", "<think>MARKER", "{", "429", "stop", "length"])
    | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner),
    max_leaves=20,
)


def _survives(read: Any, raw: bytes) -> None:
    error: RigError | None = None
    try:
        read(raw)
    except RigError as caught:
        error = caught
    if error is not None:
        assert "MARKER" not in str(error) + repr(error)
        assert error.__context__ is None
        assert error.__cause__ is None
        error.detail.encode()


@given(JSON)
def test_any_value_gives_a_reply_or_a_rig_error(value: object) -> None:
    raw = to_json(value, inf_nan_mode="constants")
    _survives(decode_chat, raw)
    _survives(decode_models, raw)


@given(st.fixed_dictionaries({"message": JSON, "finish_reason": JSON}), JSON)
def test_any_value_in_a_choice_gives_a_reply_or_a_rig_error(choice: object, usage: object) -> None:
    payload = {"choices": [choice], "usage": usage}
    _survives(decode_chat, to_json(payload, inf_nan_mode="constants"))


@given(st.binary())
def test_any_bytes_give_a_rig_error_or_a_reply(raw: bytes) -> None:
    _survives(decode_chat, raw)
    _survives(decode_chat, body({"content": "MARKER"}) + raw)


@given(st.data())
def test_a_damaged_reply_gives_a_rig_error_or_a_reply(data: st.DataObject) -> None:
    raw = bytearray(body({"content": "MARKER", "tool_calls": [CALL]}, usage={"prompt_tokens": 1}))
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    _survives(decode_chat, bytes(raw))
