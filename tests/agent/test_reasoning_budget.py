"""How long a model may think."""

import pytest

from rig import ChatOptions, InvalidRequestError
from rig.agent.reasoning_budget import (
    DEFAULT_BUDGET_MESSAGE,
    reasoning_budget,
    with_reasoning_budget,
)


@pytest.mark.parametrize(
    ("window", "prompt", "reserve", "budget"),
    [
        (180224, 10, 4096, 117412),
        (8192, 1000, 2048, 3429),
        (100, 10, 0, 60),
        (4, 1, 0, 2),
        (3, 1, 0, 1),
        (2, 1, 0, None),  # two thirds of 1 are nothing
        (1000, 1000, 0, None),
        (1000, 900, 101, None),
        (None, 10, 0, None),
        (1000, None, 0, None),
        (None, None, 0, None),
    ],
)
def test_the_budget_is_two_thirds_of_what_is_left(
    window: int | None, prompt: int | None, reserve: int, budget: int | None
) -> None:
    assert reasoning_budget(window=window, prompt_tokens=prompt, reserve=reserve) == budget


@pytest.mark.parametrize("reserve", [-1, 1.5, True, "10", None])
def test_a_reserve_that_is_no_number_of_tokens_is_refused(reserve: int) -> None:
    with pytest.raises(InvalidRequestError):
        reasoning_budget(window=None, prompt_tokens=None, reserve=reserve)


def test_a_budget_is_set_with_the_default_message() -> None:
    options = with_reasoning_budget(ChatOptions(temperature=0), 500)
    assert options == ChatOptions(
        temperature=0,
        reasoning_budget_tokens=500,
        reasoning_budget_message=DEFAULT_BUDGET_MESSAGE,
    )


@pytest.mark.parametrize("own", [0, -1, 7])
def test_a_budget_of_the_callers_stays_and_gets_no_message(own: int) -> None:
    options = ChatOptions(reasoning_budget_tokens=own)
    assert with_reasoning_budget(options, 500) is options


def test_a_message_of_the_callers_stays() -> None:
    options = with_reasoning_budget(ChatOptions(reasoning_budget_message="Stop."), 500)
    assert options.reasoning_budget_tokens == 500
    assert options.reasoning_budget_message == "Stop."


def test_an_empty_message_is_none() -> None:
    options = with_reasoning_budget(ChatOptions(reasoning_budget_message=""), 500)
    assert options.reasoning_budget_message == DEFAULT_BUDGET_MESSAGE


def test_without_a_budget_nothing_changes_and_thinking_is_never_switched() -> None:
    options = ChatOptions(enable_thinking=False)
    assert with_reasoning_budget(options, None) is options
    assert with_reasoning_budget(ChatOptions(), 500).enable_thinking is None
