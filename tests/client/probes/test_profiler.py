"""Profiles of every kind of server: what is found, what is advised, what is remembered."""

import os
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from rig import Client
from rig.client.probes.advice import advise
from rig.client.probes.finding import NOT_MEASURED
from rig.client.probes.profile import EndpointProfile
from rig.client.probes.survey import TOTAL
from rig.errors import InvalidRequestError, UnauthorizedError, UpstreamError
from rig.testing import FakeBackend, ReceivedRequest, answer, faults, refused_url, repeat

pytestmark = pytest.mark.usefixtures("at_once")

# kind: (dialect of the client, what is found, topics of the advice)
FOUND: dict[str, tuple[str | None, dict[str, Any], set[str]]] = {
    "llama.cpp": (
        "llama.cpp",
        {
            "state": "ready",
            "server": "llama.cpp",
            "build": "b1-7e4c0a9",
            "models": ("m",),
            "window_tokens": 4096,
            "tokenizer": "prompts",
            "tools": "native",
            "tool_choice_required": "honoured",
            "tool_choice_named": "refused",
            "parallel_calls": True,
            "streamed_calls": True,
            "arguments_lossless": True,
            "json_schema": "enforced",
            "json_object": "enforced",
            "grammar": "enforced",
            "grammar_with_tools": "refused",
            "malformed_grammar": "refused",
            "system_role": "obeyed",
            "reasoning": "none",
            "thinking_switch": None,
            "stream_usage": "always",
            "stop": "honoured",
            "repeatable": True,
            "max_tokens": "honoured",
            "max_completion_tokens": "honoured",
            "long_prompts": "refused",
            "abort_on_close": True,
            "tokens_per_s": 50.0,
        },
        {"window"},
    ),
    "llama.cpp with a template without tools": (
        None,
        {"tools": "dropped", "streamed_calls": None, "tool_choice_required": "ignored"},
        {"tools", "dialect", "window"},
    ),
    "llama.cpp of 2025": (
        "llama.cpp",
        {
            "malformed_grammar": "ignored",
            "max_completion_tokens": "ignored",
            "long_prompts": "cut",
            "abort_on_close": False,
        },
        {"grammar", "long prompts", "abort", "window"},
    ),
    "llama.cpp without jinja": ("llama.cpp", {"tools": "refused"}, {"tools", "window"}),
    "llama.cpp that eats the tag": (
        "llama.cpp",
        {
            "reasoning": "orphan_closer",
            "thinking_switch": "ignored",
            "tools": "native",
            "grammar": "enforced",
        },
        {"reasoning", "thinking switch", "window"},
    ),
    "vLLM": (
        "vllm",
        {
            "build": "0.32.0",
            "tools": "native",
            "tool_choice_named": "honoured",
            "grammar": "enforced",
            "grammar_with_tools": "enforced",
            "malformed_grammar": "refused",
            "reasoning": "field",
            "thinking_switch": "honoured",
            "stream_usage": "when_asked",
            "window_tokens": None,
            "long_prompts": None,
        },
        set(),
    ),
    "vLLM without a parser": (
        None,
        {"tools": "auto_refused", "grammar": "ignored", "reasoning": "tags"},
        {"tools", "grammar", "reasoning", "dialect"},
    ),
    "SGLang without a parser": (
        "sglang",
        {"tools": "text", "build": "0.5.1", "grammar": "enforced"},
        {"tools", "window"},
    ),
    "Ollama": (
        "ollama",
        {
            "tools": "refused",
            "grammar": "refused",
            "tool_choice_required": "refused",
            "long_prompts": "cut",
            "window_tokens": 4096,
        },
        {"tools", "long prompts", "window"},
    ),
    "LM Studio": (
        "lm-studio",
        {
            "server": "lm-studio",
            "tools": "native",
            "tool_choice_required": "ignored",
            "json_object": "refused",
            "grammar": "refused",
            "malformed_grammar": None,
        },
        {"tool choice", "window"},
    ),
    "hopeless": (
        None,
        {
            "state": "ready",
            "server": "generic",
            "build": None,
            "tokenizer": "none",
            "tools": "dropped",
            "json_schema": "ignored",
            "json_object": "ignored",
            "grammar": "ignored",
            "malformed_grammar": None,
            "system_role": "dropped",
            "stream_usage": "never",
            "stop": "ignored",
            "max_tokens": "ignored",
            "max_completion_tokens": None,
            "abort_on_close": None,
        },
        {"tools", "schema", "system prompt", "usage", "stop", "max_tokens"},
    ),
}


@pytest.mark.parametrize(("kind", "case"), FOUND.items(), ids=FOUND)
async def test_each_kind_of_server_is_found_out(
    kind: str, case: tuple[str | None, dict[str, Any], set[str]], serve: Any
) -> None:
    dialect, found, topics = case
    served = serve(kind)
    async with served.client(dialect=dialect) as client:
        profile = await client.profile()
    values = {name: finding.value for name, finding in profile.findings().items()}
    assert {name: values[name] for name in found} == found
    assert {advice.topic for advice in advise(profile)} == topics
    assert all(finding.evidence for finding in profile.findings().values())
    assert EndpointProfile.model_validate_json(profile.model_dump_json()) == profile


@pytest.mark.parametrize("kind", FOUND)
async def test_no_question_is_asked_twice_but_the_one_whose_repetition_is_the_point(
    kind: str, serve: Any
) -> None:
    served = serve(kind)
    async with served.client(dialect=FOUND[kind][0]) as client:
        await client.profile()
    bodies = [repr(body) for body in served.asked]
    assert len(bodies) - len(set(bodies)) <= 1
    assert len(bodies) <= TOTAL


async def test_progress_is_told_before_each_probe(serve: Any) -> None:
    told: list[tuple[str, int, int]] = []
    async with serve("llama.cpp").client() as client:
        await client.profile(on_probe=lambda *probe: told.append(probe))
    assert [number for _, number, _ in told] == list(range(1, TOTAL + 1))
    assert {total for _, _, total in told} == {TOTAL}
    assert len({name for name, _, _ in told}) == TOTAL


async def test_a_server_that_is_loading_has_a_profile_that_says_so_and_is_not_kept(
    tmp_path: Path,
) -> None:
    loading = answer(503, {"error": {"message": "Loading model", "code": 503}})
    backend = FakeBackend(repeat(loading))
    async with httpx.AsyncClient(transport=backend.transport) as door:
        client = Client(backend.url, model="m", http_client=door)
        profile = await client.profile(cache=tmp_path / "profiles.json")
    assert profile.state.value == "loading"
    assert profile.tools.evidence.startswith(NOT_MEASURED)
    assert [advice.topic for advice in advise(profile)] == ["state"]
    chats = [request for request in backend.requests if "chat" in request.path]
    assert len(chats) == 1
    assert os.listdir(tmp_path) == []  # noqa: PTH208 of a test's own folder


BROKEN = {
    "a page of a proxy": faults.html_502(),
    "no page at all": answer(404, {"detail": "Not Found"}),
    "an empty body": answer(200, b""),
    "a list": answer(200, b"[1]"),
    "an error at 200": answer(200, {"error": {"message": "CUDA out of memory", "code": 500}}),
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
async def test_an_endpoint_that_answers_nothing_of_use_is_asked_one_question(broken: Any) -> None:
    backend = FakeBackend(repeat(broken))
    async with httpx.AsyncClient(transport=backend.transport) as door:
        profile = await Client(backend.url, model="m", http_client=door).profile()
    assert profile.state.value in {"failing", "model_not_found"}
    assert sum("chat" in request.path for request in backend.requests) == 1
    assert advise(profile)[0].severity == "error"


async def test_an_endpoint_that_wants_another_key_is_an_error() -> None:
    backend = FakeBackend(
        repeat(answer(401, {"error": {"message": "bad key sk-1"}})),
        routes={"/v1/models": answer(body={"data": [{"id": "m", "owned_by": "llamacpp"}]})},
    )
    async with httpx.AsyncClient(transport=backend.transport) as door:
        with pytest.raises(UnauthorizedError) as caught:
            await Client(backend.url, model="m", http_client=door).profile()
    assert "sk-1" not in str(caught.value) + repr(caught.value)


async def test_an_endpoint_that_is_not_there_is_an_error() -> None:
    with refused_url() as url:
        async with Client(url, model="m") as client:
            with pytest.raises(UpstreamError):
                await client.profile()


@pytest.mark.parametrize("wrong", [{"budget_s": 0}, {"budget_s": float("nan")}, {"max_age_s": -1}])
async def test_times_that_are_none_are_refused_before_anything_is_sent(
    serve: Any, wrong: dict[str, float]
) -> None:
    served = serve("llama.cpp")
    async with served.client() as client:
        with pytest.raises(InvalidRequestError):
            await client.profile(**wrong)
    assert served.backend.requests == []


async def test_a_profile_is_remembered_until_it_is_to_be_refreshed(serve: Any) -> None:
    served = serve("llama.cpp")
    async with served.client() as client:
        first = await client.profile()
        asked = len(served.asked)
        assert await client.profile() is first
        assert len(served.asked) == asked
        assert await client.profile(refresh=True) != first
        assert len(served.asked) == 2 * asked
        assert (await client.profile(max_age_s=1e-9)).measured_at > first.measured_at


async def test_those_who_ask_at_the_same_time_share_one_measurement(serve: Any) -> None:
    served, found = serve("llama.cpp"), []

    async def ask(client: Client) -> None:
        found.append(await client.profile())

    async with served.client() as client:
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(ask, client)
    assert len({id(profile) for profile in found}) == 1
    assert len(served.asked) <= TOTAL


async def test_a_server_of_another_build_is_measured_again(serve: Any) -> None:
    served = serve("llama.cpp")
    async with served.client() as client:
        first = await client.profile()
        served.kind.paths = {
            **served.kind.paths,
            "/props": {**served.kind.paths["/props"], "build_info": "b2"},
        }
        assert (await client.profile()).build.value == "b2"
        assert first.build.value == "b1-7e4c0a9"


async def test_a_file_serves_other_clients_and_holds_neither_url_nor_key(
    serve: Any, tmp_path: Path
) -> None:
    served, file = serve("vLLM"), tmp_path / "profiles.json"
    async with served.client(api_key="sk-secret") as client:
        first = await client.profile(cache=file)
    asked = len(served.asked)
    async with served.client(api_key="sk-secret") as client:
        again = await client.profile(cache=file)
    assert len(served.asked) == asked
    assert again.measured_at == first.measured_at
    kept = file.read_text(encoding="utf-8")
    assert "sk-secret" not in kept
    assert "fake.invalid" not in kept


SECRET = "sk-planted-and-endpoint-text"
PLANTED = {
    "refusals": answer(400, {"error": {"message": f"no {SECRET}", "type": SECRET}}),
    "faults": answer(500, {"error": {"message": SECRET}}),
    "an error at 200": answer(200, {"error": {"message": SECRET}}),
    "text": f"{SECRET}",
}


@pytest.mark.parametrize("planted", PLANTED.values(), ids=PLANTED)
async def test_no_words_of_the_endpoint_are_shown_or_kept(planted: Any, tmp_path: Path) -> None:
    asked = 0

    def respond(request: ReceivedRequest) -> Any:
        nonlocal asked
        asked += 1
        return "4" if asked < 12 and "chat" in request.path else planted

    backend, file = FakeBackend(repeat(respond)), tmp_path / "profiles.json"
    async with httpx.AsyncClient(transport=backend.transport) as door:
        client = Client(backend.url, SECRET, model="m", http_client=door)
        profile = await client.profile(cache=file)
    shown = repr(profile) + repr(advise(profile))
    shown += "".join(finding.evidence for finding in profile.findings().values())
    assert SECRET not in shown
    assert SECRET.encode() not in (await anyio.Path(file).read_bytes() if file.exists() else b"")


async def test_nothing_is_written_unless_a_file_is_named(
    serve: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    async with serve("hopeless").client() as client:
        await client.profile()
    assert os.listdir(tmp_path) == []  # noqa: PTH208 of a test's own folder


async def test_the_tool_surface_is_probed_by_itself_with_eight_requests(serve: Any) -> None:
    served = serve("llama.cpp")
    async with served.client() as client:
        surface = await client.probe_tool_surface()
    assert len(served.backend.requests) == 8
    assert surface.ok
    assert surface.grammar.obeyed
    assert not surface.grammar_with_tools.accepted
    first = served.asked[0]
    assert (first["tool_choice"], first["temperature"], first["seed"], first["stream"]) == (
        "required",
        0,
        1,
        True,
    )


async def test_a_lossy_surface_is_not_ok(serve: Any) -> None:
    served = serve("llama.cpp")
    served.kind.lossy = True
    async with served.client() as client:
        surface = await client.probe_tool_surface()
        profile = await client.profile()
    assert not surface.ok
    assert {echo.lossy for echo in surface.echoes} == {True}
    assert profile.arguments_lossless.value is False


async def test_a_surface_of_a_broken_endpoint_has_all_its_rows() -> None:
    backend = FakeBackend(repeat(faults.html_502()))
    async with httpx.AsyncClient(transport=backend.transport) as door:
        surface = await Client(backend.url, model="m", http_client=door).probe_tool_surface()
    assert len(surface.echoes) == 6
    assert not surface.ok
    assert len(backend.requests) == 8
