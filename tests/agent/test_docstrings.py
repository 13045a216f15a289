from typing import Any

import pytest

from rig.agent.docstrings import read_docstring

GOOGLE = """Search the archive
    for documents.

    Longer text nobody sends.

    Args:
        query (str): what to look for,
            in plain words
        limit: how many: at most 50
        *rest: ignored
        undocumented:

    Returns:
        text: not a parameter
    """

NUMPY = """Search the archive for documents.

    Parameters
    ----------
    query : str
        what to look for,
        in plain words
    limit, offset : int, optional
        a count
    bare
        no type

    Returns
    -------
    text : str
        not a parameter
    """

SPHINX = """Search the archive for documents.

    :param query: what to look for,
        in plain words
    :type query: str
    :param int limit: a count
    :parameter other: more
    :returns: text
    :raises ValueError: never
    """

PARAMETERS = {
    "google": (
        GOOGLE,
        {
            "query": "what to look for, in plain words",
            "limit": "how many: at most 50",
            "rest": "ignored",
        },
    ),
    "numpy": (
        NUMPY,
        {
            "query": "what to look for, in plain words",
            "limit": "a count",
            "offset": "a count",
            "bare": "no type",
        },
    ),
    "sphinx": (
        SPHINX,
        {"query": "what to look for, in plain words", "limit": "a count", "other": "more"},
    ),
    "several google sections": (
        "S.\n\nArgs:\n    a: one\n\nKeyword Args:\n    b: two\n",
        {"a": "one", "b": "two"},
    ),
    "no blank line between the summary and the section": ("S.\nArgs:\n  a: one", {"a": "one"}),
    "blank lines inside a section": ("S.\n\nArgs:\n  a: one\n\n  b: two", {"a": "one", "b": "two"}),
    "generic types with colons and brackets": (
        "S.\n\nArgs:\n    a (dict[str, int], optional): map\n    b (Literal['x: y']): odd\n",
        {"a": "map", "b": "odd"},
    ),
    "sphinx without blank line": ("S.\n:param a: one\n:param b: two", {"a": "one", "b": "two"}),
    "prose with colons is no section": ("S.\n\nNote this:\n    a: one\n", {}),
    "example section is no parameters": ("S.\n\nExample:\n    a: one\n", {}),
    "nothing": ("", {}),
}


@pytest.mark.parametrize(("text", "expected"), PARAMETERS.values(), ids=PARAMETERS.keys())
def test_parameters_are_described_in_every_convention(text: str, expected: Any) -> None:
    assert dict(read_docstring(text).parameters) == expected


SUMMARIES = {
    "first paragraph as one line": (GOOGLE, "Search the archive for documents."),
    "one line": ("Add numbers.", "Add numbers."),
    "starts on the second line": ("\n    Add numbers.\n    ", "Add numbers."),
    "ends at a section without blank line": ("Add.\nArgs:\n    a: one", "Add."),
    "ends at a numpy section": ("Add.\nParameters\n----------\na : int", "Add."),
    "ends at a sphinx field": ("Add.\n:param a: one", "Add."),
    "only a section": ("Args:\n    a: one", ""),
    "only fields": (":param a: one", ""),
    "blank": ("  \n ", ""),
    "none": (None, ""),
    "a colon in the sentence": ("Modes:\nfast or slow.", "Modes: fast or slow."),
}


@pytest.mark.parametrize(("text", "expected"), SUMMARIES.values(), ids=SUMMARIES.keys())
def test_summary_is_the_first_paragraph(text: str, expected: Any) -> None:
    assert read_docstring(text).summary == expected


@pytest.mark.parametrize(
    "line", ["a" * 200_000, "(" * 200_000, ":" * 200_000, "a (" * 70_000, " a:" * 70_000]
)
def test_huge_lines_are_read_in_linear_time(line: str) -> None:
    # Quadratic matching of 200,000 characters runs for minutes; the suite's time-out would end it.
    read_docstring(f"S.\n\nArgs:\n    {line}\n\nParameters\n-----\n{line}\n")
    read_docstring(f":{line}")
