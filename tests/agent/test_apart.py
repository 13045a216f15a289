"""What work does to itself, or somebody else to it, ends it and nothing more; what is asked of us passes."""

import asyncio  # noqa: TID251  there alone a task can be cancelled by anybody
import gc
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from rig.agent.apart import apart

ASYNCIO = pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
VIRTUAL_TIME = pytest.mark.parametrize("anyio_backend", ["trio-autojump"], indirect=True)

MARK: ContextVar[str] = ContextVar("mark", default="outside")


class WorkError(Exception):
    """What failing work raises."""


@pytest.mark.parametrize("raised", [WorkError, ValueError, LookupError])
async def test_work_kept_apart_raises_what_it_raises(raised: type[Exception]) -> None:
    async def work() -> None:
        await anyio.lowlevel.checkpoint()
        raise raised

    with pytest.raises(raised) as caught:
        await apart(work)
    assert caught.value.__context__ is None


async def test_work_kept_apart_is_cancelled_with_who_waits() -> None:
    unwound: list[Any] = []

    async def work() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            unwound.append(True)

    with anyio.move_on_after(0) as scope:
        await apart(work)
    assert scope.cancelled_caught
    assert unwound in ([True], [])  # it may not even have begun


async def waits_for_what_is_cancelled() -> None:
    other = asyncio.ensure_future(asyncio.sleep(30))
    other.cancel()
    await other


@ASYNCIO
async def test_a_cancellation_of_somebody_else_ends_only_the_work() -> None:
    assert (await apart(waits_for_what_is_cancelled)).value is None
    await anyio.lowlevel.checkpoint()


@ASYNCIO
async def test_a_cancelled_task_cancels_its_work_and_is_cancelled() -> None:
    unwound, begun = [], anyio.Event()

    async def work() -> None:
        begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            unwound.append(True)

    task = asyncio.ensure_future(apart(work))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert unwound == [True]


@ASYNCIO
async def test_a_cancellation_that_the_work_keeps_to_itself_passes_all_the_same() -> None:
    begun = anyio.Event()

    async def work() -> None:
        begun.set()
        with suppress(asyncio.CancelledError):
            await anyio.sleep_forever()

    async def after() -> None:
        await apart(work)
        raise AssertionError("went on")

    task = asyncio.ensure_future(after())
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("swallows", [False, True])
async def test_the_scope_that_asked_gets_its_cancellation(swallows: bool) -> None:
    async def work() -> None:
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            if not swallows:
                raise

    async def waiting() -> None:
        await apart(work)
        await anyio.lowlevel.checkpoint()

    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(waiting)
            await anyio.wait_all_tasks_blocked()
            scope.cancel()
    assert scope.cancelled_caught


@ASYNCIO
async def test_a_time_out_of_the_works_own_is_its_own_affair() -> None:
    async def work() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await anyio.sleep_forever()
        with anyio.move_on_after(0):
            await anyio.sleep_forever()
        await waits_for_nothing()

    async def waits_for_nothing() -> None:
        with pytest.raises(asyncio.CancelledError):
            await waits_for_what_is_cancelled()

    assert not (await apart(work)).time_is_up
    await anyio.lowlevel.checkpoint()


@ASYNCIO
@pytest.mark.parametrize("waits", [True, False])
async def test_a_cancellation_that_is_on_its_way_is_not_the_works(waits: bool) -> None:
    begun = []

    async def work() -> None:
        begun.append(True)
        if waits:
            await anyio.sleep_forever()

    async def cancels_itself() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await apart(work)
        raise AssertionError("went on")

    with pytest.raises(asyncio.CancelledError):
        await asyncio.ensure_future(cancels_itself())
    assert begun == []


@ASYNCIO
@pytest.mark.parametrize("waits", [True, False])
async def test_work_that_cancels_the_task_it_is_in_is_heard(waits: bool) -> None:
    async def work() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        if waits:
            await anyio.sleep_forever()

    async def goes_on() -> None:
        await apart(work)
        raise AssertionError("went on")

    with pytest.raises(asyncio.CancelledError):
        await asyncio.ensure_future(goes_on())


async def test_what_the_work_returns_is_told() -> None:
    async def work() -> str:
        await anyio.lowlevel.checkpoint()
        return "found"

    assert (await apart(work)).value == "found"


@ASYNCIO
async def test_a_task_that_was_cancelled_before_can_still_await_apart() -> None:
    done = []

    async def work() -> None:
        await anyio.lowlevel.checkpoint()
        done.append(True)

    async def cleans_up() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            await apart(work)
            await apart(waits_for_what_is_cancelled)

    task = asyncio.ensure_future(cleans_up())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert done == [True]


@VIRTUAL_TIME
@pytest.mark.parametrize("timeout_s", [1, 3, None])
async def test_work_whose_time_is_up_is_cancelled_and_that_is_told(timeout_s: float | None) -> None:
    async def work() -> None:
        await anyio.sleep(2)

    ended = await apart(work, timeout_s)
    assert ended.time_is_up is (timeout_s == 1)
    assert ended.duration_s == (1 if timeout_s == 1 else 2)


async def test_time_that_is_up_ends_nothing_but_the_work() -> None:
    async def work() -> None:
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            return  # as if nothing had been

    assert (await apart(work, 0)).time_is_up
    await anyio.lowlevel.checkpoint()


async def test_what_the_work_sets_in_its_context_stays_there() -> None:
    seen = []

    async def work() -> None:
        MARK.set("inside")
        await anyio.lowlevel.checkpoint()
        seen.append(MARK.get())
        with anyio.move_on_after(0):
            await anyio.sleep_forever()
        seen.append(MARK.get())

    await apart(work)
    assert (seen, MARK.get()) == (["inside", "inside"], "outside")


async def test_work_that_failed_leaves_no_cycle() -> None:
    async def work() -> None:
        with anyio.move_on_after(0):
            await anyio.sleep_forever()
        try:
            with anyio.fail_after(0):
                await anyio.sleep_forever()
        except TimeoutError:
            pass
        raise WorkError

    gc.collect()
    gc.disable()
    try:
        with pytest.raises(WorkError):
            await apart(work)
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        left = [value for value in gc.garbage if isinstance(value, BaseException)]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert left == []


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("timeout_s", [None, 60])
def test_work_that_leaves_a_scope_open_is_told_where_it_ends(
    backend: str, timeout_s: float | None
) -> None:
    """Not later, to whoever waits then: the scope would cancel him."""
    went_on = []

    async def work() -> None:
        anyio.move_on_after(60).__enter__()

    async def main() -> None:
        await apart(work, timeout_s)
        went_on.append(True)

    with pytest.raises(RuntimeError):
        anyio.run(main, backend=backend)
    assert went_on == []
