"""ScriptedModel answers from its script."""

import pytest

from rig.agent.tools import tool
from rig.errors import InvalidRequestError, ServerError, StreamCutError
from rig.messages import Message, ToolCall, Usage
from rig.model import ChatRequest, Delta, Reply
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


# Streams


async def deltas(model: ScriptedModel) -> tuple[list[Delta], Reply]:
    async with model.stream(request("a")) as replies:
        got = [delta async for delta in replies]
        return got, replies.reply()


async def test_a_streamed_reply_comes_in_three_characters_a_delta() -> None:
    call = ToolCall(id="1", name="add", arguments='{"a":1}')
    scripted = Reply(
        text="abcd",
        reasoning="hmm.",
        tool_calls=(call,),
        usage=Usage(prompt_tokens=1, completion_tokens=2),
    )
    got, reply = await deltas(ScriptedModel(scripted))
    assert reply is scripted
    assert [delta.reasoning for delta in got if delta.reasoning] == ["hmm", "."]
    assert [delta.text for delta in got if delta.text] == ["abc", "d"]
    news = [delta.tool_call for delta in got if delta.tool_call]
    assert [(one.stage, one.arguments) for one in news] == [
        ("started", ""),
        ("arguments", '{"a'),
        ("arguments", '":1'),
        ("arguments", "}"),
        ("finished", '{"a":1}'),
    ]
    assert got[-1] == Delta(finish_reason="stop", usage=scripted.usage)


async def test_a_streamed_error_is_raised_on_entering_and_a_cut_behind_its_text() -> None:
    cut = StreamCutError("cut")
    cut.text = "abcd"
    model = ScriptedModel(ServerError("down", status=500), cut)
    with pytest.raises(ServerError):
        async with model.stream(request("a")):
            pass
    async with model.stream(request("a")) as replies:
        with pytest.raises(StreamCutError):
            [delta async for delta in replies]
        assert replies.text == "abcd"
        with pytest.raises(StreamCutError):
            replies.reply()


async def test_a_reply_is_not_given_before_the_end_of_its_stream() -> None:
    async with ScriptedModel("abcd").stream(request("a")) as replies:
        await anext(aiter(replies))
        with pytest.raises(InvalidRequestError):
            replies.reply()
