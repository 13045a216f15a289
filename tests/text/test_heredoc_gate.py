import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rig.text.heredoc import parse_heredoc
from rig.text.heredoc_gate import MAX_HELD_CHARS, HeredocGate


def shown(text: str, size: int) -> str:
    gate = HeredocGate()
    parts = [gate.feed(text[at : at + size]) for at in range(0, len(text), size)]
    return "".join([*parts, gate.close()])


@pytest.mark.parametrize("size", [1, 3, 1000], ids=["by character", "odd", "whole"])
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Hello.\nYes", "Hello.\nYes"),
        ("I look.\n@@call a\n{}\n@@end\nDone.", "I look.\n"),
        ("I look.\n  @@call a\n{}", "I look.\n"),
        ("@@call a {x: 1}", ""),
        ("@@call a", ""),
        ("@@call ", ""),
        ("Done.\n@@end\n", "Done.\n"),
        ("Done.\n@@end", "Done.\n"),
        ("Done.\n@@end of it", "Done.\n@@end of it"),
        ("I use @@call a\nto do it", "I use @@call a\nto do it"),
        ("@@call a to do it\nYes", "@@call a to do it\nYes"),
        ("@home\n@@media print\n@", "@home\n@@media print\n@"),
        ("@@callback\n  \n", "@@callback\n  \n"),
        ("I look.\n```\n@@call a\n{}\n@@end\n```\n", "I look.\n"),
        ("```json\n\n  @@call a\n{}", ""),
        ("~~~\r\n@@call a\r\n{}", ""),
        ("```python\nx = 1\n```\nDone.", "```python\nx = 1\n```\nDone."),
        ("```\n@@callback\n```", "```\n@@callback\n```"),
        ("```\n@@end\nDone.", "```\nDone."),
        ("```\n@@end", "```\n"),
        ("@@call \ra\n{}", ""),
        ("", ""),
    ],
    ids=repr,
)
def test_text_passes_up_to_the_first_call(text: str, wanted: str, size: int) -> None:
    assert shown(text, size) == wanted


def test_text_that_can_not_begin_a_call_passes_at_once() -> None:
    gate = HeredocGate()
    assert gate.feed("Hel") == "Hel"
    assert gate.feed("lo\n") == "lo\n"
    assert gate.feed("@") == ""
    assert gate.feed("home") == "@home"


def test_a_line_that_never_ends_is_not_held_back_for_ever() -> None:
    gate = HeredocGate()
    text = "@@call " + "a" * MAX_HELD_CHARS
    assert gate.feed(text) == text
    assert gate.feed(" more") == " more"


PIECES = ["```", "~~~", "@@call ", "@@end", "@@", "@", "a", "\n", " ", "{}", "text", "\t", "\r"]


@example(text="```{}\n@@call ```", size=1)
@example(text="```\n@@end\n@@call ", size=1)
@example(text="```\n@@end\n@@end\nx", size=1)
@example(text="```\n@@end@@end\n@@call ", size=1)
@example(text="```\n<tool_call>\n@@call x\n{}", size=1)
@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join), st.integers(1, 5))
def test_no_more_is_shown_than_the_whole_text_has_as_prose(text: str, size: int) -> None:
    prose = parse_heredoc(text).text.split()
    seen = shown(text, size).split()
    assert seen == shown(text, len(text) or 1).split()
    assert seen == prose[: len(seen)]
