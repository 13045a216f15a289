"""The numbers of a pool are checked where they are made."""

import math
from typing import Any

import pytest

from rig import InvalidRequestError, PoolPolicy


@pytest.mark.parametrize(
    "numbers",
    [
        {"retries": -1},
        {"retries": 1.5},
        {"retries": True},
        {"failures": 0},
        {"cooling_s": 0},
        {"cooling_s": 30},
        {"max_cooling_s": math.inf},
        {"patience_s": -1},
        {"patience_s": "5"},
        {"probe_s": math.nan},
        {"first_token_s": 0},
        {"max_imbalance": -1},
        {"restarts": None},
    ],
    ids=str,
)
def test_a_number_out_of_range_is_refused(numbers: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequestError):
        PoolPolicy(**numbers)


def test_none_stands_for_no_limit_where_that_makes_sense() -> None:
    policy = PoolPolicy(first_token_s=None, max_imbalance=None, retries=0, patience_s=0)
    assert policy.first_token_s is None
