"""A conversation survives being kept, byte for byte; what was changed meanwhile is refused."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import from_json

from rig.client.transcript import (
    FORMAT_VERSION,
    Transcript,
    read_transcript,
    write_transcript,
)
from rig.errors import InvalidRequestError, RigError
from rig.messages import (
    AudioPart,
    ContentPart,
    ImagePart,
    ImageURL,
    InputAudio,
    Message,
    SignedThought,
    TextPart,
    ToolCall,
)

ODD = [
    "",
    " ",
    "\u2028",
    "\u2029\u0085",
    "\U0001f600",
    "e\u0301",
    "\0",
    '"\\',
    "</script>",
    "null",
    "{}",
]
ARGUMENTS = [
    "{}",
    "",
    "null",
    '{"a": 1}',
    '{"a":',
    "[1]",
    '"x"',
    '"{}"',
    '{"a":"\u2028"}',
    '{"a":NaN}',
    " {} ",
]

texts = st.one_of(
    st.sampled_from(ODD), st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
)
parts: st.SearchStrategy[ContentPart] = st.one_of(
    st.builds(TextPart, text=texts),
    st.builds(
        ImagePart, image_url=st.builds(ImageURL, url=texts, detail=st.one_of(st.none(), texts))
    ),
    st.builds(AudioPart, input_audio=st.builds(InputAudio, data=texts, format=texts)),
)
calls = st.builds(
    ToolCall,
    id=texts,
    name=texts,
    arguments=st.one_of(st.sampled_from(ARGUMENTS), texts),
    origin=st.sampled_from(["native", "hermes"]),
    repairs=st.lists(texts, max_size=2).map(tuple),
)
messages = st.builds(
    Message,
    role=st.sampled_from(["system", "user", "assistant", "tool"]),
    content=st.one_of(texts, st.lists(parts, max_size=3).map(tuple)),
    tool_calls=st.lists(calls, max_size=3).map(tuple),
    tool_call_id=st.one_of(st.none(), texts),
    name=st.one_of(st.none(), texts),
    reasoning=st.one_of(st.none(), texts),
    reasoning_field=st.sampled_from(["reasoning", "reasoning_content"]),
    thoughts=st.lists(
        st.builds(
            SignedThought,
            type=st.sampled_from(["thinking", "redacted_thinking"]),
            thinking=texts,
            signature=texts,
            data=texts,
        ),
        max_size=2,
    ).map(tuple),
)


@given(messages)
def test_a_message_survives_as_json(message: Message) -> None:
    text = message.model_dump_json()
    again = Message.model_validate_json(text)
    assert again == message
    assert again.model_dump_json() == text


@st.composite
def conversations(draw: st.DrawFn) -> tuple[Message, ...]:
    """Turns in pairs, calls of the last one perhaps waiting."""
    turns: list[Message] = []
    for message in draw(st.lists(messages, max_size=6)):
        if message.role == "assistant":
            named = tuple(
                call.model_copy(update={"id": f"call{at}"})
                for at, call in enumerate(message.tool_calls)
            )
            turns.append(message.model_copy(update={"tool_calls": named}))
            turns += [
                Message(role="tool", content=draw(texts), tool_call_id=one.id) for one in named
            ]
        else:
            turns.append(message.model_copy(update={"role": "user", "tool_calls": ()}))
    if turns and turns[-1].role == "tool" and draw(st.booleans()):
        turns.pop()
    return tuple(turns)


transcripts = st.builds(Transcript, id=texts, system=texts, turns=conversations())


@given(transcripts)
def test_a_conversation_survives_being_kept(transcript: Transcript) -> None:
    text = write_transcript(transcript)
    again = read_transcript(text)
    assert again == transcript
    assert write_transcript(again) == text
    assert read_transcript(text.encode()) == transcript


TALK = Transcript(
    id="t1",
    system="Be terse.",
    turns=(
        Message(
            role="user", content=(TextPart(text="look"), ImagePart.from_bytes("image/png", b"x"))
        ),
        Message(
            role="assistant",
            tool_calls=(ToolCall(id="c1", name="f", arguments='{"a":1}', repairs=("comma",)),),
            reasoning="hm",
            reasoning_field="reasoning",
        ),
        Message(role="tool", content="ok", tool_call_id="c1", name="f"),
        Message(role="assistant", content="done\u2028"),
    ),
)
TEXT = (
    '{"version":1,"id":"t1","system":"Be terse.","messages":['
    '{"role":"user","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":'
    '{"url":"data:image/png;base64,eA=="}}]},'
    '{"role":"assistant","content":"","tool_calls":[{"id":"c1","name":"f","arguments":"{\\"a\\":1}",'
    '"repairs":["comma"]}],"reasoning":"hm","reasoning_field":"reasoning"},'
    '{"role":"tool","content":"ok","tool_call_id":"c1","name":"f"},'
    '{"role":"assistant","content":"done\u2028"}]}'
)


def test_the_form_is_a_promise() -> None:
    assert write_transcript(TALK) == TEXT
    assert read_transcript(TEXT) == TALK


def test_half_characters_become_replacements_once() -> None:
    turns = (Message(role="user", content="a\ud83d"), Message(role="user", content="\ud83d\ude00"))
    text = write_transcript(Transcript(system="\udc00", turns=turns))
    again = read_transcript(text)
    assert (again.system, [turn.content for turn in again.turns]) == (
        "\ufffd",
        ["a\ufffd", "\U0001f600"],
    )
    assert write_transcript(again) == text


def test_text_in_parts_is_written_as_the_text_it_is() -> None:
    """A run keeps a prompt of parts as it was given; read back, it is one text, as it is sent."""
    turn = Message.model_construct(role="user", content=(TextPart(text="a"), TextPart(text="b")))
    text = write_transcript(Transcript(turns=(turn,)))
    again = read_transcript(text)
    assert again.turns[0].content == "ab"
    assert write_transcript(again) == text


def test_the_order_of_fields_does_not_matter() -> None:
    """Some databases keep JSON, but not its order."""
    assert read_transcript(json.dumps(from_json(TEXT), sort_keys=True)) == TALK


def change(edit: Callable[[Any], object]) -> str:
    value = from_json(TEXT)
    edit(value)
    return json.dumps(value)


def message(edit: Callable[[Any], object], index: int = 3) -> str:
    return change(lambda value: edit(value["messages"][index]))


REFUSED: dict[str, tuple[str | bytes, str]] = {
    "nothing": ("", "object"),
    "no JSON": ("MARKER", "object"),
    "a cut text": (TEXT[:-1], "object"),
    "two of them": (TEXT * 2, "object"),
    "a list": ("[]", "object"),
    "not UTF-8": (b"\xff\xfe", "object"),
    "depth": ("[" * 100_000, "object"),
    "depth inside": (TEXT.replace('"ok"', "[" * 500 + "]" * 500), "object"),
    "a huge number": (TEXT.replace('"ok"', "1" * 10_000), "object"),
    "no version": (change(lambda value: value.pop("version")), "version"),
    "a later version": (change(lambda value: value.update(version=2)), "version"),
    "a version that is only equal": (change(lambda value: value.update(version=True)), "version"),
    "another version that is only equal": (
        change(lambda value: value.update(version=1.0)),
        "version",
    ),
    "tools": (change(lambda value: value.update(tools=[{"name": "MARKER"}])), "fields"),
    "no id": (change(lambda value: value.pop("id")), "fields"),
    "an id that is no text": (change(lambda value: value.update(id=7)), "id"),
    "a system that is no text": (change(lambda value: value.update(system=None)), "system"),
    "messages that are no list": (
        change(lambda value: value.update(messages={"0": "MARKER"})),
        "list",
    ),
    "a message that is none": (change(lambda value: value["messages"].append("MARKER")), "[4]"),
    "null": (change(lambda value: value["messages"].append(None)), "[4]"),
    "an unknown role": (message(lambda turn: turn.update(role="MARKER")), "[3]"),
    "another word for a role": (message(lambda turn: turn.update(role="ai")), "[3].role"),
    "a system message": (message(lambda turn: turn.update(role="system")), "[3]"),
    "no content": (message(lambda turn: turn.update(content=None)), "[3].content"),
    "content without role": (message(lambda turn: turn.pop("role")), "[3]"),
    "a number as content": (message(lambda turn: turn.update(content=7)), "[3]"),
    "an unknown part": (message(lambda turn: turn.update(content=[{"type": "MARKER"}])), "[3]"),
    "more in a part": (
        message(lambda turn: turn["content"][0].update(MARKER=1), 0),
        "[0].content",
    ),
    "an unknown field": (message(lambda turn: turn.update(MARKER=1)), "[3]"),
    "a field of the wire": (message(lambda turn: turn.update(reasoning_content="MARKER")), "[3]"),
    "an unknown field of a call": (
        message(lambda turn: turn["tool_calls"][0].update(MARKER=1), 1),
        "[1].tool_calls",
    ),
    "arguments that are no text": (
        message(lambda turn: turn["tool_calls"][0].update(arguments={"a": 1}), 1),
        "[1].tool_calls",
    ),
    "calls that are no list": (message(lambda turn: turn.update(tool_calls="MARKER"), 1), "[1]"),
    "a call without an id": (
        message(lambda turn: turn["tool_calls"][0].pop("id"), 1),
        "[1]",
    ),
    "a call twice": (
        message(lambda turn: turn["tool_calls"].append(turn["tool_calls"][0]), 1),
        "[1]",
    ),
    "a result of no call": (message(lambda turn: turn.update(tool_call_id="MARKER"), 2), "[2]"),
    "a result without its call": (change(lambda value: value["messages"].pop(1)), "[1]"),
    "a call without its result": (change(lambda value: value["messages"].pop(2)), "[2]"),
    "a result twice": (
        change(lambda value: value["messages"].insert(3, value["messages"][2])),
        "[3]",
    ),
}


@pytest.mark.parametrize(("text", "where"), REFUSED.values(), ids=REFUSED)
def test_what_was_changed_is_refused_with_its_place(text: str | bytes, where: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        read_transcript(text)
    assert where in str(caught.value)
    assert "MARKER" not in str(caught.value)
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("text", [TEXT, TEXT.encode()], ids=["text", "bytes"])
def test_the_size_is_bounded_in_bytes(text: str | bytes) -> None:
    size = len(TEXT.encode())
    assert size > len(TEXT)
    assert read_transcript(text, max_bytes=size) == TALK
    with pytest.raises(InvalidRequestError):
        read_transcript(text, max_bytes=size - 1)


def test_a_byte_order_mark_is_skipped() -> None:
    assert read_transcript(b"\xef\xbb\xbf" + TEXT.encode()) == TALK


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), texts),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=8,
)
fields = st.sampled_from([*Message.model_fields, "function", "reasoning_content"])


@given(
    st.lists(
        st.dictionaries(fields, st.one_of(json_values, st.sampled_from(["user", "assistant"])))
    )
)
def test_whatever_is_read_can_be_written_again(items: list[object]) -> None:
    value = {"version": FORMAT_VERSION, "id": "", "system": "", "messages": items}
    try:
        transcript = read_transcript(json.dumps(value))
    except RigError:
        return
    assert from_json(write_transcript(transcript)) == value


@given(st.one_of(st.binary(), st.text()))
def test_any_text_is_a_transcript_or_an_error_of_rig_s(text: str | bytes) -> None:
    with pytest.raises(InvalidRequestError):
        read_transcript(text)
