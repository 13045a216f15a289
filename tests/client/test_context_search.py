"""Growing prompts until one is refused."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig import ChatRequest, Client, RetryPolicy
from rig.client.context_search import (
    MAX_WORDS,
    STEP_WORDS,
    ContextSearch,
    discover_context,
    is_refusal,
    search_request,
)
from rig.errors import (
    EmptyReplyError,
    InputTooLargeError,
    InvalidRequestError,
    ProtocolError,
    RateLimitedError,
    RefusedError,
    RigError,
    ServerError,
    UnauthorizedError,
    UpstreamError,
)
from rig.testing import Answer, FakeBackend, ReceivedRequest, answer, repeat, reply

MAX_REQUESTS = 13


def searched(limit: int) -> tuple[int, list[int]]:
    search, tried = ContextSearch(), list[int]()
    while (words := search.words) is not None:
        tried.append(words)
        search = search.after(words, taken=words <= limit)
    return search.fits, tried


@given(st.integers(0, 3 * MAX_WORDS))
def test_the_search_ends_just_below_the_limit_in_few_requests(limit: int) -> None:
    found, tried = searched(limit)
    assert found <= limit
    assert min(limit, MAX_WORDS) - found < STEP_WORDS
    assert len(tried) <= MAX_REQUESTS
    assert max(tried) <= MAX_WORDS


@pytest.mark.parametrize(
    ("limit", "tried"),
    [
        (600, [512, 1024, 768]),
        (100, [512, 256]),
        (2048, [512, 1024, 2048, 4096, 3072, 2560, 2304]),
        (10**9, [512, 1024, 2048, 4096, 8192, 16384, 32768]),
    ],
)
def test_lengths_double_and_then_halve_what_is_between(limit: int, tried: list[int]) -> None:
    assert searched(limit)[1] == tried


def test_where_nothing_is_ever_refused_the_longest_prompt_is_the_answer() -> None:
    assert searched(10**9)[0] == MAX_WORDS


def test_a_request_is_one_user_message_of_words_and_asks_for_one_token() -> None:
    request = search_request("m", 3)
    assert request.messages[0].text == "word word word "
    assert (request.model, request.max_tokens) == ("m", 1)


REFUSALS: dict[str, tuple[RigError, bool]] = {
    "typed": (InputTooLargeError("no", status=400), True),
    "a body too large": (InputTooLargeError("no", status=413, reason="payload"), True),
    "loose words": (InvalidRequestError("no", status=400, detail="prompt is too long"), True),
    "loose words of a 500": (ServerError("no", status=500, detail="the input exceeds n_ctx"), True),
    "other words": (InvalidRequestError("no", status=400, detail="bad roles"), False),
    "the same words of our own": (InvalidRequestError("too long"), False),
    "a rate": (RateLimitedError("no", status=429, detail="exceeds your quota"), False),
    "rights": (UnauthorizedError("no", status=401, detail="key too long"), False),
    "a filter": (RefusedError("no", status=400, detail="exceeds the policy"), False),
    "no connection": (UpstreamError("no", detail="too long"), False),
    "a body at 200": (ProtocolError("no", status=200, detail="too long"), False),
}


@pytest.mark.parametrize(("error", "refusal"), REFUSALS.values(), ids=REFUSALS.keys())
def test_only_the_length_is_a_refusal(error: RigError, refusal: bool) -> None:
    assert is_refusal(error) is refusal


def limited(limit: int, refuse: Callable[[int], Answer]) -> Callable[[ReceivedRequest], Answer]:
    def respond(request: ReceivedRequest) -> Answer:
        words = len(request.json["messages"][0]["content"].split())
        return refuse(words) if words > limit else reply("w", finish_reason="length")

    return respond


def too_long(words: int) -> Answer:
    message = f"This model's maximum context length is 4096 tokens, however you sent {words}"
    return answer(400, {"error": {"message": message, "type": "invalid_request_error"}})


def too_large_a_batch(words: int) -> Answer:
    message = f"input ({words} tokens) is too large to process. increase the physical batch size"
    return answer(500, {"error": {"code": 500, "message": message, "type": "server_error"}})


def loosely(words: int) -> Answer:
    return answer(422, {"detail": f"{words} is longer than allowed"})


@pytest.mark.parametrize(
    ("limit", "refuse"),
    [(4096, too_long), (8192, too_large_a_batch), (3000, loosely)],
    ids=["400", "500", "422"],
)
async def test_a_client_finds_the_limit_of_a_server(
    limit: int, refuse: Callable[[int], Answer]
) -> None:
    backend = FakeBackend(repeat(limited(limit, refuse)))
    async with backend.serve(), Client(backend.url, model="m") as client:
        found = await client.discover_context()
    assert limit - STEP_WORDS <= found <= limit
    assert len(backend.requests) <= MAX_REQUESTS
    assert {request.json["max_tokens"] for request in backend.requests} == {1}
    assert not any(request.json.get("stream") for request in backend.requests)


async def test_other_errors_come_out() -> None:
    backend = FakeBackend(reply("w"), answer(401, {"error": "invalid api key"}))
    async with backend.serve(), Client(backend.url, model="m") as client:
        with pytest.raises(UnauthorizedError):
            await client.discover_context()
    assert len(backend.requests) == 2


async def test_a_busy_server_is_waited_for() -> None:
    backend = FakeBackend(
        answer(429, headers=[("retry-after-ms", "1")]), repeat(limited(600, too_long))
    )
    policy = RetryPolicy(initial_s=0.001)
    async with backend.serve(), Client(backend.url, model="m", retry=policy) as client:
        assert await client.discover_context() == 512


async def test_an_empty_reply_is_one() -> None:
    async def ask(request: ChatRequest) -> None:
        raise EmptyReplyError("nothing", reason="no_answer")

    assert await discover_context(ask, "m") == MAX_WORDS


async def test_a_reply_without_choices_is_none() -> None:
    async def ask(request: ChatRequest) -> None:
        raise EmptyReplyError("nothing", reason="no_choices")

    with pytest.raises(EmptyReplyError):
        await discover_context(ask, "m")
