"""openai-agents over chat completions, its tracing off."""

from agents import (
    Agent,
    ModelSettings,
    OpenAIChatCompletionsModel,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI

from benchmarks.canned import PROMPT, SYSTEM
from benchmarks.drivers.contract import API_KEY, LONG_S, add


class OpenAIAgents:
    """An agent without tools, and one with one."""

    def __init__(self, url: str) -> None:
        set_tracing_disabled(True)
        self._client = AsyncOpenAI(base_url=url, api_key=API_KEY, max_retries=0, timeout=LONG_S)
        model = OpenAIChatCompletionsModel("m", self._client)
        settings = ModelSettings(max_tokens=256)
        self._plain = Agent("plain", instructions=SYSTEM, model=model, model_settings=settings)
        self._agent = Agent(
            "tools",
            instructions=SYSTEM,
            model=model,
            model_settings=settings,
            tools=[function_tool(add)],
        )

    async def ask(self) -> str:
        """One run without tools."""
        return str((await Runner.run(self._plain, PROMPT)).final_output)

    async def round(self) -> str:
        """One run with a tool."""
        return str((await Runner.run(self._agent, PROMPT)).final_output)

    async def stream(self) -> int:
        """One streamed run."""
        count = 0
        async for event in Runner.run_streamed(self._plain, PROMPT).stream_events():
            data = getattr(event, "data", None)
            count += getattr(data, "type", "") == "response.output_text.delta"
        return count

    async def close(self) -> None:
        """Close the client."""
        await self._client.close()


def make(url: str) -> OpenAIAgents:
    """A driver for the endpoint."""
    return OpenAIAgents(url)
