"""Whether one conversation goes on where another one stopped. No I/O."""

from collections.abc import Sequence

from rig.agent.history import prepare_open
from rig.agent.prompt import is_said
from rig.agent.summary import split_summary
from rig.messages import Content, Message, TextPart

_BLANK_LINE = "\n\n"


def continues(
    before: Sequence[Message], after: Sequence[Message], *, compacted: bool = False
) -> bool:
    """Whether a transcript begins with a conversation.

    Results are not compared: those of calls that waited are new. The last turn may have been joined with
    what followed, where both are the user's.

    Args:
        before: the conversation, without its system message.
        after: the transcript of a run, without its system message.
        compacted: the run made its history smaller: of the conversation, only its first turn is compared.
    """
    if compacted and before and after and before[0].role == after[0].role == "user":
        first = split_summary(after[0])[0]
        return first is None or _begins(before[0], first)
    old = [turn for turn in prepare_open(before)[0] if turn.role != "tool"]
    new = [turn for turn in after if turn.role != "tool"][: len(old)]
    if not old or len(new) < len(old):
        return not old
    same = all(_said(left) == _said(right) for left, right in zip(old[:-1], new, strict=False))
    return same and _begins(old[-1], new[-1])


def _said(turn: Message) -> tuple[object, ...]:
    """What is compared; thoughts are not: older ones are forgotten as a conversation goes on."""
    calls = [(call.id, call.name, call.arguments) for call in turn.tool_calls]
    return turn.role, turn.content, calls


def _begins(turn: Message, joined: Message) -> bool:
    if _said(turn) == _said(joined):
        return True
    if turn.role != "user" or joined.role != "user":
        return False
    if not is_said(turn.content):
        return True
    if isinstance(turn.content, str) and isinstance(joined.content, str):
        return joined.content.startswith(turn.content + _BLANK_LINE)
    head, whole = _parts(turn.content), _parts(joined.content)
    return whole[: len(head)] == head


def _parts(content: Content) -> list[object]:
    if isinstance(content, str):
        return [content]
    return [part.text if isinstance(part, TextPart) else part for part in content]
