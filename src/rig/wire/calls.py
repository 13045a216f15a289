"""Structured tool calls of a reply, in every shape servers give them, to `ToolCall`. No I/O.

What comes out has a name, an id no other call of the reply has, and arguments that are the text of
one JSON object wherever the model wrote one. Arguments that were cut or are no object stay as they
came: whether a call runs is decided in the loop, which must see what the model really wrote.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, cast

from pydantic_core import from_json

from rig.late_dataclass import dataclass
from rig.messages import NOT_A_NAME, ToolCall, arguments_text, as_array, as_object, cleaned_name
from rig.wire.dialects import ARGUMENT_KEYS, NAME_PREFIXES
from rig.wire.payload import OBJECT, mend_escapes, parse_json

ID_CHARS: Final = 9
"""Length of the ids made here. Mistral's templates and API refuse every id that is not exactly nine
letters and digits (ml-explore/mlx-lm 1375, vllm-project/vllm 9019); no other server cares."""

MAX_NAME_CHARS: Final = 256
"""Characters of a name that are looked at; a legal name has at most 64."""

ID_KEYS: Final = ("id", "call_id", "tool_call_id")
"""Where a call's id is; the second is the Responses API's name for it."""

_BLANK_FIELDS: Final = frozenset({"function", "index", "name", "type", *ID_KEYS})
_INVISIBLE: Final = re.compile(r"[\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff]")
_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_DEBRIS_STARTS: Final = ("<", "[", "{", "\n", "\r")
"""Where leaked markup begins behind a name (onnxruntime/mobius 520); none of these is legal in one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """The calls of one message.

    Attributes:
        calls: those that can be answered, in order.
        unusable: how many had no name or were of a kind rig does not know.
        blank: how many of those say nothing at all: some servers send one beside every text.
        nameless: how many of them hold arguments and no name. They may be another call's.
    """

    calls: tuple[ToolCall, ...] = ()
    unusable: int = 0
    blank: int = 0
    nameless: int = 0


NO_CALLS: Final = Calls()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    id: str
    name: str
    arguments: str
    repairs: tuple[str, ...]


def read_calls(message: Mapping[str, object], *, seed: bytes) -> Calls:
    """The tool calls of a message.

    The deprecated `function_call` counts only when `tool_calls` holds none: servers that send both mean
    one call (MeetKai/functionary 156).

    Args:
        message: the reply's message.
        seed: something of this reply that other replies of the conversation do not share, such as
            its body; missing and repeated ids are made from it, the same ones each time.

    Returns:
        The calls that can be answered, and how many can't.
    """
    if not message.get("tool_calls") and not message.get("function_call"):
        return NO_CALLS
    entries = call_entries(message.get("tool_calls"))
    drafts = [draft for entry in entries if (draft := _read_call(entry)) is not None]
    legacy = None if drafts else as_object(message.get("function_call"))
    if legacy:
        entries = [legacy]
        drafts = [draft for draft in (_read_call(legacy),) if draft is not None]
    ids = unique_ids([draft.id for draft in drafts], seed=seed)
    calls = tuple(
        ToolCall.made(
            id=call_id,
            name=draft.name,
            arguments=draft.arguments,
            origin="native",
            repairs=draft.repairs,
        )
        for call_id, draft in zip(ids, drafts, strict=True)
    )
    unusable = len(entries) - len(drafts)
    return Calls(
        calls=calls,
        unusable=unusable,
        blank=sum(map(_is_blank, entries)) if unusable else 0,
        nameless=sum(map(_is_nameless, entries)) if unusable else 0,
    )


def read_plain_calls(entries: list[Any]) -> tuple[ToolCall, ...] | None:
    """The calls of a `tool_calls` as OpenAI defines it, each with an id of its own; arguments may be an object.

    Args:
        entries: the wire's list.

    Returns:
        What `read_calls` gives for them, in a third of the time; None when there is none, or one is anything
        else: then `read_calls` must look.
    """
    calls: list[ToolCall] = []
    ids: set[str] = set()
    for entry in entries:
        if type(entry) is not OBJECT or type(function := entry.get("function")) is not OBJECT:
            return None
        told_id, name, told = entry.get("id"), function.get("name"), function.get("arguments")
        if type(told) is OBJECT:
            told = arguments_text(told)
        if not (type(told_id) is str and type(name) is str and type(told) is str):
            return None
        call_id, arguments = told_id.strip(), told.strip()
        if call_id in NOT_A_NAME or call_id in ids or name in NOT_A_NAME:
            return None
        if _PLAIN_NAME.fullmatch(name) is None or not _is_json_object(arguments):
            return None
        ids.add(call_id)
        calls.append(
            ToolCall.made(id=call_id, name=name, arguments=arguments, origin="native", repairs=())
        )
    return tuple(calls) or None


def unique_ids(ids: Sequence[str], *, seed: bytes) -> list[str]:
    """The ids with every missing and repeated one replaced.

    The first of equal ids keeps it, and a made id is never one that comes later.

    Args:
        ids: as they came; "" is missing.
        seed: what the new ids are made from.

    Returns:
        As many ids, all different and none empty.
    """
    taken = set(ids)
    kept: set[str] = set()
    if len(taken) == len(ids) and "" not in taken:
        return list(ids)
    digest = hashlib.sha256(seed).hexdigest()
    ordinal = 0
    out: list[str] = []
    for wanted in ids:
        chosen = wanted
        if not wanted or wanted in kept:
            while (chosen := fresh_id(digest, ordinal)) in taken:
                ordinal += 1
            taken.add(chosen)
        kept.add(chosen)
        out.append(chosen)
    return out


def fresh_id(seed: str, ordinal: int) -> str:
    """An id for a call that has none: the start of the SHA-256 of seed, NUL and ordinal, in hex.

    Args:
        seed: the digest of what `unique_ids` was given.
        ordinal: counts the ids made from one seed.
    """
    return hashlib.sha256(f"{seed}\0{ordinal}".encode()).hexdigest()[:ID_CHARS]


def clean_tool_name(value: object) -> str:
    """A tool's name without what leaks around it.

    Args:
        value: the wire's name.

    Returns:
        The text up to the first markup, without quotes, a `functions.` prefix and the `:0` Kimi K2
        puts behind that; "" when there is no name.
    """
    if isinstance(value, str) and _PLAIN_NAME.fullmatch(value):
        return cleaned_name(value)
    name = _INVISIBLE.sub("", cleaned_name(value)[:MAX_NAME_CHARS]).strip()
    while name.startswith("<") and ">" in name:
        name = name.partition(">")[2].lstrip()
    for start in _DEBRIS_STARTS:
        name = name.partition(start)[0]
    name = name.strip(" \t\"'`")
    for prefix in NAME_PREFIXES:
        if name.startswith(prefix):
            head, _, index = name.removeprefix(prefix).partition(":")
            name = head if not index or index.isdecimal() else name
    return cleaned_name(name)


def read_call_arguments(value: object) -> tuple[str, tuple[str, ...]]:
    """A call's arguments as text, and what was mended in them.

    Args:
        value: the wire's arguments: text, an object, null, or anything else.

    Returns:
        The text of one JSON object where the value holds one, else the text as it came; and the
        repairs, in order.
    """
    text = arguments_text(value)
    if _is_json_object(text):
        return text, ()
    mended = mend_escapes(text)
    escapes = () if mended == text else ("lone_surrogates",)
    if escapes and _is_json_object(mended):
        return mended, escapes
    from rig.text.arguments import read_arguments  # noqa: PLC0415 of broken calls

    read = read_arguments(mended)
    return (read.text, (*escapes, *read.repairs)) if read.kind == "object" else (text, ())


def call_entries(value: object) -> list[Mapping[str, object]]:
    """The members of `tool_calls`: a list, one call alone, calls by index, or JSON text of those."""
    if isinstance(value, str) and value.lstrip()[:1] in {"[", "{"}:
        value = _parsed(value)
    wire = as_object(value)
    if wire is not None:
        alone = "function" in wire or "name" in wire
        return [wire] if alone else _objects(wire.values())
    return _objects(as_array(value) or ())


def call_id(entry: Mapping[str, object]) -> str:
    """The id of one member of `tool_calls`; "" when it has none."""
    return next((found for key in ID_KEYS if (found := cleaned_name(entry.get(key)))), "")


def _parsed(text: str) -> object:
    try:
        return cast("object", parse_json(text))
    except ValueError:
        return None


def _is_blank(entry: Mapping[str, object]) -> bool:
    """Whether a call names no tool and has no arguments, not even `{}`."""
    function = as_object(entry.get("function")) or {}
    for scope, known in ((entry, _BLANK_FIELDS), (function, frozenset({"name"}))):
        for name, value in scope.items():
            blank = name in known or name in ARGUMENT_KEYS
            if not blank or (name in ARGUMENT_KEYS and not _says_nothing(value)):
                return False
    named = (entry.get("name"), function.get("name"), entry.get("function"))
    return entry.get("type") != "custom" and not any(clean_tool_name(name) for name in named)


def _is_nameless(entry: Mapping[str, object]) -> bool:
    """Whether an entry has no name, but arguments that say something."""
    source = as_object(entry.get("function")) or entry
    label = entry["function"] if isinstance(entry.get("function"), str) else source.get("name")
    if clean_tool_name(label):
        return False
    values = (source[key] for key in ARGUMENT_KEYS if source.get(key) is not None)
    return any(arguments_text(value) != "{}" for value in values)


def _says_nothing(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _objects(values: Iterable[object]) -> list[Mapping[str, object]]:
    return [wire for value in values if (wire := as_object(value)) is not None]


def _read_call(entry: Mapping[str, object]) -> _Draft | None:
    function = entry.get("function")
    source = as_object(function) or entry
    name = clean_tool_name(function if isinstance(function, str) else source.get("name"))
    if not name or (entry.get("type") == "custom" and source is entry):
        return None
    keys = (key for key in ARGUMENT_KEYS if source.get(key) is not None)
    arguments, repairs = read_call_arguments(source.get(next(keys, ARGUMENT_KEYS[0])))
    return _Draft(id=call_id(entry), name=name, arguments=arguments, repairs=repairs)


def _is_json_object(text: str) -> bool:
    try:
        return isinstance(from_json(text, allow_inf_nan=False), dict)
    except (ValueError, TypeError):  # TypeError: a str that holds lone surrogates
        return False
