import dataclasses
import functools
import inspect
import pydoc
from typing import Any

import pytest

from rig.agent.tools import FunctionTool, Tool, ToolContext, tool
from rig.errors import InvalidRequestError, ToolError
from rig.messages import ToolCall

CONTEXT = ToolContext(call=ToolCall(id="1", name="t"), iteration=2, deps={"user": "ada"})
NOTHING = {"type": "object", "properties": {}}


async def nothing(given: Any) -> Any:
    return ""


def made(
    name: Any = "t",
    description: Any = "Do it.",
    input_schema: Any = None,
    run: Any = nothing,
    **options: Any,
) -> Any:
    return Tool(name, description, input_schema, run, **options)


async def called(one: Any, arguments: str, context: Any = CONTEXT) -> Any:
    checked = one.check(arguments)
    assert checked.problems == ()
    return await one.invoke(checked.value, context)


# Tool


@pytest.mark.parametrize("name", ["a", "A-1_b", "x" * 64])
def test_a_name_the_servers_take(name: str) -> None:
    assert made(name).name == name


@pytest.mark.parametrize("name", ["", " ", "a b", "a\n", "a.b", "\u00fc", "x" * 65, "a/b", None, 1])
def test_a_name_no_server_takes_is_refused(name: str) -> None:
    with pytest.raises(InvalidRequestError):
        made(name)


UNUSABLE = {
    "no description": {"description": ""},
    "blank description": {"description": " \n"},
    "description that is no text": {"description": None},
    "no run": {"run": None},
    "run that is no function": {"run": "rm"},
    "run without input": {"run": lambda: 1},
    "run with three arguments": {"run": lambda a, b, c: 1},
    "run with a required keyword": {"run": lambda a, *, key: 1},
    "unknown effect": {"effect": "maybe"},
    "no time": {"timeout_s": 0},
    "negative time": {"timeout_s": -1},
    "time without end": {"timeout_s": float("inf")},
    "time that is no number": {"timeout_s": float("nan")},
    "time as a truth": {"timeout_s": True},
    "time as text": {"timeout_s": "5"},
    "no characters": {"max_result_chars": 0},
    "broken characters": {"max_result_chars": 1.5},
    "characters as a truth": {"max_result_chars": True},
    "tags as one word": {"tags": "files"},
    "tags that are no words": {"tags": (1,)},
    "blank tag": {"tags": ("",)},
    "tags that are nothing": {"tags": None},
    "schema of a list": {"input_schema": {"type": "array"}},
}


@pytest.mark.parametrize("options", UNUSABLE.values(), ids=UNUSABLE.keys())
def test_a_tool_nobody_could_use_is_refused_when_it_is_made(options: Any) -> None:
    with pytest.raises(InvalidRequestError):
        made(**options)


def test_a_tool_takes_its_four_values_by_position_and_has_modest_defaults() -> None:
    one = Tool("t", "Do it.", {"type": "object"}, nothing)
    assert (one.name, one.description, one.input_schema, one.run) == (
        "t",
        "Do it.",
        NOTHING,
        nothing,
    )
    assert (one.effect, one.confirm, one.timeout_s, one.concurrent, one.tags) == (
        "read",
        False,
        None,
        False,
        (),
    )


def test_a_tool_is_frozen_hashable_and_can_be_varied() -> None:
    one = made(tags=["a"], timeout_s=5)
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.name = "x"
    assert hash(one) == hash(one)
    other = dataclasses.replace(one, name="other", confirm=True)
    assert (other.name, other.confirm, other.tags, other.timeout_s) == ("other", True, ("a",), 5.0)


def test_later_changes_of_the_schema_do_not_reach_the_tool() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string"}}}
    one = made(input_schema=schema)
    schema["properties"]["a"]["type"] = "integer"
    assert one.input_schema["properties"]["a"] == {"type": "string"}


def test_what_is_sent_is_portable_while_the_check_stays_strict() -> None:
    one = made(
        input_schema={
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/A"}},
            "$defs": {"A": {"maxLength": 5_000}},
        }
    )
    assert one.input_schema == {
        "type": "object",
        "properties": {"a": {"description": "(maxLength: 5000)"}},
    }
    assert one.check('{"a": "%s"}' % ("x" * 5_001)).problems


def takes_input(given: Any) -> Any:
    return "input"


def takes_context(given: Any, context: Any) -> Any:
    return context.deps["user"]


def takes_any_second(given: Any, whatever: Any) -> Any:
    return whatever.deps["user"]


def takes_named_context(given: Any, context: Any = None) -> Any:
    return context.deps["user"]


def takes_annotated_context(given: Any, c: ToolContext | None = None, d: int = 1) -> Any:
    return "input" if c is None else c.deps["user"]


def takes_exactly_annotated(given: Any, c: ToolContext = CONTEXT) -> Any:
    return c.deps["user"]


def takes_an_option(given: Any, verbose: Any = False) -> Any:
    return "input" if verbose is False else "context"


def takes_anything(*args: Any) -> Any:
    return "input" if len(args) == 1 else "context"


class Called:
    async def __call__(self, given: Any, context: Any) -> Any:
        return context.deps["user"]


RUNS = {
    "input": (takes_input, "input"),
    "input and context": (takes_context, "ada"),
    "a required second parameter": (takes_any_second, "ada"),
    "context with a default": (takes_named_context, "ada"),
    "an annotated context with a default": (takes_exactly_annotated, "ada"),
    "an optional context": (takes_annotated_context, "ada"),
    "an option of its own": (takes_an_option, "input"),
    "any number": (takes_anything, "input"),
    "partial": (functools.partial(lambda a, given, context: context.deps["user"], 1), "ada"),
    "callable object": (Called(), "ada"),
    "builtin": (str, "{'a': 1}"),
}


@pytest.mark.parametrize(("run", "expected"), RUNS.values(), ids=RUNS.keys())
async def test_run_gets_the_context_when_it_takes_it(run: Any, expected: Any) -> None:
    assert await called(made(run=run), '{"a": 1}') == expected


async def test_functions_run_in_a_worker_thread_and_coroutines_in_the_loop() -> None:
    import threading

    here = threading.get_ident()

    async def in_loop(given: Any) -> Any:
        return threading.get_ident()

    def in_thread(given: Any) -> Any:
        return threading.get_ident()

    assert await called(made(run=in_loop), "{}") == here
    assert await called(made(run=in_thread), "{}") != here
    assert made(run=in_thread).in_thread
    assert not made(run=in_loop).in_thread
    assert not made(run=functools.partial(in_loop)).in_thread


async def test_a_function_that_returns_an_awaitable_is_awaited() -> None:
    assert await called(made(run=lambda given: takes_later()), "{}") == "later"


async def takes_later() -> Any:
    return "later"


# @tool


def echo(annotation: Any, default: Any = ...) -> Any:
    def function(value: Any) -> Any:
        """Do it."""
        return value

    function.__annotations__["value"] = annotation
    if default is not ...:
        function.__defaults__ = (default,)
    return tool(function)


async def test_a_tool_is_still_its_function() -> None:
    @tool
    async def multiply(a: int, b: int) -> int:
        """Multiply two integers."""
        return a * b

    @tool(effect="write")
    def add(a: int, b: int = 1) -> int:
        """Add two integers."""
        return a + b

    assert await multiply(2, b=3) == 6
    assert add(2) == 3
    assert await multiply.run({"a": "2", "b": 3}) == 6
    assert await add.run({"a": 2}, CONTEXT) == 3


async def test_run_called_by_hand_refuses_what_does_not_fit() -> None:
    with pytest.raises(ToolError):
        await echo(int).run({"value": "x"})

    @tool
    def f(context: ToolContext) -> None:
        """Do it."""

    with pytest.raises(InvalidRequestError):
        await f.run({})


def test_a_function_tool_can_be_varied() -> None:
    one = dataclasses.replace(echo(int), name="renamed", timeout_s=1)
    assert isinstance(one, FunctionTool)
    assert (one.name, one.timeout_s) == ("renamed", 1.0)
    assert one(3) == 3


def test_the_context_does_not_show_what_the_caller_keeps_in_it() -> None:
    assert "ada" not in repr(CONTEXT)


def test_a_tool_shows_neither_schema_nor_function() -> None:
    assert "properties" not in repr(echo(int))
    assert "function" not in repr(made()).partition("(")[2]


def test_a_tool_shows_the_function_it_is_made_of() -> None:
    def look(city: str) -> str:
        """Look it up.

        Args:
            city: the city.
        """
        return city

    shown = tool(name="other")(look)
    assert (shown.__name__, shown.__doc__, shown.__wrapped__) == ("look", look.__doc__, look)
    assert inspect.signature(shown) == inspect.signature(look)
    assert inspect.unwrap(shown) is look
    assert "city: the city." in pydoc.render_doc(shown)
    assert tool(lambda: 1, name="one", description="One.").__name__ == "<lambda>"
    assert tool(functools.partial(look, "a"), name="part").__name__ == "part"
    assert "made of a function" in str(FunctionTool.__doc__)


def test_an_option_there_is_not_is_told_with_those_there_are() -> None:
    options: Any = {"time_out": 5}
    with pytest.raises(TypeError, match=r"tool\(\) takes no time_out.*timeout_s"):
        tool(**options)
    with pytest.raises(TypeError, match="time_out"):
        Tool("t", "Do it.", None, str, **options)
