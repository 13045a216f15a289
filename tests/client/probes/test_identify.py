"""What an endpoint says of itself, asked with small requests that make nobody generate."""

from typing import Any

import httpx
import pytest

from rig import Client
from rig.client.probes.facts import Facts
from rig.client.probes.identify import IDENTIFY_TIMEOUT_S, identify, look_at_template, look_further
from rig.errors import UnauthorizedError
from rig.testing import Answer, FakeBackend, answer, faults, repeat


async def found(serve: Any, kind: str) -> Facts:
    served = serve(kind)
    async with served.client() as client:
        facts = await identify(client._inquiry.line, "m")
        facts = await look_at_template(client._inquiry.line, facts, "m")
        facts = await look_further(client._inquiry.line, facts, "m")
    assert served.asked == []
    return facts


async def test_llama_cpp_says_everything(serve: Any) -> None:
    facts = await found(serve, "llama.cpp")
    assert (facts.server, facts.build, facts.models) == ("llama.cpp", "b1-7e4c0a9", ("m",))
    assert (facts.window_tokens, facts.tokenizer, facts.opens_thought) == (4096, "prompts", False)
    assert facts.caps["supports_tools"]
    assert facts.fingerprint


async def test_a_template_that_opens_a_thought_is_seen(serve: Any) -> None:
    facts = await found(serve, "llama.cpp that eats the tag")
    assert facts.opens_thought is True
    assert facts.opens_hushed is True
    assert (await found(serve, "vLLM")).opens_thought is None


async def test_ollama_says_what_the_model_knows(serve: Any) -> None:
    facts = await found(serve, "Ollama")
    assert (facts.server, facts.build) == ("ollama", "0.12.0")
    assert facts.caps == {"supports_tools": False, "supports_tool_calls": False}
    assert facts.window_tokens == 4096
    assert facts.tokenizer == "none"


async def test_a_server_nobody_knows_says_nothing(serve: Any) -> None:
    facts = await found(serve, "hopeless")
    assert (facts.server, facts.build, facts.window_tokens) == ("generic", "", None)


async def facts_of(*answers: Answer, **routes: Answer) -> Facts:
    backend = FakeBackend(
        *answers[:-1],
        repeat(answers[-1]),
        routes={f"/{path}": told for path, told in routes.items()},
    )
    async with httpx.AsyncClient(transport=backend.transport) as door:
        return await identify(Client(backend.url, model="m", http_client=door)._inquiry.line, "m")


async def test_a_server_that_is_loading_says_so() -> None:
    loading = answer(503, {"error": {"message": "Loading model", "code": 503}})
    facts = await facts_of(loading)
    assert facts.loading
    assert facts.models is None


@pytest.mark.parametrize(
    "odd",
    [answer(200, b"3"), answer(200, b""), answer(200, b"\xff" * 2_000_000), faults.html_502()],
    ids=["a number", "nothing", "too much", "a page"],
)
async def test_odd_answers_tell_nothing(odd: Answer) -> None:
    facts = await facts_of(odd)
    assert (facts.server, facts.build, facts.models, facts.loading) == ("generic", "", None, False)


async def test_a_server_that_tells_strangers_nothing_is_an_error() -> None:
    with pytest.raises(UnauthorizedError):
        await facts_of(answer(401, {"error": {"message": "no key"}}))


@pytest.mark.parametrize("anyio_backend", ["trio-autojump"], indirect=True)
async def test_a_server_that_keeps_silent_is_one_nobody_knows() -> None:
    assert IDENTIFY_TIMEOUT_S < 30
    assert await facts_of(faults.hang()) == Facts()
