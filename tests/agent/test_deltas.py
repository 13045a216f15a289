import pytest

from rig.agent.deltas import events_of
from rig.events import (
    ReasoningDelta,
    RunEvent,
    TextDelta,
    TextRetracted,
    ToolCallArguments,
    ToolCallFinished,
    ToolCallStarted,
    UsageReported,
)
from rig.messages import Usage
from rig.model import CallDelta, Delta

USAGE = Usage(prompt_tokens=1, completion_tokens=2)

CASES: dict[str, tuple[Delta, list[RunEvent]]] = {
    "text": (Delta(text="a"), [TextDelta(text="a")]),
    "thoughts": (Delta(reasoning="a"), [ReasoningDelta(text="a")]),
    "text taken back": (Delta(retracted="a"), [TextRetracted(text="a")]),
    "text replaced": (
        Delta(retracted="a", text="b"),
        [TextRetracted(text="a"), TextDelta(text="b")],
    ),
    "a call begins": (
        Delta(tool_call=CallDelta(stage="started", index=1, id="x", name="look")),
        [ToolCallStarted(index=1, name="look")],
    ),
    "a fragment of arguments": (
        Delta(tool_call=CallDelta(stage="arguments", index=1, name="look", arguments="{")),
        [ToolCallArguments(index=1, name="look", arguments="{")],
    ),
    "a whole call": (
        Delta(tool_call=CallDelta(stage="finished", index=1, name="look", arguments="{}")),
        [ToolCallFinished(index=1, name="look", arguments="{}")],
    ),
    "the end": (Delta(finish_reason="stop"), []),
    "the end with usage": (
        Delta(finish_reason="stop", usage=USAGE),
        [UsageReported(usage=USAGE)],
    ),
}


@pytest.mark.parametrize(("delta", "events"), CASES.values(), ids=CASES.keys())
def test_a_delta_is_told_as_events(delta: Delta, events: list[RunEvent]) -> None:
    assert events_of(delta) == events
