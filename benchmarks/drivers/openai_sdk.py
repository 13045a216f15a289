"""The openai SDK with the loop written by hand, as its users write it."""

import json
from typing import Any

from openai import AsyncOpenAI

from benchmarks.canned import PROMPT, SYSTEM
from benchmarks.drivers.contract import API_KEY, LONG_S, TOOL, add

MESSAGES: list[Any] = [
    {"role": "system", "content": SYSTEM},
    {"role": "user", "content": PROMPT},
]


class OpenAISDK:
    """One `AsyncOpenAI`."""

    def __init__(self, url: str) -> None:
        self._client = AsyncOpenAI(base_url=url, api_key=API_KEY, max_retries=0, timeout=LONG_S)

    async def _create(self, messages: list[Any], **more: Any) -> Any:
        return await self._client.chat.completions.create(
            model="m", messages=messages, max_tokens=256, **more
        )

    async def ask(self) -> str:
        """One request."""
        completion = await self._create(MESSAGES)
        return str(completion.choices[0].message.content)

    async def round(self) -> str:
        """Two requests and a tool."""
        messages = [*MESSAGES]
        while True:
            completion = await self._create(messages, tools=[TOOL])
            message = completion.choices[0].message
            if not message.tool_calls:
                return str(message.content)
            messages.append(message)
            for call in message.tool_calls:
                result = await add(**json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": str(result)})

    async def stream(self) -> int:
        """One streamed request."""
        count = 0
        async for chunk in await self._create(MESSAGES, stream=True):
            count += bool(chunk.choices and chunk.choices[0].delta.content)
        return count

    async def close(self) -> None:
        """Close the client."""
        await self._client.close()


def make(url: str) -> OpenAISDK:
    """A driver for the endpoint."""
    return OpenAISDK(url)
