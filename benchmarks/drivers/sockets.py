"""What the drivers without an HTTP library share: a list of idle connections, and the head they send."""

import json
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar
from urllib.parse import urlsplit

from benchmarks.drivers.contract import API_KEY, Wire

ConnectionT = TypeVar("ConnectionT")


class Idle(Generic[ConnectionT]):
    """Idle connections, newest first.

    Args:
        url: the base URL.
        open_one: opens a connection to a host and a port.
    """

    def __init__(self, url: str, open_one: Callable[[str, int], Awaitable[ConnectionT]]) -> None:
        parts = urlsplit(url)
        self.host = parts.hostname or ""
        self.port = parts.port or 80
        self.target = f"{parts.path}/chat/completions"
        self.connections: list[ConnectionT] = []
        self._open = open_one

    async def take(self) -> ConnectionT:
        """An idle connection, or a new one."""
        return (
            self.connections.pop() if self.connections else await self._open(self.host, self.port)
        )

    def headers(self, length: int) -> list[tuple[str, str]]:
        """The fields of a request."""
        return [
            ("host", f"{self.host}:{self.port}"),
            ("authorization", f"Bearer {API_KEY}"),
            ("content-type", "application/json"),
            ("content-length", str(length)),
        ]


def encoded(body: Wire) -> bytes:
    """A body as bytes."""
    return json.dumps(body, separators=(",", ":")).encode()
