"""Requests and replies: values that are legal once they exist."""

import dataclasses
from typing import Any

import pytest

from rig.errors import InvalidRequestError
from rig.messages import Message, SignedThought, ToolCall
from rig.model import ChatOptions, ChatRequest, Reply

HI = (Message(role="user", content="hi"),)


@pytest.mark.parametrize("max_tokens", [0, -1, True, 1.5, "8", None])
def test_a_request_needs_a_limit(max_tokens: Any) -> None:
    with pytest.raises(InvalidRequestError):
        ChatRequest(model="m", messages=HI, max_tokens=max_tokens)


def test_a_request_needs_a_message() -> None:
    with pytest.raises(InvalidRequestError):
        ChatRequest(model="m", messages=(), max_tokens=1)


@pytest.mark.parametrize("value", [ChatOptions(), Reply()])
def test_values_are_frozen(value: Any) -> None:
    name = dataclasses.fields(value)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(value, name, "x")


def test_nothing_is_asked_for_by_default() -> None:
    options = dataclasses.asdict(ChatOptions())
    assert options.pop("extra_body") == {}
    assert set(options.values()) == {None}


def test_two_options_do_not_share_their_extra_body() -> None:
    assert ChatOptions().extra_body is not ChatOptions().extra_body


def test_a_reply_is_recorded_with_its_calls() -> None:
    calls = (ToolCall(id="c", name="f"),)
    turn = Reply(text="so", tool_calls=calls).message()
    assert (turn.role, turn.content, turn.tool_calls) == ("assistant", "so", calls)
    assert turn.reasoning is None


def test_reasoning_is_recorded_only_where_the_server_has_a_field_for_it() -> None:
    own = Reply(text="so", reasoning="hm", reasoning_field="reasoning").message()
    assert (own.reasoning, own.reasoning_field) == ("hm", "reasoning")
    assert Reply(text="so", reasoning="hm").message().reasoning is None
    assert Reply(text="so", reasoning_field="reasoning").message().reasoning is None


def test_a_recorded_reply_is_a_whole_message() -> None:
    turn = Reply(text="so", tool_calls=(ToolCall(id="c", name="f"),)).message()
    assert Message.model_validate(turn.model_dump()) == turn


def test_signed_thoughts_go_back_with_the_turn() -> None:
    thoughts = (SignedThought(thinking="hm", signature="s"),)
    assert Reply(thoughts=thoughts).message().thoughts == thoughts


@pytest.mark.parametrize(
    ("options", "greedy"),
    [
        (ChatOptions(), False),
        (ChatOptions(temperature=0), True),
        (ChatOptions(temperature=0.0), True),
        (ChatOptions(temperature=0.1), False),
        (ChatOptions(temperature=0.7, extra_body={"temperature": 0}), True),
        (ChatOptions(temperature=0, extra_body={"temperature": 1}), False),
        (ChatOptions(temperature=0, extra_body={"temperature": None}), False),
        (ChatOptions(seed=1), False),
    ],
    ids=str,
)
def test_only_temperature_0_is_greedy(options: ChatOptions, greedy: bool) -> None:
    assert options.greedy is greedy
