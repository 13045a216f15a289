"""Frames are byte-exact, and come back as what they were made of."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import from_json

from rig.errors import RigError, StreamCutError, UpstreamError
from rig.events import (
    ReasoningDelta,
    RoundStarted,
    RunEvent,
    RunFinished,
    RunResult,
    TextDelta,
    TextRetracted,
    ToolCallFinished,
    ToolStarted,
)
from rig.messages import ToolCall, Usage
from rig.model import CallDelta, CallStage, Delta
from rig.wire.sse import SSEParser
from rig.wire.sse_frames import to_sse


def call(arguments: str = "{}", stage: CallStage = "finished", **more: str) -> CallDelta:
    return CallDelta(
        stage=stage, index=0, **({"id": "1", "name": "add"} | more), arguments=arguments
    )


CONTENT = b'data: {"text":"hi","type":"content"}\n\n'
CALL = (
    b'data: {"call":"{\\"id\\":\\"1\\",\\"type\\":\\"function\\",\\"function\\":'
    b'{\\"name\\":\\"add\\",\\"arguments\\":\\"{\\\\\\"a\\\\\\":1}\\"}}","type":"tool_call"}\n\n'
)
DONE = b"data: [DONE]\n\n"

FRAMES: dict[str, tuple[Delta | CallDelta | RunEvent | RigError, bytes]] = {
    "content": (Delta(text="hi"), CONTENT),
    "a call": (Delta(tool_call=call('{"a":1}')), CALL),
    "a call by itself": (call('{"a":1}'), CALL),
    "the end": (Delta(finish_reason="stop"), DONE),
    "the end of a cut reply": (Delta(finish_reason="length", usage=Usage(prompt_tokens=1)), DONE),
    "all at once, in order": (
        Delta(text="hi", tool_call=call('{"a":1}'), finish_reason="tool_calls"),
        CONTENT + CALL + DONE,
    ),
    "an error": (
        StreamCutError("the stream ended before the reply was complete", detail="secret"),
        b'data: {"text":"the stream ended before the reply was complete","type":"error"}\n\n',
    ),
    "text of a run": (TextDelta(text="hi"), CONTENT),
    "text a run takes back": (
        TextRetracted(text="hm"),
        b'data: {"text":"hm","type":"retract"}\n\n',
    ),
    "a call that a run starts": (
        ToolStarted(call=ToolCall(id="1", name="add", arguments='{"a":1}')),
        CALL,
    ),
    "the end of a run": (RunFinished(result=RunResult(text="hi")), DONE),
    "a call of a run that is written": (
        ToolCallFinished(index=0, name="add", arguments="{}"),
        b"",
    ),
    "a round": (RoundStarted(iteration=1), b""),
    "a thought of a run": (ReasoningDelta(text="hm"), b""),
    "an error with a status": (
        UpstreamError("no <good>", status=502),
        b'data: {"text":"no \\u003cgood\\u003e (http 502)","type":"error"}\n\n',
    ),
    "what is taken back comes first": (
        Delta(retracted="hm", text="hi"),
        b'data: {"text":"hm","type":"retract"}\n\n' + CONTENT,
    ),
    "usage": (Delta(usage=Usage(prompt_tokens=3)), b""),
    "a thought": (Delta(reasoning="hm"), b""),
    "nothing": (Delta(), b""),
    "a call that began": (Delta(tool_call=call("", "started")), b""),
    "a piece of a call": (call('{"a"', "arguments"), b""),
    "html": (
        Delta(text="<b>&amp;</b>"),
        b'data: {"text":"\\u003cb\\u003e\\u0026amp;\\u003c/b\\u003e","type":"content"}\n\n',
    ),
    "line separators": (
        Delta(text="a\u2028b\u2029c\u0085d"),
        b'data: {"text":"a\\u2028b\\u2029c\xc2\x85d","type":"content"}\n\n',
    ),
    "control characters": (
        Delta(text='\n\r\t\b\f\0\x1f\x7f"\\/'),
        b'data: {"text":"\\n\\r\\t\\b\\f\\u0000\\u001f\x7f\\"\\\\/","type":"content"}\n\n',
    ),
    "other scripts stay as they are": (
        Delta(text="\u00e9\u4e2d\U0001f600"),
        'data: {"text":"\u00e9\u4e2d\U0001f600","type":"content"}\n\n'.encode(),
    ),
    "half a character": (
        Delta(text="a\ud83d"),
        'data: {"text":"a\ufffd","type":"content"}\n\n'.encode(),
    ),
    "two halves": (
        Delta(text="\ud83d\ude00"),
        'data: {"text":"\U0001f600","type":"content"}\n\n'.encode(),
    ),
    "html in arguments, escaped in the call and again in the frame": (
        call("<", id="", name="f"),
        (
            b'data: {"call":"{\\"id\\":\\"\\",\\"type\\":\\"function\\",\\"function\\":'
            b'{\\"name\\":\\"f\\",\\"arguments\\":\\"\\\\u003c\\"}}","type":"tool_call"}\n\n'
        ),
    ),
}


@pytest.mark.parametrize(("item", "frames"), FRAMES.values(), ids=FRAMES)
def test_frames_byte_for_byte(item: Delta | CallDelta | RunEvent | RigError, frames: bytes) -> None:
    assert to_sse(item) == frames


texts = st.text(st.characters(exclude_categories=["Cs"]))
calls = st.builds(
    CallDelta, stage=st.just("finished"), index=st.just(0), id=texts, name=texts, arguments=texts
)
deltas = st.builds(Delta, text=texts, tool_call=st.one_of(st.none(), calls), retracted=texts)


@given(st.lists(deltas, max_size=5), st.integers(1, 40))
def test_a_reader_of_events_gets_back_what_was_sent(sent: list[Delta], step: int) -> None:
    raw = b"".join(map(to_sse, sent)) + to_sse(Delta(finish_reason="stop"))
    parser = SSEParser()
    events = [
        event for at in range(0, len(raw), step) for event in parser.feed(raw[at : at + step])
    ]
    assert parser.eof() == []
    assert events.pop().data == b"[DONE]"
    read = [from_json(event.data) for event in events]
    assert read == [fields for delta in sent for fields in expected(delta)]


def expected(delta: Delta) -> list[object]:
    fields: list[object] = []
    if delta.retracted:
        fields.append({"text": delta.retracted, "type": "retract"})
    if delta.text:
        fields.append({"text": delta.text, "type": "content"})
    if delta.tool_call is not None:
        one = delta.tool_call
        function = {"name": one.name, "arguments": one.arguments}
        inner = {"id": one.id, "type": "function", "function": function}
        fields.append({"call": CompactJSON(inner), "type": "tool_call"})
    return fields


class CompactJSON:
    """Equal to any text that is this value in JSON."""

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and from_json(other) == self.value

    __hash__ = None  # type: ignore[assignment]  # compared only


@given(texts)
def test_no_byte_of_a_frame_can_end_a_line_or_an_html_element(text: str) -> None:
    frame = to_sse(Delta(text=text)).removesuffix(b"\n\n").decode()
    assert not set(frame) & set("\r\n<>&\u2028\u2029")
