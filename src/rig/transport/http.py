"""Requests to one endpoint: whole answers or streams of bytes, capped and timed, whatever their route.

Rules for whoever edits this file: bodies are read raw and decoded by `limits`, never by httpx; what
httpx raises is mapped by `foreign` and raised where no exception is being handled; no time-out scope
is open while a caller's code runs.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import field
from typing import TYPE_CHECKING, Any, Protocol, Self, cast

import anyio.lowlevel

from rig.errors import ProtocolError, ResponseTooLargeError, RigError
from rig.late_dataclass import dataclass
from rig.transport.limits import ACCEPT_ENCODING, BodyDecoder
from rig.transport.request import header_pairs
from rig.transport.routes import Endpoint, Headers, Route
from rig.transport.sockets import END_AGAIN_S, Waits, clock, now, waits_until
from rig.transport.timeouts import Deadline, Timeouts
from rig.version import VERSION

if TYPE_CHECKING:  # loaded with the first answer
    from rig.transport.body import Answer
    from rig.transport.pool import PoolAnswer

__all__ = ["HTTP", "AsyncHTTPClient", "Response", "StreamResponse", "Timeouts"]

MAX_RESPONSE_BYTES = 1 << 20
"""Decoded bytes of an answer by default. A reply of 32,000 tokens with its tool calls is about 200 KB."""

STREAM_BYTES_PER_CAP = 64
"""Decoded bytes of a stream allowed for each byte of the cap. An event of one token, four bytes of text,
is 200-250 bytes of JSON."""

CODED_STEP_BYTES = 2048
"""Bytes of a compressed stream that are decoded at a time. Deflate makes at most 1,032 of each, so whoever
reads sees a bomb in pieces of 2 MB and can stop at the first."""


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
        since: when the last wait for bytes began, on the event loop's clock.
    """

    __slots__ = (
        "_answer",
        "_clock",
        "_deadline",
        "_decoder",
        "_first",
        "_max_body_bytes",
        "_max_bytes",
        "_read_on",
        "_undecoded",
        "_waits",
        "headers",
        "since",
        "status",
    )

    def __init__(
        self,
        answer: "Answer",
        deadline: Deadline,
        *,
        max_bytes: int,
        max_body_bytes: int,
        waits: Waits | None = None,
    ) -> None:
        self._waits = waits
        self.status = answer.status
        self.headers = answer.headers
        self._answer = answer
        self._deadline = deadline
        self._max_bytes = max_bytes
        self._max_body_bytes = max_body_bytes
        self._decoder: BodyDecoder | None = None
        self._undecoded: bytes = b""
        self._first = True
        self._clock = clock()
        self._read_on: Callable[[BodyDecoder], Coroutine[Any, Any, bytes | None]] | None = None
        self.since = 0.0

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
        data = await self.next_data()
        if data is None:
            raise StopAsyncIteration
        return data

    def next_data(self) -> Coroutine[Any, Any, bytes | None]:
        """What iterating gives next, None at the end.

        Once the first bytes have come over a connection of rig's own, and there is nothing to decode, that
        is its coroutine itself: each more is begun and woken for every token of a slow model.

        Raises:
            RigError: as `aiter`.
        """
        if self._read_on is None or self._decoder is None:
            return self._next_data()
        self.since = self._clock()
        self._deadline.read_on(self.since)
        return self._read_on(self._decoder)

    async def _next_data(self) -> bytes | None:
        decoder = self._decoder
        if decoder is None:
            decoder = self._decoder = BodyDecoder(self._answer.encoding, self._max_bytes)
        raw: bytes | None
        while True:
            if self._undecoded:
                raw = await self._undecoded_rest()
            else:
                self.since = self._clock()
                if not self._first:
                    self._deadline.read_on(self.since)
                raw = await (
                    self._answer.read() if self._waits is None else self._read(self._waits)
                )
                self._first = False
                if decoder.identity and self._answer.minds_deadline:
                    self._read_on = cast("PoolAnswer", self._answer).exchange.read_data
            if raw is None:
                decoder.finish()
                return None
            if not decoder.identity and len(raw) > CODED_STEP_BYTES:
                raw, self._undecoded = raw[:CODED_STEP_BYTES], raw[CODED_STEP_BYTES:]
            if data := decoder.feed(raw):
                return data

    async def _undecoded_rest(self) -> bytes:
        """The rest of what was read; a bomb is taken apart without leaving others no turn.

        Raises:
            RequestTimeoutError: time is up.
        """
        await anyio.lowlevel.checkpoint()
        if now() >= self._deadline.at:
            raise self._deadline.error()
        rest, self._undecoded = self._undecoded, b""
        return rest

    async def read(self) -> bytes:
        """The whole body, as `HTTP.post` returns it; for error statuses, of which a cut one is kept.

        Raises:
            ResponseTooLargeError: it is larger than `max_response_bytes`.
            RigError: as `aiter`.
        """
        self._decoder = decoder_for(self.status, self._answer.encoding, self._max_body_bytes)
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

    async def _read(self, waits: Waits) -> bytes | None:
        """Raw bytes of an answer that knows of no deadline, None at the end.

        Raises:
            RigError: whatever ended the wait.
        """
        if not self._first and self.since >= self._deadline.at:
            raise self._deadline.error()  # of a flood some has always come
        error: RigError | None = None
        try:
            raw = await waits.bounded(self._answer.read())
            if raw is None or isinstance(raw, bytes):
                return raw
            error = raw
        except RigError:
            raise
        except Exception as fault:
            from rig.transport.foreign import rig_error_from  # noqa: PLC0415 of foreign faults

            if (error := rig_error_from(fault, "idle")) is None:
                raise
        raise error


@dataclass(slots=True)
class _Come:
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
            and redirects are not followed. None for connections of rig's own.
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
        fields = {**_DEFAULT_HEADERS, **dict(header_pairs(headers))}
        fields["accept-encoding"] = ACCEPT_ENCODING
        self._endpoint = Endpoint(base_url, fields)
        self._timeouts = timeouts
        self._max_response_bytes = max_response_bytes
        self._is_own = http_client is None
        self._route: Route | None = None  # rig's own is made with the first request
        if http_client is not None:
            from rig.transport.client_route import ClientRoute  # noqa: PLC0415 few bring a client

            self._route = ClientRoute(http_client, self._endpoint, timeouts.connect_s)

    def __repr__(self) -> str:
        return f"HTTP({'its own connections' if self._is_own else 'the client of the caller'})"

    def _opened(self) -> Route:
        """The way to the endpoint; that over rig's own connections is made once."""
        if self._route is not None:
            return self._route
        from rig.transport.pool_route import PoolRoute  # noqa: PLC0415 with the first request

        self._route = PoolRoute(self._endpoint, self._timeouts.connect_s)
        return self._route

    def post(self, path: str, body: bytes, headers: Headers = ()) -> Coroutine[Any, Any, Response]:
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
        return self._request("POST", path, body, headers)

    def get(self, path: str, headers: Headers = ()) -> Coroutine[Any, Any, Response]:
        """Ask for a path and return the whole answer, whatever its status.

        Args:
            path: appended to the base URL, or a whole URL of the same origin.
            headers: for this request, stronger than the others.

        Raises:
            RigError: as `post`.
        """
        return self._request("GET", path, b"", headers)

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
        deadline = Deadline(self._timeouts, now())
        if max_bytes is None:
            max_bytes = STREAM_BYTES_PER_CAP * self._max_response_bytes
        route = self._route or self._opened()
        sending = route.send(method, path, body, headers, deadline=deadline, uncoded=uncoded)
        waits = None if route.minds_deadline else waits_until(deadline)
        try:
            outcome = await (sending if waits is None else waits.bounded(sending))
            if isinstance(outcome, RigError):
                raise outcome
            try:
                yield StreamResponse(
                    outcome,
                    deadline,
                    max_bytes=max_bytes,
                    max_body_bytes=self._max_response_bytes,
                    waits=waits,
                )
            finally:
                await outcome.close()
        finally:
            if waits is not None:
                waits.over()

    async def aclose(self) -> None:
        """Close rig's own connections; a caller's client stays open."""
        await (self._route or self._opened()).aclose()

    async def _request(self, method: str, path: str, body: bytes, headers: Headers) -> Response:
        deadline = Deadline(self._timeouts, now())
        route = self._route or self._opened()
        outcome: RigError | None = None
        if route.minds_deadline:
            answer = await route.send(method, path, body, headers, deadline=deadline)
            if isinstance(answer, RigError):
                raise answer
            whole = self._whole(answer)
            if whole is not None:
                return Response(answer.status, answer.headers, whole)
            come = _Come()
            outcome = await self._take(answer, come, deadline)
        else:
            come = _Come()
            waits = waits_until(deadline)
            try:
                outcome = await waits.bounded(
                    self._exchange(route, method, path, body, headers, come, deadline, waits)
                )
            finally:
                waits.over()
        if come.complete or (come.status >= 400 and not _is_too_large(outcome)):
            # An error status says more than the fault that cut its body short.
            return Response(come.status, come.headers, b"".join(come.parts))
        raise outcome or deadline.error()

    async def _exchange(
        self,
        route: Route,
        method: str,
        path: str,
        body: bytes,
        headers: Headers,
        come: _Come,
        deadline: Deadline,
        waits: Waits,
    ) -> RigError | None:
        """One request of a caller's client and its answer; what went wrong is returned."""
        try:
            answer = await route.send(method, path, body, headers, deadline=deadline)
        except RigError as error:
            return error
        if isinstance(answer, RigError):
            return answer
        return await self._take(answer, come, deadline, waits)

    def _whole(self, answer: "Answer") -> bytes | None:
        """A body that came with its head, and needs no decoding and no cutting; None of any other."""
        body = answer.whole
        if body is None or answer.encoding or len(body) > self._max_response_bytes:
            return None
        return body

    async def _take(
        self, answer: "Answer", come: _Come, deadline: Deadline, waits: Waits | None = None
    ) -> RigError | None:
        """Read an answer to its end, and close it; what went wrong is returned."""
        come.status, come.headers = answer.status, answer.headers
        try:
            try:
                await self._read_all(come, answer, deadline, waits)
            except BaseException:
                if waits is not None:  # closing what is not wanted any more has a time of its own
                    deadline.at = max(deadline.at, now() + END_AGAIN_S)
                    waits.moved()
                raise
            finally:
                await answer.close()
        except RigError as error:
            return error
        except Exception as fault:
            from rig.transport.foreign import rig_error_from  # noqa: PLC0415 of foreign faults

            if (mapped := rig_error_from(fault, "idle")) is None:
                raise
            return mapped
        come.complete = True
        return None

    async def _read_all(
        self,
        come: _Come,
        answer: "Answer",
        deadline: Deadline,
        waits: Waits | None,
    ) -> None:
        """Read the body into the answer.

        Raises:
            RigError: it ended badly, or a time-out ended it.
        """
        decoder = decoder_for(answer.status, answer.encoding, self._max_response_bytes)
        if decoder is None:
            return
        while (raw := await answer.read()) is not None:
            come.parts.append(decoder.feed(raw))
            time = now()
            if time >= deadline.at:  # a flood leaves the loop no turn to deliver the scope's own
                raise deadline.error()
            deadline.read_on(time)
            if waits is not None:
                waits.moved()
        come.parts.append(decoder.finish())


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
