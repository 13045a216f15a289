"""Texts to the body of an embedding request, and its answer to vectors. No I/O."""

import base64
import binascii
import math
import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from rig.errors import InvalidRequestError, ProtocolError
from rig.messages import as_array, as_object
from rig.wire.encode import to_body
from rig.wire.fault_text import read_fault
from rig.wire.payload import parse_json
from rig.wire.told_faults import error_in_payload

MAX_BYTES_PER_TEXT: Final = 1 << 18
"""Decoded bytes of an answer allowed for each text: 10,000 numbers of 25 characters. The widest models
have 8,192 dimensions, and llama.cpp writes numbers of 20 to 23 characters."""

_FLOAT_BYTES: Final = 4
_CHECK_MODEL: Final = "check that the model is one for embeddings"

Vector = tuple[float, ...]


def checked_texts(texts: Iterable[str]) -> tuple[str, ...]:
    """The texts to embed.

    Args:
        texts: any iterable of texts; a single text is a mistake, and would be taken for its letters.

    Raises:
        InvalidRequestError: it is a single text, or holds something else than texts.
    """
    if isinstance(texts, str | bytes):
        raise InvalidRequestError("embed takes a list of texts: put the text into one, [text]")
    checked = tuple(texts)
    if not all(isinstance(text, str) for text in checked):  # pyright: ignore[reportUnnecessaryIsInstance] callers without a type checker
        raise InvalidRequestError("embed takes texts only, and one of the items is none")
    return checked


def encode_embeddings(model: str, texts: Sequence[str]) -> bytes:
    """The JSON body of an embedding request, UTF-8.

    Args:
        model: the model's name.
        texts: what to embed.
    """
    return to_body({"model": model, "input": list(texts)})


def max_answer_bytes(count: int, max_response_bytes: int) -> int:
    """The cap of an answer, in decoded bytes: vectors are longer than any reply.

    Args:
        count: how many texts were sent.
        max_response_bytes: the cap of a reply, which is the least this gives.
    """
    return max(max_response_bytes, count * MAX_BYTES_PER_TEXT)


def decode_embeddings(body: bytes, count: int) -> tuple[Vector, ...]:
    """The vectors in the body of a 200, in the order of the texts.

    Args:
        body: the whole decoded body: OpenAI's `{"data": [{"index", "embedding"}]}`, with numbers or
            base64 of 32-bit floats, or Ollama's `{"embeddings": [[...]]}`.
        count: how many texts were sent.

    Returns:
        One vector for each text, all of one length.

    Raises:
        RigError: the body tells of a fault.
        ProtocolError: it does not hold exactly one vector of finite numbers for each text.
    """
    wire = _object(body)
    entries = as_array(wire.get("data"))
    found = _plain(wire, body) if entries is None else entries
    if len(found) != count:
        raise ProtocolError(
            f"the number of vectors is not that of the texts: {_CHECK_MODEL}", reason="count"
        )
    placed = found if entries is None else _placed(entries)
    vectors = tuple(_vector(value) for value in placed)
    if len({len(vector) for vector in vectors}) > 1:
        raise ProtocolError(f"the vectors differ in length: {_CHECK_MODEL}", reason="ragged")
    return vectors


def _object(body: bytes) -> Mapping[str, object]:
    """The JSON object of a body.

    Raises:
        ProtocolError: it is none.
    """
    try:
        value: object = parse_json(body)
    except ValueError:
        value = None
    wire = as_object(value)
    if wire is None:
        raise ProtocolError(
            f"the answer is no JSON object: {_CHECK_MODEL}",
            reason="not_json",
            detail=read_fault(body).line,
        )
    return wire


def _plain(wire: Mapping[str, object], body: bytes) -> Sequence[object]:
    """Ollama's own shape.

    Raises:
        RigError: the body tells of a fault.
        ProtocolError: it has no vectors at all.
    """
    vectors = as_array(wire.get("embeddings"))
    if vectors is not None:
        return vectors
    fault = error_in_payload(wire)
    if fault is not None:
        raise fault
    raise ProtocolError(
        f"the answer holds no vectors: {_CHECK_MODEL}",
        reason="no_data",
        detail=read_fault(body).line,
    )


def _placed(entries: Sequence[object]) -> Sequence[object]:
    """The vectors of a list of entries, each at its index; in their order where none has one.

    Raises:
        ProtocolError: an index is missing, out of range or given twice.
    """
    wires = [as_object(entry) or {} for entry in entries]
    if all(wire.get("index") is None for wire in wires):
        return [wire.get("embedding") for wire in wires]
    by_index: dict[int, object] = {}
    for wire in wires:
        index = wire.get("index")
        if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < len(wires):
            raise ProtocolError(
                f"the index of a vector is out of range: {_CHECK_MODEL}", reason="index"
            )
        by_index[index] = wire.get("embedding")
    if len(by_index) < len(wires):
        raise ProtocolError(f"two vectors have the same index: {_CHECK_MODEL}", reason="index")
    return [by_index[index] for index in range(len(wires))]


def _vector(value: object) -> Vector:
    """A vector as it was sent.

    Raises:
        ProtocolError: it is empty, or holds something else than finite numbers.
    """
    numbers = _from_base64(value) if isinstance(value, str) else _from_array(value)
    if not numbers or not all(map(math.isfinite, numbers)):
        raise ProtocolError(
            f"a vector is empty, or holds something else than finite numbers: {_CHECK_MODEL}",
            reason="vector",
        )
    return numbers


def _from_array(value: object) -> Vector:
    """Numbers, () where something is none. The types are looked at as a set: a batch has a million."""
    numbers = as_array(value) or ()
    if not {type(number) for number in numbers} <= {float, int}:
        return ()
    try:
        return tuple(map(float, numbers))  # type: ignore[arg-type]  # their types were just looked at
    except OverflowError:  # an integer beyond every float
        return ()


def _from_base64(text: str) -> Vector:
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):  # ValueError: characters outside ASCII
        return ()
    if len(data) % _FLOAT_BYTES:
        return ()
    return struct.unpack(f"<{len(data) // _FLOAT_BYTES}f", data)
