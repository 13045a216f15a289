"""Seats: each counts once, and what is left goes to who can use it."""

import anyio

from rig import Client, Endpoint, PoolPolicy
from rig.client.fair_queue import Waiting
from rig.gateway.floor import Floor, Seat
from rig.gateway.health import Health
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


async def test_only_an_endpoint_that_was_not_free_is_offered() -> None:
    asked = 0
    both = floor(1, None)
    both.sit(0)

    def accepts(seat: Seat) -> bool:
        nonlocal asked
        asked += 1
        return seat.line.index == 0

    async with anyio.create_task_group() as tasks:
        for _ in range(10):
            who: Waiting[Seat] = Waiting(accepts=accepts)
            tasks.start_soon(both.queue.wait, who)
        await anyio.wait_all_tasks_blocked()
        for _ in range(100):
            both.sit(1).leave()
        assert asked == 0
        both.changed()  # what it is of use for may be another
        assert asked == 10
        assert [line.in_flight for line in both.lines] == [1, 0]
        tasks.cancel_scope.cancel()


async def test_what_time_has_made_free_is_offered_once_by_turn() -> None:
    one = floor(None)
    line = one.lines[0]
    line.become(Health(state="down", until=anyio.current_time() + 100), 0)
    given: list[int] = []

    async def wait(number: int) -> None:
        given.append(number)
        who: Waiting[Seat] = Waiting()
        assert (await one.queue.wait(who)).trial
        given.append(-number)

    async with anyio.create_task_group() as tasks:
        for number in (1, 2):
            tasks.start_soon(wait, number)
            await anyio.wait_all_tasks_blocked()
        one.wake()
        assert one.queue.waiting == 2
        line.health = Health(state="down", until=0.0)
        one.wake()
        one.wake()  # one tries it, the other waits for how that ends
        await anyio.wait_all_tasks_blocked()
        assert given == [1, 2, -1]
        tasks.cancel_scope.cancel()
    assert line.in_flight == 1
