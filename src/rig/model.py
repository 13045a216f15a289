"""What is asked of a model and what it answers, and the protocol every model satisfies. No I/O."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, cast

from rig.errors import InvalidRequestError
from rig.kept import Keeps
from rig.late_dataclass import dataclass
from rig.messages import (
    Message,
    ReasoningField,
    SignedThought,
    ToolCall,
    Usage,
    read_messages,
)
from rig.text.repetition import Repetition

FinishReason = Literal["stop", "length", "tool_calls", "content_filter", "repetition", "unknown"]
"""Why a reply ended. The wire's set is open; words nobody knows are unknown. No server says
repetition: that is a stream which rig itself cut, because the model repeated itself."""

Priority = Literal["interactive", "batch"]
"""Whether somebody is waiting for the answer."""


class ToolSpec(Protocol):
    """What a model is told of a tool; `rig.Tool` is one."""

    @property
    def name(self) -> str:
        """1 to 64 letters, digits, `_` and `-`."""
        ...

    @property
    def description(self) -> str:
        """One sentence for the model."""
        ...

    @property
    def input_schema(self) -> Mapping[str, Any]:
        """JSON schema of the input, an object."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOptions(Keeps):
    """Everything a request may say beyond its messages. `None` is not sent, 0 is.

    Attributes:
        temperature: randomness; 0 is greedy.
        top_p: nucleus sampling, 0 to 1.
        min_p: least probability relative to the likeliest token, 0 to 1.
        top_k: number of likeliest tokens sampled from.
        seed: makes sampling repeatable where the server supports it.
        stop: strings that end the reply.
        frequency_penalty: OpenAI's, by count seen.
        presence_penalty: OpenAI's, by seen at all.
        repeat_penalty: llama.cpp's, multiplicative; 1.0 is off.
        tool_choice: auto, none, required, or the name of one offered tool.
        parallel_tool_calls: whether one reply may hold several calls.
        response_format: OpenAI's object, sent as it is.
        grammar: a GBNF grammar (llama.cpp).
        logprobs: ask for token probabilities.
        top_logprobs: how many alternatives a token.
        reasoning_budget_tokens: tokens of thought allowed; 0 ends thinking at once (llama.cpp).
        reasoning_budget_message: what the model is told when that budget ends (llama.cpp).
        enable_thinking: sets `chat_template_kwargs.enable_thinking`.
        reasoning_effort: how much a reasoning model thinks, a word the model knows: low, medium, high.
        trace_id: sent as the header X-Trace-Id.
        tenant: whose request it is, where requests wait for a slot: tenants take turns. Never sent.
        priority: interactive requests get a free slot before batch requests do. Never sent.
        extra_body: fields added to the body as they are; they win over rig's own, and None leaves one
            out. `model`, `messages` and `stream` can't be set so.
    """

    temperature: float | None = None
    top_p: float | None = None
    min_p: float | None = None
    top_k: int | None = None
    seed: int | None = None
    stop: str | Sequence[str] | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    repeat_penalty: float | None = None
    tool_choice: str | None = None
    parallel_tool_calls: bool | None = None
    response_format: Mapping[str, Any] | None = None
    grammar: str | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    reasoning_budget_tokens: int | None = None
    reasoning_budget_message: str | None = None
    enable_thinking: bool | None = None
    reasoning_effort: str | None = None
    trace_id: str | None = None
    tenant: str = ""
    priority: Priority = "interactive"
    extra_body: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def greedy(self) -> bool:
        """True at temperature 0, where the same request leads to the same reply, or the same fault."""
        return bool(self.extra_body.get("temperature", self.temperature) == 0)


DEFAULT_OPTIONS: Final = ChatOptions()
"""What a request says beyond its messages where nobody asks for anything: one value, known by its identity."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """One request to a model.

    Attributes:
        model: the model's name on the endpoint.
        messages: the conversation, oldest first: messages, or mappings in the shape of the wire, which
            are read into messages.
        max_tokens: limit of the reply, in tokens; required, so that no reply is unbounded.
        tools: what the model may call, in the order it is shown to it.
        options: sampling and everything else.

    Raises:
        InvalidRequestError: no messages, one that is none, or max_tokens is not above zero.
    """

    model: str
    messages: Sequence[Message]
    max_tokens: int
    tools: Sequence[ToolSpec] = ()
    options: ChatOptions = DEFAULT_OPTIONS

    if TYPE_CHECKING:  # more is taken than the fields hold

        def __init__(
            self,
            *,
            model: str,
            messages: Sequence[Message | Mapping[str, Any]],
            max_tokens: int,
            tools: Sequence[ToolSpec] = (),
            options: ChatOptions = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        messages = self.messages
        # The very tuple that was given where it holds nothing else.
        if not isinstance(messages, tuple) or {*map(type, messages)} != _MESSAGES:
            object.__setattr__(self, "messages", _read(messages))
        if not isinstance(self.options, ChatOptions):  # pyright: ignore[reportUnnecessaryIsInstance] callers without a type checker
            raise InvalidRequestError("options must be a ChatOptions(...) value")
        if not self.messages:
            raise InvalidRequestError("messages is empty: a request needs at least one message")
        if isinstance(self.max_tokens, bool) or not isinstance(self.max_tokens, int):  # pyright: ignore[reportUnnecessaryIsInstance] callers without a type checker
            raise InvalidRequestError(
                "max_tokens must be a whole number of tokens, for example 1024"
            )
        if self.max_tokens < 1:
            raise InvalidRequestError("max_tokens must be at least 1, for example 1024")


# The slots of a request, set past `frozen` and `__post_init__`.
_set_model, _set_messages, _set_max_tokens, _set_tools, _set_options = (
    vars(ChatRequest)[name].__set__
    for name in ("model", "messages", "max_tokens", "tools", "options")
)


def checked_request(
    *,
    model: str,
    messages: tuple[Message, ...],
    max_tokens: int,
    tools: Sequence[ToolSpec],
    options: ChatOptions,
) -> ChatRequest:
    """A request of fields that are right already: 0.4 us instead of 1 (measured), twice a round of a run.

    Args:
        model: as the fields of `ChatRequest`.
        messages: the same, of which there is one at least.
        max_tokens: the same.
        tools: the same.
        options: the same.
    """
    request = object.__new__(ChatRequest)
    _set_model(request, model)
    _set_messages(request, messages)
    _set_max_tokens(request, max_tokens)
    _set_tools(request, tools)
    _set_options(request, options)
    return request


def _read(messages: object) -> Sequence[Message]:
    """The messages of a request.

    Raises:
        InvalidRequestError: it is no list, or an item is no message.
    """
    kind = type(messages)
    if not isinstance(messages, Iterable) or issubclass(kind, str | bytes | Mapping | Message):
        raise InvalidRequestError(
            f"messages must be a list of messages, not a {kind.__name__}: put a single one in brackets"
        )
    return read_messages(cast("Iterable[object]", messages))


_MESSAGES: Final = {Message}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a model answered.

    Attributes:
        text: the visible text: reasoning, and nothing else, was taken out.
        reasoning: the thoughts, from the server's own field or out of the text; "" when there are none.
        tool_calls: the calls it asks for, ids unique and never empty.
        finish_reason: why it ended.
        usage: what it cost.
        model: the model's name as the server gives it.
        refusal: the category when the model or a filter declined, else None.
        reasoning_field: the field the server sent the reasoning in; None when it leaked into the text.
        thoughts: the thoughts as the server signed them, to go back with the calls of this reply.
        repetition: the loop a stream was cut for, None for every other reply. Its text then ends with
            the loop, and its calls were dropped.
        tier: the tier a gateway answered it with, "" where none did.
    """

    text: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: FinishReason = "stop"
    usage: Usage = Usage.of({})
    model: str = ""
    refusal: str | None = None
    reasoning_field: ReasoningField | None = None
    thoughts: tuple[SignedThought, ...] = ()
    repetition: Repetition | None = None
    tier: str = ""

    def message(self) -> Message:
        """The assistant turn that records this reply; leaked reasoning never goes back."""
        return Message.made(
            role="assistant",
            content=self.text,
            tool_calls=self.tool_calls,
            reasoning=self.reasoning if self.reasoning_field and self.reasoning else None,
            reasoning_field=self.reasoning_field or "reasoning_content",
            thoughts=self.thoughts,
        )


CallStage = Literal["started", "arguments", "finished"]
"""What a `CallDelta` tells: a call and its name, a fragment of its arguments, or the whole call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallDelta:
    """News of one tool call of a streamed reply.

    Attributes:
        stage: started once its name is known, arguments for each fragment, finished when the reply is
            complete and this call with it. A call that was cut is never finished: never run it.
        index: tells the calls of one reply apart, from 0 in the order they began.
        id: on finished the id of `Reply.tool_calls`, before that what the server sent, which may
            be empty or repeated.
        name: the tool's name.
        arguments: the fragment; on finished all of it, mended where that was needed.
    """

    stage: CallStage
    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """What is new in a streamed reply. Where several fields are set, `retracted` comes first.

    `rig.to_sse` writes it for a browser: text is a frame of type content, a finished call one of type
    tool_call, the last delta `[DONE]`, retracted text one of type retract; thoughts, unfinished calls
    and usage give none.

    Attributes:
        text: visible text to append. What stands after the last delta is `Reply.text`.
        reasoning: thoughts to append.
        tool_call: news of a call.
        finish_reason: set on the last delta of the reply, and only there.
        usage: what the reply cost; on that delta, None when the server did not say.
        retracted: all visible text that stood so far, to be taken back: it was a thought.
    """

    text: str = ""
    reasoning: str = ""
    tool_call: CallDelta | None = None
    finish_reason: FinishReason | None = None
    usage: Usage | None = None
    retracted: str = ""


class Model(Protocol):
    """Anything that answers a chat request: a client, a pool, a gateway, a script in a test."""

    async def complete(self, request: ChatRequest, /) -> Reply:
        """Send one request and return the whole reply.

        Raises:
            RigError: no usable reply came back.
        """
        ...


class ReplyStream(Protocol):
    """A reply while it arrives: iterate it for its deltas, then take the `reply`."""

    @property
    def text(self) -> str:
        """The visible text of the deltas so far, without what was retracted."""
        ...

    def __aiter__(self) -> AsyncIterator[Delta]:
        """The deltas, in order; to be iterated once.

        Raises:
            StreamCutError: the stream ended before the reply was complete.
            RigError: the reply is no answer, as `Model.complete` would raise it.
        """
        ...

    def reply(self) -> Reply:
        """The whole reply, once the last delta was handed out.

        Raises:
            InvalidRequestError: the stream has not ended yet.
            RigError: what ended it.
        """
        ...


class StreamingModel(Protocol):
    """Anything that answers a chat request piece by piece."""

    def stream(self, request: ChatRequest, /) -> AbstractAsyncContextManager[ReplyStream]:
        """Send one request; entering the block waits for the first delta, leaving it ends the request.

        Raises:
            RigError: (on entering) the request was refused, or nothing of a reply came back.
        """
        ...
