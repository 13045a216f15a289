"""One request for the vectors of texts."""

from collections.abc import Awaitable, Callable, Sequence

from rig.transport.http import Response
from rig.wire.embeddings import Vector, decode_embeddings, encode_embeddings, max_answer_bytes

EMBEDDINGS_PATH = "v1/embeddings"

Exchange = Callable[[str, bytes, int], Awaitable[Response]]
"""Sends one request: (path below the server's root, body, cap in bytes) to an answer that is no error."""


def embedder(
    exchange: Exchange, model: str, texts: Sequence[str], *, max_response_bytes: int
) -> Callable[[], Awaitable[tuple[Vector, ...]]]:
    """What makes one attempt at embedding some texts; the body is written once for all of them.

    Args:
        exchange: sends the request.
        model: the model's name.
        texts: what to embed, at least one.
        max_response_bytes: cap of a reply, in decoded bytes; vectors may take more.

    Returns:
        The attempt. It raises a `RigError` when the endpoint failed or its answer is no use.
    """
    body = encode_embeddings(model, texts)
    max_bytes = max_answer_bytes(len(texts), max_response_bytes)

    async def attempt() -> tuple[Vector, ...]:
        response = await exchange(EMBEDDINGS_PATH, body, max_bytes)
        return decode_embeddings(response.body, len(texts))

    return attempt
