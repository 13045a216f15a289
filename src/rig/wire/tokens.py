"""Answers of tokenizers to counts, and the text a prompt is counted by where nothing better is there. No I/O."""

from collections.abc import Iterator, Mapping, Sequence

from rig.late_dataclass import dataclass
from rig.messages import MAX_COUNT, Message, as_array, as_object
from rig.model import ToolSpec
from rig.wire.encode import encode_tool, to_body
from rig.wire.payload import parse_json


@dataclass(frozen=True, slots=True)
class PromptCount:
    """The size of a prompt.

    Attributes:
        tokens: how many tokens it is.
        exact: whether the server counted what it would read, its chat template included; else the
            texts alone were counted.
    """

    tokens: int
    exact: bool


def decode_count(body: bytes) -> int | None:
    """The number of tokens an answer tells.

    Args:
        body: an answer of any server: `{"input_tokens"}` (Anthropic, llama.cpp), `{"count"}` (vLLM,
            SGLang) or the tokens themselves (llama.cpp); the first of these that is there counts.

    Returns:
        The number; None for every other answer, pages of a proxy among them.
    """
    wire = _object(body)
    for name in ("input_tokens", "count"):
        count = _count(wire.get(name))
        if count is not None:
            return count
    tokens = as_array(wire.get("tokens"))
    return None if tokens is None else len(tokens)


def decode_prompt(body: bytes) -> str | None:
    """The text of a prompt as the server's chat template writes it.

    Args:
        body: an answer of llama.cpp's /apply-template.

    Returns:
        The text; None for every other answer.
    """
    prompt = _object(body).get("prompt")
    return prompt if isinstance(prompt, str) else None


def plain_text(messages: Sequence[Message], tools: Sequence[ToolSpec]) -> str:
    """The texts of a prompt run together: what is counted where no server counts the prompt itself.

    Args:
        messages: the conversation, its system message first.
        tools: what is offered; each stands in it as JSON.

    Returns:
        System text, tools, then everything else. Media has no text, and the template is not there.
    """
    system = "".join(message.text for message in messages if message.role == "system")
    offered = "".join(to_body(encode_tool(tool)).decode() for tool in tools)
    rest = (text for message in messages if message.role != "system" for text in _texts(message))
    return system + offered + "".join(rest)


def _texts(message: Message) -> Iterator[str]:
    yield message.reasoning or ""
    yield message.text
    for call in message.tool_calls:
        yield call.name
        yield call.arguments


def _object(body: bytes) -> Mapping[str, object]:
    try:
        value: object = parse_json(body)
    except ValueError:
        return {}
    return as_object(value) or {}


def _count(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 <= value <= MAX_COUNT and value == int(value) else None
