"""What a run may spend, and what it has spent so far. No I/O.

Nothing here measures time: the deadline of `Budget.seconds` is a cancel scope of the driver.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic_core import to_json

from rig.errors import InvalidRequestError
from rig.messages import Message, TextPart
from rig.model import ChatRequest, Reply, ToolSpec

BYTES_PER_TOKEN = 4
"""Bytes of UTF-8 text counted as one token where the server reported no usage, rounded up. The usual
estimate for English and code; other scripts have fewer bytes a token, so it counts them too low."""

MEDIA_PART_TOKENS = 1000
"""Tokens one image or audio part counts for in an estimate. A 1024 x 1024 image is 576 tokens for
LLaVA 1.5 and about 1,300 for Qwen2.5-VL; its base64 text would be counted a hundred times as high."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What one run may spend; `None` is no limit.

    Exactly the limit passes. A run with history starts at zero.

    Attributes:
        tokens: prompt and completion tokens of all its requests together, at least 1. What a server
            did not report is estimated from the bytes sent and received.
        seconds: wall-clock seconds from the start of the run to its end, above 0; at the deadline the
            request or tool in flight is cancelled.

    Raises:
        InvalidRequestError: a limit is no number or not above zero.
    """

    tokens: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        if self.tokens is not None and (not _is_number(self.tokens, int) or self.tokens < 1):
            raise InvalidRequestError(
                "Budget(tokens=...) must be a whole number of tokens from 1 up, or None for no limit"
            )
        if self.seconds is not None and (
            not _is_number(self.seconds, int, float)
            or not math.isfinite(self.seconds)
            or self.seconds <= 0
        ):
            raise InvalidRequestError(
                "Budget(seconds=...) must be a number of seconds above 0, or None for no limit"
            )


def _is_number(value: object, *types: type) -> bool:
    return isinstance(value, types) and not isinstance(value, bool)


def tokens_spent(request: ChatRequest, reply: Reply) -> int:
    """What one exchange cost, in tokens.

    Args:
        request: what was sent.
        reply: what came back.

    Returns:
        The reported total, or the estimate of both sides where nothing was reported.
    """
    if reply.usage.reported:
        return reply.usage.total_tokens
    answer = len(reply.reasoning.encode("utf-8", "replace"))
    return (
        estimate_tokens(request.messages)
        + sum(_spec_tokens(spec) for spec in request.tools)
        + estimate_tokens([reply.message()])
        + (0 if reply.reasoning_field else -(-answer // BYTES_PER_TOKEN))
    )


def estimate_tokens(messages: Sequence[Message]) -> int:
    """The size of messages in tokens, estimated from their bytes and rounded up.

    Args:
        messages: what would be sent.
    """
    return sum(_message_tokens(message) for message in messages)


def _message_tokens(message: Message) -> int:
    texts = [message.reasoning or ""]
    texts.extend(call.name + call.arguments for call in message.tool_calls)
    media = 0
    if isinstance(message.content, str):
        texts.append(message.content)
    else:
        texts.extend(part.text for part in message.content if isinstance(part, TextPart))
        media = sum(not isinstance(part, TextPart) for part in message.content)
    size = sum(len(text.encode("utf-8", "replace")) for text in texts)
    return -(-size // BYTES_PER_TOKEN) + media * MEDIA_PART_TOKENS


def _spec_tokens(spec: ToolSpec) -> int:
    size = len(spec.name) + len(spec.description.encode("utf-8", "replace"))
    return -(-(size + len(to_json(dict(spec.input_schema)))) // BYTES_PER_TOKEN)
