"""What a run lets you observe."""

import dataclasses
import pickle
from typing import Any

import pytest

from rig.errors import Backpressure, UpstreamError
from rig.events import (
    ConstraintRefused,
    OutputRejected,
    ReplyReceived,
    RetryEvent,
    RoundStarted,
    RouteChosen,
    RouteFellBack,
    RunFinished,
    RunResult,
    SlotWait,
    Termination,
    TierFellBack,
    ToolFinished,
    ToolFormatChanged,
    ToolOutcome,
    ToolStarted,
)
from rig.messages import Message, ToolCall, Usage
from rig.model import Reply

CALL = ToolCall(id="c", name="f")
OUTCOME = ToolOutcome(call=CALL, content="1")
EVENTS: list[Any] = [
    RoundStarted(iteration=1),
    ReplyReceived(iteration=1, reply=Reply(text="x")),
    ToolStarted(call=CALL),
    ToolFinished(outcome=OUTCOME),
    OutputRejected(problem="no"),
    ToolFormatChanged(previous="native", current="json", reason="salvaged"),
    ConstraintRefused(constraint="schema", purpose="output"),
    RunFinished(result=RunResult(text="x")),
    RetryEvent(kind="429", attempt=1, backpressure=Backpressure(waiting=2)),
    RouteChosen(category="code", model="m", by="cached", reason="r", usage=Usage(prompt_tokens=1)),
    RouteFellBack(reason="model_missing", wanted="m", used="n"),
    TierFellBack(asked="turbo", used="balanced", reason="unknown"),
    SlotWait(kind="waiting", position=3, slots=4, busy=4, tenant="a", priority="batch"),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_events_are_frozen_values(event: Any) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(event, dataclasses.fields(event)[0].name, None)
    assert pickle.loads(pickle.dumps(event)) == event


def test_the_ways_a_run_ends_are_a_promise() -> None:
    assert {str(way) for way in Termination} == {
        "completed",
        "refused",
        "tool_failure",
        "budget_exhausted",
        "iteration_limit",
        "needs_confirmation",
    }


def test_an_empty_result_is_a_completed_one_without_cost() -> None:
    result: RunResult[None] = RunResult()
    assert (result.text, result.iterations, result.tool_calls) == ("", 0, ())
    assert result.termination is Termination.COMPLETED
    assert result.usage == Usage()


def test_a_result_can_be_kept() -> None:
    result: RunResult[None] = RunResult(
        text="x",
        tool_calls=(OUTCOME,),
        messages=(Message(role="user", content="hi"),),
        termination=Termination.NEEDS_CONFIRMATION,
        pending=(CALL,),
    )
    assert pickle.loads(pickle.dumps(result)) == result


@pytest.mark.parametrize(("budget_s", "unbounded"), [(None, True), (0.0, False), (300.0, False)])
def test_a_budget_of_none_is_no_bound(budget_s: float | None, unbounded: bool) -> None:
    assert RetryEvent(kind="429", attempt=1, budget_s=budget_s).unbounded is unbounded


def test_a_retry_keeps_the_fault_of_the_connection_out_of_sight() -> None:
    fault = UpstreamError("the connection broke", reason="reset", detail="MARKER")
    event = RetryEvent(kind="transport", attempt=1, error=fault)
    assert event.error is fault
    assert "MARKER" not in repr(event)
    assert pickle.loads(pickle.dumps(event)) == event


def test_a_retry_is_told_in_our_words_and_not_the_endpoint_s() -> None:
    event = RetryEvent(kind="5xx", attempt=1, reason="the server failed", detail="MARKER")
    assert str(event) == "the server failed"
    assert "MARKER" not in repr(event)
