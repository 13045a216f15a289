"""JSON schemas in the form every self-hosted server can take. No I/O.

llama.cpp and what is built on it turn the schemas of *all* offered tools into one grammar; one
schema its converter dislikes fails the whole request, or silently switches the grammar off. So
references are written out, and what the converter is known to refuse is told in words instead; the
input is checked here anyway, against the schema as it was written. Whoever adds a rule to
`portable`: it may only loosen what is sent, never refuse what the tool accepts.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast
from urllib.parse import unquote

from pydantic_core import from_json, to_json

from rig.errors import InvalidRequestError

MAX_RECURSION = 2
"""How often one definition may hold itself before it is cut to its bare type. A model that has to
write deeper trees is told so by the check; every level multiplies the size of the schema."""

MAX_SCHEMA_NODES = 5_000
"""Schemas one tool may hold once references are written out: about 200 kB of JSON, more than the
context of most self-hosted models. References that refer to each other double with every step."""

MAX_REFERENCES_DEEP = 50
"""References that may lead to each other before the schema counts as too large; ours is a recursive
walk, and no grammar converter goes that deep either."""

MAX_REPETITIONS = 1_000
"""Largest length bound that is sent. llama.cpp's grammar refuses 2,000 and products that reach it
(ggml-org/llama.cpp 27087, 17473); below half of it, one level of nesting stays safe."""

MAX_EXACT = 1 << 53
"""Largest number that is sent as a bound: beyond it JSON numbers are not exact (RFC 8259, 6)."""

Schema = dict[str, Any]
"""A JSON schema, as an object."""

_ONE = ("items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else")
_LIST = ("anyOf", "oneOf", "allOf", "prefixItems", "items")
_NAMED = ("properties", "patternProperties", "dependentSchemas")
_DEFINITIONS = ("$defs", "definitions")

_LENGTHS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")


def object_schema(schema: Mapping[str, Any] | None, *, owner: str) -> Schema:
    """A copy of a hand-written schema: of an object, with `properties`, references written out.

    Args:
        schema: the schema; None is an object without properties.
        owner: what messages call the schema's owner, for example `tool "search"`.

    Raises:
        InvalidRequestError: it is not the JSON schema of an object, too large, or refers to
            something it does not define.
    """
    copy = _json_copy({} if schema is None else schema, owner)
    kind = copy.setdefault("type", "object") if schema is None else copy.get("type")
    if kind != "object":
        raise InvalidRequestError(
            f'the input_schema of {owner} must describe an object: set "type" to "object"'
            ' and list the parameters under "properties"'
        )
    properties = copy.setdefault("properties", {})
    if not isinstance(properties, dict):
        raise InvalidRequestError(
            f'"properties" in the input_schema of {owner} must be an object of name: schema'
        )
    if not _are_names(copy.get("required", [])):
        raise InvalidRequestError(
            f'"required" in the input_schema of {owner} must be a list of parameter names'
        )
    return inline(copy, owner=owner)


def inline(schema: Mapping[str, Any], *, owner: str) -> Schema:
    """Write out every `$ref` and drop the definitions.

    A definition that holds itself is cut to its bare type after `MAX_RECURSION` levels.

    Args:
        schema: a JSON schema whose references point into itself.
        owner: what messages call the schema's owner.

    Raises:
        InvalidRequestError: a reference leads nowhere, or the schema is too large written out.
    """
    return cast("Schema", _Inliner(schema, owner).write_out(schema, ()))


def simplify(schema: Mapping[str, Any]) -> Schema:
    """Drop what a generator adds and a model does not need: titles, `| null` beside a null default."""
    return cast("Schema", _rewritten(schema, _simpler))


def finite(schema: Mapping[str, Any]) -> Schema:
    """Drop defaults, bounds and examples that JSON has no form for: infinities and NaN."""
    return cast("Schema", _rewritten(schema, _finite))


def portable(schema: Mapping[str, Any]) -> Schema:
    """Say in the description what grammar converters refuse: patterns, very large bounds.

    An unanchored pattern makes llama.cpp refuse the request (ggml-org/llama.cpp 26930), an escape
    such as backslash-S makes it drop the grammar without a word (19051).
    """
    return cast("Schema", _rewritten(schema, _plainer))


def _json_copy(schema: object, owner: str) -> Schema:
    try:
        copy = from_json(to_json(schema, inf_nan_mode="constants"), allow_inf_nan=False)
    except ValueError:
        copy = None
    if not isinstance(copy, dict):
        raise InvalidRequestError(
            f"the input_schema of {owner} must be a JSON schema: a dict of plain JSON values"
        )
    return cast("Schema", copy)


def _are_names(value: object) -> bool:
    return isinstance(value, list) and all(
        isinstance(name, str) for name in cast("list[object]", value)
    )


class _Inliner:
    def __init__(self, root: Mapping[str, Any], owner: str) -> None:
        self._root = root
        self._owner = owner
        self._nodes = 0

    def write_out(self, schema: object, path: tuple[str, ...]) -> Any:  # noqa: ANN401  schemas may be booleans
        """The schema without references; `path` holds the references that led here.

        Raises:
            InvalidRequestError: a reference leads nowhere, or the schema is too large.
        """
        if not isinstance(schema, Mapping):
            return schema
        self._nodes += 1
        if self._nodes > MAX_SCHEMA_NODES or len(path) > MAX_REFERENCES_DEEP:
            raise InvalidRequestError(
                f"the input_schema of {self._owner} is too large once its references are written"
                f" out (more than {MAX_SCHEMA_NODES} schemas, or too deep): make it simpler"
            )
        node = cast("Mapping[str, Any]", schema)
        reference = node.get("$ref")
        if isinstance(reference, str):
            return self._referred(reference, node, path)
        rest = {key: value for key, value in node.items() if key not in _DEFINITIONS}
        # The mapping of a discriminator holds references again, and no server reads it.
        rest.pop("discriminator", None)
        return _with_children(rest, lambda child: self.write_out(child, path))

    def _referred(self, reference: str, node: Mapping[str, Any], path: tuple[str, ...]) -> Schema:
        target = self._find(reference)
        beside = {key: value for key, value in node.items() if key != "$ref"}
        if path.count(reference) >= MAX_RECURSION:
            kept = ("type", "description")
            return {key: target[key] for key in kept if key in target} | _described(beside)
        return cast("Schema", self.write_out({**target, **beside}, (*path, reference)))

    def _find(self, reference: str) -> Mapping[str, Any]:
        """What a local reference, a JSON pointer (RFC 6901) in a fragment, points at.

        Raises:
            InvalidRequestError: nothing.
        """
        found: object = self._root
        if not reference.startswith("#"):
            found = None
        for step in unquote(reference[1:]).split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            found = (
                cast("Mapping[str, object]", found).get(key) if isinstance(found, Mapping) else None
            )
        if not isinstance(found, Mapping):
            raise InvalidRequestError(
                f"the input_schema of {self._owner} has a $ref to something it does not define:"
                " define it in the schema's own $defs"
            )
        return cast("Mapping[str, Any]", found)


def _described(node: Mapping[str, Any]) -> Schema:
    return {"description": node["description"]} if "description" in node else {}


def _rewritten(schema: object, change: Callable[[Schema], Schema]) -> Any:  # noqa: ANN401  schemas may be booleans
    """The schema with every schema in it changed, innermost first."""
    if not isinstance(schema, Mapping):
        return schema
    node = dict(cast("Mapping[str, Any]", schema))
    return change(_with_children(node, lambda child: _rewritten(child, change)))


def _with_children(node: Schema, change: Callable[[object], object]) -> Schema:
    """The node with the schemas directly in it changed; values like enum and default are no schemas."""
    changed = dict(node)
    for key in _ONE:
        if isinstance(node.get(key), Mapping):
            changed[key] = change(node[key])
    for key in _LIST:
        if isinstance(node.get(key), Sequence) and not isinstance(node[key], str):
            changed[key] = [change(child) for child in node[key]]
    for key in _NAMED:
        if isinstance(node.get(key), Mapping):
            changed[key] = {name: change(child) for name, child in node[key].items()}
    return changed


def _simpler(node: Schema) -> Schema:
    if isinstance(node.get("title"), str):
        node.pop("title")
    if node.get("default", 0) is not None:
        return node
    # A null default is what leaving the parameter out means: neither it nor `| null` needs saying.
    node.pop("default")
    options = cast("list[Any]", node.get("anyOf", []))
    real = [option for option in options if option != {"type": "null"}]
    if len(real) != 1 or not isinstance(real[0], dict):
        return node
    node.pop("anyOf")
    return {**cast("Schema", real[0]), **node}


def _finite(node: Schema) -> Schema:
    inner = (*_ONE, *_LIST, *_NAMED)
    return {key: value for key, value in node.items() if key in inner or _is_json(value)}


def _is_json(value: object) -> bool:
    try:
        from_json(to_json(value, inf_nan_mode="constants"), allow_inf_nan=False)
    except ValueError:
        return False
    return True


def _plainer(node: Schema) -> Schema:
    told = list(_dropped(node))
    if not told:
        return node
    kept = {key: value for key, value in node.items() if key not in dict(told)}
    words = "; ".join(f"{key}: {value}" for key, value in told if value)
    if words:
        kept["description"] = f"{node.get('description', '')} ({words})".strip()
    return kept


def _dropped(node: Schema) -> Iterator[tuple[str, str]]:
    """The keywords that can't be sent, with what is told of them instead."""
    pattern = node.get("pattern")
    if isinstance(pattern, str):
        # A look-ahead is a machine's work, such as pydantic's for decimals, and tells a model nothing.
        yield "pattern", "" if "(?" in pattern else pattern
    if isinstance(node.get("patternProperties"), dict):
        yield "patternProperties", ""
    for keys, limit in ((_LENGTHS, MAX_REPETITIONS), (_NUMBERS, MAX_EXACT)):
        for key in keys:
            value = node.get(key)
            if isinstance(value, int | float) and abs(value) > limit:
                yield key, str(value)
