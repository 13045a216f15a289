"""Answers that came through a caller's client."""

from collections.abc import AsyncIterator

import httpx

from rig.transport.body import MAX_LEFT_READS, ClientAnswer, JoinedHeaders, joined_headers


class Parts(httpx.AsyncByteStream):
    """A body that counts what is done to it."""

    def __init__(self, *parts: bytes) -> None:
        self.left = list(parts)
        self.closed = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while self.left:
            yield self.left.pop(0)

    async def aclose(self) -> None:
        self.closed += 1


async def read_all(body: ClientAnswer) -> list[bytes]:
    parts: list[bytes] = []
    while (part := await body.read()) is not None:
        parts.append(part)
    return parts


async def test_parts_come_raw_and_one_by_one() -> None:
    stream = Parts(b"\x1f\x8b", b"raw")
    response = httpx.Response(200, headers={"Content-Encoding": "gzip"}, stream=stream)
    body = ClientAnswer(response)
    assert body.encoding == "gzip"
    assert await read_all(body) == [b"\x1f\x8b", b"raw"]
    await body.close()
    assert stream.closed == 1


async def test_what_was_read_before_is_not_decoded_again() -> None:
    response = httpx.Response(200, json={"a": 1}, headers={"Content-Encoding": "identity"})
    body = ClientAnswer(response)
    assert body.encoding == ""
    assert await read_all(body) == [b'{"a":1}']
    await body.close()


async def test_an_unread_body_is_closed_without_being_read() -> None:
    stream = Parts(b"a", b"b")
    body = ClientAnswer(httpx.Response(200, stream=stream))
    await body.close()
    assert stream.left == [b"a", b"b"]
    assert stream.closed == 1


async def test_an_early_close_ends_the_generators_below_within_a_bound() -> None:
    stream = Parts(*[b"x"] * (2 * MAX_LEFT_READS))
    body = ClientAnswer(httpx.Response(200, stream=stream))
    await body.read()
    await body.close()
    assert stream.closed == 1
    assert len(stream.left) == MAX_LEFT_READS - 1


def test_repeated_headers_are_joined_and_odd_bytes_kept() -> None:
    raw = [(b"X-A", b"1"), (b"x-a", b"2"), (b"X-B", b"\xe9")]
    joined = {"x-a": "1, 2", "x-b": "\xe9"}
    assert joined_headers(raw) == joined
    later = JoinedHeaders(raw)
    assert later == joined
    assert (len(later), list(later), later.get("x-c")) == (2, ["x-a", "x-b"], None)
