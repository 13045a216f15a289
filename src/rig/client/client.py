"""The client of one endpoint: requests in, replies out. It awaits; what to send is decided below it."""

import math
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Coroutine,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import cache, cached_property, partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Self

from rig.client import settings
from rig.client.per_loop import PerLoop
from rig.client.probes.limits import BUDGET_S, CACHE_S
from rig.client.requester import HTTPRequester
from rig.client.running import RunMixin
from rig.client.thinking import ThinkingModels, thinking_key
from rig.client.url import host_of, normalise_base_url
from rig.errors import InvalidRequestError, RigError
from rig.messages import Message
from rig.model import ChatOptions, ChatRequest, Reply, ReplyStream, ToolSpec
from rig.text.repetition import RepetitionGuard
from rig.transport.http import HTTP, MAX_RESPONSE_BYTES, Response, StreamResponse, Timeouts
from rig.transport.retry import Retries, RetryPolicy, retrying
from rig.transport.sockets import now
from rig.version import VERSION
from rig.wire.dialect import Dialect
from rig.wire.dialects import dialect_named, dialect_of
from rig.wire.keys import key_headers

if TYPE_CHECKING:  # loaded with what needs them: slots, streams, faults, questions that are no chat
    from pathlib import Path

    from rig.client.fair_slots import FairSlots
    from rig.client.inquiry import Inquiry
    from rig.client.loop_watch import LoopWatch
    from rig.client.probes.profile import EndpointProfile
    from rig.client.probes.survey import OnProbe
    from rig.client.probes.tool_surface import ToolSurface
    from rig.client.reply_stream import ClientReplyStream
    from rig.client.sendable import Pairs, Sendable
    from rig.events import RetryEvent
    from rig.wire.embeddings import Vector
    from rig.wire.occupancy import Occupancy
    from rig.wire.wires import Decode

USER_AGENT = f"rig/{VERSION}"

_NO_OPTIONS = ChatOptions()


class Client(RunMixin):
    """One self-hosted, OpenAI-compatible endpoint.

    Nothing is read from the environment, no redirect is followed, and no request is sent before its
    input was checked. A client is cheap to make and safe to share between any number of tasks.

    Args:
        base_url: the server's URL, with or without `/v1`.
        api_key: sent as a bearer token, or in the header the dialect names; "" sends no such header
            at all.
        model: the model used where a call names none.
        dialect: how the server wants options spelled, by name or as a value: generic, llama.cpp, vllm,
            ollama, sglang, lm-studio, openai or anthropic; `detect_dialect` finds it out. None, or
            auto, is Anthropic's Messages API for its own host and for models named `claude-...`, and
            else generic: what all OpenAI-compatible servers take, and llama.cpp's own fields.
        http_client: an `httpx.AsyncClient` (or `httpx2.AsyncClient`) of the caller's, which then
            rules connections, TLS, proxies and who may be connected to; it is not closed here.
        max_response_bytes: cap of a reply's decoded body, error bodies included.
        user_agent: the User-Agent header.
        timeouts: bounds of every wait.
        retry: when a failed request is sent again; `RetryPolicy.off()` sends each request once.
        repetition: when a stream is cut because the model repeats itself; `RepetitionGuard.off()`
            never cuts.
        slots: how many requests may be under way at a time, None for no bound. Those that wait take
            turns by `ChatOptions.tenant` and `priority`, within the budget of `retry`, and a run is
            told (`SlotWait`). A slot is never held while a tool runs or a retry waits.
        on_retry: told of every wait and how it ended.

    Raises:
        InvalidRequestError: an argument can't be used; the message says what to change.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str = "",
        *,
        model: str | None = None,
        dialect: str | Dialect | None = None,
        http_client: Any | None = None,  # noqa: ANN401 httpx's or httpx2's client, by duck type
        max_response_bytes: int = MAX_RESPONSE_BYTES,
        user_agent: str = USER_AGENT,
        timeouts: Timeouts = Timeouts(),
        retry: RetryPolicy = RetryPolicy(),
        repetition: RepetitionGuard = RepetitionGuard(),
        slots: int | None = None,
        on_retry: "Callable[[RetryEvent], None] | None" = None,
    ) -> None:
        headers = {"User-Agent": settings.header("user_agent", user_agent)}
        self._api_key = settings.key(api_key)
        self._slots = None if slots is None else _slots(slots)
        self.default_model = settings.model_name(model)
        self._retry = settings.instance_of(
            RetryPolicy, retry, "retry", "; RetryPolicy.off() sends each request once"
        )
        self._repetition = settings.instance_of(
            RepetitionGuard, repetition, "repetition", "; RepetitionGuard.off() never cuts"
        )
        self._thinking = ThinkingModels()
        self._max_response_bytes = settings.whole_number(max_response_bytes, "max_response_bytes")
        self._on_retry = settings.listener(on_retry)
        self._closed = False
        url = normalise_base_url(base_url)
        self._host = host_of(url)
        self._dialect = _chosen(dialect)
        self._spoken = self._dialect_for(self.default_model)
        self._asking = self._headers(self._spoken)
        self._timeouts = settings.instance_of(Timeouts, timeouts, "timeouts")
        self._http = HTTP(
            url,
            headers=headers,
            http_client=http_client,
            timeouts=self._timeouts,
            max_response_bytes=max_response_bytes,
        )
        self._requester = HTTPRequester(self._http, url, self._asking)
        self._url = url

    def __repr__(self) -> str:
        return f"Client(model={self.default_model!r})"

    async def __aenter__(self) -> Self:
        """The client itself.

        Raises:
            InvalidRequestError: it was closed: make a new one.
        """
        if self._closed:
            raise InvalidRequestError("the client was closed: make a new one, they are cheap")
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close every connection; a caller's `http_client` stays open."""
        self._closed = True
        await self._http.aclose()

    async def complete(self, request: ChatRequest, /) -> Reply:
        """Send one chat request and return the whole reply.

        A reply cut at max_tokens is returned with finish_reason `length`; the loop, not this
        method, makes that an error.

        Args:
            request: what to ask; its messages are put in order before they are sent.

        Raises:
            RigError: the request was refused, or no usable reply came within retries and time-outs.
        """
        sendable = self._encoded(request)
        started = now()
        retries: Retries | None = None
        failure: RigError  # kept, and told of where no other exception is being handled
        # The policy bounds the tries. They are made here: each function in between would wait with the exchange.
        while True:
            try:
                if self._slots is None:
                    response = await self._http.post(
                        sendable.wire.path, sendable.body, sendable.headers
                    )
                    if response.status >= 300:
                        _refuse(response)
                else:
                    until = _until(self._retry, started)
                    send = partial(self._post, sendable)
                    response = await self._exchange(send, until, request.options)
                reply = sendable.wire.decode(
                    response.body, latency_s=now() - started, tools=sendable.offered
                )
            except RigError as error:
                failure = error
            else:
                if retries is not None:
                    await retries.recovered()
                return reply
            if retries is None:
                greedy = request.options.greedy
                retries = Retries(self._retry, started, on_retry=self._on_retry, greedy=greedy)
            await retries.after(failure)

    def stream(self, request: ChatRequest, /) -> AbstractAsyncContextManager[ReplyStream]:
        """Send one chat request and hand out its reply while it arrives.

        Entering the block waits for the first delta: until then a failed request is sent again as in
        `complete`, from then on never. A slot is held until the stream has ended. Leaving the block,
        or being cancelled in it, closes the request at once, which makes the server stop.

        A model that repeats itself without end is cut off: the last delta and the reply then have
        the finish_reason `repetition`. Otherwise `reply()` is what `complete` would have returned.

        Args:
            request: what to ask; its messages are put in order before they are sent.

        Raises:
            StreamCutError: (while iterating) the stream ended before the reply was complete; the
                text and the calls that had come are on it.
            RigError: the request was refused, or no usable reply came.
        """
        return self._stream(request, self._retry, salvage=True)

    @asynccontextmanager
    async def _stream(
        self, request: ChatRequest, policy: RetryPolicy, *, salvage: bool = False
    ) -> AsyncGenerator[ReplyStream]:
        sendable = self._encoded(request, stream=True)
        started = now()
        until = _until(policy, started)
        async with AsyncExitStack() as block:

            async def attempt() -> "ClientReplyStream":
                answer = AsyncExitStack()
                begun = False
                try:
                    if self._slots is not None:
                        slot = _held(self._slots, request.options, until)
                        await answer.enter_async_context(slot)
                    sent = now()
                    response = await self._stream_response(answer, sendable)
                    stream = self._reply_stream(
                        sendable, response, answer, started=started, sent=sent, salvage=salvage
                    )
                    await stream.begin()
                    begun = True
                finally:
                    if not begun:
                        await answer.aclose()
                block.push_async_exit(answer)
                return stream

            stream = await retrying(
                attempt, policy, on_retry=self._on_retry, greedy=request.options.greedy
            )
            block.callback(stream.leave)
            yield stream

    async def models(self) -> tuple[str, ...]:
        """The names of the models the endpoint offers.

        Raises:
            RigError: it did not answer with a list of models.
        """
        until = _until(self._retry, now())

        async def attempt() -> tuple[str, ...]:
            response = await self._exchange(lambda: self._http.get("models", self._asking), until)
            from rig.wire.decode import decode_models  # noqa: PLC0415 with the first answer

            return decode_models(response.body)

        return await retrying(attempt, self._retry, on_retry=self._on_retry)

    async def detect_dialect(self) -> Dialect:
        """Find out which server answers, with up to six small GET requests that are not repeated.

        Nothing of the client changes: give the dialect to the next one, `Client(..., dialect=...)`.

        Returns:
            The server's dialect; `generic` where it is none rig can tell, a proxy for example.

        Raises:
            UnauthorizedError: the server tells nothing without the right key.
            RigError: it could not be reached.
        """
        return await self._inquiry.detect_dialect()

    async def probe_tool_calling(self, model: str | None = None) -> None:
        """Check with one request, never repeated, that the model calls a tool it is told to call.

        Args:
            model: the model to probe; the client's own when None.

        Raises:
            NoToolCallingError: it answered without calling the tool.
            OutputLimitError: it used up the probe's tokens first, thinking for example.
            RigError: the endpoint failed or refused the request.
        """
        await self._inquiry.probe_tool_calling(self.named_model(model))

    async def probe_tool_surface(self, model: str | None = None) -> "ToolSurface":
        """See what the endpoint does with arguments of tool calls and with grammars.

        Six texts that parsers and templates are known to spoil are sent through an argument and back,
        then a grammar alone and one beside a tool: eight requests, none repeated, at temperature 0.
        What fails is part of the result.

        Args:
            model: the model to probe; the client's own when None.
        """
        return await self._inquiry.probe_tool_surface(self.named_model(model))

    async def profile(
        self,
        model: str | None = None,
        *,
        refresh: bool = False,
        cache: "Path | None" = None,
        max_age_s: float = CACHE_S,
        budget_s: float = BUDGET_S,
        on_probe: "OnProbe | None" = None,
    ) -> "EndpointProfile":
        """Measure what the endpoint does with a model: tools, formats, thoughts, limits, speed.

        Some thirty short requests at temperature 0, one after the other, none repeated, as this client
        sends requests: with its dialect, keys and slots. What could not be measured says why. The
        client remembers the profile while server, build and settings stay the same; nothing is
        written or read unless `cache` names a file.

        Args:
            model: the model to measure; the client's own when None.
            refresh: measure again whatever is known.
            cache: a file to keep profiles in, for processes to come. It holds no URL, no key and no
                sentence of the endpoint; one that is broken, or somebody else's, is as good as none.
            max_age_s: seconds a profile is believed, a day unless said otherwise.
            budget_s: seconds for measuring; what is not reached is not measured.
            on_probe: told before each probe: its name, its number from 1, and how many there are.

        Returns:
            The profile. A server that loads its model or answers nothing has one too: see `state`.

        Raises:
            InvalidRequestError: budget_s or max_age_s is not above 0.
            UnauthorizedError: the endpoint wants another key.
            RigError: it could not be reached.
        """
        return await self._inquiry.profile(
            self.named_model(model),
            refresh=refresh,
            cache=cache,
            max_age_s=max_age_s,
            budget_s=budget_s,
            on_probe=on_probe,
        )

    async def has_tokenizer(self, model: str | None = None) -> bool:
        """Whether `count_tokens` can count: the endpoint has a tokenizer for texts.

        Args:
            model: the model's name; the client's own when None, and most servers need none.
        """
        return await self._inquiry.tokens.has_tokenizer(model or self.default_model)

    async def count_tokens(self, text: str, model: str | None = None) -> int | None:
        """The number of tokens of a text, counted by the endpoint's own tokenizer; never repeated.

        Args:
            text: the text alone, without chat template.
            model: the model's name; the client's own when None, and most servers need none.

        Returns:
            The count; None where the endpoint has no tokenizer, or it gave no count in time: then
            estimate, and go on.
        """
        return await self._inquiry.tokens.count_text(text, model or self.default_model)

    async def count_prompt(
        self,
        messages: Iterable[Message | Mapping[str, Any]],
        tools: Iterable[ToolSpec] = (),
        system: str = "",
        model: str | None = None,
    ) -> int | None:
        """The number of tokens of a whole prompt, as the endpoint would read it; never repeated.

        Args:
            messages: the conversation, as `history` of `run` takes it; may be empty.
            tools: what is offered.
            system: the system prompt.
            model: the model's name; the client's own when None, and most servers need none.

        Returns:
            The count: exact, chat template included, on llama.cpp, vLLM and Anthropic; else that of
            the system prompt, each tool as JSON, and all texts. None as for `count_tokens`.

        Raises:
            InvalidRequestError: a message is none, or can't be sent.
        """
        from rig.agent.history import prepare, read_history  # noqa: PLC0415 with the first request

        turns = read_history(messages)
        if system:
            turns = (Message(role="system", content=system), *turns)
        count = await self._inquiry.tokens.count_prompt(
            prepare(turns), tuple(tools), model or self.default_model
        )
        return None if count is None else count.tokens

    async def context_window(self, model: str | None = None) -> int | None:
        """The size of the context window in tokens, prompt and reply together, as the endpoint tells.

        Args:
            model: the model's name; the client's own when None, and most servers need none.

        Returns:
            The window of a request; of a model that is not loaded yet, the most it can have. None
            where the endpoint does not say.
        """
        return await self._inquiry.windows.find(model or self.default_model)

    async def occupancy(self) -> "Occupancy | None":
        """How many requests the server answers at the moment, whoever sent them, and how many it can.

        As llama.cpp, vLLM and SGLang tell it, at `/slots`, `/props` and `/metrics`; at most three small
        requests, never repeated. Not to be asked in a loop: llama.cpp puts off noticing clients that have
        gone while it answers.

        Returns:
            What it says; None where it says nothing.

        Raises:
            RigError: the request can't be sent.
        """
        return await self._inquiry.occupancy()

    async def discover_context(self, model: str | None = None) -> int:
        """Find out how long a prompt the endpoint takes, by sending longer and longer ones.

        For endpoints whose `context_window` is None. It costs up to 13 requests, the last ones as
        long as the window: keep what it returns. An endpoint that cuts prompts instead of refusing
        them takes all.

        Args:
            model: the model's name; the client's own when None.

        Returns:
            Words of the longest prompt that was taken, about a token each; 32,768 at most.

        Raises:
            RigError: a request failed for another reason than its length.
        """
        return await self._inquiry.discover_context(self.named_model(model))

    async def reasoning_budget(
        self,
        model: str | None = None,
        *,
        reserve: int,
        system: str = "",
        tools: Iterable[ToolSpec] = (),
        messages: Iterable[Message | Mapping[str, Any]] = (),
    ) -> int | None:
        """How many tokens a model may think: two thirds of what prompt and reserve leave of the window.

        Args:
            model: the model's name; the client's own when None.
            reserve: tokens to keep for what is not counted here: the answer, results of tools.
            system: the system prompt.
            tools: what is offered.
            messages: the conversation; what is not given here belongs into the reserve.

        Returns:
            The budget, for `with_reasoning_budget`; None when nothing is left or a size is unknown.

        Raises:
            InvalidRequestError: reserve is no number of tokens, or a message is none.
        """
        from rig.agent.reasoning_budget import reasoning_budget  # noqa: PLC0415 few ask

        reasoning_budget(window=None, prompt_tokens=None, reserve=reserve)  # refuses before asking
        window = await self.context_window(model)
        if window is None:
            return None
        prompt_tokens = await self.count_prompt(messages, tools, system, model)
        return reasoning_budget(window=window, prompt_tokens=prompt_tokens, reserve=reserve)

    async def embed(
        self, texts: Sequence[str], *, model: str | None = None
    ) -> "tuple[Vector, ...]":
        """The vectors of some texts, in their order. Repeated as chat requests are.

        Args:
            texts: what to embed, in one request; none at all sends none.
            model: the embedding model's name; the client's own when None.

        Returns:
            One vector for each text, all of one length.

        Raises:
            NotConfiguredError: the server was started without embeddings, or no model is named.
            ProtocolError: the answer does not hold exactly one vector of numbers for each text.
            RigError: the request was refused, or no usable answer came.
        """
        from rig.client.embeddings import embedder  # noqa: PLC0415 few clients embed
        from rig.wire.embeddings import checked_texts  # noqa: PLC0415 the same

        checked = checked_texts(texts)
        if not checked:
            return ()
        until = _until(self._retry, now())
        attempt = embedder(
            lambda path, body, max_bytes: self._exchange(
                lambda: self._requester.request("POST", path, body, max_bytes=max_bytes), until
            ),
            self.named_model(model),
            checked,
            max_response_bytes=self._max_response_bytes,
        )
        return await retrying(attempt, self._retry, on_retry=self._on_retry)

    def _post(self, sendable: "Sendable") -> Coroutine[Any, Any, Response]:
        return self._http.post(sendable.wire.path, sendable.body, sendable.headers)

    @cached_property
    def _inquiry(self) -> "Inquiry":
        """Everything that is asked beside the chat."""
        from rig.client.inquiry import Inquiry  # noqa: PLC0415 a third of the modules of a client

        return Inquiry(
            self._requester,
            url=self._url,
            host=self._host,
            complete=lambda request: retrying(partial(self._answered, request), RetryPolicy.off()),
            search=self.complete,
            send=self._send_once,
            stream=lambda request: self._stream(request, RetryPolicy.off()),
            dialect_for=self._dialect_for,
        )

    async def _answered(self, request: ChatRequest) -> Reply:
        """A reply as it is: what came as the text of a call stays text, probes want to know."""
        started = now()
        body, decode = await self._send_once(request)
        return decode(body, latency_s=now() - started)

    async def _send_once(self, request: ChatRequest) -> "tuple[bytes, Decode]":
        sendable = self._encoded(request)
        until = _until(RetryPolicy.off(), now())
        response = await self._exchange(partial(self._post, sendable), until, request.options)
        return response.body, sendable.wire.decode

    def _encoded(self, request: ChatRequest, *, stream: bool = False) -> "Sendable":
        """The request as it is sent, over the API its model is asked over."""
        model = request.model or self.named_model(None)
        dialect = self._spoken if model == self.default_model else self._dialect_for(model)
        headers = self._asking if dialect is self._spoken else self._headers(dialect)
        return _sendable()(request, model=model, dialect=dialect, headers=headers, stream=stream)

    def _dialect_for(self, model: str) -> Dialect:
        return self._dialect or dialect_of(self._host, model)

    def _headers(self, dialect: Dialect) -> "Pairs":
        """What a dialect's requests carry beside what all do: who asks, and which API is meant."""
        keys = key_headers(dialect, self._api_key)
        if dialect.wire == "chat_completions":
            return tuple(keys)
        from rig.wire.wires import wire_of  # noqa: PLC0415 few clients speak another

        return (*wire_of(dialect).headers, *keys)

    async def _stream_response(
        self, answer: AsyncExitStack, sendable: "Sendable"
    ) -> StreamResponse:
        """Send the request and read the head of its answer.

        Args:
            answer: given what is to be released at the end.
            sendable: the request.

        Raises:
            RigError: an error status, as its error.
        """
        response = await answer.enter_async_context(
            self._http.stream(
                "POST",
                sendable.wire.path,
                sendable.body,
                sendable.headers,
                max_bytes=_streaming().raw_factor * self._max_response_bytes,
                uncoded=True,
            )
        )
        if response.status >= 300:
            page = await response.read()
            error = _fault(response.status, response.headers, page)
            raise error
        return response

    def _reply_stream(
        self,
        sendable: "Sendable",
        response: StreamResponse,
        answer: AsyncExitStack,
        *,
        started: float,
        sent: float,
        salvage: bool,
    ) -> "ClientReplyStream":
        streaming, key = _streaming(), thinking_key(sendable.request)
        chat = sendable.wire.stream(
            content_type=response.headers.get("content-type", ""),
            max_response_bytes=self._max_response_bytes,
            thinking=key in self._thinking,
            tools=sendable.offered if salvage else (),
        )
        return streaming.reply_stream(
            response,
            chat,
            streaming.loop_watch(self._repetition),
            answer,
            model=sendable.request.model,
            started=started,
            sent=sent,
            timeouts=self._timeouts,
            learned=lambda thinks: self._thinking.learn(key, thinks),
        )

    async def _exchange(
        self,
        send: Callable[[], Awaitable[Response]],
        until: float,
        options: ChatOptions = _NO_OPTIONS,
    ) -> Response:
        """One exchange, inside a slot where there are slots.

        Args:
            send: does it.
            until: when to give up waiting for a slot.
            options: say whose turn it is.

        Raises:
            RigError: an error status, as its error; or no slot was free in time.
        """
        if self._slots is None:
            response = await send()
        else:
            async with _held(self._slots, options, until):
                response = await send()
        if response.status >= 300:
            _refuse(response)
        return response


def _chosen(dialect: str | Dialect | None) -> Dialect | None:
    """The dialect a caller chose, None to choose by host and model.

    Raises:
        InvalidRequestError: there is none of that name.
    """
    if dialect is None or dialect == "auto":
        return None
    return dialect if isinstance(dialect, Dialect) else dialect_named(dialect)


class _Streaming(NamedTuple):
    """What only streams need."""

    raw_factor: int
    reply_stream: "type[ClientReplyStream]"
    loop_watch: "type[LoopWatch]"


@cache
def _sendable() -> "Callable[..., Sendable]":
    from rig.client.sendable import sendable  # noqa: PLC0415 with the first request

    return sendable


@cache
def _streaming() -> _Streaming:
    from rig.client.loop_watch import LoopWatch  # noqa: PLC0415 a dozen modules come with
    from rig.client.reply_stream import ClientReplyStream  # noqa: PLC0415 the first stream
    from rig.wire.chat_stream import RAW_FACTOR  # noqa: PLC0415 as above

    return _Streaming(RAW_FACTOR, ClientReplyStream, LoopWatch)


def _refuse(response: Response) -> NoReturn:
    """What becomes of an answer that is no success.

    Raises:
        RigError: its error.
    """
    error = _fault(response.status, response.headers, response.body)
    raise error


def _fault(status: int, headers: Mapping[str, str], body: bytes) -> RigError:
    """The error of an answer that is no success."""
    from rig.wire.faults import error_from_response  # noqa: PLC0415 its tables, with the first one

    return error_from_response(status, headers, body)


def _slots(count: int) -> "PerLoop[FairSlots]":
    from rig.client.fair_slots import FairSlots  # noqa: PLC0415 few clients have slots

    settings.whole_number(count, "slots", ", or None for no bound")
    return PerLoop(lambda: FairSlots(count))


def _held(
    slots: "PerLoop[FairSlots]", options: ChatOptions, until: float
) -> AbstractAsyncContextManager[None]:
    """A slot for the length of a block."""
    return slots.get().hold(options.tenant, options.priority, until=until)


def _until(policy: RetryPolicy, started: float) -> float:
    """When to give up waiting for a slot: what a call may last includes that."""
    return math.inf if policy.budget_s is None else started + policy.budget_s
