"""Embedding requests and their answers."""

import base64
import struct
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import from_json, to_json

from rig.errors import InvalidRequestError, ProtocolError, RateLimitedError, RigError
from rig.wire.embeddings import (
    checked_texts,
    decode_embeddings,
    encode_embeddings,
    max_answer_bytes,
)

DATA = Path(__file__).parents[1] / "data" / "embeddings"


def test_the_body_is_model_and_input() -> None:
    assert from_json(encode_embeddings("m", ("a", "b"))) == {"model": "m", "input": ["a", "b"]}


def test_half_a_character_is_sent_as_a_replacement() -> None:
    assert from_json(encode_embeddings("m", ("\ud83d",)))["input"] == ["\ufffd"]


def test_texts_may_be_any_iterable() -> None:
    assert checked_texts(iter(["a", ""])) == ("a", "")
    assert checked_texts([]) == ()


@pytest.mark.parametrize("texts", ["text", b"text", [b"a"], ["a", None], [1]])
def test_what_is_no_list_of_texts_is_refused(texts: list[str]) -> None:
    with pytest.raises(InvalidRequestError):
        checked_texts(texts)


def test_the_cap_grows_with_the_texts_and_never_shrinks() -> None:
    assert max_answer_bytes(1, 1 << 20) == 1 << 20
    assert max_answer_bytes(100, 1 << 20) == 100 << 18


def entry(index: object, embedding: object) -> dict[str, object]:
    return {"object": "embedding", "index": index, "embedding": embedding}


def packed(*numbers: float) -> str:
    return base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode()


GOOD: dict[str, object] = {
    "in order": {"object": "list", "data": [entry(0, [0.5, 1]), entry(1, [2, -3e-2])]},
    "out of order": {"data": [entry(1, [2, -0.03]), entry(0, [0.5, 1.0])]},
    "without indices": {"data": [{"embedding": [0.5, 1]}, {"embedding": [2, -0.03]}]},
    "null indices": {"data": [entry(None, [0.5, 1]), entry(None, [2, -0.03])]},
    "ollama's shape": {"model": "m", "embeddings": [[0.5, 1], [2, -0.03]]},
}


@pytest.mark.parametrize("answer", GOOD.values(), ids=GOOD.keys())
def test_vectors_come_in_the_order_of_the_texts(answer: object) -> None:
    assert decode_embeddings(to_json(answer), 2) == ((0.5, 1.0), (2.0, -0.03))


def test_base64_is_floats_of_four_bytes() -> None:
    answer = {"data": [entry(0, packed(0.5, -2.0))]}
    assert decode_embeddings(to_json(answer), 1) == ((0.5, -2.0),)


def test_a_real_server_gives_the_same_vectors_in_both_codings() -> None:
    floats = decode_embeddings((DATA / "llama-server.floats.json").read_bytes(), 2)
    packed_ones = decode_embeddings((DATA / "llama-server.base64.json").read_bytes(), 2)
    assert [len(vector) for vector in floats] == [576, 576]
    assert floats == packed_ones
    assert floats[0] != floats[1]


BAD: dict[str, tuple[object, str]] = {
    "one too few": ({"data": [entry(0, [1])]}, "count"),
    "one too many": ({"data": [entry(0, [1]), entry(1, [1]), entry(2, [1])]}, "count"),
    "none": ({"data": []}, "count"),
    "too few in ollama's shape": ({"embeddings": [[1]]}, "count"),
    "index out of range": ({"data": [entry(0, [1]), entry(2, [1])]}, "index"),
    "a negative index": ({"data": [entry(0, [1]), entry(-1, [1])]}, "index"),
    "an index twice": ({"data": [entry(0, [1]), entry(0, [2])]}, "index"),
    "one without an index": ({"data": [entry(0, [1]), {"embedding": [2]}]}, "index"),
    "true for an index": ({"data": [entry(0, [1]), entry(True, [2])]}, "index"),
    "text for an index": ({"data": [entry("0", [1]), entry("1", [2])]}, "index"),
    "entries that are no objects": ({"data": [1, 2]}, "vector"),
    "an empty vector": ({"data": [entry(0, []), entry(1, [])]}, "vector"),
    "no vector": ({"data": [entry(0, None), entry(1, [1])]}, "vector"),
    "text in a vector": ({"data": [entry(0, [1, "2"]), entry(1, [1, 2])]}, "vector"),
    "null in a vector": ({"data": [entry(0, [1, None]), entry(1, [1, 2])]}, "vector"),
    "true in a vector": ({"data": [entry(0, [1, True]), entry(1, [1, 2])]}, "vector"),
    "a vector for each token": ({"data": [entry(0, [[1, 2]]), entry(1, [[1, 2]])]}, "vector"),
    "an integer beyond floats": ({"data": [entry(0, [10**400]), entry(1, [1])]}, "vector"),
    "broken base64": ({"data": [entry(0, "a*b"), entry(1, packed(1))]}, "vector"),
    "base64 outside ascii": ({"data": [entry(0, "\u00e9\u00e9\u00e9\u00e9"), entry(1, packed(1))]}, "vector"),
    "base64 of three bytes": ({"data": [entry(0, "AAAA"), entry(1, packed(1))]}, "vector"),
    "base64 of not a number": ({"data": [entry(0, packed(float("nan"))), entry(1, packed(1))]}, "vector"),
    "lengths that differ": ({"data": [entry(0, [1, 2]), entry(1, [1])]}, "ragged"),
    "an answer to something else": ({"object": "list"}, "no_data"),
    "a list": ([entry(0, [1]), entry(1, [1])], "not_json"),
}  # fmt: skip


@pytest.mark.parametrize(("answer", "reason"), BAD.values(), ids=BAD.keys())
def test_anything_but_one_vector_of_numbers_a_text_is_a_protocol_error(
    answer: object, reason: str
) -> None:
    with pytest.raises(ProtocolError) as caught:
        decode_embeddings(to_json(answer), 2)
    assert caught.value.reason == reason
    assert not caught.value.retryable
    assert caught.value.__context__ is None


@pytest.mark.parametrize("number", [b"NaN", b"Infinity", b"-Infinity", b"1e999"])
def test_numbers_that_are_none_are_refused(number: bytes) -> None:
    body = b'{"data": [{"index": 0, "embedding": [1.0, ' + number + b"]}]}"
    with pytest.raises(ProtocolError):
        decode_embeddings(body, 1)


def test_an_error_in_a_200_is_that_error() -> None:
    with pytest.raises(RateLimitedError):
        decode_embeddings(b'{"error": {"type": "rate_limit_error", "message": "slow down"}}', 1)


@pytest.mark.parametrize("body", [b"", b"<html>", b"\xff", b"[" * 100_000, b'{"data": ['])
def test_bodies_that_are_no_json_are_told_by_no_more_than_that(body: bytes) -> None:
    with pytest.raises(ProtocolError) as caught:
        decode_embeddings(body, 1)
    assert caught.value.reason == "not_json"
    assert caught.value.__context__ is None


@given(st.binary(), st.integers(1, 3))
def test_any_bytes_are_vectors_or_a_rig_error(body: bytes, count: int) -> None:
    with suppress(RigError):
        assert len(decode_embeddings(body, count)) == count


@given(st.permutations(range(6)))
def test_any_order_of_entries_gives_the_order_of_the_texts(order: list[int]) -> None:
    body = to_json({"data": [entry(index, [index, 1]) for index in order]})
    assert [int(vector[0]) for vector in decode_embeddings(body, 6)] == list(range(6))
