"""A wrong configuration is told where it is written down."""

from typing import Any

import pytest

from rig import InvalidRequestError
from rig.gateway.categories import Categories, Category

CHAT = Category(models=("small",))


def test_one_model_needs_no_list() -> None:
    assert Category(models="small").preferences == ("small",)


def test_a_model_that_stands_twice_is_asked_once() -> None:
    assert Category(models=("a", "b", "a")).preferences == ("a", "b")


def test_languages_may_have_any_of_their_names() -> None:
    assert Category(models=("m",), code=("py", "C++")).code == ("python", "cpp")


BAD_FIELDS: dict[str, dict[str, Any]] = {
    "no model": {"models": ()},
    "a blank model": {"models": (" ",)},
    "auto as a model": {"models": ("auto",)},
    "a number as a model": {"models": (1,)},
    "models as bytes": {"models": b"m"},
    "a description of another type": {"description": 1},
    "one text as patterns": {"patterns": "word"},
    "an empty pattern": {"patterns": ("",)},
    "a pattern of an ending alone": {"patterns": ("*",)},
    "a pattern without end": {"patterns": ("x" * 101,)},
    "too many patterns": {"patterns": ("x",) * 501},
    "an unknown language": {"code": ("klingon",)},
    "no language": {"code": ()},
    "code as text": {"code": "python"},
    "a negative length": {"min_chars": -1},
    "a length of another type": {"max_chars": "9"},
    "bounds that cross": {"min_chars": 9, "max_chars": 8},
}


@pytest.mark.parametrize("fields", BAD_FIELDS.values(), ids=BAD_FIELDS)
def test_a_category_that_can_not_work_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequestError):
        Category(**{"models": ("m",), **fields})


BAD: dict[str, dict[str, Any]] = {
    "no categories": {"by_name": {}},
    "a list": {"by_name": ["code"]},
    "something else than a category": {"by_name": {"code": ("m",)}},
    "an empty name": {"by_name": {"": CHAT}},
    "a name that is no text": {"by_name": {1: CHAT}},
    "a name with a bracket": {"by_name": {"a]": CHAT}},
    "a name with a blank at its end": {"by_name": {"a ": CHAT}},
    "a name without end": {"by_name": {"x" * 65: CHAT}},
    "two names that differ in case": {"by_name": {"Code": CHAT, "code": CHAT}},
    "too many": {"by_name": {f"c{i}": CHAT for i in range(65)}},
    "no default": {"default": ""},
    "auto as the default": {"default": "Auto"},
    "a default category that is none": {"fallback": "poetry"},
}


@pytest.mark.parametrize("fields", BAD.values(), ids=BAD)
def test_categories_that_can_not_work_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequestError):
        Categories(**{"by_name": {"chat": CHAT}, "default": "m", **fields})


@pytest.mark.parametrize("name", ["code", "code review", "sql-2", "\u00fcbersetzen", "a_b", "x"])
def test_names_may_be_words(name: str) -> None:
    assert Categories(by_name={name: CHAT}, default="m", fallback=name).descriptions == {name: ""}
