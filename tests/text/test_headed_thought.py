"""A thought under a heading in plain words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.text.headed_thought import Headed, HeadedThoughtReader, may_begin_heading

HEADS: dict[str, tuple[str, str | None, str]] = {
    "both headings": ("Here is my thought process:\nr\nHere is my response:\na", "\nr\n", "\na"),
    "short forms": ("Here's my thought process: r Here's my response: a", " r ", " a"),
    "letter case and blanks": ("\n HERE IS my Thought Process:rhere is my response:a", "r", "a"),
    "nothing thought": ("Here is my thought process:Here is my response:a", "", "a"),
    "only the first second heading": (
        "Here is my thought process:rHere is my response:a Here is my response:b",
        "r",
        "a Here is my response:b",
    ),
    "another beginning": ("Hello", None, "Hello"),
    "not at the beginning": (
        "So: Here is my thought process: r Here is my response: a",
        None,
        "So: Here is my thought process: r Here is my response: a",
    ),
    "the second heading alone": ("Here is my response: a", None, "Here is my response: a"),
}


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
@pytest.mark.parametrize(("text", "thought", "rest"), HEADS.values(), ids=HEADS)
def test_the_head_of_a_reply_is_known_in_any_chunks(
    text: str, thought: str | None, rest: str, size: int
) -> None:
    reader = HeadedThoughtReader()
    for at in range(0, len(text), size):
        found = reader.feed(text[at : at + size])
        if found is not None:
            left = text[at + size :]
            assert (found.thought, found.rest + left) == (thought, rest)
            return
    pytest.fail("never known")


OPEN = ["", " ", "Here", "here is my thought process:", "Here is my thought process: and no more"]


@pytest.mark.parametrize("size", [1, 4, 1000])
@pytest.mark.parametrize("text", OPEN)
def test_without_the_second_heading_it_is_text(text: str, size: int) -> None:
    reader = HeadedThoughtReader()
    for at in range(0, len(text), size):
        assert reader.feed(text[at : at + size]) is None
    assert reader.close() == text.lstrip()


@pytest.mark.parametrize("text", ["", "h", " Here is", "Here's my thought process: x"])
def test_a_beginning_that_may_be_a_heading_is_known(text: str) -> None:
    assert may_begin_heading(text)
    assert not may_begin_heading(f"x{text}")


def test_a_thought_that_never_ends_is_looked_at_once() -> None:
    scanned: list[int] = []
    for count in (2_000, 8_000):
        reader = HeadedThoughtReader()
        reader.feed("Here is my thought process:")
        for _ in range(count):
            assert reader.feed("here is my respons") is None
        scanned.append(reader.scanned)
    assert scanned[1] <= 4.1 * scanned[0]


parts = st.sampled_from(
    ["Here is my ", "thought process:", "response:", "here's my ", "a", " ", "\n"]
)


@given(st.lists(parts, max_size=8))
def test_nothing_is_lost(chunks: list[str]) -> None:
    reader = HeadedThoughtReader()
    for index, chunk in enumerate(chunks):
        found = reader.feed(chunk)
        if isinstance(found, Headed):
            whole = (found.thought or "") + found.rest + "".join(chunks[index + 1 :])
            assert "".join(chunks).lstrip().endswith(found.rest + "".join(chunks[index + 1 :]))
            assert len(whole) <= len("".join(chunks))
            return
    assert reader.close() == "".join(chunks).lstrip()
