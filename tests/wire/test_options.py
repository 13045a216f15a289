"""Options are refused by name before anything is sent."""

import math
from dataclasses import fields
from typing import Any

import pytest

from rig.errors import InvalidRequestError
from rig.model import ChatOptions
from rig.wire.options import (
    MAX_TRACE_ID_CHARS,
    check_options,
    merge_extra,
    option_fields,
    tool_option_fields,
)

BAD: dict[str, list[Any]] = {
    "temperature": [-0.1, math.nan, math.inf, True, "hot"],
    "top_p": [-0.1, 1.1, math.nan, False],
    "min_p": [-0.1, 1.1, math.inf],
    "top_k": [-2, 1.5, True],
    "seed": [1.5, "1", True],
    "stop": ["", [], [""], ["a", ""], [1], 7],
    "frequency_penalty": [math.nan, "0"],
    "presence_penalty": [math.inf],
    "repeat_penalty": [-1, math.nan],
    "tool_choice": ["", {"type": "function"}],
    "parallel_tool_calls": [1, "yes"],
    "response_format": [{}, "json_object", []],
    "grammar": ["", 1],
    "logprobs": [1],
    "top_logprobs": [-1, True, 1.5],
    "reasoning_budget_tokens": [-2, 1.5],
    "reasoning_budget_message": [1],
    "enable_thinking": [1, "on"],
    "reasoning_effort": ["", 1],
    "trace_id": ["a\r\nX-Evil: 1", "a\nb", "a\x00b", "caf\u00e9", "a\tb", 1, "x" * 300],
    "tenant": [1, b"acme"],
    "priority": ["", "urgent", 1, []],
    "extra_body": [
        {"stream": True},
        {"messages": []},
        {"model": "other"},
        {"model": None},
        {1: 2},
        [],
        None,
    ],
}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param(name, value, id=f"{name}={value!r:.30}")
        for name, values in BAD.items()
        for value in values
    ],
)
def test_a_bad_option_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        check_options(ChatOptions(**{name: value}))
    assert caught.value.reason == name
    assert name in caught.value.message
    assert "Evil" not in str(caught.value)


def test_every_option_has_a_row_of_bad_values() -> None:
    assert {field.name for field in fields(ChatOptions)} == set(BAD)


@pytest.mark.parametrize(
    "options",
    [
        ChatOptions(),
        ChatOptions(temperature=0, top_p=0, min_p=0, top_k=0, seed=0, repeat_penalty=0),
        ChatOptions(temperature=2.5, top_p=1, top_k=-1, seed=-1),
        ChatOptions(stop="\n"),
        ChatOptions(stop=("a", "b")),
        ChatOptions(frequency_penalty=-2, presence_penalty=2),
        ChatOptions(reasoning_budget_tokens=-1, reasoning_budget_message=""),
        ChatOptions(trace_id=""),
        ChatOptions(trace_id="x" * MAX_TRACE_ID_CHARS),
    ],
)
def test_zero_and_the_ends_of_ranges_are_values(options: ChatOptions) -> None:
    check_options(options)


def test_unset_options_give_no_field() -> None:
    assert option_fields(ChatOptions()) == {}


@pytest.mark.parametrize(
    ("options", "sent"),
    [
        (ChatOptions(reasoning_budget_message="stop"), {}),
        (ChatOptions(reasoning_budget_tokens=0), {"reasoning_budget_tokens": 0}),
        (
            ChatOptions(reasoning_budget_tokens=8, reasoning_budget_message=""),
            {"reasoning_budget_tokens": 8},
        ),
        (
            ChatOptions(reasoning_budget_tokens=8, reasoning_budget_message="stop"),
            {"reasoning_budget_tokens": 8, "reasoning_budget_message": "stop"},
        ),
    ],
    ids=["no budget", "zero", "empty message", "both"],
)
def test_the_budget_message_goes_only_with_a_budget(
    options: ChatOptions, sent: dict[str, object]
) -> None:
    assert option_fields(options) == sent


def test_extra_fields_win_and_none_takes_a_field_out() -> None:
    assert merge_extra({"a": 1, "b": 2}, {"b": 3, "a": None, "c": None}) == {"b": 3}


def test_options_of_tools_need_tools() -> None:
    options = ChatOptions(tool_choice="nope", parallel_tool_calls=True)
    assert tool_option_fields(options, []) == {}


def test_template_arguments_are_merged() -> None:
    merged = merge_extra(
        {"chat_template_kwargs": {"enable_thinking": False}},
        {"chat_template_kwargs": {"add_date": True}},
    )
    assert merged == {"chat_template_kwargs": {"enable_thinking": False, "add_date": True}}
