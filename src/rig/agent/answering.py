"""Answering the calls of a reply: confirmed where they must be, run in order or together, and written down."""

from collections.abc import Awaitable, Sequence
from inspect import isawaitable
from typing import TYPE_CHECKING

import anyio

from rig.agent.background import task_group
from rig.agent.calling import ReadyCall, ran
from rig.agent.progress import Progress
from rig.agent.state import Admitted, Fail
from rig.agent.tools import ToolContext
from rig.agent.turn import DECLINED, afforded, answered, refused
from rig.errors import ToolError
from rig.events import ToolFinished, ToolOutcome, ToolStarted
from rig.messages import ToolCall

if TYPE_CHECKING:  # loaded by the runs that have a budget
    from rig.agent.ledger import SharedBudget, ToolCallsTaken

MAX_CONCURRENT_CALLS = 8
"""Calls of one reply that run at the same time. Neighbours beyond wait their turn: a reply may hold 32,
and what a tool talks to is usually less patient than a model."""


def answer(progress: Progress, calls: Sequence[Admitted]) -> Awaitable[Fail | None]:
    """Answer calls, as many of them by running them as the budget has left.

    Args:
        progress: the run.
        calls: each ready to run, or answered.

    Returns:
        What is to be awaited. It gives None; or the end of the run, before any call is run, where the
        budget has too few. It raises a ToolError where a tool failed for good; calls after it are not run.
    """
    if progress.purse is None:
        return _Answers(progress).give(calls)
    return _paid(progress, progress.purse, calls)


async def _paid(
    progress: Progress, purse: "SharedBudget", calls: Sequence[Admitted]
) -> Fail | None:
    wanted = sum(isinstance(one, ReadyCall) for one in calls)
    with purse.take_tool_calls(wanted) as taken:
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
        progress = self._progress
        for group in _groups(calls):
            if len(group) > 1:
                await self._give_together(group)
                continue
            one = await self._confirmed(group[0]) if _asks(group[0]) else group[0]
            failure: ToolError | None = None
            if isinstance(one, ReadyCall):
                if progress.observed:
                    await progress.tell(ToolStarted(call=one.call))
                call = one.call
                one, failure = await ran(one, self._begun(call))
                # Not in a finally: a call that was cancelled stays listed, for the partial transcript.
                progress.running.remove(call)
            progress.state = answered(progress.state, one)
            if progress.observed:
                await progress.tell(ToolFinished(outcome=progress.state.outcomes[-1]))
            if failure is not None:
                raise failure

    async def _give_together(self, group: Sequence[Admitted]) -> None:
        """Run neighbours at the same time; their results keep their order.

        Raises:
            ToolError: a tool failed for good; the others were cancelled.
            BaseException: an interrupt.
        """
        calls = [await self._confirmed(one) if _asks(one) else one for one in group]
        outcomes: list[ToolOutcome | None] = [
            None if isinstance(one, ReadyCall) else one for one in calls
        ]
        failures: list[BaseException] = []
        limiter = anyio.CapacityLimiter(MAX_CONCURRENT_CALLS)

        async def answer_at(index: int, ready: ReadyCall) -> None:
            failure: BaseException | None = None
            try:
                async with limiter:
                    outcomes[index], failure = await ran(ready, self._begun(ready.call))
                    self._progress.running.remove(ready.call)
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

    async def _confirmed(self, one: Admitted) -> Admitted:
        """The call, or its answer when somebody who can be asked, and has to be, said no."""
        confirm = self._request.confirm
        if confirm is None or one.call.id in self._request.approve:
            return one
        decision = confirm(one.call)
        if isawaitable(decision):
            decision = await decision
        return one if decision is True else refused(one.call, DECLINED)

    def _begun(self, call: ToolCall) -> ToolContext:
        """What the tool may know of a call that is under way from here."""
        progress = self._progress
        if self._taken is not None:
            self._taken.executed()
        progress.running.append(call)
        return ToolContext(
            call=call,
            iteration=progress.state.iterations or 1,
            deps=self._request.deps,
            budget=progress.purse,
        )

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


def _asks(one: Admitted) -> bool:
    """Whether the call runs only when somebody agreed, before or now."""
    return isinstance(one, ReadyCall) and one.tool.confirm


def _groups(calls: Sequence[Admitted]) -> list[list[Admitted]]:
    """Calls in order, those together that are neighbours and all concurrent."""
    groups: list[list[Admitted]] = []
    joins = False
    for one in calls:
        concurrent = isinstance(one, ReadyCall) and one.tool.concurrent
        if joins and concurrent:
            groups[-1].append(one)
        else:
            groups.append([one])
        joins = concurrent
    return groups
