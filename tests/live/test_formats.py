"""Runs on llama.cpp's own server with a template that knows no tools: whole runs through the text formats."""

import os
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from pydantic import BaseModel

from rig import (
    Capabilities,
    ChatOptions,
    Client,
    ConstraintRefused,
    RunEvent,
    RunResult,
    TextDelta,
    ToolFormatChanged,
    tool,
)
from rig.agent.capabilities import Profiled
from rig.testing import LocalModel, example_exchanges

# The template SmolLM2 comes with: it knows no tools.
OWN_TEMPLATE = (
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content']"
    " + '<|im_end|>' + '\\n'}}{% endfor %}{% if add_generation_prompt %}"
    "{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
ON_ASYNCIO = pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
SEEDS = range(int(os.environ.get("RIG_LIVE_SEEDS", "4")))
"""Few by default, so that the whole check stays short; measured with 20."""
QUESTIONS = [
    ("What is the weather in Paris?", "get_weather", "18 degrees"),
    ("How much does an apple cost?", "get_price", "3 dollars"),
]


@tool
async def get_weather(city: str) -> str:
    """Get the weather in a city."""
    return "18 degrees and sunny"


@tool
async def get_price(item: str) -> str:
    """Get the price of an item."""
    return "3 dollars"


class City(BaseModel):
    name: str
    country: str
    population: int


@pytest.fixture
async def toolless() -> AsyncGenerator[Client]:
    """A server whose template drops tools without a word."""
    async with (
        LocalModel(chat_template=OWN_TEMPLATE, slots=1) as local,
        Client(local.url, model=local.model, dialect="llama.cpp") as client,
    ):
        yield client


async def ask(
    client: Client, question: str, seed: int, **options: Any
) -> tuple[RunResult[Any], list[RunEvent]]:
    events: list[RunEvent] = []
    result: RunResult[Any] = await client.run(
        question,
        system="You are a helpful assistant.",
        history=example_exchanges(),
        tools=[get_weather, get_price],
        max_tokens=120,
        options=ChatOptions(temperature=0.2, seed=seed),
        on_event=events.append,
        **options,
    )
    return result, events


async def check(client: Client, form: str, seed: int, **options: Any) -> None:
    for question, name, said in QUESTIONS:
        result, events = await ask(client, question, seed, **options)
        outcome = result.tool_calls[0]
        assert (outcome.call.name, outcome.call.origin) == (name, form), seed
        assert said in result.text, seed
        assert result.tool_format == form
        assert not [one for one in events if isinstance(one, ToolFormatChanged | ConstraintRefused)]
        shown = "".join(one.text for one in events if isinstance(one, TextDelta))
        assert "@@" not in shown
        assert "{" not in shown


@ON_ASYNCIO
@pytest.mark.parametrize("form", ["heredoc", "json"])
async def test_whole_runs_go_right_in_a_chosen_format(toolless: Client, form: Any) -> None:
    """Measured 40 of 40 with 20 seeds each."""
    for seed in SEEDS:
        await check(toolless, form, seed, tool_format=form, stream=seed % 2 == 1)


@ON_ASYNCIO
async def test_a_profile_picks_the_format_that_works(toolless: Client) -> None:
    """Without it the model is shown nothing of its tools."""
    profile = await toolless.profile()
    assert profile.capabilities == Capabilities(
        native_tools=False,
        grammar=True,
        json_schema=True,
        context_tokens=profile.window_tokens.value,
    )
    for seed in SEEDS:
        await check(toolless, "heredoc", seed, profile=profile, stream=seed % 2 == 1)


@ON_ASYNCIO
@pytest.mark.parametrize(
    ("known", "source"),
    [(Capabilities(json_schema=True), "schema"), (Capabilities(grammar=True), "grammar")],
)
async def test_a_tiny_model_gives_typed_answers_where_it_is_held_to_them(
    toolless: Client, known: Profiled, source: str
) -> None:
    """Measured 20 of 20 for both, and 0 of 20 where the prompt alone asks for it."""
    for seed in SEEDS:
        result = await toolless.run(
            "Describe Paris.",
            output=City,
            max_tokens=120,
            profile=known,
            options=ChatOptions(temperature=0.2, seed=seed),
        )
        assert isinstance(result.output, City)
        assert (result.output_source, result.iterations) == (source, 1)
