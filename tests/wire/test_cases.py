"""Cases reduced from public reports, replayed through decoding, encoding and the fault table.

What is about sockets, redirects or credentials on the wire is tested with the transport; here the
status and the body of those cases are judged.
"""

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter
from pydantic_core import from_json

from rig.errors import (
    EmptyReplyError,
    InputTooLargeError,
    InvalidRequestError,
    ModelNotFoundError,
    ProtocolError,
    RateLimitedError,
    RigError,
    ServerError,
    TruncatedToolCallError,
    UnauthorizedError,
)
from rig.messages import Message
from rig.model import ChatOptions, ChatRequest, Reply
from rig.wire.decode import decode_chat
from rig.wire.encode import encode_chat
from rig.wire.faults import error_from_response

DATA = Path(__file__).parents[1] / "data" / "wire" / "cases.jsonl"

ERRORS: dict[str, tuple[type[RigError], str | None]] = {
    "auth": (UnauthorizedError, None),
    "context_overflow": (InputTooLargeError, None),
    "empty_reply": (EmptyReplyError, "no_answer"),
    "invalid_request": (InvalidRequestError, ""),
    "model_loading": (ServerError, "loading"),
    "model_not_found": (ModelNotFoundError, None),
    "no_choices": (EmptyReplyError, "no_choices"),
    "rate_limited": (RateLimitedError, None),
    "redirect_refused": (ProtocolError, "redirect"),
    "schema_unsupported": (InvalidRequestError, "schema"),
    "server_unavailable": (ServerError, "unavailable"),
    "template_error": (InvalidRequestError, "template"),
    "truncated_tool_call": (TruncatedToolCallError, None),
}
"""The reports' words for a fault, as rig's errors and their reasons; None where any reason will do."""

LEFT_TO_THE_LOOP = {"invalid_tool_arguments", "unknown_tool"}
"""Faults that need the offered tools: the reply carries the call as the model wrote it."""


def cases(kind: str) -> list[Any]:
    found = map(from_json, DATA.read_bytes().splitlines())
    return [pytest.param(case, id=case["id"]) for case in found if case["kind"] == kind]


def _is_error(error: RigError, word: str) -> None:
    kind, reason = ERRORS[word]
    assert type(error) is kind
    assert reason is None or error.reason == reason


def _fits(reply: Reply, expect: dict[str, Any]) -> None:
    if "text" in expect:
        assert reply.text == expect["text"].strip()
    if "reasoning" in expect:
        assert reply.reasoning == expect["reasoning"].strip()
    if "tool_calls" in expect and expect.get("error") not in LEFT_TO_THE_LOOP:
        found = [{"name": call.name, "arguments": call.input} for call in reply.tool_calls]
        assert found == expect["tool_calls"]
    for name, count in expect.get("usage", {}).items():
        assert getattr(reply.usage, f"{name}_tokens") == (count or 0)
    assert not (expect.get("usage_suspect") and reply.usage.reported)


@pytest.mark.parametrize("case", cases("json_response"))
def test_a_reported_reply(case: Any) -> None:
    expect = case["expect"]
    outcomes = [expect, *expect.get("alt", [])]
    words = [outcome["error"] for outcome in outcomes if outcome.get("error") in ERRORS]
    if not words:
        _fits(decode_chat(case["input"].encode()), expect)
        return
    with pytest.raises(EmptyReplyError) as caught:
        decode_chat(case["input"].encode())
    _is_error(caught.value, words[0])
    assert caught.value.reasoning.startswith(expect.get("reasoning", ""))


def test_nan_in_arguments_reaches_the_loop_as_what_it_is() -> None:
    case = next(param.values[0] for param in cases("json_response") if param.id == "shape-args-nan")
    call = decode_chat(case["input"].encode()).tool_calls[0]
    assert call.arguments == '{"level": NaN}'


def _exchange(given: dict[str, Any]) -> RigError:
    now = datetime.fromisoformat(given["now"]).timestamp() if "now" in given else None
    return error_from_response(given["status"], given["headers"], given["body"].encode(), now=now)


@pytest.mark.parametrize("case", cases("http_exchange"))
def test_a_reported_exchange(case: Any) -> None:
    expect = case["expect"]
    error = _exchange(case["input"])
    _is_error(error, expect["error"])
    assert error.retryable is expect.get("retry", {}).get("retry", False)
    if "delay_s" in expect.get("retry", {}):
        assert isinstance(error, RateLimitedError)
        assert error.retry_after_s == expect["retry"]["delay_s"]


@pytest.mark.parametrize("case", cases("request_compat"))
def test_a_reported_refusal_of_a_request(case: Any) -> None:
    response = case["input"]["response"]
    if response["status"] == 200:
        assert decode_chat(response["body"].encode()).text  # the schema is checked by the caller
        return
    error = _exchange(response)
    _is_error(error, case["expect"].get("error", "invalid_request"))
    assert not error.retryable


class _Tool:
    def __init__(self, function: dict[str, Any]) -> None:
        self.name = function["name"]
        self.description = function["description"]
        self.input_schema = function["parameters"]


MESSAGES = TypeAdapter(tuple[Message, ...])


@pytest.mark.parametrize("case", cases("request_compat"))
def test_what_was_refused_is_not_sent(case: Any) -> None:
    """The same conversation, given to rig, goes out in a shape that the server takes."""
    given = case["input"]["request"]
    body = from_json(
        encode_chat(
            ChatRequest(
                model=given["model"],
                messages=MESSAGES.validate_python(given["messages"]),
                max_tokens=8,
                tools=[_Tool(tool["function"]) for tool in given.get("tools") or ()],
                options=ChatOptions(
                    tool_choice=given.get("tool_choice"),
                    response_format=given.get("response_format"),
                ),
            )
        )
    )
    send = case["expect"].get("send", {})
    for path in send.get("omit", ()):
        assert path not in body
    for tool in body.get("tools", ()):
        assert "strict" not in tool["function"]
    assert None not in body.values()
    for message in body["messages"]:
        assert isinstance(message["content"], str)
        for call in message.get("tool_calls", ()):
            assert call["id"]
            assert isinstance(from_json(call["function"]["arguments"], allow_inf_nan=False), dict)
