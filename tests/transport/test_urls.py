"""URLs: joined below the base, and never shown."""

import httpx
import pytest

from rig.errors import InvalidRequestError
from rig.transport.urls import PrivateURL, join_url, parse_url

JOINS = {
    "plain": ("http://h/v1", "models", "http://h/v1/models"),
    "slashes": ("http://h/v1/", "/models", "http://h/v1/models"),
    "query": ("http://h/v1", "models?a=b%20c", "http://h/v1/models?a=b%20c"),
    "deep": ("https://h:8443/a/b/v1", "chat/completions", "https://h:8443/a/b/v1/chat/completions"),
    "no path": ("http://h", "health", "http://h/health"),
    "quoted": ("http://h/v1", "models/a%2Fb", "http://h/v1/models/a%2Fb"),
    "ipv6": ("http://[::1]:8080/v1", "models", "http://[::1]:8080/v1/models"),
}


@pytest.mark.parametrize(("base", "path", "expected"), JOINS.values(), ids=JOINS)
def test_paths_go_below_the_base(base: str, path: str, expected: str) -> None:
    assert str(join_url(httpx.URL(base), path)) == expected
    assert PrivateURL(join_url(parse_url(base), path)).text == expected


def test_a_private_url_shows_its_scheme_at_most() -> None:
    url = parse_url("https://planted-host/planted-path?planted=1")
    assert "planted" not in f"{url} {url!r}"
    assert url.raw_path == b"/planted-path?planted=1"
    assert url == PrivateURL("https://planted-host/planted-path?planted=1")
    assert hash(url) == hash(PrivateURL("https://planted-host/planted-path?planted=1"))
    assert url != PrivateURL("https://planted-host/other")


@pytest.mark.parametrize(
    "url", ["", "h", "ftp://h/", "http://", "http://u@h/", "http://h:0/", "http://h:70000/", 5]
)
def test_what_is_no_url_is_refused(url: object) -> None:
    with pytest.raises(InvalidRequestError):
        parse_url(url)
