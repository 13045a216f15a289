import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import from_json

from rig.text.duplicate_keys import duplicate_keys, without_duplicates

CASES = {
    '{"a": 1, "b": 1}': "none",
    '{"a": {"a": 1}, "b": [{"a": 1}, {"a": 2}]}': "none",
    "{}": "none",
    '[{}, "a", "a", {"a": "a"}]': "none",
    '{"a": 1, "a": 1}': "equal",
    '{"a": {"x": [1, 2]}, "b": 0, "a": {"x":[1,2]}}': "equal",
    '{"a": "x", "\\u0061": "\\u0078"}': "equal",
    '{"a": {}, "a": {}}': "equal",
    '{"a": 1, "a": 2}': "different",
    '{"a": 1, "a": "1"}': "different",
    '{"a": 1, "a": 1, "a": true}': "different",
    '{"a": 1, "a": 1.0}': "different",
    '{"a": [1], "a": [1, 2]}': "different",
    '{"b": [{"c": {"a": 1, "a": 2}}]}': "different",
    '{"a": {}, "a": []}': "different",
    '{"": 1, "": 2}': "different",
    '{"a:": ",", "a:": "}"}': "different",
}


@pytest.mark.parametrize(("text", "kind"), CASES.items(), ids=CASES)
def test_keys_that_are_named_twice_are_told(text: str, kind: str) -> None:
    assert duplicate_keys(text) == kind


def test_equal_ones_are_written_once() -> None:
    assert from_json(without_duplicates('{"a": [1], "b": "\u00e9", "a": [1]}')) == {
        "a": [1],
        "b": "\u00e9",
    }
    digits = '{"a": ' + "1" * 5000 + ', "a": ' + "1" * 5000 + "}"
    assert without_duplicates(digits) == digits


def test_depth_is_no_danger() -> None:
    deep = '{"a": ' * 5000 + "1" + "}" * 5000
    assert duplicate_keys(deep) == "none"
    assert duplicate_keys(f'{{"b": {deep}, "b": {deep}}}') == "equal"


@pytest.mark.parametrize("text", ['\\"', '"\\', '"a\\"'])
def test_strings_without_an_end_cost_no_more_than_they_are_long(text: str) -> None:
    """A reader that began anew at each quotation mark would take minutes."""
    assert duplicate_keys(text * 100_000) == "none"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=1), inner),
    max_leaves=10,
)


@given(JSON)
def test_what_json_writes_has_none(value: object) -> None:
    assert duplicate_keys(json.dumps(value)) == "none"
