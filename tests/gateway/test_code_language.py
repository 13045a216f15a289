"""Code, told from prose."""

import re

import pytest

from rig.gateway import code_language as module
from rig.gateway.code_language import UNKNOWN, code_language, language_named

CODE = {
    "a fence": ("Why?\n```python\nx = 1\n```", "python"),
    "a fence of a short name": ("```py\nx\n```", "python"),
    "a fence of a name nobody lists": ("```zig\nx\n```", "zig"),
    "tildes": ("~~~ rust\nx\n~~~", "rust"),
    "a bare fence": ("```\nls\n```", UNKNOWN),
    "a bare fence with a telling line": ("```\nSELECT a FROM b\n```", "sql"),
    "the second fence has the name": ("```\nx\n```\nand\n```go\ny\n```", "go"),
    "a function": ("fix this:\ndef add(a, b):\n    return a + b", "python"),
    "an indented method": ("    async def run(self) -> None:\n        pass", "python"),
    "an import": ("import numpy as np", "python"),
    "a traceback": ("It says\nTraceback (most recent call last):\n  File", "python"),
    "javascript": ("const a = 5;", "javascript"),
    "typescript": ("export interface Shop {", "typescript"),
    "rust": ("pub fn main() {", "rust"),
    "go": ("func (s *Server) Run(ctx context.Context) error {", "go"),
    "java": ("public class Main {", "java"),
    "a stack of java": ("error\n    at com.acme.Main.run(Main.java:12)", "java"),
    "c": ('#include "util.h"', "c"),
    "c++": ("std::vector<int> v;", "cpp"),
    "sql": ("SELECT name FROM users WHERE id = 1", "sql"),
    "sql in lower case": ("what does select * from users do", "sql"),
    "shell": ("#!/bin/sh\necho", "shell"),
    "a prompt of a shell": ("$ ls -l", "shell"),
    "html": ("<div class='a'>x</div>", "html"),
    "a diff": ("diff --git a/x b/x", "diff"),
}


@pytest.mark.parametrize(("text", "language"), CODE.values(), ids=CODE)
def test_code_is_told_with_its_language(text: str, language: str) -> None:
    assert code_language(text) == language


PROSE = [
    "",
    "What is the capital of France?",
    "import duties on steel rose again",
    "from here to eternity import nothing",
    "Select the best from the list.",
    "select one from the list",
    "class was cancelled: nobody came",
    "Let x = 5 be a number; what is x squared?",
    "let us go; then = means equals",
    "a `word` in code type",
    "The function of the heart is to pump blood.",
    "package deliveries are late",
    "```text\njust a quote\n```",
    "```\n",
    "use std fonts",
    "I paid $ 5 for it",
    "1 < 2 and 3 > 2",
]


@pytest.mark.parametrize("text", [text for text in PROSE if text != "```\n"])
def test_prose_is_not_taken_for_code(text: str) -> None:
    assert code_language(text) is None


@pytest.mark.parametrize(
    ("name", "usual"), [("py", "python"), ("C++", "cpp"), (" TS ", "typescript"), ("zig", "zig")]
)
def test_languages_have_one_name(name: str, usual: str) -> None:
    assert language_named(name) == usual


def test_no_pattern_repeats_without_a_bound() -> None:
    """With bounds on all repetitions the work is linear in the text, whatever it is."""
    patterns = [pattern for _, pattern in module._LINES] + [module._FENCE.pattern]
    for pattern in patterns:
        outside = re.sub(r"\\.", "", re.sub(r"\[(?:\\.|[^\]\\])*\]", "", pattern))
        assert not re.search(r"[*+]|\{\d*,\}", outside), pattern
