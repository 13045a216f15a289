"""Requests and replies: values that are legal once they exist."""

import dataclasses
import inspect
from typing import Any

import pytest

from rig.errors import InvalidRequestError
from rig.messages import Message, SignedThought, ToolCall
from rig.model import ChatOptions, ChatRequest, Reply, checked_request

HI = (Message(role="user", content="hi"),)


@pytest.mark.parametrize("max_tokens", [0, -1, True, 1.5, "8", None])
def test_a_request_needs_a_limit(max_tokens: Any) -> None:
    with pytest.raises(InvalidRequestError):
        ChatRequest(model="m", messages=HI, max_tokens=max_tokens)


def test_a_request_needs_a_message() -> None:
    with pytest.raises(InvalidRequestError):
        ChatRequest(model="m", messages=(), max_tokens=1)


def test_messages_may_be_mappings_of_the_wire() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": {"a": 1}}}
    request = ChatRequest(
        model="m",
        messages=[
            {"role": "developer", "content": "s"},
            HI[0],
            {"role": "assistant", "content": None, "tool_calls": [call]},
        ],
        max_tokens=1,
    )
    assert [turn.role for turn in request.messages] == ["system", "user", "assistant"]
    assert request.messages[2].tool_calls[0].input == {"a": 1}


def test_messages_that_are_read_stay_what_they_are() -> None:
    class Seen(tuple[Message, ...]):
        __slots__ = ()

    seen = Seen(HI)
    assert ChatRequest(model="m", messages=seen, max_tokens=1).messages is seen
    assert ChatRequest(model="m", messages=list(HI), max_tokens=1).messages == HI
    turns: Any = iter(HI)
    assert ChatRequest(model="m", messages=turns, max_tokens=1).messages == HI


@pytest.mark.parametrize(
    "messages",
    ["SECRET", b"SECRET", {"role": "user", "content": "SECRET"}, HI[0], 5, None, [5], ["SECRET"],
     [{"role": "SECRET", "content": "x"}], [{"role": "user", "content": [{"type": "file"}]}]],
    ids=["text", "bytes", "one mapping", "one message", "a number", "nothing", "odd things", "texts",
         "an unknown role", "a part that can't be sent"],
)  # fmt: skip
def test_what_are_no_messages_is_refused_with_a_sentence(messages: Any) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        ChatRequest(model="m", messages=messages, max_tokens=1)
    assert "messages" in caught.value.message
    assert "SECRET" not in caught.value.message
    assert caught.value.__context__ is None


def test_options_of_another_kind_are_refused() -> None:
    options: Any = {"temperature": 0}
    with pytest.raises(InvalidRequestError):
        ChatRequest(model="m", messages=HI, max_tokens=1, options=options)


def test_checkers_are_told_the_parameters_there_are() -> None:
    """The class tells them a signature of its own, which must name every field."""
    source = inspect.getsource(ChatRequest)
    told = source.partition("def __init__(")[2].partition(") -> None")[0]
    for field in dataclasses.fields(ChatRequest):
        assert f"{field.name}:" in told


@pytest.mark.parametrize("value", [ChatOptions(), Reply()])
def test_values_are_frozen(value: Any) -> None:
    name = dataclasses.fields(value)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(value, name, "x")


def test_nothing_is_asked_for_by_default() -> None:
    options = dataclasses.asdict(ChatOptions())
    assert options.pop("extra_body") == {}
    assert (options.pop("tenant"), options.pop("priority")) == ("", "interactive")
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


def test_a_request_of_checked_fields_is_the_one_that_checks_them() -> None:
    fields: dict[str, Any] = {
        "model": "m",
        "messages": (Message(role="user", content="a"),),
        "max_tokens": 8,
        "tools": (),
        "options": ChatOptions(seed=1),
    }
    assert {field.name for field in dataclasses.fields(ChatRequest)} == {*fields}
    made = checked_request(**fields)
    assert made == ChatRequest(**fields)
    assert made.messages is fields["messages"]
