"""What the socket tests share: certificates, and cancellation at every await."""

import gc
import ssl
from collections.abc import Awaitable, Callable, Coroutine, Generator
from functools import partial
from typing import Any, NamedTuple

import anyio
import pytest
import trustme

MAX_AWAITS = 300
"""Suspensions after which a swept operation counts as endless."""

Operation = Callable[[], Coroutine[Any, Any, object]]
Check = Callable[[], Awaitable[None]]
Sweep = Callable[[Operation, Check], Awaitable[int]]


class Certificates(NamedTuple):
    """Both ends of a TLS connection to 127.0.0.1 and localhost."""

    server: ssl.SSLContext
    client: ssl.SSLContext


@pytest.fixture(scope="session")
def certificates() -> Certificates:
    authority = trustme.CA()
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1", "localhost").configure_cert(server)
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    authority.configure_trust(client)
    return Certificates(server, client)


class _CancelledAt:
    """Awaits a coroutine and cancels a scope at its n-th suspension, from 0."""

    def __init__(
        self, coroutine: Coroutine[Any, Any, object], scope: anyio.CancelScope, at: int
    ) -> None:
        self._coroutine = coroutine
        self._scope = scope
        self._at = at
        self.suspensions = 0

    def __await__(self) -> Generator[Any, Any, None]:
        step: Callable[[], Any] = partial(self._coroutine.send, None)
        while True:
            try:
                waited_for = step()
            except StopIteration:
                return
            if self.suspensions == self._at:
                self._scope.cancel()
            self.suspensions += 1
            try:
                step = partial(self._coroutine.send, (yield waited_for))
            except BaseException as fault:  # noqa: BLE001 handed on to the coroutine
                step = partial(self._coroutine.throw, fault)


@pytest.fixture
def cancel_at_every_await() -> Sweep:
    """Run an operation again and again, cancelled at its first suspension, its second, ... to its last.

    The check runs after each. Returns how many suspensions the operation has.
    """

    async def sweep(operation: Operation, check: Check) -> int:
        for at in range(MAX_AWAITS):
            with anyio.CancelScope() as scope:
                run = _CancelledAt(operation(), scope, at)
                await run
            await check()
            if run.suspensions <= at:
                gc.collect()  # a socket nobody closed would warn now
                return at
        raise AssertionError("the operation never ran to its end")

    return sweep
