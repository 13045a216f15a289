"""Where connections lead to. No I/O."""

from typing import TYPE_CHECKING, NamedTuple

from rig.errors import InvalidRequestError

if TYPE_CHECKING:  # loaded where a URL is odd, or a caller's client one of httpx
    import httpx


class Origin(NamedTuple):
    """Where connections lead to; requests to the same origin share them. The key of every look-up.

    Attributes:
        tls: https.
        host: name or IP address, in ASCII.
        port: TCP port.
    """

    tls: bool
    host: str
    port: int

    def __repr__(self) -> str:
        return "Origin(...)"


def origin_of(url: "httpx.URL") -> Origin:
    """Where a URL leads to.

    Args:
        url: an absolute URL.

    Raises:
        InvalidRequestError: it is not an http or https URL with a host.
    """
    tls = url.scheme == "https"
    port = url.port if url.port is not None else 443 if tls else 80
    if not (tls or url.scheme == "http") or not url.raw_host or not 0 < port < 65536:
        raise InvalidRequestError("the URL must be an http:// or https:// URL with a host")
    return Origin(tls, url.raw_host.decode("ascii"), port)
