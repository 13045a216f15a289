"""Every example runs, against a scripted server."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest

from rig import Client, ToolCall
from rig.testing import (
    Answer,
    FakeBackend,
    ReceivedRequest,
    answer,
    call_deltas,
    refused_url,
    repeat,
    reply,
    stream,
)

EXAMPLES = Path(__file__).parent.parent / "examples"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"examples_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


async def test_quickstart_multiplies() -> None:
    backend = FakeBackend(
        reply(tool_calls=[("multiply", {"a": 17, "b": 23})]), reply("17 * 23 is 391.")
    )
    async with backend.serve():
        assert await load("quickstart").main(backend.url, "fake") == "17 * 23 is 391."
    assert backend.requests[1].json["messages"][-1]["content"] == "391"


async def test_streaming_shows_words_and_calls_as_they_come(
    capsys: pytest.CaptureFixture[str],
) -> None:
    backend = FakeBackend(
        stream(
            "a thought", "</think>", "let me see", *call_deltas(("multiply", {"a": 17, "b": 23}))
        ),
        stream("17 * 23 ", "is 391."),
    )
    async with backend.serve():
        assert await load("streaming").main(backend.url, "fake") == "17 * 23 is 391."
    shown = capsys.readouterr().out
    assert shown.splitlines() == [
        "a thought",
        "(so much for thinking)",
        "let me see",
        '[multiply {"a": 17, "b": 23}]',
        "17 * 23 is 391.",
    ]


async def test_task_group_answers_every_question() -> None:
    backend = FakeBackend(repeat(reply("No.")))
    async with backend.serve():
        answers = await load("task_group").main(backend.url, "fake", 100)
    assert answers == dict.fromkeys(range(100), "No.")
    assert backend.connections.opened <= 4


async def test_a_question_goes_before_a_batch() -> None:
    backend = FakeBackend(repeat(reply("Done.")))
    async with backend.serve():
        done = await load("shared_slots").main(backend.url, "fake", 12)
    assert sorted(done) == sorted(["the question", *(f"document {n}" for n in range(12))])
    assert done.index("the question") <= 3  # after those under way at most
    assert backend.connections.opened <= 2


async def test_a_pool_answers_while_one_of_its_servers_is_gone(
    capsys: pytest.CaptureFixture[str],
) -> None:
    backend = FakeBackend(repeat(reply("No.")))
    with refused_url() as gone:
        async with backend.serve():
            answers = await load("pool").main("fake", gone, backend.url)
    assert answers == ["No."] * 3
    shown = capsys.readouterr().out
    assert "server 1 failed (unreachable): attempt 2 goes to server 2" in shown
    assert "server 1: down" in shown


async def test_typed_output_is_parsed() -> None:
    backend = FakeBackend(reply('Sure: {"customer": "ACME Ltd", "total": 39}'))
    module = load("typed_output")
    async with backend.serve():
        invoice = await module.main(backend.url, "fake")
    assert invoice == module.Invoice(customer="ACME Ltd", total=39.0)


@pytest.mark.parametrize("people", [["Ann"], ["Ann", "Bob"], []], ids=["one", "both", "nobody"])
async def test_confirmation_sends_only_what_a_person_approved(people: list[str]) -> None:
    backend = FakeBackend(
        reply(tool_calls=[("send_mail", {"to": "Ann", "text": "We ship."})]),
        reply(tool_calls=[("send_mail", {"to": "Bob", "text": "We ship."})]),
        reply("Done."),
    )
    module = load("confirmation")
    asked: list[str] = []

    async def ask(call: ToolCall) -> bool:
        asked.append(call.input["to"])
        return call.input["to"] in people

    async with backend.serve():
        assert await module.main(backend.url, "fake", ask) == "Done."
    assert asked == ["Ann", "Bob"]
    assert people == module.SENT


async def test_a_session_goes_on_in_the_next_process(tmp_path: Path) -> None:
    backend = FakeBackend(
        reply(tool_calls=[("seats", {"train": "ICE 5"})]), reply("12."), reply("You are welcome.")
    )
    store = tmp_path / "session.json"
    async with backend.serve():
        for question in ("Room in ICE 5?", "Thanks."):
            await load("session").main(backend.url, "fake", question, str(store))
    assert [turn["role"] for turn in backend.requests[-1].json["messages"]] == [
        "system", "user", "assistant", "tool", "assistant", "user",
    ]  # fmt: skip


@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
async def test_the_fastapi_service_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = FakeBackend(reply("Tokyo."))
    async with backend.serve():
        monkeypatch.setenv("RIG_URL", backend.url)
        monkeypatch.setenv("RIG_MODEL", "fake")
        app = load("fastapi_service").app
        async with app.router.lifespan_context(app) as state:
            # ASGITransport runs no lifespan; its state is what the server would pass on.
            transport = httpx.ASGITransport(app=with_state(app, state))
            async with httpx.AsyncClient(transport=transport, base_url="http://app") as caller:
                answer = await caller.post("/ask", json={"text": "Capital of Japan?"})
    assert answer.json() == {"answer": "Tokyo."}


def with_state(app: Any, state: dict[str, Client]) -> Any:
    async def wrapped(scope: dict[str, object], receive: object, send: object) -> None:
        scope["state"] = dict(state)
        await app(scope, receive, send)

    return wrapped


def test_the_testing_example_passes_as_it_stands() -> None:
    ran = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            EXAMPLES / "testing_agents.py",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout


async def test_router_asks_who_suits_the_question(capsys: pytest.CaptureFixture[str]) -> None:
    models = {"object": "list", "data": [{"id": name} for name in ("coder", "talker", "sorter")]}

    def answered(got: ReceivedRequest) -> Answer:
        if got.method == "GET":
            return answer(body=models)
        model = got.json["model"]
        if model == "sorter":
            about = "code" if "print no 3" in str(got.json["messages"]) else "chat"
            return reply(json.dumps({"category": about}))
        return reply(f"{model} says so.", model=model)

    backend = FakeBackend(repeat(answered))
    async with backend.serve():
        answers = await load("router").main(backend.url, "coder", "talker", "sorter")
    assert answers == ["coder says so.", "coder says so.", "talker says so."]
    told = [line for line in capsys.readouterr().out.splitlines() if line.startswith("[")]
    assert [line.split(",")[1] for line in told] == [" classified", " heuristic", " classified"]


async def test_agents_share_a_budget(capsys: pytest.CaptureFixture[str]) -> None:
    def serve(request: ReceivedRequest) -> Answer:
        body = request.json
        if body["messages"][-1]["role"] == "tool":
            return reply("See the river.")
        if "tools" in body:
            return reply(tool_calls=[("guide", {"question": "What is there?"})])
        return reply("A river.")

    backend = FakeBackend(repeat(serve))
    async with backend.serve():
        answers = await load("budget").main(backend.url, "fake", calls=8)
    posts = [request for request in backend.requests if request.method == "POST"]
    assert len(posts) == 8
    assert capsys.readouterr().out.startswith("8 requests")
    assert len(answers) == 4
    assert set(answers.values()) <= {"See the river.", "(out of calls)"}
