"""Streams of models that have one, and of models that have none."""

import pytest

from rig import (
    ChatRequest,
    Client,
    Message,
    RateLimitedError,
    Reply,
    StreamCutError,
    ToolCall,
    stream_complete,
)
from rig.client.running import RunMixin
from rig.gateway.streaming import ChangedStream, can_stream, open_stream
from rig.testing import FakeBackend, ScriptedModel
from rig.testing import stream as streamed

CALL = ToolCall(id="1", name="add", arguments='{"a": 1}')


def request() -> ChatRequest:
    return ChatRequest(model="m", messages=(Message(role="user", content="Hi"),), max_tokens=9)


class Whole:
    """Has `complete` and nothing else."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply

    async def complete(self, request: ChatRequest, /) -> Reply:
        return self._reply


class Mixed(RunMixin):
    """Runs agents, and has no stream of its own."""

    async def complete(self, request: ChatRequest, /) -> Reply:
        return Reply(text="whole")


def test_a_stream_that_only_says_there_is_none_is_none() -> None:
    assert can_stream(ScriptedModel())
    assert not can_stream(Whole(Reply()))
    assert not can_stream(Mixed())


async def test_text_is_handed_out_while_it_comes() -> None:
    pieces: list[str] = []
    answer = await stream_complete(ScriptedModel("Hello there."), request(), pieces.append)
    assert pieces == ["Hel", "lo ", "the", "re."]
    assert answer.text == "Hello there."


async def test_a_whole_reply_is_one_piece() -> None:
    for model in (Whole(Reply(text="whole")), Mixed()):
        pieces: list[str] = []
        answer = await stream_complete(model, request(), pieces.append)
        assert pieces == ["whole"] == [answer.text]


async def test_calls_and_thoughts_are_not_handed_out() -> None:
    whole = Reply(text="", reasoning="hm", tool_calls=(CALL,), finish_reason="tool_calls")
    for model in (Whole(whole), ScriptedModel(whole)):
        pieces: list[str] = []
        assert await stream_complete(model, request(), pieces.append) == whole
        assert pieces == []


async def test_callbacks_may_be_awaited() -> None:
    pieces: list[str] = []

    async def show(text: str) -> None:
        pieces.append(text)

    await stream_complete(ScriptedModel("Hello"), request(), show)
    assert "".join(pieces) == "Hello"


async def test_what_a_callback_raises_comes_out_as_it_is() -> None:
    def fail(_text: str) -> None:
        raise LookupError

    with pytest.raises(LookupError):
        await stream_complete(ScriptedModel("Hello"), request(), fail)


@pytest.mark.parametrize("streams", [True, False])
async def test_errors_come_out_as_themselves(streams: bool) -> None:
    script = ScriptedModel(RateLimitedError("busy"), StreamCutError("cut"))
    for error in (RateLimitedError, StreamCutError):
        with pytest.raises(error):
            await stream_complete(script, request(), lambda _: None)


async def test_what_was_a_thought_is_taken_back() -> None:
    """The template ate the opener, so the thought looks like the answer until it ends."""
    shown: list[str] = []
    gone: list[str] = []

    def take_back(text: str) -> None:
        assert text == "".join(shown)
        gone.append(text)
        shown.clear()

    backend = FakeBackend(
        streamed({"content": "I should"}, {"content": " greet.</think>Hel"}, {"content": "lo!"})
    )
    async with backend.serve(), Client(backend.url) as client:
        answer = await stream_complete(client, request(), shown.append, on_retract=take_back)
    assert gone
    assert "".join(shown) == answer.text == "Hello!"


async def test_without_on_retract_the_reply_holds_what_is_right() -> None:
    backend = FakeBackend(
        streamed({"content": "I should"}, {"content": " greet.</think>Hel"}, {"content": "lo!"})
    )
    async with backend.serve(), Client(backend.url) as client:
        answer = await stream_complete(client, request(), lambda _: None)
    assert answer.text == "Hello!"


async def test_a_reply_may_be_changed_at_its_end() -> None:
    async with open_stream(ScriptedModel("Hello"), request()) as inner:
        stream = ChangedStream(inner, lambda reply: Reply(text=reply.text.upper()))
        async for _ in stream:
            pass
        assert (stream.text, stream.reply().text) == ("Hello", "HELLO")
