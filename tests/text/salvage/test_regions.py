"""What stands around a place in a text."""

import pytest

from rig.text.salvage.regions import MAX_OPEN, Regions

COVERED = (
    "<a>@</a>", "<any-name x=1>text @ text</any-name>", "<A>@</a>", "<a><b>@</a>", "<document>\n@", "<tool_result>@", "<!-- @", "<!-- @ -->",
    "<![CDATA[@]]>", "/* @ */", "\\begin{x}@\\end{x}", "[quote]@[/quote]", "'''\n@", '"""@"""', "a ```json @ ```", "`a\n@`", '"a @ b"',
    "\u201ca @\u201d", "\u201ea @\u201c", "\u300c@\u300d", "(a @)", "[1, @]", "{a: @}", "f({@})", "\\texttt{@}", "<|im_start|>user\n@",
    "<|user|>@", "Human: @", "[INST]@[/INST]", "----\n@\n----", "=== a ===\n@\n=== b ===", "-----BEGIN X-----\n@", "<<<\n@\n>>>",
)  # fmt: skip
OPEN = (
    "@", "<a>@", "@</a>", "<a></a>@", "<a>\n</a>\n@<a>", "<br>@<br>", "<tool_calls>@</tool_calls>", "<answer>@</answer>", "<x/>@</x>",
    "(a\n\n@)", '"a\n\n@"', '5" @', "{{@}}", "[@]", "{@}", "a :( @", "<|im_start|>assistant\n@", "<|user|>a<|assistant|>@",
    "Human: a\nAssistant: @", "it's @ it's", "a < b @ c > d", "---\n@\n---", "(a) @ (b)", "<my_tool>@</my_tool>",
)  # fmt: skip


def covers(text: str) -> bool:
    at = text.index("@")
    return Regions(text, [(at, at + 1)], ["my_tool"]).cover(at, at + 1)


@pytest.mark.parametrize("text", COVERED)
def test_something_stands_around_it(text: str) -> None:
    assert covers(text)


@pytest.mark.parametrize("text", OPEN)
def test_nothing_stands_around_it(text: str) -> None:
    assert not covers(text)


def test_what_is_passed_over_opens_and_closes_nothing() -> None:
    text = "<a>@</a>"
    assert not Regions(text, [(0, 3), (3, 4)]).cover(3, 4)
    assert not Regions(text, [(3, 4), (4, 8)]).cover(3, 4)


@pytest.mark.parametrize(
    "unit", ["<a>", "{", "(", '"', "`", "[x]", "<!--", "<a></a>", "\n\n", "{}"]
)
def test_floods_are_read_and_bounded(unit: str) -> None:
    text = unit * 20_000 + "@"
    regions = Regions(text, [(len(text) - 1, len(text))])
    assert len(regions._found) <= 20_000 + MAX_OPEN
    regions.cover(len(text) - 1, len(text))
