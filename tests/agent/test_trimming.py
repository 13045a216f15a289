"""The newest turns stay, whole steps only, a question first."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.agent.pairing import pairing_problem
from rig.agent.trimming import trimmed
from rig.messages import Message, ToolCall


def talk(shape: str) -> list[Message]:
    """Turns by letters: u, a, and 0 to 9 for an assistant with that many calls and their results."""
    turns: list[Message] = []
    for at, letter in enumerate(shape):
        if letter == "u":
            turns.append(Message(role="user", content=f"{at}"))
        elif letter == "a":
            turns.append(Message(role="assistant", content=f"{at}"))
        else:
            ids = [f"{at}-{number}" for number in range(int(letter))]
            calls = tuple(ToolCall(id=one, name="f") for one in ids)
            turns.append(Message(role="assistant", tool_calls=calls))
            turns += [Message(role="tool", content="ok", tool_call_id=one) for one in ids]
    return turns


def one(_: Message) -> int:
    return 1


KEPT: dict[str, tuple[str, int, str]] = {
    # the conversation, the limit, its end that stays (with the question of a cut exchange)
    "all fits": ("uaua", 4, "uaua"),
    "all fits with room": ("uaua", 9, "uaua"),
    "the older exchange goes": ("uaua", 3, "ua"),
    "an answer never stays without its question": ("uauau", 2, "u"),
    "a question alone": ("uau", 1, "u"),
    "old steps go, the question stays": ("u1111a", 4, "u1a"),
    "one step more": ("u1111a", 6, "u11a"),
    "a step is whole or gone": ("u13a", 5, "ua"),
    "a step with all its results": ("u13a", 6, "u3a"),
    "an older exchange in part": ("u111au", 5, "u1au"),
    "an older exchange that does not fit in part": ("u111au", 2, "u"),
    "only its newest": ("u1aua", 4, "uaua"),
    "what begins without a question fits": ("aua", 3, "aua"),
    "what begins without a question goes whole": ("aaaua", 4, "ua"),
    "nothing but answers": ("aaa", 2, "aa"),
    "two questions in a row": ("uuu", 2, "uu"),
    "the last step stays even if it is more": ("u111", 2, "u1"),
    "and all its results": ("ua9", 3, "u9"),
    "a limit of nothing": ("uaua", 0, "ua"),
    "less than nothing": ("uaua", -5, "ua"),
    "the last question alone": ("uau", 0, "u"),
    "calls without results yet": ("ua0", 2, "u0"),
    "nothing": ("", 3, ""),
}


@pytest.mark.parametrize(("shape", "limit", "kept"), KEPT.values(), ids=KEPT)
def test_what_stays(shape: str, limit: int, kept: str) -> None:
    turns = trimmed(talk(shape), limit, one)
    assert letters(turns) == kept


def letters(turns: tuple[Message, ...]) -> str:
    said = ""
    for turn in turns:
        if turn.role == "tool":
            said = said[:-1] + str(int(said[-1]) + 1)
        elif turn.role == "user":
            said += "u"
        else:
            said += "a" if turn.content else "0"
    return said


def test_weights_decide_and_not_numbers() -> None:
    turns = talk("uauaua")
    weights = {turn.content: weight for turn, weight in zip(turns, [5, 5, 1, 1, 1, 1], strict=True)}

    def weigh(turn: Message) -> int:
        assert isinstance(turn.content, str)
        return weights[turn.content]

    assert trimmed(turns, 4, weigh) == tuple(turns[2:])
    assert trimmed(turns, 13, weigh) == tuple(turns[2:])
    assert trimmed(turns, 14, weigh) == tuple(turns)


@given(st.text(alphabet="ua0123", max_size=30), st.integers(-2, 40))
def test_whatever_is_trimmed_stays_in_order(shape: str, limit: int) -> None:
    turns = talk(shape)
    kept = trimmed(turns, limit, one)
    left = iter(turns)
    assert all(any(turn is stays for turn in left) for stays in kept)
    assert pairing_problem(kept) is None
    assert bool(kept) == bool(turns)
    if turns:
        assert kept[-1] is turns[-1]
    if "u" in shape and len(kept) < len(turns):
        assert kept[0].role == "user"
    if len(turns) <= limit:
        assert kept == tuple(turns)
    steps = [1 if letter in "ua" else int(letter) + 1 for letter in shape]
    assert len(kept) <= max(limit, 1 + sum(steps[-1:]))


@given(st.text(alphabet="ua01", max_size=30), st.integers(1, 20))
def test_trimming_again_changes_nothing(shape: str, limit: int) -> None:
    kept = trimmed(talk(shape), limit, one)
    assert trimmed(kept, limit, one) == kept


@pytest.mark.parametrize("size", [100, 400])
def test_each_turn_is_weighed_once(size: int) -> None:
    weighed = 0

    def weigh(_: Message) -> int:
        nonlocal weighed
        weighed += 1
        return 1

    turns = talk("u1" * size)
    trimmed(turns, size, weigh)
    assert weighed == len(turns)
