"""Answers are read back as far as they make sense."""

import pytest

from rig.testing import Answer, answer, chunked, head, raw
from rig.testing.received import ReceivedRequest
from rig.testing.wire import AnswerHead, BodyReader, BrokenAnswerError, parse_head, stays_open

CHUNKED = AnswerHead(200, [(b"Transfer-Encoding", b"chunked")])


def asked(*headers: tuple[str, str]) -> ReceivedRequest:
    return ReceivedRequest(method="GET", target="/", headers=list(headers))


def test_interim_heads_are_skipped() -> None:
    parsed = parse_head(head(100) + head(103, {"Link": "x"}) + head(404, {"A": "b"}) + b"rest")
    assert parsed == (AnswerHead(404, [(b"A", b"b")]), b"rest")
    assert parse_head(head(100) + b"HTTP/1.1 200 OK\r\n") is None


@pytest.mark.parametrize("data", [b"\r\n\r\n", b"HTTP/2 200\r\n\r\n", b"HTTP/1.1 200\r\nx\r\n\r\n"])
def test_what_is_no_head_is_broken(data: bytes) -> None:
    with pytest.raises(BrokenAnswerError):
        parse_head(data)


@pytest.mark.parametrize("step", [1, 2, 3, 1000])
def test_chunks_come_out_whatever_the_cut(step: int) -> None:
    data = b"".join(
        part for part in chunked(b"one", b"\r\n0\r\n", b"x" * 20) if isinstance(part, bytes)
    )
    reader = BodyReader(CHUNKED)
    parts: list[bytes] = []
    for at in range(0, len(data), step):
        assert not reader.complete
        parts.extend(reader.feed(data[at : at + step]))
    assert b"".join(parts) == b"one\r\n0\r\n" + b"x" * 20
    assert reader.complete


def test_a_chunk_without_a_size_is_broken() -> None:
    with pytest.raises(BrokenAnswerError):
        list(BodyReader(CHUNKED).feed(b"zz\r\n"))


def test_bytes_past_the_length_are_not_body() -> None:
    reader = BodyReader(AnswerHead(200, [(b"Content-Length", b"3")]))
    assert list(reader.feed(b"abcdef")) == [b"abc"]
    assert reader.complete


def test_a_body_without_a_length_ends_with_the_connection() -> None:
    reader = BodyReader(AnswerHead(200, []))
    assert list(reader.feed(b"abc")) == [b"abc"]
    assert not reader.complete
    assert reader.may_end


@pytest.mark.parametrize(
    ("sent", "request_", "expected"),
    [
        pytest.param(answer(), asked(), True, id="length"),
        pytest.param(answer(framing="chunked"), asked(), True, id="chunked"),
        pytest.param(answer(framing="close"), asked(), False, id="no length"),
        pytest.param(raw(head(204)), asked(), True, id="no body"),
        pytest.param(raw(b"HTTP/1.1 200 OK\r\n", b"Content-Length: 0\r\n\r\n"), asked(), True, id="in pieces"),
        pytest.param(answer(headers={"Connection": "close"}), asked(), False, id="answer says close"),
        pytest.param(answer(), asked(("Connection", "Close")), False, id="client says close"),
        pytest.param(raw(b"garbage\r\n\r\n"), asked(), False, id="no http"),
        pytest.param(raw(), asked(), False, id="nothing"),
        pytest.param(raw(keep_alive=True), asked(), True, id="told so"),
    ],
)  # fmt: skip
def test_the_head_decides_whether_the_connection_stays(
    sent: Answer, request_: ReceivedRequest, expected: bool
) -> None:
    assert stays_open(sent, request_) is expected
