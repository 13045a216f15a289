"""Work that is awaited in place, and can do no more harm there than in a task of its own.

Such a task, with its group, costs some 40 us (measured), which is more than all else that is done for a
call of a tool.
"""

import asyncio
import math
from collections.abc import Callable, Coroutine, Generator
from contextlib import nullcontext
from contextvars import copy_context
from types import coroutine
from typing import Any

import anyio
import anyio.lowlevel


async def apart(work: Callable[[], Coroutine[Any, Any, None]], until: float = math.inf) -> bool:
    """Await something so that no cancellation of somebody else, and nothing it sets, gets out of it.

    On asyncio whoever awaits a task that somebody else cancelled is given a cancellation that nobody
    asked of him; it ends the work and nothing more. One that was asked of this task passes, also where
    the work kept it to itself.

    Args:
        work: what to await; it tells by its effects whether it came to its end. Context variables it
            sets are its own.
        until: when it is cancelled, on the event loop's clock.

    Returns:
        Whether its time was up.

    Raises:
        BaseException: what it raised.
    """
    before = _requests()
    scope = anyio.CancelScope(deadline=until) if until < math.inf else None
    with scope or nullcontext():
        try:
            await _in_context_of_its_own(work())
        except anyio.get_cancelled_exc_class():
            if before is None or _requests() != before:
                raise
    if _requests() != before:
        await anyio.lowlevel.checkpoint()  # raises for the scope that asked, if one did
        cancelled = anyio.get_cancelled_exc_class()()
        raise cancelled
    return scope is not None and scope.cancel_called


def _requests() -> int | None:
    """How often this task was asked to end and did not yet; None on trio, where nobody else's task can be.

    asyncio's contract: whoever asks his own task, to time something out, takes that back (`uncancel`).
    """
    try:
        task = asyncio.current_task()
    except RuntimeError:
        return None
    return None if task is None else task.cancelling()


@coroutine
def _in_context_of_its_own(work: Coroutine[Any, Any, None]) -> Generator[Any, Any, None]:
    """Await a coroutine in a copy of the context, as a new task would."""
    run = copy_context().run
    step: Callable[[Any], Any] = work.send
    given: BaseException | None = None
    while True:
        try:
            awaited = run(step, given)
        except StopIteration:
            return
        finally:
            given = None  # an error holds this frame by its traceback: no cycle
        try:
            step, given = work.send, (yield awaited)
        except BaseException as error:  # noqa: BLE001 whatever comes is the work's
            step, given = work.throw, error
