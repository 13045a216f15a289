"""A thousand runs at once, and cancellation at every step of one: nothing is lost, nothing leaks."""

import resource
from collections.abc import Iterator

import anyio
import pytest

from rig import Client, tool
from rig.testing import Answer, FakeBackend, ReceivedRequest, repeat, reply

RUNS = 1000


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


@pytest.fixture
def _many_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 4 * RUNS
    if hard != resource.RLIM_INFINITY and hard < wanted:
        pytest.skip(f"the machine allows {hard} open files, the test needs {wanted}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("_many_files")
async def test_a_thousand_runs_at_once_over_a_thousand_connections() -> None:
    everybody = anyio.Event()
    arrived = 0

    async def when_all_are_here(request: ReceivedRequest) -> Answer:
        nonlocal arrived
        arrived += 1
        if arrived == RUNS:
            everybody.set()
        await everybody.wait()
        return two_rounds(request)

    backend = FakeBackend(repeat(when_all_are_here))
    answers: dict[int, str] = {}

    async def one(client: Client, number: int) -> None:
        result = await client.run(str(number), model="m", tools=[add], max_tokens=64)
        answers[number] = result.text

    async with backend.serve(), Client(backend.url) as client:
        async with anyio.create_task_group() as tasks:
            for number in range(RUNS):
                tasks.start_soon(one, client, number)
        assert backend.connections.opened == RUNS
    assert answers == {number: f"It is {number + 1}." for number in range(RUNS)}


async def test_a_run_cancelled_at_any_step_leaks_no_connection_and_no_slot() -> None:
    backend = FakeBackend(repeat(two_rounds))
    async with backend.serve(), Client(backend.url, slots=1) as client:
        finished = False
        for steps in range(500):
            with anyio.CancelScope() as scope:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(cancel_after, scope, steps)
                    await client.run("1", model="m", tools=[add], max_tokens=64)
                    finished = True
                    tasks.cancel_scope.cancel()
            if finished and not scope.cancelled_caught:
                break
            finished = False
        assert finished
        # the one slot is free and the pool is sound: a run still goes through, over the one
        # connection that is left
        result = await client.run("1", model="m", tools=[add], max_tokens=64)
        assert result.text == "It is 2."
        await backend.wait_until(lambda: backend.connections.open == 1)


async def cancel_after(scope: anyio.CancelScope, steps: int) -> None:
    for _ in range(steps):
        await anyio.lowlevel.checkpoint()
    scope.cancel()
