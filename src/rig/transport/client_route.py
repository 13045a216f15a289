"""The way through a caller's client. Loaded where there is one.

With it comes what a failure needs: such a client may take the last descriptor of the process, and then
nothing can be loaded any more.
"""

import inspect
from typing import TYPE_CHECKING, Any, cast

import rig.transport.retry_rules  # noqa: F401  # pyright: ignore[reportUnusedImport] see above
from rig.errors import InvalidRequestError, NotConfiguredError, RigError
from rig.transport.body import Answer, ClientAnswer
from rig.transport.foreign import rig_error_from
from rig.transport.prepared import PreparedRequest
from rig.transport.request import NEVER_SENT
from rig.transport.routes import Endpoint, Headers, keep, pairs
from rig.transport.timeouts import Deadline

if TYPE_CHECKING:  # it may as well be httpx2's
    import httpx

_ACCOUNT = frozenset(name for name in NEVER_SENT if name.startswith("openai-"))


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
        self._limits = {"connect": connect_s, "read": None, "write": None, "pool": connect_s}
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
        own = pairs(headers)
        key = (method, path, uncoded, own)
        prepared = self._prepared.get(key) if body else None
        if prepared is not None and prepared.fits(self._client) and not self._client.is_closed:
            request = prepared.request(body, self._extensions())
        else:
            request = self._build(method, path, body, own, uncoded)
            if body:
                prepared = PreparedRequest.of(self._client, request)
                keep(self._prepared, key, prepared)
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
                extensions=self._extensions(),
            )
        except Exception as fault:
            if (failure := rig_error_from(fault, "first_byte")) is None:
                raise
        else:
            for name in _ACCOUNT:
                if name in request.headers:
                    del request.headers[name]
            if path not in self._urls:
                keep(self._urls, path, type(request.url)(url.text))
            return request
        raise failure

    def _extensions(self) -> dict[str, Any]:
        """What is handed on with a request, and is its own: a hook may change it."""
        return {"timeout": {**self._limits}}

    async def aclose(self) -> None:
        """Nothing here is rig's own."""


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
