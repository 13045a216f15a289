"""Work that is awaited in place, and can do no more harm there than in a task of its own.

Such a task, with its group, costs some 40 us (measured), which is more than all else that is done for a
call of a tool.
"""

import math
from collections.abc import Callable, Coroutine, Generator
from contextvars import copy_context
from functools import cache
from time import monotonic
from types import coroutine
from typing import Any, Generic, TypeVar

import anyio
import anyio.lowlevel

from rig.cancellation import cancel_requests
from rig.late_dataclass import dataclass

ValueT = TypeVar("ValueT")


@dataclass(frozen=True, slots=True)
class Ending(Generic[ValueT]):
    """How work ended.

    Attributes:
        value: what it returned; None where a cancellation ended it.
        duration_s: how long it took.
        time_is_up: it was cancelled for that.
    """

    value: ValueT | None
    duration_s: float
    time_is_up: bool


async def apart(
    work: Callable[[], Coroutine[Any, Any, ValueT]], timeout_s: float | None = None
) -> Ending[ValueT]:
    """Await something so that no cancellation of somebody else, and nothing it sets, gets out of it.

    On asyncio whoever awaits a task that somebody else cancelled is given a cancellation that nobody
    asked of him; it ends the work and nothing more. One that was asked of this task passes, also where
    the work kept it to itself.

    Args:
        work: what to await. Context variables it sets are its own.
        timeout_s: seconds after which it is cancelled, None for never.

    Raises:
        BaseException: what it raised; a RuntimeError where it left a cancel scope or a task group open.
    """
    asked = cancel_requests()
    if asked:  # that is on its way, and not the work's
        await anyio.lowlevel.checkpoint()
        asked = cancel_requests()
    # Only a difference is told of it: where a task of asyncio's runs, any clock that is steady will do.
    clock = anyio.current_time if asked is None else monotonic
    started_s = clock()
    until_s = math.inf if timeout_s is None else anyio.current_time() + timeout_s
    value: ValueT | None = None
    new_scope = anyio.CancelScope if asked is None else _scope_of_asyncio()
    with new_scope(deadline=until_s) as scope:  # also tells of a scope the work left open
        try:
            value = await _in_context_of_its_own(work())
        except anyio.get_cancelled_exc_class():
            if not _is_foreign(asked):
                raise
    if asked is not None and not _is_foreign(asked):
        await anyio.lowlevel.checkpoint()  # raises for the scope that asked, if one did
        cancelled = anyio.get_cancelled_exc_class()()
        raise cancelled
    time_is_up = timeout_s is not None and scope.cancel_called
    return Ending(value, clock() - started_s, time_is_up)


@cache
def _scope_of_asyncio() -> type[anyio.CancelScope]:
    """What `anyio.CancelScope` makes in a task of asyncio's: it finds out each time, in 2.5 us (measured)."""
    return type(anyio.CancelScope())


def _is_foreign(asked: int | None) -> bool:
    """Whether a cancellation was asked of somebody else: of this task nobody has asked more than before."""
    requests = cancel_requests()
    return asked is not None and requests is not None and requests <= asked


@coroutine
def _in_context_of_its_own(work: Coroutine[Any, Any, ValueT]) -> Generator[Any, Any, ValueT]:
    """Await a coroutine in a copy of the context, as a new task would."""
    run = copy_context().run
    step: Callable[[Any], Any] = work.send
    given: BaseException | None = None
    while True:
        try:
            awaited = run(step, given)
        except StopIteration as end:
            value: ValueT = end.value
            return value
        finally:
            given = None  # an error holds this frame by its traceback: no cycle
        try:
            step, given = work.send, (yield awaited)
        except BaseException as error:  # noqa: BLE001 whatever comes is the work's
            step, given = work.throw, error
