from typing import Any

import pytest

from rig.client import settings
from rig.errors import InvalidRequestError


def test_what_is_right_comes_back() -> None:
    assert settings.instance_of(dict, {"a": 1}, "x") == {"a": 1}
    assert settings.whole_number(1, "x") == 1
    assert settings.header("x", " a ") == "a"
    assert settings.listener(print) is print
    assert settings.listener(None) is None


@pytest.mark.parametrize(("given", "name"), [(None, ""), ("", ""), ("m", "m")])
def test_no_model_is_an_empty_name(given: Any, name: str) -> None:
    assert settings.model_name(given) == name


@pytest.mark.parametrize(("given", "key"), [(None, ""), ("", ""), (" sk ", "sk")])
def test_no_key_is_an_empty_key(given: Any, key: str) -> None:
    assert settings.key(given) == key


async def later(_event: object) -> None:
    """Never run."""


WRONG: dict[str, Any] = {
    "another type": lambda: settings.instance_of(int, "1", "name", " hint"),
    "a flag for a number": lambda: settings.whole_number(True, "name", " hint"),
    "zero": lambda: settings.whole_number(0, "name", " hint"),
    "a fraction": lambda: settings.whole_number(1.0, "name", " hint"),
    "a model that is none": lambda: settings.model_name(b"name hint"),
    "a line break": lambda: settings.header("name", "a\nb"),
    "no text": lambda: settings.header("name", None),
    "a blank key": lambda: settings.key(" \t"),
    "a callback that is none": lambda: settings.listener("name"),  # type: ignore[arg-type]  # the point
    "a callback to be awaited": lambda: settings.listener(later),  # type: ignore[arg-type]  # the point
}


@pytest.mark.parametrize("make", WRONG.values(), ids=WRONG.keys())
def test_what_is_wrong_is_told_with_a_sentence(make: Any) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        make()
    assert len(caught.value.message) > 20
