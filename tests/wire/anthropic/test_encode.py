"""Requests to Anthropic's Messages API; the options stand in the table of tests/wire/test_dialects.py."""

import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic_core import from_json

from rig.errors import InvalidRequestError
from rig.messages import Message, ToolCall
from rig.model import ChatOptions, ChatRequest
from rig.wire.anthropic.encode import encode_count_tokens, encode_message_request


@dataclass
class Spec:
    name: str = "get_weather"
    description: str = "Tell the weather."
    input_schema: Any = field(
        default_factory=lambda: {"type": "object", "properties": {"city": {"type": "string"}}}
    )


HI = Message(role="user", content="hi")
CALLED = (
    HI,
    Message(role="assistant", tool_calls=(ToolCall(id="1", name="look"),)),
    Message(role="tool", content="ok", tool_call_id="1"),
)


def sent(
    *messages: Message,
    tools: tuple[Spec, ...] = (),
    max_tokens: int = 64,
    stream: bool = False,
    **options: Any,
) -> Any:
    request = ChatRequest(
        model="m",
        messages=messages or (HI,),
        max_tokens=max_tokens,
        tools=tools,
        options=ChatOptions(**options),
    )
    return json.loads(encode_message_request(request, stream=stream))  # noqa: TID251  an independent reader


def test_the_system_is_a_field_of_its_own() -> None:
    body = sent(Message(role="system", content="Be brief."), HI)
    assert body["system"] == "Be brief."
    assert body["messages"] == [{"role": "user", "content": "hi"}]


def test_a_tool_is_offered_with_its_schema() -> None:
    [tool] = sent(tools=(Spec(),))["tools"]
    assert tool == {
        "name": "get_weather",
        "description": "Tell the weather.",
        "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}},
    }


def test_a_tool_without_words_and_schema_takes_nothing() -> None:
    [tool] = sent(tools=(Spec(description="", input_schema={}),))["tools"]
    assert tool == {"name": "get_weather", "input_schema": {"type": "object", "properties": {}}}


def test_no_tools_no_field() -> None:
    assert not {"tools", "tool_choice"} & sent(tool_choice="required").keys()


def test_without_tools_those_of_the_history_are_declared_and_not_to_be_called() -> None:
    body = sent(*CALLED)
    assert body["tools"] == [{"name": "look", "input_schema": {"type": "object"}}]
    assert body["tool_choice"] == {"type": "none"}


def test_offered_tools_are_not_mixed_with_those_of_the_history() -> None:
    body = sent(*CALLED, tools=(Spec(),))
    assert [tool["name"] for tool in body["tools"]] == ["get_weather"]
    assert "tool_choice" not in body


def test_nothing_is_said_of_parallel_calls_where_there_are_to_be_none() -> None:
    body = sent(tools=(Spec(),), tool_choice="none", parallel_tool_calls=False)
    assert body["tool_choice"] == {"type": "none"}


@pytest.mark.parametrize(
    ("max_tokens", "budget", "expected"),
    [
        (64, 1024, 1088),
        (1024, 1024, 2048),
        (1025, 1024, 1025),
        (64, 0, 64),
        (64, -1, 64),
        (64, None, 64),
    ],
)
def test_there_is_room_for_an_answer_behind_the_thought(
    max_tokens: int, budget: int | None, expected: int
) -> None:
    body = sent(max_tokens=max_tokens, reasoning_budget_tokens=budget)
    assert body["max_tokens"] == expected


@pytest.mark.parametrize(
    "options",
    [
        {"enable_thinking": True},
        {"enable_thinking": True, "reasoning_budget_tokens": 0},
        {"enable_thinking": False, "reasoning_budget_tokens": 2048},
    ],
)
def test_the_switch_needs_the_budget_it_says(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        sent(**options)
    assert caught.value.reason == "enable_thinking"
    assert "reasoning_budget_tokens" in caught.value.message


def test_a_switch_that_agrees_with_the_budget_changes_nothing() -> None:
    thinking = {"type": "enabled", "budget_tokens": 2048}
    body = sent(enable_thinking=True, reasoning_budget_tokens=2048, reasoning_budget_message="x")
    assert body["thinking"] == thinking
    assert not {"chat_template_kwargs", "reasoning_budget_tokens", "x"} & body.keys()
    assert "thinking" not in sent(enable_thinking=False, reasoning_budget_tokens=0)


def test_extra_body_wins() -> None:
    body = sent(
        reasoning_budget_tokens=2048,
        extra_body={"thinking": {"type": "adaptive"}, "cache_control": {"type": "ephemeral"}},
    )
    assert body["thinking"] == {"type": "adaptive"}
    assert body["cache_control"] == {"type": "ephemeral"}


@pytest.mark.parametrize(
    "messages",
    [
        (Message(role="system", content="Be brief."),),
        (Message(role="user", content=" "),),
        (Message(role="system", content="Be brief."), Message(role="assistant", content="")),
    ],
)
def test_a_request_in_which_nobody_says_anything_is_refused(messages: tuple[Message, ...]) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        sent(*messages)
    assert caught.value.reason == "messages"


def test_a_model_must_be_named() -> None:
    with pytest.raises(InvalidRequestError) as caught:
        encode_message_request(ChatRequest(model="", messages=(HI,), max_tokens=1))
    assert caught.value.reason == "model"


def test_a_schema_of_llama_cpps_shape_is_one_too() -> None:
    schema = {"type": "object"}
    body = sent(response_format={"type": "json_schema", "schema": schema})
    assert body["output_config"] == {"format": {"type": "json_schema", "schema": schema}}
    assert "output_config" not in sent(response_format={"type": "json_schema"})


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(InvalidRequestError) as caught:
        sent(tools=(Spec(), Spec()))
    assert caught.value.reason == "tools"


def test_a_prompt_is_counted_as_it_is_sent() -> None:
    system = Message(role="system", content="Be brief.")
    body = from_json(encode_count_tokens("m", (system, *CALLED), (Spec(),)))
    whole = sent(system, *CALLED, tools=(Spec(),))
    del whole["max_tokens"]
    assert body == whole


def test_a_prompt_in_which_nobody_says_anything_is_counted_with_a_dot() -> None:
    body = from_json(encode_count_tokens("m", (Message(role="system", content="Be brief."),)))
    assert body == {
        "model": "m",
        "messages": [{"role": "user", "content": "."}],
        "system": "Be brief.",
    }
