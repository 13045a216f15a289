from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import from_json

from rig.text.pieces import Piece
from rig.text.reasoning import may_hold_thought, separate_reasoning
from rig.text.reasoning_filter import ReasoningFilter

DATA = Path(__file__).parent.parent / "data" / "text"


def rows() -> list[Any]:
    lines = [
        line
        for name in ("reasoning-cases.jsonl", "reasoning-leaks.jsonl")
        for line in (DATA / name).read_text(encoding="utf-8").splitlines()
    ]
    return [pytest.param(row["input"], id=row["id"]) for row in map(from_json, lines)]


def pieces_of(chunks: Iterable[str], *, thinking: bool = False) -> Iterator[Piece]:
    reader = ReasoningFilter(thinking=thinking)
    for chunk in chunks:
        yield from reader.feed(chunk)
    yield from reader.close()


def standing(pieces: Iterable[Piece]) -> tuple[str, str]:
    """What a reader has in the end; retractions are checked to withdraw what stood."""
    text = reasoning = ""
    for piece in pieces:
        assert piece.text
        match piece.kind:
            case "text":
                text += piece.text
            case "reasoning":
                reasoning += piece.text
            case "retract":
                assert piece.text == text
                text = ""
    return text, reasoning


def chunked(text: str, size: int) -> list[str]:
    return [text[index : index + size] for index in range(0, len(text), size)]


@pytest.mark.parametrize("text", rows())
def test_every_split_of_a_stream_gives_what_the_whole_gives(text: str) -> None:
    whole = separate_reasoning(text)
    expected = (whole.text, whole.reasoning)
    for size in (1, 2, 3, 5, 7, 11, 23):
        assert standing(pieces_of(chunked(text, size))) == expected
    for cut in range(len(text) + 1):
        assert standing(pieces_of([text[:cut], text[cut:]])) == expected


PARTS = [
    "<think>", "</think>", "<thinking>", "</thinking>", "<THOUGHT>", "</thought>", "[THINK]", "[/THINK]",
    "<|channel|>", "analysis", "final", "commentary", " to=f", "<|message|>", "<|end|>", "<|start|>",
    "assistant", "<|call|>", "<|constrain|>", "<|channel>thought", "<channel|>",
    "<|begin_of_thought|>", "<|begin_of_solution|>", "\u25c1think\u25b7", "\u25c1/think\u25b7",
    "<", "</", "<thi", "nk>", "<|", "|>", "[", "a", "b ", " ", "\n", "\u00a0",
]  # fmt: skip
texts = st.lists(st.sampled_from(PARTS), max_size=16).map("".join)


HEADS = [
    "",
    " ",
    "Here",
    "HERE IS my thought process:",
    "here's my thought process: a Here is my response: b",
]


@given(st.sampled_from(HEADS), texts | st.text(max_size=9))
def test_a_text_that_holds_no_thought_is_only_trimmed(head: str, rest: str) -> None:
    text = head + rest
    if not may_hold_thought(text):
        assert (standing(pieces_of([text]))) == (text.strip(), "")


@given(texts, st.lists(st.integers(1, 9), max_size=40), st.booleans())
def test_any_text_in_any_chunks_gives_what_the_whole_gives(
    text: str, sizes: list[int], thinking: bool
) -> None:
    chunks: list[str] = []
    position = 0
    for size in sizes:
        chunks.append(text[position : position + size])
        position += size
    chunks.append(text[position:])
    assert standing(pieces_of(chunks, thinking=thinking)) == standing(
        pieces_of([text], thinking=thinking)
    )


@given(texts)
def test_neither_part_has_whitespace_around_it(text: str) -> None:
    visible, reasoning = standing(pieces_of(chunked(text, 1)))
    assert visible == visible.strip()
    assert reasoning == reasoning.strip()


@pytest.mark.parametrize(
    "tag",
    ["<think>", "<SEED:Think>", "[THINK]", "\u25c1think\u25b7", "<|begin_of_thought|>",
     "<|channel|>analysis<|message|>", "<|channel>thought", "< thinking >"],
)  # fmt: skip
def test_no_part_of_a_tag_is_shown(tag: str) -> None:
    shown = [piece.text for piece in pieces_of(["a", *tag, "b"]) if piece.kind == "text"]
    assert shown == ["a"]


def test_text_is_shown_as_soon_as_it_cannot_be_a_tag() -> None:
    reader = ReasoningFilter()
    assert reader.feed("<th") == []
    assert reader.feed(".") == [Piece(kind="text", text="<th.")]
    assert reader.feed(" <") == []
    assert reader.feed("= b") == [Piece(kind="text", text=" <= b")]


def test_text_is_not_held_back_for_long() -> None:
    reader = ReasoningFilter()
    assert reader.feed("hello ") == [Piece(kind="text", text="hello")]
    assert reader.feed("world") == [Piece(kind="text", text=" world")]


def test_a_thought_is_told_while_it_is_thought() -> None:
    reader = ReasoningFilter()
    assert reader.feed("<think>\nso ") == [Piece(kind="reasoning", text="so")]
    assert reader.feed("far") == [Piece(kind="reasoning", text=" far")]
    assert reader.feed("</think>\n\nb") == [Piece(kind="text", text="b")]


def test_a_bare_closer_withdraws_what_was_shown_and_tells_it_as_reasoning() -> None:
    reader = ReasoningFilter()
    reader.feed("so ")
    reader.feed("far")
    assert reader.feed("</think>b") == [
        Piece(kind="retract", text="so far"),
        Piece(kind="reasoning", text="so far"),
        Piece(kind="text", text="b"),
    ]


def test_nothing_is_withdrawn_when_nothing_was_shown() -> None:
    assert [piece.kind for piece in pieces_of([" ", "\n</think>", "a"])] == ["text"]


THINKING = {
    "closed": ("a</think>b", "b", "a"),
    "closed by any family": ("a[/THINK]b", "b", "a"),
    "never closed": ("a", "", "a"),
    "with an opener of its own": ("\n<think>a</think>b", "b", "a"),
    "with an opener later": ("a<think>b</think>c", "c", "a<think>b"),
    "with a harmony opener of its own": (
        "<|channel|>analysis<|message|>a<|end|><|channel|>final<|message|>b", "b", "a",
    ),
    "ended by a harmony message": ("a<|end|><|start|>assistant<|channel|>final<|message|>b", "b", "a"),
    "with a marker in it": ("a<|end|>b</think>c", "c", "a<|end|>b"),
    "and a second bare closer": ("a</think>b</think>c", "c", "a\n\nb"),
}  # fmt: skip


@pytest.mark.parametrize("step", [1, 2, 7, 10_000])
@pytest.mark.parametrize(("text", "expected", "reasoning"), THINKING.values(), ids=THINKING.keys())
def test_a_stream_may_begin_inside_a_thought(
    text: str, expected: str, reasoning: str, step: int
) -> None:
    pieces = list(pieces_of(chunked(text, step), thinking=True))
    assert standing(pieces) == (expected, reasoning)


def test_beginning_inside_a_thought_needs_no_retraction() -> None:
    kinds = [piece.kind for piece in pieces_of(chunked("abc</think>def", 2), thinking=True)]
    assert "retract" not in kinds


def test_a_filter_knows_that_the_assumed_thought_never_ended() -> None:
    reader = ReasoningFilter(thinking=True)
    reader.feed("The answer is 4.")
    reader.close()
    assert reader.assumed
    ended = ReasoningFilter(thinking=True)
    ended.feed("a</think>b")
    assert not ended.assumed
    assert not ReasoningFilter().assumed


FLOODS = {
    "openers": "<think>",
    "closers": "a</think>",
    "pairs": "<think>x</think>y",
    "beginnings": "<think",
    "joined": "<thi<think>x</think>nk>",
    "second openers": "<thinking>",
    "second openers of many families": "<a:think><a:think><b:think><b:think>",
    "blanks": " ",
    "blanks in a thought": "<think> \n",
    "starts": "<|start|>",
    "headers": "<|channel|>analysis<|message|>",
    "long headers": "<|channel|>final" + " to" * 40,
    "ends": "<|end|> ",
    "dropped": "<|begin_of_solution|>x",
    "brackets": "[/THINK]a[",
}


@pytest.mark.parametrize("step", [1, 50, 1_000_000])
@pytest.mark.parametrize("unit", FLOODS.values(), ids=FLOODS.keys())
def test_a_flood_costs_linear_work(unit: str, step: int) -> None:
    scanned: list[int] = []
    for chars in (5_000, 20_000):
        text = (unit * chars)[:chars]
        reader = ReasoningFilter()
        for chunk in chunked(text, step):
            reader.feed(chunk)
        reader.close()
        scanned.append(reader.scanned)
    assert scanned[1] <= 4.2 * scanned[0] + 2_000
