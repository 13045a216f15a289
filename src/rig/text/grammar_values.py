"""The values of a JSON schema as GBNF rules. No I/O, stdlib only.

Rules for whoever adds a keyword: what is not understood is left out, so that the grammar allows more
than the schema and never something else; the arguments are checked afterwards anyway. What is narrower
on purpose: known keys come in the order of the schema, each at most once.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final, Literal, cast
from urllib.parse import unquote

from rig.errors import InvalidRequestError
from rig.text.gbnf import Rules, either, literal, other_than
from rig.text.grammar_numbers import integer, number

MAX_REPEATS: Final = 500
"""Largest length bound that becomes part of a grammar. llama.cpp refuses 2,000, and products of nested
ones that reach it (ggml-org/llama.cpp 27087, 17473)."""

MAX_SCHEMA_DEPTH: Final = 32
"""Schemas inside each other that are told apart; below it any value is allowed."""

MAX_SCHEMAS: Final = 20_000
"""Schemas looked at for one grammar, those that stand at several places counted each time."""

BODY_TAGS: Final = (
    *("c", "css", "diff", "go", "html", "java", "js", "json", "md", "py"),
    *("rs", "sh", "sql", "ts", "xml", "yaml", "txt"),
)
"""What may stand behind the `~~~` of a body. A closed set, because a model that may write anything there
writes the value itself; several, so that a body can hold the delimiters of another."""

RESERVED_WORDS: Final = frozenset({"true", "false", "null", "True", "False", "None"})
"""Words that are values where they stand bare, so that no bare key can be one of them."""

Style = Literal["json", "heredoc"]
"""Strict JSON, or JSON with bare keys and bodies."""

Schema = Mapping[str, object]

LINE_REST: Final = r"[^\n]*"
"""What is left of a line."""

_HEX = "[0-9a-fA-F]"
_WS = r'("\n" [ \t]{0,20} | " ")?'
_PLAIN_CHAR = r'[^"\\\x00-\x1F\x7F]'
# Surrogates come in pairs or not at all: a lone one can't be encoded, and its call would be refused.
_ESCAPE = (
    rf'"\\" (["\\/bfnrt] | "u" ([0-9abcefABCEF] {_HEX}{{3}} | [dD] [0-7] {_HEX}{{2}}'
    rf' | [dD] [89abAB] {_HEX}{{2}} "\\u" [dD] [c-fC-F] {_HEX}{{2}}))'
)
_NEEDS_ESCAPES = re.compile(r'["\\\x00-\x1f]')
_IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_YEAR_TO_DAY = '[0-9]{4} "-" ("0" [1-9] | "1" [0-2]) "-" ("0" [1-9] | [12] [0-9] | "3" [01])'
_TIME = (
    '([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9] ":" [0-5] [0-9] ("." [0-9]{1,6})?'
    ' ("Z" | [-+] ([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9])'
)
_FORMATS: Final = {
    "date": _YEAR_TO_DAY,
    "time": _TIME,
    "date-time": f'{_YEAR_TO_DAY} "T" {_TIME}',
    "uuid": f'{_HEX}{{8}} "-" {_HEX}{{4}} "-" {_HEX}{{4}} "-" {_HEX}{{4}} "-" {_HEX}{{12}}',
}


class ValueRules:
    """Writes the rules of values.

    Args:
        rules: where they are written to.
        style: how keys and strings may be written.
        root: the schema that local references point into.
        bodies: whether strings of the heredoc style may be bodies.
    """

    def __init__(self, rules: Rules, *, style: Style, root: object, bodies: bool = True) -> None:
        self._rules = rules
        self._style: Style = style
        self._bodies = bodies and style == "heredoc"
        self._root = root
        self._referred: dict[str, str] = {}
        self._looked_at = 0

    def value(self, schema: object) -> str:
        """An expression for the values of a schema; any value for what is no schema.

        Args:
            schema: a JSON schema.

        Raises:
            InvalidRequestError: the grammar becomes too large.
        """
        return self._value(schema, depth=0, chain=())

    def _value(self, schema: object, *, depth: int, chain: tuple[str, ...]) -> str:
        """The same; `chain` holds the references that led here without a character between.

        Raises:
            InvalidRequestError: too many schemas.
        """
        self._looked_at += 1
        if self._looked_at > MAX_SCHEMAS:
            raise InvalidRequestError(
                f"the schemas hold more than {MAX_SCHEMAS} schemas: make them simpler"
            )
        node = _as_schema(schema)
        if node is None or depth > MAX_SCHEMA_DEPTH:
            return self._any()
        reference = node.get("$ref")
        if isinstance(reference, str):
            return self._reference(reference, depth=depth, chain=chain)
        if "const" in node:
            return self._constant(node["const"], depth=depth)
        allowed = node.get("enum")
        if isinstance(allowed, list | tuple) and allowed:
            values = cast("Sequence[object]", allowed)
            return self._rules.add(either([self._constant(it, depth=depth) for it in values]))
        return self._combined(node, depth=depth, chain=chain)

    def _constant(self, value: object, *, depth: int) -> str:
        """Exactly this value; containers with any blanks between their tokens."""
        if depth > MAX_SCHEMA_DEPTH:
            return self._any()
        ws = self._ws()
        if isinstance(value, list | tuple):
            items = [
                self._constant(item, depth=depth + 1) for item in cast("Sequence[object]", value)
            ]
            inner = f' "," {ws} '.join(items)
            return f'"[" {ws} {inner} {ws} "]"' if items else f'"[" {ws} "]"'
        if isinstance(value, Mapping):
            pairs = [
                f'{literal(_json(name))} " "? ":" {ws} {self._constant(item, depth=depth + 1)}'
                for name, item in cast("Mapping[str, object]", value).items()
            ]
            inner = f' "," {ws} '.join(pairs)
            return f'"{{" {ws} {inner} {ws} "}}"' if pairs else f'"{{" {ws} "}}"'
        if isinstance(value, str) and self._bodies and _NEEDS_ESCAPES.search(value):
            return either([literal(_json(value)), *_as_body(value)])
        return literal(_json(value))

    def _reference(self, reference: str, *, depth: int, chain: tuple[str, ...]) -> str:
        target = self._find(reference)
        if target is None or reference in chain:
            return self._any()
        known = self._referred.get(reference)
        if known is None:
            known = self._referred[reference] = self._rules.reserve()
            body = self._value(target, depth=depth + 1, chain=(*chain, reference))
            self._rules.define(known, body)
        return known

    def _find(self, reference: str) -> object:
        """What a local reference (a JSON pointer in a fragment) points at, None for nothing."""
        found: object = self._root if reference.startswith("#") else None
        for step in unquote(reference[1:]).split("/")[1:]:
            node = _as_schema(found)
            found = node.get(step.replace("~1", "/").replace("~0", "~")) if node else None
        return found

    def _combined(self, node: Schema, *, depth: int, chain: tuple[str, ...]) -> str:
        for keyword in ("anyOf", "oneOf"):
            options = node.get(keyword)
            if isinstance(options, list | tuple) and options:
                base = {key: value for key, value in node.items() if key != keyword}
                found = [
                    self._value(_merged(base, option), depth=depth + 1, chain=chain)
                    for option in cast("Sequence[object]", options)
                ]
                return self._rules.add(either(found))
        parts = node.get("allOf")
        if isinstance(parts, list | tuple):
            merged: object = {key: value for key, value in node.items() if key != "allOf"}
            for part in cast("Sequence[object]", parts):
                merged = _merged(merged, self._written_out(part))
            return self._value(merged, depth=depth + 1, chain=chain)
        return self._typed(node, depth=depth)

    def _written_out(self, schema: object) -> object:
        """The schema a reference points at; any other as it is."""
        node = _as_schema(schema)
        reference = node.get("$ref") if node else None
        return self._find(reference) if isinstance(reference, str) else schema

    def _typed(self, node: Schema, *, depth: int) -> str:
        kinds = node.get("type", _implied_type(node))
        listed = cast("Sequence[object]", kinds) if isinstance(kinds, list | tuple) else [kinds]
        found = [self._of_type(kind, node, depth=depth) for kind in listed]
        if node.get("nullable") is True:
            found.append(literal("null"))
        return either(found) if found else self._any()

    def _of_type(self, kind: object, node: Schema, *, depth: int) -> str:
        match kind:
            case "object":
                return self._object(node, depth=depth)
            case "array":
                return self._array(node, depth=depth)
            case "string":
                return self._string(node)
            case "integer":
                return self._rules.add(integer(node))
            case "number":
                return self._rules.add(number(node))
            case "boolean":
                return '("true" | "false")'
            case "null":
                return literal("null")
            case _:
                return self._any()

    # Objects

    def _object(self, node: Schema, *, depth: int) -> str:
        properties = _as_schema(node.get("properties")) or {}
        extra = node.get("additionalProperties", not properties)
        required = _names(node.get("required"))
        known = {**properties, **{name: True for name in required if name not in properties}}
        pairs = [
            (self._pair(name, schema, depth=depth), name in required)
            for name, schema in known.items()
            if name in required or schema is not False
        ]
        tail = self._extra_pairs(list(known), extra, depth=depth)
        return self._rules.add(self._braces(pairs, tail))

    def _braces(self, pairs: list[tuple[str, bool]], extra: str) -> str:
        """An object with these pairs in their order; the optional ones may be left out."""
        ws = self._ws()
        after = self._rules.add(f'("," {ws} {extra})*') if extra else ""
        starts = [f"{extra} {after}"] if extra else []
        is_forced = False
        for pair, is_required in reversed(pairs):
            start = f"{pair} {after}".rstrip()
            starts = [start] if is_required else [start, *starts]
            is_forced = is_forced or is_required
            step = f'"," {ws} {pair}' if is_required else f'("," {ws} {pair})?'
            after = self._rules.add(f"{step} {after}".rstrip())
        if not starts:
            return f'"{{" {ws} "}}"'
        inner = either([f"{start} {ws}" for start in starts])
        return f'"{{" {ws} {inner if is_forced else f"({inner})?"} "}}"'

    def _pair(self, name: str, schema: object, *, depth: int) -> str:
        keys = [literal(_json(name))]
        if self._style == "heredoc" and _IDENTIFIER.fullmatch(name) and name not in RESERVED_WORDS:
            keys.insert(0, literal(name))
        value = self._value(schema, depth=depth + 1, chain=())
        return self._rules.add(f'{either(keys)} " "? ":" {self._ws()} {value}')

    def _extra_pairs(self, known: list[str], schema: object, *, depth: int) -> str:
        """A pair under any other key, "" where the schema wants none.

        Its key holds no escapes: one could spell a known key.
        """
        if schema is False:
            return ""
        value = self._value(schema, depth=depth + 1, chain=())
        words = [_json(name)[1:-1] for name in known]
        key = self._rules.add(
            f"""{literal('"')} {self._other_key(words)} {literal('"')}"""
            if words
            else self._quoted()
        )
        return self._rules.add(f'{key} " "? ":" {self._ws()} {value}')

    def _other_key(self, words: list[str]) -> str:
        rest = f"{self._rules.define('plain', _PLAIN_CHAR)}*"
        stop = '"\\\x7f' + "".join(map(chr, range(32)))
        return other_than(
            [word for word in words if "\\" not in word], stop=stop, rest=rest, after=""
        )

    # Arrays

    def _array(self, node: Schema, *, depth: int) -> str:
        first = node.get("prefixItems")
        items = node.get("items", True)
        if isinstance(items, list | tuple):
            first, items = cast("object", items), node.get("additionalItems", True)
        if isinstance(first, list | tuple) and first:
            return self._tuple(cast("Sequence[object]", first), items, node, depth=depth)
        if items is False:
            return self._rules.add(f'"[" {self._ws()} "]"')
        item = self._value(items, depth=depth + 1, chain=())
        least, most = _lengths(node, "minItems", "maxItems")
        ws = self._ws()
        if most == 0:
            return self._rules.add(f'"[" {ws} "]"')
        more = _repeated(
            f'("," {ws} {item})', max(0, least - 1), None if most is None else most - 1
        )
        inner = f"{item} {more} {ws}" if more else f"{item} {ws}"
        return self._rules.add(f'"[" {ws} {inner if least else f"({inner})?"} "]"')

    def _tuple(self, first: Sequence[object], rest: object, node: Schema, *, depth: int) -> str:
        """An array whose first items have schemas of their own; all of those are written."""
        ws = self._ws()
        items = [self._value(schema, depth=depth + 1, chain=()) for schema in first]
        inner = f' "," {ws} '.join(items)
        _, most = _lengths(node, "minItems", "maxItems")
        if rest is not False and (most is None or most > len(items)):
            item = self._value(rest, depth=depth + 1, chain=())
            inner += f' ("," {ws} {item})*'
        return self._rules.add(f'"[" {ws} {inner} {ws} "]"')

    # Strings

    def _string(self, node: Schema) -> str:
        quote = literal('"')
        form = _FORMATS.get(str(node.get("format")))
        if form is not None:
            return self._rules.add(f"{quote} {form} {quote}")
        least, most = _lengths(node, "minLength", "maxLength")
        if least or most is not None:
            char = self._char()
            return self._rules.add(f"{quote} {_repeated(char, least, most)} {quote}")
        if self._bodies and "pattern" not in node and "format" not in node:
            return either([self._quoted(), self._body()])
        return self._quoted()

    def _quoted(self) -> str:
        quote = literal('"')
        return self._rules.define("string", f"{quote} {self._char()}* {quote}")

    def _char(self) -> str:
        return self._rules.define("char", f"{_PLAIN_CHAR} | {_ESCAPE}")

    def _body(self) -> str:
        if "body" not in self._rules:
            self._rules.define("body", " | ".join(map(self._body_with, BODY_TAGS)))
        return "body"

    def _body_with(self, tag: str) -> str:
        """A body, its closing line, and the line's end. No line in it can be taken for the closing one."""
        fence = f"~~~{tag}"
        rest = self._rules.define("rest", LINE_REST)
        line = other_than([fence], stop="\n", rest=rest, after=" ,\t\r")
        return f"{literal(fence + chr(10))} ({line} {literal(chr(10))})* {literal(fence + chr(10))}"

    # Any value

    def _any(self) -> str:
        if "value" in self._rules:
            return "value"
        ws = self._ws()
        string = self._quoted()
        if self._bodies:
            string = f"{string} | {self._body()}"
        words = '"true" | "false" | "null"'
        self._rules.define("value", f"object | array | {string} | {number({})} | {words}")
        pair = f'string " "? ":" {ws} value'
        self._rules.define("object", f'"{{" {ws} ({pair} ("," {ws} {pair})* {ws})? "}}"')
        self._rules.define("array", f'"[" {ws} (value ("," {ws} value)* {ws})? "]"')
        return "value"

    def _ws(self) -> str:
        return self._rules.define("ws", _WS)


def _as_body(value: str) -> list[str]:
    """The value as a body, none where each tag would close it too early."""
    lines = {line.rstrip(" \t\r,") for line in value.split("\n")}
    for tag in reversed(BODY_TAGS):
        fence = f"~~~{tag}"
        if fence not in lines:
            return [literal(f"{fence}\n{value}\n{fence}\n")]
    return []


def _as_schema(value: object) -> Schema | None:
    return cast("Schema", value) if isinstance(value, Mapping) else None


def _names(value: object) -> tuple[str, ...]:
    listed = cast("Sequence[object]", value) if isinstance(value, list | tuple) else ()
    return tuple(dict.fromkeys(name for name in listed if isinstance(name, str)))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _implied_type(node: Schema) -> str:
    if "properties" in node or "additionalProperties" in node:
        return "object"
    return "array" if "items" in node or "prefixItems" in node else ""


def _merged(base: object, option: object) -> object:
    """What fits both schemas, as far as that can be said by one."""
    left, right = _as_schema(base), _as_schema(option)
    if left is None or right is None:
        return base if option is True else option
    merged = {**left, **right}
    both = [_as_schema(node.get("properties")) for node in (left, right)]
    properties = [known for known in both if known]
    if properties:
        merged["properties"] = {
            name: schema for known in properties for name, schema in known.items()
        }
    required = [*_names(left.get("required")), *_names(right.get("required"))]
    if required:
        merged["required"] = required
    return merged


def _lengths(node: Schema, least: str, most: str) -> tuple[int, int | None]:
    """Length bounds that can be told; one that is too large is left out."""
    low, high = (node.get(key) for key in (least, most))
    first = low if isinstance(low, int) and 0 <= low <= MAX_REPEATS else 0
    last = high if isinstance(high, int) and first <= high <= MAX_REPEATS else None
    return first, last


def _repeated(item: str, least: int, most: int | None) -> str:
    if most == 0:
        return ""
    if most is None:
        return f"{item}*" if not least else f"{item}{{{least},}}"
    return f"{item}{{{least},{most}}}"
