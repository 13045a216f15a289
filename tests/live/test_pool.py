"""A pool of two real llama.cpp servers, one of which goes away: between requests, and in the middle of a stream."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio

from rig import (
    ChatOptions,
    ChatRequest,
    Delta,
    Endpoint,
    EndpointChanged,
    FailedOver,
    Message,
    Pool,
    PoolPolicy,
    RetryPolicy,
    RunEvent,
    tool,
)
from rig.testing import LocalModel, example_exchanges


class Stoppable:
    """A server that can be stopped while others go on."""

    def __init__(self) -> None:
        self.model = LocalModel()
        self._ready = anyio.Event()
        self._stop = anyio.Event()
        self._gone = anyio.Event()

    async def serve(self) -> None:
        async with self.model:
            self._ready.set()
            await self._stop.wait()
        self._gone.set()

    async def ready(self) -> None:
        await self._ready.wait()

    async def stop(self) -> None:
        self._stop.set()
        await self._gone.wait()


@asynccontextmanager
async def two_servers() -> AsyncGenerator[tuple[Stoppable, Stoppable]]:
    servers = Stoppable(), Stoppable()
    async with anyio.create_task_group() as tasks:
        for server in servers:
            tasks.start_soon(server.serve)
        for server in servers:
            await server.ready()
        yield servers
        tasks.cancel_scope.cancel()


def pool_of(first: Stoppable, second: Stoppable, events: list[RunEvent]) -> Pool:
    return Pool(
        [Endpoint(first.model.url, name="first"), Endpoint(second.model.url, name="second")],
        model="smollm2",
        policy=PoolPolicy(retries=0),
        retry=RetryPolicy(initial_s=0.2),
        on_event=events.append,
    )


async def test_a_run_is_finished_by_the_other_server_when_one_is_stopped_between_two_requests() -> (
    None
):
    events: list[RunEvent] = []
    async with two_servers() as (first, second), pool_of(first, second, events) as pool:

        @tool
        async def get_price(item: str) -> str:
            """Get the price of an item in a shop."""
            await first.stop()
            return "3 dollars"

        result = await pool.run(
            "How much does an apple cost?",
            system="You call functions to answer.",
            tools=[get_price],
            history=example_exchanges(),
            max_tokens=100,
            temperature=0.2,
            options=ChatOptions(seed=1),
        )
        assert "3 dollars" in result.text
        assert result.iterations == 2
        states = {status.name: status.state for status in pool.endpoints}
        assert states == {"first": "down", "second": "healthy"}
    assert [event.to_endpoint for event in events if isinstance(event, FailedOver)] == ["second"]


async def test_a_reply_is_begun_anew_by_the_other_server_when_one_is_stopped_while_it_streams() -> (
    None
):
    events: list[RunEvent] = []
    asked = ChatRequest(
        model="smollm2",
        messages=(Message(role="user", content="Tell me a long story about a fox."),),
        max_tokens=120,
        options=ChatOptions(temperature=0, extra_body={"ignore_eos": True}),
    )
    async with two_servers() as (first, second), pool_of(first, second, events) as pool:
        shown, retracted = "", ""
        async with pool.stream(asked) as replies:
            deltas = 0
            async for delta in replies:
                assert isinstance(delta, Delta)
                deltas += 1
                retracted += delta.retracted
                shown = delta.text if delta.retracted else shown + delta.text
                if deltas == 5:
                    await first.stop()
            reply = replies.reply()
        assert shown == reply.text
        assert retracted
        assert reply.usage.completion_tokens == 120
        assert [status.in_flight for status in pool.endpoints] == [0, 0]
    failed_over = [event for event in events if isinstance(event, FailedOver)]
    assert [(event.to_endpoint, event.begun) for event in failed_over] == [("second", True)]


async def test_what_a_real_server_tells_of_itself_is_used() -> None:
    events: list[RunEvent] = []
    async with LocalModel() as local:
        async with Pool([local.url], model=local.model, on_event=events.append) as pool:
            status = (await pool.check())[0]
            assert (status.state, status.slots, status.models) == ("unknown", 2, ("smollm2",))
            assert status.context_tokens == 2048
            async with anyio.create_task_group() as tasks:
                for number in range(5):
                    tasks.start_soon(ask, pool, number)
    assert [event.after for event in events if isinstance(event, EndpointChanged)] == ["healthy"]


async def ask(pool: Pool, number: int) -> None:
    assert (await pool.run(f"Say {number}.", max_tokens=8, on_limit="answer")).usage.reported
