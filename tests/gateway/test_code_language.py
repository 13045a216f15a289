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
    "a fence with attributes": ("```python {.numberLines}\nx\n```", "python"),
    "a fence with a title": ('```js title="a.js"\nx\n```', "javascript"),
    "a fence with a file": ("```go cmd/main.go\nx\n```", "go"),
    "imports in rows": ("import left\nimport right\n", "python"),
    "a module of the library": ("import os", "python"),
    "a dotted import": ("import os.path", "python"),
    "an import of names": ("from a.b import c, d", "python"),
    "a package of go": ('package tools\n\nimport "fmt"', "go"),
    "a main package": ("package main", "go"),
    "a method of java": ("    public static void main(String[] args) {", "java"),
    "an interface of java": ("public interface Shop extends Place {", "java"),
    "a class of java with its brace below": ("public class Main\n{", "java"),
    "a table": ("CREATE TABLE users (id INT)", "sql"),
    "a table without more": ("DROP TABLE users;", "sql"),
    "a row": ("INSERT INTO users VALUES (1)", "sql"),
    "a column": ("ALTER TABLE users ADD COLUMN age INT", "sql"),
    "a command as root": ("$ sudo apt install x", "shell"),
    "a command with a variable": ("$ PORT=1 ./run.sh", "shell"),
    "a dockerfile": ("FROM python\nRUN pip install x", "dockerfile"),
    "an image with a tag": ("FROM python:3.12-slim", "dockerfile"),
    "lines of windows": ("Why?\r\n```python\r\nx\r\n```", "python"),
    "a line of windows": ("look:\r\nimport os\r\n", "python"),
    "an array taken apart": ("const [a, b] = useState(0);", "javascript"),
    "a typed variable": ("const a: string[] = [];", "javascript"),
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
    "package deal",
    "package holidays\nand where to book them",
    "import tariffs",
    "import tariffs\non steel",
    "from Paris import goods to Rome how?",
    "from Paris import wine and cheese, please",
    "$ apple stock",
    "$ are falling. why?",
    "FROM russia",
    "FROM: Ann\nTO: Bob",
    "FROM Ann\nAdd me to your list",
    "public interface of the company",
    "public class in the park",
    "public record of the meeting",
    "CREATE TABLE manners for children",
    "INSERT INTO story a dragon",
    "DELETE FROM memory what I said",
    "ALTER TABLE plans for tonight",
    "``` is how you quote",
    "``` means code, I think",
    "var is a river in France = true?",
    "const in French = constante?",
    "\u8bf7\u7ffb\u8bd1\u8fd9\u53e5\u8bdd",
    "\u041a\u0430\u043a \u0434\u0435\u043b\u0430?",
    "Wie sp\u00e4t ist es in Tokio?",
    "import de voitures au Japon : quels droits ?",
    "la classe de neige: quand partir ?",
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
