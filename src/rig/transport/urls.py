"""URLs of an endpoint: checked, joined, and kept out of logs. No I/O.

httpx says what a URL is, and how its odd characters are written. Of plain ones, which nearly all are,
that is known without it: half of what importing rig would cost is httpx.
"""

import re
from contextlib import suppress
from typing import Final

from rig.errors import InvalidRequestError
from rig.transport.origin import Origin, origin_of

MAX_PLAIN_CHARS: Final = 2048
"""Characters of a URL that may pass for a plain one."""

_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_HOST = rf"(?P<host>[a-z][a-z0-9.-]*|(?:{_OCTET}\.){{3}}{_OCTET})"
# No segment that begins with a dot: httpx resolves those.
_CHAR = r"(?:[\w~:@+,=-]|%[0-9A-Fa-f]{2})"
_PATH = rf"(?P<path>(?:/{_CHAR}(?:{_CHAR}|\.)*+)*+/?)(?P<query>\?(?:{_CHAR}|[&./])*+)?"
_PLAIN: Final = re.compile(
    rf"(?P<scheme>https?)://{_HOST}(?::(?P<port>[1-9][0-9]{{0,4}}))?{_PATH}", re.ASCII
)
_PLAIN_PATH: Final = re.compile(_PATH, re.ASCII)
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


class PrivateURL:
    """A URL that doesn't show itself, be it in a log or in a traceback's variables: it may hold keys.

    Args:
        text: the whole URL.
        origin: where it leads to.
        netloc: host and port, as the Host field has them.
        raw_path: path and query, as the request line has them.
    """

    __slots__ = ("netloc", "origin", "raw_path", "text")

    def __init__(self, text: str, origin: Origin, netloc: bytes, raw_path: bytes) -> None:
        self.text = text
        self.origin = origin
        self.netloc = netloc
        self.raw_path = raw_path

    @property
    def scheme(self) -> str:
        """Http or https."""
        return "https" if self.origin.tls else "http"

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
    if not isinstance(url, str):
        raise InvalidRequestError("the URL is not one that can be requested")
    return _plain_url(url) or _odd_url(url)


def join_url(base: PrivateURL, path: str) -> PrivateURL:
    """A path below the base's.

    Raises:
        InvalidRequestError: it has characters no URL has.
    """
    if not path.isascii() or not path.isprintable() or " " in path:
        raise InvalidRequestError("the path holds characters no URL may have: quote it first")
    raw_path = base.raw_path.rstrip(b"/") + b"/" + path.lstrip("/").encode("ascii")
    if len(raw_path) <= MAX_PLAIN_CHARS and _PLAIN_PATH.fullmatch(raw_path.decode("ascii")):
        text = f"{base.scheme}://{base.netloc.decode('ascii')}{raw_path.decode('ascii')}"
        return PrivateURL(text, base.origin, base.netloc, raw_path)
    return _oddly_joined(base, raw_path)


def _plain_url(url: str) -> PrivateURL | None:
    """The parsed form of a URL that httpx would leave as it is, but for a port that goes without saying."""
    plain = _PLAIN.fullmatch(url) if len(url) <= MAX_PLAIN_CHARS else None
    if plain is None:
        return None
    scheme, host, port, path, query = plain.group("scheme", "host", "port", "path", "query")
    number = int(port) if port else _DEFAULT_PORTS[scheme]
    if number > 65535:
        return None
    netloc = host if number == _DEFAULT_PORTS[scheme] else f"{host}:{port}"
    rest = path + (query or "")
    raw_path = (path or "/") + (query or "")
    return PrivateURL(
        f"{scheme}://{netloc}{rest}",
        Origin(scheme == "https", host, number),
        netloc.encode("ascii"),
        raw_path.encode("ascii"),
    )


def _odd_url(url: str) -> PrivateURL:
    """The same of any other.

    Raises:
        InvalidRequestError: it is not one that can be requested, or has credentials in it.
    """
    import httpx  # noqa: PLC0415 for odd URLs alone

    parsed: httpx.URL | None = None
    with suppress(httpx.InvalidURL):
        parsed = httpx.URL(url)
    if parsed is None:
        raise InvalidRequestError("the URL is not one that can be requested")
    origin = origin_of(parsed)
    if parsed.userinfo or parsed.fragment:
        raise InvalidRequestError(
            "the URL holds credentials or a fragment: pass a key as api_key, and leave the rest out"
        )
    return PrivateURL(str(parsed), origin, parsed.netloc, parsed.raw_path)


def _oddly_joined(base: PrivateURL, raw_path: bytes) -> PrivateURL:
    """A URL of the base's with another path.

    Raises:
        InvalidRequestError: it has characters no URL has.
    """
    import httpx  # noqa: PLC0415 for odd URLs alone

    joined: httpx.URL | None = None
    with suppress(httpx.InvalidURL):
        joined = httpx.URL(base.text).copy_with(raw_path=raw_path)
    if joined is None:
        raise InvalidRequestError("the path holds characters no URL may have: quote it first")
    return PrivateURL(str(joined), base.origin, joined.netloc, joined.raw_path)
