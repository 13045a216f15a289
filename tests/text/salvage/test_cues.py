"""Words that show a call, and words that only stand before one."""

import pytest

from rig.text.salvage.cues import is_explained, is_intended, is_introduced, is_template

SHOWS = (
    "for example:", "The format is", "Never call:", "You could write ", "He said: ", "zum Beispiel:", "par exemple :", "Wrong:\n",
    "\u4f8b\u5982\uff1a", "\u4e0d\u8981\u8f93\u51fa\uff1a", "\u4f8b\u3048\u3070\uff1a", "\u041d\u0430\u043f\u0440\u0438\u043c\u0435\u0440: ",
    "Let me show you the format:", "Here is an example.\n\n", "Never, under any circumstances, output:",
)  # fmt: skip
SAYS = (
    "", "Let me check the format of the file:", "I saw the example. ", "I don't know. ", "Here is the function call:", "Searching: ",
    "I can't say without a search.\n", "Ich suche danach:", "\u6211\u6765\u641c\u7d22\uff1a", "The user said hello. ",
)  # fmt: skip


@pytest.mark.parametrize("before", SHOWS, ids=ascii)
def test_words_introduce_what_is_shown(before: str) -> None:
    assert is_introduced(before)


@pytest.mark.parametrize("before", SAYS, ids=ascii)
def test_other_words_introduce_nothing(before: str) -> None:
    assert not is_introduced(before)


@pytest.mark.parametrize(
    "after",
    [
        " is the format.", " would search.", "\nThis is an example.", " (do not run this)", " or ", " ist das Format", "\u662f\u683c\u5f0f",
        " \u2014 that is the format", "\n^ this is how you call it", ", where x is yours",
    ],
    ids=ascii,
)  # fmt: skip
def test_words_explain_what_is_shown(after: str) -> None:
    assert is_explained(after)


@pytest.mark.parametrize(
    "after",
    ["", " ok", "\n\nI will wait.", "\nThis will search.", " Done.", "\n\nOr shall I wait?"],
)
def test_other_words_explain_nothing(after: str) -> None:
    assert not is_explained(after)


def test_what_a_model_is_about_to_do_is_told() -> None:
    assert is_intended("I will search ")
    assert not is_intended("You send ")
    assert not is_intended("Let me explain ")


TEMPLATES = {
    "dots": ({"q": "..."}, True, True),
    "its own name": ({"city": "<city>", "days": "three"}, False, True),
    "yours": ({"q": "your_query"}, True, True),
    "in braces": ({"q": "{city}"}, True, True),
    "a number beside it": ({"q": "<query>", "limit": 3}, True, True),
    "a tag": ({"q": "<div>"}, False, False),
    "a header": ({"q": "<stdio.h>"}, False, False),
    "a class of characters": ({"q": "[a-z]"}, False, False),
    "its place": ({"path": "File path here", "query": "search term here"}, True, True),
    "somebody here": ({"q": "who is here"}, False, False),
    "dots beside a value": ({"path": "a", "content": "..."}, False, False),
    "words": ({"q": "your cat"}, False, False),
    "nothing": ({}, False, False),
    "a list": ({"q": ["..."]}, True, True),
}


@pytest.mark.parametrize(
    ("arguments", "alone", "in_prose"), TEMPLATES.values(), ids=TEMPLATES.keys()
)
def test_placeholders_are_told_from_values(
    arguments: dict[str, object], alone: bool, in_prose: bool
) -> None:
    assert is_template(arguments, alone=True) is alone
    assert is_template(arguments, alone=False) is in_prose


@pytest.mark.parametrize("unit", ["to search ", "never ", "a ", "\n", "in the ", "x's "])
def test_a_text_of_any_length_is_looked_at_as_one_of_a_clause(unit: str) -> None:
    assert is_introduced(unit * 100_000) == is_introduced(unit * 1000)
