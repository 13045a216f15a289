"""A chat request to the body of Anthropic's Messages API. No I/O."""

from collections.abc import Mapping, Sequence
from typing import Final

from rig.errors import InvalidRequestError
from rig.messages import Message
from rig.model import ChatOptions, ChatRequest, ToolSpec
from rig.wire.anthropic.turns import NOTHING_SAID, Block, system_text, turns_of
from rig.wire.dialect import Dialect
from rig.wire.dialects import ANTHROPIC
from rig.wire.encode import NO_PARAMETERS, check_request, to_body, tool_names
from rig.wire.options import merge_extra, option_fields, read_choice

API_VERSION: Final = "2023-06-01"
"""The header anthropic-version: the one version there is (docs.anthropic.com, API versioning)."""

_CHOICES: Final[Mapping[str, str]] = {
    "": "auto",
    "auto": "auto",
    "none": "none",
    "required": "any",
    "named": "tool",
}


def encode_message_request(
    request: ChatRequest, *, stream: bool = False, dialect: Dialect = ANTHROPIC
) -> bytes:
    """The JSON body of a request to /v1/messages, UTF-8.

    A thinking budget counts towards `max_tokens` here, and must be smaller. Where it is not,
    `max_tokens` is what may follow the thought, and the sum is sent.

    Args:
        request: what is asked.
        stream: ask for a stream.
        dialect: how the server spells the options.

    Returns:
        The bytes; lone surrogates in any text are sent as U+FFFD.

    Raises:
        InvalidRequestError: the request can't be sent as it stands, or this API has no way to say an
            option; the sentence says what to change.
    """
    check_request(request)
    _check_thinking(request.options, dialect)
    turns = turns_of(request.messages)
    if not turns:
        raise InvalidRequestError(
            "Anthropic's Messages API needs a message that says something, beside the system's",
            reason="messages",
        )
    fields = prompt_fields(request.model, request.messages, turns)
    options = option_fields(request.options, dialect)
    fields["max_tokens"] = _max_tokens(request.max_tokens, options.get("thinking"))
    fields |= options
    fields |= _tool_fields(request, dialect)
    if stream:
        fields["stream"] = True
    return to_body(merge_extra(fields, request.options.extra_body))


def encode_count_tokens(
    model: str, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()
) -> bytes:
    """The JSON body of a request to /v1/messages/count_tokens, UTF-8.

    Args:
        model: the model's name.
        messages: the conversation; where nobody said anything a turn of one dot stands for it, so
            that a system prompt and tools can be counted alone.
        tools: what is offered. Without any there is no such field: an empty list costs about 500
            tokens, since the API adds its preamble.

    Raises:
        InvalidRequestError: a part this API can't hold, or two tools of one name.
    """
    turns = turns_of(messages) or [{"role": "user", "content": NOTHING_SAID}]
    fields = prompt_fields(model, messages, turns)
    if tools:
        tool_names(tools)
        fields["tools"] = [encode_tool(tool) for tool in tools]
    return to_body(fields)


def prompt_fields(
    model: str, messages: Sequence[Message], turns: Sequence[Block]
) -> dict[str, object]:
    """The fields of a prompt without tools.

    Args:
        model: the model's name.
        messages: the conversation.
        turns: its turns.
    """
    system = system_text(messages)
    fields: dict[str, object] = {"model": model, "messages": turns}
    return fields | {"system": system} if system else fields


def encode_tool(tool: ToolSpec) -> Block:
    """A tool as it is offered."""
    described = {"description": tool.description} if tool.description else {}
    schema = tool.input_schema or NO_PARAMETERS
    return {"name": tool.name, **described, "input_schema": schema}


def _tool_fields(request: ChatRequest, dialect: Dialect) -> dict[str, object]:
    """The tools and what is said of them; those of the history where none are offered.

    A conversation with calls in it is refused without any tools ("Requests which include `tool_use`
    or `tool_result` blocks must define tools"), so they are declared, and not to be called.
    """
    if not request.tools:
        called = dict.fromkeys(
            call.name for message in request.messages for call in message.tool_calls
        )
        tools = [{"name": name, "input_schema": {"type": "object"}} for name in called]
        return {"tools": tools, "tool_choice": {"type": "none"}} if tools else {}
    options = request.options
    names = tool_names(request.tools)
    fields: dict[str, object] = {"tools": [encode_tool(tool) for tool in request.tools]}
    choice = read_choice(options, names, dialect)
    said: dict[str, object] = {"type": _CHOICES[choice.mode]}
    if choice.name:
        said["name"] = choice.name
    if options.parallel_tool_calls is not None and choice.mode != "none":
        said["disable_parallel_tool_use"] = not options.parallel_tool_calls
    if choice.mode or len(said) > 1:
        fields["tool_choice"] = said
    return fields


def _max_tokens(max_tokens: int, thinking: object) -> int:
    budget = thinking.get("budget_tokens") if isinstance(thinking, dict) else 0  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType] our own field
    return max_tokens + budget if isinstance(budget, int) and max_tokens <= budget else max_tokens


def _check_thinking(options: ChatOptions, dialect: Dialect) -> None:
    """A budget is the switch here, so the switch by itself says nothing.

    Raises:
        InvalidRequestError: it is asked for without a budget, or against one.
    """
    budget = options.reasoning_budget_tokens or 0
    if options.enable_thinking is True and budget <= 0:
        hint = "set reasoning_budget_tokens above 0, the budget is what switches thinking on"
        raise dialect.refusal("enable_thinking", hint)
    if options.enable_thinking is False and budget > 0:
        hint = "a budget switches thinking on; leave reasoning_budget_tokens out"
        raise dialect.refusal("enable_thinking", hint)
