"""Asking at one place after the other."""

import anyio
import pytest

from rig.client.findings import ABSENT_S, FOREVER_S, Finding
from rig.client.places import first_found
from rig.client.requester import Answer

NO = Answer("absent")
TROUBLE = Answer("failing")
DEAD = Answer("unreachable")
PAGE = Answer("ok", b"<html>")
YES = Answer("ok", b"yes")


def read(place: int, body: bytes) -> Finding[int] | None:
    return Finding(place, FOREVER_S) if body == b"yes" else None


CASES: dict[str, tuple[list[Answer], Finding[int], int]] = {
    "the first": ([YES, NO], Finding(0, FOREVER_S), 1),
    "the second": ([NO, YES], Finding(1, FOREVER_S), 2),
    "behind a page that says 200": ([PAGE, YES], Finding(1, FOREVER_S), 2),
    "behind trouble": ([TROUBLE, YES], Finding(1, FOREVER_S), 2),
    "nowhere": ([NO, PAGE, NO], Finding(None, ABSENT_S), 3),
    "nowhere that could be asked": ([NO, TROUBLE, NO], Finding(None), 3),
    "on a dead server nothing more is asked": ([NO, DEAD, YES], Finding(None), 2),
    "without any place": ([], Finding(None, ABSENT_S), 0),
}


@pytest.mark.parametrize(("answers", "found", "asked"), CASES.values(), ids=CASES.keys())
async def test_the_first_that_knows_is_believed(
    answers: list[Answer], found: Finding[int], asked: int
) -> None:
    places: list[int] = []

    async def ask(place: int) -> Answer:
        places.append(place)
        return answers[place]

    assert await first_found(range(len(answers)), ask, read, timeout_s=30) == found
    assert places == list(range(asked))


@pytest.mark.parametrize("anyio_backend", ["trio-autojump"], indirect=True)
async def test_places_that_hang_are_left_after_a_while_and_asked_again_soon() -> None:
    async def ask(place: int) -> Answer:
        await anyio.sleep(20)
        return NO

    started = anyio.current_time()
    assert await first_found(range(100), ask, read, timeout_s=30) == Finding(None)
    assert anyio.current_time() - started == 30
