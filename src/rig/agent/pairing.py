"""Calls and their results in a conversation that is still being written. No I/O.

`rig.agent.history` mends what others wrote; here is only said whether anything is to be mended: each
turn with calls is followed by one result for each of them, in any order, before anybody else speaks.
Calls of the last turn may still wait.
"""

from collections.abc import Sequence

from rig.messages import Message, ToolCall


def pairing_problem(turns: Sequence[Message]) -> tuple[int, str] | None:
    """The first turn that breaks the pairs.

    Args:
        turns: the conversation without its system message, oldest first.

    Returns:
        Its index and what is wrong with it, in words of ours; None when all is well.
    """
    waiting: set[str] = set()
    for index, turn in enumerate(turns):
        problem = _problem(turn, waiting)
        if problem:
            return index, problem
        if turn.role == "tool":
            waiting.remove(turn.tool_call_id or "")
        else:
            waiting = {call.id for call in turn.tool_calls}
    return None


def waiting_calls(turns: Sequence[Message]) -> tuple[ToolCall, ...]:
    """The calls of the last turn that have no result yet, in order.

    Args:
        turns: a conversation without a `pairing_problem`.
    """
    answered: set[str | None] = set()
    for turn in reversed(turns):
        if turn.role != "tool":
            return tuple(call for call in turn.tool_calls if call.id not in answered)
        answered.add(turn.tool_call_id)
    return ()


def _problem(turn: Message, waiting: set[str]) -> str:
    """What is wrong with a turn, when these calls wait for results."""
    if turn.role == "tool":
        return "" if turn.tool_call_id in waiting else "answers no call that waits for a result"
    if turn.role == "system":
        return "is a system message among the turns"
    if waiting:
        return "stands where the results of the calls before it are missing"
    if turn.tool_calls and turn.role != "assistant":
        return "holds calls, but is no assistant turn"
    ids = {call.id for call in turn.tool_calls}
    if "" in ids or len(ids) < len(turn.tool_calls):
        return "holds calls that have no id of their own"
    return ""
