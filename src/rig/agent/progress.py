"""How far a run has come, and whom it tells: what who asks the model and who answers its calls share."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

from rig.agent.beginning import first_state
from rig.agent.budget import Budget
from rig.agent.history import tool_turn
from rig.agent.prompt import is_said
from rig.agent.request import RunRequest, toolbox_of
from rig.agent.turn import INTERRUPTED, partial_result
from rig.errors import RigError
from rig.events import RunEvent, RunResult
from rig.messages import ToolCall

if TYPE_CHECKING:  # loaded by the runs that have a budget
    from rig.agent.ledger import SharedBudget


class Progress:
    """One run between two awaits.

    Args:
        request: the task and its bounds.
        told: gets each event before `request.on_event` does, and returns what is to be awaited then, if anything.

    Attributes:
        request: the task.
        tools: what it may call.
        state: where it stands.
        purse: what it spends out of: a book of its own, also where it shares a budget; None without one.
        observed: whether anybody is told of events: those nobody hears of are not even made.
        running: the calls under way.
        shown: the text of the reply under way, piece by piece, until the state knows it.
        callers: what a callback raised, which is no fault of the model.
    """

    __slots__ = (
        "_told",
        "callers",
        "observed",
        "purse",
        "request",
        "running",
        "shown",
        "state",
        "tools",
    )

    def __init__(
        self,
        request: RunRequest[Any],
        told: Callable[[RunEvent], Awaitable[None] | None] | None = None,
    ) -> None:
        self.request = request
        self.tools = toolbox_of(request)
        self.state = first_state(request)
        self.purse = None if request.budget is None else _purse(request.budget)
        self.observed = told is not None or request.on_event is not None
        self.running: list[ToolCall] = []
        self.shown: list[str] = []
        self.callers: RigError | None = None
        self._told = told

    async def tell(self, event: RunEvent) -> None:
        """Tell whoever listens; wait until they have heard.

        Args:
            event: what happened.

        Raises:
            RigError: a callback raised it.
        """
        waiting = self.telling(event)
        if waiting is not None:
            await waiting

    def telling(self, event: RunEvent) -> Awaitable[None] | None:
        """Tell whoever listens; for each token of a slow model, so no coroutine is made where none is needed.

        Args:
            event: what happened.

        Returns:
            What to await until they have heard; None where they have.
        """
        waiting = None if self._told is None else self._told(event)
        return waiting if self.request.on_event is None else self._call_back(event, waiting)

    async def _call_back(self, event: RunEvent, waiting: Awaitable[None] | None) -> None:
        if waiting is not None:
            await waiting
        if self.request.on_event is None:
            return
        try:
            answer = self.request.on_event(event)
            if isawaitable(answer):
                await answer
        except RigError as error:
            self.callers = error
            raise

    def recount(self, capped: str = "") -> None:
        """Tell the state what is left, which tools may have spent as well.

        Args:
            capped: the limit for which the last request got fewer max_tokens.
        """
        if self.purse is not None:
            self.state = self.state.but(left=self.purse.left, capped=capped)

    def so_far(self, error: Exception | None = None) -> RunResult[Any]:
        """How far the run has come, with a transcript that can be continued.

        The text of a streamed reply that did not end is its `text`, and no part of the transcript: what
        the model would have gone on to say nobody knows.

        Args:
            error: what ended it, if anything did.
        """
        interrupted = [tool_turn(call, INTERRUPTED) for call in self.running]
        state = self.state.but(messages=(*self.state.messages, *interrupted))
        result = partial_result(state, error)
        text = "".join(self.shown)
        return self.accounted(replace(result, text=text) if is_said(text) else result)

    def accounted(self, result: RunResult[Any]) -> RunResult[Any]:
        """The result with what was spent.

        Args:
            result: the run's.
        """
        return result if self.purse is None else replace(result, spent=self.purse.spent)


def _purse(budget: "Budget | SharedBudget") -> "SharedBudget":
    from rig.agent.ledger import SharedBudget  # noqa: PLC0415 of the runs that have one

    if isinstance(budget, SharedBudget):
        return SharedBudget(Budget(), within=budget)
    return SharedBudget(budget)
