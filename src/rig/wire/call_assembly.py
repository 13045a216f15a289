"""Tool calls out of the fragments a stream sends them in. No I/O.

Which fragment belongs to which call is decided here and nowhere else, by index, id and name, none
of which is reliable: servers repeat one index for all calls, leave it out, send empty ids, or none.
What the fragments add up to is left as it is: reading names and arguments is `rig.wire.calls`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pydantic_core import from_json

from rig.messages import ToolCall, arguments_text, as_object
from rig.model import CallDelta, CallStage
from rig.wire.calls import call_entries, clean_tool_name
from rig.wire.calls import call_id as entry_id
from rig.wire.dialects import ARGUMENT_KEYS
from rig.wire.payload import is_parsed_object
from rig.wire.text_assembly import blank_end, byte_size

MAX_CALLS: Final = 1024
"""Calls of one reply that are kept. The loop runs none of a reply with more than 32; in a whole body
the cap of 1 MiB has room for about this many."""

MAX_COMPLETENESS_CHECKS: Final = 8
"""Times one call's arguments are parsed to tell whether a fragment begins another call. A server
that needs it sends whole calls, so once is enough; the bound keeps the work linear."""


MAX_PLACEHOLDER_CHARS: Final = 16
"""Length of arguments that may be a placeholder, `{}` or `null`, which the real ones replace."""

SURE_GROWTHS: Final = 2
"""Fragments that hold the one before them before each is taken for all arguments so far. One alone may
be an object inside of an object that begins the same way; until it is sure both readings are kept."""


class _Slot:
    """One call in the making.

    Attributes:
        parts: the fragments of its arguments, or the last one alone once that is known to hold all.
        chars: characters of those.
        bytes: what they count for in the cap.
        last: the last fragment, while each one so far holds all before it.
        growths: how often one did.
        cumulative: whether that may still be so.
        closed: the arguments end in a brace so far, blanks aside.
    """

    __slots__ = (
        "bytes", "chars", "checks", "closed", "cumulative", "growths", "has_index", "id", "index", "last",
        "name", "parts", "whole",
    )  # fmt: skip

    def __init__(self, index: int) -> None:
        self.index = index
        self.id = ""
        self.name = ""
        self.has_index = False
        self.checks = 0
        self.bytes = 0
        self.parts: list[str] = []
        self.replace("", whole=False)

    @property
    def joined(self) -> str:
        """The fragments one behind the other."""
        if len(self.parts) > 1:
            self.parts = ["".join(self.parts)]
        return self.parts[0] if self.parts else ""

    @property
    def text(self) -> str:
        """The arguments: where both readings are possible, the fragments together if that is JSON."""
        joined = self.joined
        if self.growths == 1 and self.cumulative and not _is_object(joined):
            return self.last
        return joined

    def replace(self, text: str, *, whole: bool) -> None:
        """Begin the arguments anew."""
        self.parts = [text] if text else []
        self.chars = len(text)
        self.last = text
        self.growths = 0
        self.cumulative = text.lstrip().startswith("{")
        self.closed = text.rstrip().endswith("}")
        self.whole = whole

    def append(self, text: str) -> None:
        """Add a fragment behind the others."""
        self.parts.append(text)
        self.chars += len(text)
        if stripped := text.rstrip():
            self.closed = stripped.endswith("}")
            self.whole = False
            self.cumulative = self.cumulative and text == self.last

    def grow(self, text: str) -> str:
        """Add a fragment that holds the one before it, and return what is new of it."""
        news = text[len(self.last) :]
        self.growths += 1
        if self.growths < SURE_GROWTHS:
            self.append(text)
        else:
            self.parts = [text]
            self.chars = len(text)
        self.closed = text.rstrip().endswith("}")
        self.whole = False
        self.cumulative = True
        self.last = text
        return news

    def repeats(self, text: str) -> bool:
        """Whether a fragment is all that came so far, once more."""
        if self.growths and self.cumulative and text == self.last:
            return True
        if len(text) != self.chars or text != self.joined:
            return False
        self.whole = self.whole or (self.closed and _is_object(text))
        return self.whole

    def is_complete(self) -> bool:
        """Whether the arguments so far are one JSON object."""
        if self.whole:
            return True
        if self.checks >= MAX_COMPLETENESS_CHECKS or not self.closed:
            return False
        self.checks += 1
        self.whole = _is_object(self.text)
        return self.whole

    def is_open(self) -> bool:
        """Whether a fragment without a name goes on here, although its id is a new one.

        Some servers make an id for every fragment; a call that is new brings its name.
        """
        return not self.is_complete() or _is_placeholder(self.text)


class CallAssembler:
    """Collects the calls of one reply.

    Attributes:
        size: bytes of ids, names and arguments kept.
        blank: characters of whitespace the call that came last ends with so far.
        overflow: True when the reply has more than `MAX_CALLS` calls; those beyond are dropped.
    """

    def __init__(self) -> None:
        self.size = 0
        self.blank = 0
        self._touched: _Slot | None = None
        self.overflow = False
        self._slots: list[_Slot] = []
        self._by_index: dict[object, _Slot] = {}
        self._by_id: dict[str, _Slot] = {}

    def add(self, tool_calls: object) -> list[CallDelta]:
        """Add the `tool_calls` of a delta.

        Args:
            tool_calls: the wire's value: a list of fragments, one alone, or fragments by index.

        Returns:
            What is new, in order.
        """
        news: list[CallDelta] = []
        for entry in call_entries(tool_calls):
            if not self._goes_on(entry, news):
                self._add(entry, news)
        return news

    def go_on(self, index: object, texts: Sequence[str]) -> list[CallDelta] | None:
        """Add fragments of the arguments of one call that came together, each as `goes_on` knows it.

        Args:
            index: of the call.
            texts: the fragments.

        Returns:
            What is new, in order; None when there is no call of that index. Nothing was added then.
        """
        slot = self._by_index.get(index) if type(index) is int else None
        if slot is None:
            return None
        news: list[CallDelta] = []
        for text in texts:
            self._add_to(slot, text, news)
        return news

    def add_legacy(self, function_call: object) -> None:
        """Add the deprecated `function_call` of a delta: one call without index and id."""
        function = as_object(function_call)
        if function is not None:
            self._add({"index": 0, "function": function}, [])

    def started(self) -> list[CallDelta]:
        """All calls as they would have been told of, for a consumer that saw none of them."""
        return [
            delta
            for slot in self._slots
            if slot.name
            for delta in (_delta(slot, "started"), _delta(slot, "arguments", slot.text))
        ]

    def named(self) -> list[int]:
        """The indexes of the calls that have a name, in order: those a reply can hold."""
        return [slot.index for slot in self._slots if slot.name]

    @property
    def touched(self) -> str | None:
        """The name of the call that came last, "" while it has none; None before there is one."""
        return None if self._touched is None else self._touched.name

    def wire(self) -> list[dict[str, object]]:
        """The calls as a body that was not streamed holds them."""
        return [
            {
                "id": slot.id,
                "type": "function",
                "function": {"name": slot.name, "arguments": slot.text},
            }
            for slot in self._slots
        ]

    def _goes_on(self, entry: Mapping[str, Any], news: list[CallDelta]) -> bool:
        """Add the usual fragment: index and arguments, nothing else; `_add` would do the same."""
        slot = self._by_index.get(entry["index"]) if goes_on(entry) else None
        if slot is None:
            return False
        self._add_to(slot, entry["function"]["arguments"], news)
        return True

    def _add_to(self, slot: _Slot, text: str, news: list[CallDelta]) -> None:
        fragment = self._keep(slot, text)
        if fragment and slot.name:
            news.append(_delta(slot, "arguments", fragment))

    def _add(self, entry: Mapping[str, object], news: list[CallDelta]) -> None:
        function = entry.get("function")
        source = as_object(function) or entry
        label = function if isinstance(function, str) else source.get("name")
        name = clean_tool_name(label) if label else ""
        value = _arguments(source)
        slot = self._slot(entry, name, value)
        if slot is None:
            return
        if name and not slot.name:
            slot.name = name
            self.size += byte_size(name)
            news.append(_delta(slot, "started"))
            if slot.parts:
                news.append(_delta(slot, "arguments", slot.text))
        fragment = "" if value is None else self._keep(slot, value)
        if fragment and slot.name:
            news.append(_delta(slot, "arguments", fragment))

    def _slot(self, entry: Mapping[str, object], name: str, value: object) -> _Slot | None:
        """The call a fragment belongs to, opened if need be; None when there are too many."""
        index = entry.get("index")
        if not isinstance(index, int | str) or isinstance(index, bool):
            index = None
        call_id = entry_id(entry)
        slot = self._found(index, call_id, name)
        if slot is None or (name and _is_another(slot, index, call_id, name, value)):
            slot = self._opened()
        if slot is None:
            return None
        if call_id and not slot.id:
            slot.id = call_id
            self._by_id[call_id] = slot
            self.size += byte_size(call_id)
        if index is not None:
            slot.has_index = True
            self._by_index[index] = slot
        return slot

    def _found(self, index: int | str | None, call_id: str, name: str) -> _Slot | None:
        """The call that index and id name; without either, the one that was opened last."""
        last = self._slots[-1] if self._slots else None
        known = self._by_id.get(call_id) if call_id else None
        if index is None:
            slot = last
        else:
            slot = self._by_index.get(index)
            if slot is None and not name and last is not None and not last.has_index:
                slot = last
        if not call_id or (index is not None and slot is not None and slot.id in {"", call_id}):
            return slot
        if known is None:
            return slot if slot is not None and not name and slot.is_open() else None
        if name and index is not None and index not in self._by_index and known.has_index:
            return None  # one id for all calls: their indexes tell them apart
        return known

    def _opened(self) -> _Slot | None:
        if len(self._slots) >= MAX_CALLS:
            self.overflow = True
            return None
        slot = _Slot(len(self._slots))
        self._slots.append(slot)
        return slot

    def _keep(self, slot: _Slot, value: object) -> str:
        """Keep a fragment of arguments and return what is new of it."""
        text = value if isinstance(value, str) else arguments_text(value)
        if not text:
            return ""
        before = self.blank if slot is self._touched else 0
        self._touched = slot
        self.blank = blank_end(text, before) if text[-1].isspace() else 0
        if slot.parts and text[0] != "{" and not text[0].isspace():
            slot.append(text)
            news, size = text, slot.bytes + byte_size(text)
        elif slot.repeats(text):
            return ""  # the last chunk holds the whole arguments once more
        else:
            news = _begin_or_add(slot, text, is_text=isinstance(value, str))
            size = byte_size(text) + (slot.bytes if len(slot.parts) > 1 else 0)
        self.size += size - slot.bytes
        slot.bytes = size
        return news


def goes_on(entry: Mapping[str, Any]) -> bool:
    """Whether a member of `tool_calls` is the usual fragment: index and arguments, nothing else."""
    function = entry.get("function")
    if type(entry.get("index")) is not int or entry.get("id") or not is_parsed_object(function):
        return False
    return type(function.get("arguments")) is str and not function.get("name")


def _begin_or_add(slot: _Slot, text: str, *, is_text: bool) -> str:
    """Add a fragment that may be the arguments from their start, and return what is new of it."""
    begins = text.lstrip().startswith("{")
    short = slot.chars <= MAX_PLACEHOLDER_CHARS
    if not slot.parts or (begins and short and _is_placeholder(slot.joined)):
        slot.replace(text, whole=not is_text)
    elif not is_text and slot.is_complete():
        slot.replace(text, whole=True)
        return ""
    elif begins and slot.cumulative and len(text) > len(slot.last) and text.startswith(slot.last):
        return slot.grow(text)
    else:
        slot.append(text)
    return text


def _is_another(
    slot: _Slot, index: int | str | None, call_id: str, name: str, value: object
) -> bool:
    """Whether a fragment with a name begins another call, although index and id name this one.

    Servers repeat a name in every fragment, so the arguments have to tell: an object that is
    complete can't go on.
    """
    if not slot.name or (call_id and call_id == slot.id):
        return False
    if index is None and name != slot.name:
        return True
    text = value if isinstance(value, str) else "{" if value is not None else ""
    if not text.lstrip().startswith("{") or not slot.is_complete():
        return False
    repeated = index is not None and not call_id and name == slot.name
    return not (repeated and (arguments_text(value) if text == "{" else text) == slot.text)


def finished_calls(indexes: Sequence[int], calls: Sequence[ToolCall]) -> Iterator[CallDelta]:
    """The news that the calls of a complete reply are whole.

    Args:
        indexes: what the calls were called in the news before.
        calls: the reply's calls.

    Yields:
        One for each call whose arguments were not cut; none where the two do not match.
    """
    if len(indexes) != len(calls):
        return
    for index, call in zip(indexes, calls, strict=True):
        if not _is_cut(call.arguments):
            yield CallDelta(
                stage="finished",
                index=index,
                id=call.id,
                name=call.name,
                arguments=call.arguments,
            )


def whole_calls(calls: Sequence[ToolCall], *, cut: bool) -> Iterator[CallDelta]:
    """The news of calls that became known all at once.

    Args:
        calls: the calls of a reply.
        cut: the reply was cut: then no call is finished.
    """
    for index, call in enumerate(calls):
        yield CallDelta(stage="started", index=index, id=call.id, name=call.name)
        yield CallDelta(
            stage="arguments", index=index, id=call.id, name=call.name, arguments=call.arguments
        )
    if not cut:
        yield from finished_calls(range(len(calls)), calls)


def _is_cut(arguments: str) -> bool:
    try:
        from_json(arguments, allow_inf_nan=False)
    except (ValueError, TypeError):  # TypeError: a str that holds lone surrogates
        from rig.text.arguments import read_arguments  # noqa: PLC0415 of broken calls

        return read_arguments(arguments).kind == "truncated"
    return False


def _is_object(text: str) -> bool:
    try:
        return isinstance(from_json(text, allow_inf_nan=False), dict)
    except (ValueError, TypeError):  # TypeError: a str that holds lone surrogates
        return False


def _is_placeholder(text: str) -> bool:
    """Whether arguments say nothing, as those do that only open a call."""
    return bool(text.strip()) and arguments_text(text) == "{}"


def _arguments(source: Mapping[str, object]) -> object:
    value = source.get(ARGUMENT_KEYS[0])
    if value is not None:
        return value
    return next((source[key] for key in ARGUMENT_KEYS if source.get(key) is not None), None)


def _delta(slot: _Slot, stage: CallStage, arguments: str = "") -> CallDelta:
    return CallDelta(stage=stage, index=slot.index, id=slot.id, name=slot.name, arguments=arguments)
