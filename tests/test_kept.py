"""What was once made of a value stays with it, and is no part of it."""

import copy
import dataclasses
import pickle
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from rig.agent.request import RunRequest
from rig.agent.toolbox import Toolbox, validate_tools
from rig.agent.tools import Tool
from rig.kept import KEPT, Keeps
from rig.messages import Message
from rig.model import ChatOptions, ChatRequest
from rig.wire.encode import encode_chat


def looked_up(given: Mapping[str, Any]) -> str:
    return str(given)


def tool(name: str = "search") -> Tool:
    return Tool(name, "Look it up.", None, looked_up)


def shown(value: Any) -> object:
    """What a value says; a tool is only equal to itself."""
    if isinstance(value, Tool):
        return {name: getattr(value, name) for name in ("name", "description", "input_schema", "run")}  # fmt: skip
    if isinstance(value, Toolbox):
        return [shown(one) for one in value]
    if isinstance(value, RunRequest):
        return [(name, shown([*held] if name == "tools" else held)) for name, held in vars(value).items()]  # fmt: skip
    return [shown(one) for one in value] if isinstance(value, list) else value


MADE: dict[str, Callable[[], Any]] = {
    "message": lambda: Message(role="user", content="a"),
    "options": lambda: ChatOptions(temperature=0.5),
    "tool": tool,
    "box": lambda: Toolbox([tool("search"), tool("write")]),
}
COPIED: dict[str, Callable[[Any], Any]] = {
    "copied": copy.copy,
    "copied deeply": copy.deepcopy,
    "pickled": lambda value: pickle.loads(pickle.dumps(value)),
}


def sent(value: object) -> bytes:
    """The body of a request with it, and with what others made of it."""
    messages = (value,) if isinstance(value, Message) else (Message(role="user", content="b"),)
    tools = Toolbox([value]) if isinstance(value, Tool) else value
    return encode_chat(
        ChatRequest(
            model="m",
            messages=messages,
            max_tokens=1,
            tools=tools if isinstance(tools, Toolbox) else (),
            options=value if isinstance(value, ChatOptions) else ChatOptions(),
        )
    )


def kept(value: object) -> object:
    return getattr(value, KEPT, None)


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_what_was_made_of_a_value_is_made_once(made: Callable[[], Any]) -> None:
    value = made()
    first = sent(value)
    once = kept(value)
    assert once is not None
    assert sent(value) == first == sent(made())
    assert kept(value) is once


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
@pytest.mark.parametrize("copied", COPIED.values(), ids=COPIED)
def test_a_copy_is_the_same_value_and_keeps_nothing(
    copied: Callable[[Any], Any], made: Callable[[], Any]
) -> None:
    value = made()
    body = sent(value)
    other = copied(value)
    assert kept(other) is None
    assert shown(other) == shown(made())
    assert sent(other) == body


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_what_is_kept_is_not_shown_nor_compared(made: Callable[[], Any]) -> None:
    used, fresh = made(), made()
    looks = repr(used)
    sent(used)
    assert repr(used) == looks
    if not isinstance(used, Tool | Toolbox):
        assert used == fresh
    if dataclasses.is_dataclass(used):
        assert KEPT not in {field.name for field in dataclasses.fields(used)}


@pytest.mark.parametrize("copied", COPIED.values(), ids=COPIED)
def test_a_request_of_a_run_can_be_copied_after_it_was_used(copied: Callable[[Any], Any]) -> None:
    request: RunRequest[Any] = RunRequest("a", max_tokens=1, tools=[tool("search"), tool("write")])
    sent(vars(request)["_toolbox"])
    other = copied(request)
    assert shown(other) == shown(request)
    assert sent(Toolbox(other.tools)) == sent(Toolbox(request.tools))


def test_a_tool_is_pickled_without_the_tools_it_was_used_with() -> None:
    def in_here(_given: Mapping[str, Any]) -> str:
        return "which can't be pickled"

    one, other = tool("search"), Tool("write", "Write it.", None, in_here)
    sent(validate_tools([one, other]))
    assert pickle.loads(pickle.dumps(one)).name == "search"


def test_whoever_keeps_has_room_for_nothing_else() -> None:
    class Value(Keeps):
        __slots__ = ()

    value = Value()
    object.__setattr__(value, KEPT, 1)
    assert kept(value) == 1
    assert not hasattr(value, "__dict__")
