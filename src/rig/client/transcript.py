"""A conversation as JSON text that is kept, and read back with suspicion. No I/O.

What is written is one form: compact, keys in one order, nothing that says the default. What is read
must be exactly what would be written, so a text that comes back changed is refused, and where. Tools are
never part of it: no data can bring code along.
"""

from collections.abc import Mapping
from typing import Final

from pydantic import ValidationError
from pydantic_core import to_json

from rig.agent.pairing import pairing_problem
from rig.errors import InvalidRequestError
from rig.late_dataclass import dataclass
from rig.messages import Content, Message, as_array, as_object
from rig.wire.payload import parse_json, scrub

FORMAT_VERSION: Final = 1
"""The form this module writes and reads. It grows when older code could no longer read the text."""

MAX_SESSION_BYTES: Final = 16 << 20
"""Bytes of text that are read. A long conversation is 1 MB; the rest is for images inside it, which are
the base64 of some 100 KB each."""

_FIELDS: Final = frozenset({"version", "id", "system", "messages"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """What is kept of a conversation.

    Attributes:
        id: its owner's name for it, "" for none.
        system: the system prompt, "" for none.
        turns: everything else that was said, oldest first.
    """

    id: str = ""
    system: str = ""
    turns: tuple[Message, ...] = ()


def write_transcript(transcript: Transcript) -> str:
    """The text of a conversation; lone surrogates, which can't be written, become U+FFFD.

    Args:
        transcript: the conversation.
    """
    fields = {
        "version": FORMAT_VERSION,
        "id": transcript.id,
        "system": transcript.system,
        "messages": [_written(turn) for turn in transcript.turns],
    }
    return to_json(scrub(fields)).decode()


def read_transcript(text: str | bytes, *, max_bytes: int = MAX_SESSION_BYTES) -> Transcript:
    """The conversation in a text, which need not be trusted.

    Args:
        text: what `write_transcript` gave.
        max_bytes: size beyond which it is not even parsed.

    Returns:
        A conversation that can be continued; `write_transcript` gives the same text for it.

    Raises:
        InvalidRequestError: the text is too large, not JSON, of another version, holds anything this
            version would not write, or breaks the pairs of calls and results. The sentence names the
            index of the message, and nothing of what it says.
    """
    wire = _object(text, max_bytes)
    identity, system, messages = wire["id"], wire["system"], as_array(wire["messages"])
    if not isinstance(identity, str) or not isinstance(system, str) or messages is None:
        raise InvalidRequestError("the session's id and system must be texts, its messages a list")
    turns = tuple(_read(index, item) for index, item in enumerate(messages))
    problem = pairing_problem(turns)
    if problem:
        raise InvalidRequestError(f"the session's messages[{problem[0]}] {problem[1]}")
    return Transcript(id=identity, system=system, turns=turns)


def _written(turn: Message) -> object:
    """A message's fields, in the form that reading it gives again."""
    return _fields(Message.model_validate(_fields(turn)))


def _fields(turn: Message) -> object:
    """The fields that say something, as JSON values."""
    fields: dict[str, object] = {
        "role": turn.role,
        "content": _content(turn.content),
        **turn.model_dump(exclude_defaults=True, exclude={"role", "content"}),
    }
    if turn.reasoning is not None:
        fields["reasoning_field"] = turn.reasoning_field
    return scrub(fields)


def _content(content: Content) -> object:
    if isinstance(content, str):
        return content
    return [part.model_dump(exclude_none=True) for part in content]


def _object(text: str | bytes, max_bytes: int) -> Mapping[str, object]:
    """The outermost object, with the fields it must have.

    Raises:
        InvalidRequestError: the text holds none, or one of another version.
    """
    size = len(text) if isinstance(text, bytes) else len(text.encode("utf-8", "surrogatepass"))
    if size > max_bytes:
        raise InvalidRequestError(f"the session is larger than the {max_bytes} bytes that are read")
    wire = as_object(_value(text))
    if wire is None:
        raise InvalidRequestError("the session is not a JSON object")
    version = wire.get("version")
    if type(version) is not int or version != FORMAT_VERSION:
        raise InvalidRequestError(
            f"the session has another version than {FORMAT_VERSION}: it is no session of rig's, or"
            " one of a newer release"
        )
    if sorted(wire) != sorted(_FIELDS):
        raise InvalidRequestError(
            f"a session has the fields {', '.join(sorted(_FIELDS))}, no others"
        )
    return wire


def _value(text: str | bytes) -> object:
    try:
        return parse_json(text)
    except ValueError:
        return None


def _read(index: int, item: object) -> Message:
    """One message.

    Raises:
        InvalidRequestError: it is not as it would be written.
    """
    wire = as_object(item)
    message = None if wire is None else _message(wire)
    if wire is None or message is None:
        raise InvalidRequestError(f"the session's messages[{index}] is not a message")
    written = as_object(_fields(message)) or {}
    changed = [name for name in Message.model_fields if wire.get(name) != written.get(name)]
    if changed:
        raise InvalidRequestError(
            f"the session's messages[{index}].{changed[0]} is not as rig writes it"
        )
    if not set(wire) <= set(written):
        raise InvalidRequestError(
            f"the session's messages[{index}] has a field that this version does not know"
        )
    return message


def _message(wire: Mapping[str, object]) -> Message | None:
    try:
        return Message.model_validate(wire)
    except ValidationError:
        return None
