"""One client, several event loops: each has its own slots, and none is lost with a loop that died."""

import itertools

import anyio
import httpx
import pytest

from rig import Client
from rig.client.findings import Finding, Findings
from rig.client.per_loop import PerLoop
from rig.testing import FakeBackend, faults, reply

LOOPS = list(itertools.product(["asyncio", "trio"], repeat=2))


@pytest.mark.parametrize("loops", LOOPS, ids="-".join)
def test_slots_made_outside_of_a_loop_serve_each_loop_and_forget_what_a_dead_one_held(
    loops: tuple[str, str],
) -> None:
    slots = PerLoop(lambda: anyio.Semaphore(1))

    async def take() -> None:
        slots.get().acquire_nowait()  # never released: its loop ends with it

    for loop in loops:
        anyio.run(take, backend=loop)


@pytest.mark.parametrize("loops", LOOPS, ids="-".join)
def test_a_client_made_outside_of_any_loop_works_in_one_after_the_other(
    loops: tuple[str, str],
) -> None:
    backend = FakeBackend(reply("ok"), reply("ok"))
    http_client = httpx.AsyncClient(transport=backend.transport)
    client = Client("http://host", model="m", slots=1, http_client=http_client)

    async def ask() -> str:
        return (await client.run("hi", max_tokens=8)).text

    assert [anyio.run(ask, backend=loop) for loop in loops] == ["ok", "ok"]


async def test_all_slots_of_a_loop_are_one_count() -> None:
    slots = PerLoop(lambda: anyio.Semaphore(2))
    slots.get().acquire_nowait()
    slots.get().acquire_nowait()
    with pytest.raises(anyio.WouldBlock):
        slots.get().acquire_nowait()


@pytest.mark.parametrize("loops", LOOPS, ids="-".join)
def test_what_was_found_out_in_one_loop_is_looked_up_again_in_the_next(
    loops: tuple[str, str],
) -> None:
    looks: list[str] = []

    async def look(model: str) -> Finding[int]:
        looks.append(model)
        return Finding(4096, fresh_s=1e9)

    findings = Findings(look)

    async def ask() -> list[int | None]:
        return [await findings.get("m"), await findings.get("m")]

    assert [anyio.run(ask, backend=loop) for loop in loops] == [[4096, 4096]] * 2
    assert looks == ["m", "m"]


async def test_a_request_that_hangs_is_the_only_one_with_one_slot() -> None:
    backend = FakeBackend(faults.hang(), reply("ok"))
    async with backend.serve(), Client(backend.url, model="m", slots=1) as client:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: client.run("first", max_tokens=8))
            await backend.wait_for_requests(1)
            with anyio.move_on_after(0.05):
                await client.run("second", max_tokens=8)
            assert len(backend.requests) == 1
            tasks.cancel_scope.cancel()
        assert (await client.run("third", max_tokens=8)).text == "ok"
