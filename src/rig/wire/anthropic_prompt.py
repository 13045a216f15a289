"""A conversation in the shape of Anthropic's Messages API, for counting it there. No I/O.

Rules of that API kept here: the system text stands apart, turns alternate and begin with the user, a
call's result is a block of the next user turn, texts are never empty.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from pydantic_core import from_json

from rig.messages import ContentPart, ImagePart, Message, TextPart
from rig.model import ToolSpec
from rig.wire.encode import replayable_arguments

Block = dict[str, object]

_NOTHING: Final[Block] = {"role": "user", "content": "."}
"""The turn that stands for a missing one; constant, so that differences between counts are exact."""


def anthropic_prompt(
    model: str, messages: Sequence[Message], tools: Sequence[ToolSpec]
) -> dict[str, object]:
    """The fields of a request to count a prompt.

    Args:
        model: the model's name.
        messages: the conversation; none at all is one turn of a single dot.
        tools: what is offered; without any there is no `tools` field, since even an empty list makes
            Anthropic add its preamble of about 500 tokens.

    Returns:
        model and messages; system and tools where there are any.
    """
    turns = [turn for message in messages if message.role != "system" for turn in _turns(message)]
    fields: dict[str, object] = {"model": model, "messages": _alternating(turns)}
    system = "\n\n".join(m.text for m in messages if m.role == "system" and m.text)
    if system:
        fields["system"] = system
    if tools:
        fields["tools"] = [
            {
                "name": tool.name,
                "description": tool.description or "",
                "input_schema": tool.input_schema or {"type": "object"},
            }
            for tool in tools
        ]
    return fields


def _turns(message: Message) -> Iterator[tuple[str, list[Block]]]:
    if message.role == "tool":
        result: Block = {
            "type": "tool_result",
            "tool_use_id": message.tool_call_id or "",
            "content": message.text,
        }
        yield "user", [result]
        return
    blocks = list(_blocks(message))
    if blocks:
        yield message.role, blocks


def _blocks(message: Message) -> Iterator[Block]:
    parts: Sequence[ContentPart] = (
        (TextPart(text=message.content),) if isinstance(message.content, str) else message.content
    )
    for part in parts:
        if isinstance(part, TextPart) and part.text.strip():
            yield {"type": "text", "text": part.text}
        elif isinstance(part, ImagePart):
            yield {"type": "image", "source": _source(part.image_url.url)}
    for call in message.tool_calls:
        yield {
            "type": "tool_use",
            "id": call.id,
            "name": call.name,
            "input": from_json(replayable_arguments(call.arguments)),
        }


def _source(url: str) -> Block:
    head, comma, data = url.partition(",")
    if not (comma and head.startswith("data:")):
        return {"type": "url", "url": url}
    media_type = head.removeprefix("data:").partition(";")[0]
    return {"type": "base64", "media_type": media_type, "data": data}


def _alternating(turns: Sequence[tuple[str, list[Block]]]) -> list[Block]:
    """The turns with neighbours of one speaker joined, a lone text as plain text."""
    joined: list[tuple[str, list[Block]]] = []
    for role, blocks in turns:
        if joined and joined[-1][0] == role:
            joined[-1][1].extend(blocks)
        else:
            joined.append((role, list(blocks)))
    wire = [{"role": role, "content": _content(blocks)} for role, blocks in joined]
    return wire if wire and wire[0]["role"] == "user" else [dict(_NOTHING), *wire]


def _content(blocks: list[Block]) -> object:
    return blocks[0]["text"] if len(blocks) == 1 and "text" in blocks[0] else blocks
