"""What may become a call is not shown; chunks don't matter."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import from_json

from rig.text.salvage import OfferedTool, SalvageGate, ThoughtGate, salvage

DATA = Path(__file__).parents[2] / "data" / "text"
TOOLS = tuple(
    OfferedTool(tool["name"], tool["parameters"])
    for tool in from_json((DATA / "salvage-tools.json").read_text(encoding="utf-8"))
)
CASES: list[dict[str, Any]] = [
    from_json(line)
    for line in (DATA / "salvage-cases.jsonl").read_text(encoding="utf-8").splitlines()
]
# Whoever uses the gate takes thoughts out of what it lets through.
PLAIN = [
    row
    for row in CASES
    if not any(tag in row["input"] for tag in ("think>", "THINK]", "<|channel|>"))
]


def through(chunks: Iterable[str]) -> tuple[str, str]:
    gate = SalvageGate(TOOLS)
    shown = [part for chunk in chunks for part in gate.feed(chunk)]
    visible, held = gate.close()
    return "".join([*shown, visible]), held


def splits(text: str) -> Iterable[list[str]]:
    yield [text]
    yield list(text)
    yield [text[start : start + 7] for start in range(0, len(text), 7)]
    yield from ([text[:at], text[at:]] for at in range(1, len(text)))


@pytest.mark.parametrize("row", PLAIN, ids=lambda row: row["id"])
def test_no_part_of_a_call_is_shown_however_it_is_cut(row: dict[str, Any]) -> None:
    text = row["input"]
    for chunks in splits(text):
        visible, held = through(chunks)
        assert visible + held == text
        if row["calls"]:
            assert row["text"].startswith(visible.strip()), chunks


PASSES = {
    "prose": "A plain answer, with brackets [1] and {braces}, and some more words.",
    "a tag as a word": "Use the <tool_call> tag to call a tool.",
    "a token as a word": "[TOOL_CALLS] is the token of Mistral.",
    "other tags": "<b>bold</b> and <div>",
    "data": 'Here: {"title": "x", "items": [1, 2]} is all.',
    "data of another name": 'It is {"name": "Alice", "age": 3} then, and more.',
    "a code block": "See:\n```python\nx = {'name': 1}\n```\nand so on.",
    "a code block at the begin": "```python\nx = 1\n```\nThat is all.",
    "a code block with a call": 'See:\n```json\n{"name":"search","arguments":{"q":"x"}}\n```\nDone.',
    "python": "search is a tool.",
    "action": "Action: buy milk",
    "final answer": "Thought: so.\nFinal Answer: 42",
    "blanks": "  \n ",
    "a quotation": "> <tool_call>\n\nThat was it.",
}


@pytest.mark.parametrize("text", PASSES.values(), ids=PASSES.keys())
def test_what_can_be_no_call_is_shown(text: str) -> None:
    for chunks in splits(text):
        visible, _ = through(chunks)
        assert visible == text, chunks


def test_without_tools_everything_passes_at_once() -> None:
    gate = SalvageGate(())
    assert gate.feed("<tool_call>") == ["<tool_call>"]
    assert gate.close() == ("", "")


def test_what_turns_out_to_be_text_is_let_through() -> None:
    gate = SalvageGate(TOOLS)
    assert gate.feed("Use <tool_") == ["Use "]
    assert gate.feed("call> sea") == []
    assert gate.holding
    assert "".join(gate.feed("ts are free.")) == "<tool_call> seats are free."
    assert not gate.holding


def test_a_draft_in_a_thought_passes() -> None:
    gate = SalvageGate(TOOLS, place=lambda: "thought")
    assert "".join(gate.feed("<tool_call>{")) == "<tool_call>{"


def test_an_assumed_thought_lets_go_of_its_drafts_when_it_ends() -> None:
    gate = SalvageGate(TOOLS, place=lambda: "assumed")
    assert gate.feed('<tool_call>{"name":') == []
    assert gate.feed("</thi") == []
    assert gate.feed("nk>so") == ['<tool_call>{"name":</think>so']


@given(
    st.lists(
        st.sampled_from([row["input"] for row in PLAIN] + ["\n", " ", "x", "<", "{", "`"]),
        max_size=4,
    ),
    st.data(),
)
def test_any_chunks_show_no_more_than_the_whole_text_does(
    parts: list[str], data: st.DataObject
) -> None:
    text = "".join(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    chunks = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    visible, held = through(chunks)
    assert visible + held == text
    salvaged = salvage(text, TOOLS, separated=True)
    if salvaged.calls:
        assert "".join(salvaged.text.split()).startswith("".join(visible.split()))


UNITS = ["word ", "<tool_call>", '{"name": ', "{", "[", "`", "```\n", "Action: search\n", "\n", "<function=search><parameter=q>x", "search(", " "]  # fmt: skip


@pytest.mark.parametrize("unit", UNITS)
def test_work_grows_with_the_text_and_no_faster(unit: str) -> None:
    def work(size: int) -> int:
        gate = SalvageGate(TOOLS)
        text = unit * (size // len(unit))
        for start in range(0, len(text), 3):
            gate.feed(text[start : start + 3])
        return gate.work

    assert work(8000) <= 5 * work(2000) + 4000


KIMI = "<|tool_calls_section_begin|><|tool_call_begin|>functions.search:0"


@pytest.mark.parametrize("cut", range(1, len(KIMI)))
def test_a_call_at_the_end_of_a_thought_is_held(cut: int) -> None:
    gate = ThoughtGate()
    text = f"I look. {KIMI}"
    shown = [gate.feed(text[: 8 + cut]), gate.feed(text[8 + cut :])]
    assert "".join(shown) == "I look."
    assert gate.close() == ("", f" {KIMI}")


def test_a_thought_without_calls_passes() -> None:
    gate = ThoughtGate()
    assert [gate.feed(part) for part in ("a <", "b> ", "c <tool")] == ["a", " <b>", " c"]
    assert gate.close() == (" <tool", "")


@given(
    before=st.lists(st.sampled_from(["It is", " so", "\n", " " * 90]), max_size=3),
    pieces=st.lists(
        st.sampled_from(
            [" word", "a", " ", " " * 90, " " * 120, "\t" * 200, "]", ">", "\u25b7", "\n", "<"]
        ),
        max_size=6,
    ),
    after=st.sampled_from(["add(a=1)", "<tool_call>", "[add(a=1)]", '{"name": "add"}', " done"]),
)
def test_pieces_that_pass_at_once_pass_one_by_one(
    before: list[str], pieces: list[str], after: str
) -> None:
    at_once, one_by_one = SalvageGate(TOOLS), SalvageGate(TOOLS)
    for text in before:
        at_once.feed(text)
        one_by_one.feed(text)
    if not at_once.passes_all("".join(pieces)):
        return
    at_once.passed("".join(pieces))
    assert [one_by_one.feed(piece) for piece in pieces] == [[piece] for piece in pieces]
    assert at_once.feed(after) == one_by_one.feed(after)
    assert at_once.close() == one_by_one.close()


WORDS = st.one_of(
    st.text(max_size=6),
    st.sampled_from(
        ["a", " word", "word ", " ", "  ", "\n", "]", ">", "\u25b7", "[", "`", "a" * 150, " " * 120]
    ),
    st.sampled_from(["add", "(a=1)", "[add(a=1)]", '{"name":', "```", "<tool_call>", "\u2028b"]),
)


@given(st.lists(WORDS, max_size=200))
def test_a_word_that_passes_leaves_the_gate_as_feeding_it_does(chunks: list[str]) -> None:
    quick, slow = SalvageGate(TOOLS), SalvageGate(TOOLS)
    for chunk in chunks:
        fed = slow.feed(chunk)
        if not chunk[-2:].isspace() and chunk and quick.passes_word(chunk):
            assert fed == [chunk]
        else:
            assert quick.feed(chunk) == fed
        assert (quick.holding, quick.waiting) == (slow.holding, slow.waiting)
    assert quick.close() == slow.close()


def test_a_word_in_a_line_passes() -> None:
    gate = SalvageGate(TOOLS)
    assert not gate.passes_word("A")
    assert gate.feed("A line") == ["A line"]
    assert all(gate.passes_word(" word") for _ in range(1000))
    assert not gate.passes_word("\n")
    assert gate.feed("\n")
    assert not gate.passes_word("[")
