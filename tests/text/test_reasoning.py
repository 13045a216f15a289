from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import from_json

from rig.text.reasoning import separate_reasoning, strip_orphan_closer, strip_reasoning

DATA = Path(__file__).parent.parent / "data" / "text"


def rows(name: str) -> list[Any]:
    lines = (DATA / name).read_text(encoding="utf-8").splitlines()
    return [pytest.param(row, id=row["id"]) for row in map(from_json, lines)]


STRIPPED = {
    "pair": ("<think>a</think>b", "b"),
    "bare closer": ("x</think> y", "y"),
    "never closed": ("<think>never closed", ""),
    "opener after the answer": ("ans <think>tail", "ans"),
    "pair, then an opener": ("a<think>b</think>c<think>d", "ac"),
    "nested": ("a<think>a<think>b</think>c</think>d", "d"),
    "closer, then an opener": ("x</think>y<think>z", "y"),
    "pair, then a closer": ("foo <think>a</think> bar </think> baz", "baz"),
    "two closers": ("a</think>b</think>c", "c"),
    "doubled closer": ("<think>x</think></think>y", "y"),
    "closer alone": ("</think>", ""),
    "empty pair": ("<think></think>", ""),
    "empty": ("", ""),
    "upper case is text": ("<THINK>a</THINK>b", "<THINK>a</THINK>b"),
    "thinking is text": ("<thinking>a</thinking>b", "<thinking>a</thinking>b"),
    "attributes": ("<think a=1>x</think>y", "y"),
    "tags in a json string": ('{"a":"</think>"}', '"}'),
    "joined by the removal": ("<thi<think>x</think>nk>y", ""),
    "thought of a tool turn": ("<think>hidden</think>working", "working"),
    "newlines": ("<think>\na\n\nb\n</think>\n\nc\n", "c"),
}


@pytest.mark.parametrize(("text", "expected"), STRIPPED.values(), ids=STRIPPED.keys())
def test_reasoning_is_stripped_by_the_contract(text: str, expected: str) -> None:
    assert strip_reasoning(text) == expected


PARTS = [
    "<think>",
    "</think>",
    "<thi",
    "nk>",
    "</",
    "<",
    ">",
    "a",
    "b",
    " ",
    "\n",
    "{",
    '"',
    "\u3042",
]
exact_texts = st.lists(st.sampled_from(PARTS), max_size=14).map("".join)


@given(exact_texts)
def test_stripping_twice_changes_nothing(text: str) -> None:
    once = strip_reasoning(text)
    assert strip_reasoning(once) == once
    assert "<think>" not in once
    assert "</think>" not in once


@given(exact_texts)
def test_separating_agrees_with_stripping_where_both_know_the_tags(text: str) -> None:
    assert separate_reasoning(text).text == strip_reasoning(text)


@given(st.text())
def test_a_text_without_tags_is_only_trimmed(text: str) -> None:
    assert strip_reasoning(text) == text.strip()


@pytest.mark.parametrize("row", rows("reasoning-cases.jsonl"))
def test_text_and_reasoning_are_separated(row: dict[str, Any]) -> None:
    separated = separate_reasoning(row["input"])
    assert separated.text == row["text"]
    assert separated.reasoning == row.get("reasoning", separated.reasoning)
    if row["id"].startswith("think exact"):
        assert strip_reasoning(row["input"]) == row["text"]


@pytest.mark.parametrize("row", rows("reasoning-leaks.jsonl"))
def test_reported_leaks_do_not_reach_the_text(row: dict[str, Any]) -> None:
    separated = separate_reasoning(row["input"])
    if row["id"] != "reason-thought":
        assert separated.text == row["text"]
    assert separated.text.split() == row["text"].split()
    assert separated.reasoning == row.get("reasoning", separated.reasoning)
    assert all(part in separated.reasoning for part in row.get("reasoning_has", ()))


def test_an_orphan_closer_goes_and_other_tags_stay() -> None:
    separated = strip_orphan_closer("\n</think>\n\nUse <think> and </think>.\n")
    assert separated.text == "Use <think> and </think>."
    assert separated.reasoning == ""


class CountingText(str):
    """Counts the characters that searches in it have to look at."""

    __slots__ = ("looked_at",)
    looked_at: int

    def find(self, sub: str, start: Any = 0, end: Any = None) -> int:
        found = super().find(sub, start, len(self) if end is None else end)
        self.looked_at += (found if found >= 0 else len(self)) - start
        return found


FLOODS = {
    "openers": "<think>",
    "closers": "</think>",
    "pairs": "<think>x</think>",
    "closers before openers": "</think><think>",
    "halves": "<think</think",
}


@pytest.mark.parametrize("unit", FLOODS.values(), ids=FLOODS.keys())
def test_stripping_a_flood_of_tags_costs_linear_work(unit: str) -> None:
    looked_at: list[int] = []
    for count in (16_000, 64_000):
        text = CountingText(unit * count)
        text.looked_at = 0
        strip_reasoning(text)
        assert text.looked_at <= 2 * len(text)
        looked_at.append(text.looked_at)
    assert looked_at[1] <= 4 * looked_at[0] + 100
