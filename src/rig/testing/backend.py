"""A chat endpoint for tests: says exactly what the test wants said, and remembers what it was asked."""

import socket
import ssl
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Self

import anyio

from rig.agent.background import in_background
from rig.testing.answers import Answer, Repeat, Responder, answer
from rig.testing.connections import Connections
from rig.testing.received import ReceivedRequest
from rig.testing.script import Script
from rig.testing.server import Setting, serve_forever
from rig.testing.sockets import LOOPBACK, listen
from rig.testing.transport import FakeTransport

WAIT_S = 10.0
"""Seconds a test waits for something to happen on the server before it fails: longer than any healthy
loopback exchange on a loaded machine, shorter than the test's own time-out."""

IN_PROCESS_URL = "http://fake.invalid/v1"
"""The base URL before `serve()`. RFC 6761 promises that .invalid never resolves: without the
in-process transport nothing is reached."""


class FakeBackend:
    """An HTTP/1.1 server with a script, on a loopback socket or in process.

    ```python
    async with FakeBackend(reply("hi")).serve() as backend:
        async with Client(backend.url, model="fake") as client:
            result = await client.run("hello", max_tokens=100)
    assert backend.requests[0].json["messages"][0]["content"] == "hello"
    ```

    In process, without any socket: `Client(backend.url, http_client=httpx.AsyncClient(transport=backend.transport))`.

    Args:
        answers: one for each request, in order; text is a reply of that text, a callable looks at the
            request first. When they run out, requests get a 400, which no client repeats, and are
            counted by `unexpected`.
        routes: path -> the answer to every request for it, outside of the order.

    Attributes:
        requests: what was received, in order.
        connections: counts of connections; all 0 in process.
        port: the TCP port, 0 until served.
        transport: the door without a socket, for `httpx.AsyncClient(transport=...)`.

    Raises:
        ValueError: a repeated answer is not the last one.
    """

    def __init__(
        self,
        *answers: Answer | Responder | Repeat | str,
        routes: Mapping[str, Answer | Responder | str] | None = None,
    ) -> None:
        self.requests: list[ReceivedRequest] = []
        self.connections = Connections()
        self.transport = FakeTransport(self._answer_or_raise)
        self._script = Script(answers, routes or {})
        self.port = 0
        self._scheme = "http"
        self._changes: list[anyio.Event] = []
        self._failure: Exception | None = None

    @property
    def url(self) -> str:
        """The base URL for a client, with `/v1`."""
        return f"{self._scheme}://{LOOPBACK}:{self.port}/v1" if self.port else IN_PROCESS_URL

    @property
    def unexpected(self) -> int:
        """Requests that came after the last answer."""
        return self._script.unexpected

    @property
    def unused(self) -> int:
        """Answers that no request has asked for."""
        return self._script.unused

    @asynccontextmanager
    async def serve(
        self, *, tls: ssl.SSLContext | None = None, deaf: bool = False
    ) -> AsyncGenerator[Self]:
        """Serve on a free loopback port until the block ends.

        The block's own exception comes out as it is, never in a group.

        Args:
            tls: a server context with a certificate; None serves plain HTTP.
            deaf: accept connections and never read: writes of a large request then stall.

        Raises:
            Exception: what a callable answer raised, when the block itself did not fail.
        """
        with listen() as listener:
            self.port = listener.getsockname()[1]
            self._scheme = "https" if tls else "http"
            async with in_background(partial(self._serve, listener, tls, deaf)):
                yield self
        if self._failure is not None:
            raise self._failure

    async def wait_for_requests(self, count: int = 1) -> None:
        """Wait until so many requests have been received.

        Args:
            count: how many, since the backend was made.

        Raises:
            TimeoutError: they did not come within `WAIT_S`.
        """
        await self.wait_until(lambda: len(self.requests) >= count)

    async def wait_until(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition on requests or connections holds.

        Args:
            condition: looked at after every request and every change of a connection.

        Raises:
            TimeoutError: it did not hold within `WAIT_S`.
        """
        with anyio.fail_after(WAIT_S):
            while not condition():
                change = anyio.Event()
                self._changes.append(change)
                await change.wait()

    async def _serve(self, listener: socket.socket, tls: ssl.SSLContext | None, deaf: bool) -> None:
        setting = Setting(
            answerer=self._answer_or_400,
            connections=self.connections,
            changed=self._changed,
            tls=tls,
            deaf=deaf,
        )
        await serve_forever(listener, setting)

    async def _answer_or_raise(self, request: ReceivedRequest) -> Answer:
        self.requests.append(request)
        self._changed()
        return await self._script.choose(request)

    async def _answer_or_400(self, request: ReceivedRequest) -> Answer:
        try:
            return await self._answer_or_raise(request)
        except Exception as fault:  # noqa: BLE001 a test's own callable: serve() raises it at its end
            self._failure = self._failure or fault
        return answer(400, {"error": {"message": "an answer of the test failed"}})

    def _changed(self) -> None:
        changes, self._changes = self._changes, []
        for change in changes:
            change.set()
