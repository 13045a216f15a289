"""Answering the calls of a reply: confirmed where they must be, run in order or together, and written down."""

from collections.abc import Sequence
from inspect import isawaitable
from itertools import groupby
from typing import TYPE_CHECKING

import anyio

from rig.agent.background import task_group
from rig.agent.calling import ReadyCall, run_ready
from rig.agent.progress import Progress
from rig.agent.results import error_text
from rig.agent.state import Admitted, Fail
from rig.agent.tools import ToolContext
from rig.agent.turn import DECLINED, afforded, answered, refused
from rig.errors import ToolError
from rig.events import ToolFinished, ToolOutcome, ToolStarted

if TYPE_CHECKING:  # loaded by the runs that have a budget
    from rig.agent.ledger import ToolCallsTaken

MAX_CONCURRENT_CALLS = 8
"""Calls of one reply that run at the same time. Neighbours beyond wait their turn: a reply may hold 32,
and what a tool talks to is usually less patient than a model."""


async def answer(progress: Progress, calls: Sequence[Admitted]) -> Fail | None:
    """Answer calls, as many of them by running them as the budget has left.

    Args:
        progress: the run.
        calls: each ready to run, or answered.

    Returns:
        None; or the end of the run, before any call is run, where the budget has too few.

    Raises:
        ToolError: a tool failed for good; calls after it are not run.
    """
    if progress.purse is None:
        await _Answers(progress).give(calls)
        return None
    wanted = sum(isinstance(one, ReadyCall) for one in calls)
    with progress.purse.take_tool_calls(wanted) as taken:
        step = afforded(progress.state, calls, taken.count)
        if isinstance(step, Fail):
            return step
        await _Answers(progress, taken).give(step.calls)
    progress.recount()
    return None


class _Answers:
    """The answers to the calls of one reply.

    Args:
        progress: the run.
        taken: the calls its budget lets it run, None without one.
    """

    __slots__ = ("_progress", "_request", "_taken")

    def __init__(self, progress: Progress, taken: "ToolCallsTaken | None" = None) -> None:
        self._progress = progress
        self._request = progress.request
        self._taken = taken

    async def give(self, calls: Sequence[Admitted]) -> None:
        """Answer calls in order; neighbours that all are concurrent run together.

        Raises:
            ToolError: a tool failed for good; calls after it are not run.
        """
        for together, neighbours in groupby(calls, key=_runs_with_neighbours):
            group = [*neighbours]
            if together and len(group) > 1:
                await self._give_together(group)
            else:
                for one in group:
                    await self._give_one(one)

    async def _give_one(self, one: Admitted) -> None:
        """Answer one call.

        Raises:
            ToolError: the tool failed for good.
        """
        one = await self._confirmed(one) if self._needs_asking(one) else one
        failure: ToolError | None = None
        if isinstance(one, ReadyCall):
            if self._progress.observed:
                await self._progress.tell(ToolStarted(call=one.call))
            one, failure = await self._execute(one)
        for event in self._noted([one]):
            await self._progress.tell(event)
        if failure is not None:
            raise failure

    async def _give_together(self, group: Sequence[Admitted]) -> None:
        """Run neighbours at the same time; their results keep their order.

        Raises:
            ToolError: a tool failed for good; the others were cancelled.
            BaseException: an interrupt.
        """
        calls = [await self._confirmed(one) if self._needs_asking(one) else one for one in group]
        outcomes: list[ToolOutcome | None] = [
            None if isinstance(one, ReadyCall) else one for one in calls
        ]
        failures: list[BaseException] = []
        limiter = anyio.CapacityLimiter(MAX_CONCURRENT_CALLS)

        async def answer_at(index: int, ready: ReadyCall) -> None:
            failure: BaseException | None = None
            try:
                async with limiter:
                    outcomes[index], failure = await self._execute(ready)
            except anyio.get_cancelled_exc_class():
                raise
            except BaseException as fault:  # noqa: BLE001 Ctrl-C: raised again outside of the group
                failure = fault
            if failure is not None:
                failures.append(failure)
                tasks.cancel_scope.cancel()

        for one in calls:
            if isinstance(one, ReadyCall) and self._progress.observed:
                await self._progress.tell(ToolStarted(call=one.call))
        try:
            async with task_group() as tasks:
                for index, one in enumerate(calls):
                    if isinstance(one, ReadyCall):
                        tasks.start_soon(answer_at, index, one)
        finally:
            # Also when a deadline ended the group: what was done is part of the partial result.
            events = self._noted([outcome for outcome in outcomes if outcome is not None])
        for event in events:
            await self._progress.tell(event)
        if failures:
            raise failures[0]

    def _needs_asking(self, one: Admitted) -> bool:
        """Whether somebody is to be asked before the call runs, and can be."""
        if not isinstance(one, ReadyCall) or not one.tool.confirm:
            return False
        return self._request.confirm is not None and one.call.id not in self._request.approve

    async def _confirmed(self, one: Admitted) -> Admitted:
        """The call, or its answer when somebody who was asked said no."""
        confirm = self._request.confirm
        if confirm is None:
            return one
        decision = confirm(one.call)
        if isawaitable(decision):
            decision = await decision
        return one if decision is True else refused(one.call, DECLINED)

    async def _execute(self, ready: ReadyCall) -> tuple[ToolOutcome, ToolError | None]:
        """Run one call; a fatal error is its outcome as well."""
        context = ToolContext(
            call=ready.call,
            iteration=max(1, self._progress.state.iterations),
            deps=self._request.deps,
            budget=self._progress.purse,
        )
        if self._taken is not None:
            self._taken.executed()
        self._progress.running.append(ready.call)
        failure: ToolError | None = None
        try:
            outcome = await run_ready(ready, context)
        except ToolError as error:
            failure = error
            outcome = ToolOutcome(call=ready.call, content=error_text(error), is_error=True)
        # Not in a finally: a call that was cancelled stays listed, for the partial transcript.
        self._progress.running.remove(ready.call)
        return outcome, failure

    def _noted(self, outcomes: Sequence[ToolOutcome]) -> Sequence[ToolFinished]:
        """Put outcomes into the state; what is to be told of them."""
        state = self._progress.state
        for outcome in outcomes:
            state = answered(state, outcome)
        self._progress.state = state
        if not self._progress.observed:
            return ()
        told = state.outcomes[len(state.outcomes) - len(outcomes) :]
        return [ToolFinished(outcome=outcome) for outcome in told]


def _runs_with_neighbours(one: Admitted) -> bool:
    return isinstance(one, ReadyCall) and one.tool.concurrent
