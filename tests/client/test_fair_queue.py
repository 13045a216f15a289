"""Waiting for whichever of several endpoints is free first: handed over straight, lost never."""

from collections import Counter
from collections.abc import Awaitable, Callable

import anyio
import anyio.lowlevel
import pytest

from rig.client.fair_queue import FairQueue, Load, Waiting
from rig.errors import RequestTimeoutError
from rig.events import SlotWait, event_listener


class Endpoints:
    """The owner of a queue: some endpoints, each with so many slots."""

    def __init__(self, **slots: int) -> None:
        self.slots = slots
        self.busy = Counter[str]()
        self.most = Counter[str]()
        self.queue: FairQueue[str] = FairQueue(self.give, load=self.load, name=lambda name: name)

    def load(self) -> Load:
        return Load(slots=sum(self.slots.values()), busy=self.busy.total())

    def give(self, name: str) -> None:
        if not self.queue.offer(name):
            self.busy[name] -= 1

    async def take(
        self, *names: str, tenant: str = "", until: float = float("inf"), endpoint: str = ""
    ) -> str:
        for name in names:
            if self.busy[name] < self.slots[name]:
                self.busy[name] += 1
                self.most[name] = max(self.most[name], self.busy[name])
                return name
        return await self.queue.wait(
            Waiting(
                tenant=tenant, accepts=lambda name: name in names, until=until, endpoint=endpoint
            )
        )


async def settle() -> None:
    for _ in range(5):
        await anyio.lowlevel.checkpoint()


async def test_who_waits_gets_whichever_is_free_first() -> None:
    endpoints = Endpoints(a=1, b=1)
    await endpoints.take("a")
    await endpoints.take("b")
    got: list[str] = []

    async def one() -> None:
        got.append(await endpoints.take("a", "b"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(one)
        await settle()
        assert endpoints.queue.waiting == 1
        endpoints.give("b")
    assert got == ["b"]
    assert endpoints.busy == {"a": 1, "b": 1}


async def test_what_is_of_no_use_to_who_is_first_goes_to_who_can_use_it() -> None:
    endpoints = Endpoints(a=1, b=1)
    await endpoints.take("a")
    await endpoints.take("b")
    got: list[tuple[str, str]] = []

    async def one(*names: str) -> None:
        got.append((names[0], await endpoints.take(*names)))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(one, "a")
        await settle()
        tasks.start_soon(one, "b", "a")
        await settle()
        endpoints.give("b")
        await settle()
        assert got == [("b", "b")]
        endpoints.give("b")  # of no use to who is left: it is free
        assert endpoints.busy == {"a": 1, "b": 0}
        assert await endpoints.take("b") == "b"
        endpoints.give("a")
    assert got == [("b", "b"), ("a", "a")]


async def test_what_nobody_waits_for_is_not_taken() -> None:
    endpoints = Endpoints(a=1)
    assert not endpoints.queue.offer("a")


async def test_many_requests_of_many_kinds_are_all_served_and_no_count_is_passed() -> None:
    endpoints = Endpoints(a=2, b=1, c=3)
    served = Counter[str]()
    kinds = [("a",), ("b",), ("c", "a"), ("a", "b", "c")]

    async def one(number: int) -> None:
        names = kinds[number % len(kinds)]
        name = await endpoints.take(*names, tenant=str(number % 3))
        assert name in names
        assert all(endpoints.busy[one] <= endpoints.slots[one] for one in endpoints.slots)
        for _ in range(number % 5):
            await anyio.lowlevel.checkpoint()
        endpoints.give(name)
        served[names[0]] += 1

    async with anyio.create_task_group() as tasks:
        for number in range(200):
            tasks.start_soon(one, number)
    assert served.total() == 200
    assert endpoints.busy.total() == 0
    assert endpoints.queue.waiting == 0


async def test_what_was_handed_to_a_cancelled_request_goes_back_to_the_owner() -> None:
    endpoints = Endpoints(a=1)
    await endpoints.take("a")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(endpoints.take, "a")
        await settle()
        tasks.cancel_scope.cancel()
        endpoints.give("a")  # it is cancelled, and has not run yet
        assert endpoints.queue.waiting == 0
        assert endpoints.busy.total() == 1
    assert endpoints.busy.total() == 0


async def heard_by(work: Callable[[], Awaitable[object]]) -> list[SlotWait]:
    events: list[SlotWait] = []

    async def listen(event: object) -> None:
        assert isinstance(event, SlotWait)
        events.append(event)

    event_listener.set(listen)
    try:
        await work()
    finally:
        event_listener.set(None)
    return events


@pytest.mark.parametrize(
    ("asked", "told"), [("", ["", "b"]), ("pool", ["pool", "pool"])], ids=["of any", "of one"]
)
async def test_events_name_the_endpoint_as_soon_as_it_is_known(asked: str, told: list[str]) -> None:
    endpoints = Endpoints(a=2, b=1)
    for name in ("a", "a", "b"):
        await endpoints.take(name)
    events: list[SlotWait] = []

    async def one() -> None:
        events.extend(await heard_by(lambda: endpoints.take("a", "b", tenant="t", endpoint=asked)))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(one)
        await settle()
        endpoints.give("b")
    assert [event.endpoint for event in events] == told
    assert [(event.kind, event.position, event.slots, event.busy) for event in events] == [
        ("waiting", 1, 3, 3),
        ("granted", 0, 3, 3),
    ]
    assert {event.tenant for event in events} == {"t"}


@pytest.mark.parametrize("anyio_backend", ["trio-autojump"], indirect=True)
async def test_a_wait_ends_when_its_time_is_up_and_leaves_no_hole() -> None:
    endpoints = Endpoints(a=1)
    await endpoints.take("a")
    started = anyio.current_time()
    with pytest.raises(RequestTimeoutError) as caught:
        await endpoints.take("a", until=started + 30)
    assert caught.value.reason == "queue"
    assert anyio.current_time() == started + 30
    assert endpoints.queue.waiting == 0
    endpoints.give("a")
    assert endpoints.busy.total() == 0


class Clock:
    """Something that is free at a time, and nobody gives back."""

    def __init__(self, at: float, count: int) -> None:
        self.at = at
        self.count = count
        self.looks = 0
        self.queue: FairQueue[int] = FairQueue(
            lambda _: None, load=lambda: Load(slots=0, busy=0), wake=self.wake
        )

    def wake(self) -> None:
        while self.count and anyio.current_time() >= self.at and self.queue.offer(self.count):
            self.count -= 1

    async def look(self) -> float | None:
        self.looks += 1
        return self.at if self.count else self.at + 1000


@pytest.mark.parametrize("anyio_backend", ["trio-autojump"], indirect=True)
async def test_what_time_alone_makes_free_goes_to_whose_turn_it_is() -> None:
    free = Clock(anyio.current_time() + 5, 3)
    got: list[str] = []

    async def one(name: str, tenant: str) -> None:
        await free.queue.wait(
            Waiting(tenant=tenant, again=free.at, look=free.look, until=free.at + 9000)
        )
        got.append(name)

    async with anyio.create_task_group() as tasks:
        for name, tenant in (("a1", "a"), ("a2", "a"), ("a3", "a"), ("b1", "b")):
            tasks.start_soon(one, name, tenant)
            await anyio.wait_all_tasks_blocked()
        await anyio.sleep(6)
        assert sorted(got) == ["a1", "a2", "b1"]
        assert free.queue.waiting == 1
        free.at, free.count = anyio.current_time() + 5, 1
        free.queue.hurry(free.at)
        await anyio.sleep(4)
        assert free.queue.waiting == 1
        await anyio.sleep(2)
        assert got[-1] == "a3"


@pytest.mark.parametrize("anyio_backend", ["trio-autojump"], indirect=True)
async def test_being_hurried_while_one_looks_is_not_forgotten() -> None:
    free = Clock(anyio.current_time() + 5, 0)
    began = anyio.current_time()

    async def look() -> float | None:
        if anyio.current_time() < began + 6:
            free.at, free.count = began + 7, 1
            free.queue.hurry(free.at)
        await anyio.lowlevel.checkpoint()
        return began + 100

    await free.queue.wait(Waiting(again=began + 5, look=look))
    assert anyio.current_time() == began + 7


@pytest.mark.parametrize("anyio_backend", ["trio-autojump"], indirect=True)
async def test_who_does_not_want_to_wait_any_longer_leaves_the_line() -> None:
    free = Clock(anyio.current_time() + 5, 0)

    async def look() -> float | None:
        return None

    with pytest.raises(RequestTimeoutError):
        await free.queue.wait(Waiting(again=free.at, look=look))
    assert free.queue.waiting == 0


async def test_a_wait_that_is_not_to_be_told_is_not() -> None:
    free = Clock(anyio.current_time() + 100, 0)

    async def listen(event: object) -> None:
        raise AssertionError(event)

    event_listener.set(listen)
    async with anyio.create_task_group() as tasks:
        who: Waiting[int] = Waiting(told=lambda: False)
        tasks.start_soon(free.queue.wait, who)
        await settle()
        assert free.queue.offer(1)
