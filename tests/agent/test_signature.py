import dataclasses
import datetime as dt
import decimal
import enum
import functools
import typing
import uuid
from collections.abc import Sequence
from typing import Annotated, Any, Literal, NotRequired

import anyio
import pytest
import typing_extensions
from pydantic import BaseModel, Field

from rig.agent.tools import ToolContext, tool
from rig.errors import InvalidRequestError
from rig.messages import ToolCall

CONTEXT = ToolContext(call=ToolCall(id="1", name="t"), iteration=2, deps={"user": "ada"})
NOTHING = {"type": "object", "properties": {}}


async def called(one: Any, arguments: str) -> Any:
    checked = one.check(arguments)
    assert checked.problems == ()
    return await one.invoke(checked.value, CONTEXT)


# the schema


class Unit(enum.Enum):
    METRE = "m"
    FOOT = "ft"


class Person(BaseModel):
    """Somebody."""

    name: str
    manager: "Person | None" = None


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Size(typing.TypedDict):
    width: int
    height: NotRequired[int]


class Colour(typing_extensions.TypedDict, total=False):
    red: int


def schema_of(annotation: Any, default: Any = ...) -> Any:
    def function(value: Any) -> None:
        """Do it."""

    function.__annotations__["value"] = annotation
    if default is not ...:
        function.__defaults__ = (default,)
    return tool(function).input_schema["properties"]["value"]


CLOSED = {"type": "object", "additionalProperties": False}
POINT_SCHEMA = {
    **CLOSED,
    "properties": {"x": {"type": "integer"}, "y": {"type": "integer", "default": 0}},
    "required": ["x"],
}
SIZE_SCHEMA = {
    **CLOSED,
    "properties": {"width": {"type": "integer"}, "height": {"type": "integer"}},
    "required": ["width"],
}
COLOUR_SCHEMA = {**CLOSED, "properties": {"red": {"type": "integer"}}}
ANNOTATIONS = {
    "int": (int, {"type": "integer"}),
    "list": (list[str], {"type": "array", "items": {"type": "string"}}),
    "sequence": (Sequence[int], {"type": "array", "items": {"type": "integer"}}),
    "dict": (dict[str, float], {"type": "object", "additionalProperties": {"type": "number"}}),
    "literal": (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
    "enum": (Unit, {"type": "string", "enum": ["m", "ft"]}),
    "datetime": (dt.datetime, {"type": "string", "format": "date-time"}),
    "field": (
        Annotated[int, Field(ge=1, description="a count")],
        {"type": "integer", "minimum": 1, "description": "a count"},
    ),
    "dataclass": (Point, POINT_SCHEMA),
    "typed dict": (Size, SIZE_SCHEMA),
    "typed dicts in a list": (list[Size], {"type": "array", "items": SIZE_SCHEMA}),
    "optional typed dict": (Size | None, {"anyOf": [SIZE_SCHEMA, {"type": "null"}]}),
    "backported typed dict": (Colour, COLOUR_SCHEMA),
    "text of a type": ("list[int]", {"type": "array", "items": {"type": "integer"}}),
}


@pytest.mark.parametrize(("annotation", "expected"), ANNOTATIONS.values(), ids=ANNOTATIONS.keys())
def test_the_schema_is_read_off_the_annotation(annotation: Any, expected: Any) -> None:
    assert schema_of(annotation) == expected


def test_defaults_are_in_the_schema_and_optional_is_only_the_type() -> None:
    assert schema_of(int, 3) == {"type": "integer", "default": 3}
    assert schema_of(int | None, None) == {"type": "integer"}
    assert schema_of(Unit, Unit.METRE)["default"] == "m"
    assert "default" not in schema_of(int, object())


class Bounded(BaseModel):
    least: float = float("-inf")


def test_what_json_has_no_form_for_is_left_out_of_the_schema() -> None:
    assert schema_of(float, float("inf")) == {"type": "number"}
    assert schema_of(float, float("nan")) == {"type": "number"}
    assert schema_of(Annotated[float, Field(le=float("inf"))], 1.5) == {
        "type": "number",
        "default": 1.5,
    }
    assert schema_of(Bounded)["properties"]["least"] == {"type": "number"}


async def test_such_a_default_is_what_the_function_gets() -> None:
    @tool
    def least(limit: float = float("inf")) -> str:
        """Find the least."""
        return str(limit)

    assert least.signature.read("{}") == {}
    assert least() == "inf"


def test_a_recursive_model_is_written_out_and_cut() -> None:
    text = str(schema_of(Person))
    assert "$" not in text
    assert "title" not in text


def test_a_whole_schema() -> None:
    @tool
    async def move(
        name: str, to: Point, context: ToolContext, by: Annotated[int, Field(gt=0)] = 1
    ) -> None:
        """Move something.

        Args:
            name: what to move
            to: where
            context: of the call
            by: how far
        """

    assert move.name == "move"
    assert move.description == "Move something."
    assert move.input_schema == {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "name": {"type": "string", "description": "what to move"},
            "to": {**POINT_SCHEMA, "description": "where"},
            "by": {
                "type": "integer",
                "exclusiveMinimum": 0,
                "default": 1,
                "description": "how far",
            },
        },
        "required": ["name", "to"],
    }


def test_a_function_without_parameters_takes_an_empty_object() -> None:
    @tool
    def now() -> str:
        """Tell the time."""
        return "now"

    assert now.input_schema == {**NOTHING, "additionalProperties": False}


def test_a_field_description_wins_over_the_docstring() -> None:
    @tool
    def f(a: Annotated[int, Field(description="mine")]) -> int:
        """Do it.

        Args:
            a: theirs
        """
        return a

    assert f.input_schema["properties"]["a"]["description"] == "mine"


def test_name_description_and_options_may_be_given() -> None:
    @tool(
        name="other",
        description="Say it.",
        effect="write",
        confirm=True,
        timeout_s=5,
        tags=["a"],
        concurrent=True,
    )
    def f() -> None: ...

    assert (f.name, f.description, f.effect, f.confirm, f.timeout_s, f.tags, f.concurrent) == (
        "other", "Say it.", "write", True, 5.0, ("a",), True,
    )  # fmt: skip
    assert tool(lambda: 1, name="one", description="One.").name == "one"


# the arguments


def echo(annotation: Any, default: Any = ...) -> Any:
    def function(value: Any) -> Any:
        """Do it."""
        return value

    function.__annotations__["value"] = annotation
    if default is not ...:
        function.__defaults__ = (default,)
    return tool(function)


VALUES = {
    "int": (int, "3", 3),
    "int from text": (int, '"3"', 3),
    "enum": (Unit, '"ft"', Unit.FOOT),
    "literal": (Literal["a"], '"a"', "a"),
    "datetime": (
        dt.datetime,
        '"2026-01-02T03:04:05Z"',
        dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC),
    ),
    "decimal": (decimal.Decimal, '"1.10"', decimal.Decimal("1.10")),
    "uuid": (uuid.UUID, '"00000000-0000-0000-0000-000000000001"', uuid.UUID(int=1)),
    "set": (set[int], "[1, 1]", {1}),
    "tuple": (tuple[int, str], '[1, "a"]', (1, "a")),
    "dataclass": (Point, '{"x": 1}', Point(1)),
    "model": (Person, '{"name": "Ada"}', Person(name="Ada")),
    "models in a dict": (dict[str, Person], '{"a": {"name": "Ada"}}', {"a": Person(name="Ada")}),
    "typed dict": (Size, '{"width": 1}', {"width": 1}),
    "optional": (int | None, "null", None),
}


@pytest.mark.parametrize(("annotation", "text", "expected"), VALUES.values(), ids=VALUES.keys())
async def test_arguments_arrive_as_values_of_the_annotated_types(
    annotation: Any, text: str, expected: Any
) -> None:
    value = await called(echo(annotation), f'{{"value": {text}}}')
    assert value == expected
    assert type(value) is type(expected)


@pytest.mark.parametrize(
    "arguments", ["{}", '{"value": "x"}', '{"value": 1, "other": 2}', '{"value": null}']
)
def test_arguments_that_do_not_fit_are_problems(arguments: str) -> None:
    assert echo(int).check(arguments).problems


async def test_what_is_left_out_takes_the_functions_own_default() -> None:
    sentinel = object()
    assert await called(echo(int, sentinel), "{}") is sentinel
    assert await called(echo(Annotated[int, Field(default=7)]), "{}") == 7
    assert await called(echo(int, Field(default=8)), "{}") == 8
    assert await called(echo(int, None), "{}") is None


@pytest.mark.parametrize(
    "name",
    [
        "json",
        "copy",
        "schema",
        "model_config",
        "_private",
        "self_",
        "validate",
        "parameter_1",
        "class_",
    ],
)
async def test_a_parameter_may_have_any_name(name: str) -> None:
    scope: dict[str, typing.Any] = {}
    exec(f"def function({name}: int, other: int = 0):\n    'Do it.'\n    return {name}", scope)
    one = tool(scope["function"])
    assert list(one.input_schema["properties"]) == [name, "other"]
    assert await called(one, f'{{"{name}": 5}}') == 5


async def test_the_context_is_given_to_the_parameter_annotated_with_it() -> None:
    @tool
    async def who(ctx: ToolContext, greeting: str = "hi") -> str:
        """Tell who it is."""
        return f"{greeting} {ctx.deps['user']} {ctx.iteration}"

    assert list(who.input_schema["properties"]) == ["greeting"]
    assert await called(who, "{}") == "hi ada 2"
    assert await who(CONTEXT, "ho") == "ho ada 2"


class Store:
    def __init__(self, name: str) -> None:
        self.name = name

    def find(self, key: str) -> str:
        """Find a key."""
        return f"{self.name}:{key}"

    @tool
    @staticmethod
    def fixed(key: str) -> str:
        """Find a fixed key."""
        return key

    @classmethod
    def of_class(cls, key: str) -> str:
        """Find a key of the class."""
        return f"{cls.__name__}:{key}"


async def test_methods_become_tools_when_bound() -> None:
    find = tool(Store("s").find)
    assert find.name == "find"
    assert await called(find, '{"key": "k"}') == "s:k"
    assert await called(tool(Store.of_class), '{"key": "k"}') == "Store:k"
    assert Store("s").fixed("k") == "k"
    assert await called(Store.fixed, '{"key": "k"}') == "k"


async def test_what_a_partial_has_bound_stays_hidden() -> None:
    def search(query: str, api_key: str, limit: int = 3) -> str:
        """Search."""
        return f"{query} {api_key} {limit}"

    one = tool(functools.partial(search, api_key="secret-key"))
    assert one.name == "search"
    assert list(one.input_schema["properties"]) == ["query", "limit"]
    assert "secret-key" not in str(one.input_schema)
    assert await called(one, '{"query": "q"}') == "q secret-key 3"
    assert one.check('{"query": "q", "api_key": "mine"}').problems
    nested = tool(functools.partial(functools.partial(search, "q"), limit=1))
    assert list(nested.input_schema["properties"]) == ["api_key"]


async def test_a_wrapped_function_keeps_its_signature() -> None:
    def logged(function: Any) -> Any:
        @functools.wraps(function)
        async def wrapper(*args: Any, **kwargs: Any) -> Any:
            return ["logged", await function(*args, **kwargs)]

        return wrapper

    @tool
    @logged
    async def double(a: int) -> int:
        """Double it."""
        return 2 * a

    assert await called(double, '{"a": 2}') == ["logged", 4]


def many(*items: int) -> None:
    """Do it."""


def named(**items: int) -> None:
    """Do it."""


def positional(a: int, /) -> None:
    """Do it."""


def untyped(a, b: int) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001  the case
    """Do it."""


def unresolvable(a: "Nowhere") -> None:  # type: ignore[name-defined]  # noqa: F821  the case
    """Do it."""


def malformed_hint(a: "int |") -> None:  # type: ignore[valid-type]  # noqa: F722  the case
    """Do it."""


def unschemable(a: int, b: anyio.Lock) -> None:
    """Do it."""


def function_parameter(a: typing.Callable[[], int]) -> None:
    """Do it."""


def contexts(a: ToolContext, b: ToolContext) -> None:
    """Do it."""


def undocumented(a: int) -> None: ...


def only_parameters(a: int) -> None:
    """Args:
    a: something
    """


def yields(a: int) -> Any:
    """Do it."""
    yield a


async def yields_later(a: int) -> Any:
    """Do it."""
    yield a


class Class:
    """Do it."""

    def __call__(self, a: int) -> int:
        """Do it."""
        return a


REFUSED = {
    "any number of values": (many, '"items"'),
    "any names": (named, '"items"'),
    "positional only": (positional, '"a"'),
    "no type": (untyped, '"a"'),
    "a type that is nowhere": (unresolvable, '"a"'),
    "a type that is no type": (malformed_hint, '"a"'),
    "a type without schema": (unschemable, '"b"'),
    "a function as parameter": (function_parameter, '"a"'),
    "two contexts": (contexts, '"b"'),
    "no docstring": (undocumented, "undocumented"),
    "no summary": (only_parameters, "only_parameters"),
    "generator": (yields, "yields"),
    "async generator": (yields_later, "yields_later"),
    "method without its object": (Store.find, '"self"'),
    "class": (Class, "method"),
    "callable object": (Class(), "method"),
    "lambda without name": (lambda: 1, "name"),
    "no function": (3, "int"),
    "builtin without types": (len, "obj"),
}


@pytest.mark.parametrize(("function", "named"), REFUSED.values(), ids=REFUSED.keys())
def test_a_function_no_model_could_use_is_refused_by_name(function: Any, named: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        tool(function)
    assert named in caught.value.message
