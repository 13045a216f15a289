"""A conversation as the turns of Anthropic's Messages API. No I/O.

Rules of that API kept here: the system text stands apart, turns alternate and begin with the user, the
results of an assistant's calls are blocks of the one user turn behind it, no text is blank, and ids
hold nothing but letters, digits, `_` and `-` (maximhq/bifrost 5097).
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from typing import Final

from pydantic_core import from_json

from rig.errors import InvalidRequestError
from rig.messages import ContentPart, ImagePart, Message, SignedThought, TextPart
from rig.wire.encode import replayable_arguments, with_ids

Block = dict[str, object]

NOTHING_SAID: Final = "."
"""What a user says who said nothing: turns begin with the user's, and no text may be blank."""

_ID: Final = re.compile(r"[a-zA-Z0-9_-]+")
_DATA_URL: Final = re.compile(r"data:([^;,]+)(?:;[^,]*)?;base64,", re.IGNORECASE)
_MAX_DATA_HEAD: Final = 128


def system_text(messages: Sequence[Message]) -> str:
    """The system messages as one text, "" when they say nothing.

    Args:
        messages: the conversation.
    """
    texts = (message.text for message in messages if message.role == "system")
    return "\n\n".join(text for text in texts if text.strip())


def turns_of(messages: Sequence[Message]) -> list[Block]:
    """The turns of a conversation, without its system messages.

    Args:
        messages: the conversation, oldest first.

    Returns:
        Turns that alternate; none when nothing was said at all. A lone text is sent as a text.

    Raises:
        InvalidRequestError: a part that this API can't hold: audio, or an image that is neither
            base64 data nor at an http(s) URL.
    """
    joined: list[tuple[str, list[Block]]] = []
    for message in with_ids(messages):
        role = "assistant" if message.role == "assistant" else "user"
        blocks = [] if message.role == "system" else list(_blocks(message))
        if blocks and joined and joined[-1][0] == role:
            joined[-1][1].extend(blocks)
        elif blocks:
            joined.append((role, blocks))
    if joined and joined[0][0] == "assistant":
        joined.insert(0, ("user", [_text(NOTHING_SAID)]))
    if joined and joined[-1][0] == "assistant":
        _end_cleanly(joined[-1][1])
    return [{"role": role, "content": _content(blocks)} for role, blocks in joined]


def _end_cleanly(blocks: list[Block]) -> None:
    """A last assistant turn is gone on with, and must not end with a blank."""
    text = blocks[-1].get("text")
    if isinstance(text, str):
        blocks[-1] = _text(text.rstrip())


def _content(blocks: list[Block]) -> object:
    return blocks[0]["text"] if len(blocks) == 1 and "text" in blocks[0] else blocks


def _blocks(message: Message) -> Iterator[Block]:
    if message.role == "tool":
        yield _result(message)
        return
    if message.role == "assistant":
        yield from map(_thought, message.thoughts)
    yield from _parts(message)
    for call in message.tool_calls:
        yield {
            "type": "tool_use",
            "id": safe_id(call.id),
            "name": call.name,
            "input": from_json(replayable_arguments(call.arguments)),
        }


def _result(message: Message) -> Block:
    result: Block = {"type": "tool_result", "tool_use_id": safe_id(message.tool_call_id or "")}
    parts = list(_parts(message))
    if parts:
        result["content"] = _content(parts)
    return result


def _parts(message: Message) -> Iterator[Block]:
    parts: Sequence[ContentPart] = (
        (TextPart(text=message.content),) if isinstance(message.content, str) else message.content
    )
    for part in parts:
        if isinstance(part, ImagePart):
            yield {"type": "image", "source": _source(part.image_url.url)}
        elif not isinstance(part, TextPart):
            raise InvalidRequestError(
                "Anthropic's Messages API takes no audio: send text and images", reason="audio"
            )
        elif part.text.strip():
            yield _text(part.text)


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


def _thought(thought: SignedThought) -> Block:
    if thought.type == "redacted_thinking":
        return {"type": thought.type, "data": thought.data}
    return {"type": thought.type, "thinking": thought.thinking, "signature": thought.signature}


def _source(url: str) -> Block:
    """Where an image is.

    Raises:
        InvalidRequestError: in a place this API does not look at.
    """
    head = _DATA_URL.match(url[:_MAX_DATA_HEAD])
    if head is not None:
        return {"type": "base64", "media_type": head[1].lower(), "data": url[head.end() :]}
    if url[:8].lower().startswith(("http://", "https://")):
        return {"type": "url", "url": url}
    raise InvalidRequestError(
        "an image must be base64 data or at an http(s) URL: use ImagePart.from_bytes",
        reason="image",
    )


def safe_id(identity: str) -> str:
    """The id of a call as this API takes it.

    Args:
        identity: the id, of any server.

    Returns:
        The id itself where it is legal; else one made of it, the same for call and result.
    """
    if _ID.fullmatch(identity):
        return identity
    return "call_" + hashlib.sha256(identity.encode("utf-8", "replace")).hexdigest()[:24]
