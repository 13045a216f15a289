"""A chat request to the bytes of its body. No I/O.

What is sent is the smallest body every server takes: unset options are absent, and everything a
server is known to choke on for ever, once it is in the history, can't be written at all: calls
without ids, arguments that are not a JSON object, turns without content.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from pydantic_core import from_json, to_json

from rig.errors import InvalidRequestError
from rig.messages import Message, TextPart, ToolCall, cleaned_name
from rig.model import ChatRequest, ToolSpec
from rig.wire.dialect import Dialect
from rig.wire.dialects import GENERIC, takes_completion_tokens
from rig.wire.options import (
    check_options,
    merge_extra,
    option_fields,
    read_choice,
    tool_option_fields,
)
from rig.wire.payload import mend_escapes, scrub

TRACE_HEADER: Final = "X-Trace-Id"
"""Name of the header `ChatOptions.trace_id` is sent in."""

NO_PARAMETERS: Final[Mapping[str, Any]] = {"type": "object", "properties": {}}
"""The schema of a tool that has none."""


def encode_chat(request: ChatRequest, *, stream: bool = False, dialect: Dialect = GENERIC) -> bytes:
    """The JSON body of a chat completion request, UTF-8.

    Args:
        request: what is asked.
        stream: ask for a stream, with the usage at its end.
        dialect: how the server spells the options.

    Returns:
        The bytes; lone surrogates in any text are sent as U+FFFD.

    Raises:
        InvalidRequestError: the request can't be sent as it stands, or the server can't be told of
            an option; the sentence says what to change.
    """
    options = request.options
    check_request(request)
    limit = dialect.max_tokens_field or _limit_field(request.model)
    fields: dict[str, object] = {
        "model": request.model,
        "messages": [
            encode_message(message, system_role=dialect.system_role)
            for message in with_ids(request.messages)
        ],
        limit: request.max_tokens,
        **option_fields(options, dialect),
    }
    if request.tools:
        names = tool_names(request.tools)
        if read_choice(options, names, dialect).offers:
            fields["tools"] = [encode_tool(tool) for tool in request.tools]
            fields |= tool_option_fields(options, names, dialect)
    if stream:
        fields["stream"] = True
        if dialect.stream_usage:
            fields["stream_options"] = {"include_usage": True}
    return to_body(merge_extra(fields, options.extra_body))


def check_request(request: ChatRequest) -> None:
    """Refuse what no server could make sense of, before anything is written.

    Args:
        request: what is asked.

    Raises:
        InvalidRequestError: an option outside its range, or no model.
    """
    check_options(request.options)
    if not cleaned_name(request.model):
        raise InvalidRequestError("model is empty: name one the endpoint serves", reason="model")


def _limit_field(model: str) -> str:
    return "max_completion_tokens" if takes_completion_tokens(model) else "max_tokens"


def request_headers(request: ChatRequest) -> dict[str, str]:
    """The headers a request asks for beside its body.

    Args:
        request: what is asked.

    Returns:
        The trace id's header, or nothing.

    Raises:
        InvalidRequestError: the trace id can't be a header value.
    """
    trace_id = request.options.trace_id
    if trace_id is None:
        return {}
    check_options(request.options)
    return {TRACE_HEADER: trace_id} if trace_id else {}


def encode_tool(tool: ToolSpec) -> dict[str, object]:
    """A tool as it is offered; `strict` is never sent (open-cowork 232: false is refused like true)."""
    function = {
        "name": tool.name,
        "description": tool.description or "",
        "parameters": tool.input_schema or NO_PARAMETERS,
    }
    return {"type": "function", "function": function}


def encode_message(message: Message, *, system_role: str = "system") -> dict[str, object]:
    """One turn as the servers read it.

    Args:
        message: the turn.
        system_role: what the server calls the system.

    Returns:
        Role and content always; on an assistant turn the content is text, and calls hold valid JSON.
    """
    role = system_role if message.role == "system" else message.role
    wire: dict[str, object] = {"role": role, "content": _content(message)}
    if message.name:
        wire["name"] = message.name
    if message.role == "tool" and message.tool_call_id:
        wire["tool_call_id"] = message.tool_call_id
    if message.role == "assistant":
        if message.reasoning:
            wire[message.reasoning_field] = message.reasoning
        if message.tool_calls:
            wire["tool_calls"] = [
                encode_call(call, number) for number, call in enumerate(message.tool_calls)
            ]
    return wire


def encode_call(call: ToolCall, number: int = 0) -> dict[str, object]:
    """A call as it is replayed.

    Args:
        call: the call.
        number: makes an id where the call has none.

    Returns:
        The wire's nested shape, its arguments the text of one JSON object.
    """
    function = {"name": call.name, "arguments": replayable_arguments(call.arguments)}
    return {"id": call.id or _made_id(number), "type": "function", "function": function}


def replayable_arguments(text: str) -> str:
    """Arguments that may go back to a server: the text itself where it is a JSON object, else a stand-in.

    llama.cpp answers 500 to every later request once the history holds arguments it can't parse
    (ggml-org/llama.cpp 20198), so a call that was cut is told of, but never sent.

    Args:
        text: the arguments as the model wrote them.

    Returns:
        The text of one JSON object.
    """
    text = mend_escapes(text)
    if not text.strip():
        return "{}"
    try:
        value: object = from_json(text, allow_inf_nan=False)
    except (ValueError, TypeError):  # TypeError: a str that holds lone surrogates
        value = None
    if isinstance(value, dict):
        return text
    stand_in = {
        "_error": "the arguments were not a JSON object; the call was not run",
        "_raw_chars": len(text),
    }
    return to_json(stand_in).decode()


def to_body(fields: Mapping[str, object]) -> bytes:
    """A body's fields as JSON.

    Args:
        fields: what to write; mappings and sequences of any kind, texts, numbers.

    Returns:
        Compact UTF-8.

    Raises:
        InvalidRequestError: a value is not JSON: NaN, an infinity, an object of some class.
    """
    body = _written(fields)
    if body is None:
        scrubbed = _scrubbed(fields)
        body = None if scrubbed is None else _written(scrubbed)
    if body is None or not _is_strict(body):
        raise InvalidRequestError(
            "the request holds a value that JSON has no form for: look for NaN, infinities and"
            " Python objects in the tools' schemas, response_format and extra_body",
            reason="not_json",
        )
    return body


def _written(fields: object) -> bytes | None:
    try:
        return to_json(fields, fallback=_plain, inf_nan_mode="constants")
    except (ValueError, TypeError, RecursionError):  # PydanticSerializationError is a ValueError
        return None


def _scrubbed(fields: Mapping[str, object]) -> object:
    try:
        return scrub(dict(fields))
    except RecursionError:
        return None


def _plain(value: object) -> object:
    """What pydantic does not know how to write, if it is a mapping under another name.

    Raises:
        TypeError: it is something else.
    """
    if isinstance(value, Mapping):
        return dict(value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] any mapping
    raise TypeError


def _is_strict(body: bytes) -> bool:
    """Whether no number is NaN or infinite; only a body that spells one is parsed again."""
    if b"NaN" not in body and b"Infinity" not in body:
        return True
    try:
        from_json(body, allow_inf_nan=False)
    except ValueError:
        return False
    return True


def _content(message: Message) -> object:
    if isinstance(message.content, str):
        return message.content
    if message.role in {"assistant", "system"} or _only_text(message.content):
        return message.text  # llama-cpp-python joins texts with + and answers 500 to a list
    return [part.model_dump(exclude_none=True) for part in message.content]


def _only_text(parts: Iterable[object]) -> bool:
    return all(isinstance(part, TextPart) for part in parts)


def tool_names(tools: Sequence[ToolSpec]) -> list[str]:
    """The names of the tools.

    Args:
        tools: what is offered.

    Raises:
        InvalidRequestError: two have the same name.
    """
    names = [tool.name for tool in tools]
    if len(set(names)) < len(names):
        raise InvalidRequestError("two of the tools have the same name", reason="tools")
    return names


def _made_id(number: int) -> str:
    """Nine letters and digits: the one shape every server takes (see `rig.wire.calls.fresh_id`)."""
    return f"call{number:05d}"


def _has_ids(message: Message) -> bool:
    if message.role == "tool":
        return bool(message.tool_call_id)
    return not message.tool_calls or all(call.id for call in message.tool_calls)


def with_ids(messages: Sequence[Message]) -> list[Message]:
    """The messages with an id on every call, and on every result that follows one in order.

    Args:
        messages: the conversation, oldest first.
    """
    if all(map(_has_ids, messages)):
        return list(messages)
    taken = {call.id for message in messages for call in message.tool_calls}
    free = (name for number in range(1 << 30) if (name := _made_id(number)) not in taken)
    waiting: dict[str, None] = {}
    out: list[Message] = []
    for message in messages:
        sent = message
        if not all(call.id for call in message.tool_calls):
            calls = [
                call if call.id else call.model_copy(update={"id": next(free)})
                for call in message.tool_calls
            ]
            sent = message.model_copy(update={"tool_calls": tuple(calls)})
        elif message.role == "tool" and not message.tool_call_id and waiting:
            sent = message.model_copy(update={"tool_call_id": next(iter(waiting))})
        if sent.tool_calls:
            waiting = dict.fromkeys(call.id for call in sent.tool_calls)
        waiting.pop(sent.tool_call_id or "", None)
        out.append(sent)
    return out
