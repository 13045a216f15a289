"""What comes next in a run: decided here as values, awaited in `rig.agent.run`. No I/O.

    Ask --> next_step --> AdmitCalls --> plan_calls --> CallTools --> before_request --> Ask
               |--> AskAgain --> (as Ask)    `--> Finish                    `--> Fail
               |--> Finish
               `--> Fail

Whether a reply is an answer is decided by its calls and its text, never by finish_reason: `stop`,
`tool_calls` and `function_call` all occur with and without calls. Only `length` is believed, and it is
looked at first, because a cut reply can hold what looks like whole calls.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from rig.agent.budget import UNLIMITED, out_of
from rig.agent.calling import ReadyCall
from rig.agent.calls import give_ids, sendable
from rig.agent.history import Prepared, assistant_turn, prepare, tool_turn
from rig.agent.ladder import after_fault, evidence, held, is_lost, stepped_down, weighed
from rig.agent.prompt import CUT_REPLY, LAST_CALL, REPEATED_ITSELF, is_said, rejection
from rig.agent.results import refusal
from rig.agent.state import (
    NOTHING_USED,
    AdmitCalls,
    Admitted,
    Ask,
    AskAgain,
    CallTools,
    Fail,
    Finish,
    Repeat,
    RunState,
    Step,
)
from rig.errors import (
    BudgetExceededError,
    EmptyReplyError,
    IterationLimitError,
    OutputLimitError,
    ProtocolError,
    RigError,
    ToolError,
)
from rig.events import RunResult, Termination, ToolOutcome
from rig.messages import Message, ToolCall, Usage
from rig.model import Reply
from rig.text.repetition import Repetition

if TYPE_CHECKING:  # loaded for typed answers
    from rig.agent.output import Rejected

MAX_CALLS_PER_REPLY = 32
"""Calls one reply may hold. The cap of rounds bounds requests, not work: a reply within the response
cap has room for thousands of side effects. Of a reply with more, none is run."""

WARN_REPEATS = 5
"""Rounds in a row in which a call gave the very same result before the model is told so."""

MAX_REPEATS = 10
"""The same, before the call is no longer run. Results count, so that polling is never stopped while
something changes."""

MAX_REFUSED_REPEATS = 2
"""Times in a row such a call is refused before the run ends: once to tell the model, and no more, since
each round costs a request."""

MAX_CUTS_RETRIED = 2
"""Replies in a row that may be cut for their repetition before the run fails. A model that was told so
and shown none of its loop usually goes on; one that can't help it costs a reply each time."""

LAST_ROUNDS_KEPT = 2
"""Requests of the last one's size that a budget must still pay for before tools are offered again, where
the run has to end with an answer: a round of tools, and the answer to it."""

DECLINED = "the user declined this call; it was NOT executed"
"""Answers a call that needed a confirmation and did not get one, after `error: `."""

OUT_OF_CALLS = (
    "the number of tool calls allowed for this task is used up, so this call was NOT executed; "
    "answer with what you know"
)
"""Answers a call for which the budget has none left, after `error: `."""

REPEATED = (
    f"this call gave the same result {MAX_REPEATS} times in a row, so it was NOT executed again; "
    "do something else, or answer with what you know"
)
"""Answers a call that leads nowhere, after `error: `."""

INTERRUPTED = "error: the run ended while this call was being executed; it may have taken effect"
"""Answers, in a partial transcript, a call that was cut off: who goes on has to look before acting."""

REPEAT_WARNING = "(this call has now given the same result {count} times in a row)"
"""Added to a result that the model keeps asking for."""


def next_step(state: RunState, reply: Reply, *, tokens: int = 0, cost: float = 0.0) -> Step:
    """What follows from a reply.

    Args:
        state: the run before the reply, but for what is `left` of its budgets: that is after it.
        reply: what the model answered.
        tokens: what the round took, in tokens.
        cost: what it cost.
    """
    if reply.repetition is not None:
        reply = _without_loop(reply, reply.repetition)
    state = _after_reply(state, reply, tokens, cost)
    return _plainly(state, reply) or _by_rules(state, reply)


def _plainly(state: RunState, reply: Reply) -> Step | None:
    """What follows from a reply as nearly all of them are, that no rule but the last has a word about.

    None for all others, and for most that would only tell so much. 3 us less a reply (measured).
    """
    if (
        reply.finish_reason == "length"
        or reply.refusal is not None
        or reply.repetition is not None
        or state.closing is not None
        or state.left is not UNLIMITED
    ):
        return None
    calls = reply.tool_calls
    if not calls:
        return _answer(state, reply) if reply.text.strip() else None
    if not calls[0].name or len(calls) > MAX_CALLS_PER_REPLY:
        return None
    return _calling(state, reply)


def _by_rules(state: RunState, reply: Reply) -> Step:
    """The general way, of which `_plainly` is a short cut."""
    for rule in _RULES:
        step = rule(state, reply)
        if step is not None:
            return step
    return _answer(state, reply)


def plan_calls(step: AdmitCalls, admitted: Sequence[Admitted]) -> CallTools | Finish:
    """What follows once it is known which calls of a reply can run.

    Args:
        step: the calls.
        admitted: the same calls, each ready or answered, in order.

    Returns:
        The calls to answer; or the end of the run, before any of them runs, when one that could run
        needs a confirmation and nobody can be asked. Those that can't run are answered all the same.
    """
    planned = tuple(admitted)
    if step.state.repeats:
        planned = tuple(_unless_repeated(step.state, one) for one in admitted)
    recorded: list[ToolCall] = []
    waits = False
    for one in planned:
        if isinstance(one, ReadyCall):
            recorded.append(one.call)  # which may be sent: it may run
            waits = waits or one.tool.confirm
        else:
            recorded.append(sendable(one.call, one.content))
    turn = assistant_turn(step.reply, recorded)
    found = evidence(step.reply.tool_calls, admitted)
    state = weighed(step.state.but(messages=(*step.state.messages, turn)), found)
    if not waits or state.rules.may_ask:
        return CallTools(state=state, calls=planned)
    for one in planned:
        state = answered(state, one) if isinstance(one, ToolOutcome) else state
    pending = tuple(one.call for one in planned if isinstance(one, ReadyCall))
    return Finish(result=_result(state, Termination.NEEDS_CONFIRMATION, pending=pending))


def afforded(state: RunState, calls: Sequence[Admitted], count: int) -> CallTools | Fail:
    """What follows when a budget allows so many of the calls to be run.

    Args:
        state: the run with these calls as its last turn.
        calls: the calls, each ready or answered.
        count: how many may run.

    Returns:
        The calls to answer, those beyond the number with an error; or the end of the run, before any of
        them runs, where limits are to raise.
    """
    ready = sum(isinstance(one, ReadyCall) for one in calls)
    if ready > count and state.rules.on_limit == "raise":
        return Fail(state=state, error=out_of("tool_calls"))
    planned: list[Admitted] = []
    for one in calls:
        if isinstance(one, ReadyCall):
            count -= 1
        over = isinstance(one, ReadyCall) and count < 0
        planned.append(refused(one.call, OUT_OF_CALLS) if over else one)
    return CallTools(state=state, calls=tuple(planned))


def refused(call: ToolCall, problem: str) -> ToolOutcome:
    """The answer of a call that is not run.

    Args:
        call: the call.
        problem: why, said to the model.
    """
    return ToolOutcome(call=call, content=refusal(problem), is_error=True, executed=False)


def answered(state: RunState, outcome: ToolOutcome) -> RunState:
    """The run after one of its calls was answered.

    Args:
        state: the run before.
        outcome: the answer.
    """
    key = (outcome.call.name, outcome.call.arguments)
    before = state.repeats.get(key)
    repeat = (
        _repeat(before, outcome) if before is not None else Repeat(content=outcome.content, count=1)
    )
    if repeat.count >= WARN_REPEATS and outcome.executed:
        warning = REPEAT_WARNING.format(count=repeat.count)
        outcome = replace(outcome, content=f"{outcome.content}\n\n{warning}")
    return state.but(
        messages=(*state.messages, tool_turn(outcome.call, outcome.content)),
        outcomes=(*state.outcomes, outcome),
        fresh_repeats={**state.fresh_repeats, key: repeat},
    )


def before_request(state: RunState) -> Ask | Fail:
    """Whether there may be another request, and with tools or without.

    Args:
        state: the run with all calls of its last reply answered.
    """
    if not isinstance(state.messages, Prepared):
        messages = Prepared(state.messages)
        state = state.but(messages=messages, repeats=state.fresh_repeats, fresh_repeats={})
    answers = state.rules.on_limit == "answer"
    if state.left is not UNLIMITED and state.left.used_up:
        return Fail(state=state, error=out_of(state.left.used_up))
    if state.iterations >= state.rules.max_iterations:
        if answers:
            return _last_request(state, Termination.ITERATION_LIMIT, LAST_CALL)
        return Fail(state=state, error=_out_of_rounds(state))
    repeats = state.repeats
    if repeats and max(map(_refusals, repeats.values())) >= MAX_REFUSED_REPEATS:
        if answers:
            return _last_request(state, Termination.ITERATION_LIMIT, LAST_CALL)
        return Fail(state=state, error=_going_round())
    if answers and _scarce(state):
        return _last_request(state, Termination.BUDGET_EXHAUSTED, LAST_CALL)
    return Ask(state=state)


def recovered(state: RunState, error: RigError) -> Ask | Fail | None:
    """What follows from a request that failed, where something of it need not be said so again.

    Args:
        state: the run as it asked.
        error: what came instead of a reply.

    Returns:
        None where the error ends the run.
    """
    after = after_fault(state, error)
    if after is None:
        return None
    return before_request(with_empty_reply(after, None)) if is_lost(error) else Ask(state=after)


def with_empty_reply(state: RunState, usage: Usage | None) -> RunState:
    """The run after a round whose reply held nothing.

    Args:
        state: the run before.
        usage: what the reply cost all the same, None when not even that is known.
    """
    return _after_reply(state, Reply(usage=usage or Usage()), 0, 0.0)


def partial_result(state: RunState, error: Exception | None) -> RunResult[Any]:
    """How far a run came that has no answer.

    Args:
        state: the run.
        error: what ended it; None when it was left.

    Returns:
        A result whose transcript is closed, so that it can be continued, and whose `termination` is
        None unless one of the words fits the error.
    """
    fitting = (word for kinds, word in _TERMINATIONS if isinstance(error, kinds))
    state = state.but(messages=prepare(state.messages))
    return _result(state, next(fitting, None))


_TERMINATIONS: tuple[tuple[tuple[type[RigError], ...], Termination], ...] = (
    ((IterationLimitError,), Termination.ITERATION_LIMIT),
    ((BudgetExceededError, OutputLimitError), Termination.BUDGET_EXHAUSTED),
    ((ToolError,), Termination.TOOL_FAILURE),
)


# Rules: each looks at a reply for one thing; the first that has something to say decides.


def _cut(state: RunState, reply: Reply) -> Step | None:
    """A reply that hit max_tokens; its calls may be cut and are never looked at."""
    if reply.finish_reason != "length":
        return None
    if state.rules.on_limit == "answer":
        if is_said(reply.text) and not reply.tool_calls and state.rules.output is None:
            state = _with_text_turn(state, reply)
            return Finish(result=_result(state, Termination.BUDGET_EXHAUSTED))
        if state.closing is None and not state.left.used_up:
            return _last_request(state, Termination.BUDGET_EXHAUSTED, CUT_REPLY)
    error: RigError = OutputLimitError(
        "the reply was cut off at max_tokens: raise max_tokens, or ask for less"
    )
    if state.capped:
        error = out_of(state.capped)
    error.text = reply.text
    return Fail(state=_with_text_turn(state, reply), error=error)


def _looping(state: RunState, reply: Reply) -> Step | None:
    """A reply that was cut because the model repeated itself: it is told so, and asked again."""
    if reply.repetition is None:
        return None
    kept = _with_text_turn(state, reply)
    rounds_left = state.iterations < state.rules.max_iterations
    may_ask = state.closing is None and rounds_left and not state.left.used_up
    if state.cuts <= MAX_CUTS_RETRIED and may_ask:
        if kept is state:
            return Ask(state=state.but(notice=REPEATED_ITSELF))
        notice = Message(role="user", content=REPEATED_ITSELF)
        return Ask(state=kept.but(messages=prepare((*kept.messages, notice))))
    if state.rules.on_limit == "answer" and kept is not state and state.rules.output is None:
        return Finish(result=_result(kept, Termination.BUDGET_EXHAUSTED))
    error = OutputLimitError(
        "the model kept repeating itself until its replies were cut: change the prompt, sample with a"
        " higher temperature or a repeat_penalty, or switch the guard off if the repetition is meant",
        reason="repetition",
    )
    error.text = reply.text
    return Fail(state=kept, error=error)


def _declined(state: RunState, reply: Reply) -> Step | None:
    """A refusal is an outcome: the same request would be refused again."""
    if reply.refusal is None:
        return None
    state = _with_text_turn(state, reply)
    return Finish(result=_result(state, Termination.REFUSED, refusal=reply.refusal))


def _called_once_more(state: RunState, reply: Reply) -> Step | None:
    """Calls, and no text, in the reply that was to be the last."""
    if state.closing is None or not reply.tool_calls or is_said(reply.text):
        return None
    rounds = state.closing is Termination.ITERATION_LIMIT
    return Fail(state=state, error=_out_of_rounds(state) if rounds else out_of(_spent_on(state)))


def _too_many_calls(state: RunState, reply: Reply) -> Step | None:
    """More work than one reply may ask for."""
    if state.closing is not None or len(reply.tool_calls) <= MAX_CALLS_PER_REPLY:
        return None
    if state.rules.on_limit == "answer" and not state.left.used_up:
        return _last_request(state, Termination.ITERATION_LIMIT, LAST_CALL)
    error = IterationLimitError(
        f"one reply held {len(reply.tool_calls)} tool calls, more than {MAX_CALLS_PER_REPLY}; "
        "none was executed"
    )
    return Fail(state=_with_text_turn(state, reply), error=error)


def _overspent(state: RunState, reply: Reply) -> Step | None:
    """Past a budget. Calls are not run when nobody will read their results."""
    if state.closing is not None:
        return None
    if reply.tool_calls:
        over = state.left.used_up
    else:
        over = state.left.overdrawn if state.rules.on_limit == "raise" else ""
    return Fail(state=_with_text_turn(state, reply), error=out_of(over)) if over else None


def _nameless(state: RunState, reply: Reply) -> Step | None:
    """Nothing but calls without a name: nothing to run, and no answer either."""
    if state.closing is not None or not reply.tool_calls:
        return None
    if any(call.name for call in reply.tool_calls):
        return None
    lower = stepped_down(state, "unreadable")
    if lower is not None:
        return before_request(lower)
    error = ProtocolError("the reply holds tool calls, but none of them names a tool")
    return Fail(state=_with_text_turn(state, reply), error=error)


def _calling(state: RunState, reply: Reply) -> Step | None:
    """Calls to look at."""
    if state.closing is not None or not reply.tool_calls:
        return None
    calls = give_ids(reply.tool_calls, state.messages)
    return AdmitCalls(state=state, reply=reply, calls=calls)


def _empty(state: RunState, reply: Reply) -> Step | None:
    """Neither calls nor text, whatever finish_reason promised."""
    if is_said(reply.text):
        return None
    error = EmptyReplyError("the reply holds neither text nor a tool call")
    error.reasoning = reply.reasoning
    error.usage = reply.usage
    return Fail(state=state, error=error)


_RULES: tuple[Callable[[RunState, Reply], Step | None], ...] = (
    _looping,
    _cut,
    _declined,
    _called_once_more,
    _too_many_calls,
    _overspent,
    _nameless,
    _calling,
    _empty,
)


def _answer(state: RunState, reply: Reply) -> Step:
    """A reply that is text: the answer, or something that was to be a typed one and is not."""
    state = _with_text_turn(state, reply)
    ending = state.closing or Termination.COMPLETED
    if state.closing is None and state.left is not UNLIMITED and state.left.overdrawn:
        ending = Termination.BUDGET_EXHAUSTED
    if state.rules.output is None:
        return Finish(result=_result(state, ending))
    from rig.agent.output import Rejected  # noqa: PLC0415 of typed answers

    read = state.rules.output.read(reply.text)
    if isinstance(read, Rejected):
        return _ask_again(state, read)
    form = held(state)
    result = _result(
        state,
        ending,
        output=read.value,
        output_repairs=read.repairs,
        output_source=form.by if form is not None else "prompt",
    )
    return Finish(result=result)


def _ask_again(state: RunState, rejected: "Rejected") -> Step:
    """Once, and only while the run may send requests at all."""
    rounds_left = state.iterations < state.rules.max_iterations
    if state.rejected or state.closing is not None or not rounds_left or state.left.used_up:
        return Fail(state=state, error=rejected.error(asked_again=state.rejected))
    question = Message(role="user", content=rejection(rejected.problem))
    state = state.but(messages=prepare((*state.messages, question)), rejected=True)
    return AskAgain(state=state, problem=rejected.problem)


# States


def _after_reply(state: RunState, reply: Reply, tokens: int, cost: float) -> RunState:
    return state.but(
        iterations=state.iterations + 1,
        usage=reply.usage if state.usage is NOTHING_USED else state.usage + reply.usage,
        last_tokens=tokens,
        last_cost=cost,
        text=reply.text if reply.text.strip() else state.text,
        model=reply.model or state.model,
        tier=reply.tier or state.tier,
        cuts=state.cuts + 1 if reply.repetition is not None else 0,
        notice="",
    )


def _without_loop(reply: Reply, loop: Repetition) -> Reply:
    """A reply that was cut for a loop without the loop, which would teach it, and without calls."""
    text, reasoning = reply.text, reply.reasoning
    if loop.where == "content":
        text = loop.trimmed(text)
    elif loop.where == "reasoning":
        reasoning = loop.trimmed(reasoning)
    return replace(reply, text=text.strip(), reasoning=reasoning, tool_calls=())


def _with_text_turn(state: RunState, reply: Reply) -> RunState:
    """The reply recorded without its calls."""
    turn = assistant_turn(reply, ())
    return state.but(messages=(*state.messages, turn)) if is_said(turn.content) else state


def _result(state: RunState, termination: Termination | None, **more: Any) -> RunResult[Any]:  # noqa: ANN401  fields of RunResult
    fields = {
        "text": state.text,
        "iterations": state.iterations,
        "tool_calls": state.outcomes,
        "usage": state.usage,
        "messages": state.messages,
        "model": state.model,
        "tier": state.tier,
        "termination": termination,
        "tool_format": state.format,
        "compactions": state.compactions,
        **more,
    }
    # As `RunState.but`: sixteen fields at once, not one by one.
    result: RunResult[Any] = object.__new__(RunResult)  # pyright: ignore[reportUnknownVariableType] no type has arguments here
    object.__setattr__(result, "__dict__", _NO_RESULT.__dict__ | fields)
    return result


_NO_RESULT: RunResult[Any] = RunResult()


def _last_request(state: RunState, why: Termination, notice: str) -> Ask:
    return Ask(state=state.but(closing=why, notice=notice))


def _scarce(state: RunState) -> bool:
    """What is left may not pay for another round of tools and for the answer too."""
    left, tools = state.left, state.rules.has_tools
    return (
        (left.tokens is not None and left.tokens < LAST_ROUNDS_KEPT * state.last_tokens)
        or (left.cost is not None and left.cost < LAST_ROUNDS_KEPT * state.last_cost)
        or (left.calls is not None and tools and left.calls < LAST_ROUNDS_KEPT)
        or (left.tool_calls is not None and tools and left.tool_calls < 1)
    )


def _spent_on(state: RunState) -> str:
    """Why the last request was the last: the limit that is used up, or that is nearest."""
    left = state.left
    if left.used_up:
        return left.used_up
    if left.tool_calls is not None and left.tool_calls < 1:
        return "tool_calls"
    return "tokens" if left.tokens is not None else "cost"


def _out_of_rounds(state: RunState) -> IterationLimitError:
    return IterationLimitError(
        f"the model was still calling tools after {state.iterations} rounds: "
        "raise max_iterations, or ask for less"
    )


def _going_round() -> IterationLimitError:
    return IterationLimitError(
        f"the model kept asking for a call that had given the same result {MAX_REPEATS} times: "
        "change the prompt, or what the tool says",
        reason="repeated_call",
    )


# Calls


def _unless_repeated(state: RunState, one: Admitted) -> Admitted:
    if isinstance(one, ToolOutcome):
        return one
    repeat = state.repeats.get((one.call.name, one.call.arguments))
    return refused(one.call, REPEATED) if repeat and repeat.count >= MAX_REPEATS else one


_refusals: Callable[[Repeat], int] = attrgetter("refusals")


def _repeat(before: Repeat, outcome: ToolOutcome) -> Repeat:
    """How often in a row this result has come now; a call that was not run changes nothing."""
    if outcome.executed and before.content != outcome.content:
        return Repeat(content=outcome.content, count=1)
    if not outcome.executed:
        is_repeat = before.count >= MAX_REPEATS
        return replace(before, refusals=before.refusals + 1) if is_repeat else before
    return replace(before, count=before.count + 1)
