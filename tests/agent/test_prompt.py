from collections.abc import Sequence
from typing import Any

import pytest

from rig.agent.history import prepare
from rig.agent.prompt import (
    is_said,
    opening,
    output_instructions,
    rejection,
    with_instructions,
    with_notice,
)
from rig.messages import Content, ImagePart, Message, TextPart, ToolCall

IMAGE = ImagePart.from_bytes("image/png", b"\x89PNG")
USER = Message(role="user", content="a")
ANSWER = Message(role="assistant", content="b")
CALLING = Message(role="assistant", tool_calls=(ToolCall(id="1", name="f"),))
RESULT = Message(role="tool", content="ok", tool_call_id="1", name="f")


def said(messages: Sequence[Message]) -> list[tuple[str, Content]]:
    return [(turn.role, turn.content) for turn in messages]


OPENINGS = {
    "system and prompt": (("s", [], "p"), [("system", "s"), ("user", "p")]),
    "no system": (("", [], "p"), [("user", "p")]),
    "a blank system is none": ((" \n", [], "p"), [("user", "p")]),
    "history between": (
        ("s", [USER, ANSWER], "p"),
        [("system", "s"), ("user", "a"), ("assistant", "b"), ("user", "p")],
    ),
    "no prompt": (("s", [USER], " "), [("system", "s"), ("user", "a")]),
    "the history brings the same system": (
        ("s", [Message(role="system", content="s"), USER], "p"),
        [("system", "s"), ("user", "a"), ("user", "p")],
    ),
    "the history brings a part of the system": (
        ("s\n\nmore", [Message(role="system", content="s"), USER], "p"),
        [("system", "s\n\nmore"), ("user", "a"), ("user", "p")],
    ),
    "the history brings other systems": (
        (
            "s",
            [Message(role="system", content="t"), USER, Message(role="system", content="u")],
            "p",
        ),
        [("system", "s"), ("user", "a"), ("user", "p")],
    ),
    "the history brings the only system": (
        ("", [Message(role="system", content="t"), USER], "p"),
        [("system", "t"), ("user", "a"), ("user", "p")],
    ),
}


@pytest.mark.parametrize(("arguments", "expected"), OPENINGS.values(), ids=OPENINGS.keys())
def test_a_run_opens_with_system_history_and_prompt(arguments: Any, expected: Any) -> None:
    assert said(opening(*arguments)) == expected


def test_instructions_stand_at_the_end_of_the_system_message() -> None:
    messages = prepare([Message(role="system", content="s"), USER])
    assert said(with_instructions(messages, "i")) == [("system", "s\n\ni"), ("user", "a")]


def test_instructions_become_a_system_message_where_there_is_none() -> None:
    assert said(with_instructions(prepare([USER]), "i")) == [("system", "i"), ("user", "a")]


NOTICES = {
    "behind a result": ([USER, CALLING, RESULT], ("tool", "ok\n\nn")),
    "behind an empty result": (
        [USER, CALLING, RESULT.model_copy(update={"content": ""})],
        ("tool", "n"),
    ),
    "behind a prompt": ([USER], ("user", "a\n\nn")),
    "behind parts": (
        [Message(role="user", content=(IMAGE,))],
        ("user", (IMAGE, TextPart(text="n"))),
    ),
    "after an answer": ([USER, ANSWER], ("user", "n")),
}


@pytest.mark.parametrize(("messages", "last"), NOTICES.values(), ids=NOTICES.keys())
def test_a_notice_stands_at_the_end_and_breaks_no_order(messages: list[Message], last: Any) -> None:
    before = prepare(messages)
    after = with_notice(before, "n")
    assert said(after)[-1] == last
    assert prepare(tuple(after)) == after
    assert before == prepare(messages)


def test_the_schema_is_part_of_the_instructions() -> None:
    assert '{"type":"object"}' in output_instructions({"type": "object"})


def test_a_rejection_tells_the_problem_as_it_is() -> None:
    assert "a: {missing}" in rejection("a: {missing}")


@pytest.mark.parametrize(
    ("content", "expected"),
    [("", False), (" \n", False), ("a", True), ((), False), ((IMAGE,), True)],
)
def test_blank_content_says_nothing(content: Any, expected: Any) -> None:
    assert is_said(content) is expected
