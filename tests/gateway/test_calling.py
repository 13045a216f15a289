"""How long a request waits, for what, and what it costs: in virtual time, without sockets."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import anyio
import httpx
import pytest

from rig import (
    ChatRequest,
    Endpoint,
    EndpointWait,
    FailedOver,
    InputTooLargeError,
    InvalidRequestError,
    Message,
    Pool,
    PoolPolicy,
    RateLimitedError,
    RequestTimeoutError,
    RetryPolicy,
    RigError,
    RunEvent,
    ServerError,
    SlotWait,
    UnauthorizedError,
    UpstreamError,
)
from rig.testing import (
    Answer,
    FakeBackend,
    Hang,
    Pause,
    ReceivedRequest,
    Reset,
    answer,
    faults,
    raw,
    repeat,
    reply,
    stream,
)

pytestmark = pytest.mark.parametrize("anyio_backend", ["trio-autojump"], indirect=True)

HELLO = ChatRequest(model="m", messages=(Message(role="user", content="hi"),), max_tokens=8)
EXACT = RetryPolicy(initial_s=0.5, jitter=0)


def pool_of(*backends: FakeBackend, slots: int | None = None, **options: Any) -> Pool:
    endpoints = [
        Endpoint(
            backend.url,
            name="abcdef"[index],
            slots=slots,
            http_client=httpx.AsyncClient(transport=backend.transport),
        )
        for index, backend in enumerate(backends)
    ]
    return Pool(endpoints, **({"retry": EXACT} | options))


def slow(seconds: float) -> Answer:
    return raw(Pause(seconds), *reply("ok").steps)


async def test_when_all_rest_the_first_to_return_is_waited_for() -> None:
    backends = [
        FakeBackend(faults.rate_limited(30), reply("a")),
        FakeBackend(faults.rate_limited(10), reply("b")),
    ]
    events: list[RunEvent] = []
    pool = pool_of(*backends, on_event=events.append)
    began = anyio.current_time()
    assert (await pool.complete(HELLO)).text == "b"
    assert anyio.current_time() - began == pytest.approx(10)
    assert [event for event in events if isinstance(event, EndpointWait)] == [
        EndpointWait(delay_s=10, endpoints=(("a", "busy"), ("b", "busy")))
    ]


async def test_who_comes_while_all_rest_waits_too_and_is_told_of_no_slots() -> None:
    backend = FakeBackend(faults.rate_limited(20), repeat(slow(1)))
    events: list[RunEvent] = []
    pool = pool_of(backend)
    times: list[float] = []

    async def ask() -> None:
        await pool.run("hi", model="m", max_tokens=9, on_event=events.append)
        times.append(anyio.current_time() - began)

    began = anyio.current_time()
    async with anyio.create_task_group() as tasks:
        for _ in range(4):
            tasks.start_soon(ask)
    # One tries the endpoint when its pause is over; its answer lets the others on together.
    assert times == pytest.approx([21, 22, 22, 22]) or times == pytest.approx([1, 1, 1, 21])
    assert not any(isinstance(event, SlotWait) for event in events)


async def test_a_pause_that_outlasts_the_budget_is_not_waited_for() -> None:
    backend = FakeBackend(repeat(faults.rate_limited(200)))
    pool = pool_of(backend, retry=RetryPolicy(budget_s=100, jitter=0))
    began = anyio.current_time()
    with pytest.raises(RateLimitedError):
        await pool.embed(["a"], model="m")
    assert anyio.current_time() == began


async def test_without_a_budget_a_long_load_is_waited_for() -> None:
    began = anyio.current_time()

    def loads(_: ReceivedRequest) -> Answer:
        return faults.loading() if anyio.current_time() < began + 1800 else reply("ok")

    backend = FakeBackend(repeat(loads))
    pool = pool_of(backend, retry=RetryPolicy(budget_s=None, jitter=0))
    assert (await pool.complete(HELLO)).text == "ok"
    assert len(backend.requests) == pytest.approx(901, abs=2)


async def test_a_load_within_the_budget_costs_a_look_every_two_seconds() -> None:
    began = anyio.current_time()

    def loads(_: ReceivedRequest) -> Answer:
        return faults.loading() if anyio.current_time() < began + 180 else reply("ok")

    pool = pool_of(FakeBackend(repeat(loads)))
    assert (await pool.complete(HELLO)).text == "ok"
    assert anyio.current_time() - began < 183


async def test_a_slot_is_waited_for_within_the_budget() -> None:
    backend = FakeBackend(repeat(faults.hang()))
    pool = pool_of(backend, slots=1, retry=RetryPolicy(budget_s=50))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(pool.complete, HELLO)
        await anyio.wait_all_tasks_blocked()
        began = anyio.current_time()
        with pytest.raises(RequestTimeoutError) as caught:
            await pool.complete(HELLO)
        assert caught.value.reason == "queue"
        assert anyio.current_time() - began == pytest.approx(50)
        tasks.cancel_scope.cancel()


async def test_a_fallback_is_asked_once_even_when_silence_has_spent_the_budget() -> None:
    backends = [FakeBackend(repeat(faults.hang())), FakeBackend(reply("ok"))]
    pool = pool_of(*backends)  # the time-out and the budget are both 300 s
    assert (await pool.complete(HELLO)).text == "ok"


async def test_but_not_again_and_again() -> None:
    backends = [FakeBackend(repeat(faults.hang())), FakeBackend(repeat(faults.server_error(503)))]
    pool = pool_of(*backends)
    with pytest.raises(ServerError):
        await pool.complete(HELLO)
    assert len(backends[1].requests) == 1


async def test_who_was_asked_before_the_budget_was_spent_is_not_asked_after() -> None:
    backends = [
        FakeBackend(*[faults.server_error(503)] * 3, repeat(reply("late"))),
        FakeBackend(repeat(faults.hang())),
    ]
    pool = pool_of(*backends, retry=RetryPolicy(initial_s=0.5, budget_s=200))
    with pytest.raises(RequestTimeoutError):
        await pool.complete(HELLO)
    assert [len(each.requests) for each in backends] == [3, 1]


async def test_a_test_that_takes_its_time_lets_another_follow() -> None:
    backend = FakeBackend(faults.loading(), repeat(slow(60)))
    pool = pool_of(backend, policy=PoolPolicy(loading_s=5, probe_s=2))
    times: list[float] = []
    began = anyio.current_time()

    async def ask() -> None:
        await pool.complete(HELLO)
        times.append(anyio.current_time() - began)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)  # finds it loading, and tries it after 5 s
        await anyio.sleep(6)
        for _ in range(2):
            tasks.start_soon(ask)
    assert times == pytest.approx([65, 67, 69])


async def test_the_time_that_was_lost_counts_as_latency() -> None:
    backend = FakeBackend(faults.rate_limited(4), slow(1))
    reply_ = await pool_of(backend).complete(HELLO)
    assert reply_.usage.latency_s == pytest.approx(5)


async def test_a_broken_connection_is_repeated_after_a_pause_that_doubles() -> None:
    times: list[float] = []

    def resets(_: ReceivedRequest) -> Answer:
        times.append(anyio.current_time())
        return faults.reset_before_headers() if len(times) < 3 else reply("ok")

    pool = pool_of(FakeBackend(repeat(resets)))
    await pool.complete(HELLO)
    assert [b - a for a, b in pairwise(times)] == pytest.approx([0.5, 1.0])


async def test_the_first_piece_of_each_attempt_has_its_own_limit() -> None:
    backends = [FakeBackend(repeat(stream(Hang()))) for _ in range(2)]
    events: list[RunEvent] = []
    pool = pool_of(*backends, policy=PoolPolicy(first_token_s=10), on_event=events.append)
    began = anyio.current_time()
    with pytest.raises(RequestTimeoutError) as caught:
        async with pool.stream(HELLO):
            pass
    assert caught.value.attempts == 2
    assert anyio.current_time() - began == pytest.approx(20)
    assert [event.attempt for event in events if isinstance(event, FailedOver)] == [2]


async def test_a_cancelled_pause_leaves_nothing() -> None:
    pool = pool_of(FakeBackend(repeat(faults.server_error(503))), slots=1)
    with anyio.move_on_after(0.2):
        await pool.complete(HELLO)
    assert pool.endpoints[0].in_flight == 0


@pytest.mark.parametrize("at", range(0, 60, 3))
async def test_wherever_a_call_is_cancelled_nothing_is_counted_any_more(at: int) -> None:
    backends = [
        FakeBackend(faults.loading(), repeat(faults.hang())),
        FakeBackend(faults.server_error(503), stream("a", Pause(5), "b", Pause(5)), repeat("ok")),
    ]
    pool = pool_of(*backends, slots=1, policy=PoolPolicy(first_token_s=8, loading_s=7))

    async def ask(streamed: Callable[[ChatRequest], Any]) -> None:
        async with streamed(HELLO) as replies:
            async for _ in replies:
                pass

    with anyio.move_on_after(at):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, pool.stream)
            tasks.start_soon(ask, pool.stream)
    assert [status.in_flight for status in pool.endpoints] == [0, 0]
    assert pool._floors.get().queue.waiting == 0


async def test_who_waits_for_a_slot_goes_on_when_a_pause_that_began_meanwhile_is_over() -> None:
    backend = FakeBackend(raw(Pause(3), Reset()), repeat(reply("ok")))
    pool = pool_of(
        backend, slots=1, policy=PoolPolicy(failures=1), retry=RetryPolicy(max_tries=1, jitter=0)
    )
    ends: list[tuple[str, float]] = []

    async def ask() -> None:
        try:
            await pool.complete(HELLO)
        except UpstreamError:
            ends.append(("broken", anyio.current_time() - began))
        else:
            ends.append(("ok", anyio.current_time() - began))

    began = anyio.current_time()
    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(ask)
    assert ends == [("broken", 3), ("ok", pytest.approx(8)), ("ok", pytest.approx(8))]


async def test_those_who_wait_keep_their_places_over_a_pause() -> None:
    order: list[str] = []

    def loads(request: ReceivedRequest) -> Answer:
        order.append(request.json["messages"][0]["content"])
        return raw(Pause(1), *faults.loading().steps) if len(order) == 1 else slow(1)

    pool = pool_of(FakeBackend(repeat(loads)), slots=1)

    async def ask(name: str) -> None:
        await pool.complete(replace(HELLO, messages=(Message(role="user", content=name),)))

    async with anyio.create_task_group() as tasks:
        for name in "abcdefgh":
            tasks.start_soon(ask, name)
            await anyio.wait_all_tasks_blocked()
        await anyio.sleep(2)
        tasks.start_soon(ask, "z")
    assert "".join(order) == "abcdefghaz"


async def test_a_server_that_lists_its_models_and_never_answers_takes_one_request_at_a_time() -> (
    None
):
    def hangs(request: ReceivedRequest) -> Answer:
        return answer(200, {"data": []}) if request.method == "GET" else faults.hang()

    backends = [FakeBackend(repeat(hangs)), FakeBackend(repeat(slow(1)))]
    pool = pool_of(*backends)
    late = 0

    async def ask() -> None:
        nonlocal late
        began = anyio.current_time()
        assert (await pool.complete(HELLO)).text == "ok"
        late += anyio.current_time() - began > 100

    async with anyio.create_task_group() as tasks:
        for _ in range(600):
            tasks.start_soon(ask)
            await anyio.sleep(1)
    assert late <= 3  # the first, and one behind each pause


async def test_a_pause_that_was_asked_for_outlasts_the_answers_to_older_requests() -> None:
    times: list[float] = []

    def limits(_: ReceivedRequest) -> Answer:
        times.append(anyio.current_time() - began)
        return (slow(3), faults.rate_limited(20), reply("ok"), reply("ok"))[len(times) - 1]

    pool = pool_of(FakeBackend(repeat(limits)))
    began = anyio.current_time()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(pool.complete, HELLO)
        await anyio.sleep(1)
        tasks.start_soon(pool.complete, HELLO)
        await anyio.sleep(4)
        tasks.start_soon(pool.complete, HELLO)
    assert times == pytest.approx([0, 1, 21, 21])


async def test_an_error_says_which_of_several_endpoints_it_comes_from() -> None:
    backends = [
        FakeBackend(repeat(faults.server_error(503))),
        FakeBackend(repeat(faults.error(401, "no", "x"))),
    ]
    pool = pool_of(*backends)
    with pytest.raises(UnauthorizedError) as caught:
        await pool.complete(HELLO)
    assert caught.value.message.startswith("b: ")
    assert "at a, b" in caught.value.message
    with pytest.raises(UnauthorizedError) as caught:
        await pool_of(backends[1]).complete(HELLO)
    assert not caught.value.message.startswith("a: ")  # there is but one


async def test_an_account_without_quota_is_called_so_while_it_rests() -> None:
    pool = pool_of(FakeBackend(repeat(faults.error(429, "no", "insufficient_quota"))))
    with pytest.raises(RateLimitedError):
        await pool.complete(HELLO)
    with pytest.raises(UpstreamError) as caught:
        await replaced(pool, RetryPolicy(budget_s=10)).complete(HELLO)
    assert "a is cooling (quota) for 300 s more" in caught.value.message


async def test_questions_ahead_of_a_request_are_no_requests() -> None:
    backends = [FakeBackend(repeat(faults.hang())), FakeBackend(repeat(reply("ok")))]
    pool = pool_of(*backends)
    for _ in range(4):
        await pool.complete(HELLO)
        await anyio.sleep(30)
    assert (pool.endpoints[0].requests, pool.endpoints[0].errors) == (1, 1)
    assert len(backends[0].requests) == 4


async def test_the_window_of_one_model_is_not_that_of_another() -> None:
    def overflows(request: ReceivedRequest) -> Answer:
        if request.method != "POST" or not request.target.endswith("/chat/completions"):
            return answer(404, {})
        if request.json["model"] == "big":
            return reply("ok")
        return faults.error(400, "maximum context length is 4096 tokens", "x")

    pool = pool_of(FakeBackend(repeat(overflows)))
    with pytest.raises(InputTooLargeError):
        await pool.complete(replace(HELLO, model="small"))
    assert await pool.context_window("small") == 4096
    assert await pool.context_window("big") is None


def replaced(pool: Pool, retry: RetryPolicy) -> Pool:
    """The same pool, in a hurry."""
    pool._retry = retry
    return pool


@pytest.mark.parametrize("slots", [1, None], ids=["for a slot", "for the end of a pause"])
async def test_closing_the_pool_ends_the_waits(slots: int | None) -> None:
    backend = FakeBackend(faults.hang() if slots else faults.loading(), repeat(faults.hang()))
    pool = pool_of(backend, slots=slots, policy=PoolPolicy(loading_s=100))
    ends: list[RigError] = []

    async def ask() -> None:
        try:
            await pool.complete(HELLO)
        except RigError as error:
            ends.append(error)

    began = anyio.current_time()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        await anyio.sleep(1)
        tasks.start_soon(ask)
        tasks.start_soon(ask)
        await anyio.sleep(1)
        await pool.aclose()
        await anyio.sleep(1)
        assert (
            len(ends) >= 2
        )  # a caller's own http_client is not closed, and who has asked may go on
        assert all(isinstance(error, InvalidRequestError) for error in ends)
        tasks.cancel_scope.cancel()
    assert anyio.current_time() - began == 3
    assert pool._floors.get().queue.waiting == 0
