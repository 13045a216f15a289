"""What type checkers know of tools: pyright and mypy run over this file, nothing executes it."""

from typing import Any, assert_type

from rig.agent.toolbox import Toolbox, validate_tools
from rig.agent.tools import FunctionTool, Tool, ToolContext, tool
from rig.model import ToolSpec


@tool
async def multiply(a: int, b: int) -> int:
    """Multiply two integers."""
    return a * b


@tool(effect="write", confirm=True, timeout_s=5, tags=("files",))
def save(path: str, context: ToolContext) -> bool:
    """Save a file."""
    return bool(path and context.deps)


class Store:
    def find(self, key: str) -> list[str]:
        """Find a key."""
        return [key]


async def a_tool_keeps_the_types_of_its_function(context: ToolContext) -> None:
    assert_type(await multiply(2, b=3), int)
    assert_type(save("a", context), bool)
    assert_type(tool(Store().find)("key"), list[str])
    multiply("2", 3)  # type: ignore[arg-type, unused-coroutine]
    save("a")  # type: ignore[call-arg]


def by_hand_run(given: dict[str, object], context: ToolContext) -> str:
    return f"{given} {context.iteration}"


def tools_of_every_kind_go_into_one_list() -> None:
    by_hand = Tool("t", "Do it.", {"type": "object"}, by_hand_run)
    box = Toolbox([multiply, save, by_hand])
    assert_type(box[0], Tool)
    assert_type(box[1:], Toolbox)
    assert_type(validate_tools([multiply, by_hand]), Toolbox)
    specs: list[ToolSpec] = [multiply, by_hand]
    assert specs


def an_unknown_option_is_an_error() -> None:
    tool(time_out=5)  # type: ignore[call-overload]


def function_tools_are_tools(one: FunctionTool[..., Any]) -> Tool:
    return one
