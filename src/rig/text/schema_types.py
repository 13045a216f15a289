"""The JSON types a schema takes, and the type a value has. No I/O."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

ANYTHING = frozenset[str]()
"""What `schema_types` gives for a schema that takes any type, or says which in another way."""


def schema_types(schema: object) -> frozenset[str]:
    """The JSON types a schema takes; `ANYTHING` where it does not say.

    Args:
        schema: a JSON schema without references: a mapping, true, false, or anything else.
    """
    if not isinstance(schema, Mapping):
        return ANYTHING
    node = cast("Mapping[str, Any]", schema)
    if "type" in node:
        return declared_types(node["type"])
    choices = schema_choices(node)
    if choices:
        return frozenset(type_of(choice) for choice in choices)
    forms = listed(node, "anyOf") or listed(node, "oneOf")
    if forms:
        kinds = [schema_types(form) for form in forms]
        return ANYTHING.union(*kinds) if all(kinds) else ANYTHING
    parts = [part for part in map(schema_types, listed(node, "allOf")) if part]
    return parts[0].intersection(*parts) if parts else ANYTHING


def declared_types(declared: object) -> frozenset[str]:
    """The types that the value of the keyword `type` names.

    Args:
        declared: a name, a list of names, or something that is no type.
    """
    if isinstance(declared, str):
        return frozenset({declared})
    if isinstance(declared, Sequence):
        return frozenset(
            kind for kind in cast("Sequence[object]", declared) if isinstance(kind, str)
        )
    return ANYTHING


def schema_choices(node: Mapping[str, Any]) -> list[Any]:
    """The values a schema names one by one, in `const` or `enum`; empty when it does not.

    Args:
        node: the schema.
    """
    return [node["const"]] if "const" in node else listed(node, "enum")


def is_type(value: object, kind: str) -> bool:
    """Whether a JSON value is of a type that a schema names.

    Args:
        value: the value.
        kind: the name. 1.0 is an integer (JSON Schema 2020-12, 6.1.1), an integer is a number.
    """
    if kind == "integer":
        return type_of(value) == "integer" or (isinstance(value, float) and value.is_integer())
    if kind == "number":
        return type_of(value) in {"integer", "number"}
    return type_of(value) == kind


def type_of(value: object) -> str:
    """The JSON type of a value.

    Args:
        value: the value.
    """
    return next((name for kind, name in _NAMES if isinstance(value, kind)), "object")


def is_equal(value: object, choice: object) -> bool:
    """Whether two JSON values are the same one; in Python, 1 equals true.

    Args:
        value: a value.
        choice: another.
    """
    return value == choice and isinstance(value, bool) == isinstance(choice, bool)


def listed(node: Mapping[str, Any], key: str) -> list[Any]:
    """The list a keyword holds, empty when it holds none.

    Args:
        node: the schema.
        key: the keyword.
    """
    value: list[Any] | None = node.get(key)
    return value if isinstance(value, list) else []


# bool before int: Python's bool is one.
_NAMES = (
    (bool, "boolean"),
    (int, "integer"),
    (float, "number"),
    (str, "string"),
    (list, "array"),
    (type(None), "null"),
)
