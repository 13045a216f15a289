"""`run` as every model of rig's has it: keywords in one shape, skills folded in, requests passed through."""

import dataclasses
import inspect
from pathlib import Path
from typing import Any

import pytest

from rig import (
    Budget,
    Capabilities,
    ChatOptions,
    ChatRequest,
    Client,
    Compaction,
    InvalidRequestError,
    Message,
    NotConfiguredError,
    Reply,
    RunEvent,
    RunFinished,
    RunRequest,
    Skill,
    ToolCall,
    load_skill_tool,
    tool,
)
from rig.client import runs
from rig.client.running import RunMixin, RunOptions
from rig.events import run_memory
from rig.testing import FakeBackend, ScriptedModel, reply

REFUNDS = Skill(name="refunds", description="How to refund.", body="Ask for the order number.")


def test_the_keywords_of_run_stand_three_times_and_are_the_same() -> None:
    signature = inspect.signature(RunMixin.run).parameters
    keywords = {name for name in signature if name not in {"self", "prompt", "output"}}
    fields = {field.name: field for field in dataclasses.fields(RunRequest)}
    assert keywords == set(RunOptions.__annotations__)
    assert keywords - {"skills", "preload"} == set(fields) - {"prompt", "output", "instructions"}
    for name in keywords - {"skills", "preload", "max_tokens", "model"}:
        assert signature[name].default == fields[name].default, name


@tool
async def look() -> str:
    """Look."""
    return "found"


def agree(_call: ToolCall) -> bool:
    return True


def watch(_event: RunEvent) -> None:
    return None


WAITING = [Message(role="assistant", tool_calls=(ToolCall(id="1", name="look"),))]
KEYWORDS: dict[str, tuple[object, object]] = {
    "max_tokens": (77, 77),
    "model": ("other", "other"),
    "system": ("s", "s"),
    "tools": ([look], (look,)),
    "max_iterations": (3, 3),
    "temperature": (0.25, 0.25),
    "output": (int, int),
    "history": (WAITING, tuple(WAITING)),
    "budget": (Budget(tokens=5), Budget(tokens=5)),
    "options": (ChatOptions(top_p=0.5), ChatOptions(top_p=0.5)),
    "on_limit": ("answer", "answer"),
    "on_event": (watch, watch),
    "confirm": (agree, agree),
    "approve": (["1"], ("1",)),
    "deps": ("d", "d"),
    "stream": (True, True),
    "tool_format": ("json", "json"),
    "profile": (Capabilities(grammar=True), Capabilities(grammar=True)),
    "compaction": (Compaction(at=0.5), Compaction(at=0.5)),
}


def test_the_table_of_keywords_is_whole() -> None:
    assert set(KEYWORDS) == (set(RunOptions.__annotations__) | {"output"}) - {"skills", "preload"}


async def arrived(monkeypatch: pytest.MonkeyPatch, way: str, keywords: Any) -> RunRequest[Any]:
    """The request that the keywords of one of the two ways make."""
    requests: list[RunRequest[Any]] = []

    async def asked(_model: object, request: RunRequest[Any]) -> None:
        requests.append(request)

    def begun(_model: object, request: RunRequest[Any]) -> None:
        requests.append(request)

    monkeypatch.setattr(runs, "run", asked)
    monkeypatch.setattr(runs, "stream_run", begun)
    if way == "run":
        await ScriptedModel().run("Hi", **keywords)
    else:
        ScriptedModel().run_stream("Hi", **keywords)
    return requests[0]


@pytest.mark.parametrize("way", ["run", "run_stream"])
@pytest.mark.parametrize("name", KEYWORDS)
async def test_every_keyword_arrives(monkeypatch: pytest.MonkeyPatch, way: str, name: str) -> None:
    given, expected = KEYWORDS[name]
    needed = {"history": WAITING} if name == "approve" else {}
    request = await arrived(monkeypatch, way, {"max_tokens": 8, **needed, name: given})
    plain = await arrived(monkeypatch, way, {"max_tokens": 8, **needed})
    assert request.prompt == "Hi"
    assert getattr(request, name) == expected
    changed = {name}
    if name == "temperature":
        assert request.options == ChatOptions(temperature=0.25)
        changed.add("options")
    if way == "run_stream":
        assert request.stream
    assert dataclasses.replace(
        plain, **{one: getattr(request, one) for one in changed}
    ) == dataclasses.replace(request)


async def test_a_stream_can_not_be_given_an_unknown_keyword() -> None:
    options: Any = {"max_tokens": 8, "maxtokens": 9}
    with pytest.raises(TypeError, match="maxtokens"):
        ScriptedModel().run_stream("Hi", **options)


@pytest.mark.parametrize("way", ["run", "run_stream"])
async def test_nothing_may_stand_beside_a_request_that_holds_everything(way: str) -> None:
    model = ScriptedModel("never")
    ask: Any = getattr(model, way)
    with pytest.raises(InvalidRequestError) as caught:
        await ask(RunRequest("Hi", max_tokens=8), tools=[look], max_tokens=9, skills=[REFUNDS])
    assert all(name in caught.value.message for name in ("tools", "max_tokens", "skills"))
    assert "temperature" not in caught.value.message
    assert model.requests == []


async def test_a_run_is_given_as_one_value_too() -> None:
    model = ScriptedModel("Hello.")
    result = await model.run(
        RunRequest[None](prompt="Hi", model="m", max_tokens=8, system="Be brief.")
    )
    assert result.text == "Hello."
    assert [message.role for message in model.requests[0].messages] == ["system", "user"]


async def test_the_default_model_fills_a_request_that_names_none() -> None:
    backend = FakeBackend(reply("a"), reply("b"))
    async with backend.serve(), Client(backend.url, model="mine") as client:
        await client.run("Hi", max_tokens=8)
        await client.run(RunRequest(prompt="Hi", model="", max_tokens=8))
    assert [request.json["model"] for request in backend.requests] == ["mine", "mine"]


async def test_what_is_missing_is_told_before_anything_is_sent() -> None:
    model = ScriptedModel("never")
    with pytest.raises(InvalidRequestError):
        await model.run("Hi", model="m")  # type: ignore[call-overload]  # max_tokens is missing on purpose
    async with Client("http://127.0.0.1:9") as client:
        with pytest.raises(NotConfiguredError):
            await client.run("Hi", max_tokens=8)
    assert model.requests == []


async def test_skills_are_advertised_and_loaded_by_a_tool() -> None:
    backend = FakeBackend(
        reply(tool_calls=[("load_skill", {"name": "refunds"})]), reply("What is your order number?")
    )
    async with backend.serve(), Client(backend.url, model="m") as client:
        result = await client.run("Refund!", system="Be kind.", skills=[REFUNDS], max_tokens=64)
    first, second = (request.json for request in backend.requests)
    assert first["messages"][0]["content"].startswith("Be kind.\n\nAvailable skills")
    assert "- refunds: How to refund." in first["messages"][0]["content"]
    assert [offered["function"]["name"] for offered in first["tools"]] == ["load_skill"]
    assert second["messages"][-1]["content"] == "Ask for the order number."
    assert result.text == "What is your order number?"


async def test_without_skills_neither_advertisement_nor_tool_is_sent() -> None:
    backend = FakeBackend(reply("ok"))
    async with backend.serve(), Client(backend.url, model="m") as client:
        await client.run("Hi", skills=[], max_tokens=8)
    body = backend.requests[0].json
    assert "tools" not in body
    assert [message["role"] for message in body["messages"]] == ["user"]


async def test_the_advertisement_of_one_run_is_not_part_of_the_next() -> None:
    model = ScriptedModel("a", "b", "c")
    keywords: Any = {"model": "m", "max_tokens": 8}
    first = await model.run("Hi", system="Be kind.", skills=[REFUNDS], **keywords)
    assert [turn.content for turn in first.messages] == ["Be kind.", "Hi", "a"]
    second = await model.run("Hi", history=first.messages, **keywords)
    assert model.requests[1].messages[0].content == "Be kind."
    other = Skill(name="poems", description="Write poems.", body="Rhyme.")
    await model.run("Hi", history=second.messages, skills=[other], **keywords)
    head = model.requests[2].messages[0].text
    assert head.startswith("Be kind.\n\nAvailable skills")
    assert ("poems" in head, "refunds" in head) == (True, False)


async def test_skills_may_come_out_of_an_iterator() -> None:
    model = ScriptedModel(
        Reply(tool_calls=(ToolCall(id="1", name="load_skill", arguments='{"name": "refunds"}'),)),
        "ok",
    )
    result = await model.run("Hi", model="m", max_tokens=8, skills=iter([REFUNDS]))
    assert "refunds" in model.requests[0].messages[0].text
    assert result.tool_calls[0].content == REFUNDS.body


@pytest.mark.parametrize(
    "skills",
    ["skills/", Path("skills"), [1], REFUNDS, 5, [load_skill_tool([REFUNDS])]],
    ids=["a path as text", "a path", "odd things", "one skill", "a number", "its tool"],
)
async def test_what_is_no_skill_is_refused_with_a_sentence(skills: Any) -> None:
    model = ScriptedModel("never")
    with pytest.raises(InvalidRequestError):
        await model.run("Hi", model="m", max_tokens=8, skills=skills)
    assert model.requests == []


async def test_a_skill_and_a_tool_of_the_same_name_are_refused() -> None:
    @tool
    async def load_skill(name: str) -> str:
        """Load something."""
        return name

    model = ScriptedModel("never")
    with pytest.raises(InvalidRequestError):
        await model.run("Hi", model="m", max_tokens=8, skills=[REFUNDS], tools=[load_skill])
    assert model.requests == []


async def test_events_end_with_the_result() -> None:
    seen: list[RunEvent] = []
    result = await ScriptedModel("Hello.").run("Hi", model="m", max_tokens=8, on_event=seen.append)
    assert isinstance(seen[-1], RunFinished)
    assert seen[-1].result is result


class Limited(ScriptedModel):
    """Knows how long its replies may be."""

    def default_max_tokens(self, model: str) -> int | None:
        return 7 if model == "short" else None


@pytest.mark.parametrize("given", [{}, {"max_tokens": 0}, {"max_tokens": None}], ids=str)
async def test_a_model_may_know_the_limit_of_a_reply(given: dict[str, Any]) -> None:
    model = Limited("Hello.")
    await model.run("Hi", model="short", **given)
    assert model.requests[0].max_tokens == 7


@pytest.mark.parametrize("given", [{}, {"max_tokens": 0}, {"max_tokens": False}], ids=str)
async def test_where_it_knows_none_the_limit_is_demanded(given: dict[str, Any]) -> None:
    model = Limited()
    with pytest.raises(InvalidRequestError):
        await model.run("Hi", model="long", **given)


async def test_a_given_limit_wins() -> None:
    model = Limited("Hello.")
    await model.run("Hi", model="short", max_tokens=9)
    assert model.requests[0].max_tokens == 9


class Remembering(ScriptedModel):
    """Notes how often a run asked it, in the memory of the run."""

    async def complete(self, request: ChatRequest, /) -> Reply:
        memory = run_memory.get()
        assert memory is not None
        memory[self] = [*self.seen(), request.model]
        return await super().complete(request)

    def seen(self) -> list[object]:
        memory = run_memory.get()
        held = memory.get(self, []) if memory is not None else []
        assert isinstance(held, list)
        return held


async def test_models_below_a_run_have_a_memory_that_ends_with_it() -> None:
    inner: list[object] = []

    @tool
    async def ask() -> str:
        """Ask."""
        inner.append(run_memory.get())
        await model.run("again", max_tokens=5)
        return "asked"

    def last(_request: ChatRequest) -> str:
        inner.append(list(model.seen()))
        return "Done."

    calls = (ToolCall(id="1", name="ask", arguments="{}"),)
    model = Remembering(Reply(tool_calls=calls), last, last)
    await model.run("Go", tools=[ask], max_tokens=5)
    assert inner == [None, ["scripted"], ["scripted", "scripted"]]
    assert run_memory.get() is None


# Preloaded skills

MAIL = Skill(name="mail", description="How to write.", body="Sign with your name.")


@pytest.mark.parametrize("names", [["refunds"], ("refunds", "refunds"), {"refunds"}], ids=str)
async def test_a_preloaded_skill_is_there_from_the_start(names: Any) -> None:
    model = ScriptedModel("ok")
    await model.run("Hi", max_tokens=8, system="Be kind.", skills=[REFUNDS, MAIL], preload=names)
    (request,) = model.requests
    head = request.messages[0].text
    assert head.startswith("Be kind.\n\nAvailable skills")
    assert "- mail: How to write." in head
    assert "- refunds" not in head
    assert head.count("Ask for the order number.") == 1
    (offered,) = request.tools
    assert offered.input_schema["properties"]["name"]["enum"] == ["mail"]


async def test_with_all_skills_preloaded_nothing_is_to_be_loaded() -> None:
    model = ScriptedModel("ok")
    result = await model.run("Hi", max_tokens=8, skills=[REFUNDS], preload=["refunds"])
    (request,) = model.requests
    assert list(request.tools) == []
    assert "Available skills" not in request.messages[0].text
    assert "Ask for the order number." in request.messages[0].text
    assert [turn.role for turn in result.messages] == ["user", "assistant"]


@pytest.mark.parametrize("names", ["refunds", ["other"], [5], None, 5], ids=str)
async def test_a_skill_that_is_not_there_can_not_be_preloaded(names: Any) -> None:
    model = ScriptedModel("never")
    with pytest.raises(InvalidRequestError):
        await model.run("Hi", max_tokens=8, skills=[REFUNDS], preload=names)
    assert model.requests == []
