"""The client: what reaches the wire, what does not, and what comes back."""

import os
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
import respx

from rig import (
    ChatOptions,
    ChatRequest,
    Client,
    InvalidRequestError,
    Message,
    ModelNotFoundError,
    NotConfiguredError,
    ProtocolError,
    RateLimitedError,
    ResponseTooLargeError,
    RetryEvent,
    RetryPolicy,
    ServerError,
    UpstreamError,
)
from rig.testing import (
    Answer,
    FakeBackend,
    ReceivedRequest,
    Until,
    answer,
    faults,
    raw,
    repeat,
    reply,
)

HELLO = ChatRequest(model="m", messages=(Message(role="user", content="hi"),), max_tokens=8)
AMBIENT = {
    "OPENAI_API_KEY": "sk-ambient",
    "OPENAI_ADMIN_KEY": "sk-ambient-admin",
    "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
    "OPENAI_ORG_ID": "org-ambient",
    "OPENAI_PROJECT_ID": "proj-ambient",
    "OPENAI_CUSTOM_HEADERS": (
        "Authorization: Bearer sk-ambient\ncontent-type: text/plain\nAccept: text/plain\n"
        "X-Leak: v\nnot-a-header\n: blank"
    ),
    "HTTP_PROXY": "http://127.0.0.1:9",
    "http_proxy": "http://127.0.0.1:9",
    "ALL_PROXY": "socks5://127.0.0.1:9",
    "all_proxy": "socks5://127.0.0.1:9",
    "NO_PROXY": "",
}
KNOWN_HEADERS = {
    "host",
    "accept",
    "accept-encoding",
    "connection",
    "content-type",
    "content-length",
    "user-agent",
}


@pytest.fixture
def ambient(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in AMBIENT.items():
        monkeypatch.setenv(name, value)
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login test password ambient\n", encoding="utf-8")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))


@pytest.mark.usefixtures("ambient")
@pytest.mark.parametrize("key", ["", "sk-mine"], ids=["without a key", "with a key"])
async def test_nothing_of_the_environment_reaches_the_wire(key: str) -> None:
    backend = FakeBackend(reply("ok"))
    async with backend.serve(), Client(backend.url, key) as client:
        await client.complete(HELLO)
    sent = {name.lower(): value for name, value in backend.requests[0].headers}
    assert sent.pop("authorization", None) == (f"Bearer {key}" if key else None)
    assert sent.keys() <= KNOWN_HEADERS
    assert sent["content-type"] == "application/json"
    assert sent["user-agent"].startswith("rig/")
    assert "ambient" not in str(backend.requests[0].headers)
    assert os.environ["OPENAI_API_KEY"] == "sk-ambient"


async def test_the_user_agent_is_the_callers() -> None:
    backend = FakeBackend(reply("ok"))
    async with backend.serve(), Client(backend.url, user_agent="kb/2") as client:
        await client.complete(HELLO)
    assert ("kb/2") in [
        value for name, value in backend.requests[0].headers if name.lower() == "user-agent"
    ]


async def test_cookies_of_the_server_are_not_kept() -> None:
    backend = FakeBackend(
        repeat(answer(body=completion(), headers=[("Set-Cookie", "a=b; Path=/")]))
    )
    async with backend.serve(), Client(backend.url) as client:
        await client.complete(HELLO)
        await client.complete(HELLO)
    assert "cookie" not in {name.lower() for name, _ in backend.requests[1].headers}


def completion() -> dict[str, object]:
    return {
        "choices": [{"message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}]
    }


async def test_requests_go_to_the_path_below_v1() -> None:
    backend = FakeBackend(reply("ok"))
    async with backend.serve():
        root = backend.url.removesuffix("/v1")
        async with Client(root + "/proxy") as client:
            await client.complete(HELLO)
    assert backend.requests[0].method == "POST"
    assert backend.requests[0].target == "/proxy/v1/chat/completions"


async def test_a_trace_id_is_a_header() -> None:
    backend = FakeBackend(reply("ok"))
    request = ChatRequest(
        model="m", messages=HELLO.messages, max_tokens=8, options=ChatOptions(trace_id="t-1")
    )
    async with backend.serve(), Client(backend.url) as client:
        await client.complete(request)
    assert "t-1" in {
        value for name, value in backend.requests[0].headers if name.lower() == "x-trace-id"
    }


async def test_the_clients_model_is_used_where_a_request_names_none() -> None:
    backend = FakeBackend(repeat(reply("ok")))
    async with backend.serve(), Client(backend.url, model="mine") as client:
        await client.complete(ChatRequest(model="", messages=HELLO.messages, max_tokens=8))
        await client.complete(HELLO)
    assert [request.json["model"] for request in backend.requests] == ["mine", "m"]


async def test_no_model_anywhere_is_told_before_sending() -> None:
    async with Client("http://127.0.0.1:9") as client:
        with pytest.raises(NotConfiguredError):
            await client.complete(ChatRequest(model="", messages=HELLO.messages, max_tokens=8))


async def on_retry_that_nobody_awaits(_event: RetryEvent) -> None:
    """Never run."""


class CalledAsync:
    async def __call__(self, _event: RetryEvent) -> None:
        """Never run."""


BAD_ARGUMENTS = {
    "a blank api key": {"api_key": "  "},
    "a model that is no text": {"model": 5},
    "a list of models": {"model": ["a", "b"]},
    "timeouts as a number": {"timeouts": 5},
    "no timeouts": {"timeouts": None},
    "no retry policy": {"retry": None},
    "retries as a number": {"retry": 3},
    "no guard": {"repetition": None},
    "slots as text": {"slots": "4"},
    "slots as a flag": {"slots": True},
    "half a slot": {"slots": 1.5},
    "no cap": {"max_response_bytes": None},
    "a cap as text": {"max_response_bytes": "1MB"},
    "a cap as a float": {"max_response_bytes": 1e6},
    "a cap as a flag": {"max_response_bytes": True},
    "a callback of no kind": {"on_retry": 5},
    "a callback to be awaited": {"on_retry": on_retry_that_nobody_awaits},
    "an object to be awaited": {"on_retry": CalledAsync()},
    "a dialect of no kind": {"dialect": 5},
    "api key with a line break": {"api_key": "sk\r\nX-Evil: 1"},
    "api key that is no text": {"api_key": b"sk"},
    "api key outside ascii": {"api_key": "s\u00e9cret"},
    "user agent with a line break": {"user_agent": "a\nb"},
    "no slots": {"slots": 0},
    "a cap of nothing": {"max_response_bytes": 0},
    "a sync client": {"http_client": httpx.Client},
    "a client that is none": {"http_client": object},
}


@pytest.mark.parametrize("arguments", BAD_ARGUMENTS.values(), ids=BAD_ARGUMENTS.keys())
def test_arguments_that_cant_be_used_are_refused_at_once(arguments: dict[str, object]) -> None:
    given = {k: v() if isinstance(v, type) else v for k, v in arguments.items()}
    with pytest.raises((InvalidRequestError, NotConfiguredError)) as caught:
        Client("http://127.0.0.1:9", **given)  # type: ignore[arg-type]  # the point of the test
    assert "Evil" not in str(caught.value)
    assert "cret" not in str(caught.value)
    if isinstance(client := given.get("http_client"), httpx.Client):
        client.close()


@pytest.mark.parametrize("api_key", ["", None])
async def test_no_key_sends_no_header(api_key: Any) -> None:
    backend = FakeBackend(reply("ok"))
    async with backend.serve(), Client(backend.url, api_key) as client:
        await client.complete(HELLO)
    assert "authorization" not in {name.lower() for name, _ in backend.requests[0].headers}


async def test_a_closed_client_says_so_at_once() -> None:
    client = Client("http://127.0.0.1:9", model="m")
    async with client:
        pass
    with pytest.raises(InvalidRequestError):
        await client.__aenter__()
    await client.aclose()


def test_the_repr_shows_neither_key_nor_url() -> None:
    client = Client("http://secret-host:1/v1", "sk-secret", model="m")
    assert "secret" not in repr(client)
    assert "m" in repr(client)


async def test_models_are_listed() -> None:
    backend = FakeBackend(answer(body={"data": [{"id": "a"}, {"id": "b"}]}))
    async with backend.serve(), Client(backend.url) as client:
        assert await client.models() == ("a", "b")
    assert (backend.requests[0].method, backend.requests[0].target) == ("GET", "/v1/models")


async def test_429_is_waited_out_and_narrated() -> None:
    events: list[RetryEvent] = []
    backend = FakeBackend(answer(429, headers=[("retry-after-ms", "1")]), reply("ok"))
    async with backend.serve(), Client(backend.url, on_retry=events.append) as client:
        assert (await client.complete(HELLO)).text == "ok"
    assert [(event.kind, event.attempt, event.server_asked) for event in events] == [
        ("429", 1, True),
        ("recovered", 2, False),
    ]


async def test_retries_off_is_exactly_one_request() -> None:
    backend = FakeBackend(repeat(answer(429, headers=[("Retry-After", "0")])))
    async with backend.serve(), Client(backend.url, retry=RetryPolicy.off()) as client:
        with pytest.raises(RateLimitedError):
            await client.complete(HELLO)
    assert len(backend.requests) == 1


async def test_an_error_in_a_200_is_an_error_and_is_repeated_like_one() -> None:
    overloaded = answer(200, body={"error": {"code": 503, "message": "overloaded"}})
    backend = FakeBackend(overloaded, overloaded, reply("ok"))
    policy = RetryPolicy(initial_s=0.001)
    async with backend.serve(), Client(backend.url, retry=policy) as client:
        assert (await client.complete(HELLO)).text == "ok"
    assert len(backend.requests) == 3


async def test_an_unknown_model_is_told_once() -> None:
    body = {"error": "model 'qwen3' not found, try pulling it first"}
    backend = FakeBackend(answer(404, body=body))
    async with backend.serve(), Client(backend.url) as client:
        with pytest.raises(ModelNotFoundError) as caught:
            await client.complete(HELLO)
    assert "qwen3" in caught.value.detail
    assert "qwen3" not in str(caught.value)


async def test_slots_bound_the_requests_under_way() -> None:
    release = anyio.Event()
    seen: list[int] = []
    under_way = 0

    def count(request: ReceivedRequest) -> Answer:
        nonlocal under_way
        under_way += 1
        seen.append(under_way)
        return reply("ok")

    backend = FakeBackend(repeat(count))

    async def ask(client: Client) -> None:
        nonlocal under_way
        await client.complete(HELLO)
        under_way -= 1

    release.set()
    async with backend.serve(), Client(backend.url, slots=3) as client:
        async with anyio.create_task_group() as tasks:
            for _ in range(30):
                tasks.start_soon(ask, client)
    assert len(seen) == 30
    assert max(seen) <= 3
    assert backend.connections.opened <= 3


async def test_a_cancelled_request_gives_its_slot_back() -> None:
    never = anyio.Event()
    backend = FakeBackend(raw(Until(never)), reply("ok"))
    async with backend.serve(), Client(backend.url, slots=1) as client:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.complete, HELLO)
            await backend.wait_until(lambda: len(backend.requests) == 1)
            tasks.cancel_scope.cancel()
        assert (await client.complete(HELLO)).text == "ok"


async def test_a_dead_endpoint_is_told_by_reason_without_its_address() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    async with Client(f"http://127.0.0.1:{port}", retry=RetryPolicy.off()) as client:
        with pytest.raises(UpstreamError) as caught:
            await client.complete(HELLO)
    assert caught.value.reason == "connect_refused"
    assert caught.value.status is None
    assert str(port) not in str(caught.value)


async def test_a_callers_client_replaces_the_transport_and_stays_open() -> None:
    backend = FakeBackend(repeat(reply("ok")))
    async with httpx.AsyncClient(
        transport=backend.transport, headers={"X-Team": "a"}
    ) as http_client:
        async with Client("http://host", "sk-mine", http_client=http_client) as client:
            assert (await client.complete(HELLO)).text == "ok"
        assert not http_client.is_closed
    sent = {name.lower(): value for name, value in backend.requests[0].headers}
    assert sent["x-team"] == "a"
    assert sent["authorization"] == "Bearer sk-mine"
    assert sent["accept-encoding"] == "gzip, deflate"


async def test_the_cap_is_the_callers() -> None:
    backend = FakeBackend(repeat(reply("x" * 2000)))
    async with backend.serve():
        async with Client(backend.url, max_response_bytes=1000) as client:
            with pytest.raises(ResponseTooLargeError):
                await client.complete(HELLO)
        async with Client(backend.url, max_response_bytes=4000) as client:
            assert len((await client.complete(HELLO)).text) == 2000


async def test_a_redirect_is_refused_and_not_followed() -> None:
    backend = FakeBackend(repeat(faults.redirect()))
    async with backend.serve(), Client(backend.url, "sk-mine") as client:
        with pytest.raises(ProtocolError) as caught:
            await client.complete(HELLO)
    assert caught.value.reason == "redirect"
    assert len(backend.requests) == 1


async def test_the_list_of_models_is_asked_for_again_like_everything_else() -> None:
    backend = FakeBackend(answer(503), answer(body={"data": [{"id": "a"}]}))
    async with backend.serve():
        async with Client(backend.url, retry=RetryPolicy(initial_s=0.001)) as client:
            assert await client.models() == ("a",)


async def test_five_server_errors_end_the_tries() -> None:
    backend = FakeBackend(repeat(answer(502, body="<html>Bad Gateway</html>")))
    policy = RetryPolicy(initial_s=0.001)
    async with backend.serve(), Client(backend.url, retry=policy) as client:
        with pytest.raises(ServerError) as caught:
            await client.complete(HELLO)
    assert caught.value.status == 502
    assert len(backend.requests) == 5


@pytest.mark.parametrize(
    ("temperature", "status", "sent"),
    [(0, 500, 2), (0.7, 500, 5), (None, 500, 5), (0, 502, 5)],
)
async def test_the_same_500_twice_is_enough_at_temperature_0(
    temperature: float | None, status: int, sent: int
) -> None:
    backend = FakeBackend(repeat(answer(status, {"error": {"message": "boom"}})))
    request = replace(HELLO, options=ChatOptions(temperature=temperature))
    quick = RetryPolicy(initial_s=0, max_s=0)
    async with backend.serve(), Client(backend.url, retry=quick) as client:
        with pytest.raises(ServerError) as caught:
            await client.complete(request)
    assert len(backend.requests) == sent
    assert caught.value.retryable is (sent == 5)


async def test_a_mocked_httpx_is_seen_through_a_client_of_the_caller_s() -> None:
    with respx.mock(assert_all_called=True) as router:
        body = {"choices": [{"message": {"content": "hi"}}]}
        router.post("http://mocked/v1/chat/completions").respond(json=body)
        async with httpx.AsyncClient() as http, Client("http://mocked", http_client=http) as client:
            assert (await client.run("hello", model="m", max_tokens=8)).text == "hi"
