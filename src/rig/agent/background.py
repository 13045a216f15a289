"""Tasks of the loop's own: work beside a block, and groups an interrupt comes out of bare."""

from collections.abc import AsyncGenerator, Callable, Coroutine
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
