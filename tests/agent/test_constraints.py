from typing import Literal

import pytest
from pydantic import BaseModel

from rig.agent.capabilities import Capabilities
from rig.agent.constraints import Held, held_output, is_constrained
from rig.agent.output import output_for
from rig.model import ChatOptions
from rig.text.grammar import json_grammar


class City(BaseModel):
    name: str
    people: int = 0


CITY = output_for(City)


@pytest.mark.parametrize(
    ("known", "by"),
    [
        ({}, None),
        ({"json_schema": False, "grammar": False}, None),
        ({"json_schema": True}, "schema"),
        ({"json_schema": True, "grammar": True}, "schema"),
        ({"json_schema": False, "grammar": True}, "grammar"),
        ({"grammar": True}, "grammar"),
    ],
)
def test_a_schema_goes_before_a_grammar_and_words_do_where_neither_is_enforced(
    known: dict[str, bool], by: str | None
) -> None:
    form = held_output(CITY, Capabilities(**known), ChatOptions())
    assert (form.by if form else None) == by


def test_the_schema_is_that_of_the_object_the_model_is_asked_for() -> None:
    form = held_output(output_for(list[int]), Capabilities(json_schema=True), ChatOptions())
    assert form is not None
    options = form.within(ChatOptions(seed=1))
    assert options.seed == 1
    assert options.grammar is None
    wanted = (options.response_format or {})["json_schema"]
    assert wanted["name"] == "answer"
    assert wanted["schema"]["properties"]["value"] == {
        "items": {"type": "integer"},
        "title": "Value",
        "type": "array",
    }
    assert wanted["schema"]["required"] == ["value"]


def test_the_grammar_is_that_of_the_schema() -> None:
    form = held_output(CITY, Capabilities(grammar=True), ChatOptions())
    assert form is not None
    options = form.within(ChatOptions())
    assert options.grammar == json_grammar(City.model_json_schema())
    assert options.response_format is None


@pytest.mark.parametrize(
    "options",
    [
        ChatOptions(response_format={"type": "json_object"}),
        ChatOptions(grammar='root ::= "x"'),
        ChatOptions(extra_body={"guided_json": {}}),
        ChatOptions(extra_body={"structured_outputs": {"regex": "a"}}),
    ],
)
def test_a_form_of_the_callers_stays_the_only_one(options: ChatOptions) -> None:
    assert is_constrained(options)
    assert held_output(CITY, Capabilities(json_schema=True, grammar=True), options) is None


def test_text_is_held_to_nothing() -> None:
    known = Capabilities(json_schema=True, grammar=True)
    assert held_output(None, known, ChatOptions()) is None
    assert held_output(output_for(str), known, ChatOptions()) is None
    assert not is_constrained(ChatOptions(extra_body={"top_k": 1}))


def test_a_schema_that_is_too_large_for_a_grammar_is_asked_for_in_words() -> None:
    words = tuple(f"{'long ' * 20}{n}" for n in range(2000))
    large = output_for(list[Literal[words]])  # type: ignore[valid-type]  # a computed type
    assert held_output(large, Capabilities(json_schema=True, grammar=True), ChatOptions())
    assert held_output(large, Capabilities(grammar=True), ChatOptions()) is None


def test_forms_are_values() -> None:
    assert Held(by="grammar", value="x") == Held(by="grammar", value="x")
