"""Grammars: whatever they make is read, whatever is rendered they make, and they know exactly the tools."""

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import jsonschema
import pytest
from pydantic_core import from_json

from rig.errors import InvalidRequestError
from rig.text.arguments import read_arguments
from rig.text.duplicate_keys import duplicate_keys
from rig.text.gbnf import MAX_GRAMMAR_CHARS, literal
from rig.text.grammar import grammar_for, json_call_grammar, json_grammar
from rig.text.heredoc import HeredocCall, parse_heredoc, render_call
from rig.text.json_calls import parse_json_calls, render_json_call

Schema = dict[str, Any]


class Grammar(Protocol):
    def fits(self, text: str) -> bool: ...
    def sample(self, rng: random.Random, *, budget: int) -> str: ...


Read = Callable[[str], Grammar]


@dataclass(frozen=True)
class Tool:
    name: str
    input_schema: Mapping[str, Any] = field(default_factory=dict)


def an_object(properties: Schema, required: tuple[str, ...] = (), **more: Any) -> Schema:
    return {"type": "object", "properties": properties, "required": list(required), **more}


TEXT: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}
TREE = {
    "type": "object",
    "properties": {"v": INTEGER, "kids": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}},
    "required": ["v"],
}

SCHEMAS: dict[str, Schema] = {
    "none": {},
    "texts": an_object({"path": TEXT, "content": TEXT}, ("path", "content")),
    "optional": an_object({"a": TEXT, "b": INTEGER, "c": {"type": "boolean"}}),
    "between": an_object({"a": TEXT, "b": INTEGER, "c": {"type": "boolean"}}, ("b",)),
    "keys": an_object(
        {"max-results": INTEGER, "true": TEXT, 'q"\\': TEXT, "\u00e9": TEXT, "$x_1": TEXT},
        ("max-results", "true"),
    ),
    "enum": an_object(
        {"e": {"enum": ["a", 'b\n"', 1, 2.5, None, {"x": [1]}]}, "c": {"const": "~~~java"}},
        ("e", "c"),
    ),
    "integers": an_object(
        {
            "a": {"type": "integer", "minimum": -17, "maximum": 305},
            "b": {"type": "integer", "minimum": 3},
            "c": {"type": "integer", "exclusiveMaximum": 0},
            "d": {"type": "integer", "minimum": 10, "maximum": 10},
        },
        ("a", "b", "c", "d"),
    ),
    "numbers": an_object(
        {"n": {"type": "number"}, "m": {"type": "number", "minimum": 0}}, ("n", "m")
    ),
    "arrays": an_object(
        {
            "a": {"type": "array", "items": TEXT},
            "b": {"type": "array", "items": INTEGER, "minItems": 1, "maxItems": 3},
            "c": {"type": "array", "prefixItems": [TEXT, INTEGER], "items": False},
            "d": {"type": "array", "maxItems": 0},
        },
        ("a", "b", "c"),
    ),
    "nested": an_object(
        {
            "o": an_object({"x": TEXT, "y": an_object({"z": {"type": "boolean"}})}, ("x",)),
            "free": {"type": "object"},
            "any": True,
        },
        ("o", "free", "any"),
    ),
    "unions": an_object(
        {
            "v": {"anyOf": [TEXT, {"type": "null"}, an_object({"k": {"const": 1}}, ("k",))]},
            "w": {"type": ["string", "null", "number"]},
            "x": {"oneOf": [{"const": 1}, {"const": "b"}]},
        },
        ("v", "w"),
    ),
    "additional": an_object({"ab": TEXT, "ac": TEXT}, ("ab",), additionalProperties=INTEGER),
    "mapping": {
        "type": "object",
        "additionalProperties": {"type": "array", "items": {"type": "number"}},
    },
    "formats": an_object(
        {
            "d": {"type": "string", "format": "date"},
            "t": {"type": "string", "format": "date-time"},
            "u": {"type": "string", "format": "uuid"},
            "s": {"type": "string", "minLength": 2, "maxLength": 5},
            "l": {"type": "string", "minLength": 3},
        },
        ("d", "t", "u", "s", "l"),
    ),
    "recursive": {**an_object({"t": {"$ref": "#/$defs/Tree"}}, ("t",)), "$defs": {"Tree": TREE}},
    "all_of": {
        "type": "object",
        "allOf": [an_object({"a": TEXT}, ("a",)), an_object({"b": INTEGER}, ("b",))],
    },
    "either": {
        **an_object({"a": INTEGER, "b": INTEGER}),
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
    },
    "undeclared": {"type": "object", "required": ["x"]},
    "objects_in_arrays": an_object(
        {
            "rows": {
                "type": "array",
                "minItems": 1,
                "maxItems": 3,
                "items": an_object(
                    {"x": TEXT, "y": {"type": "array", "items": an_object({"z": INTEGER}, ("z",))}},
                    ("x",),
                    additionalProperties=False,
                ),
            }
        },
        ("rows",),
    ),
    "marks_in_enums": an_object(
        {
            "e": {
                "enum": [
                    'say "hi"',
                    "it's",
                    "a\\b\\",
                    "~~~md",
                    "```",
                    "@@end",
                    "x\r\n@@call t\n",
                    "\u2028",
                    "",
                    [],
                    {},
                ]
            }
        },
        ("e",),
    ),
    "optional_references": {
        **an_object(
            {
                "n": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}], "default": None},
                "s": {"anyOf": [TEXT, {"type": "null"}]},
            },
            ("n",),
        ),
        "$defs": {
            "Node": an_object(
                {"v": INTEGER, "next": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]}},
                ("v", "next"),
            )
        },
    },
    "odd_bounds": an_object(
        {
            "a": {"type": "integer", "minimum": 1.5, "maximum": 3.5},
            "b": {"type": "integer", "exclusiveMinimum": -1, "exclusiveMaximum": 1},
            "c": {"type": "integer", "minimum": -1000000, "maximum": 99},
        },
        ("a", "b", "c"),
    ),
    "odd_keys": an_object(
        {"a b": TEXT, "": INTEGER, "~~~": INTEGER, "@@end": INTEGER, "null": TEXT},
        ("a b", "@@end"),
        additionalProperties=INTEGER,
    ),
    "references_to_nothing": an_object(
        {"a": {"$ref": "#/$defs/Gone"}, "b": {"enum": []}}, ("a", "b")
    ),
}
TOOLS = [Tool(name, schema) for name, schema in SCHEMAS.items()]
by_name = pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)


OPEN = frozenset({"additional", "mapping", "nested", "odd_keys", "references_to_nothing"})
"""Schemas with keys of any name."""
UNCHECKED = frozenset({"references_to_nothing"})
"""Schemas no validator takes: any value is allowed then."""


def check(arguments: str, tool: Tool) -> None:
    once = duplicate_keys(arguments) != "equal"
    assert read_arguments(arguments).text == arguments or not once, "strict JSON, nothing to repair"
    if tool.name not in UNCHECKED:
        jsonschema.validate(from_json(arguments), {"type": "object", **tool.input_schema})


def is_ambiguous(call: HeredocCall) -> bool:
    """Whether a key was made twice, as no grammar can rule out where a schema allows any key."""
    return call.kind == "malformed" and duplicate_keys(call.arguments) == "different"


def samples(grammar: Grammar, count: int) -> list[str]:
    rng = random.Random(count)
    return [grammar.sample(rng, budget=rng.choice([20, 80, 200])) for _ in range(count)]


@by_name
def test_every_call_the_grammar_makes_is_read_and_fits_its_schema(
    tool: Tool, read_grammar: Read
) -> None:
    for text in samples(read_grammar(grammar_for([tool], text="none")), 60):
        reply = parse_heredoc(text, names=[tool.name])
        assert (reply.problem, reply.text) in {("", ""), ("malformed", "")}
        assert 1 <= len(reply.written) <= 4
        assert reply.alone
        for call in reply.written:
            assert call.name == tool.name
            if is_ambiguous(call):
                assert tool.name in OPEN
                continue
            check(call.arguments, tool)


@pytest.mark.parametrize("text", ["any", "instead"])
def test_every_reply_the_grammar_makes_is_prose_and_calls(text: Any, read_grammar: Read) -> None:
    tools = {tool.name: tool for tool in TOOLS}
    seen: set[str] = set()
    for written in samples(read_grammar(grammar_for(TOOLS, text=text)), 150):
        reply = parse_heredoc(written, names=tools)
        seen.add(f"{bool(reply.text)} {bool(reply.written)}")
        if not reply.written:
            assert reply.text == written.strip()
        for call in reply.written:
            if not is_ambiguous(call):
                check(call.arguments, tools[call.name])
    both = {"True False", "False True"}
    assert seen == (both | {"True True"} if text == "any" else both)


@by_name
def test_the_grammar_makes_what_is_rendered_for_the_history(tool: Tool, read_grammar: Read) -> None:
    grammar = read_grammar(grammar_for([tool]))
    for text in samples(read_grammar(grammar_for([tool], text="none", max_calls=1)), 15):
        (call,) = parse_heredoc(text).written
        if is_ambiguous(call):
            continue
        for indent in (None, 2):
            arguments = json.dumps(from_json(call.arguments), ensure_ascii=False, indent=indent)
            assert grammar.fits(render_call(call.name, arguments) + "\n")


@by_name
def test_json_calls_of_the_grammar_are_read_too(tool: Tool, read_grammar: Read) -> None:
    grammar = read_grammar(json_call_grammar([tool], text=False))
    for text in samples(grammar, 40):
        (call,) = parse_json_calls(text, names=[tool.name]).written
        if is_ambiguous(call) or "duplicate_key" in call.repairs:
            assert tool.name in OPEN
            continue
        assert call.repairs == ()
        check(call.arguments, tool)
        assert grammar.fits(render_json_call(call.name, call.arguments))


@by_name
def test_the_grammar_of_an_object_makes_json_of_its_schema(tool: Tool, read_grammar: Read) -> None:
    schema = {"type": "object", **tool.input_schema}
    for text in samples(read_grammar(json_grammar(schema)), 40):
        check(text, tool)


CALL = "@@call write\n{}\n@@end\n"
WRITE = Tool(
    "write",
    an_object({"path": TEXT, "content": TEXT, "mode": {"enum": ["w", "a"]}}, ("path", "content")),
)


def call_of(arguments: str) -> str:
    return f"@@call write\n{arguments}\n@@end\n"


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        (call_of('{path: "a", content: "b"}'), True),
        (call_of('{"path": "a", "content": "b", "mode": "w"}'), True),
        (call_of('{path: "a", content: ~~~md\n~~~java\n# x\n~~~mdx\n~~~md\n}'), True),
        (call_of('{path: "a", content: ~~~md\n~~~md\n, mode: "a"}'), True),
        (call_of('{path: "a", content: ~~~md\nx\n~~~java\n}'), False),
        (call_of('{path: "a", content: ~~~value\nx\n~~~value\n}'), False),
        (call_of('{path: "a", content: ~~~\nx\n~~~\n}'), False),
        (call_of('{path: "a", content: "b\nc"}'), False),
        (call_of('{path: "a", content: "\\ud800"}'), False),
        (call_of('{path: "a", content: "\\ud83d\\ude00"}'), True),
        (call_of('{path: "a"}'), False),
        (call_of('{content: "b", path: "a"}'), False),
        (call_of('{path: "a", path: "b", content: "c"}'), False),
        (call_of('{path: "a", content: "b", mode: "x"}'), False),
        (call_of('{path: "a", content: 1}'), False),
        (call_of('{path: "a", content: "b", other: 1}'), False),
        (call_of('{path: "a", content: "b"}').replace("write", "read"), False),
        (call_of('{path: "a", content: "b"}').rstrip("\n"), False),
        (call_of('{path: "a", content: "b"}') * 4, True),
        (call_of('{path: "a", content: "b"}') * 5, False),
        ("", False),
    ],
    ids=repr,
)
def test_the_grammar_leaves_room_for_calls_of_the_tool_only(
    text: str, fits: bool, read_grammar: Read
) -> None:
    assert read_grammar(grammar_for([WRITE], text="none")).fits(text) is fits


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("The answer is 4.", "any instead"),
        ("@home\n\n  yes @@call x", "any instead"),
        ("I see.\n" + call_of('{path: "a", content: "b"}'), "any"),
        (call_of('{path: "a", content: "b"}'), "any instead none"),
        (call_of('{path: "a", content: "b"}') + "So.", ""),
        ("I see.\n@@call other\n{}\n@@end\n", ""),
        ("I see.\n  @@end\n", ""),
        (" ", ""),
    ],
    ids=repr,
)
@pytest.mark.parametrize("kind", ["any", "instead", "none"])
def test_text_may_stand_where_it_was_allowed(
    text: str, fits: str, kind: Any, read_grammar: Read
) -> None:
    assert read_grammar(grammar_for([WRITE], text=kind)).fits(text) is (kind in fits.split())


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("Four.", True),
        ('{"name": "write", "arguments": {"path": "a", "content": "b"}}', True),
        ('{"name": "read", "arguments": {}}', False),
        ('{"sum": 4}', True),
        ('{"sum": "4"}', False),
        ("[1]", False),
    ],
)
def test_a_json_call_an_object_or_text_is_an_answer(
    text: str, fits: bool, read_grammar: Read
) -> None:
    grammar = json_call_grammar([WRITE], answer=an_object({"sum": INTEGER}, ("sum",)))
    assert read_grammar(grammar).fits(text) is fits


@pytest.mark.parametrize(
    ("schema", "fitting", "others"),
    [
        (
            {"type": "integer", "minimum": 0, "maximum": 255},
            "0 7 99 100 199 200 249 255",
            "-1 256 300 1000 00 01",
        ),
        ({"type": "integer", "minimum": -3, "maximum": -2}, "-3 -2", "0 -1 -4 2 3"),
        (
            {"type": "integer", "minimum": 987, "maximum": 1203},
            "987 999 1000 1199 1203",
            "986 1204 98 9999",
        ),
        ({"type": "integer", "exclusiveMinimum": 1.5, "exclusiveMaximum": 4}, "2 3", "1 4"),
        ({"type": "integer", "maximum": -1}, "-1 -12 -999999999999", "0 1 -0"),
        ({"type": "integer", "minimum": 5, "maximum": 1}, "0 -5 1234567890123456789", "x 1.5"),
        ({"type": "integer"}, "0 -1 9223372036854775807", "01 1.0 1e3 - -0"),
        ({"type": "number"}, "0 -1.5 2e9 1E-7 0.25", "01 .5 5. + NaN Infinity 1e999"),
        ({"type": "number", "exclusiveMinimum": 0}, "0.5 3", "-1"),
        ({"type": "boolean"}, "true false", "True null 1"),
        ({"enum": [1, "a", None]}, '1 "a" null', "2 a"),
        ({"const": {"a": [1]}}, "", '{} {"a":[2]}'),
        ({"type": "string", "maxLength": 2}, '"" "ab" "\\n\u00e9"', '"abc" ab'),
        ({"type": "string", "format": "date"}, '"2024-02-29"', '"2024-13-01" "2024-1-1" ""'),
        ({"type": "string", "pattern": "^a+$"}, '"aaa" "told-in-words-only"', "a"),
        ({"type": "string", "nullable": True}, '"a" null', "1"),
        ({"not": {"type": "string"}}, '1 "widened" {} [] null', "x"),
        ({"type": "surprise"}, '1 "widened" {}', "x"),
        (True, '1 "a" [1,{"a":null}]', "x {a:1}"),
        (False, "1", "x"),
        ({"$ref": "#/nowhere"}, "1 {}", "x"),
        ({"$ref": "https://example.com/x"}, "1 {}", "x"),
        ({"$ref": "#"}, "1 {}", "x"),
        ({"enum": []}, "1", "x"),
        ({"type": "array", "items": INTEGER, "minItems": 2}, "[1,2] [1,2,3]", "[] [1]"),
        ({"type": "array", "items": INTEGER, "maxItems": 5000}, "[] [1,2,3]", "[a]"),
        ({"items": INTEGER}, "[] [1]", '{} ["a"]'),
        ({"type": "array", "items": [INTEGER, TEXT]}, '[1,"a"] [1,"a",null]', "[] [1]"),
        ({"type": "array", "items": False}, "[]", "[1]"),
        ({"type": "object", "additionalProperties": False}, "{}", '{"a":1}'),
        (an_object({"a": False, "b": INTEGER}), '{} {"b":1}', '{"a":1}'),
        (an_object({"": INTEGER}, additionalProperties=True), '{"":1} {"a":1}', '{"":"a"}'),
        (
            an_object({"ab": INTEGER}, additionalProperties=TEXT),
            '{"a":"x"} {"abc":"x"} {"ab":1,"b":"x"}',
            '{"ab":"x"}',
        ),
    ],
    ids=str,
)
def test_keywords_become_grammar_or_allow_more(
    schema: Any, fitting: str, others: str, read_grammar: Read
) -> None:
    grammar = read_grammar(json_grammar(schema))
    assert [text for text in fitting.split() if not grammar.fits(text)] == []
    assert [text for text in others.split() if grammar.fits(text)] == []


def test_references_that_only_lead_to_each_other_allow_anything(read_grammar: Read) -> None:
    """A rule that begins with itself makes llama.cpp refuse the grammar."""
    schema = {
        "$ref": "#/$defs/A",
        "$defs": {"A": {"anyOf": [{"$ref": "#/$defs/B"}, INTEGER]}, "B": {"$ref": "#/$defs/A"}},
    }
    assert read_grammar(json_grammar(schema)).fits('["anything"]')


def test_the_same_tools_give_the_same_grammar_in_any_order() -> None:
    assert grammar_for(TOOLS) == grammar_for(reversed(TOOLS))
    assert grammar_for([WRITE, Tool(""), WRITE]) == grammar_for([WRITE])


def test_one_call_may_be_all_there_is_room_for(read_grammar: Read) -> None:
    grammar = read_grammar(grammar_for([Tool("t")], max_calls=1, text="none"))
    assert grammar.fits("@@call t\n{}\n@@end\n")
    assert not grammar.fits("@@call t\n{}\n@@end\n" * 2)


def wide(depth: int) -> Schema:
    """Small in memory, without end when walked."""
    schema: Schema = {"type": "integer"}
    for _ in range(depth):
        schema = an_object({"a": schema, "b": schema})
    return schema


@pytest.mark.parametrize(
    "make",
    [
        lambda: grammar_for([]),
        lambda: grammar_for([Tool("")]),
        lambda: grammar_for([Tool("t")], max_calls=0),
        lambda: json_call_grammar([]),
        lambda: json_grammar({"enum": ["x" * MAX_GRAMMAR_CHARS]}),
        lambda: json_grammar(an_object({f"key {n}" * 9: {"const": n} for n in range(2000)})),
        lambda: json_grammar(wide(30)),
    ],
    ids=["no tools", "no name", "no calls", "no json tools", "long", "many", "wide"],
)
def test_what_can_not_be_written_is_refused(make: Callable[[], str]) -> None:
    with pytest.raises(InvalidRequestError):
        make()


def test_a_schema_that_is_too_deep_allows_anything_below(read_grammar: Read) -> None:
    schema: Schema = {"const": 1}
    for _ in range(200):
        schema = an_object({"a": schema}, ("a",))
    grammar = read_grammar(json_grammar(schema))
    assert grammar.fits('{"a":' * 40 + "2" + "}" * 40)


def test_without_bodies_strings_are_quoted(read_grammar: Read) -> None:
    grammar = read_grammar(grammar_for([WRITE], text="none", bodies=False))
    assert grammar.fits(call_of('{path: "a", content: "b"}'))
    assert not grammar.fits(call_of('{path: "a", content: ~~~md\nb\n~~~md\n}'))


@pytest.mark.parametrize(
    ("value", "tag"),
    [('say "hi"', "txt"), ("a\\b", "txt"), ("a\n~~~txt ,\n~~~yaml", "xml"), ("\n", "txt")],
)
def test_a_fixed_text_that_needs_escapes_may_be_a_body(
    value: str, tag: str, read_grammar: Read
) -> None:
    tool = Tool("t", an_object({"v": {"const": value}}, ("v",)))
    grammar = read_grammar(grammar_for([tool], text="none"))
    text = f"@@call t\n{{v: ~~~{tag}\n{value}\n~~~{tag}\n}}\n@@end\n"
    assert grammar.fits(text)
    assert grammar.fits(render_call("t", json.dumps({"v": value})) + "\n")
    assert from_json(parse_heredoc(text).calls[0].arguments) == {"v": value}
    assert not read_grammar(grammar_for([tool], text="none", bodies=False)).fits(text)


def test_hundred_tools_make_a_grammar_that_can_be_sent(read_grammar: Read) -> None:
    tools = [Tool(f"tool_{n}", WRITE.input_schema) for n in range(128)]
    grammar = grammar_for(tools)
    assert len(grammar) < 20_000
    assert read_grammar(grammar).fits('@@call tool_127\n{path: "a", content: "b"}\n@@end\n')


@pytest.mark.parametrize(
    "text", ['a"b\\c', "\n\r\t", "\x00\x7f\u2028", "\u00e9\U0001f600", "@@call x"]
)
def test_literals_are_exact(text: str, read_grammar: Read) -> None:
    assert read_grammar(f"root ::= {literal(text)}\n").fits(text)
    assert "\n" not in literal(text)
