"""Objects that say a call, whatever they name its parts. No I/O."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from rig.text.arguments import read_arguments
from rig.text.json_builder import build_json
from rig.text.json_repair import repair_json
from rig.text.salvage.calls import Problem, SalvagedCall
from rig.text.salvage.json_values import arguments_json
from rig.text.salvage.offer import Offer

NAME_KEYS: Final = (
    "name",
    "tool",
    "function",
    "tool_name",
    "function_name",
    "action",
    "recipient_name",
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
)
"""Where it has its arguments (NousResearch/hermes-agent 5867)."""

ENVELOPE_KEYS: Final = (
    "tool_calls",
    "tool_call",
    "function_call",
    "function_calls",
    "tool_uses",
    "calls",
)
"""What calls are wrapped in: OpenAI's own messages, as text."""

FIRST_KEYS: Final = frozenset(
    {*NAME_KEYS, *ARGUMENT_KEYS, *ENVELOPE_KEYS}
    | {"id", "type", "index", "call_id", "tool_call_id", "thought", "thoughts", "reasoning", "role"}
    | {"content"}
)
"""What the first key of an object must be for it to be a call. So a stream need not hold back an object
that begins in any other way, and a call inside of other data is data."""

_NESTING: Final = ("function", "tool", "action")

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
    """

    offer: Offer
    dialect: str
    repairs: tuple[str, ...] = ()
    certain: bool = False


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
    if isinstance(given.get("properties"), dict) and "properties" not in setting.offer.properties(
        name
    ):
        return Found(problem="malformed")  # the tool's own schema, which the model repeats
    text = arguments_json(given)
    if not text:
        return Found(problem="malformed")
    call = SalvagedCall(name=name, arguments=text, dialect=setting.dialect, repairs=setting.repairs)
    return Found(calls=(call,))


def bare_call(name: str, setting: Setting) -> Found:
    """A call without any arguments: nothing is wrong with it where the tool needs none."""
    if setting.offer.required(name):
        return Found(problem="no_arguments")
    return named_call(name, {}, setting)


def with_repairs(setting: Setting, *repairs: str) -> Setting:
    """The setting after more was mended."""
    return Setting(
        offer=setting.offer,
        dialect=setting.dialect,
        repairs=tuple(dict.fromkeys((*setting.repairs, *repairs))),
        certain=setting.certain,
    )


def _found(value: object, setting: Setting, depth: int) -> Iterator[Found]:
    if isinstance(value, list):
        items = cast("list[object]", value)
        for item in items:
            inside = [*_found(item, setting, depth - 1)] if depth else []
            yield from inside or [Found(problem="malformed")]
    elif isinstance(value, dict):
        wire = cast("dict[str, object]", value)
        wrapped = _wrapped(wire)
        if wrapped is not None and depth:
            yield from _found(wrapped, setting, depth - 1)
        elif (one := _one(wire, setting)) is not None:
            yield one
        else:
            yield from _by_key(wire, setting)


def _wrapped(wire: Mapping[str, object]) -> object:
    """What an envelope holds; None when the object is a call itself, or is no envelope."""
    if any(isinstance(wire.get(key), str) for key in NAME_KEYS if key not in {"name", "action"}):
        return None
    if "name" in wire and any(key in wire for key in ARGUMENT_KEYS):
        return None
    for key in ENVELOPE_KEYS:
        value = wire.get(key)
        if isinstance(value, list | dict):
            return cast("object", value)
    return None


def _one(wire: Mapping[str, object], setting: Setting) -> Found | None:
    """The one call that an object is, None when it says none."""
    nested = next((wire[key] for key in _NESTING if isinstance(wire.get(key), dict)), wire)
    inner = cast("Mapping[str, object]", nested)
    written = [source[key] for source in (inner, wire) for key in NAME_KEYS if key in source]
    names = [name for name in written if isinstance(name, str)]
    name = next((found for one in names if (found := setting.offer.find(one))), "")
    given = next(
        (source[key] for source in (inner, wire) for key in ARGUMENT_KEYS if key in source), None
    )
    if not names or not name:
        # Every tool may be named by a key instead, see _by_key; a call of an unknown one is a problem
        # only where it is certain to be a call.
        return Found(problem="unknown_tool") if names and isinstance(given, dict) else None
    if given is not None:
        return named_call(name, given, setting)
    if not setting.certain:
        return Found(problem="no_arguments")
    return _beside(name, inner, setting) or bare_call(name, setting)


def _beside(name: str, wire: Mapping[str, object], setting: Setting) -> Found | None:
    """Arguments that stand beside the name: all of them parameters, and all that are required."""
    known = setting.offer.properties(name)
    key = next(key for key in NAME_KEYS if setting.offer.find(wire.get(key)) == name)
    rest = {name: value for name, value in wire.items() if name not in {key, "type", "id"}}
    if not rest or key in known or not rest.keys() <= known.keys():
        return None
    if not setting.offer.required(name) <= rest.keys():
        return None
    return named_call(name, rest, with_repairs(setting, "flattened"))


def _by_key(wire: Mapping[str, object], setting: Setting) -> Iterator[Found]:
    """Calls whose tool is the key of their arguments: `{"search": {"q": "x"}}`."""
    named = {key: setting.offer.find(key) for key in wire}
    if not setting.certain or not wire or not all(named.values()):
        return
    if all(isinstance(value, dict) for value in wire.values()):
        for key, arguments in wire.items():
            yield named_call(named[key], arguments, setting)


def _from_text(name: str, text: str, setting: Setting) -> Found:
    read = read_arguments(text)
    repairs, kind, json_text = read.repairs, read.kind, read.text
    if kind == "malformed":
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
