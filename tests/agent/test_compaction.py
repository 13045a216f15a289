"""What of a conversation may go: whole rounds, oldest first, and never what a result answers."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.agent.compaction import (
    MIN_RESULT_CHARS,
    Compaction,
    History,
    old_rounds,
    reduced,
    summarised,
)
from rig.agent.history import Prepared, prepare
from rig.agent.pairing import pairing_problem
from rig.agent.summary import END, LEFT_OUT, START
from rig.errors import InvalidRequestError
from rig.messages import Message, ToolCall


def talk(shape: str, *, result: str = "ok") -> Prepared:
    """Turns by letters: s, u, a, and 0 to 9 for an assistant with that many calls and their results."""
    turns: list[Message] = []
    for at, letter in enumerate(shape):
        if letter in "su":
            role: Any = {"s": "system", "u": "user"}[letter]
            turns.append(Message(role=role, content=f"{letter}{at}"))
        elif letter == "a":
            turns.append(Message(role="assistant", content=f"a{at}"))
        else:
            ids = [f"{at}-{number}" for number in range(int(letter))]
            calls = tuple(ToolCall(id=one, name="f") for one in ids)
            turns.append(Message(role="assistant", content=f"c{at}", tool_calls=calls))
            turns += [Message(role="tool", content=result, tool_call_id=one) for one in ids]
    return prepare(turns)


def shown(messages: Prepared) -> str:
    """The turns by the names `talk` gave them; a summary is [its text]."""
    words: list[str] = []
    for turn in messages:
        text = turn.text.replace(f"{START}\n", "[").replace(f"\n{END}", "]")
        text = text.replace(LEFT_OUT, "...").replace("\n\n", "+")
        words.append("r" if turn.role == "tool" else text.replace("\n", "/"))
    return " ".join(words)


def one(_: Message) -> int:
    return 1


def chars(turn: Message) -> int:
    return len(turn.text)


# The window


@pytest.mark.parametrize(
    ("window", "max_tokens", "room"),
    [
        (1000, 100, 800),
        (1000, 300, 700),
        (1000, 1000, 500),
        (1000, 5000, 500),
        (1, 1, 1),
    ],
)
def test_a_prompt_may_fill_its_share_and_leave_room_for_the_reply(
    window: int, max_tokens: int, room: int
) -> None:
    assert Compaction().room(window, max_tokens) == room


@pytest.mark.parametrize(
    "fields",
    [
        {"context_tokens": 0},
        {"context_tokens": "8192"},
        {"at": 0},
        {"at": 1.5},
        {"at": True},
        {"at": float("nan")},
        {"keep_rounds": 0},
        {"keep_rounds": 1.0},
        {"summary_tokens": 1},
        {"summary_model": None},
        {"max_times": -1},
        {"max_times": True},
    ],
    ids=str,
)
def test_a_compaction_of_anything_else_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequestError):
        Compaction(**fields)


def test_off_is_never() -> None:
    assert Compaction.off().max_times == 0


# What is old


OLD: dict[str, tuple[str, int, str]] = {
    # the conversation, rounds kept, what is left with a summary of the rest
    "steps of one task": ("su1111", 2, "s0 u1+[S] c4 r c5 r"),
    "without system prompt": ("u111", 1, "u0+[S] c3 r"),
    "a step is kept with all its results": ("u131", 2, "u0+[S] c2 r r r c3 r"),
    "a chat": ("suauau", 1, "s0 u1+[S]+u3 a4 u5"),
    "an answer is kept with its question": ("uauaua", 1, "u0+[S]+u4 a5"),
    "the newest question is kept": ("ua1u111", 1, "u0+[S]+u3 c6 r"),
    "old questions go": ("uauaua11", 1, "u0+[S]+u4 c7 r"),
    "what begins with an answer": ("a11a", 1, "[S] a3"),
    "nothing is old": ("su11", 2, "s0 u1+[S] c2 r c3 r"),
    "fewer rounds than are kept": ("u1", 5, "u0+[S] c1 r"),
}


@pytest.mark.parametrize(("shape", "keep", "left"), OLD.values(), ids=OLD)
def test_a_summary_stands_for_what_is_old(shape: str, keep: int, left: str) -> None:
    assert shown(summarised(History.of(talk(shape)), keep, "S").messages()) == left


def test_a_second_summary_replaces_the_first() -> None:
    first = summarised(History.of(talk("u1111")), 1, "one").messages()
    longer = prepare([*first, *talk("u22")[1:]])
    history = History.of(longer)
    assert history.summary == "one"
    assert [turn.text for turn in old_rounds(history, 1)[0]] == ["c4", "ok"]
    assert shown(summarised(history, 1, "two").messages()) == "u0+[two] c2 r r"


def test_a_question_joined_to_a_summary_is_a_question_again() -> None:
    joined = summarised(History.of(talk("uauau")), 1, "one").messages()
    assert shown(joined) == "u0+[one]+u2 a3 u4"
    history = History.of(prepare([*joined, *talk("au")]))
    assert shown(summarised(history, 1, "two").messages()) == "u0+[two]+u4 a0 u1"


# Leaving out


DROPPED: dict[str, tuple[str, int, int, str, int]] = {
    # the conversation, the limit in turns, rounds kept, what is left, rounds that are gone
    "it fits": ("su11", 6, 2, "s0 u1 c2 r c3 r", 0),
    "the oldest goes": ("su1111", 8, 1, "s0 u1+[...] c3 r c4 r c5 r", 1),
    "as many as need be": ("su1111", 4, 1, "s0 u1+[...] c5 r", 3),
    "a round is whole or gone": ("u1911", 8, 1, "u0+[...] c3 r c4 r", 2),
    "kept rounds stay while others can go": ("u1111", 5, 2, "u0+[...] c3 r c4 r", 2),
    "fewer are kept where they must": ("u1111", 3, 2, "u0+[...] c4 r", 3),
    "none at last": ("u99", 5, 2, "u0+[...]", 2),
    "the newest question is never gone": ("su1au", 3, 2, "s0 u1+[...]+u4", 2),
}


@pytest.mark.parametrize(("shape", "limit", "keep", "left", "gone"), DROPPED.values(), ids=DROPPED)
def test_the_oldest_rounds_are_left_out(
    shape: str, limit: int, keep: int, left: str, gone: int
) -> None:
    said = reduced(talk(shape), limit, one, keep)
    assert (shown(said.messages), said.dropped, said.fits) == (left, gone, True)


def test_what_fits_is_the_very_same() -> None:
    messages = talk("su1a")
    assert reduced(messages, 99, one, 2).messages is messages


def test_an_older_summary_stays_while_rounds_go() -> None:
    before = summarised(History.of(talk("u11111")), 3, "S").messages()
    assert shown(reduced(before, 4, one, 1).messages) == "u0+[S/...] c5 r"


def test_long_results_are_cut_before_rounds_that_are_kept() -> None:
    said = reduced(talk("u12", result="x" * 5000), 5000, chars, 2)
    assert (said.dropped, said.shortened, said.fits) == (0, 3, True)
    assert [len(turn.text) for turn in said.messages if turn.role == "tool"] == [1250] * 3
    assert all("cut" in turn.text for turn in said.messages if turn.role == "tool")


def test_results_are_not_cut_to_nothing() -> None:
    said = reduced(talk("u1", result="x" * 5000), MIN_RESULT_CHARS // 2, chars, 1)
    assert shown(said.messages) == "u0+[...]"


def test_at_last_there_is_the_system_prompt_and_the_newest_question() -> None:
    before = summarised(History.of(talk("sua1u")), 1, "S" * 50).messages()
    assert shown(reduced(before, 10, chars, 2).messages) == "s0 u1+u4"
    said = reduced(before, 4, chars, 2)
    assert (shown(said.messages), said.fits) == ("s0 u4", True)
    never = reduced(before, 1, chars, 2)
    assert (shown(never.messages), never.fits) == ("s0 u4", False)


SHAPES = st.text(alphabet="ua0123", max_size=14).map(lambda text: "su" + text)


@given(shape=SHAPES, limit=st.integers(0, 3000), keep=st.integers(1, 4), long=st.booleans())
def test_whatever_goes_the_rest_is_a_conversation(
    shape: str, limit: int, keep: int, long: bool
) -> None:
    before = talk(shape, result="x" * 900 if long else "ok")
    said = reduced(before, limit, chars, keep)
    turns = [turn for turn in said.messages if turn.role != "system"]
    assert pairing_problem(turns) is None
    assert prepare(tuple(said.messages)) == said.messages
    assert said.fits == (sum(map(chars, said.messages)) <= limit)
    questions = [turn.text for turn in before if turn.role == "user"]
    last = History.of(before).rounds
    newest = next((one[0].text for one in reversed(last) if one[0].role == "user"), questions[0])
    assert any(newest in turn.text for turn in turns if turn.role == "user")
    again = reduced(said.messages, limit, chars, keep)
    assert again.messages == said.messages
    if not said.fits:
        assert shown(said.messages).count(" ") <= 1


@given(shape=SHAPES, keep=st.integers(1, 4))
def test_a_summary_leaves_a_conversation_and_nothing_old(shape: str, keep: int) -> None:
    after = summarised(History.of(talk(shape)), keep, "S").messages()
    assert pairing_problem([turn for turn in after if turn.role != "system"]) is None
    history = History.of(after)
    assert history.summary == "S"
    assert old_rounds(history, keep) == ()
    assert summarised(history, keep, "S").messages() == after
