"""Requests are read the same however they are cut."""

import pytest

from rig.testing import ReceivedRequest
from rig.testing.received import BadRequestError, RequestReader

PLAIN = b"GET /v1/models?x=1 HTTP/1.1\r\nHost: h\r\nX-Two: a\r\nX-Two:  b \r\n\r\n"
SIZED = b"POST /a HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello"
CHUNKED = (
    b"POST /b HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"3\r\nabc\r\nA;ext=1\r\n0123456789\r\n0\r\nX-T: 1\r\n\r\n"
)
BARE = b"POST /c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"


def read(data: bytes, step: int) -> list[ReceivedRequest]:
    reader = RequestReader(connection=7)
    requests: list[ReceivedRequest] = []
    for at in range(0, len(data), step):
        reader.feed(data[at : at + step])
        while (request := reader.next_request()) is not None:
            requests.append(request)
    return requests


@pytest.mark.parametrize("step", [1, 2, 7, 10_000])
def test_requests_do_not_depend_on_where_bytes_are_cut(step: int) -> None:
    parts = [PLAIN, SIZED, CHUNKED, BARE, SIZED]
    requests = read(b"".join(parts), step)
    assert [request.raw for request in requests] == parts
    assert [request.body for request in requests] == [
        b"",
        b"hello",
        b"abc0123456789",
        b"",
        b"hello",
    ]
    assert (requests[0].method, requests[0].target, requests[0].path) == (
        "GET",
        "/v1/models?x=1",
        "/v1/models",
    )
    assert requests[0].headers == [("Host", "h"), ("X-Two", "a"), ("X-Two", "b")]
    assert requests[0].header("x-TWO") == "a"
    assert requests[0].header("missing") is None
    assert {request.connection for request in requests} == {7}


@pytest.mark.parametrize("step", [1, 10_000])
@pytest.mark.parametrize("data", [PLAIN[:-1], SIZED[:-1], CHUNKED[:-1], BARE[:-3]])
def test_an_incomplete_request_is_waited_for(data: bytes, step: int) -> None:
    assert read(data, step) == []


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"hello\r\n\r\n", id="no request line"),
        pytest.param(b"GET / SPDY/3\r\n\r\n", id="no http"),
        pytest.param(b"GET / HTTP/1.1\r\nbroken\r\n\r\n", id="header without colon"),
        pytest.param(b"GET / HTTP/1.1\r\nA : b\r\n\r\n", id="space before the colon"),
        pytest.param(b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", id="negative length"),
        pytest.param(b"GET / HTTP/1.1\r\nContent-Length: 999999999999\r\n\r\n", id="huge length"),
        pytest.param(
            b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", id="chunk size"
        ),
        pytest.param(
            b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n7fffffff\r\n", id="huge chunk"
        ),
        pytest.param(
            b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1" * 2000,
            id="endless chunk size",
        ),
        pytest.param(b"x" * 300_000, id="endless head"),
    ],
)
def test_what_is_no_request_is_refused(data: bytes) -> None:
    with pytest.raises(BadRequestError):
        read(data, 10_000)
