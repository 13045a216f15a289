"""The in-process door of `FakeBackend`: an httpx transport that plays the same answers."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator
from contextlib import contextmanager

import anyio
import anyio.lowlevel
import httpx

from rig.testing.answers import Answer
from rig.testing.received import MAX_HEAD_BYTES, ReceivedRequest
from rig.testing.server import wait_for
from rig.testing.steps import Close, Reset
from rig.testing.wire import AnswerHead, BodyReader, BrokenAnswerError, parse_head


class FakeTransport(httpx.AsyncBaseTransport):
    """Answers requests without a socket.

    Args:
        answerer: records a request and chooses its answer.
    """

    def __init__(self, answerer: Callable[[ReceivedRequest], Awaitable[Answer]]) -> None:
        self._answerer = answerer

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Play the answer to this request.

        Raises:
            httpx.ReadError: the answer resets the connection.
            httpx.RemoteProtocolError: it ends too early, or is no HTTP.
            httpx.ReadTimeout: a wait outlasts the request's own read time-out.
        """
        received = _received(request, await request.aread())
        playing = _Playing(await self._answerer(received), request, received)
        try:
            head, rest = await playing.head()
        except BaseException:
            playing.client_left()
            raise
        return httpx.Response(head.status, headers=head.headers, stream=_Body(playing, head, rest))


def _received(request: httpx.Request, body: bytes) -> ReceivedRequest:
    headers = [
        (name.decode("latin-1"), value.decode("latin-1")) for name, value in request.headers.raw
    ]
    target = request.url.raw_path.decode("ascii")
    lines = [
        f"{request.method} {target} HTTP/1.1",
        *(f"{name}: {value}" for name, value in headers),
    ]
    return ReceivedRequest(
        method=request.method,
        target=target,
        headers=headers,
        body=body,
        raw=("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body,
    )


class _Playing:
    """An answer on its way: pulls steps, raises what httpx would raise."""

    def __init__(self, answer: Answer, request: httpx.Request, received: ReceivedRequest) -> None:
        self._steps = iter(answer.steps)
        self._request = request
        self._received = received
        timeout = request.extensions.get("timeout", {})
        self._read_timeout_s: float | None = timeout.get("read")

    def client_left(self) -> None:
        self._received.disconnected.set()

    async def head(self) -> tuple[AnswerHead, bytes]:
        data = b""
        with self._httpx_errors():
            while (parsed := parse_head(data)) is None:
                if len(data) > MAX_HEAD_BYTES:
                    raise BrokenAnswerError("headers without an end")
                piece = await self.next_bytes()
                if piece is None:
                    raise BrokenAnswerError("Server disconnected without sending a response.")
                data += piece
            return parsed

    async def body(self, head: AnswerHead, rest: bytes) -> AsyncGenerator[bytes]:
        reader = BodyReader(head)
        piece: bytes | None = rest
        with self._httpx_errors():
            while piece is not None:
                for part in reader.feed(piece):
                    yield part
                if reader.complete:
                    return
                piece = await self.next_bytes()
            if not reader.may_end:
                raise BrokenAnswerError("peer closed connection without a complete message body")

    async def next_bytes(self) -> bytes | None:
        """The next bytes after their waits; None at the end of the connection.

        Raises:
            httpx.ReadError: the connection is reset.
        """
        for step in self._steps:
            if isinstance(step, bytes):
                if step:
                    await anyio.lowlevel.checkpoint()
                    return step
            elif isinstance(step, Reset):
                raise httpx.ReadError("connection reset", request=self._request)
            elif isinstance(step, Close):
                return None
            else:
                with anyio.fail_after(self._read_timeout_s):
                    await wait_for(step)
        return None

    @contextmanager
    def _httpx_errors(self) -> Generator[None]:
        try:
            yield
        except BrokenAnswerError as fault:
            raise httpx.RemoteProtocolError(str(fault), request=self._request) from None
        except TimeoutError:
            raise httpx.ReadTimeout("read timed out", request=self._request) from None


class _Body(httpx.AsyncByteStream):
    """The body of an in-process response; closing it early tells the server."""

    def __init__(self, playing: _Playing, head: AnswerHead, rest: bytes) -> None:
        self._playing = playing
        self._parts = playing.body(head, rest)
        self._finished = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._parts:
            yield part
        self._finished = True

    async def aclose(self) -> None:
        if not self._finished:
            self._playing.client_left()
        await self._parts.aclose()
