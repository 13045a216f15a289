"""Which endpoint is asked: a table."""

import math
from typing import Any

import pytest

from rig.gateway.choose import Ask, Candidate, Choice, Nobody, WaitUntil, choose

NOW = 100.0


def one(index: int, **known: Any) -> Candidate:
    return Candidate(index=index, **known)


CASES: dict[str, tuple[list[Candidate], int | None, Choice]] = {
    "the first of equals": ([one(0), one(1)], None, Ask(index=0)),
    "fewest under way": ([one(0, in_flight=2), one(1, in_flight=1)], None, Ask(index=1)),
    "then priority": ([one(0, priority=1), one(1)], None, Ask(index=1)),
    "busyness before priority": ([one(0, in_flight=1), one(1, priority=5)], None, Ask(index=1)),
    "then latency": ([one(0, latency_s=0.5), one(1, latency_s=0.2)], None, Ask(index=1)),
    "priority before latency": (
        [one(0, latency_s=0.5), one(1, latency_s=0.2, priority=1)], None, Ask(index=0),
    ),
    "an unknown latency is better than a model's": ([one(0, latency_s=0.2), one(1)], None, Ask(index=1)),
    "wherever it stands": ([one(0), one(1, latency_s=0.2)], None, Ask(index=0)),
    "but not than what is ready": ([one(0, latency_s=0.002), one(1)], None, Ask(index=0)),
    "nor than a better priority": ([one(0, latency_s=9.0), one(1, priority=1)], None, Ask(index=0)),
    "what failed this request comes last": ([one(0, failures=1), one(1, in_flight=9)], None, Ask(index=1)),
    "without the model it is not asked": ([one(0, has_model=False), one(1)], None, Ask(index=1)),
    "nor when it is excluded": ([one(0, excluded="silent"), one(1)], None, Ask(index=1)),
    "nor when it is full": ([one(0, slots=1, in_flight=1), one(1, in_flight=5)], None, Ask(index=1)),
    "nor in its pause": ([one(0, resting=True, ready_at=101), one(1)], None, Ask(index=1)),
    "a pause that is over makes a test": (
        [one(0, resting=True, ready_at=99), one(1)], None, Ask(index=0, trial=True),
    ),
    "while that goes on, others go elsewhere": (
        [one(0, resting=True, tried=True, ready_at=99), one(1, in_flight=9, priority=3)], None, Ask(index=1),
    ),
    "or there too, where nobody else is": (
        [one(0, resting=True, tried=True, ready_at=99), one(1, resting=True, ready_at=101)], None,
        Ask(index=0, trial=True),
    ),
    "not where a better priority is well": (
        [one(0), one(1, resting=True, ready_at=99, priority=1)], None, Ask(index=0),
    ),
    "but before a worse one": (
        [one(0, resting=True, ready_at=99), one(1, priority=1)], None, Ask(index=0, trial=True),
    ),
    "nor where the request failed there": (
        [one(0, resting=True, ready_at=99, failures=1), one(1)], None, Ask(index=1),
    ),
    "a test of the worse priority, when there is nobody else": (
        [one(0, resting=True, ready_at=120), one(1, resting=True, ready_at=99, priority=1)],
        None, Ask(index=1, trial=True),
    ),
    "the cache is preferred": ([one(0), one(1, in_flight=2)], 1, Ask(index=1)),
    "while it is not much busier": ([one(0), one(1, in_flight=3)], 1, Ask(index=0)),
    "not against a priority": ([one(0), one(1, priority=1)], 1, Ask(index=0)),
    "not where the request failed": ([one(0, failures=0), one(1, failures=1)], 1, Ask(index=0)),
    "nor where all did": ([one(0, failures=1), one(1, failures=1)], 1, Ask(index=0)),
    "not when it is full": ([one(0), one(1, slots=1, in_flight=1)], 1, Ask(index=0)),
    "not when it rests": ([one(0), one(1, resting=True, ready_at=101)], 1, Ask(index=0)),
    "not before a test": ([one(0, resting=True), one(1)], 1, Ask(index=0, trial=True)),
    "all full: a slot is waited for": (
        [one(0, slots=1, in_flight=1), one(1, slots=2, in_flight=2)], None,
        WaitUntil(at=math.inf, reason="slots"),
    ),
    "one full and one resting": (
        [one(0, slots=1, in_flight=1), one(1, resting=True, ready_at=130)], None,
        WaitUntil(at=130, reason="slots"),
    ),
    "all resting: the first to return is waited for": (
        [one(0, resting=True, ready_at=140), one(1, resting=True, ready_at=130)], None,
        WaitUntil(at=130, reason="resting"),
    ),
    "who will never be asked is not waited for": (
        [one(0, resting=True, ready_at=140), one(1, resting=True, ready_at=130, excluded="quota")],
        None, WaitUntil(at=140, reason="resting"),
    ),
    "nobody has the model": (
        [one(0, has_model=False), one(1, has_model=False)], None, Nobody(reason="missing_model"),
    ),
    "nobody is left": (
        [one(0, has_model=False), one(1, excluded="silent")], None, Nobody(reason="excluded"),
    ),
    "a lone one that is left": ([one(0)], None, Ask(index=0)),
}  # fmt: skip


@pytest.mark.parametrize(("candidates", "prefer", "expected"), CASES.values(), ids=CASES.keys())
def test_the_choice(candidates: list[Candidate], prefer: int | None, expected: Choice) -> None:
    assert choose(candidates, now=NOW, prefer=prefer, max_imbalance=2) == expected


def test_a_cache_is_not_preferred_where_that_is_off() -> None:
    candidates = [one(0), one(1, in_flight=0, latency_s=9.0)]
    assert choose(candidates, now=NOW, prefer=1, max_imbalance=None) == Ask(index=0)


def test_the_cost_of_a_choice_grows_with_the_endpoints_alone() -> None:
    looks = 0

    class Counted(Candidate):
        def __getattribute__(self, name: str) -> object:
            nonlocal looks
            looks += 1
            return super().__getattribute__(name)

    def cost(count: int) -> int:
        nonlocal looks
        candidates = [Counted(index=number) for number in range(count)]
        looks = 0
        choose(candidates, now=NOW)
        return looks

    assert cost(400) <= 4.1 * cost(100)
