"""The way over rig's own connections. Loaded with the first request."""

from collections.abc import Coroutine
from typing import Any, NamedTuple

from rig.transport.body import Answer
from rig.transport.origin import Origin
from rig.transport.pool import ConnectionPool
from rig.transport.request import HeadTemplate, head_template
from rig.transport.routes import Endpoint, Headers, keep, pairs
from rig.transport.timeouts import Deadline


class _Start(NamedTuple):
    """What is known of a request before its body."""

    origin: Origin
    head: HeadTemplate


class PoolRoute:
    """Over rig's own connections.

    Args:
        endpoint: where requests go.
        connect_s: seconds a connection may take.

    Attributes:
        pool: the connections.
    """

    minds_deadline = True

    def __init__(self, endpoint: Endpoint, connect_s: float | None) -> None:
        self._endpoint = endpoint
        self._connect_s = connect_s
        self._starts: dict[tuple[object, ...], _Start] = {}
        self.pool = ConnectionPool()

    def send(
        self,
        method: str,
        path: str,
        body: bytes,
        headers: Headers,
        *,
        deadline: Deadline,
        uncoded: bool = False,
    ) -> Coroutine[Any, Any, Answer]:
        """As `Route.send`."""
        posts = bool(body) or method == "POST"
        own = pairs(headers)
        key = (method, path, uncoded, posts, own)
        start = self._starts.get(key) or self._start(key, method, path, own, posts, uncoded)
        return self.pool.send(
            start.origin,
            start.head.written(len(body) if posts else None),
            body,
            connect_s=self._connect_s,
            deadline=deadline,
        )

    def _start(
        self,
        key: tuple[object, ...],
        method: str,
        path: str,
        own: tuple[tuple[str, str], ...],
        posts: bool,
        uncoded: bool,
    ) -> _Start:
        url = self._endpoint.url(path)
        fields = self._endpoint.fields(own, posts=posts, uncoded=uncoded)
        encoded = [(name.encode(), value.encode("latin-1")) for name, value in fields.items()]
        head = head_template(method, url.raw_path, encoded, host=url.netloc)
        start = _Start(url.origin, head)
        keep(self._starts, key, start)
        return start

    async def aclose(self) -> None:
        """Close the connections."""
        await self.pool.aclose()
