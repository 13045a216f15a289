"""URLs: joined below the base, and never shown."""

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.errors import InvalidRequestError
from rig.transport.origin import origin_of
from rig.transport.urls import _plain_url, join_url, parse_url

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
    assert join_url(parse_url(base), path).text == expected


def test_a_private_url_shows_its_scheme_at_most() -> None:
    url = parse_url("https://planted-host/planted-path?planted=1")
    assert "planted" not in f"{url} {url!r}"
    assert url.raw_path == b"/planted-path?planted=1"
    assert url == parse_url("https://planted-host/planted-path?planted=1")
    assert hash(url) == hash(parse_url("https://planted-host/planted-path?planted=1"))
    assert url != parse_url("https://planted-host/other")


@pytest.mark.parametrize(
    "url", ["", "h", "ftp://h/", "http://", "http://u@h/", "http://h:0/", "http://h:70000/", 5]
)
def test_what_is_no_url_is_refused(url: object) -> None:
    with pytest.raises(InvalidRequestError):
        parse_url(url)


PIECES = st.sampled_from(
    [
        "a",
        "A",
        "v1",
        ".",
        "..",
        "/",
        "//",
        ":",
        "@",
        "%2F",
        "%2",
        "%zz",
        "?",
        "&",
        "=",
        "~",
        "_",
        "-",
        "{",
        "}",
        "|",
        "^",
        "`",
        '"',
        "<",
        ">",
        "[",
        "]",
        "'",
        "(",
        "!",
        ";",
        "+",
        ",",
        "#",
        "\\",
        "é",
    ]
)
HOSTS = st.sampled_from(
    [
        "h",
        "H",
        "a.b-c.d",
        "127.0.0.1",
        "127.0.0.256",
        "01.2.3.4",
        "1.2.3",
        "1a",
        "[::1]",
        "a_b",
        "-a",
        "xn--4ca.com",
        "é.com",
        "a..b",
        "u@h",
        "a%41",
    ]
)
PORTS = st.sampled_from(["", ":", ":80", ":443", ":8080", ":080", ":65535", ":65536", ":0", ":x"])


@given(
    scheme=st.sampled_from(["http://", "https://", "HTTP://"]),
    host=HOSTS,
    port=PORTS,
    path=st.lists(PIECES, max_size=6).map("".join),
)
def test_a_url_is_read_as_httpx_reads_it(scheme: str, host: str, port: str, path: str) -> None:
    url = f"{scheme}{host}{port}/{path}"
    try:
        read = parse_url(url)
    except InvalidRequestError:
        return  # the same with httpx, which is asked whatever is not plain
    theirs = httpx.URL(url)
    assert read.text == str(theirs)
    assert (read.netloc, read.raw_path) == (theirs.netloc, theirs.raw_path)
    assert read.origin == origin_of(theirs)


@given(
    base=st.sampled_from(["http://h", "http://h/", "https://h:8080/v1/", "http://[::1]/v1", "http://h/a?b=1"]),
    path=st.lists(PIECES, max_size=6).map("".join),
)  # fmt: skip
def test_a_path_is_joined_as_httpx_joins_it(base: str, path: str) -> None:
    try:
        joined = join_url(parse_url(base), path)
    except InvalidRequestError:
        return
    before = httpx.URL(base)
    raw_path = before.raw_path.rstrip(b"/") + b"/" + path.lstrip("/").encode("ascii")
    theirs = before.copy_with(raw_path=raw_path)
    assert joined.text == str(theirs)
    assert (joined.netloc, joined.raw_path) == (theirs.netloc, theirs.raw_path)


PLAIN = [
    "http://localhost:8080/v1/",
    "https://api.example.org/v1/chat/completions",
    "http://10.0.0.7:8000/proxy/v1/models?a=b%20c&d",
    "http://h",
]


@pytest.mark.parametrize("url", PLAIN)
def test_httpx_is_not_asked_what_a_plain_url_is(url: str) -> None:
    assert _plain_url(url) is not None
