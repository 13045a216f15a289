"""A tool that writes waits for a person: the run ends, is stored, and goes on when approved.

python examples/confirmation.py http://127.0.0.1:8080/v1 qwen3
"""

import sys
from collections.abc import Awaitable, Callable

import anyio
import anyio.to_thread

from rig import Client, Termination, ToolCall, tool

SENT: list[str] = []


@tool(effect="write", confirm=True)
async def send_mail(to: str, text: str) -> str:
    """Send a mail."""
    SENT.append(to)
    return "sent"


async def ask_at_the_terminal(call: ToolCall) -> bool:
    question = f"The model wants to run {call.name} {call.arguments}. Type yes to let it: "
    return await anyio.to_thread.run_sync(input, question) == "yes"


async def main(
    base_url: str, model: str, ask: Callable[[ToolCall], Awaitable[bool]] = ask_at_the_terminal
) -> str:
    async with Client(base_url, model=model) as client:
        result = await client.run("Tell Ann we ship today.", tools=[send_mail], max_tokens=512)
        # Approved calls may lead to further ones, so this goes on until none waits.
        while result.termination == Termination.NEEDS_CONFIRMATION:
            approved = [call.id for call in result.pending if await ask(call)]
            result = await client.run(
                "", tools=[send_mail], history=result.messages, approve=approved, max_tokens=512
            )
        print(result.text)
        return result.text


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], sys.argv[2])
