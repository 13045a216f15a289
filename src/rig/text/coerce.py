"""A value written as text, read as its schema asks for it. No I/O, linear.

Only where the schema asks: text that may be text stays text, whatever it looks like. And only one reading:
`1, 2` is no array, `3 apples` no number, and a text that can't be read stays what it is, for the check
of the input to tell the model.
"""

from collections.abc import Mapping
from typing import Any, Final, cast

from rig.late_dataclass import dataclass
from rig.text.json_builder import build_json
from rig.text.json_repair import repair_json
from rig.text.json_scanner import scan_json
from rig.text.schema_types import is_equal, is_type, schema_choices, schema_types

MAX_VALUE_DEPTH: Final = 200
"""Containers inside each other in a value read from text. pydantic-core reads JSON of 201 levels
(measured), and the value stands in an object: a deeper one could not be checked."""

_CONTAINERS: Final = frozenset({"object", "array"})
_BOOLEANS: Final = {"true": True, "false": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedText:
    """What a text means.

    Attributes:
        value: the JSON value.
        repairs: what had to be repaired, see `rig.text.json_repair.Repair`.
    """

    value: object
    repairs: tuple[str, ...] = ()


def coerce_text(value: str, schema: object) -> object:
    """The value of a parameter that was written as text, as XML-like call formats do.

    One newline at each end is layout and goes. Nothing else is decoded: `&lt;` is four characters. Then
    the schema decides: a text where it takes text or says nothing; JSON where it takes other types, with
    near-JSON and Python's spelling of it for objects and arrays.

    Args:
        value: the text between the tags.
        schema: the parameter's JSON schema, without references; None when it is not known.

    Returns:
        A JSON value; the text, where it means none of the types.
    """
    text = _without_layout(value)
    node: Mapping[str, Any] = (
        cast("Mapping[str, Any]", schema) if isinstance(schema, Mapping) else {}
    )
    choices = schema_choices(node)
    if choices:
        return _chosen(text, choices)
    kinds = schema_types(node)
    if not kinds or "string" in kinds:
        return text
    typed = read_typed(text, kinds)
    return text if typed is None else typed.value


def read_typed(text: str, kinds: frozenset[str]) -> TypedText | None:
    """Read a text as a value of one of some JSON types, none of which is string.

    Args:
        text: any text.
        kinds: names of JSON types.

    Returns:
        The value and what was repaired; None when the text is no such value.
    """
    text = text.strip()
    scan = scan_json(text, max_depth=MAX_VALUE_DEPTH)
    if scan.kind == "complete" and scan.end == len(text):
        return _built(text, kinds, ())
    if scan.kind == "malformed" and not scan.too_deep and kinds & _CONTAINERS:
        repaired = repair_json(text, arrays=True)
        if repaired.kind == "repaired" and _is_shallow(repaired.text):
            return _built(repaired.text, kinds, repaired.repairs)
    # How Python, and so the templates models were trained with, writes them.
    truth = _BOOLEANS.get(text.lower()) if "boolean" in kinds else None
    return None if truth is None else TypedText(value=truth)


def _built(text: str, kinds: frozenset[str], repairs: tuple[str, ...]) -> TypedText | None:
    try:
        value = build_json(text)
    except ValueError:  # more digits than this process converts
        return None
    if not any(is_type(value, kind) for kind in kinds):
        return None
    if isinstance(value, float) and "number" not in kinds:
        value = int(value)
    return TypedText(value=value, repairs=repairs)


def _chosen(text: str, choices: list[Any]) -> object:
    """The choice a text means, or the text."""
    for candidate in (text, text.strip()):
        if candidate in choices:
            return candidate
    kinds = schema_types({"enum": choices}) - {"string"}
    typed = read_typed(text, kinds) if kinds else None
    if typed is not None and any(is_equal(typed.value, choice) for choice in choices):
        return typed.value
    return text


def _without_layout(text: str) -> str:
    for newline in ("\r\n", "\n"):
        if text.startswith(newline):
            text = text.removeprefix(newline)
            break
    for newline in ("\r\n", "\n"):
        if text.endswith(newline):
            return text.removesuffix(newline)
    return text


def _is_shallow(text: str) -> bool:
    return scan_json(text, max_depth=MAX_VALUE_DEPTH).kind == "complete"
