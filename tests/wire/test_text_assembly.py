"""Text and reasoning of a stream, by themselves; whole streams are in test_assembly.py."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.model import Delta
from rig.text.reasoning import separate_reasoning, strip_orphan_closer
from rig.wire.text_assembly import PARTS, TextAssembler, byte_size


def standing(deltas: list[Delta]) -> str:
    text = ""
    for delta in deltas:
        text = delta.text if delta.retracted else text + delta.text
    return text


tags = st.sampled_from(
    ["<think>", "</think>", "<thi", "nk>", "[THINK]", "[/THINK]", "a", " ", "\n", "<"]
)
texts = st.lists(tags, max_size=10)


@given(texts)
def test_text_alone_reads_as_the_whole_text_does(pieces: list[str]) -> None:
    assembler, deltas = TextAssembler(), list[Delta]()
    for piece in pieces:
        assembler.add_text(piece, deltas)
    assembler.close(deltas)
    whole = separate_reasoning("".join(pieces))
    assert standing(deltas) == assembler.text == whole.text
    assert "".join(delta.reasoning for delta in deltas) == whole.reasoning


@given(texts, texts)
def test_text_around_a_thought_reads_as_text_whose_reasoning_came_apart(
    before: list[str], after: list[str]
) -> None:
    assembler, deltas = TextAssembler(), list[Delta]()
    for piece in before:
        assembler.add_text(piece, deltas)
    assembler.add_thought("why", "reasoning", deltas)
    for piece in after:
        assembler.add_text(piece, deltas)
    assembler.close(deltas)
    whole = strip_orphan_closer("".join([*before, *after]))
    assert standing(deltas) == assembler.text == whole.text


WIRES: dict[str, tuple[Callable[[TextAssembler], None], bool, dict[str, object]]] = {
    "text": (
        lambda one: one.add_text("<think>a", []),
        False,
        {"content": "<think>a", "reasoning": ""},
    ),
    "a field": (
        lambda one: one.add_thought("a", "reasoning_content", []),
        False,
        {"content": "", "reasoning_content": "a"},
    ),
    "parts": (
        lambda one: one.add_thought("a", PARTS, []),
        False,
        {"content": [{"type": "thinking", "thinking": "a"}, {"type": "text", "text": ""}]},
    ),
    "an assumed thought that was cut": (
        lambda one: one.add_text("a", []),
        True,
        {"content": "<think>a", "reasoning": ""},
    ),
}


@pytest.mark.parametrize(("fill", "cut", "expected"), WIRES.values(), ids=WIRES.keys())
def test_the_message_holds_what_came_where_it_came(
    fill: Callable[[TextAssembler], None], cut: bool, expected: dict[str, object]
) -> None:
    assembler = TextAssembler(thinking=cut)
    fill(assembler)
    assert assembler.wire(cut=cut) == expected


def test_settling_tells_only_what_differs() -> None:
    assembler, deltas = TextAssembler(), list[Delta]()
    assembler.add_text("a", deltas)
    for text in ("a", "ab", "c"):
        assembler.settle(text, "", deltas)
    assert deltas == [Delta(text="a"), Delta(text="b"), Delta(retracted="ab", text="c")]


def test_size_is_in_bytes() -> None:
    assembler = TextAssembler()
    assembler.add_text("\u00e9a", [])
    assembler.add_thought("\u4e2d", "reasoning", [])
    assert assembler.size == 6
    assert byte_size("\U0001f600") == 4
    assert byte_size("\ud83d") == 3
