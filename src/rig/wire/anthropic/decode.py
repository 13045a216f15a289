"""A message of Anthropic's API to `Reply`. No I/O.

The message is read into the completion that says the same, and that is decoded like any other: one
place decides what leaked reasoning, odd calls and empty replies are worth.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, Literal

from rig.errors import ProtocolError
from rig.late_dataclass import dataclass
from rig.messages import SignedThought, as_array, as_object
from rig.model import Reply
from rig.text.salvage import OfferedTool
from rig.wire.anthropic.usage import completion_usage
from rig.wire.decode import parse_object, read_completion
from rig.wire.fault_text import read_fault
from rig.wire.told_faults import error_in_payload

REASONING_FIELD: Final = "reasoning_content"
"""The field a message's thoughts are read into; the one most servers take them back in."""

_SHARED: Final = ("id", "model", "timings")
_COUNTERS: Final = ("input_tokens", "count")


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocks:
    """What the blocks of a message hold.

    Attributes:
        texts: the visible texts, in order.
        thinking: the thoughts that can be read.
        calls: the calls, as a completion has them.
        thoughts: the thoughts as they go back.
    """

    texts: tuple[str, ...] = ()
    thinking: tuple[str, ...] = ()
    calls: tuple[Mapping[str, object], ...] = ()
    thoughts: tuple[SignedThought, ...] = ()


def decode_message(
    body: bytes, *, latency_s: float = 0.0, tools: Sequence[OfferedTool] = ()
) -> Reply:
    """The reply in the body of a 200.

    Args:
        body: the whole decoded body.
        latency_s: seconds the answer took, for the usage.
        tools: what was offered; where there are any, calls that came as text are read too.

    Returns:
        The reply, as `decode_chat` gives it; a chat completion, which some proxies answer with, is
        read too.

    Raises:
        RigError: the body tells of a fault; classified as the same fault with its own status is.
        EmptyReplyError: there is neither text nor calls in it.
        TruncatedToolCallError: it ends in the middle of a call that came as text.
        ProtocolError: the body is neither a message nor a completion, or a call that came as text
            can't be made.
    """
    payload = parse_object(body)
    if "choices" in payload:
        return read_completion(payload, body, latency_s=latency_s, tools=tools)
    fault = error_in_payload(payload)
    if fault is not None:
        raise fault
    blocks = read_blocks(payload.get("content"))
    choices = [choice_of(payload, blocks)] if "content" in payload else None
    completion = {
        **{name: payload[name] for name in _SHARED if name in payload},
        "choices": choices,
        "usage": completion_usage(payload.get("usage")),
    }
    reply = read_completion(completion, body, latency_s=latency_s, tools=tools)
    return with_thoughts(reply, blocks.thoughts)


def with_thoughts(reply: Reply, thoughts: tuple[SignedThought, ...]) -> Reply:
    """A reply with the thoughts that go back, also those that can't be read.

    Args:
        reply: the reply.
        thoughts: its thoughts as the server signed them.
    """
    if not thoughts:
        return reply
    field = reply.reasoning_field or REASONING_FIELD
    return replace(reply, thoughts=thoughts, reasoning_field=field)


def decode_count_tokens(body: bytes) -> int:
    """The number of tokens in an answer to /v1/messages/count_tokens.

    Args:
        body: the whole decoded body.

    Raises:
        RigError: the body tells of a fault.
        ProtocolError: it holds no count.
    """
    payload = parse_object(body)
    for name in _COUNTERS:
        count = payload.get(name)
        if isinstance(count, int) and not isinstance(count, bool) and count >= 0:
            return count
    fault = error_in_payload(payload)
    if fault is not None:
        raise fault
    raise ProtocolError(
        "the answer holds no count of tokens", reason="no_count", detail=read_fault(body).line
    )


def read_blocks(content: object) -> Blocks:
    """The blocks of a message's content; kinds nobody asked for are skipped.

    Args:
        content: the wire's value: a list of blocks, one alone, or a text.
    """
    texts: list[str] = []
    thinking: list[str] = []
    calls: list[Mapping[str, object]] = []
    thoughts: list[SignedThought] = []
    for block in _entries(content):
        kind = block.get("type")
        if kind == "text":
            texts.append(text_in(block, "text"))
        elif kind == "tool_use":
            calls.append(call_of(block, block.get("input")))
        elif kind == "thinking":
            thinking.append(text_in(block, "thinking"))
            thoughts.append(signed(thinking=thinking[-1], signature=text_in(block, "signature")))
        elif kind == "redacted_thinking":
            thoughts.append(signed(kind="redacted_thinking", data=text_in(block, "data")))
    return Blocks(
        texts=tuple(texts),
        thinking=tuple(thinking),
        calls=tuple(calls),
        thoughts=tuple(thoughts),
    )


def choice_of(message: Mapping[str, object], blocks: Blocks) -> dict[str, object]:
    """The one choice of the completion that says what a message says.

    Args:
        message: the message, for why it ended.
        blocks: what it holds.
    """
    return {
        "message": {
            "content": "".join(blocks.texts),
            REASONING_FIELD: "".join(blocks.thinking),
            "tool_calls": [*blocks.calls],
            **refusal_of(message),
        },
        **ending_of(message),
    }


def ending_of(message: Mapping[str, object]) -> dict[str, object]:
    """Why a message ended, as a choice says it; a refusal with the category the API names.

    Args:
        message: a message, or the delta of a `message_delta`.
    """
    details = as_object(message.get("stop_details")) or {}
    category = details.get("category")
    report = {category: {"filtered": True}} if isinstance(category, str) and category else None
    return {"finish_reason": message.get("stop_reason"), "content_filter_results": report}


def refusal_of(message: Mapping[str, object]) -> dict[str, object]:
    """What a message says of its refusal, as a completion's field; nothing where it says nothing.

    Args:
        message: a message, or the delta of a `message_delta`.
    """
    details = as_object(message.get("stop_details")) or {}
    explanation = details.get("explanation")
    said = isinstance(explanation, str) and details.get("type", "refusal") == "refusal"
    return {"refusal": explanation} if said else {}


def call_of(block: Mapping[str, object], arguments: object) -> dict[str, object]:
    """A `tool_use` block as a completion's call.

    Args:
        block: the block, for id and name.
        arguments: its input.
    """
    return {
        "id": block.get("id"),
        "type": "function",
        "function": {"name": block.get("name"), "arguments": arguments},
    }


def signed(
    *,
    kind: Literal["thinking", "redacted_thinking"] = "thinking",
    thinking: str = "",
    signature: str = "",
    data: str = "",
) -> SignedThought:
    """A thought to send back, of texts that need no check."""
    return SignedThought.made(type=kind, thinking=thinking, signature=signature, data=data)


def text_in(block: Mapping[str, object], name: str) -> str:
    """A field of a block as text; "" when it is none."""
    value = block.get(name)
    return value if isinstance(value, str) else ""


def _entries(content: object) -> Sequence[Mapping[str, object]]:
    if isinstance(content, str):
        return ({"type": "text", "text": content},)
    entries = as_array(content)
    wires = (as_object(entry) for entry in ((content,) if entries is None else entries))
    return [wire for wire in wires if wire is not None]
