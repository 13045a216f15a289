"""Finding out how large the window of a model is."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import httpx
import pytest

from rig import Client
from rig.client.findings import ABSENT_S
from rig.client.windows import FIND_TIMEOUT_S, FRESH_S, WindowFinder
from rig.errors import UpstreamError
from rig.testing import Answer, FakeBackend, ReceivedRequest, answer, repeat
from rig.transport.http import Response
from rig.wire.windows import WINDOW_SOURCES

DATA = Path(__file__).parents[1] / "data" / "windows"
HTML = answer(body="<html>It works!</html>", content_type="text/html")
NOT_FOUND = answer(404, {"error": "404 page not found"})


def recorded(name: str) -> Answer:
    return answer(body=(DATA / f"{name}.json").read_bytes())


Routes = Mapping[str, Answer | Callable[[ReceivedRequest], Answer | str] | str]


@asynccontextmanager
async def served(
    routes: Routes, *, rest: Answer = NOT_FOUND, model: str | None = "m"
) -> AsyncGenerator[tuple[Client, FakeBackend]]:
    backend = FakeBackend(repeat(rest), routes=dict(routes))
    async with httpx.AsyncClient(transport=backend.transport) as http_client:
        async with Client(backend.url, http_client=http_client, model=model) as client:
            yield client, backend


SERVERS: dict[str, tuple[Routes, str, int | None]] = {
    "llama.cpp": ({"/props": recorded("llama-server.props")}, "smollm2", 2048),
    "llama.cpp of 2025": ({"/props": recorded("llama-server-b4747.props")}, "smollm2", 2048),
    "llama-swap": (
        {"/upstream/q%3A1/props": recorded("llama-server-qwen05.props")},
        "q:1",
        4096,
    ),
    "llama.cpp's router": (
        {
            "/props": lambda request: (
                answer(body={"default_generation_settings": {"n_ctx": 8192}})
                if request.target == "/props?model=m%2F1&autoload=false"
                else answer(body={"role": "router", "default_generation_settings": {"n_ctx": 0}})
            )
        },
        "m/1",
        8192,
    ),
    "vLLM": ({"/v1/models": recorded("vllm.models")}, "smollm2", 2048),
    "Ollama, loaded": (
        {"/api/ps": recorded("ollama.ps"), "/api/show": recorded("ollama.show")},
        "gemma3",
        4096,
    ),
    "Ollama with a num_ctx": (
        {"/api/ps": answer(body={"models": []}), "/api/show": recorded("ollama.show")},
        "qwen3:14b",
        16384,
    ),
    "Ollama, not loaded": (
        {
            "/v1/models": answer(body={"object": "list", "data": [{"id": "llama3.1:latest"}]}),
            "/api/ps": recorded("ollama.ps"),
            "/api/show": recorded("ollama.show-without-num-ctx"),
        },
        "llama3.1",
        131072,
    ),
    "LM Studio": (
        {"/api/v0/models": recorded("lm-studio.v0-models")},
        "devstral-small-2505-mlx",
        4096,
    ),
    "LM Studio v1": (
        {"/api/v1/models": recorded("lm-studio.v1-models")},
        "gemma-3-270m-it-qat",
        4096,
    ),
    "TGI": ({"/info": recorded("tgi.info")}, "tgi", 32768),
    "SGLang": ({"/get_server_info": recorded("sglang.server-info")}, "r1", 59862),
    "LiteLLM": (
        {
            "/v1/models": recorded("litellm-proxy.models"),
            "/model/info": recorded("litellm.model-info"),
        },
        "smollm2",
        2048,
    ),
    "llama-cpp-python": ({"/v1/models": recorded("llama-cpp-python.models")}, "smollm2", None),
    "none of them": ({}, "m", None),
}


@pytest.mark.parametrize("rest", [NOT_FOUND, HTML], ids=["404 elsewhere", "html elsewhere"])
@pytest.mark.parametrize(("routes", "model", "window"), SERVERS.values(), ids=SERVERS.keys())
async def test_every_server_says_its_window_in_its_own_place(
    routes: Routes, model: str, window: int | None, rest: Answer
) -> None:
    async with served(routes, rest=rest, model=model) as (client, _):
        assert await client.context_window() == window


async def test_ollama_is_asked_by_name() -> None:
    async with served({"/api/show": recorded("ollama.show")}) as (client, backend):
        assert await client.context_window("qwen3:14b") == 16384
    asked = next(request for request in backend.requests if request.target == "/api/show")
    assert (asked.method, asked.json) == ("POST", {"model": "qwen3:14b"})


async def test_without_a_name_only_places_that_need_none_are_asked() -> None:
    async with served({}, model=None) as (client, backend):
        assert await client.context_window() is None
    assert [request.target for request in backend.requests] == [
        "/props",
        "/v1/models",
        "/api/ps",
        "/api/v0/models",
        "/api/v1/models",
        "/info",
        "/get_server_info",
        "/model/info",
    ]


class Server:
    """A `Requester` without a wire."""

    def __init__(self, **bodies: bytes) -> None:
        self.bodies = {path.replace("__", "/"): body for path, body in bodies.items()}
        self.status = 404
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
        return Response(self.status, {}, b"") if found is None else Response(200, {}, found)


PROPS = b'{"n_ctx": 4096}'


@pytest.mark.parametrize("anyio_backend", ["trio-autojump"], indirect=True)
async def test_a_window_is_believed_for_a_minute() -> None:
    server = Server(props=PROPS)
    finder = WindowFinder(server)
    for _ in range(3):
        assert await finder.find("m") == 4096
    assert server.asked == ["props"]
    server.bodies["props"] = b'{"n_ctx": 8192}'
    await anyio.sleep(FRESH_S - 1)
    assert await finder.find("m") == 4096
    await anyio.sleep(2)
    assert await finder.find("m") == 8192
    assert server.asked == ["props", "props"]


@pytest.mark.parametrize("anyio_backend", ["trio-autojump"], indirect=True)
async def test_the_place_that_knew_is_asked_first() -> None:
    server = Server(info=b'{"max_total_tokens": 4096}')
    finder = WindowFinder(server)
    assert await finder.find("m") == 4096
    assert len(server.asked) > 5
    await anyio.sleep(FRESH_S + 1)
    server.asked.clear()
    assert await finder.find("m") == 4096
    assert server.asked == ["info"]


@pytest.mark.parametrize("anyio_backend", ["trio-autojump"], indirect=True)
async def test_a_clear_no_is_believed_for_a_minute() -> None:
    server = Server()
    finder = WindowFinder(server)
    assert await finder.find("m") is None
    assert len(server.asked) == len(WINDOW_SOURCES)
    assert await finder.find("m") is None
    assert len(server.asked) == len(WINDOW_SOURCES)
    await anyio.sleep(ABSENT_S + 1)
    server.bodies["props"] = PROPS
    assert await finder.find("m") == 4096


async def test_what_a_model_could_have_is_asked_again_until_it_is_loaded() -> None:
    most = b'{"model_info": {"general.architecture": "a", "a.context_length": 131072}}'
    server = Server(api__show=most)
    finder = WindowFinder(server)
    assert await finder.find("m") == 131072
    server.bodies["api/ps"] = b'{"models": [{"name": "m:latest", "context_length": 4096}]}'
    assert await finder.find("m") == 4096


async def test_a_server_that_was_down_costs_one_request_and_is_asked_again_at_once() -> None:
    server = Server(props=PROPS)
    server.up = False
    finder = WindowFinder(server)
    assert await finder.find("m") is None
    assert server.asked == ["props"]
    server.up = True
    assert await finder.find("m") == 4096


async def test_a_server_that_was_loading_is_asked_again_at_once() -> None:
    server = Server()
    server.status = 503
    finder = WindowFinder(server)
    assert await finder.find("m") is None
    server.bodies["props"] = PROPS
    assert await finder.find("m") == 4096


@pytest.mark.parametrize("anyio_backend", ["trio-autojump"], indirect=True)
async def test_a_server_that_hangs_is_given_up() -> None:
    server = Server(props=PROPS)
    server.delay_s = 1e6
    started = anyio.current_time()
    assert await WindowFinder(server).find("m") is None
    assert anyio.current_time() - started == FIND_TIMEOUT_S


BUDGETS: dict[str, tuple[int | None, int | None, int, int | None]] = {
    "two thirds of the rest": (180224, 10, 4096, 117412),
    "nothing left": (1000, 10, 990, None),
    "no window": (None, 10, 0, None),
    "no count": (1000, None, 0, None),
}


@pytest.mark.parametrize(
    ("window", "count", "reserve", "budget"), BUDGETS.values(), ids=BUDGETS.keys()
)
async def test_a_reasoning_budget_is_made_of_window_and_prompt(
    window: int | None, count: int | None, reserve: int, budget: int | None
) -> None:
    routes: dict[str, Answer | Callable[[ReceivedRequest], Answer | str] | str] = {}
    if window is not None:
        routes["/props"] = answer(body={"default_generation_settings": {"n_ctx": window}})
    if count is not None:
        routes["/tokenize"] = answer(body={"tokens": list(range(count))})
    async with served(routes) as (client, _):
        assert await client.reasoning_budget(reserve=reserve, system="S") == budget
