"""The loop: awaits what `rig.agent.turn` asks for. It knows models and tools, not HTTP.

Decisions are not made here. A run that is cancelled from outside leaves nothing behind: its state is a
value that dies with it.
"""

import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from inspect import isawaitable
from itertools import groupby
from typing import Any, Generic, TypeVar, cast

import anyio

from rig.agent.background import task_group
from rig.agent.budget import Budget, Counted, counted, out_of, prompt_size, usage_of
from rig.agent.calling import ReadyCall, admit, run_ready
from rig.agent.compactor import Compactor, compaction_of
from rig.agent.constraints import held_output, is_constrained
from rig.agent.deltas import events_of
from rig.agent.format_stream import FormatStream
from rig.agent.history import prepare, prepare_open, tool_turn
from rig.agent.ladder import held, is_lost, offers_tools, rungs, tool_format
from rig.agent.ledger import Reservation, SharedBudget, ToolCallsTaken
from rig.agent.output import output_for
from rig.agent.prompt import is_said, opening, with_instructions, with_notice
from rig.agent.request import RunRequest
from rig.agent.results import error_text
from rig.agent.state import (
    AdmitCalls,
    Admitted,
    Ask,
    AskAgain,
    CallTools,
    Fail,
    Finish,
    Rules,
    RunState,
    Step,
)
from rig.agent.toolbox import Toolbox
from rig.agent.tools import ToolContext
from rig.agent.truncation import truncated_prompt
from rig.agent.turn import (
    DECLINED,
    INTERRUPTED,
    afforded,
    answered,
    before_request,
    next_step,
    partial_result,
    plan_calls,
    recovered,
    refused,
    with_empty_reply,
)
from rig.errors import (
    EmptyReplyError,
    InvalidRequestError,
    NotConfiguredError,
    RefusedError,
    RigError,
    ToolError,
)
from rig.events import (
    OutputRejected,
    RepetitionCut,
    ReplyReceived,
    RoundStarted,
    RunEvent,
    RunFinished,
    RunResult,
    ToolFinished,
    ToolOutcome,
    ToolStarted,
    event_listener,
    run_memory,
)
from rig.messages import Message, ToolCall, Usage
from rig.model import ChatOptions, ChatRequest, Model, Reply, ReplyStream, StreamingModel

__all__ = ["Run", "RunRequest", "run"]

MAX_CONCURRENT_CALLS = 8
"""Calls of one reply that run at the same time. Neighbours beyond wait their turn: a reply may hold 32,
and what a tool talks to is usually less patient than a model."""

OutputT = TypeVar("OutputT")


async def run(model: Model | StreamingModel, request: RunRequest[OutputT]) -> RunResult[OutputT]:
    """Run an agent: ask, run the tools it calls, give it the results, until it answers.

    Args:
        model: what answers the requests, piece by piece where the request says `stream`.
        request: the task and its bounds.

    Returns:
        The answer, or an outcome that is none: refused, or needs_confirmation with the calls that
        wait; see `RunResult.termination`.

    Raises:
        NotConfiguredError: the model can't do what the request asks for.
        OutputLimitError: a reply was cut at max_tokens, or three in a row for their repetition.
        IterationLimitError: the rounds ran out, or one reply held too many calls.
        BudgetExceededError: one of the limits of the budget ran out; `reason` says which.
        EmptyReplyError: a reply held neither text nor calls.
        NotJSONError: the typed answer held no JSON, also when asked for again where rounds were left.
        InvalidJSONError: the typed answer did not match its type; the same.
        ToolError: a tool failed for good.
        RigError: the model failed. Every RigError carries the partial result as `result`; what a
            callback raises comes out as it is.
    """
    return await Run(model, request).result()


class Run(Generic[OutputT]):
    """One run. Holds nothing but its state between two awaits.

    Args:
        model: what answers the requests.
        request: the task and its bounds.
        told: awaited with each event before `request.on_event` is.

    Raises:
        NotConfiguredError: the model has no method for what the request asks for.
    """

    def __init__(
        self,
        model: Model | StreamingModel,
        request: RunRequest[OutputT],
        told: Callable[[RunEvent], Awaitable[None]] | None = None,
    ) -> None:
        method = "stream" if request.stream else "complete"
        if not callable(getattr(model, method, None)):
            raise NotConfiguredError(f"this model can't be used so: it has no method {method}")
        self._model = model
        self._request = request
        self._told = told
        self._observed = told is not None or request.on_event is not None
        self._truncation_told = False
        self._memory: dict[object, object] = {}  # of the models below, see rig.events.run_memory
        self._callers: RigError | None = None  # what a callback raised: no fault of the model
        self._tools = Toolbox(request.tools)
        self._running: list[ToolCall] = []
        self._shown: list[str] = []  # of the reply under way, until the state knows it
        self._purse = _purse(request.budget)
        self._taken: ToolCallsTaken | None = None
        self._counted: Counted | None = None  # the last prompt the server told the size of
        self._compactor = self._made_compactor()
        rules = _rules(request)
        self._state = RunState(rules=rules, model=request.model, format=rules.formats[0])

    async def result(self) -> RunResult[OutputT]:
        """Run to the end.

        Raises:
            RigError: the run failed; its `result` is the partial one.
        """
        try:
            return await self._within_deadline()
        except RigError as error:
            error.result = self.so_far(error)
            raise

    def so_far(self, error: Exception | None = None) -> RunResult[Any]:
        """How far the run has come, with a transcript that can be continued.

        The text of a streamed reply that did not end is its `text`, and no part of the transcript: what
        the model would have gone on to say nobody knows.

        Args:
            error: what ended it, if anything did.
        """
        interrupted = [tool_turn(call, INTERRUPTED) for call in self._running]
        state = self._state.but(messages=(*self._state.messages, *interrupted))
        result = partial_result(state, error)
        text = "".join(self._shown)
        return self._accounted(replace(result, text=text) if is_said(text) else result)

    def _accounted(self, result: RunResult[Any]) -> RunResult[Any]:
        return result if self._purse is None else replace(result, spent=self._purse.spent)

    async def _within_deadline(self) -> RunResult[OutputT]:
        """Run to the end, or to the deadline.

        Raises:
            BudgetExceededError: that came first.
        """
        if self._purse is None:
            return await self._loop()
        self._purse.start()
        self._state = self._state.but(left=self._purse.left)
        deadline = self._purse.deadline_s
        if deadline == math.inf:
            return await self._loop()
        if deadline > anyio.current_time():
            with anyio.CancelScope(deadline=deadline):
                return await self._loop()
        error = out_of("seconds")
        raise error

    async def _loop(self) -> RunResult[OutputT]:
        """Await step by step. Bounded: every way round passes the cap of rounds in the turn's rules."""
        step = await self._first_step()
        while not isinstance(step, Finish):
            step = await self._next(step)
        result = self._accounted(step.result)
        await self._emit(RunFinished(result=result))
        return result

    async def _next(self, step: Ask | AskAgain | AdmitCalls | CallTools | Fail) -> Step:
        self._state = step.state
        self._shown.clear()
        match step:
            case Fail():
                raise step.error
            case AdmitCalls():
                return plan_calls(step, tuple(admit(self._tools, call) for call in step.calls))
            case CallTools():
                return await self._answer_within(step.calls) or before_request(self._state)
            case AskAgain():
                await self._emit(OutputRejected(problem=step.problem))
                return await self._ask()
            case Ask():
                return await self._ask()

    async def _first_step(self) -> Step:
        """Answer the calls that waited for this run, if any did, and make ready to ask."""
        request = self._request
        messages, pending = prepare_open(opening(request.system, request.messages, ""))
        if pending:
            self._state = self._state.but(messages=messages)
            failed = await self._answer_within([self._decided(call) for call in pending])
            if failed is not None:
                return failed
            messages = self._state.messages
        messages = prepare(opening("", messages, request.content))
        return before_request(self._state.but(messages=messages))

    def _decided(self, call: ToolCall) -> Admitted:
        if call.id in self._request.approve:
            return admit(self._tools, call)
        return refused(call, DECLINED)

    # The model

    async def _ask(self) -> Step:
        """Ask the model once; what follows may be to ask it again in another form.

        Raises:
            InvalidRequestError: the request can't be made.
            RigError: it failed for good.
        """
        await self._tell_of_changes()
        try:
            request = self._chat_request(self._state)
        except InvalidRequestError as error:  # a grammar that is too large
            step = recovered(self._state, error)
            if step is None:
                raise
            return step
        if self._compactor is not None:
            self._compactor.counted = self._counted or self._compactor.counted
            request = await self._fitted(self._compactor, request)
        if self._purse is None:
            return await self._exchange(request, None)
        async with await self._purse.reserve(request, prompt_size(request, self._counted)) as paid:
            return await self._exchange(paid.request, paid)

    async def _fitted(self, compactor: Compactor, request: ChatRequest) -> ChatRequest:
        """The request with a history that fits.

        A summary is asked for where the run goes, but what is decided for it alone is not kept.
        """
        memory = run_memory.get()
        run_memory.set(dict(self._memory))
        try:
            self._state, request = await compactor.fitted(self._state, request)
        finally:
            run_memory.set(memory)
        self._recount()
        return request

    async def _exchange(self, request: ChatRequest, paid: Reservation | None) -> Step:
        """One request and its reply.

        Raises:
            RigError: it failed for good.
        """
        await self._emit(RoundStarted(iteration=self._state.iterations + 1))
        tokens, cost = 0, 0.0
        try:
            reply = await self._complete(request)
            if paid is not None:
                tokens, cost = self._pay(paid, reply)
        except RigError as error:
            if paid is not None and not paid.settled and _was_answered(error):
                self._pay(paid, Reply(usage=getattr(error, "usage", None) or Usage()))
            step = None if error is self._callers else self._recovered(request, error)
            if step is None:
                raise
            return step
        finally:
            if paid is not None and not paid.settled and self._shown:
                self._pay(paid, Reply(text="".join(self._shown)))
        await self._emit(ReplyReceived(iteration=self._state.iterations + 1, reply=reply))
        if reply.repetition is not None:
            await self._emit(RepetitionCut(repetition=reply.repetition))
        if self._purse is not None or self._compactor is not None:
            self._counted = counted(request, reply.usage) or self._counted
        await self._tell_of_truncation(request, reply)
        return next_step(self._state, reply, tokens=tokens, cost=cost)

    def _recovered(self, request: ChatRequest, error: RigError) -> Step | None:
        if self._compactor is not None and self._compactor.overflowed(error, request):
            self._counted = None  # the compactor knows better
            return Ask(state=self._state)
        return recovered(self._state, error)

    def _pay(self, paid: Reservation, reply: Reply) -> tuple[int, float]:
        """Write down what a reply took; the tokens and the money."""
        usage = usage_of(paid.request, reply)
        paid.settle(usage, reply.model)
        self._recount(capped=paid.capped)
        return usage.total, paid.cost

    def _recount(self, capped: str = "") -> None:
        """Tell the state what is left, which tools may have spent as well."""
        if self._purse is not None:
            self._state = self._state.but(left=self._purse.left, capped=capped)

    async def _complete(self, request: ChatRequest) -> Reply:
        """Ask the model; that it declined is an answer, however it is told.

        Raises:
            EmptyReplyError: it said nothing; what that cost is counted.
            RigError: it failed.
        """
        listener, memory = event_listener.get(), run_memory.get()
        run_memory.set(self._memory)
        if self._observed:
            event_listener.set(self._emit)
        try:
            if self._request.stream:
                return await self._streamed(request)
            reply = await cast("Model", self._model).complete(request)
            form = tool_format(self._state)
            return form.reply(reply, self._tools) if self._may_call else reply
        except RefusedError as error:
            category = error.category
        except EmptyReplyError as error:
            self._state = with_empty_reply(self._state, error.usage)
            raise
        finally:
            event_listener.set(listener)
            run_memory.set(memory)
        return Reply(finish_reason="content_filter", refusal=category, model=self._state.model)

    async def _streamed(self, request: ChatRequest) -> Reply:
        async with cast("StreamingModel", self._model).stream(request) as raw:
            stream = self._readable(raw)
            async for delta in stream:
                if delta.retracted:
                    self._shown.clear()
                if delta.text:
                    self._shown.append(delta.text)
                if self._observed:
                    for event in events_of(delta):
                        await self._emit(event)
            return stream.reply()

    def _readable(self, stream: ReplyStream) -> ReplyStream:
        """The stream with its calls as calls, however they travel."""
        form = tool_format(self._state)
        if form.name == "native" or not self._may_call:
            return stream
        return FormatStream(stream, form, self._tools)

    @property
    def _may_call(self) -> bool:
        """Whether calls are looked for where they travel as text."""
        return bool(self._tools) and self._request.options.tool_choice != "none"

    async def _tell_of_changes(self) -> None:
        untold = self._state.untold
        if untold:
            self._state = self._state.but(untold=())
        for event in untold:
            await self._emit(event)

    async def _tell_of_truncation(self, request: ChatRequest, reply: Reply) -> None:
        """Tell once that the server reads less than it is sent."""
        if self._truncation_told or not (self._observed or self._compactor):
            return
        truncated = truncated_prompt(request.messages, reply.usage)
        if truncated is not None:
            self._truncation_told = True
            if self._compactor is not None:
                self._compactor.truncated(truncated.read_tokens)
            await self._emit(truncated)

    def _made_compactor(self) -> Compactor | None:
        compaction = compaction_of(self._request)
        if compaction is None:
            return None
        return Compactor(
            self._model,
            self._request,
            compaction,
            purse=self._purse,
            emit=self._emit,
            build=self._chat_request,
        )

    def _chat_request(self, state: RunState) -> ChatRequest:
        request = self._request
        messages: Sequence[Message] = state.messages
        for instructions in (request.instructions, _output_instructions(state)):
            if instructions.strip():
                messages = with_instructions(messages, instructions)
        if state.notice:
            messages = with_notice(messages, state.notice)
        logical = ChatRequest(
            model=request.model,
            messages=messages,
            max_tokens=request.max_tokens,
            tools=self._tools if offers_tools(state) else (),
            options=_options(request.options, state),
        )
        return tool_format(state).request(logical)

    # Its calls

    async def _answer_within(self, calls: Sequence[Admitted]) -> Fail | None:
        """Answer calls, as many of them by running them as the budget has left."""
        if self._purse is None:
            await self._answer(calls)
            return None
        wanted = sum(isinstance(one, ReadyCall) for one in calls)
        with self._purse.take_tool_calls(wanted) as taken:
            step = afforded(self._state, calls, taken.count)
            if isinstance(step, Fail):
                return step
            self._taken = taken
            await self._answer(step.calls)
        self._recount()
        return None

    async def _answer(self, calls: Sequence[Admitted]) -> None:
        """Answer calls in order; neighbours that all are concurrent run together.

        Raises:
            ToolError: a tool failed for good; calls after it are not run.
        """
        for together, neighbours in groupby(calls, key=_runs_with_neighbours):
            group = [*neighbours]
            if together and len(group) > 1:
                await self._answer_together(group)
            else:
                for one in group:
                    await self._answer_one(one)

    async def _answer_one(self, admitted: Admitted) -> None:
        """Answer one call.

        Raises:
            ToolError: the tool failed for good.
        """
        one = await self._confirmed(admitted)
        failure: ToolError | None = None
        if isinstance(one, ReadyCall):
            await self._emit(ToolStarted(call=one.call))
            one, failure = await self._execute(one)
        await self._record([one])
        if failure is not None:
            raise failure

    async def _answer_together(self, group: Sequence[Admitted]) -> None:
        """Run neighbours at the same time; their results keep their order.

        Raises:
            ToolError: a tool failed for good; the others were cancelled.
            BaseException: an interrupt.
        """
        calls = [await self._confirmed(one) for one in group]
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
            if isinstance(one, ReadyCall):
                await self._emit(ToolStarted(call=one.call))
        try:
            async with task_group() as tasks:
                for index, one in enumerate(calls):
                    if isinstance(one, ReadyCall):
                        tasks.start_soon(answer_at, index, one)
        finally:
            # Also when a deadline ended the group: what was done is part of the partial result.
            finished = [outcome for outcome in outcomes if outcome is not None]
            events = self._noted(finished)
        for event in events:
            await self._emit(event)
        if failures:
            raise failures[0]

    async def _confirmed(self, one: Admitted) -> Admitted:
        """The call, or its answer when somebody who was asked said no."""
        confirm = self._request.confirm
        if not isinstance(one, ReadyCall) or not one.tool.confirm or confirm is None:
            return one
        if one.call.id in self._request.approve:
            return one
        decision = confirm(one.call)
        if isawaitable(decision):
            decision = await decision
        return one if decision is True else refused(one.call, DECLINED)

    async def _execute(self, ready: ReadyCall) -> tuple[ToolOutcome, ToolError | None]:
        """Run one call; a fatal error is its outcome as well."""
        context = ToolContext(
            call=ready.call,
            iteration=max(1, self._state.iterations),
            deps=self._request.deps,
            budget=self._purse,
        )
        if self._taken is not None:
            self._taken.executed()
        self._running.append(ready.call)
        failure: ToolError | None = None
        try:
            outcome = await run_ready(ready, context)
        except ToolError as error:
            failure = error
            outcome = ToolOutcome(call=ready.call, content=error_text(error), is_error=True)
        # Not in a finally: a call that was cancelled stays listed, for the partial transcript.
        self._running.remove(ready.call)
        return outcome, failure

    async def _record(self, outcomes: Sequence[ToolOutcome]) -> None:
        for event in self._noted(outcomes):
            await self._emit(event)

    def _noted(self, outcomes: Sequence[ToolOutcome]) -> list[ToolFinished]:
        """Put outcomes into the state; what is to be told of them."""
        for outcome in outcomes:
            self._state = answered(self._state, outcome)
        told = self._state.outcomes[len(self._state.outcomes) - len(outcomes) :]
        return [ToolFinished(outcome=outcome) for outcome in told]

    async def _emit(self, event: RunEvent) -> None:
        if self._told is not None:
            await self._told(event)
        if self._request.on_event is None:
            return
        try:
            waiting = self._request.on_event(event)
            if isawaitable(waiting):
                await waiting
        except RigError as error:
            self._callers = error
            raise


def _rules(request: RunRequest[OutputT]) -> Rules:
    known = request.capabilities
    output = output_for(request.output) if request.output is not None else None
    return Rules(
        max_iterations=request.max_iterations,
        on_limit=request.on_limit,
        may_ask=request.confirm is not None,
        output=output,
        held=held_output(output, known, request.options),
        has_tools=bool(request.tools),
        formats=rungs(request.tool_format, known, has_tools=bool(request.tools)),
        call_grammar=known.grammar is not False,
        json_grammar=bool(known.grammar) and output is None,
        grammar_holds=bool(known.grammar) and not is_constrained(request.options),
    )


def _purse(budget: Budget | SharedBudget | None) -> SharedBudget | None:
    """What the run spends out of: a book of its own, also where it shares a budget."""
    if isinstance(budget, SharedBudget):
        return SharedBudget(Budget(), within=budget)
    return None if budget is None else SharedBudget(budget)


def _was_answered(error: RigError) -> bool:
    """Whether a request that failed had a reply all the same, which costs."""
    return isinstance(error, EmptyReplyError) or is_lost(error)


def _output_instructions(state: RunState) -> str:
    return state.rules.output.instructions if state.rules.output is not None else ""


def _options(options: ChatOptions, state: RunState) -> ChatOptions:
    """The options of the next request.

    A choice that forces a call is for the first round: the model could never answer. Without tools,
    several servers refuse both fields.
    """
    without_tools = state.rules.has_tools and not offers_tools(state)
    if without_tools or state.closing is not None:
        options = replace(options, tool_choice=None, parallel_tool_calls=None)
    form = held(state)
    if form is not None:
        return form.within(options)
    if state.iterations and options.tool_choice not in {None, "auto", "none"}:
        return replace(options, tool_choice=None)
    return options


def _runs_with_neighbours(one: Admitted) -> bool:
    return isinstance(one, ReadyCall) and one.tool.concurrent
