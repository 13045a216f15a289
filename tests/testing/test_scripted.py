"""ScriptedModel answers from its script."""

import pytest

from rig.agent.tools import tool
from rig.errors import ServerError
from rig.messages import Message, ToolCall
from rig.model import ChatRequest, Reply
from rig.testing import ScriptedModel


def request(text: str) -> ChatRequest:
    return ChatRequest(model="m", messages=(Message(role="user", content=text),), max_tokens=10)


async def test_replies_come_in_order_and_requests_are_kept() -> None:
    call = Reply(tool_calls=(ToolCall(id="1", name="add"),))
    model = ScriptedModel("one", call)
    assert await model.complete(request("a")) == Reply(text="one", model="m")
    assert await model.complete(request("b")) is call
    assert [asked.messages[0].content for asked in model.requests] == ["a", "b"]
    assert model.unused == 0


async def test_an_error_is_raised() -> None:
    with pytest.raises(ServerError):
        await ScriptedModel(ServerError("down", status=500)).complete(request("a"))


async def test_a_callable_sees_the_request_and_may_await() -> None:
    async def later(asked: ChatRequest) -> Reply:
        return Reply(text=f"{asked.model}!")

    model = ScriptedModel(lambda asked: f"{asked.max_tokens}", later)
    assert (await model.complete(request("a"))).text == "10"
    assert (await model.complete(request("a"))).text == "m!"


async def test_running_out_is_a_failed_assertion() -> None:
    model = ScriptedModel("one")
    await model.complete(request("a"))
    with pytest.raises(AssertionError, match="asked 2 times and had 1"):
        await model.complete(request("b"))


async def test_it_runs_agents_like_a_client() -> None:
    @tool
    async def add(a: int, b: int) -> int:
        """Add two integers."""
        return a + b

    call = ToolCall(id="1", name="add", arguments='{"a": 1, "b": 2}')
    model = ScriptedModel(Reply(tool_calls=(call,), finish_reason="tool_calls"), "The sum is 3.")
    result = await model.run("add 1 and 2", max_tokens=100, tools=[add])
    assert result.text == "The sum is 3."
    assert [outcome.content for outcome in result.tool_calls] == ["3"]
    assert model.requests[0].model == "scripted"
    assert model.requests[1].messages[-1].role == "tool"
