"""URLs of an endpoint: checked, joined, and kept out of logs. No I/O."""

from contextlib import suppress

import httpx

from rig.errors import InvalidRequestError
from rig.transport.pool import origin_of


class PrivateURL(httpx.URL):
    """A URL that doesn't show itself, be it in a log or in a traceback's variables: it may hold keys."""

    @property
    def text(self) -> str:
        """The whole URL."""
        return super().__str__()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PrivateURL) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __str__(self) -> str:
        return f"{self.scheme}://endpoint"

    def __repr__(self) -> str:
        return "URL(...)"


def parse_url(url: object) -> PrivateURL:
    """The parsed form of a whole URL.

    Raises:
        InvalidRequestError: it is not one that can be requested, or has credentials in it.
    """
    parsed: httpx.URL | None = None
    if isinstance(url, str):
        with suppress(httpx.InvalidURL):
            parsed = httpx.URL(url)
    if parsed is None:
        raise InvalidRequestError("the URL is not one that can be requested")
    origin_of(parsed)
    if parsed.userinfo or parsed.fragment:
        raise InvalidRequestError(
            "the URL holds credentials or a fragment: pass a key as api_key, and leave the rest out"
        )
    return PrivateURL(parsed)


def join_url(base: httpx.URL, path: str) -> httpx.URL:
    """A path below the base's.

    Raises:
        InvalidRequestError: it has characters no URL has.
    """
    joined: httpx.URL | None = None
    if path.isascii() and path.isprintable() and " " not in path:
        raw_path = base.raw_path.rstrip(b"/") + b"/" + path.lstrip("/").encode("ascii")
        with suppress(httpx.InvalidURL):
            joined = base.copy_with(raw_path=raw_path)
    if joined is None:
        raise InvalidRequestError("the path holds characters no URL may have: quote it first")
    return joined
