"""Tool calls as they may be sent: ids made unique, unusable arguments replaced. No I/O."""

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter

from pydantic_core import from_json, to_json

from rig.messages import Message, ToolCall

TAIL_CHARS = 800
"""Characters of unusable arguments shown to the model in their stand-in. Enough for it to see where it
was cut, and little beside the context it has just filled."""

TRUNCATED = (
    "error: the arguments were cut off before they were complete, so the call was NOT executed; "
    "send it again with smaller arguments, or split the work over several calls"
)
"""Tells the model of cut arguments. It must hear of size: told of syntax, it writes the same again."""

MALFORMED = (
    "error: the arguments are not one JSON object, so the call was NOT executed; "
    "send it again with valid JSON"
)
"""Tells the model of arguments that can't be read."""

TWICE = (
    "error: the arguments name a key twice with different values, so the call was NOT executed; "
    "send it again with each key once"
)
"""Tells the model of arguments that can be read in two ways."""

REPLACED = "replaced"
"""Marks, in `ToolCall.repairs`, a call whose arguments are a stand-in: it must never be run."""

UNNAMED_TOOL = "unnamed_tool"
"""Stands in the transcript for a name the model left out; servers refuse an empty one."""


def sendable(call: ToolCall, problem: str = "") -> ToolCall:
    """The call as it may stand in a transcript: with a name, and a JSON object as arguments.

    Debris around a whole object goes. Any other arguments are replaced by an object that tells of
    them: with one malformed call in its history, llama.cpp answers 500 to every later request.

    Args:
        call: as the model wrote it.
        problem: what the model was told of unusable arguments; "" for the words of this module.
    """
    changes: dict[str, object] = {} if call.name else {"name": UNNAMED_TOOL}
    if not holds_object(call.arguments):
        from rig.text.arguments import read_arguments  # noqa: PLC0415 of broken calls

        read = read_arguments(call.arguments)
        if read.kind == "object" and holds_object(read.text):
            changes |= {"arguments": read.text, "repairs": (*call.repairs, *read.repairs)}
        else:
            told = problem or (TRUNCATED if read.kind == "truncated" else MALFORMED)
            changes |= {
                "arguments": _stand_in(call.arguments, told),
                "repairs": (*call.repairs, REPLACED),
            }
    return call.model_copy(update=changes) if changes else call


def holds_object(arguments: str) -> bool:
    """Whether arguments are the text of one JSON object.

    Args:
        arguments: of a call.
    """
    try:
        value: object = from_json(arguments, allow_inf_nan=False)
    except (ValueError, TypeError):  # TypeError: lone surrogates in the text
        return False
    return isinstance(value, dict)


def give_ids(calls: Sequence[ToolCall], messages: Sequence[Message]) -> tuple[ToolCall, ...]:
    """Give every call of a reply an id that no other call of the conversation has.

    The first call with an id keeps it; a replacement never takes the id of a later call.

    Args:
        calls: the calls of a new reply, ids as the model's server sent them.
        messages: the conversation before it.
    """
    used = {call.id for turn in messages for call in turn.tool_calls}
    own = set(map(_id_of, calls))
    if len(own) == len(calls) and "" not in own and used.isdisjoint(own):
        return tuple(calls)  # as nearly always
    ids = UniqueIds(used, reserved=own)
    return tuple(with_id(call, ids.take(call.id)) for call in calls)


_id_of: Callable[[ToolCall], str] = attrgetter("id")


def with_id(call: ToolCall, identity: str) -> ToolCall:
    """The call under another id.

    Args:
        call: any call.
        identity: the id it gets.
    """
    return call if call.id == identity else call.model_copy(update={"id": identity})


class UniqueIds:
    """Ids that are unique in a conversation.

    Replacements are nine letters and digits, because Mistral's templates refuse any other id.

    Args:
        used: ids that are given away already.
        reserved: ids that will be asked for, so that no replacement takes them first.
    """

    def __init__(self, used: Iterable[str], *, reserved: Iterable[str]) -> None:
        self._used = set(used)
        self._reserved = set(reserved)
        self._count = 0

    def take(self, wanted: str) -> str:
        """The wanted id, or another one where it is empty or taken.

        Args:
            wanted: the id the server sent, "" for none.
        """
        chosen = wanted
        while not chosen or chosen in self._used or (chosen != wanted and chosen in self._reserved):
            self._count += 1
            chosen = f"rig{self._count:06d}"
        self._used.add(chosen)
        return chosen


def _stand_in(arguments: str, problem: str) -> str:
    kept = {
        "_error": problem,
        "_raw_chars": len(arguments),
        "_tail": arguments[-TAIL_CHARS:].encode("utf-8", "replace").decode(),
    }
    return to_json(kept).decode()
