"""langgraph's ready-made agent over langchain-openai."""

from langchain_openai import ChatOpenAI
from langgraph.prebuilt import create_react_agent
from pydantic import SecretStr

from benchmarks.canned import PROMPT, SYSTEM
from benchmarks.drivers.contract import API_KEY, LONG_S, add

MESSAGES = [("system", SYSTEM), ("user", PROMPT)]


class LangGraph:
    """A model, and an agent made once."""

    def __init__(self, url: str) -> None:
        self._model = ChatOpenAI(
            model="m",
            base_url=url,
            api_key=SecretStr(API_KEY),
            max_retries=0,
            timeout=LONG_S,
            max_tokens=256,
        )
        self._agent = create_react_agent(self._model, [add], prompt=SYSTEM)

    async def ask(self) -> str:
        """One request."""
        return str((await self._model.ainvoke(MESSAGES)).content)

    async def round(self) -> str:
        """One run with a tool."""
        state = await self._agent.ainvoke({"messages": [("user", PROMPT)]})
        return str(state["messages"][-1].content)

    async def stream(self) -> int:
        """One streamed request."""
        count = 0
        async for chunk in self._model.astream(MESSAGES):
            count += bool(chunk.content)
        return count

    async def close(self) -> None:
        """Nothing that is public closes it."""


def make(url: str) -> LangGraph:
    """A driver for the endpoint."""
    return LangGraph(url)
