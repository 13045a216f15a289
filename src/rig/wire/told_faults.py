"""Whether an answer at status 200 tells of a fault. Which one is told by `rig.wire.faults`, loaded then. No I/O."""

from collections.abc import Mapping, Sequence
from typing import Final

from rig.errors import RigError
from rig.messages import as_array, as_object

MAX_CHOICES: Final = 128
"""Choices among which the first one is looked for: OpenAI's limit of `n`, which rig never sends."""

_MESSAGES: Final = ("detail", "message", "errors", "msg", "error_msg", "error_code")


def error_in_payload(payload: Mapping[str, object]) -> RigError | None:
    """The error that an answer at status 200, or an event of a stream, tells of.

    Args:
        payload: the parsed JSON object.

    Returns:
        The same error as the fault would have been with its own status (`status` then is what the
        payload names, or what its type stands for); None when the payload tells of none.
    """
    told = _told_fault(payload)
    if told is None:
        return None
    from rig.wire.faults import told_error  # noqa: PLC0415 its tables, with the first fault

    return told_error(told)


def _told_fault(payload: Mapping[str, object]) -> object | None:
    """What of a payload is an error: its `error`, a choice's, or all of it when it is no completion."""
    if payload.get("error") or payload.get("object") == "error":
        return payload
    state = as_object(payload.get("base_resp"))  # MiniMax's, in good answers too
    if state is not None and state.get("status_code"):
        return state
    choices = payload.get("choices")
    entries = as_array(choices)
    if entries is not None:
        first = first_choice(entries)
        return first if first is not None and first.get("error") else None
    if choices is not None:
        return None
    said = any(payload.get(name) for name in _MESSAGES) and not _is_reply(payload.get("message"))
    return payload if said or payload.get("success") is False else None


def _is_reply(value: object) -> bool:
    """Whether a `message` is the reply itself, as Ollama's own API has it, and no text of an error."""
    wire = as_object(value)
    return wire is not None and "role" in wire


def first_choice(choices: Sequence[object]) -> Mapping[str, object] | None:
    """The choice that is read: the one that calls itself 0, else the first.

    Args:
        choices: the wire's list.

    Returns:
        None where the first is no object, or there is none.
    """
    first = as_object(choices[0]) if choices else None
    if first is None or first.get("index") in (0, None):
        return first
    wires = (as_object(entry) or {} for entry in choices[:MAX_CHOICES])
    return next((wire for wire in wires if wire.get("index") == 0), first)
