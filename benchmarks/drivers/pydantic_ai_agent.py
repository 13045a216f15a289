"""pydantic-ai: one agent for each task, made once."""

from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from benchmarks.canned import PROMPT, SYSTEM
from benchmarks.drivers.contract import API_KEY, LONG_S, add


class PydanticAI:
    """An agent without tools, and one with one."""

    def __init__(self, url: str) -> None:
        self._client = AsyncOpenAI(base_url=url, api_key=API_KEY, max_retries=0, timeout=LONG_S)
        model = OpenAIChatModel("m", provider=OpenAIProvider(openai_client=self._client))
        settings = {"max_tokens": 256}
        self._plain = Agent(model, system_prompt=SYSTEM, model_settings=settings)
        self._agent = Agent(model, system_prompt=SYSTEM, model_settings=settings)
        self._agent.tool_plain(add)

    async def ask(self) -> str:
        """One run without tools."""
        return str((await self._plain.run(PROMPT)).output)

    async def round(self) -> str:
        """One run with a tool."""
        return str((await self._agent.run(PROMPT)).output)

    async def stream(self) -> int:
        """One streamed run."""
        count = 0
        async with self._plain.run_stream(PROMPT) as run:
            async for text in run.stream_text(delta=True, debounce_by=None):
                count += bool(text)
        return count

    async def close(self) -> None:
        """Close the client."""
        await self._client.close()


def make(url: str) -> PydanticAI:
    """A driver for the endpoint."""
    return PydanticAI(url)
