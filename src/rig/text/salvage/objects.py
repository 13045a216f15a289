"""Objects that say a call, whatever they name its parts. No I/O."""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import Final, cast

from rig.late_dataclass import dataclass
from rig.text.arguments import read_arguments
from rig.text.duplicate_keys import DUPLICATE_KEY, DuplicateKind, duplicate_keys
from rig.text.json_builder import build_json
from rig.text.json_repair import repair_json
from rig.text.salvage.calls import Problem, SalvagedCall
from rig.text.salvage.json_values import arguments_json
from rig.text.salvage.offer import Offer
from rig.text.schema_types import schema_types

NAME_KEYS: Final = (
    "name",
    "tool",
    "function",
    "tool_name",
    "function_name",
    "action",
    "recipient_name",
    "toolName",
    "functionName",
)
"""Where a call names its tool (ollama/ollama 12738, LangChain's `action`, OpenAI's parallel wrapper)."""

ARGUMENT_KEYS: Final = (
    "arguments",
    "parameters",
    "args",
    "input",
    "action_input",
    "tool_input",
    "params",
    "tool_args",
    "tool_parameters",
    "function_args",
    "function_arguments",
    "kwargs",
    "toolInput",
    "toolArgs",
    "functionArgs",
)
"""Where it has its arguments (NousResearch/hermes-agent 5867)."""

ENVELOPE_KEYS: Final = (
    "tool_calls",
    "tool_call",
    "function_call",
    "function_calls",
    "tool_uses",
    "calls",
    "toolCalls",
    "toolCall",
    "functionCall",
    "functionCalls",
)
"""What calls are wrapped in: OpenAI's own messages, as text."""

FIRST_KEYS: Final = frozenset(
    {*NAME_KEYS, *ARGUMENT_KEYS, *ENVELOPE_KEYS}
    | {"id", "type", "index", "call_id", "tool_call_id", "thought", "thoughts", "reasoning", "role"}
    | {"content"}
)
"""What the first key of an object must be for it to be a call. So a stream need not hold back an object
that begins in any other way, and a call inside of other data is data."""

COMMENT_KEYS: Final = frozenset(
    {"thought", "thoughts", "thinking", "reasoning", "rationale", "explanation", "reason", "comment", "note", "purpose"}
    | {"goal", "plan", "step", "confidence", "content", "message", "title", "label"}
)  # fmt: skip
"""Keys beside a call that say something about it. Their values are dropped, and `repairs` says so. Any other key
that is none of a call's makes an object data: what it holds may be what matters most to the tool."""

_MARK_KEYS: Final = frozenset({"id", "type", "index", "call_id", "tool_call_id", "role"})
_TYPES: Final = frozenset(
    {"function", "tool", "tool_use", "tool_call", "function_call", "action", "call"}
)
_NESTING: Final = (
    "function",
    "tool",
    "action",
    "function_call",
    "tool_call",
    "functionCall",
    "toolCall",
)
_FREE_ARGUMENTS: Final = frozenset(
    {"arguments", "action_input", "tool_input", "function_args", "function_arguments", "tool_args"}
)
"""Keys whose value may be a text where nothing else marks the call; `input` is a word of data too."""

DROPPED: Final = "dropped_keys"
"""What `repairs` says where something stood beside a call that is no part of it."""

MAX_ENVELOPES: Final = 3
"""Wrappers inside each other that are opened: a message, its `tool_calls`, and their `function`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The calls in a value.

    Attributes:
        calls: those that can be made.
        problem: why others can't; "" when there are none.
    """

    calls: tuple[SalvagedCall, ...] = ()
    problem: Problem = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """How values are looked at.

    Attributes:
        offer: the tools.
        dialect: the dialect they are written in.
        repairs: what was mended in the text around them.
        certain: the text is nothing but calls, or says with its markup that it is one. Then a tool
            without required parameters needs no arguments, and they may stand beside the name.
        bare: there is no markup that says so. Then a call without arguments is a name and nothing else,
            and not one of a list.
    """

    offer: Offer
    dialect: str
    repairs: tuple[str, ...] = ()
    certain: bool = False
    bare: bool = False


def find_calls(value: object, setting: Setting) -> Found:
    """The calls that a JSON value says.

    Args:
        value: the value.
        setting: how it is looked at.

    Returns:
        Neither calls nor a problem when it is other data.
    """
    found = [*_found(value, setting, MAX_ENVELOPES)]
    calls = tuple(call for one in found for call in one.calls)
    problems: list[Problem] = [one.problem for one in found if one.problem]
    return Found(calls=calls, problem=problems[0] if problems else "")


def named_call(name: str, arguments: object, setting: Setting) -> Found:
    """A call whose tool is known.

    Args:
        name: the tool.
        arguments: an object, or the text of one.
        setting: how they are looked at.
    """
    if isinstance(arguments, str):
        return _from_text(name, arguments, setting)
    if not isinstance(arguments, Mapping):
        return Found(problem="malformed")
    given = cast("Mapping[str, object]", arguments)
    if _is_schema(given, setting.offer.properties(name)):
        return Found(problem="malformed")  # the tool's own, which the model repeats
    text = arguments_json(given)
    if not text:
        return Found(problem="malformed")
    call = SalvagedCall(name=name, arguments=text, dialect=setting.dialect, repairs=setting.repairs)
    return Found(calls=(call,))


def more_doubled(
    doubled: DuplicateKind, arguments: Mapping[str, object], key: str, value: object
) -> DuplicateKind:
    """What is known of doubled keys when one more argument comes.

    Args:
        doubled: what was known before.
        arguments: those before it.
        key: its key.
        value: its value.
    """
    if key not in arguments or doubled == "different":
        return doubled
    before = arguments[key]
    return "equal" if type(before) is type(value) and before == value else "different"


def keyed_call(
    name: str, arguments: Mapping[str, object], setting: Setting, doubled: DuplicateKind
) -> Found:
    """A call whose arguments were read one by one.

    Args:
        name: the tool, "" when it is not offered.
        arguments: the arguments.
        setting: how they are looked at.
        doubled: whether a key came twice.
    """
    if not name:
        return Found(problem="unknown_tool")
    if doubled == "different":
        return Found(problem="malformed")
    repairs = (DUPLICATE_KEY,) if doubled == "equal" else ()
    return named_call(name, arguments, with_repairs(setting, *repairs))


def bare_call(name: str, setting: Setting) -> Found:
    """A call without any arguments: nothing is wrong with it where the tool needs none."""
    if setting.offer.required(name):
        return Found(problem="no_arguments")
    return named_call(name, {}, setting)


def with_repairs(setting: Setting, *repairs: str) -> Setting:
    """The setting after more was mended."""
    return replace(setting, repairs=tuple(dict.fromkeys((*setting.repairs, *repairs))))


def _is_schema(given: Mapping[str, object], known: Mapping[str, object]) -> bool:
    if isinstance(given.get("properties"), dict) and "properties" not in known:
        return True
    if given.get("type") == "object" and "type" not in known:
        return True
    return bool(given) and all(_is_type(value, known.get(key)) for key, value in given.items())


def _is_type(value: object, schema: object) -> bool:
    """Whether an object says of what type an argument is that is no object itself."""
    kinds = schema_types(schema)
    return isinstance(value, Mapping) and "type" in value and bool(kinds) and "object" not in kinds


def _found(value: object, setting: Setting, depth: int, *, listed: bool = False) -> Iterator[Found]:
    if isinstance(value, list):
        items = cast("list[object]", value)
        for item in items:
            inside = [*_found(item, setting, depth - 1, listed=True)] if depth else []
            yield from inside or [Found(problem="malformed")]
    elif isinstance(value, dict):
        wire = cast("dict[str, object]", value)
        envelope = _envelope(wire)
        if envelope and depth:
            yield from _opened(wire, envelope, setting, depth)
        elif (one := _one(wire, setting, listed=listed)) is not None:
            yield one
        else:
            yield from _by_key(wire, setting)


def _envelope(wire: Mapping[str, object]) -> str:
    """The key under which an envelope has its calls; "" when the object is a call itself, or is none."""
    if any(isinstance(wire.get(key), str) for key in NAME_KEYS if key not in {"name", "action"}):
        return ""
    if "name" in wire and any(key in wire for key in ARGUMENT_KEYS):
        return ""
    return next((key for key in ENVELOPE_KEYS if isinstance(wire.get(key), list | dict)), "")


def _opened(
    wire: Mapping[str, object], envelope: str, setting: Setting, depth: int
) -> Iterator[Found]:
    """The calls in an envelope; what stands beside them must be about them."""
    dropped = _beside_call(wire, {envelope})
    if dropped is None:
        yield Found(problem="malformed")
        return
    inside = with_repairs(setting, *dropped)
    if envelope != "calls":  # a word of data too
        inside = replace(inside, bare=False)
    yield from _found(wire[envelope], inside, depth - 1)


def _beside_call(wire: Mapping[str, object], used: Set[str]) -> tuple[str, ...] | None:
    """What has to be told about keys beside a call; None where one of them makes it something else."""
    dropped = False
    for key, value in wire.items():
        if key in used or value is None:
            continue
        if key == "type":
            if not isinstance(value, str) or value.lower() not in _TYPES:
                return None
        elif key == "role":
            if value not in {"assistant", "model"}:
                return None
        elif key in COMMENT_KEYS:
            dropped = dropped or value not in ("", [], {})
        elif key not in _MARK_KEYS:
            return None
    return (DROPPED,) if dropped else ()


def _one(wire: Mapping[str, object], setting: Setting, *, listed: bool) -> Found | None:
    """The one call that an object is, None when it says none."""
    nesting = next((key for key in _NESTING if isinstance(wire.get(key), dict)), "")
    inner = cast("Mapping[str, object]", wire[nesting]) if nesting else wire
    named = [(key, value) for key in NAME_KEYS if isinstance(value := inner.get(key), str)]
    name_key, name = next(
        ((key, found) for key, value in named if (found := setting.offer.find(value))), ("", "")
    )
    keys = [key for key in ARGUMENT_KEYS if key in inner] or [
        key for key in ARGUMENT_KEYS if key in wire and nesting
    ]
    source = inner if any(key in inner for key in keys) else wire
    given: object = source[keys[0]] if keys else None
    if not name:
        # Every tool may be named by a key instead, see _by_key; a call of an unknown one is a problem
        # only where it is certain to be a call.
        return Found(problem="unknown_tool") if named and isinstance(given, dict) else None
    doubled = _doubled(source, keys, [value for _, value in named], setting)
    if doubled is None:
        return Found(problem="malformed")
    if given is None:
        return _without(name_key, name, wire, inner, setting, listed=listed)
    outer = _beside_call(wire, {nesting, *keys}) if nesting else ()
    dropped = _beside_call(inner, {*keys, *(key for key, _ in named)})
    if outer is None or dropped is None:
        return Found(problem="malformed")
    if not (setting.certain or isinstance(source[keys[0]], dict) or keys[0] in _FREE_ARGUMENTS):
        return Found(problem="malformed")
    if dropped and not setting.certain:
        return Found(problem="malformed")
    if nesting and setting.bare and not given and keys[0] == "parameters":
        return Found(problem="malformed")  # the definition of a tool without parameters
    return named_call(name, given, with_repairs(setting, *outer, *dropped, *doubled))


def _doubled(
    source: Mapping[str, object], keys: Sequence[str], names: Sequence[object], setting: Setting
) -> tuple[str, ...] | None:
    """What has to be told of a call that says a part of it twice; None where it says two things."""
    tools = {setting.offer.find(name) or name for name in names}
    values = [source[key] for key in keys if source[key] is not None]
    if len(tools) > 1 or any(value != values[0] for value in values[1:]):
        return None
    return (DUPLICATE_KEY,) if len(values) > 1 or len(names) > 1 else ()


def _without(
    key: str,
    name: str,
    wire: Mapping[str, object],
    inner: Mapping[str, object],
    setting: Setting,
    *,
    listed: bool,
) -> Found:
    """A call whose arguments stand beside its name, or that has none."""
    if not setting.certain:
        return Found(problem="no_arguments")
    listed = listed and setting.bare
    if not listed and (beside := _beside(key, name, inner, setting)):
        return beside
    used = {key, *NAME_KEYS, *ARGUMENT_KEYS} if not setting.bare else {key, *ARGUMENT_KEYS}
    outer = _beside_call(wire, {*used, *_NESTING}) if inner is not wire else ()
    dropped = _beside_call(inner, used)
    if outer is None or dropped is None or listed or (setting.bare and (outer or dropped)):
        return Found(problem="no_arguments")
    if setting.bare and not _is_mark(wire.get("id", "")):
        return Found(problem="no_arguments")
    return bare_call(name, with_repairs(setting, *outer, *dropped))


def _is_mark(value: object) -> bool:
    """Whether an id is one of a call, and not the number of a record."""
    return isinstance(value, str) and not value.isdecimal()


def _beside(key: str, name: str, wire: Mapping[str, object], setting: Setting) -> Found | None:
    """Arguments that stand beside the name: all of them parameters, and all that are required."""
    known = setting.offer.properties(name)
    rest = {name: value for name, value in wire.items() if name not in {key, "type", "id"}}
    if not rest or key in known or not rest.keys() <= known.keys():
        return None
    if not setting.offer.required(name) <= rest.keys():
        return None
    if setting.bare and not setting.offer.required(name):
        return None  # a record that happens to have such fields
    return named_call(name, rest, with_repairs(setting, "flattened"))


def _by_key(wire: Mapping[str, object], setting: Setting) -> Iterator[Found]:
    """Calls whose tool is the key of their arguments: `{"search": {"q": "x"}}`."""
    named = {key: setting.offer.find(key) for key in wire}
    if not setting.certain or not wire or not all(named.values()):
        return
    if not all(isinstance(value, dict) for value in wire.values()):
        return
    if setting.bare and not all(
        _fits(named[key], cast("Mapping[str, object]", value), setting, alone=len(wire) == 1)
        for key, value in wire.items()
    ):
        return
    for key, arguments in wire.items():
        yield named_call(named[key], arguments, setting)


def _fits(name: str, given: Mapping[str, object], setting: Setting, *, alone: bool) -> bool:
    """Whether an object is the arguments of a tool, and not a value that bears its name."""
    known, needed = setting.offer.properties(name), setting.offer.required(name)
    return given.keys() <= known.keys() and needed <= given.keys() and (alone or bool(given))


def _from_text(name: str, text: str, setting: Setting) -> Found:
    if not text.strip() and setting.offer.required(name):
        return Found(problem="no_arguments")
    read = read_arguments(text)
    repairs, kind, json_text = read.repairs, read.kind, read.text
    if kind == "malformed" and not read.ambiguous:
        mended = repair_json(text)
        if mended.kind == "repaired":
            kind, json_text, repairs = "object", mended.text, mended.repairs
        elif text.lstrip()[:1] not in {"{", "["}:
            return positional_call(name, [text], setting)
    if kind != "object":
        return Found(problem="truncated" if kind == "truncated" else "malformed")
    try:
        value = build_json(json_text)
    except ValueError:  # more digits than this process converts
        return Found(problem="malformed")
    if duplicate_keys(json_text) == "different":
        return Found(problem="malformed")
    return named_call(name, value, with_repairs(setting, *repairs))


def positional_call(name: str, values: Sequence[object], setting: Setting) -> Found:
    """A call whose arguments have no names: clear only where one can be meant.

    Args:
        name: the tool.
        values: the arguments.
        setting: how they are looked at.
    """
    parameter = setting.offer.sole_parameter(name)
    if not parameter or len(values) != 1:
        return Found(problem="no_arguments")
    return named_call(name, {parameter: values[0]}, with_repairs(setting, "positional"))
