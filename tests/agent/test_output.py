import datetime as dt
import enum
import typing
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from annotated_types import Gt
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, model_validator
from pydantic_core import from_json
from typing_extensions import TypedDict

from rig.agent.candidates import MAX_CANDIDATES
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


class OldTyped(typing.TypedDict):
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
    "typing's typed dict": (OldTyped, '{"name": "a"}', {"name": "a"}),
    "a list of them": (list[OldTyped], '[{"name": "a"}]', [{"name": "a"}]),
    "in a wrapper": (City, f'{{"city": {OBJECT}}}', PARIS),
    "in a wrapper with company": (
        City,
        f'{{"ok": true, "city": {OBJECT}, "more": {{"a": 1}}}}',
        PARIS,
    ),
    "in a wrapper of a wrapper": (City, f'{{"response": {{"city": {OBJECT}}}}}', PARIS),
    "alone in a list in a wrapper": (City, f'{{"cities": [{OBJECT}]}}', PARIS),
    "in a wrapper in prose": (City, f'Here: {{"city": {OBJECT}}} as asked', PARIS),
    "a dict in a wrapper": (dict[str, int], '{"counts": {"a": 1}}', {"a": 1}),
    "a union in a wrapper": (City | Plain, '{"thing": {"name": "a"}}', Plain(name="a")),
    "an optional one in a wrapper": (City | None, f'{{"city": {OBJECT}}}', PARIS),
    "a list under another name": (
        list[City],
        f'{{"cities": [{OBJECT}, {OBJECT}]}}',
        [PARIS, PARIS],
    ),
    "the asked-for object in a wrapper": (list[int], '{"result": {"value": [1, 2]}}', [1, 2]),
    "list in prose": (list[int], "Here: [1, 2]", [1, 2]),
    "list in prose and fence": (list[int], "Here:\n```json\n[1, 2]\n```\nDone.", [1, 2]),
    "list of objects in prose": (list[City], f"Here: [{OBJECT}, {OBJECT}].", [PARIS, PARIS]),
    "a list of more than are checked": (
        list[City],
        f"Here: [{', '.join([OBJECT] * 99)}].",
        [PARIS] * 99,
    ),
    "the longest list": (list[int], "As said in [1], it is [3, 4, 5].", [3, 4, 5]),
    "the list that fits": (list[int], 'Not ["a", "b", "c"] but [1].', [1]),
    "a tuple in prose": (tuple[int, str], 'It is [1, "x"].', (1, "x")),
    "a list behind a thought": (list[int], "<think>[9, 9, 9]</think>So: [1]", [1]),
    "a list before its objects": (
        list[dict[str, list[dict[str, list[int]]]]],
        '[{"value": [{"a": [1]}]}]',
        [{"value": [{"a": [1]}]}],
    ),
    "the asked-for object before the bare one": (dict[str, int] | int, '{"value": 1}', 1),
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
    "list in prose": (list[int], "Here: [1, 2,]", [1, 2], ("trailing_comma",)),
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


class Loose(BaseModel):
    data: dict[str, Any]


class Tagged(BaseModel):
    name: str
    tags: list[str]


class Anything(BaseModel):
    data: dict[str, Any] = {}
    name: str = ""


class Failing(BaseModel):
    x: int

    @model_validator(mode="before")
    @classmethod
    def _check(cls, value: dict[str, int]) -> object:
        return {"x": value["hunter2"]}


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
    "no number: NaN": (float, "NaN", False),
    "no number: an infinity": (float, "-Infinity", False),
    "no number: a word for it": (float, '"inf"', True),
    "no number: too large": (float, '{"value": 1e999}', True),
    "no number: in a list": (list[float], "[1, NaN]", False),
    "no number: in a list, as text": (list[float], '["nan"]', True),
    "no value: of several in a wrapper": (Plain, '{"all": [{"name": "a"}, {"name": "b"}]}', True),
    "no wrapper: it has keys of the type": (
        City,
        f'{{"name": "Lyon", "twin": {OBJECT}}}',
        True,
    ),
    "no wrapper: the schema": (
        Loose,
        '{"type": "object", "properties": {"data": {"type": "object"}}}',
        True,
    ),
    "no list: a part of a broken object": (list[int], '{"a": [1, 2], "b": }', True),
    "no list: cut": (list[int], "Here: [1, 2", False),
    "inside of a cut object": (City, f'{{"city": {OBJECT}, "x": [', True),
    "inside of a cut object, for a model that takes anything": (
        Anything,
        '{"data": {"a": {"b": 1}}, ',
        True,
    ),
    "inside of a broken object": (City, f'{{"city": {OBJECT}, "x": oops}}', True),
    "a text that is no JSON of the type": (Tagged, '{"name": "a", "tags": "a, b"}', True),
    "a check that fails in code of its own": (Failing, '{"x": 1}', True),
    "a check that fails in the list": (list[Failing], '[{"x": 1}]', True),
}


MENDED = {
    "a list in a text": ('{"name": "a", "tags": "[\\"b\\"]"}', ("tags: decoded JSON text",)),
    "a list in a text of nearly JSON": (
        "{'name': 'a', 'tags': '[\"b\"]'}",
        ("single_quotes", "tags: decoded JSON text"),
    ),
}


@pytest.mark.parametrize(("text", "repairs"), MENDED.values(), ids=MENDED)
def test_text_is_read_as_its_schema_asks_and_that_is_told(
    text: str, repairs: tuple[str, ...]
) -> None:
    assert output_for(Tagged).read(text) == Accepted(
        value=Tagged(name="a", tags=["b"]), repairs=repairs
    )


def test_a_wrapper_that_was_repaired_is_told_with_the_value() -> None:
    read = output_for(City).read(f"{{'city': {OBJECT},}}")
    assert isinstance(read, Accepted)
    assert read.repairs == ("single_quotes", "trailing_comma")


@pytest.mark.parametrize(
    "before", ["{name: string, people: int}\n", '{"name": <name>}: ', "{a: {b: c}} and "]
)
def test_what_stands_behind_an_object_that_can_not_be_read_is_the_answer(before: str) -> None:
    read = output_for(City).read(before + OBJECT)
    assert isinstance(read, Accepted)
    assert read.value == City(name="Paris", people=2_000_000)


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


@pytest.mark.parametrize("kind", [Failing, list[Failing], Failing | None])
def test_what_a_validator_raises_is_told_by_its_kind_only(kind: Any) -> None:
    text = '[{"x": 1}]' if kind == list[Failing] else '{"x": 1}'
    read = output_for(kind).read(text)
    assert isinstance(read, Rejected)
    assert "hunter2" not in read.problem


def test_the_problem_is_that_of_the_form_the_type_has() -> None:
    read = output_for(list[City]).read('Here: [{"name": "Paris"}]')
    assert isinstance(read, Rejected)
    assert read.problem.startswith("[0].people: ")


MANY = 1 << 13
COUNTED = {
    "objects side by side": '{"a": 1}' * MANY,
    "objects in prose": 'so {"a": 1} or ' * MANY,
    "near-JSON side by side": "{'a': 1,} " * MANY,
    "objects in a list": '[{"a": 1}' + ', {"a": 1}' * MANY + "]",
    "objects in a list of an object": '{"l": [{"a": 1}' + ', {"a": 1}' * MANY + "]}",
    "wrappers in wrappers": '{"a": ' * 150 + '"' + "x" * MANY + '"' + "}" * 150,
    "wrappers side by side": ('{"a": ' * 50 + "1" + "}" * 50) * (MANY // 50),
    "lists side by side": '["x"] ' * MANY,
    "lists in prose": 'so [{"a": 1}] or ' * MANY,
}


@pytest.mark.parametrize("text", COUNTED.values(), ids=COUNTED.keys())
@pytest.mark.parametrize("form", ["object", "optional", "list"])
def test_a_hostile_answer_is_checked_a_bounded_number_of_times(text: str, form: str) -> None:
    checks = 0

    def count(value: Any) -> Any:
        nonlocal checks
        checks += 1
        return value

    class Counted(BaseModel):
        name: str

        _count = model_validator(mode="before")(staticmethod(count))

    kinds: dict[str, Any] = {
        "object": Counted,
        "optional": Counted | None,
        "list": Annotated[list[int], BeforeValidator(count)],
    }
    read = output_for(kinds[form]).read(text)
    assert isinstance(read, Rejected)
    assert checks <= MAX_CANDIDATES
    assert checks > 0 or form != "object" or "{" not in text


def test_rejections_become_errors_with_the_problem_as_detail() -> None:
    no_json = Rejected(problem="p", is_json=False).error()
    bad_json = Rejected(problem="p").error()
    assert type(no_json) is NotJSONError
    assert type(bad_json) is InvalidJSONError
    assert bad_json.detail == "p"


@pytest.mark.parametrize("is_json", [True, False])
def test_an_error_says_that_it_was_asked_again_only_when_it_was(is_json: bool) -> None:
    rejected = Rejected(problem="p", is_json=is_json)
    assert "again" not in rejected.error().message
    assert "again" in rejected.error(asked_again=True).message


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


class Unmade(BaseModel):
    x: int

    @classmethod
    def __get_pydantic_json_schema__(cls, *_: object) -> Any:
        raise KeyError("hunter2")


NO_TYPES = {
    "a class pydantic does not know": Opaque,
    "a name": "City",
    "a number": 3,
    "a function": lambda: None,
    "a dataclass with types of its own": Output,
    "a JSON schema": {"type": "object"},
    "another JSON schema": {"properties": {"password": {"const": "hunter2"}}},
    "a list of types": [City],
    "a tuple of types": (int, str),
    "a value": PARIS,
    "a name that is not there": list["NoSuchType"],  # type: ignore[name-defined]  # noqa: F821 the point
    "a callable": Callable[[], int],
    "a class whose schema fails": Unmade,
    "an adapter": TypeAdapter(int),
}


@pytest.mark.parametrize("kind", NO_TYPES.values(), ids=NO_TYPES.keys())
def test_what_can_not_be_asked_for_is_refused_with_a_sentence(kind: Any) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        output_for(kind)
    assert "output=" in caught.value.message
    assert "hunter2" not in caught.value.message
    assert len(caught.value.message) < 400
    assert caught.value.__context__ is None
