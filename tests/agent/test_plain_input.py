"""What plain parameters are read by is what pydantic's models of them would be."""

import inspect
import json
from collections.abc import Callable
from typing import Annotated, Any, List, Literal, Optional  # noqa: UP035  as older programs have it

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import Field, ValidationError

from rig.agent import signature
from rig.agent.parameters import NO_DEFAULT, Parameter
from rig.agent.plain_input import plain_input
from rig.agent.results import problems_of

SCALARS = st.sampled_from([str, int, float, bool])
ITEMS = SCALARS | SCALARS.map(lambda kind: list[kind])  # type: ignore[valid-type]  # of the test
HINTS = ITEMS | ITEMS.map(lambda kind: kind | None) | ITEMS.map(lambda kind: Optional[kind])  # noqa: UP045
VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
NAMES = st.sampled_from(["a", "b", "c", "json", "title", "type", "_x", "model_config", "\xe9"])
PARAMETERS = st.lists(
    st.builds(
        Parameter,
        name=NAMES,
        hint=HINTS,
        default=st.just(NO_DEFAULT) | VALUES,
        description=st.none() | st.text(max_size=5),
    ),
    unique_by=lambda one: one.name,
    max_size=4,
)
JSON = st.recursive(
    VALUES | st.sampled_from(["1", "1.0", "true", "null", "x", 1e300]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
INPUTS = st.dictionaries(NAMES, JSON, max_size=5).map(json.dumps) | JSON.map(json.dumps)
Read = Callable[[str | bytes], dict[str, object]]


def outcome(read: Read, text: str | bytes) -> object:
    try:
        return repr(read(text))  # NaN is nothing's equal
    except ValidationError as error:
        return problems_of(error), error.title, repr(error.errors()[0]["input"]) in str(error)


@example([], "{}")
@example([Parameter(name="a", hint=int, default=NO_DEFAULT, description=None)], '{"a":1,"a":"2"}')
@example([Parameter(name="a", hint=int, default=NO_DEFAULT, description=None)], '{"a":')
@example([Parameter(name="a", hint=float, default=float("inf"), description=None)], "[]")
@example([Parameter(name="a", hint=int | None, default=None, description="b")], "{}")
@given(PARAMETERS, INPUTS)
def test_plain_parameters_are_told_and_read_as_a_model_of_them_is(
    parameters: list[Parameter], text: str
) -> None:
    plain = plain_input(parameters)
    assert plain is not None
    schema, read = plain
    of_model, read_by_model = signature._modelled(parameters, "it")
    assert json.dumps(schema) == json.dumps(of_model)
    assert outcome(read, text) == outcome(read_by_model, text)


class Number(int):
    pass


@pytest.mark.parametrize(
    ("hint", "default"),
    [
        (dict[str, int], NO_DEFAULT),
        (Number, NO_DEFAULT),
        (bytes, NO_DEFAULT),
        (Any, NO_DEFAULT),
        (None, NO_DEFAULT),
        (list, NO_DEFAULT),
        (List, NO_DEFAULT),  # noqa: UP006  as older programs have it
        (Optional[List], NO_DEFAULT),  # noqa: UP006, UP045
        (list[()], NO_DEFAULT),  # type: ignore[misc]  # of the test
        (list[int, str], NO_DEFAULT),  # type: ignore[misc]  # of the test
        (list[list[int]], NO_DEFAULT),
        (list[int | None], NO_DEFAULT),
        (int | str, NO_DEFAULT),
        (int | str | None, NO_DEFAULT),
        (Literal["a"], NO_DEFAULT),
        (Annotated[int, Field(ge=1)], NO_DEFAULT),
        (list[Annotated[int, {}]], NO_DEFAULT),
        (int, Field(ge=1)),
        (int, Number(1)),
        (list[int], []),
        (int, inspect.Parameter.empty()),
    ],
)
def test_all_others_are_left_to_pydantic(hint: object, default: object) -> None:
    plain = Parameter(name="a", hint=int, default=NO_DEFAULT, description=None)
    other = Parameter(name="b", hint=hint, default=default, description=None)
    assert plain_input([plain, other]) is None
