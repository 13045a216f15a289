"""Seats: each counts once, and what is left goes to who can use it."""

import anyio

from rig import Client, Endpoint, PoolPolicy
from rig.client.fair_queue import Waiting
from rig.gateway.floor import Floor, Seat
from rig.gateway.line import Line

URL = "http://127.0.0.1:1"


def floor(*slots: int | None) -> Floor:
    lines = [
        Line(index, Endpoint(URL, name=str(index), slots=count), Client(URL))
        for index, count in enumerate(slots)
    ]
    return Floor(lines, PoolPolicy())


async def test_leaving_a_seat_twice_counts_once() -> None:
    one = floor(2)
    seat = one.sit(0)
    one.sit(0)
    seat.leave()
    with seat:
        pass
    assert one.lines[0].in_flight == 1


async def test_a_seat_that_is_left_goes_to_the_first_who_can_use_it() -> None:
    both = floor(1, 1)
    seats = [both.sit(0), both.sit(1)]
    given: list[tuple[str, str]] = []

    async def wait(name: str, index: int | None) -> None:
        wanted = None if index is None else lambda seat: seat.line.index == index
        who: Waiting[Seat] = Waiting(accepts=wanted)
        seat = await both.queue.wait(who)
        given.append((name, seat.line.name))

    async with anyio.create_task_group() as tasks:
        for name, index in (("first", 0), ("second", None), ("third", 1)):
            tasks.start_soon(wait, name, index)
            await anyio.wait_all_tasks_blocked()
        seats[1].leave()
        await anyio.wait_all_tasks_blocked()
        assert given == [("second", "1")]
        assert [line.in_flight for line in both.lines] == [1, 1]
        seats[0].leave()
        await anyio.wait_all_tasks_blocked()
        assert given == [("second", "1"), ("first", "0")]
        tasks.cancel_scope.cancel()


async def test_a_seat_that_nobody_who_waits_can_use_stays_free() -> None:
    both = floor(1, 1)
    seats = [both.sit(0), both.sit(1)]

    async def wait() -> None:
        who: Waiting[Seat] = Waiting(accepts=lambda seat: seat.line.index == 1)
        with await both.queue.wait(who):
            pass

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        seats[0].leave()
        assert [line.in_flight for line in both.lines] == [0, 1]
        seats[1].leave()
    assert [line.in_flight for line in both.lines] == [0, 0]


async def test_a_seat_handed_to_who_was_cancelled_in_that_moment_is_left() -> None:
    one = floor(1)
    seat = one.sit(0)

    async def hold() -> None:
        who: Waiting[Seat] = Waiting()
        with await one.queue.wait(who):
            await anyio.sleep_forever()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(hold)
        await anyio.wait_all_tasks_blocked()
        seat.leave()
        tasks.cancel_scope.cancel()
    assert one.lines[0].in_flight == 0
