"""A function's signature as the input of a tool: a schema to send, and a check that gives Python values.

No I/O. The work is pydantic's; what is ours is to refuse, when the tool is made and with a sentence,
every signature that a model could not fill in.
"""

import functools
import inspect
import sys
import typing
from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace, UnionType
from typing import Annotated, Any, Union, cast, get_args, get_origin

from pydantic import BaseModel, ConfigDict, create_model
from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaWarningKind

from rig.agent.docstrings import Docstring, read_docstring
from rig.agent.parameters import Parameter
from rig.agent.plain_input import plain_input
from rig.agent.schema import Schema, finite, inline, simplify
from rig.agent.typed_dicts import with_typed_dicts
from rig.errors import InvalidRequestError
from rig.late_dataclass import dataclass

Read = Callable[[str | bytes], dict[str, object]]
"""Makes of JSON text the arguments of a call."""

_UNNAMED = "<lambda>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """What is known of a tool's function.

    Attributes:
        name: the function's name, "" when it has none.
        docstring: what its docstring says.
        schema: JSON schema of its input, without references.
        context: the parameter that takes the call's context, None when there is none.
        read: makes of JSON text the arguments, by parameter, as values of the annotated types; raises pydantic's
            `ValidationError`. A parameter that was not given is left out, so that the function's own default holds.
    """

    name: str
    docstring: Docstring
    schema: Schema
    context: str | None
    read: Read


@dataclass(frozen=True, slots=True, kw_only=True)
class _Model:
    """A pydantic model of the input, the parameter for each of its fields, and which have a default of their own."""

    model: type[BaseModel]
    parameters: Mapping[str, str]
    own_defaults: frozenset[str]

    def read(self, text: str | bytes) -> dict[str, object]:
        # As model_validate_json does it, in half the time.
        values: BaseModel = self.model.__pydantic_validator__.validate_json(text)
        left_out = self.own_defaults and self.own_defaults - values.model_fields_set
        return {
            parameter: getattr(values, field)
            for field, parameter in self.parameters.items()
            if field not in left_out
        }


def signature_of(function: Callable[..., object]) -> inspect.Signature:
    """`inspect.signature`, with annotations that can't be evaluated yet left as they are.

    Raises:
        ValueError: there is none, as for some functions written in C.
        TypeError: the object has no signature.
    """
    if sys.version_info >= (3, 14):
        import annotationlib  # noqa: PLC0415  not there before 3.14

        return inspect.signature(function, annotation_format=annotationlib.Format.FORWARDREF)
    return inspect.signature(function)


def read_signature(function: Callable[..., object], context_type: type) -> Signature:
    """Read a function that is to become a tool: its parameters, their types and descriptions.

    Args:
        function: a function, a bound method, a static method, or a partial of one; what a partial
            has bound is not shown to the model.
        context_type: a parameter with this annotation is not part of the input.

    Raises:
        InvalidRequestError: a model could not fill the signature in; the sentence names the
            function and the parameter.
    """
    inner, bound = _unwrapped(function)
    name = getattr(inner, "__name__", "").replace(_UNNAMED, "")
    owner = f"tool function {name or _UNNAMED}"
    docstring = read_docstring(inspect.getdoc(inner))
    context: str | None = None
    parameters: list[Parameter] = []
    for parameter in _parameters(function, bound, owner):
        hint = _hint(inner, parameter, owner)
        if not is_type(hint, context_type):
            text = docstring.parameters.get(parameter.name)
            parameters.append(
                Parameter(
                    name=parameter.name, hint=hint, default=parameter.default, description=text
                )
            )
        elif context is None:
            context = parameter.name
        else:
            raise InvalidRequestError(
                f'{owner} takes the context twice, as "{context}" and "{parameter.name}": keep one'
            )
    schema, read = plain_input(parameters) or _modelled(parameters, owner)
    return Signature(name=name, docstring=docstring, schema=schema, context=context, read=read)


def _unwrapped(function: Callable[..., object]) -> tuple[Callable[..., object], frozenset[str]]:
    """The function inside of partials, and the keywords they have bound.

    Raises:
        InvalidRequestError: it is no function, or one that yields.
    """
    bound: frozenset[str] = frozenset()
    while isinstance(function, functools.partial):
        # A bound keyword stays in the signature as a default: an API key would reach the model.
        bound |= frozenset(cast("functools.partial[object]", function).keywords)
        function = cast("Callable[..., object]", function.func)
    if isinstance(function, staticmethod):
        function = cast("Callable[..., object]", function.__func__)
    if not _is_function(function):
        raise InvalidRequestError(
            f"a tool is made of a function or a bound method, not of {type(function).__name__}:"
            " pass the method that does the work"
        )
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise InvalidRequestError(
            f"tool function {getattr(function, '__name__', '')} yields, but a model gets one result: return a list"
        )
    return function, bound


def _is_function(value: object) -> bool:
    return inspect.isroutine(value) and not inspect.isclass(value)


def _parameters(
    function: Callable[..., object], bound: frozenset[str], owner: str
) -> Iterator[inspect.Parameter]:
    try:
        signature = signature_of(function)
    except (TypeError, ValueError):
        signature = None
    if signature is None:
        raise InvalidRequestError(f"{owner} has no readable signature: wrap it in a function")
    for index, parameter in enumerate(signature.parameters.values()):
        if parameter.name in bound:
            continue
        if parameter.kind in _REFUSED_KINDS:
            raise InvalidRequestError(
                f'parameter "{parameter.name}" of {owner} {_REFUSED_KINDS[parameter.kind]}'
            )
        if parameter.annotation is inspect.Parameter.empty:
            unbound = index == 0 and parameter.name in {"self", "cls"}
            advice = "make the tool of the bound method" if unbound else "annotate it with its type"
            raise InvalidRequestError(
                f'parameter "{parameter.name}" of {owner} has no type: {advice}'
            )
        yield parameter


_REFUSED_KINDS = {
    inspect.Parameter.VAR_POSITIONAL: "stands for any number of values: take one list instead",
    inspect.Parameter.VAR_KEYWORD: "stands for any names: name the parameters, or take one dict",
    inspect.Parameter.POSITIONAL_ONLY: "is positional-only, but models give names: drop the `/`",
}


def _hint(inner: Callable[..., object], parameter: inspect.Parameter, owner: str) -> object:
    """The parameter's type, resolved on its own so that a message can name the parameter.

    Raises:
        InvalidRequestError: it names something that is not there.
    """
    function = inspect.unwrap(getattr(inner, "__func__", inner))
    names: dict[str, Any] = getattr(function, "__globals__", {})
    holder = SimpleNamespace(__annotations__={parameter.name: parameter.annotation})
    try:
        hints = typing.get_type_hints(holder, names, names, include_extras=True)
    except (NameError, AttributeError, SyntaxError, TypeError):
        hints = {}
    if parameter.name not in hints:
        raise InvalidRequestError(
            f'the type of parameter "{parameter.name}" of {owner} can\'t be resolved: import or'
            " define what it names at the top of the module"
        )
    return hints[parameter.name]


def is_type(hint: object, wanted: type) -> bool:
    """Whether the hint is the type: bare, optional, annotated, or its bare name as text."""
    if get_origin(hint) is Annotated:
        return is_type(get_args(hint)[0], wanted)
    if get_origin(hint) in {Union, UnionType}:
        return any(is_type(option, wanted) for option in get_args(hint))
    return hint is wanted or hint == wanted.__name__


class _InputSchema(GenerateJsonSchema):
    def emit_warning(self, kind: JsonSchemaWarningKind, detail: str) -> None:
        """Say nothing: a default that is no JSON value is just left out of the schema."""


def _modelled(parameters: list[Parameter], owner: str) -> tuple[Schema, Read]:
    built = _build(parameters)
    if built is None:
        # Building them one by one finds the culprit; only one that fails in company is unnamed.
        broken = next((item.name for item in parameters if _build([item]) is None), "?")
        raise InvalidRequestError(
            f'no JSON schema can be made for the type of parameter "{broken}" of {owner}: use plain'
            " types, enums, dataclasses or pydantic models"
        )
    model, schema = built
    schema = simplify(finite(inline(schema, owner=owner)))
    schema.setdefault("properties", {})
    fields = dict(zip(model.model_fields, parameters, strict=True))
    modelled = _Model(
        model=model,
        parameters={field: parameter.name for field, parameter in fields.items()},
        own_defaults=frozenset(key for key, value in fields.items() if value.has_own_default),
    )
    return schema, modelled.read


def _build(parameters: list[Parameter]) -> tuple[type[BaseModel], Schema] | None:
    config = ConfigDict(extra="forbid", hide_input_in_errors=True, protected_namespaces=())
    fields = {
        # Not the parameter's name: BaseModel has attributes and rules of its own.
        f"parameter_{index}": Parameter.definition(_with_typed_dicts(item))
        for index, item in enumerate(parameters)
    }
    try:
        model = create_model("Input", __config__=config, **fields)
        return model, model.model_json_schema(schema_generator=_InputSchema)
    except (PydanticUserError, PydanticUndefinedAnnotation, TypeError, NameError):
        return None


def _with_typed_dicts(parameter: Parameter) -> Parameter:
    return Parameter(
        name=parameter.name,
        hint=with_typed_dicts(parameter.hint),
        default=parameter.default,
        description=parameter.description,
    )
