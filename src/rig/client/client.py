"""The client of one endpoint: requests in, replies out. It awaits; what to send is decided below it."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

import anyio

from rig.agent.history import prepare
from rig.client.loop_watch import LoopWatch
from rig.client.probe import check_probe, probe_request
from rig.client.reply_stream import ClientReplyStream
from rig.client.running import RunMixin
from rig.client.thinking import ThinkingModels, thinking_key
from rig.client.url import normalise_base_url
from rig.errors import InvalidRequestError
from rig.events import RetryEvent
from rig.model import ChatRequest, Reply, ReplyStream
from rig.text.repetition import RepetitionGuard
from rig.transport.http import HTTP, MAX_RESPONSE_BYTES, Response, StreamResponse, Timeouts
from rig.transport.retry import RetryPolicy, retrying
from rig.version import VERSION
from rig.wire.chat_stream import RAW_FACTOR, ChatStream
from rig.wire.decode import decode_chat, decode_models
from rig.wire.encode import encode_chat, request_headers
from rig.wire.faults import error_from_response

USER_AGENT = f"rig/{VERSION}"

_STREAM_HEADERS = {"accept-encoding": "identity"}  # coders keep tokens back until a block is full


class Client(RunMixin):
    """One self-hosted, OpenAI-compatible endpoint.

    Nothing is read from the environment, no redirect is followed, and no request is sent before its
    input was checked. A client is cheap to make and safe to share between any number of tasks.

    Args:
        base_url: the server's URL, with or without `/v1`.
        api_key: sent as a bearer token; "" sends no Authorization header at all.
        model: the model used where a call names none.
        http_client: an `httpx.AsyncClient` (or `httpx2.AsyncClient`) of the caller's, which then
            rules connections, TLS, proxies and who may be connected to; it is not closed here.
        max_response_bytes: cap of a reply's decoded body, error bodies included.
        user_agent: the User-Agent header.
        timeouts: bounds of every wait.
        retry: when a failed request is sent again; `RetryPolicy.off()` sends each request once.
        repetition: when a stream is cut because the model repeats itself; `RepetitionGuard.off()`
            never cuts.
        slots: how many requests may be under way at a time, None for no bound; waiting ones are
            served in order, and a slot is never held while a tool runs or a retry waits.
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
        http_client: Any | None = None,  # noqa: ANN401 httpx's or httpx2's client, by duck type
        max_response_bytes: int = MAX_RESPONSE_BYTES,
        user_agent: str = USER_AGENT,
        timeouts: Timeouts = Timeouts(),
        retry: RetryPolicy = RetryPolicy(),
        repetition: RepetitionGuard = RepetitionGuard(),
        slots: int | None = None,
        on_retry: Callable[[RetryEvent], None] | None = None,
    ) -> None:
        headers = {"User-Agent": _header("user_agent", user_agent)}
        if api_key:
            headers["Authorization"] = f"Bearer {_header('api_key', api_key)}"
        if slots is not None and slots < 1:
            raise InvalidRequestError("slots must be at least 1, or None for no bound")
        if max_response_bytes < 1:
            raise InvalidRequestError("max_response_bytes must be at least 1")
        self.default_model = model or ""
        self._retry = retry
        self._repetition = repetition
        self._thinking = ThinkingModels()
        self._max_response_bytes = max_response_bytes
        self._on_retry = on_retry
        self._slots = None if slots is None else anyio.Semaphore(slots, fast_acquire=True)
        self._http = HTTP(
            normalise_base_url(base_url),
            headers=headers,
            http_client=http_client,
            timeouts=timeouts,
            max_response_bytes=max_response_bytes,
        )

    def __repr__(self) -> str:
        return f"Client(model={self.default_model!r})"

    async def __aenter__(self) -> Self:
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
        return await self._complete(request, self._retry)

    @asynccontextmanager
    async def stream(self, request: ChatRequest, /) -> AsyncGenerator[ReplyStream]:
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
        request, body, headers = self._encoded(request, stream=True)
        started = anyio.current_time()
        async with AsyncExitStack() as block:

            async def attempt() -> ClientReplyStream:
                answer = AsyncExitStack()
                begun = False
                try:
                    await self._take_slot(answer)
                    sent = anyio.current_time()
                    response = await self._stream_response(answer, body, headers)
                    stream = self._reply_stream(
                        request, response, answer, started=started, sent=sent
                    )
                    await stream.begin()
                    begun = True
                finally:
                    if not begun:
                        await answer.aclose()
                block.push_async_exit(answer)
                return stream

            stream = await retrying(
                attempt, self._retry, on_retry=self._on_retry, greedy=request.options.greedy
            )
            block.callback(stream.leave)
            yield stream

    async def models(self) -> tuple[str, ...]:
        """The names of the models the endpoint offers.

        Raises:
            RigError: it did not answer with a list of models.
        """

        async def attempt() -> tuple[str, ...]:
            response = await self._exchange(lambda: self._http.get("models"))
            return decode_models(response.body)

        return await retrying(attempt, self._retry, on_retry=self._on_retry)

    async def probe_tool_calling(self, model: str | None = None) -> None:
        """Check with one request, never repeated, that the model calls a tool it is told to call.

        Args:
            model: the model to probe; the client's own when None.

        Raises:
            NoToolCallingError: it answered without calling the tool.
            OutputLimitError: it used up the probe's tokens first, thinking for example.
            RigError: the endpoint failed or refused the request.
        """
        request = probe_request(self.named_model(model))
        await check_probe(self._complete(request, RetryPolicy.off()))

    async def _complete(self, request: ChatRequest, policy: RetryPolicy) -> Reply:
        _, body, headers = self._encoded(request)
        started = anyio.current_time()

        async def attempt() -> Reply:
            response = await self._exchange(
                lambda: self._http.post("chat/completions", body, headers)
            )
            return decode_chat(response.body, latency_s=anyio.current_time() - started)

        return await retrying(
            attempt, policy, on_retry=self._on_retry, greedy=request.options.greedy
        )

    def _encoded(
        self, request: ChatRequest, *, stream: bool = False
    ) -> tuple[ChatRequest, bytes, dict[str, str]]:
        """The request with its model named and its messages in order, its body, and its headers."""
        request = replace(
            request, model=self.named_model(request.model), messages=prepare(request.messages)
        )
        headers = {**(_STREAM_HEADERS if stream else {}), **request_headers(request)}
        return request, encode_chat(request, stream=stream), headers

    async def _take_slot(self, held: AsyncExitStack) -> None:
        if self._slots is not None:
            await held.enter_async_context(self._slots)

    async def _stream_response(
        self, answer: AsyncExitStack, body: bytes, headers: Mapping[str, str]
    ) -> StreamResponse:
        """Send the request and read the head of its answer.

        Args:
            answer: given what is to be released at the end.
            body: the request's.
            headers: the request's own.

        Raises:
            RigError: an error status, as its error.
        """
        response = await answer.enter_async_context(
            self._http.stream(
                "POST",
                "chat/completions",
                body,
                headers,
                max_bytes=RAW_FACTOR * self._max_response_bytes,
            )
        )
        if response.status >= 300:
            page = await response.read()
            error = error_from_response(response.status, response.headers, page)
            raise error
        return response

    def _reply_stream(
        self,
        request: ChatRequest,
        response: StreamResponse,
        answer: AsyncExitStack,
        *,
        started: float,
        sent: float,
    ) -> ClientReplyStream:
        key = thinking_key(request)
        chat = ChatStream(
            content_type=response.headers.get("content-type", ""),
            max_response_bytes=self._max_response_bytes,
            thinking=key in self._thinking,
        )
        return ClientReplyStream(
            response,
            chat,
            LoopWatch(self._repetition),
            answer,
            model=request.model,
            started=started,
            sent=sent,
            learned=lambda thinks: self._thinking.learn(key, thinks),
        )

    async def _exchange(self, send: Callable[[], Awaitable[Response]]) -> Response:
        """One exchange, inside a slot where there are slots.

        Raises:
            RigError: an error status, as its error.
        """
        if self._slots is None:
            response = await send()
        else:
            async with self._slots:
                response = await send()
        if response.status >= 300:
            error = error_from_response(response.status, response.headers, response.body)
            raise error
        return response


def _header(name: str, value: object) -> str:
    """A header value, checked.

    Raises:
        InvalidRequestError: it could split the request, or can't be encoded.
    """
    if not isinstance(value, str) or not value.isascii() or not value.isprintable():
        raise InvalidRequestError(
            f"{name} must be printable ASCII text without line breaks; check how it was read"
        )
    return value.strip()
