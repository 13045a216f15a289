"""How users write code against rig, as type checkers see it. Read by mypy and pyright, never run."""

from typing import assert_type

from pydantic import BaseModel

from rig import (
    ChatRequest,
    Client,
    Message,
    Model,
    Reply,
    RetryEvent,
    RigError,
    RunEvent,
    RunRequest,
    RunResult,
    ToolCall,
    ToolContext,
    ToolFinished,
    tool,
)
from rig.testing import ScriptedModel


class City(BaseModel):
    name: str


@tool
async def multiply(a: int, b: int) -> int:
    """Multiply two integers."""
    return a * b


@tool(effect="write", confirm=True, timeout_s=5)
def save(text: str, context: ToolContext) -> None:
    """Save a text."""


def watch(event: RunEvent) -> None:
    if isinstance(event, ToolFinished):
        print(event.outcome.content)


async def ask_person(call: ToolCall) -> bool:
    return call.name == "save"


def narrate(event: RetryEvent) -> None:
    print(event)


async def use(client: Client, scripted: ScriptedModel) -> None:
    plain = await client.run("hi", max_tokens=8)
    assert_type(plain, RunResult[None])
    typed = await client.run(
        "hi", output=City, max_tokens=8, tools=[multiply, save], on_event=watch
    )
    assert_type(typed, RunResult[City])
    assert_type(typed.output, City | None)
    request = RunRequest(prompt="hi", model="m", max_tokens=8, output=City)
    assert_type(await scripted.run(request), RunResult[City])
    again = await client.run("", history=typed.messages, max_tokens=8, confirm=ask_person)
    print(again.text, again.usage.total_tokens, [each.call.name for each in again.tool_calls])
    try:
        reply = await client.complete(
            ChatRequest(model="m", messages=[Message(role="user", content="hi")], max_tokens=8)
        )
        assert_type(reply, Reply)
    except RigError as error:
        print(error.code, error.status, error.retryable, error.detail)
        if error.result is not None:
            print(error.result.messages)


def any_model_will_do(client: Client, scripted: ScriptedModel) -> list[Model]:
    return [client, scripted]
