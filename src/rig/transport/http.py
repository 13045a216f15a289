"""Requests to one endpoint over httpx: whole answers or streams of bytes, capped and timed.

Rules for whoever edits this file: bodies are read raw and decoded by `limits`, never by httpx; what
httpx raises is mapped by `foreign` and raised where no exception is being handled; no time-out scope
is open while a caller's code runs.
"""

import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, cast

import anyio
import httpx

from rig.errors import (
    InvalidRequestError,
    NotConfiguredError,
    ProtocolError,
    ResponseTooLargeError,
    RigError,
)
from rig.transport.body import Body, headers_of
from rig.transport.foreign import rig_error_from
from rig.transport.limits import ACCEPT_ENCODING, BodyDecoder
from rig.transport.pool import DEADLINE, PoolTransport, origin_of
from rig.transport.request import NEVER_SENT, header_pairs
from rig.transport.timeouts import Deadline, Timeouts
from rig.transport.urls import PrivateURL, join_url, parse_url
from rig.version import VERSION

__all__ = ["HTTP", "AsyncHTTPClient", "Response", "StreamResponse", "Timeouts"]

MAX_RESPONSE_BYTES = 1 << 20
"""Decoded bytes of an answer by default. A reply of 32,000 tokens with its tool calls is about 200 KB."""

STREAM_BYTES_PER_CAP = 64
"""Decoded bytes of a stream allowed for each byte of the cap. An event of one token, four bytes of text,
is 200-250 bytes of JSON."""

CODED_STEP_BYTES = 2048
"""Bytes of a compressed stream that are decoded at a time. Deflate makes at most 1,032 of each, so whoever
reads sees a bomb in pieces of 2 MB and can stop at the first."""

MAX_URLS = 64
"""URLs kept parsed. An endpoint has about ten paths."""

Headers = Mapping[str, str] | Iterable[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Response:
    """A whole answer, whatever its status.

    Attributes:
        status: HTTP status; redirects are not followed.
        headers: names in lower case; repeated ones are joined by commas.
        body: decoded.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes


class AsyncHTTPClient(Protocol):
    """What rig needs of a caller's http client: `httpx.AsyncClient` and `httpx2.AsyncClient` have it."""

    def build_request(self, method: str, url: str, /) -> Any:  # noqa: ANN401 of either library
        """Make a request with the client's own headers and cookies."""
        ...

    async def send(self, request: Any, /) -> Any:  # noqa: ANN401 of either library
        """Send it."""
        ...


class StreamResponse:
    """An answer that is read as it comes. Made by `HTTP.stream`.

    Attributes:
        status: HTTP status; redirects are not followed.
        headers: names in lower case; repeated ones are joined by commas.
    """

    __slots__ = (
        "_body",
        "_deadline",
        "_decoder",
        "_first",
        "_max_body_bytes",
        "_max_bytes",
        "_undecoded",
        "headers",
        "status",
    )

    def __init__(
        self,
        response: httpx.Response,
        body: Body,
        deadline: Deadline,
        *,
        max_bytes: int,
        max_body_bytes: int,
    ) -> None:
        self.status = response.status_code
        self.headers: Mapping[str, str] = headers_of(response)
        self._body = body
        self._deadline = deadline
        self._max_bytes = max_bytes
        self._max_body_bytes = max_body_bytes
        self._decoder: BodyDecoder | None = None
        self._undecoded: bytes = b""
        self._first = True

    def aiter(self) -> AsyncIterator[bytes]:
        """Decoded bytes as they come, split anywhere, never empty; to be read once.

        Raises:
            RequestTimeoutError: first_byte, idle or total.
            ResponseTooLargeError: the stream is longer than its bound.
            StreamCutError: it ended before it was complete.
            RigError: the connection or the client failed.
        """
        return self

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        decoder = self._decoder
        if decoder is None:
            decoder = self._decoder = BodyDecoder(self._body.encoding, self._max_bytes)
        while (raw := self._undecoded or await self._read()) is not None:
            self._undecoded = b""
            if not decoder.identity and len(raw) > CODED_STEP_BYTES:
                raw, self._undecoded = raw[:CODED_STEP_BYTES], raw[CODED_STEP_BYTES:]
            if data := decoder.feed(raw):
                return data
        decoder.finish()
        raise StopAsyncIteration

    async def read(self) -> bytes:
        """The whole body, as `HTTP.post` returns it; for error statuses, of which a cut one is kept.

        Raises:
            ResponseTooLargeError: it is larger than `max_response_bytes`.
            RigError: as `aiter`.
        """
        self._decoder = decoder_for(self.status, self._body.encoding, self._max_body_bytes)
        if self._decoder is None:
            return b""
        parts: list[bytes] = []
        try:
            async for data in self:
                parts.append(data)  # noqa: PERF401 what came before a fault is kept
        except RigError as error:
            if self.status < 400 or _is_too_large(error):
                raise
        return b"".join(parts)

    async def _read(self) -> bytes | None:
        """Raw bytes, None at the end; the time-outs run only here.

        Raises:
            RigError: whatever ended the wait.
        """
        if not self._first:
            self._deadline.read_on(anyio.current_time())
        if self._body.ours:
            raw = await self._body.read()  # the transport minds the deadline
            self._first = False
            return raw
        error: RigError | None = None
        with anyio.CancelScope(deadline=self._deadline.at):
            try:
                raw = await self._body.read()
            except RigError:
                raise
            except Exception as fault:
                if (error := rig_error_from(fault, "idle")) is None:
                    raise
            else:
                self._first = False
                return raw
        raise error or self._deadline.error()


@dataclass(slots=True)
class _Answer:
    """An answer as far as it has come."""

    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    parts: list[bytes] = field(default_factory=list[bytes])
    complete: bool = False


def _is_too_large(error: RigError | None) -> bool:
    return isinstance(error, ResponseTooLargeError)


class HTTP:
    """Requests to one endpoint.

    Args:
        base_url: what the paths of requests are appended to.
        headers: sent with every request, and stronger than those of a caller's client.
        http_client: an `httpx.AsyncClient` or `httpx2.AsyncClient` of the caller's, with its own
            connections, proxies, auth and hooks, closed by the caller; rig's time-outs replace its own,
            and redirects are not followed. None for a client over `PoolTransport`.
        timeouts: bounds of every wait.
        max_response_bytes: decoded bytes of an answer that may pass; one more is an error.

    Raises:
        InvalidRequestError: the URL or a header can't be sent.
        NotConfiguredError: `http_client` is not an async client.
    """

    def __init__(
        self,
        base_url: str,
        *,
        headers: Headers = (),
        http_client: AsyncHTTPClient | None = None,
        timeouts: Timeouts = Timeouts(),
        max_response_bytes: int = MAX_RESPONSE_BYTES,
    ) -> None:
        self._base = parse_url(base_url)
        self._urls: dict[str, PrivateURL] = {}
        self._foreign_urls: dict[str, Any] = {}  # the same, parsed by the caller's library
        self._timeouts = timeouts
        self._max_response_bytes = max_response_bytes
        self._ours = http_client is None
        self._client: Any = _checked(http_client) if http_client is not None else _own_client()
        self._headers = httpx.Headers({**_DEFAULT_HEADERS, **dict(header_pairs(headers))})
        self._headers["accept-encoding"] = ACCEPT_ENCODING
        self._post_headers = self._headers.copy()
        self._post_headers.setdefault("content-type", "application/json")
        limits = {"connect": timeouts.connect_s, "read": None, "write": None, "pool": None}
        if not self._ours:
            limits["pool"] = timeouts.connect_s
        self._extensions = {"timeout": limits}

    def __repr__(self) -> str:
        return f"HTTP({'its own client' if self._ours else 'the client of the caller'})"

    async def post(self, path: str, body: bytes, headers: Headers = ()) -> Response:
        """Send a body and return the whole answer, whatever its status.

        Args:
            path: appended to the base URL, or a whole URL of the same origin.
            body: JSON, unless a content-type header says otherwise.
            headers: for this request, stronger than the others.

        Raises:
            InvalidRequestError: the request can't be sent as it stands.
            RequestTimeoutError: connect, first_byte, idle or total.
            ResponseTooLargeError: the answer is larger than the cap; reading stopped there.
            UpstreamError: no connection, or it broke; StreamCutError and ProtocolError among them.
        """
        return await self._request("POST", path, body, headers)

    async def get(self, path: str, headers: Headers = ()) -> Response:
        """Ask for a path and return the whole answer, whatever its status.

        Args:
            path: appended to the base URL, or a whole URL of the same origin.
            headers: for this request, stronger than the others.

        Raises:
            RigError: as `post`.
        """
        return await self._request("GET", path, b"", headers)

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        headers: Headers = (),
        *,
        max_bytes: int | None = None,
        uncoded: bool = False,
    ) -> AsyncGenerator[StreamResponse]:
        """Send a request and read the answer as it comes; leaving the block closes it at once.

        Args:
            method: GET, POST and so on.
            path: appended to the base URL, or a whole URL of the same origin.
            body: what to send.
            headers: for this request, stronger than the others.
            max_bytes: decoded bytes of the stream that may pass; None for `STREAM_BYTES_PER_CAP`
                times `max_response_bytes`. `StreamResponse.read` has the cap of `post`.
            uncoded: ask for a body that is not compressed: proxies that compress keep events back until
                a block is full. One that is compressed all the same is read.

        Raises:
            RigError: as `post`, but for what only reading finds.
        """
        request = self._build(method, path, body, headers)
        if uncoded:
            request.headers["accept-encoding"] = "identity"
        deadline = Deadline(self._timeouts, anyio.current_time())
        if self._ours:
            request.extensions[DEADLINE] = deadline
        if max_bytes is None:
            max_bytes = STREAM_BYTES_PER_CAP * self._max_response_bytes
        outcome: httpx.Response | RigError | None = None
        with anyio.CancelScope(deadline=deadline.at):
            outcome = await self._send(request)
        if outcome is None:
            raise deadline.error()
        if isinstance(outcome, RigError):
            raise outcome
        response = Body(outcome, ours=self._ours)
        try:
            yield StreamResponse(
                outcome,
                response,
                deadline,
                max_bytes=max_bytes,
                max_body_bytes=self._max_response_bytes,
            )
        finally:
            await response.close()

    async def aclose(self) -> None:
        """Close rig's own client and its connections; a caller's stays open."""
        if self._ours:
            await self._client.aclose()

    async def _request(self, method: str, path: str, body: bytes, headers: Headers) -> Response:
        request = self._build(method, path, body, headers)
        deadline = Deadline(self._timeouts, anyio.current_time())
        answer = _Answer()
        outcome: RigError | None = None
        with anyio.CancelScope(deadline=deadline.at) as scope:
            outcome = await self._exchange(request, answer, deadline, scope)
        if answer.complete or (answer.status >= 400 and not _is_too_large(outcome)):
            # An error status says more than the fault that cut its body short.
            return Response(answer.status, answer.headers, b"".join(answer.parts))
        raise outcome or deadline.error()

    async def _exchange(
        self,
        request: httpx.Request,
        answer: "_Answer",
        deadline: Deadline,
        scope: anyio.CancelScope,
    ) -> RigError | None:
        """One request and its answer, filled in as it comes; what went wrong is returned."""
        try:
            response = await self._send(request)
            if isinstance(response, RigError):
                return response
            answer.status, answer.headers = response.status_code, headers_of(response)
            body = Body(response, ours=self._ours)
            try:
                await self._read_all(answer, body, deadline, scope)
            finally:
                await body.close()
        except RigError as error:
            return error
        except Exception as fault:
            if (mapped := rig_error_from(fault, "idle")) is None:
                raise
            return mapped
        answer.complete = True
        return None

    async def _send(self, request: httpx.Request) -> httpx.Response | RigError:
        """Send until the head is there; what a foreign client raises is returned as ours.

        Raises:
            RigError: from rig's own transport.
        """
        try:
            if self._ours:
                own = cast("httpx.AsyncClient", self._client)
                return await own.send(request, stream=True, auth=_NO_AUTH, follow_redirects=False)
            sent = await self._client.send(request, stream=True, follow_redirects=False)
            return cast("httpx.Response", sent)
        except RigError:
            raise
        except Exception as fault:
            if (error := rig_error_from(fault, "first_byte")) is None:
                raise
            return error

    async def _read_all(
        self, answer: "_Answer", body: Body, deadline: Deadline, scope: anyio.CancelScope
    ) -> None:
        """Read the body into the answer.

        Raises:
            RigError: it ended badly, or a time-out ended it.
        """
        decoder = decoder_for(answer.status, body.encoding, self._max_response_bytes)
        if decoder is None:
            return
        while (raw := await body.read()) is not None:
            answer.parts.append(decoder.feed(raw))
            now = anyio.current_time()
            if now >= deadline.at:  # a flood leaves the loop no turn to deliver the scope's own
                raise deadline.error()
            deadline.read_on(now)
            scope.deadline = deadline.at
        answer.parts.append(decoder.finish())

    def _build(self, method: str, path: str, body: bytes, headers: Headers) -> httpx.Request:
        if getattr(self._client, "is_closed", False):
            raise InvalidRequestError("the http client is closed: make requests before closing it")
        url = self._urls.get(path) or self._url(path)
        fields = self._post_headers if body or method == "POST" else self._headers
        if headers and (own := header_pairs(headers)):
            fields = httpx.Headers({**fields, **dict(own)})
        if not self._ours:
            return self._build_foreign(method, path, url, body, fields)
        request = httpx.Request(
            method,
            url,
            headers=fields,
            stream=httpx.ByteStream(body),
            extensions=self._extensions,
        )
        request.url = url  # httpx has made a plain URL of it, which it would log
        return request

    def _build_foreign(
        self, method: str, path: str, url: PrivateURL, body: bytes, fields: httpx.Headers
    ) -> httpx.Request:
        """A request of the caller's client, with its headers, where ours don't say otherwise."""
        failure: RigError | None = None
        try:
            request: httpx.Request = self._client.build_request(
                method,
                self._foreign_urls.get(path) or url.text,
                content=body or None,
                headers=fields.multi_items(),
                extensions=self._extensions,
            )
        except Exception as fault:
            if (failure := rig_error_from(fault, "first_byte")) is None:
                raise
        else:
            for name in _ACCOUNT:
                if name in request.headers:
                    del request.headers[name]
            if path not in self._foreign_urls and len(self._foreign_urls) < MAX_URLS:
                self._foreign_urls[path] = type(request.url)(url.text)
            return request
        raise failure

    def _url(self, path: str) -> PrivateURL:
        """The URL of a path; a few are kept.

        Raises:
            InvalidRequestError: the path makes no valid URL, or leaves the endpoint's origin.
        """
        if path.startswith(("http://", "https://")):
            url = parse_url(path)
            if origin_of(url) != origin_of(self._base):
                raise InvalidRequestError("a whole URL must be of the endpoint's own origin")
        else:
            url = PrivateURL(join_url(self._base, path))
        if len(self._urls) < MAX_URLS:
            self._urls[path] = url
        return url


def decoder_for(status: int, content_encoding: str, max_bytes: int) -> BodyDecoder | None:
    """What decodes a whole answer; None for an error page in a coding nobody offered.

    Its status says more than that nobody can read it.

    Args:
        status: HTTP status.
        content_encoding: the header's value.
        max_bytes: the cap.

    Raises:
        ProtocolError: a success in such a coding.
    """
    try:
        return BodyDecoder(content_encoding, max_bytes)
    except ProtocolError:
        if status < 400:
            raise
    return None


_DEFAULT_HEADERS = {"accept": "application/json", "user-agent": f"rig/{VERSION}"}
_ACCOUNT = frozenset(name for name in NEVER_SENT if name.startswith("openai-"))
_NO_AUTH = httpx.Auth()


class _NoCookies(httpx.Cookies):
    """A jar that takes nothing, and saves the 13 us it takes to look for what to take."""

    def extract_cookies(self, response: httpx.Response) -> None:
        """Ignore them."""


_NO_COOKIES = _NoCookies()


class _OwnClient(httpx.AsyncClient):
    """A client that keeps no cookies."""

    @property
    def cookies(self) -> httpx.Cookies:
        return _NO_COOKIES

    @cookies.setter
    def cookies(self, cookies: object) -> None:
        """Keep none of these either."""


def _own_client() -> httpx.AsyncClient:
    return _OwnClient(transport=PoolTransport(), trust_env=False, follow_redirects=False)


def _checked(client: object) -> object:
    """The caller's client, if it is one we can use.

    Raises:
        NotConfiguredError: it isn't.
    """
    send = getattr(client, "send", None)
    if not callable(getattr(client, "build_request", None)) or not callable(send):
        raise NotConfiguredError("http_client must be an httpx.AsyncClient or httpx2.AsyncClient")
    if not inspect.iscoroutinefunction(send):
        raise NotConfiguredError(
            "http_client is a synchronous client; pass an httpx.AsyncClient instead"
        )
    return client
