"""Work beside a block: started with it, cancelled at its end, and never in the way of its exception."""

from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import anyio


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
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(work)
        try:
            yield
        except BaseException as fault:
            if isinstance(fault, (anyio.get_cancelled_exc_class(), GeneratorExit)):
                raise
            failure = fault  # raised again below, outside of the group
        tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure
