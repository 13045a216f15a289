"""What the line of a call says of it."""

import pytest

from rig.text.salvage.lines import Dumps, is_indented, is_lazily_quoted, is_marked

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
