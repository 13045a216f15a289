"""What a run tells of the deltas of a streamed reply. No I/O."""

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
from rig.model import CallDelta, Delta


def events_of(delta: Delta) -> list[RunEvent]:
    """The events of one delta, in the order they are to be acted on.

    Args:
        delta: what is new in the reply.

    Returns:
        One for each thing it tells; none for the end of a reply without usage.
    """
    events: list[RunEvent] = []
    if delta.retracted:
        events.append(TextRetracted(text=delta.retracted))
    if delta.text:
        events.append(TextDelta(text=delta.text))
    if delta.reasoning:
        events.append(ReasoningDelta(text=delta.reasoning))
    if delta.tool_call is not None:
        events.append(_of_call(delta.tool_call))
    if delta.usage is not None:
        events.append(UsageReported(usage=delta.usage))
    return events


def _of_call(call: CallDelta) -> RunEvent:
    if call.stage == "started":
        return ToolCallStarted(index=call.index, name=call.name)
    kind = ToolCallArguments if call.stage == "arguments" else ToolCallFinished
    return kind(index=call.index, name=call.name, arguments=call.arguments)
