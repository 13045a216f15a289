"""Which conversations are in order, and which calls wait."""

import pytest

from rig.agent.pairing import pairing_problem, waiting_calls
from rig.messages import Message, ToolCall


def user(content: str = "hi") -> Message:
    return Message(role="user", content=content)


def assistant(*ids: str) -> Message:
    calls = tuple(ToolCall(id=one, name="f") for one in ids)
    return Message(role="assistant", content="so", tool_calls=calls)


def result(identity: str | None) -> Message:
    return Message(role="tool", content="ok", tool_call_id=identity)


IN_ORDER: dict[str, tuple[list[Message], list[str]]] = {
    "nothing": ([], []),
    "talk": ([user(), assistant(), user()], []),
    "a call and its result": ([user(), assistant("1"), result("1"), assistant()], []),
    "results in another order": ([assistant("1", "2"), result("2"), result("1")], []),
    "an id again, later": ([assistant("1"), result("1"), assistant("1"), result("1")], []),
    "calls that wait": ([user(), assistant("1", "2", "3"), result("2")], ["1", "3"]),
    "nothing answered yet": ([user(), assistant("1")], ["1"]),
    "a call that waits under an old id": ([assistant("1"), result("1"), assistant("1")], ["1"]),
}


@pytest.mark.parametrize(("turns", "waiting"), IN_ORDER.values(), ids=IN_ORDER)
def test_what_is_in_order(turns: list[Message], waiting: list[str]) -> None:
    assert pairing_problem(turns) is None
    assert [call.id for call in waiting_calls(turns)] == waiting


BROKEN: dict[str, tuple[list[Message], int]] = {
    "a result without a call": ([user(), result("1")], 1),
    "a result of another call": ([assistant("1"), result("2")], 1),
    "a result without an id": ([assistant("1"), result(None)], 1),
    "a result twice": ([assistant("1"), result("1"), result("1")], 2),
    "a result too late": ([assistant("1"), result("1"), user(), result("1")], 3),
    "a user before the results": ([assistant("1"), user()], 1),
    "an assistant before all results": ([assistant("1", "2"), result("1"), assistant()], 2),
    "calls with one id": ([user(), assistant("1", "1")], 1),
    "a call without an id": ([user(), assistant("")], 1),
    "calls of the user": (
        [Message(role="user", content="x", tool_calls=(ToolCall(id="1", name="f"),))],
        0,
    ),
    "a system message": ([user(), Message(role="system", content="x")], 1),
}


@pytest.mark.parametrize(("turns", "index"), BROKEN.values(), ids=BROKEN)
def test_what_is_not(turns: list[Message], index: int) -> None:
    problem = pairing_problem(turns)
    assert problem is not None
    assert problem[0] == index
    assert problem[1]
