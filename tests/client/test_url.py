"""Which base URLs are taken, and what becomes of them."""

import pytest

from rig.client.url import normalise_base_url
from rig.errors import InvalidRequestError

ACCEPTED = {
    "bare host": ("https://api.example.com", "https://api.example.com/v1/"),
    "trailing slash": ("https://api.example.com/", "https://api.example.com/v1/"),
    "v1": ("https://api.example.com/v1", "https://api.example.com/v1/"),
    "v1 and slash": ("https://api.example.com/v1/", "https://api.example.com/v1/"),
    "blanks around": (" https://api.example.com/v1 ", "https://api.example.com/v1/"),
    "proxy path": ("http://localhost:1234/proxy", "http://localhost:1234/proxy/v1/"),
    "many slashes": ("http://localhost:1234///", "http://localhost:1234/v1/"),
    "scheme in capitals": ("HTTP://localhost", "http://localhost/v1/"),
    "ipv6": ("http://[::1]:8080/v1", "http://[::1]:8080/v1/"),
    "v1 elsewhere": ("http://h/v1/upstream", "http://h/v1/upstream/v1/"),
    "v1 as part of a name": ("http://h/apiv1", "http://h/apiv1/v1/"),
}

REFUSED = {
    "credentials": "https://user:pass@api.example.com/v1",
    "token": "https://token@api.example.com/v1",
    "query": "https://api.example.com/v1?x=y",
    "bare question mark": "https://api.example.com/v1?",
    "fragment": "https://api.example.com/v1#fragment",
    "bare hash": "https://api.example.com/v1#",
    "ftp": "ftp://api.example.com",
    "file": "file:///etc/passwd",
    "no scheme": "api.example.com/v1",
    "no url": "not a url",
    "empty": "",
    "blank": " \n",
    "no host": "http:///v1",
    "port out of range": "http://h:99999",
    "port 0": "http://h:0",
    "port no number": "http://h:port",
    "open bracket": "http://[::1",
    "newline inside": "http://h/\nv1",
    "tab inside": "http://h/\tv1",
    "backslash": "http://h\\@evil/v1",
    "not ascii": "http://h\u00f6st/v1",
    "a path of the api": "http://h/v1/chat/completions",
    "none": None,
    "bytes": b"http://h",
}


@pytest.mark.parametrize(("given", "expected"), ACCEPTED.values(), ids=ACCEPTED.keys())
def test_a_base_url_ends_in_v1(given: str, expected: str) -> None:
    assert normalise_base_url(given) == expected
    assert normalise_base_url(expected) == expected


@pytest.mark.parametrize("given", REFUSED.values(), ids=REFUSED.keys())
def test_what_is_no_base_url_is_refused_without_being_repeated(given: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        normalise_base_url(given)
    assert caught.value.__context__ is None
    assert "pass" not in str(caught.value).replace("pass the key", "")
    assert "evil" not in str(caught.value)
    assert "token" not in str(caught.value)
