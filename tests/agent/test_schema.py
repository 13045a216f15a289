from typing import Any

import pytest

from rig.agent.schema import (
    MAX_REPETITIONS,
    inline,
    object_schema,
    portable,
    simplify,
)
from rig.errors import InvalidRequestError

OWNER = 'tool "t"'


def keys_of(schema: Any) -> Any:
    """Every key anywhere in a schema."""
    if isinstance(schema, dict):
        return set(schema) | set().union(*map(keys_of, schema.values()))
    return set().union(*map(keys_of, schema)) if isinstance(schema, list) else set()


POINT = {"type": "object", "properties": {"x": {"type": "integer"}}}
REFERENCES = {
    "definition": (
        {"properties": {"p": {"$ref": "#/$defs/P"}}, "$defs": {"P": POINT}},
        {"properties": {"p": POINT}},
    ),
    "draft 7 definitions": (
        {"properties": {"p": {"$ref": "#/definitions/P"}}, "definitions": {"P": POINT}},
        {"properties": {"p": POINT}},
    ),
    "siblings win": (
        {"items": {"$ref": "#/$defs/P", "description": "mine"}, "$defs": {"P": POINT}},
        {"items": {**POINT, "description": "mine"}},
    ),
    "a definition that refers to another": (
        {"items": {"$ref": "#/$defs/A"}, "$defs": {"A": {"$ref": "#/$defs/P"}, "P": POINT}},
        {"items": POINT},
    ),
    "in lists": (
        {"anyOf": [{"$ref": "#/$defs/P"}, {"type": "null"}], "$defs": {"P": POINT}},
        {"anyOf": [POINT, {"type": "null"}]},
    ),
    "escaped names": (
        {"items": {"$ref": "#/$defs/a~1b%20c"}, "$defs": {"a/b c": POINT}},
        {"items": POINT},
    ),
    "discriminator goes, for it holds references": (
        {
            "oneOf": [{"$ref": "#/$defs/P"}],
            "discriminator": {"mapping": {"p": "#/$defs/P"}},
            "$defs": {"P": POINT},
        },
        {"oneOf": [POINT]},
    ),
    "a property named like a keyword": (
        {"properties": {"$ref": {"type": "string"}, "$defs": {"type": "string"}}},
        {"properties": {"$ref": {"type": "string"}, "$defs": {"type": "string"}}},
    ),
    "values are no schemas": (
        {"enum": [{"$ref": "#/nowhere"}], "default": {"$ref": "x"}},
        {"enum": [{"$ref": "#/nowhere"}], "default": {"$ref": "x"}},
    ),
    "boolean schemas": (
        {"items": True, "additionalProperties": False},
        {"items": True, "additionalProperties": False},
    ),
}


@pytest.mark.parametrize(("schema", "expected"), REFERENCES.values(), ids=REFERENCES.keys())
def test_references_are_written_out(schema: Any, expected: Any) -> None:
    assert inline(schema, owner=OWNER) == expected


def test_a_definition_that_holds_itself_is_cut_to_its_type() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/N"}}}
    written = inline(
        {"properties": {"n": {"$ref": "#/$defs/N"}}, "$defs": {"N": node}}, owner=OWNER
    )
    inner = {"type": "object", "properties": {"next": {"type": "object"}}}
    assert written == {"properties": {"n": {"type": "object", "properties": {"next": inner}}}}


def test_a_reference_to_itself_and_to_the_root_ends() -> None:
    assert inline(
        {"items": {"$ref": "#/$defs/A"}, "$defs": {"A": {"$ref": "#/$defs/A"}}}, owner=OWNER
    ) == {"items": {}}
    assert "$ref" not in keys_of(inline({"type": "array", "items": {"$ref": "#"}}, owner=OWNER))


@pytest.mark.parametrize(
    "reference", ["#/$defs/Missing", "https://example.com/s.json", "#/type", "Name", "#/a/b/c"]
)
def test_a_reference_that_leads_nowhere_is_refused(reference: Any) -> None:
    with pytest.raises(InvalidRequestError):
        inline({"type": "object", "items": {"$ref": reference}}, owner=OWNER)


def test_references_that_double_are_refused_before_they_fill_the_memory() -> None:
    doubling = {f"L{i}": {"anyOf": [{"$ref": f"#/$defs/L{i + 1}"}] * 2} for i in range(40)}
    with pytest.raises(InvalidRequestError):
        inline({"$ref": "#/$defs/L0", "$defs": {**doubling, "L40": {}}}, owner=OWNER)


def test_a_chain_without_end_is_refused_without_recursion_error() -> None:
    chain = {f"L{i}": {"items": {"$ref": f"#/$defs/L{i + 1}"}} for i in range(2_000)}
    with pytest.raises(InvalidRequestError):
        inline({"$ref": "#/$defs/L0", "$defs": {**chain, "L2000": {}}}, owner=OWNER)


SIMPLER = {
    "titles go": (
        {"title": "T", "properties": {"a": {"title": "A", "type": "string"}}},
        {"properties": {"a": {"type": "string"}}},
    ),
    "a property named title stays": (
        {"properties": {"title": {"title": "Title", "type": "string"}}},
        {"properties": {"title": {"type": "string"}}},
    ),
    "optional collapses": (
        {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None, "description": "d"},
        {"type": "integer", "description": "d"},
    ),
    "null without a null default stays": (
        {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": 5},
        {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": 5},
    ),
    "required null stays": (
        {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    ),
    "several alternatives stay": (
        {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}], "default": None},
        {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]},
    ),
    "zero is a default": ({"type": "integer", "default": 0}, {"type": "integer", "default": 0}),
}


@pytest.mark.parametrize(("schema", "expected"), SIMPLER.values(), ids=SIMPLER.keys())
def test_what_a_model_does_not_need_is_dropped(schema: Any, expected: Any) -> None:
    assert simplify(schema) == expected


PORTABLE = {
    "pattern is told": (
        {"type": "string", "pattern": r"\S"},
        {"type": "string", "description": r"(pattern: \S)"},
    ),
    "a pattern nobody reads goes": (
        {"type": "string", "pattern": r"^(?!x)\d*$"},
        {"type": "string"},
    ),
    "nested pattern, after its description": (
        {"items": {"type": "string", "description": "an id", "pattern": "^a$"}},
        {"items": {"type": "string", "description": "an id (pattern: ^a$)"}},
    ),
    "large bound is told": ({"maxLength": 2000}, {"description": "(maxLength: 2000)"}),
    "small bound stays": ({"maxLength": MAX_REPETITIONS}, {"maxLength": MAX_REPETITIONS}),
    "inexact number is told": (
        {"maximum": 10**20},
        {"description": "(maximum: 100000000000000000000)"},
    ),
    "exact number stays": ({"maximum": 10**9}, {"maximum": 10**9}),
    "a property named pattern stays": (
        {"properties": {"pattern": {"type": "string"}}},
        {"properties": {"pattern": {"type": "string"}}},
    ),
    "pattern properties go": (
        {"type": "object", "patternProperties": {"^x": {}}},
        {"type": "object"},
    ),
    "titles stay": ({"title": "T"}, {"title": "T"}),
}


@pytest.mark.parametrize(("schema", "expected"), PORTABLE.values(), ids=PORTABLE.keys())
def test_what_grammar_converters_refuse_is_told_in_words(schema: Any, expected: Any) -> None:
    assert portable(schema) == expected
    assert portable(portable(schema)) == expected


def test_no_function_changes_its_argument() -> None:
    schema = {"title": "T", "pattern": "x", "items": {"title": "I", "pattern": "y"}}
    copy = {"title": "T", "pattern": "x", "items": {"title": "I", "pattern": "y"}}
    (
        inline(schema, owner=OWNER),
        simplify(schema),
        portable(schema),
        object_schema({**schema, "type": "object"}, owner=OWNER),
    )
    assert schema == copy


EMPTY = {"type": "object", "properties": {}}
OBJECTS = {
    "none": (None, EMPTY),
    "without properties": ({"type": "object"}, EMPTY),
    "as given": (
        {"type": "object", "properties": {"a": {}}, "required": ["a"]},
        {"type": "object", "properties": {"a": {}}, "required": ["a"]},
    ),
    "tuples are lists": ({"type": "object", "required": ("a",)}, {**EMPTY, "required": ["a"]}),
}


@pytest.mark.parametrize(("schema", "expected"), OBJECTS.values(), ids=OBJECTS.keys())
def test_a_hand_written_schema_is_an_object_with_properties(schema: Any, expected: Any) -> None:
    assert object_schema(schema, owner=OWNER) == expected


cycle: dict[str, object] = {"type": "object"}
cycle["properties"] = {"self": cycle}
REFUSED = {
    "no type": {},
    "an array": {"type": "array"},
    "types": {"type": ["object", "null"]},
    "properties as list": {"type": "object", "properties": ["a"]},
    "required as word": {"type": "object", "required": "a"},
    "required numbers": {"type": "object", "required": [1]},
    "no json": {"type": "object", "default": object()},
    "nan": {"type": "object", "minimum": float("nan")},
    "cycle": cycle,
    "text": '{"type": "object"}',
    "list": [],
    "lone surrogate": {"type": "object", "description": "\ud800"},
}


@pytest.mark.parametrize("schema", REFUSED.values(), ids=REFUSED.keys())
def test_a_schema_no_server_takes_is_refused(schema: Any) -> None:
    with pytest.raises(InvalidRequestError):
        object_schema(schema, owner=OWNER)
