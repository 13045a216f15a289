"""Embedding texts over the wire."""

import anyio
import anyio.lowlevel
import pytest

from rig import Client, RetryEvent, RetryPolicy
from rig.errors import (
    InvalidRequestError,
    NotConfiguredError,
    ProtocolError,
    RateLimitedError,
    ResponseTooLargeError,
    ServerError,
)
from rig.testing import Answer, FakeBackend, ReceivedRequest, answer, raw, repeat
from rig.testing.faults import endless_body
from rig.wire.embeddings import MAX_BYTES_PER_TEXT

TWO = answer(
    body={
        "object": "list",
        "data": [
            {"object": "embedding", "index": 1, "embedding": [0.0, 1.0]},
            {"object": "embedding", "index": 0, "embedding": [1.0, 0.0]},
        ],
        "model": "m",
        "usage": {"prompt_tokens": 4, "total_tokens": 4},
    }
)


async def test_texts_become_vectors_in_their_order() -> None:
    async with FakeBackend(TWO).serve() as backend:
        async with Client(backend.url, "sk-mine", model="chat") as client:
            vectors = await client.embed(["a", "b"], model="m")
    assert vectors == ((1.0, 0.0), (0.0, 1.0))
    [request] = backend.requests
    assert (request.method, request.target) == ("POST", "/v1/embeddings")
    assert request.json == {"model": "m", "input": ["a", "b"]}
    assert request.header("authorization") == "Bearer sk-mine"


async def test_nothing_to_embed_is_no_request_and_needs_no_model() -> None:
    async with Client("http://127.0.0.1:9") as client:
        assert await client.embed([]) == ()


async def test_a_model_must_be_named_and_texts_must_be_a_list() -> None:
    async with Client("http://127.0.0.1:9") as client:
        with pytest.raises(NotConfiguredError):
            await client.embed(["a"])
        with pytest.raises(InvalidRequestError):
            await client.embed("a")


async def test_a_server_without_embeddings_says_how_to_start_it() -> None:
    said = "This server does not support embeddings. Start it with `--embeddings`"
    error = {"error": {"code": 501, "message": said, "type": "not_supported_error"}}
    async with FakeBackend(answer(501, error)).serve() as backend:
        async with Client(backend.url, model="m") as client:
            with pytest.raises(NotConfiguredError) as caught:
                await client.embed(["a"])
    assert caught.value.reason == "embeddings_off"
    assert "--embeddings" in str(caught.value)
    assert len(backend.requests) == 1


async def test_busy_and_failing_servers_are_asked_again_as_for_chat() -> None:
    events: list[RetryEvent] = []
    backend = FakeBackend(answer(429, headers=[("retry-after-ms", "1")]), answer(503), TWO)
    policy = RetryPolicy(initial_s=0.001)
    async with backend.serve():
        async with Client(backend.url, model="m", retry=policy, on_retry=events.append) as client:
            assert len(await client.embed(["a", "b"])) == 2
    assert [event.kind for event in events] == ["429", "5xx", "recovered"]
    assert len({request.body for request in backend.requests}) == 1


@pytest.mark.parametrize(("status", "error"), [(429, RateLimitedError), (500, ServerError)])
async def test_retries_off_is_one_request(status: int, error: type[Exception]) -> None:
    async with FakeBackend(repeat(answer(status))).serve() as backend:
        async with Client(backend.url, model="m", retry=RetryPolicy.off()) as client:
            with pytest.raises(error):
                await client.embed(["a"])
    assert len(backend.requests) == 1


async def test_a_broken_answer_is_told_once() -> None:
    async with FakeBackend(repeat(answer(body={"data": []}))).serve() as backend:
        async with Client(backend.url, model="m") as client:
            with pytest.raises(ProtocolError):
                await client.embed(["a"])
    assert len(backend.requests) == 1


def vectors_of(size: int) -> Answer:
    """An answer for one text of exactly so many bytes."""
    head, tail = b'{"data": [{"index": 0, "embedding": [1', b".5]}]}"
    return answer(body=head + b"0" * (size - len(head) - len(tail)) + tail)


@pytest.mark.parametrize("cap", [1, 300_000], ids=["below", "above"])
async def test_the_cap_is_that_of_a_reply_or_of_the_texts_whichever_is_larger(cap: int) -> None:
    largest = max(cap, MAX_BYTES_PER_TEXT)
    backend = FakeBackend(vectors_of(largest + 1), endless_body())
    async with backend.serve(), Client(backend.url, model="m", max_response_bytes=cap) as client:
        for _ in range(2):
            with pytest.raises(ResponseTooLargeError):
                await client.embed(["a"])


async def test_vectors_may_be_larger_than_a_reply() -> None:
    numbers = ", ".join(["0.1234567890123456789"] * 8192)
    body = '{"data": [{"index": 0, "embedding": [' + numbers + "]}]}"
    assert len(body) > 1 << 17
    async with FakeBackend(answer(body=body)).serve() as backend:
        async with Client(backend.url, model="m", max_response_bytes=1000) as client:
            [vector] = await client.embed(["a"])
    assert len(vector) == 8192


async def test_embedding_takes_a_slot() -> None:
    under_way = 0
    most = 0

    async def count(request: ReceivedRequest) -> Answer:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await anyio.lowlevel.checkpoint()
        under_way -= 1
        return TWO

    async with FakeBackend(repeat(count)).serve() as backend:
        async with Client(backend.url, model="m", slots=2) as client:
            async with anyio.create_task_group() as tasks:
                for _ in range(10):
                    tasks.start_soon(client.embed, ["a", "b"])
    assert most <= 2
    assert len(backend.requests) == 10


async def test_a_cancelled_request_is_closed() -> None:
    async with FakeBackend(repeat(raw())).serve() as backend:
        async with Client(backend.url, model="m") as client:
            with anyio.move_on_after(0.05) as scope:
                await client.embed(["a"])
    assert scope.cancelled_caught
