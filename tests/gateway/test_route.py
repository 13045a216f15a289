"""Who answers, decided over values."""

import pytest

from rig import ImagePart, Message, TextPart
from rig.gateway.categories import Categories, Category
from rig.gateway.heuristics import Guess
from rig.gateway.route import (
    Reads,
    Sorting,
    Topic,
    is_named,
    preferences,
    select,
    topic_of,
    without_help,
)

PICTURE = ImagePart.from_bytes("image/png", b"x")
KINDS = Categories(
    by_name={"code": Category(models=("coder", "big")), "chat": Category(models=("small",))},
    default="big",
    fallback="chat",
)


@pytest.mark.parametrize(
    ("model", "named"),
    [
        ("qwen3", True),
        ("auto", False),
        ("Auto ", False),
        ("", False),
        (" ", False),
        ("autox", True),
    ],
)
def test_auto_and_nothing_name_no_model(model: str, named: bool) -> None:
    assert is_named(model) is named


def user(text: str) -> Message:
    return Message(role="user", content=text)


TALK = [
    Message(role="system", content="Be brief."),
    user("first"),
    Message(role="assistant", content="answer"),
    user("newest"),
    Message(role="tool", content="result", tool_call_id="1"),
]
TOPICS: dict[str, tuple[list[Message], Reads, Topic]] = {
    "the newest user turn": (TALK, "newest", Topic(text="newest")),
    "the first user turn": (TALK, "first", Topic(text="first")),
    "turns without text say nothing": ([user("a"), user(" ")], "newest", Topic(text="a")),
    "no user at all": ([TALK[0]], "newest", Topic()),
    "an image anywhere": (
        [Message(role="user", content=(TextPart(text="what is it"), PICTURE)), user("and now?")],
        "newest",
        Topic(text="and now?", has_images=True),
    ),
}


@pytest.mark.parametrize(("messages", "reads", "topic"), TOPICS.values(), ids=TOPICS)
def test_a_conversation_is_about_what_a_user_turn_says(
    messages: list[Message], reads: Reads, topic: Topic
) -> None:
    assert topic_of(messages, reads) == topic


@pytest.mark.parametrize(
    ("category", "models"),
    [("code", ("coder", "big")), ("chat", ("small", "big")), ("", ("big",)), ("x", ("big",))],
)
def test_the_default_is_the_last_preference(category: str, models: tuple[str, ...]) -> None:
    assert preferences(category, KINDS) == models


THERE: dict[str, tuple[dict[str, bool | None], tuple[str, ...], tuple[str, ...]]] = {
    "all of them": ({"a": True, "b": True, "d": True}, ("a", "b", "d"), ()),
    "the best is missing": ({"a": False, "b": True, "d": True}, ("b", "d"), ("a",)),
    "nobody knows": ({"a": None, "b": None, "d": None}, ("a", "b", "d"), ()),
    "nothing is known at all": ({}, ("a", "b", "d"), ()),
    "unknown before missing": ({"a": None, "b": False}, ("a", "d"), ("b",)),
    "all are missing, so the default says so": (
        {"a": False, "b": False, "d": False},
        ("d",),
        ("a", "b"),
    ),
}


@pytest.mark.parametrize(("there", "models", "missing"), THERE.values(), ids=THERE)
def test_what_is_known_to_be_missing_is_left_out(
    there: dict[str, bool | None], models: tuple[str, ...], missing: tuple[str, ...]
) -> None:
    selection = select(("a", "b", "d"), there)
    assert (selection.models, selection.missing) == (models, missing)


def test_without_help_the_first_of_a_tie_wins_else_the_default() -> None:
    tied = without_help(Guess(tied=("code", "chat")), KINDS)
    assert (tied.category, tied.by) == ("code", "heuristic")
    nothing = without_help(Guess(), KINDS)
    assert (nothing.category, nothing.by) == ("chat", "default")


def test_a_route_tells_its_first_model() -> None:
    route = Sorting(category="code", by="cached", reason="r").to(("a", "b"))
    assert (route.told().model, route.without_first().told().model) == ("a", "b")
