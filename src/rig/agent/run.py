"""The loop: awaits what `rig.agent.turn` asks for. It knows models and tools, not HTTP.

Decisions are not made here. A run that is cancelled from outside leaves nothing behind: its state is a
value that dies with it.
"""

import math
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import anyio

from rig.agent.asking import Asking
from rig.agent.beginning import history_of, opened
from rig.agent.budget import out_of
from rig.agent.calling import admit
from rig.agent.progress import Progress
from rig.agent.request import RunRequest
from rig.agent.state import AdmitCalls, Admitted, Ask, AskAgain, CallTools, Fail, Finish, Step
from rig.agent.turn import DECLINED, before_request, plan_calls, refused
from rig.errors import NotConfiguredError, RigError
from rig.events import OutputRejected, RunEvent, RunFinished, RunResult
from rig.messages import Message, ToolCall
from rig.model import Model, StreamingModel

if TYPE_CHECKING:  # loaded by the runs that have one
    from rig.agent.ledger import SharedBudget

__all__ = ["Run", "RunRequest", "run"]

OutputT = TypeVar("OutputT")


def run(
    model: Model | StreamingModel, request: RunRequest[OutputT]
) -> Coroutine[Any, Any, RunResult[OutputT]]:
    """Run an agent: ask, run the tools it calls, give it the results, until it answers.

    Args:
        model: what answers the requests, piece by piece where the request says `stream`.
        request: the task and its bounds.

    Returns:
        What is to be awaited. It gives the answer, or an outcome that is none: refused, or needs_confirmation
        with the calls that wait; see `RunResult.termination`. It raises

        - OutputLimitError: a reply was cut at max_tokens, or three in a row for their repetition;
        - IterationLimitError: the rounds ran out, or one reply held too many calls;
        - BudgetExceededError: one of the limits of the budget ran out; `reason` says which;
        - EmptyReplyError: a reply held neither text nor calls;
        - NotJSONError: the typed answer held no JSON, also when asked for again where rounds were left;
        - InvalidJSONError: the typed answer did not match its type; the same;
        - ToolError: a tool failed for good;
        - RigError: the model failed. Every RigError carries the partial result as `result`; what a
          callback raises comes out as it is.

    Raises:
        NotConfiguredError: the model can't do what the request asks for.
    """
    return Run(model, request).result()


class Run(Generic[OutputT]):
    """One run.

    Args:
        model: what answers the requests.
        request: the task and its bounds.
        told: gets each event before `request.on_event` does, and returns what is to be awaited, if anything.

    Raises:
        NotConfiguredError: the model has no method for what the request asks for.
    """

    __slots__ = ("_asking", "_progress", "_request")

    def __init__(
        self,
        model: Model | StreamingModel,
        request: RunRequest[OutputT],
        told: Callable[[RunEvent], Awaitable[None] | None] | None = None,
    ) -> None:
        method = "stream" if request.stream else "complete"
        if not callable(getattr(model, method, None)):
            raise NotConfiguredError(f"this model can't be used so: it has no method {method}")
        self._request = request
        self._progress = Progress(request, told)
        self._asking = Asking(model, self._progress)

    def result(self) -> Coroutine[Any, Any, RunResult[OutputT]]:
        """Run to the end, or to the deadline.

        Returns:
            What is to be awaited. It raises a RigError where the run failed, whose `result` is the partial
            one.
        """
        purse = self._progress.purse
        return self._loop() if purse is None else self._within_deadline(purse)

    def so_far(self, error: Exception | None = None) -> RunResult[Any]:
        """How far the run has come, with a transcript that can be continued.

        Args:
            error: what ended it, if anything did.
        """
        return self._progress.so_far(error)

    async def _within_deadline(self, purse: "SharedBudget") -> RunResult[OutputT]:
        """Run to the end, or to the deadline.

        Raises:
            BudgetExceededError: that came first.
        """
        purse.start()
        self._progress.recount()
        deadline_s = purse.deadline_s
        if deadline_s == math.inf:
            return await self._loop()
        if deadline_s > anyio.current_time():
            with anyio.CancelScope(deadline=deadline_s):
                return await self._loop()
        error = out_of("seconds")
        error.result = self.so_far(error)
        raise error

    async def _loop(self) -> RunResult[OutputT]:
        """Await step by step. Bounded: every way round passes the cap of rounds in the turn's rules.

        Raises:
            RigError: the run failed; its `result` is the partial one.
        """
        progress = self._progress
        step: Step
        try:
            step = await self._resumed() if self._request.history else self._opened(())
            while not isinstance(step, Finish):
                progress.state = step.state
                if progress.shown:
                    progress.shown.clear()
                match step:
                    case Ask():
                        step = await self._asking.ask()
                    case AdmitCalls():
                        tools = progress.tools
                        step = plan_calls(step, [admit(tools, call) for call in step.calls])
                    case CallTools():
                        step = await self._answer(step.calls) or before_request(progress.state)
                    case AskAgain():
                        await progress.tell(OutputRejected(problem=step.problem))
                        step = await self._asking.ask()
                    case Fail():
                        raise step.error
            result = progress.accounted(step.result) if progress.purse is not None else step.result
            if progress.observed:
                await progress.tell(RunFinished(result=result))
        except RigError as error:
            error.result = self.so_far(error)
            raise
        return result

    async def _resumed(self) -> Step:
        """Answer the calls that waited for this run, if any did, and make ready to ask."""
        progress = self._progress
        history, pending = history_of(self._request)
        if pending:
            progress.state = progress.state.but(messages=history)
            failed = await self._answer([self._decided(call) for call in pending])
            if failed is not None:
                return failed
            history = progress.state.messages
        return self._opened(history)

    def _opened(self, history: Sequence[Message]) -> Step:
        messages = opened(self._request, history)
        return before_request(self._progress.state.but(messages=messages))

    def _answer(self, calls: Sequence[Admitted]) -> Awaitable[Fail | None]:
        from rig.agent.answering import answer  # noqa: PLC0415 of the runs that have tools

        return answer(self._progress, calls)

    def _decided(self, call: ToolCall) -> Admitted:
        if call.id in self._request.approve:
            return admit(self._progress.tools, call)
        return refused(call, DECLINED)
