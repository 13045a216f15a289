"""Loopback sockets a test can do anything with: exact writes, resets, TLS.

anyio's own socket stream says FIN before every close, so it can't reset a connection; this one can.
"""

import socket
import struct
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import anyio
import anyio.lowlevel
from anyio.abc import ByteStream

LOOPBACK = "127.0.0.1"

_BACKLOG = 1024
"""Connections waiting to be accepted: enough for a test that opens a thousand at once."""

_NO_LINGER = struct.pack("ii", 1, 0)


def listen() -> socket.socket:
    """A listening socket on a free loopback port."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setblocking(False)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((LOOPBACK, 0))
    listener.listen(_BACKLOG)
    return listener


async def accept(listener: socket.socket) -> "SocketStream":
    """The next connection."""
    while True:
        try:
            connection, _ = listener.accept()
        except (BlockingIOError, ConnectionAbortedError):
            await anyio.wait_readable(listener)
        else:
            return SocketStream(connection)


class SocketStream(ByteStream):
    """One accepted connection.

    Args:
        connection: the socket, owned from here on.
    """

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = connection

    async def receive(self, max_bytes: int = 65536) -> bytes:
        """Bytes that arrived, at least one.

        Args:
            max_bytes: at most so many bytes.

        Raises:
            EndOfStream: the client said it sends no more.
            BrokenResourceError: the connection is gone.
        """
        while True:
            try:
                data = self._socket.recv(max_bytes)
            except BlockingIOError:
                await self._wait_readable()
            except OSError as fault:
                raise anyio.BrokenResourceError from fault
            else:
                if not data:
                    raise anyio.EndOfStream
                return data

    async def send(self, item: bytes) -> None:
        """Write all of it.

        Raises:
            BrokenResourceError: the connection is gone.
        """
        rest = memoryview(item)
        while rest:
            try:
                rest = rest[self._socket.send(rest) :]
            except BlockingIOError:
                await self._wait_writable()
            except OSError as fault:
                raise anyio.BrokenResourceError from fault
        await anyio.lowlevel.checkpoint()

    async def send_eof(self) -> None:
        """Say that no more bytes follow."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    async def aclose(self) -> None:
        """Close in good order."""
        await self.send_eof()
        self._close()

    def reset(self) -> None:
        """End the connection with a TCP reset."""
        with suppress(OSError):
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        self._close()

    def _close(self) -> None:
        if self._socket.fileno() >= 0:
            anyio.notify_closing(self._socket)
            self._socket.close()

    async def _wait_readable(self) -> None:
        try:
            await anyio.wait_readable(self._socket)
        except (anyio.ClosedResourceError, ValueError) as fault:
            raise anyio.BrokenResourceError from fault

    async def _wait_writable(self) -> None:
        try:
            await anyio.wait_writable(self._socket)
        except (anyio.ClosedResourceError, ValueError) as fault:
            raise anyio.BrokenResourceError from fault

    @property
    def extra_attributes(self) -> Mapping[Any, Any]:
        """None."""
        return {}


@contextmanager
def refused_url() -> Generator[str]:
    """A base URL nobody listens on, for as long as the block lasts: connecting is refused."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as held:
        held.bind((LOOPBACK, 0))
        yield f"http://{LOOPBACK}:{held.getsockname()[1]}/v1"
