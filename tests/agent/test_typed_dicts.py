import typing
from typing import Annotated, Any

import pytest
import typing_extensions
from pydantic import Field, TypeAdapter, ValidationError

from rig.agent.typed_dicts import with_typed_dicts


class Point(typing.TypedDict):
    x: int
    y: typing.NotRequired[int]


class Line(typing.TypedDict, total=False):
    begin: typing.Required[Point]
    ends: list[Point]


class Backported(typing_extensions.TypedDict):
    x: int


POINT = {"x": 1}
GOOD: dict[str, tuple[Any, object]] = {
    "alone": (Point, POINT),
    "with what need not be there": (Point, {"x": 1, "y": 2}),
    "of others": (Line, {"begin": POINT, "ends": [POINT]}),
    "in a list": (list[Point], [POINT]),
    "in a dict": (dict[str, Point], {"a": POINT}),
    "in a union": (Point | None, POINT),
    "in another union": (typing.Optional[Point], None),  # noqa: UP045  as people write it
    "annotated": (Annotated[list[Point], Field(max_length=1)], [POINT]),
    "backported": (Backported, POINT),
    "none at all": (int, 3),
}


@pytest.mark.parametrize(("kind", "value"), GOOD.values(), ids=GOOD.keys())
def test_pydantic_reads_the_type(kind: Any, value: object) -> None:
    assert TypeAdapter(with_typed_dicts(kind)).validate_python(value) == value


BAD: dict[str, tuple[Any, object]] = {
    "a required key is missing": (Point, {"y": 1}),
    "inside": (Line, {"begin": {}}),
    "in a list": (list[Point], [{}]),
    "an annotation holds": (Annotated[list[Point], Field(max_length=1)], [POINT, POINT]),
}


@pytest.mark.parametrize(("kind", "value"), BAD.values(), ids=BAD.keys())
def test_its_rules_hold(kind: Any, value: object) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(with_typed_dicts(kind)).validate_python(value)
