import itertools
from typing import Any

import pytest
from pydantic import TypeAdapter

from rig.agent.candidates import CHECK_FACTOR, MAX_CANDIDATES, Trials, wrapped

INT = TypeAdapter(int)
CITY = {"name": "Paris"}
NAME = frozenset({"name"})

WRAPPED: dict[str, tuple[dict[str, Any], frozenset[str], list[object]]] = {
    "one object": ({"city": CITY}, NAME, [CITY]),
    "with company": ({"ok": True, "city": CITY, "tags": ["a", "b"]}, NAME, [CITY, ["a", "b"]]),
    "outer ones first": (
        {"a": {"b": {"c": CITY}}, "d": CITY},
        NAME,
        [{"b": {"c": CITY}}, CITY, {"c": CITY}, CITY],
    ),
    "the only item of a list": ({"cities": [CITY]}, NAME, [[CITY], CITY]),
    "none of several items": ({"cities": [CITY, CITY]}, NAME, [[CITY, CITY]]),
    "no wrapper: a key of the type": ({"name": "Lyon", "twin": CITY}, NAME, []),
    "nothing in it": ({"a": {}, "b": [], "c": None}, NAME, []),
    "what was found is not looked into": ({"city": {**CITY, "twin": CITY}}, NAME, [{**CITY, "twin": CITY}]),
    "unknown keys, one entry": ({"counts": {"a": 1, "b": {"c": 2}}}, frozenset(), [{"a": 1, "b": {"c": 2}}]),
    "unknown keys, two entries": ({"a": CITY, "b": CITY}, frozenset(), []),
    "a schema": ({"type": "object", "properties": {"name": {"a": 1}}}, NAME, []),
    "a schema in a wrapper": (
        {"schema": {"type": "object", "properties": {"name": {"a": 1}}}},
        NAME,
        [{"type": "object", "properties": {"name": {"a": 1}}}],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("found", "keys", "inner"), WRAPPED.values(), ids=WRAPPED.keys())
def test_a_wrapper_is_looked_into(
    found: dict[str, Any], keys: frozenset[str], inner: list[object]
) -> None:
    assert list(wrapped(found, keys)) == inner


def test_wrappers_of_any_depth_are_walked_as_far_as_is_asked() -> None:
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"a": deep}
    assert len(list(itertools.islice(wrapped(deep, NAME), 5))) == 5


def test_a_value_is_taken_and_what_was_wrong_with_the_first_is_kept() -> None:
    trials = Trials[int](100)
    assert trials.accept(INT.validate_json, '"a"', "object") is None
    assert trials.accept(INT.validate_json, "{}", "object") is None
    assert trials.accept(INT.validate_json, "0", "object") == (0,)
    assert list(trials.problems) == ["object"]
    assert "unable to parse" in trials.problems["object"]


@pytest.mark.parametrize("error", [KeyError("hunter2"), RuntimeError("hunter2"), RecursionError()])
def test_what_a_check_raises_rejects_by_its_kind(error: Exception) -> None:
    def check(_: str | bytes) -> int:
        raise error

    trials = Trials[int](100)
    assert trials.accept(check, "1", "value") is None
    assert type(error).__name__ in trials.problems["value"]
    assert "hunter2" not in trials.problems["value"]


@pytest.mark.parametrize(
    ("size", "chars", "checked"),
    [(1, 1_000, MAX_CANDIDATES), (100, 100, CHECK_FACTOR), (1, 0, CHECK_FACTOR)],
    ids=["many", "long", "of nothing"],
)
def test_checking_is_bounded_in_number_and_length(size: int, chars: int, checked: int) -> None:
    seen: list[object] = []

    def check(json: str | bytes) -> int:
        seen.append(json)
        raise ValueError

    trials = Trials[int](chars)
    for _ in range(100):
        assert trials.accept(check, "x" * size, "value") is None
    assert len(seen) == checked
