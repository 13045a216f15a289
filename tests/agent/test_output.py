import datetime as dt
import enum
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from annotated_types import Gt
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import from_json
from typing_extensions import TypedDict

from rig.agent.output import Accepted, Output, Rejected, output_for
from rig.errors import InvalidJSONError, InvalidRequestError, NotJSONError

DATA = Path(__file__).parent.parent / "data" / "text"


class City(BaseModel):
    name: str
    people: int


class Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")
    day: dt.date
    pair: tuple[int, int]


class Typed(TypedDict):
    name: str


@dataclass
class Plain:
    name: str


class Color(enum.Enum):
    RED = "red"


PARIS = City(name="Paris", people=2_000_000)
OBJECT = '{"name": "Paris", "people": 2000000}'

ACCEPTED = {
    "object": (City, OBJECT, PARIS),
    "object in prose and fence": (City, f"Here:\n```json\n{OBJECT}\n```\nDone.", PARIS),
    "the schema's echo is longer": (
        City,
        f'The schema {{"properties": {{"name": {{"type": "string", "title": "Name"}}}}}} gives {OBJECT}',
        PARIS,
    ),
    "strict model reads json": (
        Strict,
        '{"day": "2026-01-02", "pair": [1, 2]}',
        Strict(day=dt.date(2026, 1, 2), pair=(1, 2)),
    ),
    "typed dict": (Typed, '{"name": "a"}', {"name": "a"}),
    "dataclass": (Plain, '{"name": "a"}', Plain(name="a")),
    "dict": (dict[str, int], '{"a": 1}', {"a": 1}),
    "union of objects": (City | Plain, '{"name": "a"}', Plain(name="a")),
    "list in an object": (list[int], '{"value": [1, 2]}', [1, 2]),
    "bare list": (list[int], "[1, 2]", [1, 2]),
    "bare list in a fence": (list[int], "```json\n[1, 2]\n```", [1, 2]),
    "bare list of objects": (list[City], f"[{OBJECT}]", [PARIS]),
    "number in an object": (int, '{"value": 42}', 42),
    "bare number": (int, " 42\n", 42),
    "number with a bound": (Annotated[int, Gt(0)], '{"value": 1}', 1),
    "boolean": (bool, "false", False),
    "literal in an object": (Literal["yes", "no"], '{"value": "yes"}', "yes"),
    "bare literal": (Literal["yes", "no"], "yes", "yes"),
    "bare json literal": (Literal["yes", "no"], '"yes"', "yes"),
    "enum": (Color, "red", Color.RED),
    "date": (dt.date, "2026-01-02", dt.date(2026, 1, 2)),
    "text is text": (str, '{"value": "a"}', '{"value": "a"}'),
    "bounded text": (Annotated[str, Field(max_length=3)], '{"value": "abc"}', "abc"),
    "none in an object": (int | None, '{"value": null}', None),
}


@pytest.mark.parametrize(("kind", "text", "value"), ACCEPTED.values(), ids=ACCEPTED.keys())
def test_an_answer_is_read_as_its_type(kind: Any, text: str, value: object) -> None:
    read = output_for(kind).read(text)
    assert read == Accepted(value=value)
    assert isinstance(read, Accepted)
    assert type(read.value) is type(value)


REPAIRED = {
    "trailing comma": (City, '{"name": "Paris", "people": 2000000,}', PARIS, ("trailing_comma",)),
    "python's": (City, "{'name': 'Paris', 'people': 2000000}", PARIS, ("single_quotes",)),
    "in prose and fence": (
        City,
        "Here:\n```json\n{name: 'Paris', people: 2000000}\n```\nDone.",
        PARIS,
        ("bare_key", "single_quotes"),
    ),
    "behind a thought": (
        dict[str, int],
        '<think>{"a": 1}</think>{"b": 2,}',
        {"b": 2},
        ("trailing_comma",),
    ),
    "the whole, not the part that is whole": (
        dict[str, Any],
        '{"facts": [{"likes": "tea"},], "user": {"name": "Ann"},}',
        {"facts": [{"likes": "tea"}], "user": {"name": "Ann"}},
        ("trailing_comma",),
    ),
    "strict ones before repaired ones": (
        City,
        f"Not {{'name': 'Paris', 'people': 1, 'more': 'than asked'}} but {OBJECT}",
        PARIS,
        (),
    ),
    "repaired, where the strict one does not fit": (
        City,
        '{"properties": {"name": {"type": "string"}}} {"name": "Paris", "people": 2000000,}',
        PARIS,
        ("trailing_comma",),
    ),
    "list in an object": (list[int], '{"value": [1, 2,]}', [1, 2], ("trailing_comma",)),
    "bare list": (list[int], "[1, 2,]", [1, 2], ("trailing_comma",)),
    "bare list of objects": (
        list[City],
        "```\n[{name: 'Paris', 'people': 2000000}]\n```",
        [PARIS],
        ("bare_key", "single_quotes"),
    ),
}


@pytest.mark.parametrize(
    ("kind", "text", "value", "repairs"), REPAIRED.values(), ids=REPAIRED.keys()
)
def test_an_answer_that_is_nearly_json_is_repaired_and_that_is_told(
    kind: Any, text: str, value: object, repairs: tuple[str, ...]
) -> None:
    assert output_for(kind).read(text) == Accepted(value=value, repairs=repairs)


def reported() -> list[Any]:
    lines = (DATA / "json-output.jsonl").read_text(encoding="utf-8").splitlines()
    return [pytest.param(row, id=row["id"]) for row in map(from_json, lines)]


@pytest.mark.parametrize("row", reported())
def test_a_reported_answer_is_read_as_an_object(row: dict[str, Any]) -> None:
    read = output_for(dict[str, Any]).read(row["input"])
    expected = row.get("repaired", row.get("json"))
    if expected is None:
        assert isinstance(read, Rejected)
        assert read.error().code == row["error"]
    else:
        assert isinstance(read, Accepted)
        assert read.value == expected
        assert bool(read.repairs) is ("repaired" in row)


@given(
    st.text()
    | st.lists(st.sampled_from(["{", "}", '"', "a", ":", ",", "[", "]", "1", "\ud800", "'"])).map(
        "".join
    )
)
def test_any_answer_is_read_or_rejected(text: str) -> None:
    for kind in (dict, list[int], City):
        assert isinstance(output_for(kind).read(text), Accepted | Rejected)


REJECTED = {
    "no json": (City, "I don't know.", False),
    "a field is missing": (City, '{"name": "Paris"}', True),
    "a field is no number": (City, '{"name": "Paris", "people": "many"}', True),
    "broken json": (City, '{"name": "Paris", "people": 2', True),
    "no list": (list[int], "one and two", False),
    "a list of other things": (list[int], '["one"]', True),
    "no number": (int, "forty-two", False),
    "out of bounds": (Annotated[int, Gt(0)], '{"value": 0}', True),
    "no such literal": (Literal["yes", "no"], "maybe", False),
    "too long": (Annotated[str, Field(max_length=3)], '{"value": "abcd"}', True),
    "nearly json, but it does not fit": (City, '{"name": "Paris",}', True),
    "nearly json, but cut": (City, "{name: 'Paris', people: 2000000", True),
    "nearly json, a list of other things": (list[int], "['one',]", True),
    "of several readings": (City, '{"name": "the "old" one", "people": 1}', True),
    "an enormous number": (int, "9" * 5_000, False),
    "text that is json of another type": (
        Annotated[str, Field(min_length=1)],
        '{"value": 5}',
        True,
    ),
    "a deep object": (dict[str, Any], '{"a":' * 5_000 + "1" + "}" * 5_000, True),
    "a deep object for a model": (City, '{"a":' * 5_000 + "1" + "}" * 5_000, True),
    "deep nesting": (list[int], "[" * 100_000, False),
}


@pytest.mark.parametrize(("kind", "text", "is_json"), REJECTED.values(), ids=REJECTED.keys())
def test_an_answer_that_does_not_match_is_rejected(kind: Any, text: str, is_json: bool) -> None:
    read = output_for(kind).read(text)
    assert isinstance(read, Rejected)
    assert read.problem
    assert read.is_json is is_json
    assert len(read.problem) < 4_000


def test_a_rejection_names_the_place_and_never_quotes_the_answer() -> None:
    read = output_for(City).read('{"name": "Paris", "people": "hunter2"}')
    assert isinstance(read, Rejected)
    assert "people" in read.problem
    assert "hunter2" not in read.problem


def test_rejections_become_errors_with_the_problem_as_detail() -> None:
    no_json = Rejected(problem="p", is_json=False).error()
    bad_json = Rejected(problem="p").error()
    assert type(no_json) is NotJSONError
    assert type(bad_json) is InvalidJSONError
    assert bad_json.detail == "p"


@pytest.mark.parametrize("kind", [City, list[City], int])
def test_instructions_hold_a_schema_without_references(kind: Any) -> None:
    instructions = output_for(kind).instructions
    assert "JSON" in instructions
    assert "$ref" not in instructions
    assert "$defs" not in instructions


def test_text_needs_no_instructions() -> None:
    assert output_for(str).instructions == ""


def test_the_same_type_is_built_once() -> None:
    assert output_for(City) is output_for(City)


def test_a_type_that_can_not_be_hashed_is_built_all_the_same() -> None:
    kind: Any = Annotated[int, Field(json_schema_extra={"examples": [1]}), {"not": "hashable"}]
    assert isinstance(output_for(kind), Output)
    assert output_for(kind).read("3") == Accepted(value=3)


class Opaque:
    pass


@pytest.mark.parametrize("kind", [Opaque, "NoSuchType", 3, lambda: None, Output])
def test_a_type_pydantic_can_not_ask_for_is_refused(kind: Any) -> None:
    with pytest.raises(InvalidRequestError):
        output_for(kind)
