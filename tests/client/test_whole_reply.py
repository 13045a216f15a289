import pytest

from rig.client.whole_reply import WholeReply
from rig.errors import InvalidRequestError, StreamCutError
from rig.messages import ToolCall, Usage
from rig.model import CallDelta, Delta, Reply

CALL = ToolCall(id="1", name="add", arguments='{"a": 1}')


async def test_a_whole_reply_streams_like_any_other() -> None:
    whole = Reply(text="a", reasoning="r", tool_calls=(CALL,), usage=Usage(prompt_tokens=3))
    stream = WholeReply(whole)
    with pytest.raises(InvalidRequestError):
        stream.reply()
    deltas = [delta async for delta in stream]
    assert deltas == [
        Delta(reasoning="r"),
        Delta(text="a"),
        Delta(tool_call=CallDelta(stage="started", index=0, id="1", name="add")),
        Delta(
            tool_call=CallDelta(
                stage="arguments", index=0, id="1", name="add", arguments='{"a": 1}'
            )
        ),
        Delta(
            tool_call=CallDelta(stage="finished", index=0, id="1", name="add", arguments='{"a": 1}')
        ),
        Delta(finish_reason="stop", usage=whole.usage),
    ]
    assert stream.reply() is whole
    assert stream.text == "a"


async def test_a_call_that_was_cut_is_never_finished() -> None:
    stream = WholeReply(Reply(tool_calls=(CALL,), finish_reason="length"))
    stages = [delta.tool_call.stage async for delta in stream if delta.tool_call]
    assert stages == ["started", "arguments"]


@pytest.mark.parametrize("more", [None, 3])
async def test_calls_are_finished_when_all_have_begun(more: int | None) -> None:
    stream = WholeReply(Reply(tool_calls=(CALL, CALL)), piece_chars=more)
    told = [
        (delta.tool_call.stage, delta.tool_call.index) async for delta in stream if delta.tool_call
    ]
    assert list(dict.fromkeys(told)) == [
        ("started", 0),
        ("arguments", 0),
        ("started", 1),
        ("arguments", 1),
        ("finished", 0),
        ("finished", 1),
    ]


async def test_it_may_come_in_pieces() -> None:
    stream = WholeReply(Reply(text="abcd", tool_calls=(CALL,)), piece_chars=3)
    deltas = [delta async for delta in stream]
    assert [delta.text for delta in deltas if delta.text] == ["abc", "d"]
    news = [delta.tool_call for delta in deltas if delta.tool_call]
    pieces = [one.arguments for one in news if one.stage == "arguments"]
    assert "".join(pieces) == CALL.arguments
    assert {len(piece) for piece in pieces[:-1]} == {3}


async def test_an_error_comes_behind_the_text_once() -> None:
    error = StreamCutError("cut")
    error.text = "ab"
    stream = WholeReply(error)
    with pytest.raises(StreamCutError):
        _ = [delta async for delta in stream]
    assert stream.text == "ab"
    assert [delta async for delta in stream] == []
    with pytest.raises(StreamCutError):
        stream.reply()
