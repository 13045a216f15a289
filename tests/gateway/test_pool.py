"""A pool over sockets: who is asked, who waits, what is told, and that nothing is left behind."""

import errno
import itertools
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel
import httpx
import pytest

from rig import (
    ChatOptions,
    ChatRequest,
    Delta,
    Endpoint,
    EndpointChanged,
    EndpointStatus,
    EndpointWait,
    FailedOver,
    InvalidRequestError,
    Message,
    ModelNotFoundError,
    Pool,
    PoolPolicy,
    RateLimitedError,
    RetryEvent,
    RetryPolicy,
    RunEvent,
    ServerError,
    SlotWait,
    StreamCutError,
    Timeouts,
    ToolCallStarted,
    UnauthorizedError,
    UpstreamError,
    tool,
)
from rig.testing import (
    Answer,
    Close,
    FakeBackend,
    ReceivedRequest,
    Until,
    answer,
    call_deltas,
    faults,
    models,
    raw,
    refused_url,
    repeat,
    reply,
    stream,
)
from rig.testing.completions import completion

FAST = RetryPolicy(initial_s=0.001)
QUICK = PoolPolicy(cooling_s=0.01, max_cooling_s=0.05, loading_s=0.01)


def asking(text: str = "hi", **options: Any) -> ChatRequest:
    return ChatRequest(
        model="m",
        messages=(Message(role="user", content=text),),
        max_tokens=8,
        options=ChatOptions(**options),
    )


HELLO = asking()


@asynccontextmanager
async def pool_of(
    *backends: FakeBackend, endpoints: list[dict[str, Any]] | None = None, **options: Any
) -> AsyncGenerator[Pool]:
    """Served backends, named a, b, c ..."""
    async with AsyncExitStack() as stack:
        made: list[Endpoint] = []
        for index, backend in enumerate(backends):
            await stack.enter_async_context(backend.serve())
            more = endpoints[index] if endpoints else {}
            made.append(Endpoint(backend.url, **({"name": "abcdef"[index]} | more)))
        settings: dict[str, Any] = {"retry": FAST, "policy": QUICK, "model": "m"} | options
        pool = await stack.enter_async_context(Pool(made, **settings))
        yield pool
        assert [status.in_flight for status in pool.endpoints] == [0] * len(backends)


def state(pool: Pool) -> list[str]:
    return [status.state for status in pool.endpoints]


# Who is asked


async def test_a_pool_runs_agents_as_a_client_does() -> None:
    @tool
    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    first = FakeBackend(reply(tool_calls=[("add", {"a": 1, "b": 2})]), reply("It is 3."))
    async with pool_of(first, FakeBackend()) as pool:
        result = await pool.run("1 + 2?", tools=[add], max_tokens=9)
        assert result.text == "It is 3."
        assert state(pool) == ["healthy", "unknown"]
    assert len(first.requests) == 2


async def test_requests_at_the_same_time_spread_over_the_endpoints() -> None:
    gate = anyio.Event()

    def waiting(_: ReceivedRequest) -> Answer:
        return raw(Until(gate), *reply("ok").steps)

    backends = [FakeBackend(repeat(waiting)) for _ in range(3)]
    async with pool_of(*backends) as pool, anyio.create_task_group() as tasks:
        for number in range(9):
            tasks.start_soon(pool.complete, asking(f"question {number}"))
        for backend in backends:
            await backend.wait_for_requests(3)
        assert [status.in_flight for status in pool.endpoints] == [3, 3, 3]
        gate.set()
    assert [len(backend.requests) for backend in backends] == [3, 3, 3]


async def test_a_conversation_goes_back_to_who_has_it_in_its_cache() -> None:
    backends = [
        FakeBackend(stream("a", "b"), repeat(reply("ok"))),
        FakeBackend(repeat(reply("ok"))),
    ]
    async with pool_of(*backends) as pool:
        async with pool.stream(asking("another")):  # keeps the first one busy
            await pool.complete(asking("mine"))
        for _ in range(3):
            await pool.complete(asking("mine"))
        assert [len(backend.requests) for backend in backends] == [1, 4]
        for backend in backends:  # and the other one to the other
            before = len(backend.requests)
            await pool.complete(asking("another" if backend is backends[0] else "mine"))
            assert len(backend.requests) == before + 1


async def test_models_decide_who_is_asked_and_what_they_are_called_there() -> None:
    backends = [FakeBackend(reply("small")), FakeBackend(reply("large"))]
    described: list[dict[str, Any]] = [{"models": ["small"]}, {"models": {"m": "org/M-AWQ"}}]
    async with pool_of(*backends, endpoints=described) as pool:
        assert (await pool.complete(HELLO)).text == "large"
        assert backends[1].requests[0].json["model"] == "org/M-AWQ"
        assert await pool.models() == ("small", "m")
        assert [pool.has_model(name) for name in ("small", "m", "x")] == [True, True, False]
        with pytest.raises(ModelNotFoundError):
            await pool.complete(ChatRequest(model="x", messages=HELLO.messages, max_tokens=8))
    assert backends[0].requests == []


async def test_who_has_not_got_the_model_is_remembered_and_another_is_asked() -> None:
    backends = [FakeBackend(faults.model_not_found("m")), FakeBackend(repeat(reply("ok")))]
    async with pool_of(*backends) as pool:
        assert pool.has_model("m") is None
        for _ in range(3):
            assert (await pool.complete(HELLO)).text == "ok"
        assert pool.endpoints[0].missing == ("m",)
        assert state(pool)[0] == "healthy"
    assert len(backends[0].requests) == 1


async def test_where_nobody_has_the_model_that_is_the_error() -> None:
    backends = [FakeBackend(repeat(faults.model_not_found("m"))) for _ in range(2)]
    async with pool_of(*backends) as pool:
        with pytest.raises(ModelNotFoundError) as caught:
            await pool.complete(HELLO)
        assert caught.value.attempts == 2
        assert pool.has_model("m") is False


async def test_models_are_asked_for_once_and_lists_lead_the_way() -> None:
    chat = {"/v1/chat/completions": reply("ok")}
    backends = [
        FakeBackend(routes={"/v1/models": models("other"), **chat}),
        FakeBackend(routes={"/v1/models": models("m", "other"), **chat}),
        FakeBackend(routes={"/v1/models": answer(500), **chat}),
    ]
    async with pool_of(*backends) as pool:
        assert await pool.models() == ("other", "m")
        assert pool.has_model("m") is True
        assert pool.has_model("none") is None
        await pool.complete(HELLO)
        assert [len(each.requests) for each in backends] == [1, 2, 1]


async def test_a_model_that_no_list_holds_is_asked_for_all_the_same() -> None:
    routes = {"/v1/models": models("alias"), "/v1/chat/completions": reply("ok")}
    async with pool_of(FakeBackend(routes=routes)) as pool:
        await pool.models()
        assert pool.has_model("m") is False
        assert (await pool.complete(HELLO)).text == "ok"


async def test_when_no_list_comes_that_is_the_error() -> None:
    async with pool_of(FakeBackend(answer(401, {"error": {"message": "no"}}))) as pool:
        with pytest.raises(UnauthorizedError):
            await pool.models()


async def test_tags_narrow_a_pool_that_stays_one() -> None:
    backends = [FakeBackend(repeat(reply("cpu"))), FakeBackend(repeat(reply("gpu")))]
    described = [{"tags": ["cheap"]}, {"tags": ["gpu", "vision"]}]
    async with pool_of(*backends, endpoints=described) as pool:
        view = pool.tagged("vision")
        assert (await view.complete(HELLO)).text == "gpu"
        assert (await view.run("hi", max_tokens=9)).text == "gpu"
        assert [status.name for status in view.endpoints] == ["b"]
        assert state(pool) == ["unknown", "healthy"]
        with pytest.raises(InvalidRequestError):
            pool.tagged("vision", "cheap")


async def test_embeddings_take_the_same_way() -> None:
    vectors = {"data": [{"index": 0, "embedding": [1.0, 2.0]}]}
    backends = [FakeBackend(repeat(answer(503))), FakeBackend(repeat(answer(200, vectors)))]
    async with pool_of(*backends) as pool:
        assert len(await pool.embed(["a"])) == 1
        assert await pool.embed([]) == ()
    assert len(backends[0].requests) == 3


async def test_the_window_of_a_pool_is_what_fits_everywhere() -> None:
    props = {"/props": answer(200, {"default_generation_settings": {"n_ctx": 8192}})}
    backends = [FakeBackend(routes=props), FakeBackend()]
    async with pool_of(*backends, endpoints=[{}, {"context_tokens": 4096}]) as pool:
        assert await pool.context_window() == 4096
        assert [status.context_tokens for status in pool.endpoints] == [8192, 4096]
    assert backends[1].requests == []


async def test_tokens_are_counted_by_who_can() -> None:
    tokens = {"/tokenize": answer(200, {"tokens": [1, 2, 3]})}
    backends = [FakeBackend(repeat(answer(404))), FakeBackend(routes=tokens)]
    async with pool_of(*backends) as pool:
        assert await pool.count_tokens("a b c") == 3


async def test_the_client_of_an_endpoint_can_be_had() -> None:
    async with pool_of(FakeBackend(reply("one")), FakeBackend(reply("two"))) as pool:
        assert (await pool.client("b").run("hi", model="m", max_tokens=9)).text == "two"
        with pytest.raises(InvalidRequestError):
            pool.client("z")


# What fails


async def test_a_401_is_the_callers_and_goes_nowhere_else() -> None:
    backends = [FakeBackend(answer(401, {"error": {"message": "no"}})), FakeBackend()]
    async with pool_of(*backends) as pool:
        with pytest.raises(UnauthorizedError):
            await pool.complete(HELLO)
        assert state(pool) == ["healthy", "unknown"]
    assert backends[1].requests == []


async def test_a_dead_endpoint_is_down_and_not_asked_for_a_while() -> None:
    events: list[RunEvent] = []
    long = PoolPolicy(cooling_s=60, max_cooling_s=60)
    slow = RetryPolicy(initial_s=60)
    async with FakeBackend(repeat(reply("ok"))).serve() as backend:
        with refused_url() as dead:
            async with Pool(
                [dead, backend.url], model="m", retry=slow, policy=long, on_event=events.append
            ) as pool:
                for _ in range(3):
                    assert (await pool.run("hi", max_tokens=9)).text == "ok"
                assert state(pool) == ["down", "healthy"]
                assert 50 < pool.endpoints[0].pause_s < 75
    assert [event for event in events if isinstance(event, FailedOver)] == [
        FailedOver(
            from_endpoint="endpoint-1", to_endpoint="endpoint-2", reason="unreachable", attempt=2
        )
    ]
    changes = [each for each in events if isinstance(each, EndpointChanged)]
    assert [(each.endpoint, each.after) for each in changes] == [
        ("endpoint-1", "down"),
        ("endpoint-2", "healthy"),
    ]


async def test_a_run_tells_what_happened_to_its_requests() -> None:
    backends = [FakeBackend(repeat(faults.server_error(503))), FakeBackend(reply("ok"))]
    events: list[RunEvent] = []
    async with pool_of(*backends) as pool:
        await pool.run("hi", max_tokens=9, on_event=events.append)
    kinds = [type(event) for event in events]
    assert kinds.count(RetryEvent) == 2
    assert kinds.count(FailedOver) == 1
    assert kinds.count(EndpointChanged) == 2
    assert "a" in str(next(event for event in events if isinstance(event, FailedOver)))


async def test_an_endpoint_that_loads_its_model_is_waited_for() -> None:
    events: list[RunEvent] = []
    backend = FakeBackend(faults.loading(), faults.loading(), reply("ok"))
    async with pool_of(backend, on_event=events.append) as pool:
        assert (await pool.complete(HELLO)).text == "ok"
    changes = [event.after for event in events if isinstance(event, EndpointChanged)]
    assert changes == ["loading", "healthy"]
    waits = [event for event in events if isinstance(event, EndpointWait)]
    assert waits[0].endpoints == (("a", "loading"),)
    assert len(waits) == 2


async def test_while_one_loads_another_answers() -> None:
    backends = [FakeBackend(repeat(faults.loading())), FakeBackend(repeat(reply("ok")))]
    async with pool_of(*backends, policy=PoolPolicy(loading_s=60)) as pool:
        for _ in range(3):
            await pool.complete(HELLO)
        assert state(pool) == ["loading", "healthy"]
        assert pool.endpoints[0].failures == 0
    assert len(backends[0].requests) == 1


async def test_a_lone_endpoint_has_a_circuit_too_and_its_return_is_waited_for() -> None:
    backend = FakeBackend(*[faults.server_error(503)] * 4, repeat(reply("ok")))
    events: list[RunEvent] = []
    async with pool_of(backend, on_event=events.append) as pool:
        assert (await pool.complete(HELLO)).text == "ok"
        assert state(pool) == ["healthy"]
    assert len(backend.requests) == 5
    assert [event.after for event in events if isinstance(event, EndpointChanged)] == [
        "cooling", "healthy",
    ]  # fmt: skip


async def test_a_lone_endpoint_that_stays_broken_is_given_up() -> None:
    async with pool_of(FakeBackend(repeat(faults.server_error(503)))) as pool:
        with pytest.raises(ServerError) as caught:
            await pool.complete(HELLO)
        assert caught.value.attempts == 5
        assert caught.value.status == 503


async def test_requests_and_errors_are_counted() -> None:
    backends = [FakeBackend(repeat(faults.server_error(503))), FakeBackend(repeat(stream("ok")))]
    async with pool_of(*backends) as pool:
        await pool.run("hi", max_tokens=9, stream=True)
        assert [(each.requests, each.errors) for each in pool.endpoints] == [(3, 3), (1, 0)]


async def test_with_retries_off_one_request_is_sent() -> None:
    backends = [FakeBackend(repeat(faults.server_error(503))), FakeBackend()]
    async with pool_of(*backends, retry=RetryPolicy.off()) as pool:
        with pytest.raises(ServerError):
            await pool.complete(HELLO)
    assert [len(each.requests) for each in backends] == [1, 0]


async def test_a_pause_beyond_the_budget_fails_at_once() -> None:
    backend = FakeBackend(repeat(faults.rate_limited(3600)))
    async with pool_of(backend, retry=RetryPolicy(budget_s=5)) as pool:
        with pytest.raises(RateLimitedError):
            await pool.complete(HELLO)
        with pytest.raises(UpstreamError) as caught:
            await pool.complete(HELLO)
        assert caught.value.reason == "no_endpoint"
    assert len(backend.requests) == 1


async def test_who_is_full_is_not_dead_and_who_is_free_answers() -> None:
    busy = answer(
        429, {"error": {"message": "busy"}}, {"X-RateLimit-Capacity": "4", "Retry-After": "60"}
    )
    backends = [FakeBackend(repeat(busy)), FakeBackend(repeat(reply("ok")))]
    async with pool_of(*backends) as pool:
        await pool.complete(HELLO)
        assert state(pool) == ["busy", "healthy"]
        assert pool.endpoints[0].failures == 0
        assert [len(each.requests) for each in backends] == [1, 1]


async def test_the_same_plain_500_at_temperature_0_is_not_asked_for_a_third_time() -> None:
    backends = [FakeBackend(repeat(faults.server_error(500))) for _ in range(2)]
    async with pool_of(*backends) as pool:
        with pytest.raises(ServerError):
            await pool.complete(asking(temperature=0))
    assert [len(each.requests) for each in backends] == [2, 2]


async def test_an_endpoint_that_was_silent_is_asked_something_small_first() -> None:
    hangs = True

    def chat(_: ReceivedRequest) -> Answer:
        return faults.hang() if hangs else reply("ok")

    def listing(_: ReceivedRequest) -> Answer:
        return faults.hang() if hangs else models("m")

    backend = FakeBackend(routes={"/v1/chat/completions": chat, "/v1/models": listing})
    other = FakeBackend(repeat(reply("other")))
    policy = PoolPolicy(cooling_s=0.01, max_cooling_s=0.01, probe_s=0.2)
    async with pool_of(backend, other, policy=policy, timeouts=Timeouts(first_byte_s=1.0)) as pool:
        assert (await pool.complete(HELLO)).text == "other"
        await anyio.sleep(0.02)
        assert (await pool.complete(HELLO)).text == "other"
        assert [each.method for each in backend.requests] == ["POST", "GET"]
        hangs = False
        await anyio.sleep(0.02)
        assert (await pool.complete(HELLO)).text == "ok"
        assert [each.method for each in backend.requests] == ["POST", "GET", "GET", "POST"]


# Streams


async def test_calls_that_had_begun_are_dropped_when_a_stream_is_begun_anew() -> None:
    calls = call_deltas(("lost", {"a": 1}))
    backends = [
        FakeBackend(stream("thinking ", *calls, Close())),
        FakeBackend(stream(*call_deltas(("kept", {"b": 2})), model="b")),
    ]
    async with pool_of(*backends) as pool, pool.stream(HELLO) as replies:
        deltas = [delta async for delta in replies]
        result = replies.reply()
    assert [call.name for call in result.tool_calls] == ["kept"]
    assert result.model == "b"
    assert result.text == ""
    assert Delta(retracted="thinking") in deltas


async def test_a_run_over_a_stream_that_breaks_uses_the_second_reply_alone() -> None:
    @tool
    async def kept(b: int) -> int:
        """Return it."""
        return b

    backends = [
        FakeBackend(stream("let me ", *call_deltas(("kept", {"b": 1}))[:2], Close())),
        FakeBackend(stream(*call_deltas(("kept", {"b": 2}))), stream("done")),
    ]
    events: list[RunEvent] = []
    async with pool_of(*backends) as pool:
        result = await pool.run(
            "go", tools=[kept], max_tokens=9, stream=True, on_event=events.append
        )
    assert result.text == "done"
    assert [outcome.content for outcome in result.tool_calls] == ["2"]
    assert result.usage.total_tokens == 30  # of the two replies that came to their end
    failed_over = next(index for index, event in enumerate(events) if isinstance(event, FailedOver))
    assert isinstance(events[failed_over], FailedOver)
    assert any(isinstance(event, ToolCallStarted) for event in events[failed_over:])


async def test_a_stream_that_breaks_everywhere_ends_with_its_text_on_the_error() -> None:
    backends = [FakeBackend(repeat(stream("some text", Close()))) for _ in range(2)]
    async with pool_of(*backends) as pool:
        shown = ""
        with pytest.raises(StreamCutError) as caught:
            async with pool.stream(HELLO) as replies:
                async for delta in replies:
                    shown = "" if delta.retracted else shown + delta.text
        assert shown == caught.value.text == "some text"
        with pytest.raises(StreamCutError):
            replies.reply()
    assert sorted(len(each.requests) for each in backends) == [1, 2]


async def test_what_was_shown_is_kept_on_an_error_of_the_fallback() -> None:
    backends = [
        FakeBackend(stream("some text", Close())),
        FakeBackend(answer(401, {"error": {"message": "no"}})),
    ]
    async with pool_of(*backends) as pool, pool.stream(HELLO) as replies:
        with pytest.raises(UnauthorizedError) as caught:
            async for _ in replies:
                pass
        assert caught.value.text == "some text"


async def test_an_endpoint_whose_streams_all_break_is_left_alone() -> None:
    backends = [FakeBackend(repeat(stream("a", Close()))), FakeBackend(repeat(stream("ok")))]
    policy = PoolPolicy(cooling_s=60, max_cooling_s=60)
    async with pool_of(*backends, endpoints=[{}, {"priority": 1}], policy=policy) as pool:
        for number in range(8):
            assert (await pool.run("hi", max_tokens=9, stream=True)).text == "ok", number
        assert state(pool) == ["cooling", "healthy"]
        assert len(backends[0].requests) == 3
        assert len(backends[1].requests) == 8


async def test_a_stream_that_is_left_frees_its_slot_and_closes_its_request() -> None:
    gate = anyio.Event()
    backend = FakeBackend(stream("a", Until(gate)), reply("ok"))
    async with pool_of(backend, endpoints=[{"slots": 1}]) as pool:
        async with pool.stream(HELLO) as replies:
            await anext(aiter(replies))
            assert pool.endpoints[0].state == "busy"
        assert pool.endpoints[0].in_flight == 0
        assert (await pool.complete(HELLO)).text == "ok"
        await backend.wait_until(backend.requests[0].disconnected.is_set)


async def test_a_stream_is_over_outside_of_its_block_and_at_its_end() -> None:
    async with pool_of(FakeBackend(stream("a"), stream("b"))) as pool:
        async with pool.stream(HELLO) as replies:
            with pytest.raises(InvalidRequestError):
                replies.reply()
            assert [delta.text async for delta in replies if delta.text] == ["a"]
            assert [delta async for delta in replies] == []
            assert pool.endpoints[0].in_flight == 0
        async with pool.stream(HELLO) as replies:
            pass
        assert [delta async for delta in replies] == []


# Slots


async def test_an_endpoint_never_has_more_requests_than_slots_and_all_are_answered() -> None:
    most = {"a": 0, "b": 0}

    def counting(name: str) -> Callable[[ReceivedRequest], Any]:
        busy = 0

        async def respond(_: ReceivedRequest) -> Answer:
            nonlocal busy
            busy += 1
            most[name] = max(most[name], busy)
            await anyio.sleep(0.002)
            busy -= 1
            return reply("ok")

        return respond

    backends = [FakeBackend(repeat(counting("a"))), FakeBackend(repeat(counting("b")))]
    async with pool_of(*backends, endpoints=[{"slots": 1}, {"slots": 3}]) as pool:
        async with anyio.create_task_group() as tasks:
            for number in range(60):
                tasks.start_soon(pool.complete, asking(f"{number}"))
    assert most == {"a": 1, "b": 3}
    assert sum(len(each.requests) for each in backends) == 60
    assert len(backends[1].requests) > len(backends[0].requests)


async def test_who_waits_takes_whichever_endpoint_is_free_first_in_turn_of_the_tenants() -> None:
    gates = [anyio.Event() for _ in range(2)]
    order: list[str] = []

    def held(index: int) -> Callable[[ReceivedRequest], Answer]:
        def respond(request: ReceivedRequest) -> Answer:
            order.append(request.json["messages"][0]["content"])
            first = order[-1].startswith("first")
            return raw(*([Until(gates[index])] if first else []), *reply("ok").steps)

        return respond

    backends = [FakeBackend(repeat(held(index))) for index in range(2)]
    events: list[RunEvent] = []
    async with pool_of(*backends, endpoints=[{"slots": 1}, {"slots": 1}]) as pool:
        async with anyio.create_task_group() as tasks:
            for number in range(2):
                tasks.start_soon(pool.complete, asking(f"first {number}"))
            for backend in backends:
                await backend.wait_for_requests(1)
            for text, tenant in (("a1", "a"), ("a2", "a"), ("a3", "a"), ("b1", "b")):
                tasks.start_soon(pool.complete, asking(text, tenant=tenant))
                await anyio.wait_all_tasks_blocked()

            async def run() -> None:
                await pool.run("last", max_tokens=9, on_event=events.append)

            tasks.start_soon(run)
            await anyio.wait_all_tasks_blocked()
            gates[1].set()  # only the second endpoint is ever free
            await backends[1].wait_for_requests(6)
            gates[0].set()
    assert order[2:4] == ["a1", "b1"]
    assert sorted(order[4:]) == ["a2", "a3", "last"]
    assert len(backends[0].requests) == 1
    waits = [event for event in events if isinstance(event, SlotWait)]
    assert waits[0].kind == "waiting"
    assert (waits[0].slots, waits[0].busy) == (2, 2)
    assert (waits[-1].kind, waits[-1].endpoint) == ("granted", "b")


async def test_who_waits_for_a_model_is_passed_over_for_who_can_use_the_slot() -> None:
    gate = anyio.Event()
    hold = raw(Until(gate), *reply("ok").steps)
    backends = [FakeBackend(hold, repeat(reply("ok"))), FakeBackend(hold, repeat(reply("ok")))]
    described = [{"slots": 1, "models": ["m"]}, {"slots": 1, "models": ["n"]}]

    async with pool_of(*backends, endpoints=described) as pool, anyio.create_task_group() as tasks:

        async def ask(model: str) -> None:
            await pool.run("hi", model=model, max_tokens=9)

        for model in "mn":
            tasks.start_soon(ask, model)
        for backend in backends:
            await backend.wait_for_requests(1)
        for model in "mmn":
            tasks.start_soon(ask, model)
        await anyio.wait_all_tasks_blocked()
        gate.set()
    assert [len(each.requests) for each in backends] == [3, 2]


# Cancellation


async def test_nothing_is_left_of_requests_that_were_cancelled() -> None:
    backends = [FakeBackend(repeat(faults.hang())), FakeBackend(repeat(faults.hang()))]
    async with pool_of(*backends, endpoints=[{"slots": 1}, {"slots": 1}]) as pool:
        async with anyio.create_task_group() as tasks:
            for number in range(6):
                tasks.start_soon(pool.complete, asking(f"{number}"))
            for backend in backends:
                await backend.wait_for_requests(1)
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
        assert [status.in_flight for status in pool.endpoints] == [0, 0]
        with anyio.move_on_after(0.05):
            await pool.complete(HELLO)
        assert sum(len(each.requests) for each in backends) == 3
        assert [status.in_flight for status in pool.endpoints] == [0, 0]


async def test_a_test_of_a_doubtful_endpoint_that_is_cancelled_frees_it_for_the_next() -> None:
    backend = FakeBackend(faults.loading(), faults.hang(), reply("ok"))
    policy = PoolPolicy(loading_s=0.01, probe_s=60)
    async with pool_of(backend, policy=policy) as pool:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pool.complete, HELLO)
            await backend.wait_for_requests(2)
            tasks.start_soon(pool.complete, HELLO)  # waits for the outcome of the test
            await anyio.wait_all_tasks_blocked()
            assert len(backend.requests) == 2
            tasks.cancel_scope.cancel()
        assert (await pool.complete(HELLO)).text == "ok"


async def test_one_request_tries_a_doubtful_endpoint_and_the_others_wait_for_it() -> None:
    gate = anyio.Event()
    backend = FakeBackend(
        faults.loading(), raw(Until(gate), *reply("ok").steps), repeat(reply("ok"))
    )
    policy = PoolPolicy(loading_s=0.01, probe_s=60)
    async with pool_of(backend, policy=policy) as pool, anyio.create_task_group() as tasks:
        tasks.start_soon(pool.complete, HELLO)
        await backend.wait_for_requests(2)
        for _ in range(5):
            tasks.start_soon(pool.complete, HELLO)
        await anyio.wait_all_tasks_blocked()
        assert len(backend.requests) == 2
        gate.set()
    assert len(backend.requests) == 7


async def test_a_stream_that_begins_proves_enough_to_let_the_others_on() -> None:
    begins, ends = anyio.Event(), anyio.Event()
    whole = [*stream("a", Until(ends), "b").steps]
    backend = FakeBackend(faults.loading(), raw(Until(begins), *whole), reply("ok"))
    policy = PoolPolicy(loading_s=0.01, probe_s=60)
    async with pool_of(backend, policy=policy) as pool, anyio.create_task_group() as tasks:

        async def complete() -> None:
            assert (await pool.complete(HELLO)).text == "ok"
            ends.set()

        async def tell() -> None:
            await backend.wait_for_requests(2)
            tasks.start_soon(complete)
            await anyio.wait_all_tasks_blocked()
            assert len(backend.requests) == 2
            begins.set()

        tasks.start_soon(tell)
        async with pool.stream(HELLO) as replies:
            assert "".join([delta.text async for delta in replies]) == "ab"


# Event loops, doors, settings

LOOPS = list(itertools.product(["asyncio", "trio"], repeat=2))


@pytest.mark.parametrize("loops", LOOPS, ids="-".join)
def test_a_pool_made_outside_of_any_loop_works_in_one_after_the_other(
    loops: tuple[str, str],
) -> None:
    backend = FakeBackend(*[faults.server_error(503)] * 3, repeat(reply("ok")))
    caller = httpx.AsyncClient(transport=backend.transport)
    pool = Pool(
        [Endpoint("http://fake.invalid", http_client=caller, slots=1)],
        model="m", retry=FAST, policy=QUICK,
    )  # fmt: skip
    assert state(pool) == ["unknown"]
    assert pool.has_model("m") is None

    async def ask() -> list[str]:
        result = await pool.run("hi", max_tokens=9)
        return [result.text, *state(pool)]

    assert [anyio.run(ask, backend=loop) for loop in loops] == [["ok", "healthy"]] * 2


async def test_a_closed_pool_says_so() -> None:
    pool = Pool(["http://127.0.0.1:1"], model="m")
    await pool.aclose()
    with pytest.raises(InvalidRequestError):
        await pool.complete(HELLO)
    with pytest.raises(InvalidRequestError):
        async with pool:
            pass


async def noted(_: RunEvent) -> None:
    await anyio.lowlevel.checkpoint()


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"policy": RetryPolicy()}, id="another policy"),
        pytest.param({"retry": PoolPolicy()}, id="the pool's policy for retries"),
        pytest.param({"timeouts": 30}, id="a number for time-outs"),
        pytest.param({"on_event": 7}, id="a listener that is none"),
        pytest.param({"on_event": noted}, id="an async listener"),
        pytest.param({"model": 7}, id="a model without a name"),
    ],
)
def test_a_setting_that_can_not_be_used_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequestError):
        Pool(["http://127.0.0.1:1"], **settings)


def test_a_pool_shows_names_and_nothing_else() -> None:
    pool = Pool([Endpoint("http://10.0.0.1/v1", "sk-secret", name="gpu")], model="m")
    assert repr(pool) == "Pool(gpu; model='m')"
    assert pool.endpoints == (EndpointStatus(name="gpu"),)


def test_a_pool_needs_a_url_that_can_be_one() -> None:
    with pytest.raises(InvalidRequestError):
        Pool(["ftp://10.0.0.1"])


@pytest.mark.parametrize(
    ("listing", "expected"),
    [
        (answer(401, {"error": {"message": "no"}}), "ok"),
        (faults.not_http(), "ok"),
        (faults.reset_before_headers(), "other"),
    ],
    ids=["refused", "garbled", "reset"],
)
async def test_any_answer_to_the_small_question_is_a_sign_of_life(
    listing: Answer, expected: str
) -> None:
    routes = {"/v1/models": listing}
    backend = FakeBackend(faults.hang(), reply("ok"), routes=routes)
    policy = PoolPolicy(cooling_s=0.01, max_cooling_s=0.01)
    other = FakeBackend(repeat(reply("other")))
    async with pool_of(backend, other, policy=policy, timeouts=Timeouts(first_byte_s=1.0)) as pool:
        await pool.complete(HELLO)
        await anyio.sleep(0.02)
        assert (await pool.complete(HELLO)).text == expected


async def test_a_model_that_no_tagged_endpoint_has_is_an_error_at_once() -> None:
    described = [{"tags": ["a"], "models": ["m"]}, {"tags": ["b"], "models": ["n"]}]
    async with pool_of(FakeBackend(), FakeBackend(), endpoints=described) as pool:
        with pytest.raises(ModelNotFoundError):
            await pool.tagged("b").complete(HELLO)


async def test_where_nobody_counts_tokens_there_is_no_count() -> None:
    backends = [FakeBackend(repeat(answer(404))), FakeBackend()]
    async with pool_of(*backends, endpoints=[{}, {"models": ["n"]}]) as pool:
        assert await pool.count_tokens("a b c") is None
    assert backends[1].requests == []


# Where this process has no descriptor left


def in_process(error: OSError | None) -> dict[str, Any]:
    def handle(request: httpx.Request) -> httpx.Response:
        if error is not None:
            raise httpx.ConnectError("no", request=request) from error
        return httpx.Response(200, json=completion({"content": "here"}))

    return {"http_client": httpx.AsyncClient(transport=httpx.MockTransport(handle))}


async def test_who_can_not_be_reached_for_want_of_a_descriptor_is_not_ill() -> None:
    full = OSError(errno.EMFILE, "x")
    made = [
        Endpoint("http://a/v1", name="a", **in_process(full)),
        Endpoint("http://b/v1", name="b", **in_process(None)),
    ]
    async with Pool(made, retry=FAST, policy=QUICK, model="m") as pool:
        assert (await pool.complete(HELLO)).text == "here"
        first = pool.endpoints[0]
        assert (first.state, first.failures, first.errors) == ("unknown", 0, 0)


@pytest.mark.parametrize("anyio_backend", ["trio-autojump"], indirect=True)
async def test_where_nobody_can_be_reached_so_all_are_asked_now_and_then_within_the_budget() -> (
    None
):
    full = OSError(errno.EMFILE, "x")
    made = [Endpoint(f"http://{name}/v1", name=name, **in_process(full)) for name in "ab"]
    async with Pool(made, retry=RetryPolicy(budget_s=60), model="m") as pool:
        started = anyio.current_time()
        with pytest.raises(UpstreamError) as caught:
            await pool.complete(HELLO)
        assert caught.value.reason == "too_many_files"
        assert 2 < caught.value.attempts < 20
        assert 15 < anyio.current_time() - started < 100
        assert state(pool) == ["unknown", "unknown"]
