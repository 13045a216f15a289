"""An answer that has begun: its head is there, its raw body is read one by one and closed once."""

from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol, cast

import anyio

if TYPE_CHECKING:  # loaded where a caller's client is one of httpx
    import httpx

CLOSE_S = 5.0
"""Seconds a caller's client may take to close an answer that is not wanted any more, cancelled or not."""

MAX_LEFT_READS = 4096
"""Reads of what a caller's client still has buffered when its answer is closed. httpcore holds 64 KiB, and
hands it out chunk by chunk; chunks of 16 bytes would be strange already."""


class Answer(Protocol):
    """An answer that has begun, whoever's connection it comes over."""

    @property
    def status(self) -> int:
        """HTTP status."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Names in lower case; values of repeated names joined."""
        ...

    @property
    def encoding(self) -> str:
        """The coding the bytes are in."""
        ...

    @property
    def minds_deadline(self) -> bool:
        """Whether `read` ends at the deadline of the request by itself."""
        ...

    @property
    def whole(self) -> bytes | None:
        """The body where all of it has come with the head, as it is encoded; None where it is to be read."""
        ...

    def read(self) -> Coroutine[Any, Any, bytes | None]:
        """The next bytes, None at the end."""
        ...

    async def close(self) -> None:
        """Release the answer; what is unread is not wanted any more."""
        ...


class ClientAnswer:
    """An answer that came through a caller's client.

    Args:
        response: what its `send` returned, of httpx or httpx2.
    """

    __slots__ = ("_ended", "_parts", "_ready", "_response", "headers", "status")

    minds_deadline = False
    whole = None

    def __init__(self, response: "httpx.Response") -> None:
        self.status = response.status_code
        self.headers = JoinedHeaders(response.headers.raw)
        self._ended = False
        self._response = response
        # A mock or a hook has read it all, and httpx has decoded it.
        self._ready: list[bytes] | None = None
        if response.is_stream_consumed:
            self._ready = [response.content]
        self._parts: AsyncIterator[bytes] | None = None  # once reading has begun

    @property
    def encoding(self) -> str:
        """The coding the bytes are in."""
        return "" if self._ready is not None else self.headers.encoding

    async def read(self) -> bytes | None:
        """The next bytes, None at the end."""
        if self._ready is not None:
            return self._ready.pop() if self._ready else None
        if self._parts is None:
            self._parts = aiter(cast("AsyncIterator[bytes]", self._response.stream))
        raw = await anext(self._parts, None)
        self._ended = raw is None
        return raw

    async def close(self) -> None:
        """Close the answer, whatever is left of it."""
        if self._ended:
            await self._response.aclose()
        else:
            with anyio.move_on_after(CLOSE_S, shield=True):
                await self._response.aclose()
                if self._parts is not None and self._response.http_version.startswith("HTTP/1"):
                    await self._end_generators(self._parts)
        parts: object = self._parts
        if isinstance(parts, AsyncGenerator):
            await cast("AsyncGenerator[bytes]", parts).aclose()

    async def _end_generators(self, parts: AsyncIterator[bytes]) -> None:
        """End every generator a caller's client has stacked up.

        Closing the outermost leaves the others to the garbage collector, of which trio complains and
        for which asyncio starts tasks. Asked for more, they all end by the fault of a closed connection
        (over HTTP/2, which keeps the connection, they would wait).
        """
        with suppress(Exception):  # whatever it is: the answer is not wanted any more
            for _ in range(MAX_LEFT_READS):
                if await anext(parts, None) is None:
                    break


class JoinedHeaders(Mapping[str, str]):
    """Fields of a head by name, joined once somebody asks: of most answers nobody does.

    Args:
        fields: names and values as they came.
    """

    __slots__ = ("_fields", "_joined")

    def __init__(self, fields: Sequence[tuple[bytes, bytes]]) -> None:
        self._fields = fields
        self._joined: dict[str, str] | None = None

    @property
    def encoding(self) -> str:
        """The coding of the body, "" without one: asked of every answer, so nothing is joined for it."""
        for name, _ in self._fields:
            if name.lower() == b"content-encoding":
                return self["content-encoding"]
        return ""

    def _all(self) -> dict[str, str]:
        if self._joined is None:
            self._joined = joined_headers(self._fields)
        return self._joined

    def __getitem__(self, name: str) -> str:
        return self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())


def joined_headers(fields: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Names in lower case; values of repeated names joined, as RFC 9110 5.3 has it.

    Args:
        fields: names and values as they came.
    """
    headers: dict[str, str] = {}
    for raw_name, raw_value in fields:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers
