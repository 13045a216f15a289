"""Who waits for a connection, and in which order they are called."""

import pytest

from rig.transport.line import Line, Place
from rig.transport.origin import Origin

HERE = Origin(tls=False, host="here", port=80)


def standing(count: int) -> tuple[Line, list[Place]]:
    line = Line()
    places = [line.place(HERE) for _ in range(count)]
    for place in places:
        line.wait(place)
    return line, places


def test_who_came_first_is_called_first() -> None:
    line, places = standing(3)
    assert [line.next() for _ in range(4)] == [*places, None]


def test_who_steps_back_keeps_the_place() -> None:
    line, (first, second, third) = standing(3)
    assert [line.next(), line.next()] == [first, second]
    for place in (second, first):
        place.call()
        place.step_back()
        line.wait(place)
    assert [line.next(), line.next(), line.next()] == [first, second, third]


def test_who_has_left_is_passed_over() -> None:
    line, (first, second, third) = standing(3)
    first.left = third.left = True
    assert [line.next(), line.next()] == [second, None]


@pytest.mark.parametrize("again", [False, True])
async def test_a_turn_is_waited_for(again: bool) -> None:
    place = Line().place(HERE)
    if again:
        place.call()
        place.step_back()
    assert not place.has_turn
    place.call()
    await place.called()
    assert place.has_turn
