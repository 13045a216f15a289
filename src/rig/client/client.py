"""The client of one endpoint: requests in, replies out. It awaits; what to send is decided below it."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

import anyio

from rig.agent.history import prepare
from rig.client.probe import check_probe, probe_request
from rig.client.running import RunMixin
from rig.client.url import normalise_base_url
from rig.errors import InvalidRequestError
from rig.events import RetryEvent
from rig.model import ChatRequest, Reply
from rig.transport.http import HTTP, MAX_RESPONSE_BYTES, Response, Timeouts
from rig.transport.retry import RetryPolicy, retrying
from rig.version import VERSION
from rig.wire.decode import decode_chat, decode_models
from rig.wire.encode import encode_chat, request_headers
from rig.wire.faults import error_from_response

USER_AGENT = f"rig/{VERSION}"


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
        request = replace(
            request, model=self.named_model(request.model), messages=prepare(request.messages)
        )
        body = encode_chat(request)
        headers = request_headers(request)
        started = anyio.current_time()

        async def attempt() -> Reply:
            response = await self._exchange(
                lambda: self._http.post("chat/completions", body, headers)
            )
            return decode_chat(response.body, latency_s=anyio.current_time() - started)

        return await retrying(
            attempt, policy, on_retry=self._on_retry, greedy=request.options.greedy
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
