"""smolagents: synchronous, so each run has a thread; a run ends with a call of its `final_answer`."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from smolagents import ChatMessage, MessageRole, OpenAIModel, ToolCallingAgent, tool

from benchmarks.canned import PROMPT, SYSTEM
from benchmarks.drivers.contract import API_KEY, LONG_S

T = TypeVar("T")

MAX_THREADS = 200
"""More threads make each of them slower."""

MESSAGES = [
    ChatMessage(role=MessageRole.SYSTEM, content=SYSTEM),
    ChatMessage(role=MessageRole.USER, content=PROMPT),
]


def add(a: int, b: int) -> int:
    """Add two integers.

    Args:
        a: the first.
        b: the second.
    """
    return a + b


ADD = tool(add)


class Smolagents:
    """A model, and an agent for each run: an agent keeps the steps of its last one."""

    def __init__(self, url: str) -> None:
        client = {"max_retries": 0, "timeout": LONG_S}
        self._model = OpenAIModel(
            "m", api_base=url, api_key=API_KEY, client_kwargs=client, max_tokens=256
        )
        self._threads = ThreadPoolExecutor(MAX_THREADS)
        # Read once: each agent would parse its YAML anew, which takes 100 ms.
        self._templates = self._agent(None).prompt_templates

    def _agent(self, templates: Any) -> Any:
        return ToolCallingAgent(
            tools=[ADD], model=self._model, prompt_templates=templates, verbosity_level=-1
        )

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    async def ask(self) -> str:
        """One request."""
        return await self._in_thread(lambda: str(self._model.generate(MESSAGES).content))

    async def round(self) -> str:
        """One run with a tool."""

        def run() -> str:
            return str(self._agent(self._templates).run(PROMPT))

        return await self._in_thread(run)

    async def stream(self) -> int:
        """One streamed request."""
        return await self._in_thread(
            lambda: sum(bool(delta.content) for delta in self._model.generate_stream(MESSAGES))
        )

    async def close(self) -> None:
        """End the threads."""
        self._threads.shutdown()


def make(url: str) -> Smolagents:
    """A driver for the endpoint."""
    return Smolagents(url)
