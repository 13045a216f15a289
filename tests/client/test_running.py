"""`run` as every model of rig's has it: keywords in one shape, skills folded in, requests passed through."""

import dataclasses
import inspect

import pytest

from rig import (
    Client,
    InvalidRequestError,
    NotConfiguredError,
    RunEvent,
    RunFinished,
    RunRequest,
    Skill,
    tool,
)
from rig.client.running import RunMixin, RunOptions
from rig.testing import FakeBackend, ScriptedModel, reply

REFUNDS = Skill(name="refunds", description="How to refund.", body="Ask for the order number.")


def test_the_keywords_of_run_stand_three_times_and_are_the_same() -> None:
    signature = inspect.signature(RunMixin.run).parameters
    keywords = {name for name in signature if name not in {"self", "prompt", "output"}}
    fields = {field.name: field for field in dataclasses.fields(RunRequest)}
    assert keywords == set(RunOptions.__annotations__)
    assert keywords - {"skills"} == set(fields) - {"prompt", "output"}
    for name in keywords - {"skills", "max_tokens", "model"}:
        assert signature[name].default == fields[name].default, name


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
