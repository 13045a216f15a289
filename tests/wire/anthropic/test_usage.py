"""Anthropic's counters, which leave the cache out of the input."""

from typing import Any

import pytest

from rig.messages import Usage
from rig.wire.anthropic.usage import completion_usage, merge_usage

CASES: dict[str, tuple[Any, tuple[int, int, int, int, int]]] = {
    "plain": ({"input_tokens": 5, "output_tokens": 3}, (5, 3, 0, 0, 0)),
    "read from the cache": (
        {"input_tokens": 1, "cache_read_input_tokens": 31, "output_tokens": 8},
        (32, 8, 31, 0, 0),
    ),
    "written to the cache": (
        {"input_tokens": 2, "cache_creation_input_tokens": 100, "output_tokens": 8},
        (102, 8, 0, 100, 0),
    ),
    "both": (
        {
            "input_tokens": 3,
            "cache_read_input_tokens": 20,
            "cache_creation_input_tokens": 10,
            "output_tokens": 4,
            "cache_creation": {"ephemeral_5m_input_tokens": 10},
            "service_tier": "standard",
        },
        (33, 4, 20, 10, 0),
    ),
    "nothing but cache": (
        {"input_tokens": 0, "cache_read_input_tokens": 20, "output_tokens": 4},
        (20, 4, 20, 0, 0),
    ),
    "thoughts": (
        {
            "input_tokens": 3,
            "output_tokens": 40,
            "output_tokens_details": {"thinking_tokens": 30},
        },
        (3, 40, 0, 0, 30),
    ),
    "OpenAI's names beside them already hold the cache": (
        {"prompt_tokens": 32, "completion_tokens": 8, "cache_read_input_tokens": 31},
        (32, 8, 31, 0, 0),
    ),
    "nonsense is dropped field by field": (
        {"input_tokens": 5, "cache_read_input_tokens": -1, "output_tokens": "8"},
        (5, 0, 0, 0, 0),
    ),
}


@pytest.mark.parametrize(("wire", "expected"), CASES.values(), ids=CASES.keys())
def test_prompt_tokens_are_all_that_was_sent(wire: Any, expected: tuple[int, ...]) -> None:
    usage = Usage.model_validate(completion_usage(wire))
    prompt, completion, *_ = expected
    assert expected == (
        usage.prompt_tokens,
        usage.completion_tokens,
        usage.cached_tokens,
        usage.cache_creation_tokens,
        usage.reasoning_tokens,
    )
    assert usage.total_tokens == prompt + completion
    assert usage.reported


@pytest.mark.parametrize("wire", [None, {}, [], "x", {"input_tokens": 0, "output_tokens": 0}])
def test_nothing_told_is_nothing(wire: Any) -> None:
    assert completion_usage(wire) == {}


@pytest.mark.parametrize(
    ("news", "merged"),
    [
        ({"output_tokens": 9}, {"input_tokens": 5, "output_tokens": 9}),
        ({"input_tokens": 6, "output_tokens": 9}, {"input_tokens": 6, "output_tokens": 9}),
        ({"input_tokens": 0, "output_tokens": 9}, {"input_tokens": 5, "output_tokens": 9}),
        ({"input_tokens": None, "output_tokens": -1}, {"input_tokens": 5, "output_tokens": 1}),
        (None, {"input_tokens": 5, "output_tokens": 1}),
    ],
)
def test_later_counters_win_where_they_say_something(news: Any, merged: dict[str, int]) -> None:
    assert merge_usage({"input_tokens": 5, "output_tokens": 1}, news) == merged
