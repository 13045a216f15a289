"""Tools as a system prompt lists them. No I/O, stdlib only."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Protocol, cast

MAX_SHOWN_DEPTH: Final = 4
"""Objects inside each other whose keys are shown."""

MAX_SHOWN_VALUES: Final = 20
"""Values of an enumeration that are shown; the grammar knows all of them."""

_SCALARS = frozenset({"string", "integer", "number", "boolean", "null"})


class PromptTool(Protocol):
    """What a prompt says of a tool; `rig.Tool` is one."""

    @property
    def name(self) -> str:
        """1 to 64 letters, digits, `_` and `-`."""
        ...

    @property
    def description(self) -> str:
        """One sentence for the model."""
        ...

    @property
    def input_schema(self) -> Mapping[str, Any]:
        """JSON schema of the input, an object."""
        ...


def tool_list(tools: Iterable[PromptTool]) -> str:
    """The tools, one line each and one for every parameter that is described, in the order given.

    `- name(path: string, mode?: "a" | "w"): What it does.` Parameters stand in the order of the
    schema, which is the order a grammar wants them in; `?` marks those that may be left out.

    Args:
        tools: what the model may call; a tool without a name is left out.
    """
    return "\n".join(line for tool in tools if tool.name for line in _lines(tool))


def _lines(tool: PromptTool) -> list[str]:
    head = f"- {tool.name}({_parameters(tool.input_schema, depth=0)})"
    words = _one_line(tool.description)
    lines = [f"{head}: {words}" if words else head]
    for name, schema in _properties(tool.input_schema).items():
        told = _as_schema(schema).get("description")
        if isinstance(told, str) and told.strip():
            lines.append(f"  {name}: {_one_line(told)}")
    return lines


def _parameters(schema: Mapping[str, object], *, depth: int) -> str:
    needed = _as_list(schema.get("required"))
    return ", ".join(
        f"{name}{'' if name in needed else '?'}{_colon(kind)}"
        for name, kind in (
            (name, _kind(inner, depth=depth)) for name, inner in _properties(schema).items()
        )
    )


def _colon(kind: str) -> str:
    return f": {kind}" if kind else ""


def _kind(schema: object, *, depth: int) -> str:
    """What a value is, in a few words; "" where nothing is known."""
    node = _as_schema(schema)
    if "const" in node:
        return json.dumps(node["const"], ensure_ascii=False)
    values = _as_list(node.get("enum"))
    if values:
        shown = [json.dumps(value, ensure_ascii=False) for value in values[:MAX_SHOWN_VALUES]]
        return " | ".join([*shown, "..."] if len(values) > len(shown) else shown)
    for keyword in ("anyOf", "oneOf"):
        options = _as_list(node.get(keyword))
        if options and depth < MAX_SHOWN_DEPTH:
            kinds = (_kind(option, depth=depth + 1) for option in options)
            return " | ".join(filter(None, dict.fromkeys(kinds)))
    kind = node.get("type")
    if listed := _as_list(kind):
        return " | ".join(item for item in listed if isinstance(item, str))
    if kind == "object" and _properties(node) and depth < MAX_SHOWN_DEPTH:
        return f"{{{_parameters(node, depth=depth + 1)}}}"
    if kind == "array" and depth < MAX_SHOWN_DEPTH:
        item = _kind(node.get("items"), depth=depth + 1)
        return f"array of {item}" if item in _SCALARS else f"array of ({item})" if item else "array"
    return kind if isinstance(kind, str) else ""


def _properties(schema: Mapping[str, object]) -> Mapping[str, object]:
    return _as_schema(schema.get("properties"))


def _as_schema(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def _as_list(value: object) -> Sequence[object]:
    return cast("Sequence[object]", value) if isinstance(value, list | tuple) else ()


def _one_line(text: str) -> str:
    return " ".join(text.split())
