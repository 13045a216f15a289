from dataclasses import dataclass, field
from typing import Any

import pytest

from rig.text.heredoc_instructions import heredoc_prompt
from rig.text.json_calls import json_calls_prompt
from rig.text.tool_list import tool_list


@dataclass(frozen=True)
class Tool:
    name: str
    description: str = ""
    input_schema: dict[str, Any] = field(default_factory=dict)


def with_parameter(schema: object, *, required: bool = True) -> Tool:
    needed = ["p"] if required else []
    return Tool("t", "", {"type": "object", "properties": {"p": schema}, "required": needed})


@pytest.mark.parametrize(
    ("schema", "shown"),
    [
        ({"type": "string"}, "p: string"),
        ({}, "p"),
        (True, "p"),
        ({"enum": ["a", 1, None]}, 'p: "a" | 1 | null'),
        ({"enum": list(range(30))}, f"p: {' | '.join(map(str, range(20)))} | ..."),
        ({"const": "x"}, 'p: "x"'),
        ({"type": ["string", "null"]}, "p: string | null"),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}, {}]}, "p: string | integer"),
        ({"type": "array", "items": {"type": "number"}}, "p: array of number"),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, 'p: array of ("a" | "b")'),
        ({"type": "array"}, "p: array"),
        ({"type": "object"}, "p: object"),
        (
            {
                "type": "object",
                "properties": {"a": {"type": "string"}, "b": {}},
                "required": ["a"],
            },
            "p: {a: string, b?}",
        ),
    ],
    ids=str,
)
def test_parameters_are_told_with_their_types(schema: object, shown: str) -> None:
    assert tool_list([with_parameter(schema)]) == f"- t({shown})"


def test_optional_parameters_are_marked_and_all_keep_the_order_of_the_schema() -> None:
    schema = {
        "properties": {
            "z": {"type": "string", "description": "Where\n to write."},
            "a": {"type": "integer"},
        },
        "required": ["z"],
    }
    shown = tool_list([Tool("w", "Write\na file.", schema), Tool(""), Tool("none")])
    assert shown == "- w(z: string, a?: integer): Write a file.\n  z: Where to write.\n- none()"


def test_a_schema_without_end_is_cut() -> None:
    schema: dict[str, Any] = {"type": "integer"}
    for _ in range(100):
        schema = {"type": "object", "properties": {"a": schema}}
    assert len(tool_list([with_parameter(schema)])) < 100


def test_the_prompt_tells_things_in_the_order_small_models_need() -> None:
    prompt = heredoc_prompt([Tool("ping", "Answer.")])
    marks = ["@@call read_file", "up to 4", '"b.txt"', "wait", "ordinary JSON", "~~~java", "always"]
    marks += ["double quotes", "Tools:", "- ping(): Answer."]
    places = [prompt.index(mark) for mark in marks]
    assert places == sorted(places)


def test_a_prompt_for_one_call_says_nothing_of_several() -> None:
    prompt = heredoc_prompt([Tool("ping")], max_calls=1)
    assert "b.txt" not in prompt
    assert "up to" not in prompt


def test_a_prompt_without_bodies_says_nothing_of_them() -> None:
    prompt = heredoc_prompt([Tool("ping")], bodies=False)
    assert "~~~" not in prompt
    assert prompt.index("ordinary JSON") < prompt.index("Tools:")


def test_the_json_prompt_shows_the_form_and_lists_the_tools() -> None:
    prompt = json_calls_prompt([Tool("ping", "Answer.")])
    assert prompt.index('{"name": "<tool>", "arguments": ') < prompt.index("- ping(): Answer.")
