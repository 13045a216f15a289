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
from rig.text.arguments import read_arguments
from rig.wire.calls import call_entries, clean_tool_name
from rig.wire.calls import call_id as entry_id
from rig.wire.dialects import ARGUMENT_KEYS
from rig.wire.payload import is_parsed_object
from rig.wire.text_assembly import byte_size

MAX_CALLS: Final = 1024
"""Calls of one reply that are kept. The loop runs none of a reply with more than 32; in a whole body
the cap of 1 MiB has room for about this many."""

MAX_COMPLETENESS_CHECKS: Final = 8
"""Times one call's arguments are parsed to tell whether a fragment begins another call. A server
that needs it sends whole calls, so once is enough; the bound keeps the work linear."""


class _Slot:
    """One call in the making."""

    __slots__ = ("checks", "has_index", "id", "index", "name", "parts", "whole")

    def __init__(self, index: int) -> None:
        self.index = index
        self.id = ""
        self.name = ""
        self.parts: list[str] = []
        self.has_index = False
        self.whole = False
        self.checks = 0

    @property
    def text(self) -> str:
        if len(self.parts) > 1:
            self.parts = ["".join(self.parts)]
        return self.parts[0] if self.parts else ""

    def is_complete(self) -> bool:
        """Whether the arguments so far are one JSON object."""
        if self.whole:
            return True
        if self.checks >= MAX_COMPLETENESS_CHECKS or not self.parts:
            return False
        if not self.parts[-1].rstrip().endswith("}"):
            return False
        self.checks += 1
        try:
            self.whole = isinstance(from_json(self.text, allow_inf_nan=False), dict)
        except ValueError:
            return False
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
        overflow: True when the reply has more than `MAX_CALLS` calls; those beyond are dropped.
    """

    def __init__(self) -> None:
        self.size = 0
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
        index = entry.get("index")
        function = entry.get("function")
        slot = self._by_index.get(index) if type(index) is int else None
        if slot is None or entry.get("id") or not is_parsed_object(function):
            return False
        text = function.get("arguments")
        if type(text) is not str or function.get("name"):
            return False
        fragment = self._keep(slot, text)
        if fragment and slot.name:
            news.append(_delta(slot, "arguments", fragment))
        return True

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
        if not text or (len(slot.parts) == 1 and text == slot.parts[0] and slot.is_complete()):
            return ""  # a whole object that comes again is the same one: the last chunk repeats it
        self.size += byte_size(text)
        if not isinstance(value, str) and slot.whole:
            slot.parts = [text]
            return ""
        slot.whole = (not isinstance(value, str) and not slot.parts) or (
            slot.whole and not text.strip()
        )
        slot.parts.append(text)
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
        return read_arguments(arguments).kind == "truncated"
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
