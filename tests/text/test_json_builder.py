import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.text.json_builder import _Builder, build_json

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=10,
)  # fmt: skip


@given(json_values, st.sampled_from([None, 0, 2]), st.booleans())
def test_the_iterative_builder_agrees_with_the_c_decoder(
    value: object, indent: int | None, ascii_only: bool
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert _Builder().build(text) == value
    assert build_json(text) == value


def test_the_last_of_equal_keys_wins() -> None:
    assert _Builder().build('{"a":1,"b":2,"a":[3]}') == {"a": [3], "b": 2}


@pytest.mark.parametrize("levels", [50, 5_000, 10_000])
def test_depth_does_not_matter(levels: int) -> None:
    value = build_json('{"a":' * levels + "1" + "}" * levels)
    for _ in range(levels):
        assert isinstance(value, dict)
        value = value["a"]
    assert value == 1


def test_more_digits_than_the_process_converts_are_a_value_error() -> None:
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    try:
        with pytest.raises(ValueError, match="digits"):
            build_json("9" * 641)
    finally:
        sys.set_int_max_str_digits(limit)
