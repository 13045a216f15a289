"""One question, one tool: the model asks for it, rig runs it, the model answers.

python examples/quickstart.py http://127.0.0.1:8080/v1 qwen3
"""

import sys

import anyio

from rig import Client, tool


@tool
async def multiply(a: int, b: int) -> int:
    """Multiply two integers."""
    return a * b


async def main(base_url: str, model: str) -> str:
    async with Client(base_url) as client:
        result = await client.run(
            "What is 17 * 23?", model=model, tools=[multiply], max_tokens=1024
        )
        print(result.text, result.usage.total_tokens)
        return result.text


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], sys.argv[2])
