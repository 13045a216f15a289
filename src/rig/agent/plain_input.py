"""The input of a function whose parameters are plain, without a pydantic model. No I/O.

Most tools take text, numbers and lists of them. What pydantic makes of those is written here, out of
pydantic's own parts: the same schema, the same checks, the same problems. The first of its models takes 11 ms
and 2.5 MB, because it has pydantic look for plug-ins among all that is installed; and calls are read in a third
of the time, 0.3 us.
"""

from collections.abc import Callable, Sequence
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from pydantic_core import SchemaValidator, core_schema

from rig.agent.parameters import NO_DEFAULT, Parameter
from rig.agent.schema import Schema, finite, simplify

_SCALARS = (
    (str, "string", core_schema.str_schema()),
    (int, "integer", core_schema.int_schema()),
    (float, "number", core_schema.float_schema()),
    (bool, "boolean", core_schema.bool_schema()),
)
_DEFAULTS = {str, int, float, bool, NoneType}

_Form = tuple[Schema, core_schema.CoreSchema]
"""The JSON schema of a type, and pydantic's."""


def plain_input(
    parameters: Sequence[Parameter],
) -> tuple[Schema, Callable[[str | bytes], dict[str, object]]] | None:
    """The JSON schema of the input, and what reads it; None where a parameter is not plain.

    Plain are `str`, `int`, `float` and `bool`, lists of them, and any of these or None, without a default
    or with one that is a scalar.
    """
    properties: Schema = {}
    fields: dict[str, core_schema.TypedDictField] = {}
    for parameter in parameters:
        default = parameter.default
        form = _form(parameter.hint)
        if form is None or not (default is NO_DEFAULT or type(default) in _DEFAULTS):
            return None
        told, read = form
        if default is not NO_DEFAULT:
            told["default"] = default
        if parameter.description:
            told["description"] = parameter.description
        properties[parameter.name] = dict(sorted(told.items()))  # as pydantic orders them
        fields[parameter.name] = core_schema.typed_dict_field(read, required=default is NO_DEFAULT)
    schema: Schema = {"additionalProperties": False, "properties": properties}
    required = [name for name, field in fields.items() if field.get("required")]
    if required:
        schema["required"] = required
    schema["type"] = "object"
    config = core_schema.CoreConfig(title="Input", hide_input_in_errors=True)
    reads = SchemaValidator(core_schema.typed_dict_schema(fields, extra_behavior="forbid"), config)
    return simplify(finite(schema)), reads.validate_json


def _form(hint: object) -> _Form | None:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Union or origin is UnionType:
        others = [one for one in arguments if one is not NoneType]
        if len(others) != 1:
            return None
        form = _list_or_scalar(others[0])
        if form is None:
            return None
        told, read = form
        return {"anyOf": [told, {"type": "null"}]}, core_schema.nullable_schema(read)
    return _list_or_scalar(hint)


def _list_or_scalar(hint: object) -> _Form | None:
    if get_origin(hint) is not list:
        return _scalar(hint)
    items = get_args(hint)  # none of `typing.List` alone
    form = _scalar(items[0]) if len(items) == 1 else None
    if form is None:
        return None
    told, read = form
    return {"items": told, "type": "array"}, core_schema.list_schema(read)


def _scalar(hint: Any) -> _Form | None:  # noqa: ANN401  type expressions have no type
    for scalar, name, read in _SCALARS:
        if hint is scalar:
            return {"type": name}, read
    return None
