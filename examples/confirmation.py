"""A tool that writes waits for a person: the run ends, is stored, and goes on when approved.

python examples/confirmation.py http://127.0.0.1:8080/v1 qwen3
"""

import sys

import anyio

from rig import Client, Termination, tool

SENT: list[str] = []


@tool(effect="write", confirm=True)
async def send_mail(to: str, text: str) -> str:
    """Send a mail."""
    SENT.append(to)
    return "sent"


async def main(base_url: str, model: str) -> str:
    async with Client(base_url, model=model) as client:
        result = await client.run("Tell Ann we ship today.", tools=[send_mail], max_tokens=512)
        if result.termination == Termination.NEEDS_CONFIRMATION:
            for call in result.pending:
                print("The model wants to run", call.name, call.arguments)
            result = await client.run(
                "",
                tools=[send_mail],
                history=result.messages,
                approve=[call.id for call in result.pending],
                max_tokens=512,
            )
        print(result.text)
        return result.text


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], sys.argv[2])
