"""A tool's input against its schema: what is wrong with it, and what can be read another way. No I/O.

The check is a modest subset of JSON Schema, enough for what models get wrong; keywords it does not
know never refuse an input. `pattern` is left to the tool: matching the author's regular expression
against a model's text can take for ever.
"""

import operator
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, cast

from pydantic_core import to_json

from rig.agent.results import MAX_PROBLEMS, bounded_problems, path_of
from rig.text.schema_types import (
    declared_types,
    is_equal,
    is_type,
    listed,
    schema_choices,
    schema_types,
    type_of,
)

Path = tuple[int | str, ...]

_SHOWN_CHOICES = 20


def check_input(schema: Mapping[str, Any], value: object) -> tuple[str, ...]:
    """What is wrong with an input, one `path: problem` each; empty when nothing is.

    Args:
        schema: the JSON schema of the input, without references.
        value: the input, as JSON values.
    """
    found = list(islice(_problems(schema, value, ()), MAX_PROBLEMS + 1))
    return bounded_problems(found, len(found))


def mend_input(schema: Mapping[str, Any], value: object) -> tuple[object, tuple[str, ...]]:
    """The input as its schema lets it be read, and what was changed; for inputs that failed a check.

    Text where the schema takes no text is decoded as JSON if that gives a type it does take
    (pydantic/pydantic-ai 5259), an object or array also when it is only nearly JSON. Null for a
    parameter that may be left out, but not be null, is left out. Nothing else is touched.

    Args:
        schema: the JSON schema of the input, without references.
        value: the input, as JSON values.
    """
    repairs: list[str] = []
    return _mended(schema, value, (), repairs), tuple(repairs)


def _problems(schema: object, value: object, path: Path) -> Iterator[str]:
    if schema is False:
        yield f"{path_of(path)}: is not allowed"
    if not isinstance(schema, Mapping):
        return
    node = cast("Mapping[str, Any]", schema)
    kinds = declared_types(node.get("type"))
    if kinds and not any(is_type(value, kind) for kind in kinds):
        yield f"{path_of(path)}: must be {' or '.join(sorted(kinds))}, not {type_of(value)}"
        return
    yield from (f"{path_of(path)}: {problem}" for problem in _own_problems(node, value))
    yield from _part_problems(node, value, path)
    for part in listed(node, "allOf"):
        yield from _problems(part, value, path)
    for key in ("anyOf", "oneOf"):
        forms = listed(node, key)
        if forms and all(next(_problems(form, value, path), None) for form in forms):
            yield f"{path_of(path)}: fits none of the allowed forms"


def _own_problems(node: Mapping[str, Any], value: object) -> Iterator[str]:
    """What is wrong with the value itself, without the values in it."""
    choices = schema_choices(node)
    if choices and not any(is_equal(value, choice) for choice in choices):
        shown = ", ".join(to_json(choice).decode() for choice in choices[:_SHOWN_CHOICES])
        yield f"must be one of {shown}{', ...' if len(choices) > _SHOWN_CHOICES else ''}"
    if isinstance(value, str):
        yield from _size_problems(node, len(value), "characters", "Length")
    elif isinstance(value, list):
        yield from _size_problems(node, len(cast("list[object]", value)), "items", "Items")
    elif isinstance(value, dict):
        size = len(cast("dict[str, object]", value))
        yield from _size_problems(node, size, "properties", "Properties")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _range_problems(node, value)


def _size_problems(node: Mapping[str, Any], size: int, unit: str, suffix: str) -> Iterator[str]:
    least, most = _number(node, f"min{suffix}"), _number(node, f"max{suffix}")
    if least is not None and size < least:
        yield f"must have at least {least} {unit}"
    if most is not None and size > most:
        yield f"must have at most {most} {unit}"


def _range_problems(node: Mapping[str, Any], value: float) -> Iterator[str]:
    for key, words, holds in _RANGES:
        bound = _number(node, key)
        if bound is not None and not holds(value, bound):
            yield f"must be {words} {bound}"


_RANGES: tuple[tuple[str, str, Callable[[float, float], bool]], ...] = (
    ("minimum", "at least", operator.ge),
    ("maximum", "at most", operator.le),
    ("exclusiveMinimum", "more than", operator.gt),
    ("exclusiveMaximum", "less than", operator.lt),
)


def _part_problems(node: Mapping[str, Any], value: object, path: Path) -> Iterator[str]:
    if isinstance(value, dict):
        yield from _property_problems(node, cast("dict[str, object]", value), path)
    elif isinstance(value, list):
        for index, item in enumerate(cast("list[object]", value)):
            yield from _problems(_item_schema(node, index), item, (*path, index))


def _property_problems(
    node: Mapping[str, Any], value: dict[str, object], path: Path
) -> Iterator[str]:
    properties = _properties(node)
    for name in listed(node, "required"):
        if isinstance(name, str) and name not in value:
            yield f"{path_of((*path, name))}: is required, but missing"
    others = node.get("additionalProperties") if "patternProperties" not in node else None
    for name, item in value.items():
        if name not in properties and others is False:
            yield f"{path_of((*path, name))}: is not a parameter"
        else:
            yield from _problems(properties.get(name, others), item, (*path, name))


def _mended(schema: object, value: object, path: Path, repairs: list[str]) -> object:
    if not isinstance(schema, Mapping):
        return value
    node = cast("Mapping[str, Any]", schema)
    kinds = schema_types(node)
    if isinstance(value, str) and kinds and "string" not in kinds:
        return _decoded(node, kinds, value, path, repairs)
    if isinstance(value, dict):
        form = _form(node, "properties")
        return _mended_object(form, cast("dict[str, object]", value), path, repairs)
    if isinstance(value, list):
        form = _form(node, "items")
        return [
            _mended(_item_schema(form, index), item, (*path, index), repairs)
            for index, item in enumerate(cast("list[object]", value))
        ]
    return value


def _decoded(
    node: Mapping[str, Any], kinds: frozenset[str], text: str, path: Path, repairs: list[str]
) -> object:
    from rig.text.coerce import read_typed  # noqa: PLC0415 of inputs that do not fit

    typed = read_typed(text, kinds)
    if typed is None:
        return text
    repaired = f" ({', '.join(typed.repairs)})" if typed.repairs else ""
    repairs.append(f"{path_of(path)}: decoded JSON text{repaired}")
    # A string in the string is not what was asked for either, so this ends after one step.
    return _mended(node, typed.value, path, repairs)


def _mended_object(
    form: Mapping[str, Any], value: dict[str, object], path: Path, repairs: list[str]
) -> dict[str, object]:
    properties = _properties(form)
    required = set(listed(form, "required"))
    mended: dict[str, object] = {}
    for name, item in value.items():
        schema = properties.get(name)
        kinds = schema_types(schema)
        if item is None and kinds and "null" not in kinds and name not in required:
            repairs.append(f"{path_of((*path, name))}: left out null")
        else:
            mended[name] = _mended(schema, item, (*path, name), repairs)
    return mended


def _form(node: Mapping[str, Any], keyword: str) -> Mapping[str, Any]:
    """The node, or the first of its alternatives, that has the keyword."""
    options = [node, *(form for key in ("anyOf", "oneOf", "allOf") for form in listed(node, key))]
    for option in options:
        if isinstance(option, Mapping) and keyword in option:
            return cast("Mapping[str, Any]", option)
    return node


def _number(node: Mapping[str, Any], key: str) -> float | None:
    value = node.get(key)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _properties(node: Mapping[str, Any]) -> Mapping[str, Any]:
    value = node.get("properties")
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _item_schema(node: Mapping[str, Any], index: int) -> object:
    first = listed(node, "prefixItems")
    return first[index] if index < len(first) else node.get("items")
