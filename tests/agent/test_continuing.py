"""A transcript goes on where a conversation stopped, or is another one."""

import pytest

from rig.agent.continuing import continues
from rig.agent.history import prepare
from rig.agent.summary import summary_turn
from rig.messages import Content, ImagePart, Message, TextPart, ToolCall

IMAGE = ImagePart.from_bytes("image/png", b"\x89PNG")


def user(content: Content) -> Message:
    return Message(role="user", content=content)


def assistant(content: str = "", *ids: str, reasoning: str | None = None) -> Message:
    calls = tuple(ToolCall(id=one, name="f") for one in ids)
    return Message(role="assistant", content=content, tool_calls=calls, reasoning=reasoning)


def result(identity: str) -> Message:
    return Message(role="tool", content="ok", tool_call_id=identity)


TALK = [user("a"), assistant("b", reasoning="hm"), user("c"), assistant("", "1"), result("1")]

GOES_ON: dict[str, tuple[list[Message], list[Message]]] = {
    "nothing before": ([], [user("a")]),
    "nothing at all": ([], []),
    "itself": (TALK, TALK),
    "more": (TALK, [*TALK, assistant("d"), user("e")]),
    "older thoughts forgotten": (TALK, list(prepare([*TALK, assistant("d"), user("e")]))),
    "the prompt joined": ([user("a")], list(prepare([user("a"), user("b")]))),
    "parts joined": ([user((IMAGE,))], list(prepare([user((IMAGE,)), user("b")]))),
    "text joined with parts": ([user("a")], list(prepare([user("a"), user((IMAGE,))]))),
    "results of calls that waited": (
        [user("a"), assistant("", "1", "2"), result("2")],
        [user("a"), assistant("", "1", "2"), result("1"), result("2"), assistant("b")],
    ),
    "a blank turn that joined the prompt": ([user("")], [user("b"), assistant("c")]),
    "turns that were joined before": ([user("a"), user("b")], [user("a\n\nb"), assistant("c")]),
}


@pytest.mark.parametrize(("before", "after"), GOES_ON.values(), ids=GOES_ON)
def test_it_goes_on(before: list[Message], after: list[Message]) -> None:
    assert continues(before, after)


ANOTHER: dict[str, tuple[list[Message], list[Message]]] = {
    "nothing": (TALK, []),
    "less": (TALK, TALK[:2]),
    "other words": ([user("a"), assistant("b")], [user("a"), assistant("x")]),
    "other calls": ([user("a"), assistant("", "1")], [user("a"), assistant("", "2")]),
    "another speaker": ([user("a")], [assistant("a")]),
    "a longer word": ([user("a")], [user("ab")]),
    "another image": (
        [user((IMAGE,))],
        [user((ImagePart.from_bytes("image/png", b"x"), TextPart(text="b")))],
    ),
    "an assistant who says more": ([user("a"), assistant("b")], [user("a"), assistant("b\n\nc")]),
}


@pytest.mark.parametrize(("before", "after"), ANOTHER.values(), ids=ANOTHER)
def test_it_is_another_one(before: list[Message], after: list[Message]) -> None:
    assert not continues(before, after)


SUMMARY = summary_turn("S").text

COMPACTED: dict[str, tuple[list[Message], list[Message], bool]] = {
    "with a summary": (TALK, [user(f"a\n\n{SUMMARY}"), assistant("z")], True),
    "with a summary and the newest question": (
        TALK,
        [user(f"a\n\n{SUMMARY}\n\nnew"), assistant("z")],
        True,
    ),
    "nothing but a summary": ([assistant("b")], [user(SUMMARY), assistant("z")], False),
    "of another conversation": (TALK, [user(f"other\n\n{SUMMARY}"), assistant("z")], False),
}


@pytest.mark.parametrize(("before", "after", "same"), COMPACTED.values(), ids=COMPACTED)
def test_a_smaller_history_is_known_by_its_first_question(
    before: list[Message], after: list[Message], same: bool
) -> None:
    assert continues(before, after, compacted=True) is same
