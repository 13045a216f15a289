"""The rules for a base URL. Pure: no I/O, no environment.

The messages never repeat the URL: it may hold a password.
"""

from urllib.parse import SplitResult, urlsplit

from rig.errors import InvalidRequestError

EXAMPLE = "for example http://127.0.0.1:8080/v1"


def normalise_base_url(base_url: str) -> str:
    """The URL that request paths are appended to.

    Args:
        base_url: an http or https URL of a server, a proxy path in front of one, or its `/v1`.

    Returns:
        The URL without surrounding blanks, ending in `/v1/`.

    Raises:
        InvalidRequestError: it is no such URL, or holds a query, a fragment or credentials.
    """
    parts = _split(base_url)
    path = parts.path.rstrip("/")
    if path.endswith(("/chat/completions", "/completions", "/embeddings", "/models")):
        raise InvalidRequestError(
            f"base_url names one path of the API; leave out what follows /v1, {EXAMPLE}"
        )
    if not path.endswith("/v1"):
        path += "/v1"
    return f"{parts.scheme.lower()}://{parts.netloc}{path}/"


def host_of(base_url: str) -> str:
    """The host a base URL names, in lower case.

    Args:
        base_url: as `normalise_base_url` returns it.
    """
    return urlsplit(base_url).hostname or ""


def _split(base_url: object) -> SplitResult:
    if not isinstance(base_url, str) or not base_url.strip():
        raise InvalidRequestError(f"base_url is empty: give the URL of the server, {EXAMPLE}")
    url = base_url.strip()
    if not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        raise InvalidRequestError(
            "base_url holds blanks, backslashes or characters outside ASCII; "
            "write international host names in their xn-- form"
        )
    try:
        parts = urlsplit(url)
        port_is_valid = parts.port != 0
    except ValueError:
        parts, port_is_valid = SplitResult("", "", "", "", ""), False
    if parts.scheme.lower() not in {"http", "https"}:
        raise InvalidRequestError(f"base_url must be an http:// or https:// URL, {EXAMPLE}")
    if not parts.hostname or not port_is_valid:
        raise InvalidRequestError(f"base_url has no valid host and port, {EXAMPLE}")
    if "@" in parts.netloc:
        raise InvalidRequestError("base_url holds credentials; pass the key as api_key instead")
    if "?" in url or "#" in url:
        raise InvalidRequestError(f"base_url must not hold a query or a fragment, {EXAMPLE}")
    return parts
