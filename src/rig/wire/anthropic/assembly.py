"""The events of a streamed message of Anthropic's API to deltas, and in the end to a `Reply`. No I/O.

Each event is read into the chunk of a chat completion that says the same; what chunks add up to is
decided in one place, `rig.wire.assembly`. Blocks may overlap: llama.cpp signs and stops a thought
after the text behind it has begun (measured on b11549).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from rig.errors import ResponseTooLargeError, RigError
from rig.messages import SignedThought, as_array, as_object
from rig.model import Delta, Reply
from rig.text.salvage import OfferedTool
from rig.wire.anthropic.decode import (
    REASONING_FIELD,
    call_of,
    ending_of,
    refusal_of,
    signed,
    text_in,
    with_thoughts,
)
from rig.wire.anthropic.usage import completion_usage, merge_usage
from rig.wire.assembly import MAX_RESPONSE_BYTES, StreamAssembler
from rig.wire.call_assembly import goes_on
from rig.wire.plain_events import NOWHERE, text_place
from rig.wire.text_assembly import byte_size

MAX_BLOCKS: Final = 4096
"""Blocks of one message that are kept apart. Honest ones have a dozen; a thought, a text and a call
for each of the 1,024 calls a reply may have at most are 3,072."""


_TEXT: Final = text_place("delta", "text")
_THOUGHT: Final = text_place("delta", "thinking")._replace(kind="thought", source=REASONING_FIELD)
_INPUT: Final = text_place("delta", "partial_json")._replace(kind="arguments")


@dataclass(slots=True, kw_only=True)
class _Block:
    """One block in the making."""

    kind: str = ""
    input: object = None
    thinking: list[str] = field(default_factory=list[str])
    signature: list[str] = field(default_factory=list[str])
    data: list[str] = field(default_factory=list[str])

    def thought(self) -> SignedThought | None:
        if self.kind == "redacted_thinking":
            return signed(kind="redacted_thinking", data="".join(self.data))
        if self.kind == "thinking":
            return signed(thinking="".join(self.thinking), signature="".join(self.signature))
        return None


class MessageAssembler(StreamAssembler):
    """Assembles one message out of its events; a `StreamAssembler` for another wire.

    Args:
        max_response_bytes: limit for text, reasoning and calls together, in bytes.
        thinking: the reply begins inside a thought, because the template writes the opening tag.
        tools: what was offered; calls that come as text are held back and read at the end.
    """

    def __init__(
        self,
        *,
        max_response_bytes: int = MAX_RESPONSE_BYTES,
        thinking: bool = False,
        tools: Sequence[OfferedTool] = (),
    ) -> None:
        super().__init__(max_response_bytes=max_response_bytes, thinking=thinking, tools=tools)
        self._blocks: dict[object, _Block] = {}
        self._counters: dict[str, object] = {}

    def _take_chunk(self, kind: str, chunk: dict[str, Any], deltas: list[Delta]) -> None:
        """Take an event of a message, or a chunk of a completion; events of other kinds say nothing."""
        name = chunk.get("type", "" if kind == "message" else kind)
        if not name or "choices" in chunk or chunk.get("error"):
            super()._take_chunk("message", chunk, deltas)
        elif name == "content_block_delta":
            self._take_delta(chunk, deltas)
        elif name == "content_block_start":
            self._begin(_index(chunk), as_object(chunk.get("content_block")) or {}, deltas)
        elif name == "content_block_stop":
            self._give_input(_index(chunk), deltas)
        elif name == "message_start":
            self._take_message(as_object(chunk.get("message")) or {}, deltas)
        elif name == "message":
            self._take_message(chunk, deltas)
        elif name == "message_delta":
            self._note_counters(chunk.get("usage"))
            self._take_ending(as_object(chunk.get("delta")) or {}, deltas)
        elif name == "message_stop":
            self._end(deltas)

    def _take_message(self, message: Mapping[str, object], deltas: list[Delta]) -> None:
        head = {name: message[name] for name in ("id", "model") if name in message}
        super()._take_chunk("message", {**head, "choices": [{"delta": {}}]}, deltas)
        self._note_counters(message.get("usage"))
        for index, entry in enumerate(as_array(message.get("content")) or ()):
            self._begin(index, as_object(entry) or {}, deltas)
        if message.get("stop_reason"):
            self._take_ending(message, deltas)

    def _take_ending(self, message: Mapping[str, object], deltas: list[Delta]) -> None:
        choice = {"delta": refusal_of(message), **ending_of(message)}
        super()._take_chunk("message", {"choices": [choice]}, deltas)

    def _begin(self, index: object, wire: Mapping[str, object], deltas: list[Delta]) -> None:
        block = self._block(index)
        block.kind = text_in(wire, "type")
        if block.kind == "text":
            self._add({"content": text_in(wire, "text")}, deltas)
        elif block.kind == "thinking":
            self._think(block, text_in(wire, "thinking"), deltas)
            self._keep(block.signature, text_in(wire, "signature"), deltas)
        elif block.kind == "redacted_thinking":
            self._keep(block.data, text_in(wire, "data"), deltas)
        elif block.kind == "tool_use":
            block.input = wire.get("input")
            self._add({"tool_calls": [{"index": index, **call_of(wire, "")}]}, deltas)

    def _take_delta(self, chunk: dict[str, Any], deltas: list[Delta]) -> None:
        """Take a piece of a block; one that never began is what its pieces are."""
        delta = as_object(chunk.get("delta")) or {}
        kind = delta.get("type")
        if kind == "text_delta":
            text = text_in(delta, "text")
            self._add({"content": text}, deltas)
            self._alone = _TEXT if text else NOWHERE
            return
        index = _index(chunk)
        block = self._block(index)
        if kind == "input_json_delta" and block.kind in {"", "tool_use"}:
            block.input = None
            text = text_in(delta, "partial_json")
            call = {"index": index, "function": {"arguments": text}}
            self._add({"tool_calls": [call]}, deltas)
            self._alone = _INPUT if text and goes_on(call) else NOWHERE
        elif kind == "thinking_delta":
            thought = text_in(delta, "thinking")
            self._think(block, thought, deltas)
            self._alone = _THOUGHT if thought else NOWHERE
        elif kind == "signature_delta":
            self._keep(block.signature, text_in(delta, "signature"), deltas)

    def _stays_plain(self, chunk: Mapping[str, Any]) -> bool:
        return "choices" not in chunk or super()._stays_plain(chunk)

    def _plain_call(self) -> object:
        if self._plain.place is not _INPUT:
            return super()._plain_call()
        index = _index(self._plain.event)
        block = self._blocks[index]
        if block.kind not in {"", "tool_use"}:
            return None
        block.input = None
        return index

    def _note_thoughts(self, texts: Sequence[str]) -> None:
        if self._plain.place is not _THOUGHT:
            return
        block = self._blocks[_index(self._plain.event)]
        block.kind = "thinking"
        block.thinking.extend(texts)

    def _think(self, block: _Block, text: str, deltas: list[Delta]) -> None:
        block.kind = "thinking"
        block.thinking.append(text)
        self._add({REASONING_FIELD: text}, deltas)

    def _keep(self, kept: list[str], text: str, deltas: list[Delta]) -> None:
        """Keep what is never shown, within the limit of all the rest."""
        kept.append(text)
        self._other_size += byte_size(text)
        self._add({}, deltas)

    def _add(self, delta: dict[str, object], deltas: list[Delta]) -> None:
        super()._take_chunk("message", {"choices": [{"delta": delta}]}, deltas)

    def _block(self, index: object) -> _Block:
        block = self._blocks.get(index)
        if block is None:
            block = self._blocks[index] = _Block()
            if len(self._blocks) > MAX_BLOCKS and not self.complete:
                self.fault = ResponseTooLargeError(
                    f"the reply holds more than {MAX_BLOCKS} blocks", reason="blocks"
                )
        return block

    def _give_input(self, index: object, deltas: list[Delta]) -> None:
        """Hand out an input that came whole, with the block's begin, and not in pieces behind it."""
        block = self._blocks.get(index)
        if block is not None and block.input:
            function = {"arguments": block.input}
            block.input = None
            self._add({"tool_calls": [{"index": index, "function": function}]}, deltas)

    def _note_counters(self, usage: object) -> None:
        self._counters = merge_usage(self._counters, usage)
        self._note_usage(completion_usage(self._counters))

    def _settle(self, deltas: list[Delta]) -> None:
        if self._outcome is None:
            for index in self._blocks:
                self._give_input(index, deltas)
        super()._settle(deltas)

    def _decoded(self) -> Reply | RigError:
        outcome = super()._decoded()
        thoughts = [block.thought() for block in self._blocks.values()]
        kept = tuple(thought for thought in thoughts if thought is not None)
        return with_thoughts(outcome, kept) if isinstance(outcome, Reply) else outcome


def _index(chunk: Mapping[str, object]) -> object:
    index = chunk.get("index")
    return index if isinstance(index, int | str) else 0
