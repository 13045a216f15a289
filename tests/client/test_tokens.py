"""Counting with whatever tokenizer an endpoint has."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from rig import Client, Message, Tool
from rig.client.findings import ABSENT_S
from rig.client.tokens import COUNT_TIMEOUT_S, FIND_TIMEOUT_S, MAX_COUNT_BYTES, TokenCounter
from rig.errors import UpstreamError
from rig.testing import Answer, FakeBackend, Hang, ReceivedRequest, answer, raw, repeat
from rig.transport.http import Response

DATA = Path(__file__).parents[1] / "data" / "tokens"
HTML = answer(body="<html>It works!</html>", content_type="text/html")
NOT_FOUND = answer(404, {"error": {"code": 404, "message": "File Not Found"}})
SCHEMA = {"type": "object", "properties": {}}
TOOL = Tool(name="t", description="Does it.", input_schema=SCHEMA, run=lambda _: "")
TOOL_JSON = (
    '{"type":"function","function":{"name":"t","description":"Does it.",'
    '"parameters":{"type":"object","properties":{}}}}'
)

Routes = Mapping[str, Answer | Callable[[ReceivedRequest], Answer | str] | str]


@asynccontextmanager
async def served(
    routes: Routes, *, rest: Answer = NOT_FOUND, model: str | None = "m"
) -> AsyncGenerator[tuple[Client, FakeBackend]]:
    """A client of a server in process that answers only some paths, and `rest` everywhere else."""
    backend = FakeBackend(repeat(rest), routes=dict(routes))
    async with httpx.AsyncClient(transport=backend.transport) as http_client:
        async with Client(backend.url, http_client=http_client, model=model) as client:
            yield client, backend


def by_words(request: ReceivedRequest) -> Answer:
    """A tokenizer as llama.cpp has it, of one token a word."""
    return answer(body={"tokens": list(range(len(request.json["content"].split())))})


def paths(backend: FakeBackend) -> list[str]:
    return [request.target for request in backend.requests]


async def test_llama_cpp_is_asked_for_tokens_without_special_ones() -> None:
    async with served({"/tokenize": by_words}) as (client, backend):
        assert await client.has_tokenizer()
        assert await client.count_tokens("one two three") == 3
        assert await client.count_tokens("") == 0
    assert [request.json for request in backend.requests] == [
        {"content": "probe", "add_special": False},
        {"content": "one two three", "add_special": False},
        {"content": "", "add_special": False},
    ]


FOUND: dict[str, tuple[Routes, int, str]] = {
    "llama.cpp": ({"/tokenize": answer(body={"tokens": [1, 2, 3, 4, 5]})}, 5, "/tokenize"),
    "llama-swap": (
        {"/upstream/m/tokenize": answer(body={"tokens": [1, 2, 3]})},
        3,
        "/upstream/m/tokenize",
    ),
    "vLLM below /v1": (
        {"/v1/tokenize": answer(body={"count": 11, "tokens": [1, 2], "max_model_len": 4096})},
        11,
        "/v1/tokenize",
    ),
    "llama.cpp's router": (
        {
            "/tokenize": lambda request: (
                by_words(request) if "model" in request.json else answer(400, {"error": "model?"})
            )
        },
        2,
        "/tokenize",
    ),
    "vLLM": (
        {
            "/tokenize": lambda request: (
                answer(body={"count": 7})
                if "prompt" in request.json
                else answer(400, (DATA / "vllm.tokenize.json").read_bytes())
            )
        },
        7,
        "/tokenize",
    ),
}


@pytest.mark.parametrize("rest", [NOT_FOUND, HTML], ids=["404 elsewhere", "html elsewhere"])
@pytest.mark.parametrize(("routes", "count", "path"), FOUND.values(), ids=FOUND.keys())
async def test_a_tokenizer_is_found_by_its_answer_and_never_looked_for_again(
    routes: Routes, count: int, path: str, rest: Answer
) -> None:
    async with served(routes, rest=rest) as (client, backend):
        assert await client.count_tokens("two words") == count
        looked = len(backend.requests)
        for _ in range(5):
            assert await client.count_tokens("two words") == count
    assert paths(backend)[looked - 1 :] == [path] * 6


@pytest.mark.parametrize("rest", [NOT_FOUND, HTML, answer(401), answer(body={"ok": True})])
async def test_an_endpoint_without_one_is_not_asked_again(rest: Answer) -> None:
    async with served({}, rest=rest) as (client, backend):
        assert await client.count_tokens("x") is None
        assert paths(backend) == [
            "/tokenize",
            "/upstream/m/tokenize",
            "/v1/tokenize",
            "/tokenize",
            "/tokenize",
            "/v1/messages/count_tokens",
        ]
        for _ in range(5):
            assert await client.count_tokens("x") is None
            assert await client.count_prompt([], system="x") is None
            assert not await client.has_tokenizer()
    assert len(backend.requests) == 6


async def test_models_are_looked_up_apart_and_need_no_name() -> None:
    routes = {"/upstream/b/tokenize": answer(body={"tokens": [1]})}
    async with served(routes, model=None) as (client, backend):
        assert await client.count_tokens("x") is None
        assert paths(backend) == ["/tokenize", "/v1/tokenize", "/tokenize"]
        assert await client.count_tokens("x", "a") is None
        assert await client.count_tokens("x", "b") == 1


@pytest.mark.parametrize("status", [429, 500, 502, 503])
async def test_a_server_that_was_in_trouble_is_asked_again_at_once(status: int) -> None:
    state = {"up": False}

    def tokenize(request: ReceivedRequest) -> Answer:
        return by_words(request) if state["up"] else answer(status)

    async with served({"/tokenize": tokenize}) as (client, _):
        assert await client.count_tokens("one two") is None
        state["up"] = True
        assert await client.count_tokens("one two") == 2


class Server:
    """A `Requester` without a wire: paths it knows, and whether it can be reached."""

    def __init__(self) -> None:
        self.bodies: dict[str, bytes] = {}
        self.up = True
        self.delay_s = 0.0
        self.asked: list[str] = []

    async def request(
        self, method: str, path: str, body: bytes = b"", *, max_bytes: int
    ) -> Response:
        self.asked.append(path)
        await anyio.sleep(self.delay_s)
        if not self.up:
            raise UpstreamError("no connection", reason="connect_refused")
        found = self.bodies.get(path)
        return Response(404, {}, b"") if found is None else Response(200, {}, found)


async def test_a_server_that_was_down_costs_one_request_and_is_asked_again_at_once() -> None:
    server = Server()
    server.up = False
    counter = TokenCounter(server)
    assert await counter.count_text("x", "m") is None
    assert server.asked == ["tokenize"]
    server.up = True
    server.bodies["tokenize"] = b'{"tokens": [1]}'
    assert await counter.count_text("x", "m") == 1


async def test_a_tokenizer_that_is_gone_gives_no_count_and_comes_back() -> None:
    server = Server()
    server.bodies["tokenize"] = b'{"tokens": [1]}'
    counter = TokenCounter(server)
    assert await counter.count_text("x", "m") == 1
    server.up = False
    assert await counter.count_text("x", "m") is None
    assert await counter.has_tokenizer("m")
    server.up = True
    assert await counter.count_text("x", "m") == 1


@pytest.mark.parametrize("anyio_backend", ["trio-autojump"], indirect=True)
async def test_an_absence_is_believed_for_a_minute() -> None:
    server = Server()
    counter = TokenCounter(server)
    assert await counter.count_text("x", "m") is None
    looked = len(server.asked)
    await anyio.sleep(ABSENT_S - 1)
    assert await counter.count_text("x", "m") is None
    assert len(server.asked) == looked
    await anyio.sleep(2)
    server.bodies["tokenize"] = b'{"tokens": [1]}'
    assert await counter.count_text("x", "m") == 1


@pytest.mark.parametrize("anyio_backend", ["trio-autojump"], indirect=True)
async def test_a_tokenizer_that_hangs_is_given_up() -> None:
    server = Server()
    server.bodies["tokenize"] = b'{"tokens": [1]}'
    counter = TokenCounter(server)
    server.delay_s = 1e6
    started = anyio.current_time()
    assert await counter.count_text("x", "m") is None
    assert anyio.current_time() - started == FIND_TIMEOUT_S
    server.delay_s = 0
    assert await counter.count_text("x", "m") == 1
    server.delay_s = 1e6
    started = anyio.current_time()
    assert await counter.count_text("x", "m") is None
    assert anyio.current_time() - started == COUNT_TIMEOUT_S


async def test_a_count_that_is_cancelled_leaves_no_lock_behind() -> None:
    async with served({"/tokenize": raw(Hang())}) as (client, _):
        with anyio.move_on_after(0.01):
            await client.count_tokens("x")
        with anyio.move_on_after(0.01) as scope:
            await client.count_tokens("x")
        assert scope.cancelled_caught


async def test_an_answer_beyond_its_cap_is_no_count() -> None:
    tokens = b'{"tokens": [' + b"1," * (MAX_COUNT_BYTES // 2) + b"1]}"
    assert len(tokens) > MAX_COUNT_BYTES
    async with served({"/tokenize": answer(body=tokens)}) as (client, _):
        assert await client.count_tokens("x") is None


async def test_an_answer_larger_than_a_reply_may_be_is_a_count() -> None:
    tokens = b'{"tokens": [' + b"1," * (1 << 20) + b"1]}"
    async with served({"/tokenize": answer(body=tokens)}) as (client, _):
        assert await client.count_tokens("x") == (1 << 20) + 1


async def test_counts_take_no_slot() -> None:
    """The only slot is held by a chat that never ends."""
    routes: Routes = {"/tokenize": by_words, "/v1/chat/completions": raw(Hang())}
    backend = FakeBackend(repeat(NOT_FOUND), routes=dict(routes))
    async with httpx.AsyncClient(transport=backend.transport) as http_client:
        client = Client(backend.url, http_client=http_client, model="m", slots=1)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_hang, client)
            await backend.wait_for_requests(1)
            assert await client.count_tokens("one two") == 2
            tasks.cancel_scope.cancel()


async def _hang(client: Client) -> None:
    await client.run("hi", max_tokens=1)


async def test_a_failing_tokenizer_is_not_asked_twice() -> None:
    routes = {"/tokenize": answer(body={"tokens": [1]})}
    async with served(routes) as (client, backend):
        assert await client.count_tokens("x") == 1
        backend.requests.clear()
        backend._script._routes["/tokenize"] = answer(503)
        assert await client.count_tokens("x") is None
        assert len(backend.requests) == 1


# Whole prompts.

HI = [{"role": "user", "content": "Hi"}]


async def test_llama_cpp_counts_the_chat_itself() -> None:
    routes: Routes = {
        "/tokenize": by_words,
        "/v1/chat/completions/input_tokens": answer(
            body=(DATA / "llama-server.chat_input_tokens.json").read_bytes()
        ),
    }
    async with served(routes) as (client, backend):
        assert await client.count_prompt(HI, [TOOL], "Be brief.") == 31
        asked = backend.requests[-1]
    assert asked.target == "/v1/chat/completions/input_tokens"
    assert asked.json == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hi"},
        ],
        "tools": [
            {
                "type": "function",
                "function": {"name": "t", "description": "Does it.", "parameters": SCHEMA},
            }
        ],
    }


@pytest.mark.parametrize("prefix", ["", "/upstream/m"], ids=["llama.cpp", "llama-swap"])
async def test_an_older_llama_cpp_renders_the_prompt_and_counts_that(prefix: str) -> None:
    template = (DATA / "llama-server.apply_template.json").read_bytes()
    routes: Routes = {
        prefix + "/tokenize": by_words,
        prefix + "/apply-template": answer(body=template),
    }
    async with served(routes) as (client, backend):
        assert await client.count_prompt(HI) == 16
        count = backend.requests[-1]
        assert await client.count_prompt(HI) == 16
    assert count.target == prefix + "/tokenize"
    assert count.json["add_special"] is True
    assert count.json["content"].endswith("<|im_start|>assistant\n")
    assert paths(backend)[-2:] == [prefix + "/apply-template", prefix + "/tokenize"]


async def test_vllm_counts_messages_at_its_tokenizer() -> None:
    def tokenize(request: ReceivedRequest) -> Answer:
        if "messages" in request.json:
            return answer(body={"count": 21})
        return answer(body={"count": 1}) if "prompt" in request.json else answer(400)

    async with served({"/tokenize": tokenize}) as (client, backend):
        assert await client.count_prompt(HI) == 21
    assert backend.requests[-1].json == {"model": "m", "messages": HI}


def anthropic(request: ReceivedRequest) -> Answer:
    return answer(body={"input_tokens": 551 if "tools" in request.json else 9})


async def test_anthropic_counts_prompts_only() -> None:
    async with served({"/v1/messages/count_tokens": anthropic}) as (client, backend):
        assert await client.count_tokens("x") is None
        assert not await client.has_tokenizer()
        assert backend.requests[-1].json == {
            "model": "m",
            "messages": [{"role": "user", "content": "."}],
        }
        assert await client.count_prompt([], system="S") == 9
        assert await client.count_prompt([], [TOOL], "S") == 551
    assert backend.requests[-1].json == {
        "model": "m",
        "messages": [{"role": "user", "content": "."}],
        "system": "S",
        "tools": [{"name": "t", "description": "Does it.", "input_schema": SCHEMA}],
    }


@pytest.mark.parametrize("rest", [NOT_FOUND, HTML], ids=["404", "html"])
async def test_where_no_server_counts_prompts_their_texts_are_counted(rest: Answer) -> None:
    async with served({"/tokenize": by_words}, rest=rest) as (client, backend):
        assert await client.count_prompt([], [TOOL, TOOL], "Be brief.") == 4
        assert backend.requests[-1].json == {
            "content": "Be brief." + TOOL_JSON + TOOL_JSON,
            "add_special": False,
        }
        looked = len(backend.requests)
        assert await client.count_prompt(HI, system="Be brief.") == 2
        assert backend.requests[-1].json["content"] == "Be brief.Hi"
        assert len(backend.requests) == looked + 1


async def test_a_prompt_the_template_refuses_is_counted_by_its_texts() -> None:
    def count(request: ReceivedRequest) -> Answer:
        roles = [message["role"] for message in request.json["messages"]]
        return answer(400) if roles == ["system"] else answer(body={"input_tokens": 31})

    routes: Routes = {"/tokenize": by_words, "/v1/chat/completions/input_tokens": count}
    async with served(routes) as (client, _):
        assert await client.count_prompt([], system="just three words") == 3
        assert await client.count_prompt(HI) == 31


async def test_messages_are_put_in_order_as_they_would_be_sent() -> None:
    routes: Routes = {
        "/tokenize": by_words,
        "/v1/chat/completions/input_tokens": answer(body={"input_tokens": 3}),
    }
    messages: list[Message | Mapping[str, Any]] = [
        Message(role="user", content="a"),
        {"role": "user", "content": "b"},
        {"role": "system", "content": "S"},
    ]
    async with served(routes) as (client, backend):
        await client.count_prompt(messages)
    sent = backend.requests[-1].json["messages"]
    assert [message["role"] for message in sent] == ["system", "user"]


async def test_nothing_at_all_is_nothing() -> None:
    async with served({"/tokenize": by_words}) as (client, _):
        assert await client.count_prompt([]) == 0
