"""What the line of a call says of it."""

import pytest

from rig.text.salvage.lines import (
    Dumps,
    is_indented,
    is_lazily_quoted,
    is_mailed,
    is_marked,
    is_printed,
)

MARKED = (
    "2024-05-01 12:00:00 INFO got ", "[2024-05-01T12:00:00Z] ", "ERROR worker: ", "12:00:01 ", "level=info msg=", "+", "-", "- ", "1. ",
    "> ", "| a | ", "// ", "# ", "$ curl -d ", "data: ", "payload: ", "const x = ", "return ", "foo(", "x = [",
)  # fmt: skip
PLAIN = (
    "",
    "   ",
    "Sure! ",
    "Let me look: ",
    "Assistant: ",
    "Tool call: ",
    "tool_call: ",
    "It is 5 - 3. ",
    "Let me run `ls`: ",
)


@pytest.mark.parametrize("line", MARKED)
def test_a_line_of_something_else_is_known_by_its_begin(line: str) -> None:
    assert is_marked(line)


@pytest.mark.parametrize("line", PLAIN)
def test_prose_before_a_call_marks_nothing(line: str) -> None:
    assert not is_marked(line)


def test_code_is_indented_behind_prose_and_a_blank_line() -> None:
    assert is_indented("Text:\n\n    {", 11)
    assert not is_indented("Text:\n    {", 10)
    assert not is_indented("\n\n    {", 6)


INDENTED = {
    "a block of YAML": ("steps:\n  - run: |\n      @", True),
    "a value of YAML": ("a:\n  - name: x\n    call:\n      @", True),
    "a block at the top": ("prompt: >\n  @", True),
    "a step of a list": ("2. Send\n   @", True),
    "the last of some lines of code": ("Log:\n\n    Handle\n    @", True),
    "prose that leads up to it": ("Let me search:\n  @", False),
    "a word that leads up to it": ("Searching:\n  @", False),
    "behind a list": ("1. I search\n\n   @", False),
    "not deeper": ("    a:\n    @", False),
}


@pytest.mark.parametrize(("text", "indented"), INDENTED.values(), ids=INDENTED)
def test_what_stands_deeper_belongs_to_the_line_above(text: str, indented: bool) -> None:
    assert is_indented(text, text.index("@")) is indented


PRINTED = {
    "a command": ("$ cat x\n@", True),
    "a command of another shell": ("PS C:\\x> type a\n@", True),
    "a command with a host": ("me@host:~$ ls\n@".replace("@", "\x00", 1), True),
    "a question of Python": (">>> call\n@", True),
    "a file": ("notes/a.txt:\n@", True),
    "a file with a word": ("File: `a.json`\n@", True),
    "a line that goes on": ("x = \\\n@", True),
    "a comparison": ("assert x ==\n@", True),
    "an amount": ("It is $ 5.\n@", False),
    "a sentence": ("I read a.txt:\n@", False),
    "a tool": ("get_weather:\n@", False),
    "nothing": ("@", False),
    "the same line": ("$ cat x @", False),
}


@pytest.mark.parametrize(("text", "printed"), PRINTED.values(), ids=PRINTED)
def test_a_line_above_may_say_where_it_was_printed(text: str, printed: bool) -> None:
    start = text.index("@")
    assert is_printed(text.replace("\x00", "@"), start) is printed


def test_what_stands_below_the_head_of_a_mail_is_mailed() -> None:
    head = "From: a\nSubject: b\n\nHi\n"
    assert is_mailed(head, len(head))
    assert not is_mailed("From: a\n\nHi\n", 12)


def test_a_quotation_goes_on_without_its_mark() -> None:
    assert is_lazily_quoted("> a\n{", 4)
    assert not is_lazily_quoted("> a\n\n{", 5)
    assert not is_lazily_quoted(">>> f\n{", 6)


DUMPS = {
    "a response": ("HTTP/1.1 200 OK\nContent-Type: a\n\n@", True),
    "a request": ("POST /v1 HTTP/1.1\r\nHost: a\r\n\r\n@", True),
    "what curl shows": ("< HTTP/1.1 200 OK\n<\n@", True),
    "a difference": ("diff --git a/x b/x\n-a\n @", True),
    "prose behind a response": ("HTTP/1.1 200 OK\n\nThat was it.\n@", False),
    "prose": ("I use HTTP/1.1 here.\n@", False),
}


@pytest.mark.parametrize(("text", "held"), DUMPS.values(), ids=DUMPS.keys())
def test_requests_and_differences_hold_their_lines(text: str, held: bool) -> None:
    assert Dumps(text).hold(text.index("@")) is held


def test_no_more_than_a_few_are_told_apart() -> None:
    text = "HTTP/1.1 200 OK\n\nprose\n" * 10_000 + "@"
    assert not Dumps(text).hold(len(text) - 1)
