"""Who waits is told again whenever its position has halved, and looked at about as rarely."""

import math

import pytest

from rig.client.positions import Positions


class Line:
    """People who wait in a plain line, told their position when `Positions` says so."""

    def __init__(self, waiting: int) -> None:
        self.line = [*range(waiting)]
        self.looks = 0
        self.positions = Positions(self.look)
        self.told: dict[int, list[int]] = {person: [] for person in self.line}
        for person in self.line:
            self.tell(person)
        self.looks = 0

    def look(self, person: int) -> int | None:
        self.looks += 1
        return self.line.index(person) + 1 if person in self.line else None

    def tell(self, person: int) -> None:
        position = self.line.index(person) + 1
        self.told[person].append(position)
        self.positions.told(person, position)

    def gone(self, person: int) -> None:
        self.line.remove(person)
        for told in self.positions.moved():
            self.tell(told)


HALVINGS = {
    1: [1],
    2: [2, 1],
    3: [3, 1],
    4: [4, 2, 1],
    7: [7, 3, 1],
    100: [100, 50, 25, 12, 6, 3, 1],
}


@pytest.mark.parametrize(("position", "told"), HALVINGS.items(), ids=map(str, HALVINGS))
def test_the_position_is_told_at_each_halving(position: int, told: list[int]) -> None:
    line = Line(position)
    for person in range(position - 1):
        line.gone(person)
    assert line.told[position - 1] == told


def test_a_thousand_who_wait_are_told_ten_times_at_most_and_looked_at_no_more() -> None:
    line = Line(1000)
    for person in range(999):
        line.gone(person)
    assert max(len(told) for told in line.told.values()) <= 10
    assert line.looks <= 1000 * math.log2(1000)


def test_leaving_counts_as_being_served() -> None:
    line = Line(8)
    for person in (1, 2, 3, 4):
        line.gone(person)
    assert line.told[7] == [8, 4]


def test_who_does_not_come_nearer_is_not_told() -> None:
    line = Line(8)
    for person in (7, 6, 5, 4):
        line.gone(person)
    assert line.told[3] == [4]
    line.gone(0)
    line.gone(1)
    assert line.told[3] == [4, 2]


def test_who_has_gone_is_not_told() -> None:
    line = Line(8)
    for person in (7, 0, 1, 2, 3):
        line.gone(person)
    assert line.told[7] == [8]


def test_nobody_is_remembered_when_nobody_waits() -> None:
    line = Line(100)
    line.positions.forget()
    assert not line.positions._due
