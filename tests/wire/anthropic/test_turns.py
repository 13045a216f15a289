"""A conversation as turns that Anthropic's API takes."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.errors import InvalidRequestError
from rig.messages import (
    AudioPart,
    Content,
    ImagePart,
    ImageURL,
    InputAudio,
    Message,
    SignedThought,
    TextPart,
    ToolCall,
)
from rig.wire.anthropic.turns import NOTHING_SAID, safe_id, system_text, turns_of
from rig.wire.encode import to_body

PNG = ImagePart.from_bytes("image/png", b"\x89PNG")
PNG_BLOCK = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw=="},
}


def user(content: Content) -> Message:
    return Message(role="user", content=content)


def assistant(content: str = "", *ids: str, arguments: str = "{}", **fields: Any) -> Message:
    calls = tuple(ToolCall(id=one, name="f", arguments=arguments) for one in ids)
    return Message(role="assistant", content=content, tool_calls=calls, **fields)


def result(identity: str | None, content: Content = "ok") -> Message:
    return Message(role="tool", content=content, tool_call_id=identity, name="f")


def text(said: str) -> dict[str, str]:
    return {"type": "text", "text": said}


def use(identity: str, **values: object) -> dict[str, object]:
    return {"type": "tool_use", "id": identity, "name": "f", "input": values}


def answered(identity: str, content: object = "ok") -> dict[str, object]:
    return {"type": "tool_result", "tool_use_id": identity, "content": content}


CASES: dict[str, tuple[list[Message], list[tuple[str, object]]]] = {
    "a question": ([user("hi")], [("user", "hi")]),
    "the system stands apart": (
        [Message(role="system", content="be brief"), user("hi")],
        [("user", "hi")],
    ),
    "turns alternate": (
        [user("a"), assistant("b"), user("c")],
        [("user", "a"), ("assistant", "b"), ("user", "c")],
    ),
    "neighbours are one turn": (
        [user("a"), user("b"), assistant("c"), assistant("d"), user("e")],
        [
            ("user", [text("a"), text("b")]),
            ("assistant", [text("c"), text("d")]),
            ("user", "e"),
        ],
    ),
    "a call and its result": (
        [user("a"), assistant("", "1", arguments='{"x": [1]}'), result("1"), assistant("b")],
        [
            ("user", "a"),
            ("assistant", [use("1", x=[1])]),
            ("user", [answered("1")]),
            ("assistant", "b"),
        ],
    ),
    "results and the next question are one turn, results first": (
        [user("a"), assistant("look", "1", "2"), result("1"), result("2"), user("and?")],
        [
            ("user", "a"),
            ("assistant", [text("look"), use("1"), use("2")]),
            ("user", [answered("1"), answered("2"), text("and?")]),
        ],
    ),
    "a result without a word": (
        [user("a"), assistant("", "1"), result("1", " ")],
        [
            ("user", "a"),
            ("assistant", [use("1")]),
            ("user", [{"type": "tool_result", "tool_use_id": "1"}]),
        ],
    ),
    "a result with an image": (
        [user("a"), assistant("", "1"), result("1", (TextPart(text="see"), PNG))],
        [
            ("user", "a"),
            ("assistant", [use("1")]),
            ("user", [answered("1", [text("see"), PNG_BLOCK])]),
        ],
    ),
    "missing ids are made, for the results too": (
        [user("a"), assistant("", ""), result(None)],
        [("user", "a"), ("assistant", [use("call00000")]), ("user", [answered("call00000")])],
    ),
    "arguments that are no object": (
        [user("a"), assistant("", "1", arguments='{"x": '), result("1")],
        [
            ("user", "a"),
            (
                "assistant",
                [
                    use(
                        "1",
                        _error="the arguments were not a JSON object; the call was not run",
                        _raw_chars=5,
                    )
                ],
            ),
            ("user", [answered("1")]),
        ],
    ),
    "an image": ([user((TextPart(text="look"), PNG))], [("user", [text("look"), PNG_BLOCK])]),
    "an image by URL": (
        [user((ImagePart(image_url=ImageURL(url="HTTPS://host/a.png", detail="low")),))],
        [("user", [{"type": "image", "source": {"type": "url", "url": "HTTPS://host/a.png"}}])],
    ),
    "a media type with a parameter": (
        [user((ImagePart(image_url=ImageURL(url="data:image/PNG;name=a;base64,AAAA")),))],
        [
            (
                "user",
                [
                    {
                        "type": "image",
                        "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"},
                    }
                ],
            )
        ],
    ),
    "blank texts are left out": (
        [user("a"), assistant(" \n"), user((TextPart(text=""), TextPart(text="b")))],
        [("user", [text("a"), text("b")])],
    ),
    "the assistant begins": (
        [assistant("hello"), user("hi")],
        [("user", NOTHING_SAID), ("assistant", "hello"), ("user", "hi")],
    ),
    "a last assistant turn ends without blanks": (
        [user("a"), assistant("The answer is ( \n")],
        [("user", "a"), ("assistant", "The answer is (")],
    ),
    "nothing but the system": ([Message(role="system", content="be brief")], []),
    "signed thoughts come first": (
        [
            user("a"),
            assistant(
                "look",
                "1",
                reasoning="hm",
                thoughts=(
                    SignedThought(thinking="hm", signature="s"),
                    SignedThought(type="redacted_thinking", data="x"),
                ),
            ),
            result("1"),
        ],
        [
            ("user", "a"),
            (
                "assistant",
                [
                    {"type": "thinking", "thinking": "hm", "signature": "s"},
                    {"type": "redacted_thinking", "data": "x"},
                    text("look"),
                    use("1"),
                ],
            ),
            ("user", [answered("1")]),
        ],
    ),
    "reasoning nobody signed stays here": (
        [user("a"), assistant("b", "1", reasoning="hm"), result("1")],
        [("user", "a"), ("assistant", [text("b"), use("1")]), ("user", [answered("1")])],
    ),
}


@pytest.mark.parametrize(("messages", "expected"), CASES.values(), ids=CASES.keys())
def test_a_conversation_becomes_turns(
    messages: list[Message], expected: list[tuple[str, object]]
) -> None:
    assert [(turn["role"], turn["content"]) for turn in turns_of(messages)] == expected


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        (AudioPart(input_audio=InputAudio(data="AAAA", format="wav")), "audio"),
        (ImagePart(image_url=ImageURL(url="file:///etc/passwd")), "image"),
        (ImagePart(image_url=ImageURL(url="data:image/png,%89PNG")), "image"),
        (ImagePart(image_url=ImageURL(url="")), "image"),
    ],
    ids=["audio", "a file", "data that is not base64", "nowhere"],
)
def test_a_part_this_api_can_not_hold_is_refused(part: Any, reason: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        turns_of([user((part,))])
    assert caught.value.reason == reason
    assert "passwd" not in str(caught.value)


def test_system_messages_are_one_text() -> None:
    one, two = (Message(role="system", content=content) for content in ("one", "two"))
    blank = Message(role="system", content=" ")
    assert system_text([one, user("a"), blank, two]) == "one\n\ntwo"
    assert system_text([user("a"), blank]) == ""


@pytest.mark.parametrize("legal", ["toolu_01A-b", "1", "aB3dE5gH9"])
def test_a_legal_id_stays(legal: str) -> None:
    assert safe_id(legal) == legal


@pytest.mark.parametrize(
    "odd", ["functions.get_weather:0", "", "a b", "caf\u00e9", "a\n", "\ud800"]
)
def test_an_odd_id_becomes_a_legal_one_and_always_the_same(odd: str) -> None:
    made = safe_id(odd)
    assert made == safe_id(odd)
    assert made != odd
    assert safe_id(made) == made


def test_an_odd_id_still_pairs_a_call_with_its_result() -> None:
    turns = turns_of([user("a"), assistant("", "a.b"), result("a.b")])
    assert turns[1]["content"] == [use(safe_id("a.b"))]
    assert turns[2]["content"] == [answered(safe_id("a.b"))]


MESSAGES = st.lists(
    st.builds(
        Message.model_construct,
        role=st.sampled_from(["system", "user", "assistant", "tool"]),
        content=st.text(max_size=3),
        tool_calls=st.lists(
            st.builds(
                ToolCall.model_construct,
                id=st.text(max_size=2),
                name=st.just("f"),
                arguments=st.text(max_size=4) | st.just('{"a": 1}'),
            ),
            max_size=2,
        ).map(tuple),
        tool_call_id=st.none() | st.text(max_size=2),
    ),
    max_size=6,
)


@given(MESSAGES)
def test_whatever_was_said_turns_alternate_and_can_be_sent(messages: list[Message]) -> None:
    turns = turns_of(messages)
    roles = [turn["role"] for turn in turns]
    assert roles == [("user", "assistant")[index % 2] for index in range(len(turns))]
    assert to_body({"messages": turns})
