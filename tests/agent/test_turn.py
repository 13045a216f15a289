from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import from_json

from rig.agent.budget import UNLIMITED, Left
from rig.agent.calling import admit
from rig.agent.history import Prepared, prepare
from rig.agent.output import output_for
from rig.agent.prompt import CUT_REPLY, LAST_CALL, REPEATED_ITSELF
from rig.agent.state import (
    AdmitCalls,
    Ask,
    AskAgain,
    CallTools,
    Fail,
    Finish,
    Rules,
    RunState,
)
from rig.agent.tools import Tool
from rig.agent.turn import (
    _RULES,
    MAX_CALLS_PER_REPLY,
    MAX_CUTS_RETRIED,
    MAX_REFUSED_REPEATS,
    MAX_REPEATS,
    WARN_REPEATS,
    _answer,
    _plainly,
    answered,
    before_request,
    next_step,
    partial_result,
    plan_calls,
    refused,
)
from rig.errors import (
    BudgetExceededError,
    EmptyReplyError,
    InvalidJSONError,
    IterationLimitError,
    NotJSONError,
    OutputLimitError,
    ProtocolError,
    RigError,
    ToolError,
    UpstreamError,
)
from rig.events import Termination, ToolOutcome
from rig.messages import Message, ToolCall, Usage
from rig.model import Reply
from rig.text.repetition import Repetition

USER = Message(role="user", content="a")
LOOK = Tool("look", "Look it up.", None, lambda _: "found")
ERASE = Tool("erase", "Erase it.", None, lambda _: "erased", effect="write", confirm=True)


def call(identity: str = "1", name: str = "look", arguments: str = "{}") -> ToolCall:
    return ToolCall(id=identity, name=name, arguments=arguments)


def calls(count: int) -> tuple[ToolCall, ...]:
    return tuple(call(str(index)) for index in range(count))


def state(messages: tuple[Message, ...] = (USER,), **changes: Any) -> RunState:
    rules = {
        name: changes.pop(name)
        for name in ("max_iterations", "on_limit", "may_ask", "output", "has_tools")
        if name in changes
    }
    return RunState(rules=Rules(**rules), messages=prepare(messages), **changes)


# What ends a run well


def test_text_without_calls_is_the_answer() -> None:
    reply = Reply(text="b", model="qwen", usage=Usage(prompt_tokens=3, completion_tokens=2))
    step = next_step(state(), reply)
    assert isinstance(step, Finish)
    assert step.result.text == "b"
    assert step.result.termination is Termination.COMPLETED
    assert step.result.iterations == 1
    assert step.result.model == "qwen"
    assert step.result.usage.total_tokens == 5
    assert step.result.usage.reported
    assert [turn.role for turn in step.result.messages] == ["user", "assistant"]


@pytest.mark.parametrize("reason", ["stop", "tool_calls", "unknown", "content_filter"])
def test_the_finish_reason_decides_nothing(reason: Any) -> None:
    assert isinstance(next_step(state(), Reply(text="b", finish_reason=reason)), Finish)
    step = next_step(state(), Reply(tool_calls=calls(1), finish_reason=reason))
    assert isinstance(step, AdmitCalls)


def test_usage_is_summed_and_unreported_in_part_is_unreported() -> None:
    before = state(iterations=1, usage=Usage(prompt_tokens=3, completion_tokens=2))
    known = next_step(before, Reply(text="b", usage=Usage(prompt_tokens=4, completion_tokens=1)))
    unknown = next_step(before, Reply(text="b"))
    assert isinstance(known, Finish)
    assert isinstance(unknown, Finish)
    assert (known.result.usage.total_tokens, known.result.usage.reported) == (10, True)
    assert (unknown.result.usage.total_tokens, unknown.result.usage.reported) == (5, False)


@pytest.mark.parametrize("text", ["", "I can't help with that."])
@pytest.mark.parametrize("category", ["", "violence"])
def test_a_refusal_is_an_outcome(text: str, category: str) -> None:
    reply = Reply(text=text, refusal=category, tool_calls=calls(1))
    step = next_step(state(), reply)
    assert isinstance(step, Finish)
    assert step.result.termination is Termination.REFUSED
    assert step.result.refusal == category
    assert step.result.text == text
    assert all(not turn.tool_calls for turn in step.result.messages)


# What ends it otherwise

FAILURES = {
    "cut text": (Reply(text="b", finish_reason="length"), OutputLimitError),
    "cut call": (Reply(tool_calls=calls(1), finish_reason="length"), OutputLimitError),
    "cut thoughts": (Reply(reasoning="hm", finish_reason="length"), OutputLimitError),
    "cut refusal": (Reply(refusal="x", finish_reason="length"), OutputLimitError),
    "too many calls": (Reply(tool_calls=calls(33)), IterationLimitError),
    "nothing": (Reply(), EmptyReplyError),
    "whitespace": (Reply(text=" \n"), EmptyReplyError),
    "thoughts only": (Reply(reasoning="hm"), EmptyReplyError),
    "calls promised": (Reply(finish_reason="tool_calls"), EmptyReplyError),
    "a call without a name": (Reply(tool_calls=(call(name=""),)), ProtocolError),
    "text and a call without a name": (
        Reply(text="b", tool_calls=(call(name=""),)),
        ProtocolError,
    ),
}


@pytest.mark.parametrize(("reply", "error"), FAILURES.values(), ids=FAILURES.keys())
def test_a_reply_that_is_no_answer_is_an_error(reply: Reply, error: type[RigError]) -> None:
    step = next_step(state(), reply)
    assert isinstance(step, Fail)
    assert type(step.error) is error
    assert step.state.iterations == 1
    result = partial_result(step.state, step.error)
    assert all(not turn.tool_calls for turn in result.messages)
    assert result.text == reply.text.strip()


def test_the_cut_text_is_on_the_error() -> None:
    step = next_step(state(), Reply(text="half an ans", finish_reason="length"))
    assert isinstance(step, Fail)
    assert isinstance(step.error, OutputLimitError)
    assert step.error.text == "half an ans"
    assert step.state.messages[-1].content == "half an ans"


def test_the_thoughts_of_an_empty_reply_are_on_the_error() -> None:
    step = next_step(state(), Reply(reasoning="hm", usage=Usage(prompt_tokens=3)))
    assert isinstance(step, Fail)
    assert isinstance(step.error, EmptyReplyError)
    assert step.error.reasoning == "hm"
    assert step.error.usage == Usage(prompt_tokens=3)


# Calls


@pytest.mark.parametrize("count", [1, MAX_CALLS_PER_REPLY])
def test_calls_up_to_the_cap_are_looked_at(count: int) -> None:
    step = next_step(state(), Reply(text="let me see", tool_calls=calls(count)))
    assert isinstance(step, AdmitCalls)
    assert len(step.calls) == count == len({one.id for one in step.calls})
    assert step.state.messages == (USER,)


def test_ids_are_unique_in_the_conversation_and_the_same_in_the_results() -> None:
    before = state((USER, Message(role="assistant", tool_calls=(call("dup"),))))
    reply = Reply(tool_calls=(call(""), call("dup"), call("new"), call("new")))
    step = next_step(before, reply)
    assert isinstance(step, AdmitCalls)
    assert [one.id for one in step.calls] == ["rig000001", "rig000002", "new", "rig000003"]
    plan = plan_calls(step, tuple(admit([LOOK], one) for one in step.calls))
    assert isinstance(plan, CallTools)
    after = plan.state
    for one in plan.calls:
        after = answered(after, ToolOutcome(call=one.call, content="ok"))
    asked = before_request(after)
    assert isinstance(asked, Ask)
    assert prepare(tuple(asked.state.messages)) == asked.state.messages


def admitted(reply: Reply, before: RunState | None = None) -> CallTools | Finish:
    step = next_step(before or state(), reply)
    assert isinstance(step, AdmitCalls)
    return plan_calls(step, tuple(admit([LOOK, ERASE], one) for one in step.calls))


def test_the_recorded_turn_holds_what_is_acted_on() -> None:
    reply = Reply(
        text="let me see",
        tool_calls=(
            ToolCall.model_construct(id="1", name="look", arguments=" "),
            call("2", arguments='{"a": 1}</tool_call>'),
            call("3", arguments='{"a": 1'),
            call("4", name="look<|channel|>json"),
        ),
    )
    step = admitted(reply)
    assert isinstance(step, CallTools)
    recorded = step.state.messages[-1].tool_calls
    assert [one.arguments for one in recorded[:2]] == ["{}", '{"a": 1}']
    assert from_json(recorded[2].arguments)["_tail"] == '{"a": 1'
    assert [one.name for one in recorded] == ["look"] * 4
    assert step.state.messages[-1].content == "let me see"


def test_the_stand_in_of_a_refused_call_says_what_its_result_says() -> None:
    step = admitted(Reply(tool_calls=(call(arguments='{"a": 1'),)))
    assert isinstance(step, CallTools)
    outcome = step.calls[0]
    assert isinstance(outcome, ToolOutcome)
    assert outcome.content.startswith("error: ")
    recorded = step.state.messages[-1].tool_calls[0]
    assert from_json(recorded.arguments)["_error"] == outcome.content


def test_a_call_to_confirm_ends_the_run_before_any_call_of_the_reply_runs() -> None:
    step = admitted(Reply(text="ok?", tool_calls=(call("1"), call("2", "erase"))))
    assert isinstance(step, Finish)
    result = step.result
    assert result.termination is Termination.NEEDS_CONFIRMATION
    assert [one.id for one in result.pending] == ["1", "2"]
    assert result.messages[-1].tool_calls == result.pending
    assert result.tool_calls == ()
    assert result.text == "ok?"


def test_a_call_that_can_not_run_is_answered_and_does_not_wait() -> None:
    step = admitted(Reply(tool_calls=(call("1", "nobody"), call("2", "erase"))))
    assert isinstance(step, Finish)
    assert [one.id for one in step.result.pending] == ["2"]
    assert [one.call.id for one in step.result.tool_calls] == ["1"]
    assert step.result.messages[-1].tool_call_id == "1"


def test_a_call_to_confirm_that_can_not_run_asks_nobody() -> None:
    assert isinstance(admitted(Reply(tool_calls=(call("1", "erase", "[]"),))), CallTools)


def test_somebody_who_can_be_asked_is_asked_later() -> None:
    step = admitted(Reply(tool_calls=(call("1", "erase"),)), state(may_ask=True))
    assert isinstance(step, CallTools)


def test_a_refused_call_says_so() -> None:
    outcome = refused(call(), "no")
    assert (outcome.content, outcome.is_error, outcome.executed) == ("error: no", True, False)


# Rounds


def rounds(done: int, **changes: Any) -> RunState:
    return state(iterations=done, **changes)


def test_the_last_round_may_be_made_and_no_further_one() -> None:
    assert isinstance(before_request(rounds(7)), Ask)
    step = before_request(rounds(8))
    assert isinstance(step, Fail)
    assert isinstance(step.error, IterationLimitError)


def test_the_transcript_is_prepared_before_it_is_sent() -> None:
    step = before_request(replace(state(), messages=(USER,)))
    assert isinstance(step.state.messages, Prepared)


# One last answer


def test_at_the_last_round_an_answer_is_asked_for_without_tools() -> None:
    step = before_request(rounds(8, on_limit="answer"))
    assert isinstance(step, Ask)
    assert step.state.closing is Termination.ITERATION_LIMIT
    assert step.state.notice == LAST_CALL
    last = next_step(step.state, Reply(text="b"))
    assert isinstance(last, Finish)
    assert last.result.termination is Termination.ITERATION_LIMIT
    assert last.result.iterations == 9
    assert last.result.text == "b"


@pytest.mark.parametrize("why", [Termination.ITERATION_LIMIT, Termination.BUDGET_EXHAUSTED])
def test_calls_in_the_last_answer_are_not_run(why: Termination) -> None:
    before = state(closing=why, on_limit="answer")
    step = next_step(before, Reply(text="b", tool_calls=calls(40)))
    assert isinstance(step, Finish)
    assert step.result.termination is why
    assert step.result.messages[-1].tool_calls == ()


@pytest.mark.parametrize(
    ("why", "error"),
    [
        (Termination.ITERATION_LIMIT, IterationLimitError),
        (Termination.BUDGET_EXHAUSTED, BudgetExceededError),
    ],
)
def test_a_last_answer_of_nothing_but_calls_is_the_limit_as_an_error(
    why: Termination, error: type[RigError]
) -> None:
    step = next_step(state(closing=why, on_limit="answer"), Reply(tool_calls=calls(1)))
    assert isinstance(step, Fail)
    assert type(step.error) is error


def test_too_many_calls_are_answered_by_one_request_without_tools() -> None:
    step = next_step(state(on_limit="answer"), Reply(text="b", tool_calls=calls(33)))
    assert isinstance(step, Ask)
    assert step.state.closing is Termination.ITERATION_LIMIT
    assert step.state.messages == (USER,)


def test_a_cut_answer_is_kept() -> None:
    step = next_step(state(on_limit="answer"), Reply(text="half", finish_reason="length"))
    assert isinstance(step, Finish)
    assert step.result.termination is Termination.BUDGET_EXHAUSTED
    assert step.result.text == "half"


@pytest.mark.parametrize(
    "reply",
    [
        Reply(finish_reason="length", reasoning="hm"),
        Reply(finish_reason="length", text="I will", tool_calls=calls(1)),
    ],
    ids=["thoughts", "call"],
)
def test_a_cut_reply_that_answers_nothing_is_asked_for_again_once(reply: Reply) -> None:
    step = next_step(state(on_limit="answer"), reply)
    assert isinstance(step, Ask)
    assert step.state.notice == CUT_REPLY
    assert step.state.closing is Termination.BUDGET_EXHAUSTED
    again = next_step(step.state, reply)
    assert isinstance(again, Fail)
    assert isinstance(again.error, OutputLimitError)


def test_a_cut_typed_answer_is_not_kept() -> None:
    before = state(on_limit="answer", output=output_for(list[int]))
    assert isinstance(next_step(before, Reply(text="[1, 2", finish_reason="length")), Ask)


# Tokens


@pytest.mark.parametrize(("spent", "over"), [(99, False), (100, False), (101, True)])
def test_an_answer_may_use_up_the_budget_exactly(spent: int, over: bool) -> None:
    step = next_step(state(left=Left(tokens=100 - spent)), Reply(text="b"), tokens=spent)
    assert isinstance(step, Fail if over else Finish)
    if isinstance(step, Fail):
        assert isinstance(step.error, BudgetExceededError)
        assert step.error.reason == "tokens"
        assert step.state.text == "b"


@pytest.mark.parametrize(("spent", "over"), [(99, False), (100, True), (101, True)])
def test_calls_are_run_only_where_their_results_can_be_sent(spent: int, over: bool) -> None:
    before = state(left=Left(tokens=100 - spent))
    step = next_step(before, Reply(tool_calls=calls(1)), tokens=spent)
    assert isinstance(step, Fail if over else AdmitCalls)


@pytest.mark.parametrize("on_limit", ["raise", "answer"])
def test_nothing_is_sent_once_the_budget_is_used_up(on_limit: str) -> None:
    step = before_request(state(left=Left(tokens=0), on_limit=on_limit))
    assert isinstance(step, Fail)
    assert isinstance(step.error, BudgetExceededError)


@pytest.mark.parametrize(
    ("spent", "closing"), [(50, None), (80, None), (81, Termination.BUDGET_EXHAUSTED)]
)
def test_enough_is_kept_for_an_answer(spent: int, closing: Termination | None) -> None:
    left = Left(tokens=100 - spent)
    before = state(left=left, last_tokens=10, on_limit="answer")
    step = before_request(before)
    assert isinstance(step, Ask)
    assert step.state.closing is closing
    raising = before_request(replace(before, rules=Rules()))
    assert isinstance(raising, Ask)
    assert raising.state.closing is None


def test_a_complete_answer_over_the_budget_is_kept_and_flagged() -> None:
    before = state(left=Left(tokens=-1), on_limit="answer")
    step = next_step(before, Reply(text="b"), tokens=101)
    assert isinstance(step, Finish)
    assert step.result.termination is Termination.BUDGET_EXHAUSTED


# Typed answers

TYPED: dict[str, Any] = {"output": output_for(dict[str, int])}


def test_a_typed_answer_is_read() -> None:
    step = next_step(state(**TYPED), Reply(text='{"a": 1}'))
    assert isinstance(step, Finish)
    assert step.result.output == {"a": 1}
    assert step.result.text == '{"a": 1}'
    assert step.result.output_repairs == ()


def test_a_typed_answer_that_had_to_be_repaired_says_so() -> None:
    step = next_step(state(**TYPED), Reply(text="{'a': 1,}"))
    assert isinstance(step, Finish)
    assert step.result.output == {"a": 1}
    assert step.result.output_repairs == ("single_quotes", "trailing_comma")
    assert step.result.text == "{'a': 1,}"


def test_a_typed_answer_that_does_not_match_is_asked_for_once_more() -> None:
    first = next_step(state(**TYPED), Reply(text='{"a": "secret"}'))
    assert isinstance(first, AskAgain)
    assert "secret" not in first.problem
    assert first.problem in first.state.messages[-1].text
    assert first.state.messages[-1].role == "user"
    assert isinstance(first.state.messages, Prepared)
    second = next_step(first.state, Reply(text='{"a": "b"}'))
    assert isinstance(second, Fail)
    assert isinstance(second.error, InvalidJSONError)
    assert "again" in second.error.message
    third = next_step(first.state, Reply(text='{"a": 2}'))
    assert isinstance(third, Finish)
    assert third.result.output == {"a": 2}
    assert third.result.iterations == 2


def test_a_typed_answer_without_json_is_told_apart() -> None:
    step = next_step(state(**TYPED, rejected=True), Reply(text="one"))
    assert isinstance(step, Fail)
    assert isinstance(step.error, NotJSONError)


@pytest.mark.parametrize(
    "changes",
    [
        {"max_iterations": 1},
        {"left": Left(tokens=0)},
        {"closing": Termination.ITERATION_LIMIT, "on_limit": "answer"},
    ],
    ids=["no round left", "no token left", "the last answer"],
)
def test_a_typed_answer_is_asked_for_again_only_where_that_is_allowed(
    changes: dict[str, Any],
) -> None:
    step = next_step(state(**TYPED, **changes), Reply(text='{"a": "b"}'), tokens=10)
    assert isinstance(step, Fail)
    assert isinstance(step.error, InvalidJSONError)
    assert "again" not in step.error.message


# The same call over and over


def repeated(count: int, contents: str = "same") -> RunState:
    """The run after a number of rounds of one call."""
    now = state(max_iterations=32)
    for _ in range(count):
        step = next_step(now, Reply(tool_calls=(call(arguments='{"q": 1}'),)))
        assert isinstance(step, AdmitCalls)
        plan = plan_calls(step, tuple(admit([LOOK], one) for one in step.calls))
        assert isinstance(plan, CallTools)
        one = plan.calls[0]
        content = contents if contents == "same" else f"{now.iterations}"
        outcome = (
            one if isinstance(one, ToolOutcome) else ToolOutcome(call=one.call, content=content)
        )
        asked = before_request(answered(plan.state, outcome))
        if isinstance(asked, Fail):
            assert asked.error.reason == "repeated_call"
            return asked.state
        now = asked.state
    return now


def test_a_model_that_keeps_asking_for_a_refused_repeat_ends_the_run() -> None:
    assert repeated(MAX_REPEATS + 1).iterations == MAX_REPEATS + 1
    assert repeated(30).iterations == MAX_REPEATS + MAX_REFUSED_REPEATS


def test_the_model_is_told_of_repeats_and_then_the_call_is_not_run() -> None:
    outcomes = repeated(MAX_REPEATS + 2).outcomes
    told = [outcome.content != "same" for outcome in outcomes]
    assert told.index(True) == WARN_REPEATS - 1
    assert all(told[WARN_REPEATS - 1 :])
    assert [outcome.executed for outcome in outcomes] == [True] * MAX_REPEATS + [False] * 2


def test_a_poll_whose_result_changes_goes_on() -> None:
    assert all(one.executed for one in repeated(20, "changing").outcomes)


def test_many_equal_calls_of_one_reply_are_no_repeats() -> None:
    step = next_step(state(), Reply(tool_calls=calls(32)))
    assert isinstance(step, AdmitCalls)
    now = step.state
    for one in step.calls:
        now = answered(now, ToolOutcome(call=one, content="same"))
    assert all(outcome.content == "same" for outcome in now.outcomes)


# Partial results


@pytest.mark.parametrize(
    ("error", "termination"),
    [
        (IterationLimitError("x"), Termination.ITERATION_LIMIT),
        (BudgetExceededError("x"), Termination.BUDGET_EXHAUSTED),
        (OutputLimitError("x"), Termination.BUDGET_EXHAUSTED),
        (ToolError("x"), Termination.TOOL_FAILURE),
        (UpstreamError("x"), None),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_partial_result_says_how_it_ended_where_there_is_a_word(
    error: RigError, termination: Termination | None
) -> None:
    assert partial_result(state(), error).termination is termination


def test_a_partial_transcript_can_be_continued() -> None:
    step = admitted(Reply(tool_calls=calls(2)))
    assert isinstance(step, CallTools)
    result = partial_result(step.state, ToolError("x"))
    assert [turn.role for turn in result.messages] == ["user", "assistant", "tool", "tool"]


# Replies that were cut because the model repeated itself


def cut(text: str, trailing: int = 0, where: str = "content", **fields: Any) -> Reply:
    found = Repetition(period=4, reps=9, trailing=trailing, sample="loop", where=where)
    return Reply(text=text, finish_reason="repetition", repetition=found, **fields)


def test_a_cut_reply_is_kept_without_its_loop_and_the_model_is_told() -> None:
    step = next_step(state(), cut("so: " + "loop" * 9, trailing=32))
    assert isinstance(step, Ask)
    assert [turn.content for turn in step.state.messages] == ["a", "so: loop", REPEATED_ITSELF]
    assert isinstance(step.state.messages, Prepared)
    assert (step.state.text, step.state.notice, step.state.iterations) == ("so: loop", "", 1)


@pytest.mark.parametrize(
    "reply",
    [
        cut("", where="reasoning", reasoning="loop" * 9),
        cut("", where="tool:look arguments", tool_calls=calls(1)),
        cut("\n\n"),
    ],
    ids=["in a thought", "in arguments", "nothing said"],
)
def test_where_nothing_was_said_the_model_is_told_beside_the_last_turn(reply: Reply) -> None:
    before = state()
    step = next_step(before, reply)
    assert isinstance(step, Ask)
    assert step.state.messages == before.messages
    assert step.state.notice == REPEATED_ITSELF


def test_calls_of_a_cut_reply_are_never_looked_at() -> None:
    step = next_step(state(), cut("b", where="tool:look arguments", tool_calls=calls(40)))
    assert isinstance(step, Ask)


@pytest.mark.parametrize(("cuts", "asks"), [(0, True), (1, True), (2, False)])
def test_two_cuts_in_a_row_are_forgiven_and_the_third_is_not(cuts: int, asks: bool) -> None:
    assert MAX_CUTS_RETRIED == 2
    step = next_step(state(cuts=cuts), cut("looploop", trailing=4))
    assert isinstance(step, Ask if asks else Fail)
    if isinstance(step, Fail):
        assert isinstance(step.error, OutputLimitError)
        assert (step.error.reason, step.error.text) == ("repetition", "loop")
        assert step.state.messages[-1].content == "loop"


def test_a_notice_is_told_once() -> None:
    step = next_step(state(notice=REPEATED_ITSELF), Reply(tool_calls=calls(1)))
    assert isinstance(step, AdmitCalls)
    assert step.state.notice == ""


def test_a_clean_round_resets_the_count() -> None:
    step = next_step(state(cuts=2), Reply(tool_calls=calls(1)))
    assert isinstance(step, AdmitCalls)
    assert step.state.cuts == 0


@pytest.mark.parametrize(
    "before",
    [
        state(max_iterations=1),
        state(left=Left(tokens=0)),
        state(closing=Termination.ITERATION_LIMIT),
    ],
    ids=["no rounds left", "no tokens left", "it was the last answer"],
)
def test_a_cut_reply_is_asked_for_again_only_where_that_is_allowed(before: RunState) -> None:
    assert isinstance(next_step(before, cut("looploop", trailing=4)), Fail)


def test_where_limits_end_with_an_answer_what_was_kept_is_it() -> None:
    answers = state(on_limit="answer", cuts=2)
    step = next_step(answers, cut("so: looploop", trailing=4))
    assert isinstance(step, Finish)
    assert step.result.text == "so: loop"
    assert step.result.termination is Termination.BUDGET_EXHAUSTED
    assert isinstance(next_step(answers, cut("")), Fail)
    typed = replace(answers, rules=replace(answers.rules, output=output_for(int)))
    assert isinstance(next_step(typed, cut("so")), Fail)


# The short way

REPLIES = st.builds(
    Reply,
    text=st.sampled_from(["", " ", "It is 42.", "<think>so</think>It is 42."]),
    reasoning=st.sampled_from(["", "so"]),
    reasoning_field=st.sampled_from([None, "reasoning"]),
    finish_reason=st.sampled_from(["stop", "length", "tool_calls", "unknown"]),
    refusal=st.sampled_from([None, "safety"]),
    tool_calls=st.one_of(
        st.just(()),
        st.lists(st.builds(call, st.sampled_from(["", "1", "2"]), st.sampled_from(["", "look"])))
        .map(tuple),
        st.just(calls(MAX_CALLS_PER_REPLY + 1)),
    ),
)  # fmt: skip
STATES = st.builds(
    state,
    messages=st.sampled_from([(USER,), (USER, Message(role="assistant", tool_calls=(call(),)))]),
    on_limit=st.sampled_from(["raise", "answer"]),
    output=st.sampled_from([None, output_for(int)]),
    iterations=st.integers(1, 8),
    closing=st.sampled_from([None, None, Termination.ITERATION_LIMIT]),
    left=st.sampled_from([UNLIMITED, UNLIMITED, Left(tokens=0), Left(tokens=-1), Left(calls=1)]),
)


def seen(step: Any) -> Any:
    if isinstance(step, Fail):
        return type(step), step.state, type(step.error), str(step.error)
    return step


@given(STATES, REPLIES)
def test_the_short_way_of_a_plain_reply_leads_where_the_rules_do(
    run: RunState, answer: Reply
) -> None:
    plain = _plainly(run, answer)
    if plain is not None:
        steps = (rule(run, answer) for rule in _RULES)
        ruled = next((step for step in steps if step is not None), None) or _answer(run, answer)
        assert seen(plain) == seen(ruled)


@pytest.mark.parametrize(
    "answer",
    [Reply(text="It is 42."), Reply(tool_calls=calls(3)), Reply(text="Well.", tool_calls=calls(1))],
    ids=["a text", "calls", "both"],
)
def test_a_plain_reply_takes_the_short_way(answer: Reply) -> None:
    assert _plainly(state(), answer) is not None
