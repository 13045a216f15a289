"""Request heads: what is written, and what is refused because two readers could see two requests in it."""

import pytest

from rig.errors import InvalidRequestError
from rig.transport.request import chunk, encode_head, head_template, header_pairs

Pairs = list[tuple[bytes, bytes]]

HEADS: dict[str, tuple[str, Pairs, int | None, bytes]] = {
    "get": ("GET", [], 0, b"GET /p HTTP/1.1\r\nHost: h\r\n\r\n"),
    "post adds its length": (
        "POST",
        [(b"A", b"b")],
        3,
        b"POST /p HTTP/1.1\r\nHost: h\r\nA: b\r\nContent-Length: 3\r\n\r\n",
    ),
    "post of nothing says so": (
        "POST",
        [],
        0,
        b"POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n",
    ),
    "own host": ("GET", [(b"host", b"x")], 0, b"GET /p HTTP/1.1\r\nhost: x\r\n\r\n"),
    "own length": (
        "POST",
        [(b"content-length", b"3")],
        3,
        b"POST /p HTTP/1.1\r\nHost: h\r\ncontent-length: 3\r\n\r\n",
    ),
    "chunked": (
        "POST",
        [(b"transfer-encoding", b"chunked")],
        None,
        b"POST /p HTTP/1.1\r\nHost: h\r\ntransfer-encoding: chunked\r\n\r\n",
    ),
    "expect is dropped": (
        "GET",
        [(b"Expect", b"100-continue")],
        0,
        b"GET /p HTTP/1.1\r\nHost: h\r\n\r\n",
    ),
    "8-bit value": ("GET", [(b"a", b"\xe9")], 0, b"GET /p HTTP/1.1\r\nHost: h\r\na: \xe9\r\n\r\n"),
    "empty value": ("GET", [(b"a", b"")], 0, b"GET /p HTTP/1.1\r\nHost: h\r\na: \r\n\r\n"),
}


@pytest.mark.parametrize(("method", "headers", "length", "expected"), HEADS.values(), ids=HEADS)
def test_head_is_written(method: str, headers: Pairs, length: int | None, expected: bytes) -> None:
    assert encode_head(method, b"/p", headers, host=b"h", length=length).data == expected


REFUSED: dict[str, tuple[str, bytes, Pairs, int | None]] = {
    "line break in a value": ("GET", b"/", [(b"a", b"b\r\nX: y")], 0),
    "bare lf in a value": ("GET", b"/", [(b"a", b"b\nX: y")], 0),
    "bare cr in a value": ("GET", b"/", [(b"a", b"b\rX: y")], 0),
    "nul in a value": ("GET", b"/", [(b"a", b"\0")], 0),
    "line break in a name": ("GET", b"/", [(b"a\r\nX", b"y")], 0),
    "colon in a name": ("GET", b"/", [(b"a:b", b"y")], 0),
    "blank in a name": ("GET", b"/", [(b"a ", b"y")], 0),
    "empty name": ("GET", b"/", [(b"", b"y")], 0),
    "blank in the target": ("GET", b"/a b", [], 0),
    "line break in the target": ("GET", b"/a\r\n", [], 0),
    "empty target": ("GET", b"", [], 0),
    "line break in the method": ("GET / HTTP/1.1\r\nX: y\r\n\r\nGET", b"/", [], 0),
    "method outside ascii": ("G\xcbT", b"/", [], 0),
    "head": ("HEAD", b"/", [], 0),
    "connect": ("CONNECT", b"h:1", [], 0),
    "two hosts": ("GET", b"/", [(b"host", b"a"), (b"Host", b"b")], 0),
    "two lengths": ("POST", b"/", [(b"content-length", b"1"), (b"content-length", b"1")], 1),
    "wrong length": ("POST", b"/", [(b"content-length", b"4")], 3),
    "signed length": ("POST", b"/", [(b"content-length", b"+3")], 3),
    "both framings": (
        "POST",
        b"/",
        [(b"content-length", b"3"), (b"transfer-encoding", b"chunked")],
        3,
    ),
    "another coding": ("POST", b"/", [(b"transfer-encoding", b"gzip")], None),
}


@pytest.mark.parametrize(("method", "target", "headers", "length"), REFUSED.values(), ids=REFUSED)
def test_what_could_be_read_as_something_else_is_refused(
    method: str, target: bytes, headers: Pairs, length: int | None
) -> None:
    with pytest.raises(InvalidRequestError):
        encode_head(method, target, headers, host=b"h", length=length)


@pytest.mark.parametrize(
    ("headers", "persistent"),
    [([], True), ([(b"Connection", b"Close")], False), ([(b"Connection", b"keep-alive")], True)],
    ids=["silent", "close", "keep-alive"],
)
def test_a_request_that_says_close_ends_its_connection(headers: Pairs, persistent: bool) -> None:
    assert encode_head("GET", b"/", headers, host=b"h", length=0).persistent is persistent


def test_chunks_are_framed() -> None:
    assert chunk(b"x" * 17) == b"11\r\n" + b"x" * 17 + b"\r\n"
    assert chunk(b"") == b"0\r\n\r\n"


def test_headers_of_callers_are_lowered_and_the_transports_own_are_left_out() -> None:
    given = {
        "X-Trace": "1",
        "Accept-Encoding": "br",
        "Content-Length": "5",
        "Transfer-Encoding": "chunked",
        "OpenAI-Organization": "org",
        "openai-project": "p",
        "Expect": "100-continue",
        "Authorization": "Bearer k",
    }
    assert header_pairs(given) == [("x-trace", "1"), ("authorization", "Bearer k")]


@pytest.mark.parametrize(
    "pair", [("a", "b\r\nc: d"), ("a", "\u2028"), ("a b", "c"), ("", "c"), ("a", "\0")], ids=repr
)
def test_headers_http_cant_carry_are_refused(pair: tuple[str, str]) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        header_pairs([pair])
    assert pair[1] not in str(caught.value) or pair[1] == "c"


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("length", [0, 1, 65536])
def test_a_template_makes_the_heads_that_are_encoded_one_by_one(method: str, length: int) -> None:
    headers = [(b"x-a", b"1"), (b"authorization", b"Bearer k")]
    template = head_template(method, b"/p?q=1", headers, host=b"h:1")
    whole = encode_head(method, b"/p?q=1", headers, host=b"h:1", length=length)
    assert template.written(length if length or method == "POST" else None) == whole.data
    assert whole.persistent


def test_a_template_is_refused_like_a_head() -> None:
    with pytest.raises(InvalidRequestError):
        head_template("POST", b"/p", [(b"x-a", b"1\r\nx-b: 2")], host=b"h")
