"""How to test an agent of yours: the model is scripted, the tools are real.

pytest examples/testing_agents.py
"""

import pytest

from rig import Client, OutputLimitError, tool
from rig.testing import FakeBackend, ScriptedModel, reply


@tool
async def lookup(city: str) -> str:
    """Look up the weather of a city."""
    return {"Paris": "18 degrees"}[city]


@pytest.mark.anyio
async def test_the_agent_looks_the_weather_up() -> None:
    backend = FakeBackend(
        reply(tool_calls=[("lookup", {"city": "Paris"})]),
        reply("It is 18 degrees in Paris."),
    )
    async with backend.serve(), Client(backend.url, model="fake") as client:
        result = await client.run("Weather in Paris?", tools=[lookup], max_tokens=64)
    assert result.text == "It is 18 degrees in Paris."
    assert [outcome.content for outcome in result.tool_calls] == ["18 degrees"]


@pytest.mark.anyio
async def test_a_cut_answer_is_an_error_and_not_an_answer() -> None:
    backend = FakeBackend(reply("It is 18 deg", finish_reason="length"))
    async with backend.serve(), Client(backend.url, model="fake") as client:
        with pytest.raises(OutputLimitError):
            await client.run("Weather in Paris?", max_tokens=4)


@pytest.mark.anyio
async def test_without_a_wire_the_model_is_a_list_of_replies() -> None:
    model = ScriptedModel("Hello.")
    result = await model.run("Hi", model="any", max_tokens=16)
    assert result.text == "Hello."
