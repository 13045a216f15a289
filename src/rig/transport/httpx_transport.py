"""The pool as a transport of httpx, for who wants a client of httpx without httpx's own pool.

Nothing of rig imports this: rig's own requests go to the pool as they are.
"""

import math
from collections.abc import Mapping
from typing import Self

import httpx

from rig.errors import InvalidRequestError, UpstreamError
from rig.transport.descriptors import TOO_MANY_FILES
from rig.transport.origin import Origin, origin_of
from rig.transport.pool import ConnectionPool, Exchange
from rig.transport.request import encode_head
from rig.transport.sockets import Connection, now


class PoolTransport(ConnectionPool, httpx.AsyncBaseTransport):
    """HTTP/1.1 over rig's own connections, for `httpx.AsyncClient(transport=PoolTransport())`.

    The time-outs of httpx are honoured (connect, read for each read, write for each write, and pool where
    descriptors are short and a request waits for a connection of another).

    Raises:
        RigError: from every request, instead of httpx's exceptions; a URL or a header is in none of
            them.
    """

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request and return its answer as soon as the head is there.

        Args:
            request: what httpx built.

        Raises:
            InvalidRequestError: it can't be sent as it stands, or the transport is closed.
            RequestTimeoutError: connect, write, first_byte (the head), idle (the body).
            UpstreamError: no connection, or it broke before an answer came; the reasons of `sockets`,
                and eof.
            ProtocolError: the answer is not HTTP/1.1.
            StreamCutError: the answer's head ended in the middle.
        """
        if self._closed:
            raise InvalidRequestError("the transport is closed: make the request before closing it")
        origin = origin_of(request.url)
        body = await _body_of(request)
        head = encode_head(
            request.method,
            request.url.raw_path,
            request.headers.raw,
            host=request.url.netloc,
            length=len(body) if isinstance(body, bytes) else None,
        )
        limits: Mapping[str, float | None] = request.extensions.get("timeout", {})
        connection = self._idle.take(origin) or await self._open_within(origin, limits)
        exchange = Exchange(self, origin, connection)
        exchange.read_s, exchange.write_s = limits.get("read"), limits.get("write")
        answer = await exchange.ask(head, body)
        return httpx.Response(
            answer.status,
            headers=list(answer.headers),
            stream=_Body(exchange),
            # Without the server's reason phrase: httpx logs it, and it may echo our own headers.
            extensions={"http_version": b"HTTP/" + answer.http_version},
        )

    async def _open_within(self, origin: Origin, limits: Mapping[str, float | None]) -> Connection:
        connect_s, pool_s = limits.get("connect"), limits.get("pool")
        if first := not self._scarce:
            try:
                return await self._open(origin, connect_s)
            except UpstreamError as error:
                if error.reason != TOO_MANY_FILES:
                    raise
        until = math.inf if pool_s is None else now() + pool_s
        return await self._open_in_turn(origin, connect_s, until=until, first=first)


async def _body_of(request: httpx.Request) -> bytes | httpx.AsyncByteStream:
    """The body where it is in memory, or nothing tells its size; else the stream of it.

    Raises:
        InvalidRequestError: it can only be read by blocking.
    """
    stream = request.stream
    if isinstance(stream, httpx.ByteStream):
        return b"".join(stream)
    if not isinstance(stream, httpx.AsyncByteStream):
        raise InvalidRequestError("the request's body is a synchronous stream: pass bytes instead")
    if "content-length" in request.headers or "transfer-encoding" in request.headers:
        return stream
    return b"".join([part async for part in stream])


class _Body(httpx.AsyncByteStream):
    """The body of one answer; not a generator, which would need an event loop to be thrown away."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        data = await self._exchange.read_data()
        if data is None:
            raise StopAsyncIteration
        return data

    async def aclose(self) -> None:
        """Close the connection if anything is left of the body: it is the only way to make a server stop."""
        self._exchange.close()
