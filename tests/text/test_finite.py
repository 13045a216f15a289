"""Numbers to count with."""

import math
import sys
from collections.abc import Callable
from typing import Any

import pytest

from rig import Budget, ChatOptions, InvalidRequestError, Price, RetryPolicy, RunRequest, Tool
from rig.text.finite import is_finite
from rig.wire.options import check_options

BEYOND = 10**400
"""A whole number that no float can hold."""


@pytest.mark.parametrize(
    "value", [0, -1, 1.5, 10**300, sys.float_info.max, int(sys.float_info.max)], ids=str
)
def test_numbers_are_finite(value: object) -> None:
    assert is_finite(value)


@pytest.mark.parametrize(
    "value",
    [True, "1", None, math.nan, math.inf, -math.inf, BEYOND, -BEYOND],
    ids=["bool", "text", "none", "nan", "inf", "minus inf", "beyond", "minus beyond"],
)
def test_anything_else_is_not(value: object) -> None:
    assert not is_finite(value)


TAKERS: dict[str, Callable[[Any], object]] = {
    "seconds": lambda n: Budget(seconds=n),
    "cost": lambda n: Budget(cost=n, prices={}),
    "price": lambda n: Price(prompt_per_million=n),
    "temperature": lambda n: RunRequest("q", max_tokens=1, temperature=n),
    "retry": lambda n: RetryPolicy(budget_s=n),
    "tool": lambda n: Tool("a", "b", {}, lambda _: "", timeout_s=n),
    "option": lambda n: check_options(ChatOptions(top_p=n)),
}


@pytest.mark.parametrize("value", [BEYOND, math.nan, math.inf], ids=["beyond", "nan", "inf"])
@pytest.mark.parametrize("make", TAKERS.values(), ids=TAKERS)
def test_whoever_takes_a_number_refuses_others_in_words(
    make: Callable[[Any], object], value: float
) -> None:
    with pytest.raises(InvalidRequestError):
        make(value)
