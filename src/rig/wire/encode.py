"""A chat request to the bytes of its body. No I/O.

What is sent is the smallest body every server takes: unset options are absent, and everything a
server is known to choke on for ever, once it is in the history, can't be written at all: calls
without ids, arguments that are not a JSON object, turns without content.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from pydantic_core import from_json, to_json

from rig.errors import InvalidRequestError
from rig.kept import KEPT, Keeps
from rig.messages import ContentPart, Message, TextPart, ToolCall, cleaned_name
from rig.model import ChatRequest, ToolSpec
from rig.text.salvage import OfferedTool
from rig.wire.dialect import Dialect
from rig.wire.dialects import GENERIC, takes_completion_tokens
from rig.wire.options import (
    check_options,
    merge_extra,
    read_choice,
    read_options,
    tool_option_fields,
)
from rig.wire.payload import mend_escapes, scrub

TRACE_HEADER: Final = "X-Trace-Id"
"""Name of the header `ChatOptions.trace_id` is sent in."""

_NO_MODEL: Final = "model is empty: name one the endpoint serves"

NO_PARAMETERS: Final[Mapping[str, Any]] = {"type": "object", "properties": {}}
"""The schema of a tool that has none."""


_UNWRITABLE: Final = (ValueError, TypeError, RecursionError)  # pydantic's own is a ValueError


def encode_chat(request: ChatRequest, *, stream: bool = False, dialect: Dialect = GENERIC) -> bytes:
    """The JSON body of a chat completion request, UTF-8.

    Messages, tools and options are frozen, so each is written once and keeps its bytes: a request costs
    what is new in it, and a conversation at most twice the memory of its texts.

    Args:
        request: what is asked.
        stream: ask for a stream, with the usage at its end.
        dialect: how the server spells the options.

    Returns:
        The bytes, tools last; lone surrogates in any text are sent as U+FFFD.

    Raises:
        InvalidRequestError: the request can't be sent as it stands, or the server can't be told of
            an option; the sentence says what to change.
    """
    options, model = request.options, request.model
    given = read_options(options, dialect)
    if not isinstance(model, str):  # pyright: ignore[reportUnnecessaryIsInstance] callers without a type checker
        raise InvalidRequestError(_NO_MODEL, reason="model")
    opening = _opening(model)
    limit = dialect.max_tokens_field or opening.limit
    tools = sent_tools(request.tools)
    offered = tools.field
    says_of_tools = options.tool_choice is not None or options.parallel_tool_calls is not None
    if given or stream or says_of_tools or options.extra_body:
        fields = {limit: request.max_tokens, **given}
        if offered:
            offers = read_choice(options, tools.names, dialect).offers
            fields |= tool_option_fields(options, tools.names, dialect) if offers else {}
            offered = offered if offers and "tools" not in options.extra_body else b""
        if stream:
            fields |= _STREAMED if dialect.stream_usage else {"stream": True}
        rest = to_body(merge_extra(fields, options.extra_body))
    else:
        rest = _limited(limit, request.max_tokens)
    turns = _written_messages(request.messages, dialect.system_role)
    turns[0] = opening.start + turns[0]
    between = b"" if rest == b"{}" else b","
    turns[-1] = b"%b]%b%b%b}" % (turns[-1], between, rest[1:-1], offered)
    return b",".join(turns)


_STREAMED: Final = {"stream": True, "stream_options": {"include_usage": True}}


@lru_cache(maxsize=64)
def _limited(field: str, max_tokens: int) -> bytes:
    """What a request says that says nothing but its limit: most do."""
    return to_body({field: max_tokens})


class _Opening(NamedTuple):
    """What the model's name says.

    Attributes:
        start: the body up to its first message.
        limit: the field of the limit, where the dialect does not say.
    """

    start: bytes
    limit: str


@lru_cache(maxsize=64)
def _opening(model: str) -> _Opening:
    """How a body begins.

    Raises:
        InvalidRequestError: the name is empty.
    """
    if not cleaned_name(model):
        raise InvalidRequestError(_NO_MODEL, reason="model")
    limit = "max_completion_tokens" if takes_completion_tokens(model) else "max_tokens"
    return _Opening(to_body({"model": model})[:-1] + b',"messages":[', limit)


_kept_message: Final = vars(Message)[KEPT].__get__
"""What a message keeps; past pydantic's `__getattr__`, which would make a miss dear."""


def _written_messages(messages: Sequence[Message], system_role: str) -> list[bytes]:
    """The messages as JSON, one each."""
    written: list[bytes] = []
    for message in messages:
        try:
            written.append(_kept_message(message))
        except AttributeError:  # it was never sent
            if (message.tool_calls or message.role == "tool") and not _has_ids(message):
                messages = with_ids(messages)
                written = [to_body(encode_message(turn)) for turn in messages]
                break
            written.append(_written_message(message))
    if system_role != "system":  # what is kept says system
        for number, message in enumerate(messages):
            if message.role == "system":
                written[number] = to_body(encode_message(message, system_role=system_role))
    return written


def _written_message(message: Message) -> bytes:
    """A message with its ids as JSON; it keeps that, where nobody can change it."""
    fields = encode_message(message)
    if not (
        type(message) is Message
        and isinstance(message.content, str)
        and isinstance(message.tool_calls, tuple)  # pyright: ignore[reportUnnecessaryIsInstance] nobody checks `model_construct`
    ):
        return to_body(fields)
    try:
        written = to_json(fields)  # texts: no number among them that could be none
    except _UNWRITABLE:
        written = to_body(fields)
    object.__setattr__(message, KEPT, written)
    return written


class SentTools(NamedTuple):
    """Tools as a request says them.

    Attributes:
        names: their names, in order.
        field: the body's field, a comma before it.
        offered: what may be called in answer, as salvaging asks for it.
    """

    names: tuple[str, ...] = ()
    field: bytes = b""
    offered: tuple[OfferedTool, ...] = ()


def sent_tools(tools: Sequence[ToolSpec]) -> SentTools:
    """What is sent of the tools; those of rig's own keep it, each tool and the box they are in.

    Args:
        tools: what is offered.

    Raises:
        InvalidRequestError: two have the same name, or a schema is not JSON.
    """
    kept: SentTools | None = getattr(tools, KEPT, None)
    if kept is not None:
        return kept
    if not tools:
        return _NO_TOOLS
    offers = [_sent_tool(tool) for tool in tools]
    made = SentTools(
        tuple(tool_names(tools)),
        b',"tools":[%b]' % b",".join([written for written, _ in offers]),
        tuple([offered for _, offered in offers]),
    )
    if isinstance(tools, Keeps):
        object.__setattr__(tools, KEPT, made)
    return made


_NO_TOOLS: Final = SentTools()


def _sent_tool(tool: ToolSpec) -> tuple[bytes, OfferedTool]:
    kept: tuple[bytes, OfferedTool] | None = getattr(tool, KEPT, None)
    if kept is not None:
        return kept
    made = to_body(encode_tool(tool)), OfferedTool(tool.name, tool.input_schema)
    if isinstance(tool, Keeps):
        object.__setattr__(tool, KEPT, made)
    return made


def check_request(request: ChatRequest) -> None:
    """Refuse what no server could make sense of, before anything is written.

    Args:
        request: what is asked.

    Raises:
        InvalidRequestError: an option outside its range, or no model.
    """
    check_options(request.options)
    if not cleaned_name(request.model):
        raise InvalidRequestError(_NO_MODEL, reason="model")


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
    role, content, name = message.role, message.content, message.name
    wire: dict[str, object] = {
        "role": system_role if role == "system" else role,
        "content": content if isinstance(content, str) else _joined(message, content),
    }
    if name:
        wire["name"] = name
    if role == "tool" and message.tool_call_id:
        wire["tool_call_id"] = message.tool_call_id
    if role == "assistant":
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
    body: bytes | None
    try:
        body = to_json(fields, fallback=_plain, inf_nan_mode="constants")
    except _UNWRITABLE:
        body = _written_scrubbed(fields)
    if body is None or ((b"NaN" in body or b"Infinity" in body) and not _is_strict(body)):
        raise InvalidRequestError(
            "the request holds a value that JSON has no form for: look for NaN, infinities and"
            " Python objects in the tools' schemas, response_format and extra_body",
            reason="not_json",
        )
    return body


def _written_scrubbed(fields: Mapping[str, object]) -> bytes | None:
    """The fields with what can't be encoded replaced; None where that is not what is wrong."""
    try:
        return to_json(scrub(dict(fields)), fallback=_plain, inf_nan_mode="constants")
    except _UNWRITABLE:
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
    """Whether no number is NaN or infinite, in a body that spells one somewhere."""
    try:
        from_json(body, allow_inf_nan=False)
    except ValueError:
        return False
    return True


def _joined(message: Message, parts: Sequence[ContentPart]) -> object:
    """Content of several parts, as one text where that is all it is, or may be."""
    if message.role in {"assistant", "system"} or _only_text(parts):
        return message.text  # llama-cpp-python joins texts with + and answers 500 to a list
    return [part.model_dump(exclude_none=True) for part in parts]


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
    for call in message.tool_calls:  # no generator: most turns have one call or none  # noqa: SIM110
        if not call.id:
            return False
    return True


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
