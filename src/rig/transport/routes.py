"""Where requests go, and what both ways there have in common.

`rig.transport.pool_route` goes over rig's own connections, `rig.transport.client_route` through a caller's
client. Both return the answer once its head is there. What does not change from request to request, the
parsed URL and the fields of the head, is made once.
"""

from collections.abc import Coroutine, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from rig.errors import InvalidRequestError, RigError
from rig.transport.request import header_pairs
from rig.transport.timeouts import Deadline
from rig.transport.urls import PrivateURL, join_url, parse_url

if TYPE_CHECKING:  # loaded with the first answer
    from rig.transport.body import Answer

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
    ) -> "Coroutine[Any, Any, Answer | RigError]":
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
        keep(self._urls, path, url)
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


def pairs(headers: Headers) -> tuple[tuple[str, str], ...]:
    """Headers as a key: names and values in order.

    Args:
        headers: of a request.
    """
    if isinstance(headers, tuple):
        return headers
    if isinstance(headers, Mapping):
        return tuple(cast("Mapping[str, str]", headers).items())
    return tuple(headers)


KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")


def keep(kept: dict[KeyT, ValueT], key: KeyT, value: ValueT) -> None:
    """Keep a value, and not more than `MAX_KEPT`.

    Args:
        kept: those so far.
        key: what it is asked for by.
        value: the value.
    """
    if len(kept) >= MAX_KEPT:
        kept.clear()
    kept[key] = value
