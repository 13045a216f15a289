"""The two ways a request takes to its endpoint: over rig's own pool, or through a caller's client.

Both return the answer once its head is there. What does not change from request to request, the parsed
URL and the fields of the head, is made once.
"""

import inspect
from collections.abc import Coroutine, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, cast

from rig.errors import InvalidRequestError, NotConfiguredError, RigError
from rig.transport.body import Answer, ClientAnswer
from rig.transport.foreign import rig_error_from
from rig.transport.pool import ConnectionPool, Origin
from rig.transport.prepared import PreparedRequest
from rig.transport.request import NEVER_SENT, HeadTemplate, head_template, header_pairs
from rig.transport.timeouts import Deadline
from rig.transport.urls import PrivateURL, join_url, parse_url

if TYPE_CHECKING:  # loaded where a caller's client is one of httpx
    import httpx

MAX_KEPT = 64
"""URLs kept parsed, and heads kept written. An endpoint has about ten paths, asked with the same headers
but for a trace id; when as many have come, all are forgotten."""

Headers = Mapping[str, str] | Iterable[tuple[str, str]]


class Route(Protocol):
    """Sends requests to one endpoint.

    Attributes:
        minds_deadline: `send` ends at the deadline by itself; otherwise its caller sees to that.
    """

    minds_deadline: bool

    def send(
        self,
        method: str,
        path: str,
        body: bytes,
        headers: Headers,
        *,
        deadline: Deadline,
        uncoded: bool = False,
    ) -> Coroutine[Any, Any, Answer | RigError]:
        """Send until the head of the answer is there.

        Args:
            method: GET, POST and so on.
            path: appended to the base URL, or a whole URL of the same origin.
            body: what to send.
            headers: for this request, stronger than those of the endpoint.
            deadline: of the request.
            uncoded: ask for a body that is not compressed.

        Returns:
            The answer, or the error to raise where no exception is being handled.

        Raises:
            RigError: the request can't be sent, or broke.
        """
        ...

    async def aclose(self) -> None:
        """Close what is rig's own."""
        ...


class Endpoint:
    """Where requests go and what is sent with all of them.

    Args:
        base_url: what paths are appended to.
        fields: names in lower case, and values.

    Raises:
        InvalidRequestError: the URL can't be requested.
    """

    def __init__(self, base_url: str, fields: Mapping[str, str]) -> None:
        self._base = parse_url(base_url)
        self._fields = fields
        self._urls: dict[str, PrivateURL] = {}

    def url(self, path: str) -> PrivateURL:
        """The URL of a path; a few are kept.

        Args:
            path: appended to the base URL, or a whole URL of the same origin.

        Raises:
            InvalidRequestError: the path makes no valid URL, or leaves the endpoint's origin.
        """
        if path in self._urls:
            return self._urls[path]
        if path.startswith(("http://", "https://")):
            url = parse_url(path)
            if url.origin != self._base.origin:
                raise InvalidRequestError("a whole URL must be of the endpoint's own origin")
        else:
            url = join_url(self._base, path)
        _keep(self._urls, path, url)
        return url

    def fields(self, own: Headers, *, posts: bool, uncoded: bool) -> dict[str, str]:
        """The fields of a request, names in lower case.

        Args:
            own: what the request adds, stronger than the endpoint's.
            posts: it has a body.
            uncoded: it asks for an answer that is not compressed.

        Raises:
            InvalidRequestError: one of its own can't be sent.
        """
        fields = {**self._fields, **dict(header_pairs(own))}
        if posts:
            fields.setdefault("content-type", "application/json")
        if uncoded:
            fields["accept-encoding"] = "identity"
        return fields


class _Start(NamedTuple):
    """What is known of a request before its body."""

    origin: Origin
    head: HeadTemplate


def _pairs(headers: Headers) -> tuple[tuple[str, str], ...]:
    if isinstance(headers, Mapping):
        return tuple(cast("Mapping[str, str]", headers).items())
    return tuple(headers)


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
        own = _pairs(headers)
        key = (method, path, uncoded, posts, own)
        start = self._starts.get(key) or self._start(key, method, path, own, posts, uncoded)
        return self.pool.send(
            start.origin,
            start.head.head(len(body) if posts else None),
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
        _keep(self._starts, key, start)
        return start

    async def aclose(self) -> None:
        """Close the connections."""
        await self.pool.aclose()


class ClientRoute:
    """Through a caller's client, with its connections, proxies, auth and hooks.

    Args:
        client: an `httpx.AsyncClient` or `httpx2.AsyncClient`; the caller closes it.
        endpoint: where requests go.
        connect_s: seconds a connection, and a place in the client's own pool, may take.

    Raises:
        NotConfiguredError: it is not an async client.
    """

    minds_deadline = False

    def __init__(self, client: object, endpoint: Endpoint, connect_s: float | None) -> None:
        self._client = _checked(client)
        self._endpoint = endpoint
        self._urls: dict[str, Any] = {}  # parsed by the caller's library
        limits = {"connect": connect_s, "read": None, "write": None, "pool": connect_s}
        self._extensions = {"timeout": limits}
        self._prepared: dict[tuple[object, ...], PreparedRequest | None] = {}

    async def send(
        self,
        method: str,
        path: str,
        body: bytes,
        headers: Headers,
        *,
        deadline: Deadline,  # noqa: ARG002 of the protocol: whoever reads minds it
        uncoded: bool = False,
    ) -> Answer | RigError:
        """As `Route.send`; what the client raises is returned as an error of rig's.

        Raises:
            RigError: the request can't be built, or rig's transport in the caller's client failed.
        """
        own = _pairs(headers)
        key = (method, path, uncoded, own)
        prepared = self._prepared.get(key) if body else None
        if prepared is not None and prepared.fits(self._client) and not self._client.is_closed:
            request = prepared.request(body)
        else:
            request = self._build(method, path, body, own, uncoded)
            if body:
                prepared = PreparedRequest.of(self._client, request, self._extensions)
                _keep(self._prepared, key, prepared)
        try:
            response = await self._client.send(request, stream=True, follow_redirects=False)
        except RigError:
            raise
        except Exception as fault:
            if (error := rig_error_from(fault, "first_byte")) is None:
                raise
            return error
        return ClientAnswer(cast("httpx.Response", response))

    def _build(self, method: str, path: str, body: bytes, headers: Headers, uncoded: bool) -> Any:  # noqa: ANN401 of either library
        """A request of the caller's client, with its headers, where ours don't say otherwise.

        Raises:
            InvalidRequestError: the client is closed.
            RigError: it can't be built.
        """
        if getattr(self._client, "is_closed", False):
            raise InvalidRequestError("the http client is closed: make requests before closing it")
        url = self._endpoint.url(path)
        posts = bool(body) or method == "POST"
        fields = self._endpoint.fields(headers, posts=posts, uncoded=uncoded)
        failure: RigError | None = None
        try:
            request = self._client.build_request(
                method,
                self._urls.get(path) or url.text,
                content=body or None,
                headers=[*fields.items()],
                extensions=self._extensions,
            )
        except Exception as fault:
            if (failure := rig_error_from(fault, "first_byte")) is None:
                raise
        else:
            for name in _ACCOUNT:
                if name in request.headers:
                    del request.headers[name]
            if path not in self._urls:
                _keep(self._urls, path, type(request.url)(url.text))
            return request
        raise failure

    async def aclose(self) -> None:
        """Nothing here is rig's own."""


_ACCOUNT = frozenset(name for name in NEVER_SENT if name.startswith("openai-"))

KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")


def _keep(kept: dict[KeyT, ValueT], key: KeyT, value: ValueT) -> None:
    if len(kept) >= MAX_KEPT:
        kept.clear()
    kept[key] = value


def _checked(client: object) -> Any:  # noqa: ANN401 of either library, by duck type
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
