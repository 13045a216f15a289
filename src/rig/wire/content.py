"""The content of a reply's message, in every shape servers give it. No I/O."""

from collections.abc import Mapping, Sequence
from typing import Final

from rig.late_dataclass import dataclass
from rig.messages import ReasoningField, as_array, as_object, is_thought_type
from rig.wire.dialects import REASONING_FIELDS

_THOUGHT_KEYS: Final = (
    "thinking", "text", "content", "summary", "reasoning", "reasoning_text", "reasoning_content",
    "thought", "value",
)  # fmt: skip
_TEXT_KEYS: Final = ("text", "content")
_INNER_KEYS: Final = ("text", "content", "value")
_CALL_PARTS: Final = frozenset({"tool_use", "tool_call", "function_call"})

MAX_PART_DEPTH: Final = 4
"""Levels of parts inside parts that are read. Mistral's thinking parts, the deepest seen, have 2."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What one `content` holds.

    Attributes:
        text: its text parts, joined.
        thoughts: its thinking parts, joined.
        refusal: its refusal parts, joined.
        calls: its parts that are tool calls, as they are.
    """

    text: str = ""
    thoughts: str = ""
    refusal: str = ""
    calls: tuple[Mapping[str, object], ...] = ()


def read_content(content: object) -> Content:
    """Content as text: null is none, a list is its parts, and parts that are no text are skipped.

    Args:
        content: the wire's value, of any shape.

    Returns:
        The texts, apart from the thoughts, refusals and calls among them.
    """
    if isinstance(content, str):
        return Content(text=content)
    texts: list[str] = []
    thoughts: list[str] = []
    refusals: list[str] = []
    calls: list[Mapping[str, object]] = []
    for part in _parts(content):
        wire = as_object(part) or {"text": part}
        kind = wire.get("type")
        if is_thought_type(kind) or wire.get("thought") is True:  # the flag is Gemini's
            thoughts.append(_first_text(wire, _THOUGHT_KEYS))
        elif kind == "refusal":
            refusals.append(_first_text(wire, ("refusal",)))
        elif isinstance(kind, str) and kind in _CALL_PARTS:
            calls.append(wire)
        else:
            texts.append(_first_text(wire, _TEXT_KEYS))
    return Content(
        text="".join(texts),
        thoughts="".join(thoughts),
        refusal="".join(refusals),
        calls=tuple(calls),
    )


def read_thoughts(message: Mapping[str, object]) -> tuple[ReasoningField | None, str]:
    """The thoughts a server sent in a field of their own.

    Args:
        message: the reply's message.

    Returns:
        The name of the field to send them back in, None where there is none, and their text; "" when
        no field holds any.
    """
    for name, field in REASONING_FIELDS:
        value = message.get(name)
        if value and (text := joined_text(value, _THOUGHT_KEYS)).strip():
            return field, text
    return None, ""


def joined_text(value: object, keys: Sequence[str], depth: int = MAX_PART_DEPTH) -> str:
    """The text of a value that is a text, a part, or a list of those.

    Args:
        value: the wire's value.
        keys: where a part keeps its text, the first that has one wins.
        depth: levels left to read.
    """
    if isinstance(value, str):
        return value
    if depth == 0:
        return ""
    texts: list[str] = []
    for part in _parts(value):
        wire = as_object(part)
        texts.append(part if isinstance(part, str) else _first_text(wire or {}, keys, depth - 1))
    return "".join(texts)


def _first_text(
    part: Mapping[str, object], keys: Sequence[str], depth: int = MAX_PART_DEPTH
) -> str:
    inner = (
        _INNER_KEYS if keys is _TEXT_KEYS else keys
    )  # {"text": {"value": "a"}}: the Assistants API
    texts = (joined_text(part.get(key), inner, depth) for key in keys)
    return next((text for text in texts if text), "")


def _parts(value: object) -> Sequence[object]:
    entries = as_array(value)
    if entries is not None:
        return entries
    return () if as_object(value) is None else (value,)
