"""Slots are shared in turn: the count is never passed, nobody overtakes, nobody is lost, all is told."""

import math
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import anyio
import anyio.lowlevel
import httpx
import pytest

from rig import (
    Budget,
    BudgetExceededError,
    ChatOptions,
    ChatRequest,
    Client,
    InvalidRequestError,
    Message,
    ReplyReceived,
    RequestTimeoutError,
    RetryPolicy,
    RoundStarted,
    SlotWait,
    ToolContext,
    tool,
)
from rig.client.fair_slots import FairSlots
from rig.client.turns import BATCH_EVERY
from rig.events import EventListener, event_listener
from rig.model import Priority
from rig.testing import Answer, FakeBackend, ReceivedRequest, answer, repeat, reply

autojump = pytest.mark.parametrize("anyio_backend", ["trio-autojump"], indirect=True)

HELLO = ChatRequest(model="m", messages=[Message(role="user", content="hi")], max_tokens=8)


async def settle() -> None:
    for _ in range(5):
        await anyio.lowlevel.checkpoint()


@contextmanager
def told_to(listener: EventListener) -> Iterator[None]:
    event_listener.set(listener)
    try:
        yield
    finally:
        event_listener.set(None)


async def heard_by(work: Callable[[], Awaitable[object]]) -> list[SlotWait]:
    events: list[SlotWait] = []

    async def listen(event: object) -> None:
        assert isinstance(event, SlotWait)
        events.append(event)

    with told_to(listen):
        await work()
    return events


# Taking and giving


async def test_a_free_slot_is_taken_at_once_and_nothing_is_told() -> None:
    slots = FairSlots(2)

    async def take() -> None:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await slots.take()
            async with slots.hold("a", "batch"):
                assert slots.busy == 2
            assert slots.busy == 1
            slots.give()
        assert not scope.cancelled_caught

    assert await heard_by(take) == []
    assert slots.busy == 0


async def test_slots_can_be_tried_without_waiting() -> None:
    slots = FairSlots(1)
    assert slots.try_take()
    assert not slots.try_take()
    slots.give()
    assert slots.try_take()


async def test_what_is_given_back_is_handed_over_and_nobody_slips_in_between() -> None:
    slots = FairSlots(1)
    order: list[str] = []

    async def one(name: str) -> None:
        async with slots.hold():
            order.append(name)

    await slots.take()
    async with anyio.create_task_group() as tasks:
        for name in ("first", "second"):
            tasks.start_soon(one, name)
            await settle()
        assert (slots.busy, slots.waiting) == (1, 2)
        slots.give()
        assert (slots.busy, slots.waiting) == (1, 1)
        assert not slots.try_take()
        tasks.start_soon(one, "late")
    assert order == ["first", "second", "late"]
    assert (slots.busy, slots.waiting) == (0, 0)


async def test_a_slot_that_nobody_has_taken_cant_be_given_back() -> None:
    slots = FairSlots(1)
    with pytest.raises(InvalidRequestError):
        slots.give()
    assert slots.busy == 0


@pytest.mark.parametrize("count", [0, -1, True, 1.5, "4", None])
def test_a_count_that_is_none_is_refused(count: Any) -> None:
    with pytest.raises(InvalidRequestError):
        FairSlots(count)


def test_what_slots_know_of_themselves() -> None:
    slots = FairSlots(3)
    slots.try_take()
    assert (slots.count, slots.busy, slots.waiting) == (3, 1, 0)
    assert repr(slots) == "FairSlots(3, busy=1, waiting=0)"


# Whose turn it is


async def served(slots: FairSlots, tenants: list[str]) -> list[str]:
    """The order in which requests of these tenants are served; those in capitals are batch requests."""
    order: list[str] = []

    async def one(tenant: str) -> None:
        async with slots.hold(tenant, "batch" if tenant.isupper() else "interactive"):
            assert slots.busy <= slots.count
            order.append(tenant)
            await anyio.lowlevel.checkpoint()

    for _ in range(slots.count):
        assert slots.try_take()
    async with anyio.create_task_group() as tasks:
        for number, tenant in enumerate(tenants, 1):
            tasks.start_soon(one, tenant)
            while slots.waiting < number:  # trio starts tasks in any order
                await anyio.lowlevel.checkpoint()
        for _ in range(slots.count):
            slots.give()
    assert (slots.busy, slots.waiting) == (0, 0)
    return order


async def test_a_tenant_with_many_requests_does_not_keep_others_waiting() -> None:
    order = await served(FairSlots(1), ["many"] * 20 + ["a", "b"])
    assert order[:4] == ["many", "a", "b", "many"]


async def test_interactive_requests_go_first_and_batch_requests_dont_starve() -> None:
    order = await served(FairSlots(1), ["B"] * 3 + ["a"] * 20)
    assert [number for number, tenant in enumerate(order, 1) if tenant == "B"] == [
        BATCH_EVERY,
        2 * BATCH_EVERY,
        23,
    ]


@pytest.mark.parametrize("count", [1, 4])
async def test_the_kth_request_of_a_tenant_is_served_before_the_next_but_one_of_another(
    count: int,
) -> None:
    tenants = [str(number % 7) for number in range(70)]
    order = await served(FairSlots(count), tenants)
    seen = dict.fromkeys(tenants, 0)
    for tenant in order:
        seen[tenant] += 1
        # slots that are given back together start their next requests in any order
        assert max(seen.values()) - min(seen.values()) <= (1 if count == 1 else 2)


# Cancellation


async def _cancel_after(steps: int, work: Callable[[], Awaitable[object]]) -> bool:
    """Cancel the work after a number of scheduling steps; whether it had ended by itself."""
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as tasks:

            async def cancel() -> None:
                for _ in range(steps):
                    await anyio.lowlevel.checkpoint()
                scope.cancel()

            tasks.start_soon(cancel)
            await work()
            tasks.cancel_scope.cancel()
            return True
    return False


@pytest.mark.parametrize("held_for", range(6))
async def test_a_request_can_be_cancelled_at_every_await(held_for: int) -> None:
    """Whether it waits, is told, is being handed a slot, or holds it: the next one gets the slot."""

    async def listen(_event: object) -> None:
        await settle()

    async def holder(slots: FairSlots) -> None:
        for _ in range(held_for):
            await anyio.lowlevel.checkpoint()
        slots.give()

    async def one(slots: FairSlots) -> None:
        with told_to(listen):
            async with slots.hold():
                await settle()

    ended = False
    for steps in range(100):
        slots = FairSlots(1)
        await slots.take()
        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(holder, slots)
                tasks.start_soon(slots_of_another, slots)
                ended = await _cancel_after(steps, lambda slots=slots: one(slots))  # type: ignore[misc]
        assert (slots.busy, slots.waiting) == (0, 0)
        if ended:
            break
    assert ended


async def slots_of_another(slots: FairSlots) -> None:
    await anyio.lowlevel.checkpoint()
    async with slots.hold():
        assert slots.busy == 1


@pytest.mark.parametrize("who", [0, 1, 2, 3])
async def test_who_is_cancelled_in_the_line_leaves_no_hole(who: int) -> None:
    slots = FairSlots(1)
    order: list[int] = []
    scopes = [anyio.CancelScope() for _ in range(4)]

    async def one(number: int) -> None:
        with scopes[number]:
            async with slots.hold():
                order.append(number)

    await slots.take()
    async with anyio.create_task_group() as tasks:
        for number in range(4):
            tasks.start_soon(one, number)
            await settle()
        scopes[who].cancel()
        await settle()
        assert slots.waiting == 3
        slots.give()
    assert order == [number for number in range(4) if number != who]
    assert slots.busy == 0


@pytest.mark.parametrize("first", ["cancelled", "handed over"])
async def test_a_slot_handed_to_someone_cancelled_in_the_same_moment_is_passed_on(
    first: str,
) -> None:
    slots = FairSlots(1)
    order: list[int] = []
    scopes = [anyio.CancelScope() for _ in range(2)]

    async def one(number: int) -> None:
        with scopes[number]:
            async with slots.hold():
                order.append(number)

    await slots.take()
    async with anyio.create_task_group() as tasks:
        for number in range(2):
            tasks.start_soon(one, number)
            await settle()
        if first == "cancelled":
            scopes[0].cancel()
        slots.give()
        assert slots.waiting == 1
        scopes[0].cancel()
    assert order == ([1] if first == "cancelled" else [0, 1])
    assert slots.busy == 0


@pytest.mark.parametrize("kind", ["waiting", "granted"])
async def test_a_listener_that_fails_costs_no_slot(kind: str) -> None:
    slots = FairSlots(1)

    async def listen(event: Any) -> None:
        if event.kind == kind:
            raise LookupError("mine")

    async def one() -> None:
        with told_to(listen), pytest.raises(LookupError):
            await slots.take()

    await slots.take()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(one)
        await settle()
        slots.give()
    assert (slots.busy, slots.waiting) == (0, 0)


# Its bound


@autojump
async def test_a_wait_has_a_bound() -> None:
    slots = FairSlots(1)
    await slots.take()
    started = anyio.current_time()
    with pytest.raises(RequestTimeoutError) as caught:
        async with slots.hold(until=started + 7):
            pytest.fail("it has no slot")
    assert caught.value.reason == "queue"
    assert anyio.current_time() - started == 7
    assert (slots.busy, slots.waiting) == (1, 0)


@autojump
@pytest.mark.parametrize("past", [0, 1], ids=["now", "long ago"])
async def test_with_no_time_left_only_a_free_slot_is_taken(past: float) -> None:
    slots = FairSlots(1)
    until = anyio.current_time() - past
    await slots.take(until=until)
    with pytest.raises(RequestTimeoutError):
        await slots.take(until=until)
    assert (slots.busy, slots.waiting) == (1, 0)


# What is told


@autojump
async def test_a_wait_is_told_when_it_begins_at_each_halving_and_at_its_end() -> None:
    slots = FairSlots(2)
    events: list[SlotWait] = []

    async def other() -> None:
        async with slots.hold("a"):
            await anyio.sleep(1)

    async def one() -> None:
        await anyio.sleep(0.5)
        events.extend(await heard_by(lambda: slots.take("a", endpoint="here")))

    async with anyio.create_task_group() as tasks:
        for _ in range(11):
            tasks.start_soon(other)
        tasks.start_soon(one)
    assert [(event.kind, event.position) for event in events] == [
        ("waiting", 10),
        ("waiting", 4),
        ("waiting", 2),
        ("granted", 0),
    ]
    assert [event.waited_s for event in events] == pytest.approx([0, 2.5, 3.5, 4.5])
    assert {(event.slots, event.busy, event.tenant, event.endpoint) for event in events} == {
        (2, 2, "a", "here")
    }
    assert "position 10" in str(events[0])
    assert "4.5 s" in str(events[-1])


async def test_a_thousand_who_wait_are_told_a_few_times_each() -> None:
    slots = FairSlots(4)
    told = 0

    async def listen(_event: object) -> None:
        nonlocal told
        told += 1

    async def one(tenant: str) -> None:
        with told_to(listen):
            async with slots.hold(tenant):
                await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as tasks:
        for number in range(1000):
            tasks.start_soon(one, str(number % 10))
    assert told <= 1000 * (math.log2(1000) + 2)


def calls_of(work: Callable[[], Awaitable[None]], backend: str) -> int:
    count = 0

    def saw(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    async def counted() -> None:
        before = sys.getprofile()
        sys.setprofile(saw)
        try:
            await work()
        finally:
            sys.setprofile(before)

    anyio.run(counted, backend=backend)
    return count


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("told", [False, True], ids=["unobserved", "told"])
def test_each_request_costs_the_same_however_many_wait(backend: str, told: bool) -> None:
    async def listen(_event: object) -> None:
        return

    def waiting(requests: int) -> int:
        slots = FairSlots(4)

        async def one(number: int, scope: anyio.CancelScope) -> None:
            with told_to(listen) if told else anyio.CancelScope(), scope:
                async with slots.hold(str(number % (requests // 10))):
                    await anyio.lowlevel.checkpoint()

        async def everybody() -> None:
            scopes = [anyio.CancelScope() for _ in range(requests)]
            for _ in range(4):
                slots.try_take()
            async with anyio.create_task_group() as tasks:
                for number, scope in enumerate(scopes):
                    tasks.start_soon(one, number, scope)
                while slots.waiting < requests:
                    await anyio.lowlevel.checkpoint()
                for scope in scopes[requests // 4 : requests // 2]:
                    scope.cancel()
                for _ in range(4):
                    slots.give()
            assert slots.busy == 0

        return calls_of(everybody, backend)

    few, many = waiting(200), waiting(800)
    # each is told, and looked at, once more for each doubling of those that wait
    assert many <= 4 * few * (1.5 if told else 1.1)


# In a client


@tool
async def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


def two_rounds(request: ReceivedRequest) -> Answer:
    """A call in the first round, an answer made of its result in the second."""
    last = request.json["messages"][-1]
    if last["role"] == "tool":
        return reply(f"It is {last['content']}.")
    return reply(tool_calls=[("add", {"a": int(last["content"]), "b": 1})])


async def test_a_hundred_agents_with_tools_share_four_slots() -> None:
    under_way = most = 0

    async def count(request: ReceivedRequest) -> Answer:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await settle()
        under_way -= 1
        return two_rounds(request)

    backend = FakeBackend(repeat(count))
    answers: dict[int, str] = {}
    finished: list[str] = []

    async def agent(client: Client, number: int) -> None:
        tenant = "ab"[number % 10 == 0]  # ten of b's beside ninety of a's
        result = await client.run(
            str(number),
            model="m",
            tools=[add],
            max_tokens=64,
            options=ChatOptions(tenant=tenant, priority="batch" if number % 3 else "interactive"),
        )
        answers[number] = result.text
        finished.append(tenant)

    async with backend.serve(), Client(backend.url, slots=4) as client:
        async with anyio.create_task_group() as tasks:
            for number in range(100):
                tasks.start_soon(agent, client, number)
        assert backend.connections.opened <= 4
    assert answers == {number: f"It is {number + 1}." for number in range(100)}
    assert most == 4
    assert len(backend.requests) == 200


async def test_tenant_and_priority_of_a_run_say_whose_turn_it_is() -> None:
    order: list[str] = []

    def note(request: ReceivedRequest) -> Answer:
        order.append(request.json["messages"][-1]["content"])
        return reply("ok")

    backend = FakeBackend(repeat(note))
    http_client = httpx.AsyncClient(transport=backend.transport)
    client = Client(backend.url, model="m", slots=1, http_client=http_client)
    slots = client._slots
    assert slots is not None

    async def ask(prompt: str, tenant: str, priority: Priority) -> None:
        options = ChatOptions(tenant=tenant, priority=priority)
        await client.run(prompt, max_tokens=8, options=options)

    await slots.get().take()
    asked: list[tuple[str, str, Priority]] = [
        ("b1", "b", "batch"),
        ("a1", "a", "interactive"),
        ("a2", "a", "interactive"),
        ("c1", "c", "interactive"),
    ]
    async with anyio.create_task_group() as tasks:
        for number, one in enumerate(asked, 1):
            tasks.start_soon(ask, *one)
            while slots.get().waiting < number:
                await anyio.lowlevel.checkpoint()
        slots.get().give()
    assert order == ["a1", "c1", "a2", "b1"]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_a_run_tells_of_its_wait(stream: bool) -> None:
    backend = FakeBackend(reply("ok"))
    http_client = httpx.AsyncClient(transport=backend.transport)
    client = Client(backend.url, model="m", slots=1, http_client=http_client)
    slots = client._slots
    assert slots is not None
    events: list[object] = []

    async def ask() -> None:
        options = ChatOptions(tenant="a", priority="batch")
        await client.run("hi", max_tokens=8, options=options, on_event=events.append, stream=stream)

    await slots.get().take()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        while not slots.get().waiting:
            await anyio.lowlevel.checkpoint()
        slots.get().give()
    kinds = [type(event) for event in events]
    told = [event for event in events if isinstance(event, SlotWait)]
    assert kinds[:3] == [RoundStarted, SlotWait, SlotWait]
    assert kinds.index(SlotWait) < kinds.index(ReplyReceived)
    assert [(event.kind, event.position, event.tenant, event.priority) for event in told] == [
        ("waiting", 1, "a", "batch"),
        ("granted", 0, "a", "batch"),
    ]


async def test_a_tool_that_runs_holds_no_slot() -> None:
    @tool
    async def ask_too(context: ToolContext) -> str:
        """Ask the same client."""
        client: Client = context.deps
        return (await client.complete(HELLO)).text

    backend = FakeBackend(reply(tool_calls=[("ask_too", {})]), reply("inner"), reply("outer"))
    async with backend.serve(), Client(backend.url, model="m", slots=1) as client:
        result = await client.run("hi", tools=[ask_too], max_tokens=8, deps=client)
    assert result.text == "outer"
    assert result.tool_calls[0].content == "inner"


@autojump
async def test_a_retry_that_waits_holds_no_slot() -> None:
    backend = FakeBackend(
        answer(429, {}, headers=[("Retry-After", "50")]), reply("second"), reply("first")
    )
    http_client = httpx.AsyncClient(transport=backend.transport)
    client = Client(backend.url, model="m", slots=1, http_client=http_client)
    started = anyio.current_time()
    times: dict[str, float] = {}

    async def ask() -> None:
        text = (await client.complete(HELLO)).text
        times[text] = anyio.current_time() - started

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        await anyio.sleep(1)
        tasks.start_soon(ask)
    assert times["second"] == 1
    assert 50 <= times["first"] <= 60


async def test_a_stream_holds_its_slot_until_it_has_ended() -> None:
    backend = FakeBackend(repeat(reply("ok")))
    async with backend.serve(), Client(backend.url, model="m", slots=1) as client:
        slots = client._slots
        assert slots is not None
        async with client.stream(HELLO) as stream:
            assert slots.get().busy == 1
            async for _ in stream:
                pass
            assert slots.get().busy == 0
        async with client.stream(HELLO):
            assert slots.get().busy == 1
        assert slots.get().busy == 0


@autojump
async def test_a_deadline_in_the_line_ends_the_run_with_what_it_had_done() -> None:
    backend = FakeBackend(repeat(two_rounds))
    http_client = httpx.AsyncClient(transport=backend.transport)
    client = Client(backend.url, model="m", slots=1, http_client=http_client)
    slots = client._slots
    assert slots is not None

    @tool(name="add")
    async def add_and_keep(a: int, b: int) -> int:
        """Add two integers; somebody else has the slot then."""
        await slots.get().take()
        return a + b

    started = anyio.current_time()
    with pytest.raises(BudgetExceededError) as caught:
        await client.run("1", tools=[add_and_keep], max_tokens=8, budget=Budget(seconds=20))
    assert caught.value.reason == "seconds"
    assert anyio.current_time() - started == pytest.approx(20)
    assert slots.get().waiting == 0
    result = caught.value.result
    assert result is not None
    assert result.iterations == 1
    assert [outcome.content for outcome in result.tool_calls] == ["2"]


async def streamed(client: Client) -> None:
    async with client.stream(HELLO):
        pytest.fail("it has no slot")


ASKS: dict[str, Callable[[Client], Awaitable[object]]] = {
    "complete": lambda client: client.complete(HELLO),
    "run": lambda client: client.run("hi", max_tokens=8),
    "models": lambda client: client.models(),
    "embed": lambda client: client.embed(["hi"]),
    "stream": streamed,
}


@autojump
@pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS.keys())
@pytest.mark.parametrize(
    ("policy", "waits_s"),
    [(RetryPolicy(), 300), (RetryPolicy(budget_s=25), 25), (RetryPolicy.off(), 300)],
    ids=["as it is", "shorter", "off"],
)
async def test_the_wait_for_a_slot_is_part_of_the_retry_budget(
    ask: Callable[[Client], Awaitable[object]], policy: RetryPolicy, waits_s: float
) -> None:
    backend = FakeBackend()
    http_client = httpx.AsyncClient(transport=backend.transport)
    client = Client(backend.url, model="m", slots=1, http_client=http_client, retry=policy)
    slots = client._slots
    assert slots is not None
    await slots.get().take()
    started = anyio.current_time()
    with pytest.raises(RequestTimeoutError) as caught:
        await ask(client)
    assert anyio.current_time() - started == pytest.approx(waits_s)
    assert caught.value.reason == "queue"
    assert caught.value.attempts == 0
    assert not backend.requests
    assert (slots.get().busy, slots.get().waiting) == (1, 0)


@autojump
async def test_what_an_attempt_took_is_no_more_left_for_the_next_ones_wait() -> None:
    backend = FakeBackend(answer(503, {}), reply("ok"))
    http_client = httpx.AsyncClient(transport=backend.transport)
    policy = RetryPolicy(budget_s=100, initial_s=30, jitter=0)
    client = Client(backend.url, model="m", slots=1, http_client=http_client, retry=policy)
    slots = client._slots
    assert slots is not None
    started = anyio.current_time()

    async def take_it() -> None:
        await anyio.sleep(1)
        await slots.get().take()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(take_it)
        with pytest.raises(RequestTimeoutError) as caught:
            await client.complete(HELLO)
    assert anyio.current_time() - started == pytest.approx(100)
    assert caught.value.attempts == 1
