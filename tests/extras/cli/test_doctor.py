"""The examination against servers of every kind: what comes out, and how it ends."""

import json
from pathlib import Path
from typing import Any

import pytest

from rig.extras.cli.doctor import Settings, problem, read_key
from rig.extras.cli.failures import Failure
from rig.testing import Answer, FakeBackend, Hang, answer, faults, raw, refused_url, repeat

KEY = "sk-very-secret-key"

SERVERS = {
    "llama.cpp": (0, set(), {"window", "dialect"}),
    "llama.cpp with a template without tools": (2, {"tools"}, {"window"}),
    "llama.cpp of 2025": (2, {"long prompts"}, {"abort"}),
    "vLLM without a parser": (2, {"tools"}, {"reasoning"}),
    "Ollama": (2, {"tools", "long prompts"}, set()),
    "hopeless": (2, {"tools", "system prompt", "max_tokens"}, {"stop"}),
}
"""Exit code, topics of errors, and some of the other topics."""


@pytest.mark.parametrize(("kind", "expected"), SERVERS.items(), ids=SERVERS)
async def test_a_server_is_judged_by_what_it_does(
    kind: str, expected: tuple[int, set[str], set[str]], run: Any, fake: Any
) -> None:
    code, errors, others = expected
    async with fake(kind).serve() as backend:
        outcome = await run("doctor", backend.url, "--json")
    document = json.loads(outcome.out)  # noqa: TID251  the test plays a program that reads it
    assert outcome.code == document["exit_code"] == code
    topics = {advice["topic"] for advice in document["advice"] if advice["severity"] == "error"}
    assert topics == errors
    assert others <= {advice["topic"] for advice in document["advice"]}
    assert (document["model"], document["chosen"]) == ("m", "only")
    assert document["profile"]["state"]["value"] == "ready"
    assert outcome.err == ""


async def test_people_are_told_what_to_change(run: Any, fake: Any) -> None:
    async with fake("vLLM without a parser").serve() as backend:
        outcome = await run("doctor", backend.url)
    assert outcome.code == 2
    assert "error: vLLM was started without a parser for tool calls" in outcome.out
    assert "--enable-auto-tool-choice" in outcome.out
    assert "\x1b" not in outcome.out + outcome.err
    assert outcome.err.splitlines()[0].split()[-1] == "server"


async def test_the_dialect_that_is_named_is_spoken(run: Any, fake: Any) -> None:
    async with fake("vLLM").serve() as backend:
        outcome = await run("doctor", backend.url, "--json", "--dialect", "vllm")
    document = json.loads(outcome.out)  # noqa: TID251  as above
    assert document["profile"]["spoken"] == "vllm"
    assert document["profile"]["grammar"]["value"] == "enforced"


async def test_a_name_that_is_hostile_is_measured_and_shown_clean(run: Any, fake: Any) -> None:
    name = "\x1b[2J\x1b]0;owned\x07[bold red]evil[/]"
    async with fake("llama.cpp", name).serve() as backend:
        outcome = await run("doctor", backend.url)
        sent = [request.json["model"] for request in backend.requests if "chat" in request.path]
    assert set(sent) == {name}
    assert "[bold red]evil[/]" in outcome.out
    assert "\x1b" not in outcome.out + outcome.err
    assert "\x07" not in outcome.out + outcome.err


async def test_of_several_models_the_first_is_taken_where_nobody_can_be_asked(
    run: Any, fake: Any
) -> None:
    async with fake("llama.cpp", "nomic-embed", "one", "two").serve() as backend:
        outcome = await run("doctor", backend.url)
    assert "  1  one" in outcome.err
    assert "model     one (the first that it lists; --model NAME measures another)" in outcome.out


async def test_the_model_that_is_named_is_measured(run: Any, fake: Any) -> None:
    async with fake("llama.cpp", "one", "two").serve() as backend:
        outcome = await run("doctor", backend.url, "--model", "two", "--json")
    document = json.loads(outcome.out)  # noqa: TID251  as above
    assert (document["model"], document["chosen"]) == ("two", "named")


UNUSABLE: dict[str, tuple[Answer, str, list[str]]] = {
    "no such path": (answer(404, "nope"), "not_configured", []),
    "no such path, model named": (answer(404, "nope"), "not_configured", ["--model", "m"]),
    "a web page": (answer(body="<html>hi</html>"), "protocol_error", []),
    "a web page, model named": (
        answer(body="<html>hi</html>"),
        "protocol_error",
        ["--model", "m"],
    ),
    "another protocol": (raw(b"SSH-2.0-OpenSSH_9.0\r\n"), "protocol_error", []),
    "a list of nothing": (answer(body={"data": []}), "no_models", []),
    "no key": (answer(401, {"error": {"message": "no"}}), "unauthorized", []),
    "no key, model named": (answer(403, {"error": "no"}), "unauthorized", ["--model", "m"]),
    "loading": (faults.loading(), "server_error", []),
    "reset": (faults.reset_before_headers(), "upstream", []),
    "ten gigabytes": (faults.endless_body(), "response_too_large", []),
}


@pytest.mark.parametrize(("said", "code", "more"), UNUSABLE.values(), ids=UNUSABLE)
async def test_what_is_no_usable_endpoint_is_a_sentence(
    said: Answer, code: str, more: list[str], run: Any
) -> None:
    async with FakeBackend(repeat(said)).serve() as backend:
        people = await run("doctor", backend.url, *more)
        machines = await run("doctor", backend.url, "--json", *more)
    document = json.loads(machines.out)  # noqa: TID251  as above
    assert people.code == machines.code == document["exit_code"] == 3
    assert document["failure"]["code"] == code
    assert document["failure"]["sentence"] in people.out
    assert "Traceback" not in people.err + machines.err


async def test_a_loading_server_is_no_broken_one(run: Any) -> None:
    async with FakeBackend(repeat(faults.loading())).serve() as backend:
        outcome = await run("doctor", backend.url, "--model", "m")
    assert outcome.code == 3
    assert "loading" in outcome.out


async def test_nobody_listens(run: Any) -> None:
    with refused_url() as url:
        outcome = await run("doctor", url, "--model", "m")
    assert outcome.code == 3
    assert url in outcome.out
    assert "Start the server" in outcome.out


async def test_a_server_that_never_answers_is_given_up(run: Any) -> None:
    async with FakeBackend(repeat(raw(Hang()))).serve() as backend:
        outcome = await run("doctor", backend.url, "--timeout", "1")
    assert outcome.code == 3
    assert "--timeout" in outcome.out


async def test_a_server_that_stops_answering_is_given_up_in_time(run: Any) -> None:
    listed = answer(body={"data": [{"id": "m"}]})
    async with FakeBackend(listed, repeat(raw(Hang()))).serve() as backend:
        outcome = await run("doctor", backend.url, "--timeout", "1", "--json")
    document = json.loads(outcome.out)  # noqa: TID251  as above
    assert (outcome.code, document["model"]) == (3, "m")


async def test_a_key_is_sent_and_never_shown_although_the_server_repeats_it(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    said = answer(401, {"error": {"message": f"Incorrect key {KEY}. {KEY[:9]}"}})
    async with FakeBackend(repeat(said)).serve() as backend:
        line = ("doctor", backend.url, "--api-key-env", "MY_KEY")
        outcomes = [await run(*line, *more) for more in ([], ["--details"], ["--json"])]
    assert {request.header("authorization") for request in backend.requests} == {f"Bearer {KEY}"}
    for outcome in outcomes:
        assert outcome.code == 3
        assert KEY not in outcome.out + outcome.err
    assert "Incorrect key" not in outcomes[0].out
    assert "Incorrect key [key]" in outcomes[1].out


async def test_a_profile_does_not_hold_the_key_either(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    said = answer(400, {"error": {"message": f"bad request with {KEY}"}})
    listed = answer(body={"data": [{"id": "m"}]})
    async with FakeBackend(repeat(said), routes={"/v1/models": listed}).serve() as backend:
        line = ("doctor", backend.url, "--api-key-env", "MY_KEY")
        outcomes = [await run(*line, *more) for more in (["--details"], ["--json"])]
    for outcome in outcomes:
        assert outcome.code == 2
        assert KEY not in outcome.out + outcome.err
        assert "bad request with [key]" in outcome.out


async def test_the_cache_is_believed_until_it_is_refreshed(
    run: Any, fake: Any, tmp_path: Path
) -> None:
    def chats() -> int:
        return sum("chat" in request.path for request in backend.requests)

    cache = str(tmp_path / "profiles.json")
    async with fake("llama.cpp").serve() as backend:
        first = await run("doctor", backend.url, "--cache", cache)
        asked = chats()
        again = await run("doctor", backend.url, "--cache", cache)
        assert chats() == asked
        assert (again.code, again.out) == (first.code, first.out)
        await run("doctor", backend.url, "--cache", cache, "--refresh")
        assert chats() == 2 * asked


WRONG: dict[str, tuple[Any, list[str]]] = {
    "a URL with a password": ("http://user:hunter2@127.0.0.1:1", []),
    "a URL with a query": ("http://127.0.0.1:1?key=hunter2", []),
    "no URL": ("hunter2", []),
    "a variable that is not set": ("http://127.0.0.1:1", ["--api-key-env", "NOT_SET"]),
    "a dialect that there is not": ("http://127.0.0.1:1", ["--dialect", "klingon"]),
    "a model without a name": ("http://127.0.0.1:1", ["--model", " "]),
    "no time": ("http://127.0.0.1:1", ["--timeout", "0"]),
    "no number": ("http://127.0.0.1:1", ["--timeout", "nan"]),
    "for ever": ("http://127.0.0.1:1", ["--timeout", "inf"]),
    "a cache in no folder": ("http://127.0.0.1:1", ["--cache", "/no/such/folder/file"]),
}


@pytest.mark.parametrize(("url", "more"), WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
async def test_wrong_use_is_a_sentence_that_repeats_no_secret(
    url: str, more: list[str], run: Any
) -> None:
    outcome = await run("doctor", url, *more)
    assert outcome.code == 3
    assert "hunter2" not in outcome.out + outcome.err
    assert "Traceback" not in outcome.err


def test_settings_keep_url_and_key_out_of_their_representation() -> None:
    assert KEY not in repr(Settings(url=f"http://{KEY}", key=KEY))


def test_settings_that_can_be_used_have_no_problem(tmp_path: Path) -> None:
    assert problem(Settings(url="http://h", model="m", cache=tmp_path / "new")) is None
    assert problem(Settings(url="http://h", cache=Path("new"))) is None


@pytest.mark.parametrize("name", ["\udcff", "", "\t"])
def test_a_name_that_cannot_be_sent_is_a_problem(name: str) -> None:
    assert isinstance(problem(Settings(url="http://h", model=name)), Failure)


def test_a_key_is_read_from_the_named_variable_only() -> None:
    assert read_key(None, {"OPENAI_API_KEY": KEY}) == ""
    assert read_key("K", {"K": f" {KEY}\n"}) == KEY
    assert isinstance(read_key("K", {"K": " "}), Failure)
