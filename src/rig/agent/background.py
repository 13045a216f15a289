"""Tasks of the loop's own: work beside a block, work kept apart, and groups an interrupt comes out of bare."""

import math
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import anyio
from anyio.abc import TaskGroup

from rig.agent.results import leaves


@asynccontextmanager
async def task_group() -> AsyncGenerator[TaskGroup]:
    """A task group that Ctrl-C leaves as what it is, not as one failure of a group.

    Raises:
        BaseException: the interrupt, where nothing but interrupts ended the group.
    """
    interrupt: BaseException | None = None
    try:
        async with anyio.create_task_group() as tasks:
            yield tasks
    except BaseExceptionGroup as group:
        interrupt = interrupt_in(group)
        if interrupt is None:
            raise
    if interrupt is not None:
        raise interrupt  # here, so that the group is not its context


def interrupt_in(error: BaseException) -> BaseException | None:
    """The KeyboardInterrupt or SystemExit that a group stands for; None where anything else is in it.

    Args:
        error: an exception, a group of any depth.
    """
    found = [*leaves(error)]
    interrupts = [leaf for leaf in found if isinstance(leaf, KeyboardInterrupt | SystemExit)]
    return interrupts[0] if interrupts and len(interrupts) == len(found) else None


async def apart(work: Callable[[], Awaitable[None]], until: float = math.inf) -> bool:
    """Await something in a task of its own, so that it can't end this one by being cancelled itself.

    On asyncio whoever awaits a task that somebody else cancelled is given a cancellation that nobody
    asked of him; it ends the task of its own and nothing more. What this task is asked for reaches it.

    Args:
        work: what to await; it tells by its effects whether it came to its end.
        until: when it is cancelled, on the event loop's clock.

    Returns:
        Whether its time was up.

    Raises:
        BaseException: what it raised.
    """
    failure: BaseException | None = None

    async def run() -> None:
        nonlocal failure
        try:
            await work()
        except anyio.get_cancelled_exc_class():
            raise
        except BaseException as fault:  # noqa: BLE001 raised again below, outside of the group
            failure = fault

    async with task_group() as tasks:
        tasks.cancel_scope.deadline = until
        tasks.start_soon(run)
    if failure is not None:
        raise failure
    # A task that ends by a cancellation of somebody else cancels its group too.
    return tasks.cancel_scope.cancel_called and anyio.current_time() >= until


@asynccontextmanager
async def in_background(work: Callable[[], Coroutine[Any, Any, None]]) -> AsyncGenerator[None]:
    """Run a coroutine function while the block runs; cancel it when the block ends.

    A task group would wrap the block's exception in a group; here it comes out as it is.

    Args:
        work: what to run.

    Raises:
        BaseException: what the block raised.
    """
    failure: BaseException | None = None
    async with task_group() as tasks:
        tasks.start_soon(work)
        try:
            yield
        except BaseException as fault:
            if isinstance(fault, anyio.get_cancelled_exc_class()):
                raise
            failure = fault  # raised again below, outside of the group
        tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure
