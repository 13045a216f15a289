"""Whose turn it is: tenants take turns, in order within each, interactive before batch, nobody starves."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.client.turns import BATCH_EVERY, Place, Turns
from rig.model import Priority

PRIORITIES: tuple[Priority, ...] = get_args(Priority)


def queue(*waiting: str) -> tuple[Turns[str], dict[str, Place[str]]]:
    """Items such as a1, of tenant a; those in capitals are batch requests of the small one's tenant."""
    turns: Turns[str] = Turns()
    return turns, {
        item: turns.join(item, item[0].lower(), "batch" if item[0].isupper() else "interactive")
        for item in waiting
    }


def taken(turns: Turns[str], accepts: Callable[[str], bool] | None = None) -> list[str]:
    order: list[str] = []
    while (place := turns.take(accepts)) is not None:
        order.append(place.item)
    return order


MANY = [f"a{n}" for n in range(2 * BATCH_EVERY)]

ORDERS: dict[str, tuple[list[str], list[str]]] = {
    "nobody waits": ([], []),
    "one tenant is served in order": (["a1", "a2", "a3"], ["a1", "a2", "a3"]),
    "tenants take turns": (["a1", "a2", "a3", "b1", "c1"], ["a1", "b1", "c1", "a2", "a3"]),
    "those who wait longest begin": (["c1", "a1", "b1", "a2", "c2"], ["c1", "a1", "b1", "c2", "a2"]),
    "batch comes after interactive": (["A1", "a1", "b1"], ["a1", "b1", "A1"]),
    "batch tenants take turns too": (["A1", "A2", "B1"], ["A1", "B1", "A2"]),
    "every so many turns one is batch's": (
        ["B1", "B2", "B3", *MANY],
        [*MANY[: BATCH_EVERY - 1], "B1", *MANY[BATCH_EVERY - 1 : 2 * BATCH_EVERY - 2], "B2", *MANY[-2:], "B3"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("waiting", "order"), ORDERS.values(), ids=ORDERS.keys())
def test_turns_have_an_order(waiting: list[str], order: list[str]) -> None:
    turns, _ = queue(*waiting)
    assert len(turns) == len(waiting)
    assert taken(turns) == order
    assert len(turns) == 0


LEFT: dict[str, tuple[list[str], list[str], list[str]]] = {
    "the first of a line": (["a1", "a2", "b1"], ["a1"], ["a2", "b1"]),
    "the middle of a line": (["a1", "a2", "a3", "b1"], ["a2"], ["a1", "b1", "a3"]),
    "a whole line": (["a1", "a2", "b1"], ["a1", "a2"], ["b1"]),
    "everybody": (["a1", "B1"], ["a1", "B1"], []),
    "somebody twice": (["a1", "a2"], ["a1", "a1"], ["a2"]),
}


@pytest.mark.parametrize(("waiting", "leaving", "order"), LEFT.values(), ids=LEFT.keys())
def test_who_leaves_leaves_no_hole(
    waiting: list[str], leaving: list[str], order: list[str]
) -> None:
    turns, places = queue(*waiting)
    for item in leaving:
        turns.leave(places[item])
    assert len(turns) == len(order)
    assert taken(turns) == order


def test_leaving_after_ones_turn_takes_nobody_else_out() -> None:
    turns, places = queue("a1", "a2")
    first = turns.take()
    assert first is places["a1"]
    assert not first.waits
    turns.leave(first)
    assert taken(turns) == ["a2"]


SKIPPED: dict[str, tuple[list[str], str, list[str], list[str]]] = {
    "others of the tenant, which has had a turn then": (
        ["a1", "b2", "a3", "a2"], "3", ["a3"], ["b2", "a1", "a2"],
    ),
    "tenants, which keep their places": (["a1", "b1", "c2", "d1"], "2", ["c2"], ["a1", "b1", "d1"]),
    "all interactive ones": (["a1", "A2"], "2", ["A2"], ["a1"]),
    "everybody": (["a1", "B1"], "2", [], ["a1", "B1"]),
}  # fmt: skip


@pytest.mark.parametrize(("waiting", "kind", "order", "rest"), SKIPPED.values(), ids=SKIPPED.keys())
def test_a_turn_of_no_use_to_some_passes_over(
    waiting: list[str], kind: str, order: list[str], rest: list[str]
) -> None:
    turns, _ = queue(*waiting)
    assert taken(turns, lambda item: item.endswith(kind)) == order
    assert taken(turns) == rest


def test_a_tenant_that_comes_back_at_once_stands_last() -> None:
    turns, _ = queue("a1", "b1", "c1")
    order: list[str] = []
    for _ in range(9):
        place = turns.take()
        assert place is not None
        order.append(place.tenant)
        turns.join(place.item, place.tenant)
    assert order == [*"abcabcabc"]


def test_what_batch_requests_could_not_use_is_owed_them_once() -> None:
    turns, _ = queue("B1", "B2", *MANY)
    for _ in range(BATCH_EVERY + 3):
        turns.take(str.islower)
    order = taken(turns)
    assert order[0] == "B1"
    assert order[-1] == "B2"


def test_what_is_owed_is_forgotten_when_no_batch_request_waits() -> None:
    turns, places = queue("B1", *MANY)
    for _ in range(BATCH_EVERY):
        turns.take(str.islower)
    turns.leave(places["B1"])
    turns.join("B2", "b", "batch")
    assert taken(turns).index("B2") == BATCH_EVERY - 1


POSITIONS: dict[str, list[str]] = {
    "one tenant": ["a1", "a2", "a3", "a4"],
    "tenants with as many each": ["a1", "a2", "b1", "b2", "c1", "c2"],
    "one with one each": ["a1", "b1", "c1", "d1"],
    "batch alone": ["A1", "A2", "B1", "B2"],
    "both": ["B1", "B2", "B3", *MANY],
}


@pytest.mark.parametrize("waiting", POSITIONS.values(), ids=POSITIONS.keys())
def test_positions_are_exact_where_lines_are_alike(waiting: list[str]) -> None:
    turns, places = queue(*waiting)
    told = {item: turns.position(place) for item, place in places.items()}
    assert told == {item: number for number, item in enumerate(taken(turns), 1)}


def test_positions_are_exact_after_some_turns() -> None:
    turns, places = queue(*(f"{tenant}{n}" for n in range(5) for tenant in "abc"), "B1", "B2")
    for _ in range(7):
        turns.take()
    told = {item: turns.position(place) for item, place in places.items() if place.waits}
    order = taken(turns)
    # of the last round a is served first: one who leaves the ring ends it for the others
    assert {item: told[item] for item in order[:6]} == {
        item: number for number, item in enumerate(order[:6], 1)
    }


class Simple:
    """The same rules, written down as they are said, with no thought of what they cost."""

    def __init__(self) -> None:
        self.rings: dict[Priority, dict[str, list[int]]] = {one: {} for one in PRIORITIES}
        self.passed = 0

    def copy(self) -> "Simple":
        copied = Simple()
        copied.passed = self.passed
        copied.rings = {
            priority: {tenant: [*line] for tenant, line in ring.items()}
            for priority, ring in self.rings.items()
        }
        return copied

    def join(self, item: int, tenant: str, priority: Priority) -> None:
        self.rings[priority].setdefault(tenant, []).append(item)

    def leave(self, item: int) -> None:
        for ring in self.rings.values():
            for tenant, line in [*ring.items()]:
                if item in line:
                    line.remove(item)
                    if not line:
                        del ring[tenant]
        if not self.rings["batch"]:
            self.passed = 0

    def take(self, accepts: Callable[[int], bool]) -> int | None:
        owed = self.passed >= BATCH_EVERY - 1
        for priority in reversed(PRIORITIES) if owed else PRIORITIES:
            ring = self.rings[priority]
            for tenant, line in ring.items():
                for item in line:
                    if accepts(item):
                        self.leave(item)
                        if tenant in ring:
                            ring[tenant] = ring.pop(tenant)
                        batch = priority == "batch" or not self.rings["batch"]
                        self.passed = 0 if batch else min(self.passed + 1, BATCH_EVERY - 1)
                        return item
        return None


STEPS = st.one_of(
    st.tuples(st.just("join"), st.sampled_from("abcd"), st.sampled_from(PRIORITIES)),
    st.tuples(st.just("leave"), st.integers(0, 200), st.none()),
    st.tuples(st.just("take"), st.integers(1, 4), st.none()),
)


@given(st.lists(STEPS, max_size=200))
def test_turns_are_those_of_the_simple_rules_and_positions_never_promise_too_much(
    steps: list[tuple[str, Any, Any]],
) -> None:
    turns: Turns[int] = Turns()
    simple = Simple()
    places: list[Place[int]] = []
    for what, argument, priority in steps:
        if what == "join":
            places.append(turns.join(len(places), argument, priority))
            simple.join(len(places) - 1, argument, priority)
        elif what == "leave" and places:
            place = places[argument % len(places)]
            turns.leave(place)
            simple.leave(place.item)
        elif what == "take":
            expected = simple.take(lambda item, kinds=argument: item % kinds == 0)  # type: ignore[misc]
            got = turns.take(lambda item, kinds=argument: item % kinds == 0)  # type: ignore[misc]
            assert (got.item if got is not None else None) == expected
    waiting = [place for place in places if place.waits]
    assert len(turns) == len(waiting)
    told = {place.item: turns.position(place) for place in waiting}
    for number in range(1, len(waiting) + 1):
        item = simple.take(lambda _: True)
        assert item is not None
        assert number <= told[item] <= len(waiting)


@given(st.lists(st.sampled_from("abcde"), max_size=60), st.data())
def test_while_one_waits_every_other_tenant_has_one_turn_at_most_before_its_tenants_next(
    tenants: list[str], data: st.DataObject
) -> None:
    turns: Turns[int] = Turns()
    waiting = dict.fromkeys("abcde", 0)
    since = {one: dict.fromkeys("abcde", 0) for one in "abcde"}
    for tenant in tenants:
        if data.draw(st.booleans()) and len(turns):
            place = turns.take()
            assert place is not None
            waiting[place.tenant] -= 1
            for one in "abcde":
                if waiting[one]:
                    since[one][place.tenant] += 1
            since[place.tenant] = dict.fromkeys("abcde", 0)
            assert all(count <= 1 for one in "abcde" for count in since[one].values())
        turns.join(0, tenant)
        if not waiting[tenant]:
            since[tenant] = dict.fromkeys("abcde", 0)
        waiting[tenant] += 1


def calls_of(work: Callable[[], object]) -> int:
    count = 0

    def saw(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(saw)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def test_joining_leaving_and_taking_cost_the_same_however_many_wait() -> None:
    def work(waiting: int, tenants: int) -> int:
        def everybody() -> None:
            turns: Turns[int] = Turns()
            places = [
                turns.join(number, str(number % tenants), PRIORITIES[number % 3 == 0])
                for number in range(waiting)
            ]
            for place in places[waiting // 4 : waiting // 2]:
                turns.position(place)
                turns.leave(place)
            while turns.take() is not None:
                pass

        return calls_of(everybody)

    few, many = work(2_500, 250), work(10_000, 1_000)
    assert many <= 4 * few * 1.01
