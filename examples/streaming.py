"""An agent whose words are shown as they come, tools and all.

python examples/streaming.py http://127.0.0.1:8080/v1 qwen3
"""

import sys

import anyio

from rig import Client, RetryEvent, TextDelta, TextRetracted, ToolStarted, tool


@tool
async def multiply(a: int, b: int) -> int:
    """Multiply two integers."""
    return a * b


async def main(base_url: str, model: str) -> str:
    async with (
        Client(base_url, model=model) as client,
        client.run_stream("What is 17 * 23?", tools=[multiply], max_tokens=1024) as run,
    ):
        async for event in run:
            match event:
                case TextDelta(text=text):
                    print(text, end="", flush=True)
                case TextRetracted():  # it was a thought: the template had eaten its opening tag
                    print("\n(so much for thinking)")
                case ToolStarted(call=call):
                    print(f"\n[{call.name} {call.arguments}]")
                case RetryEvent(reason=reason):
                    print(f"[{reason}]")
                case _:
                    pass
        print()
        return run.result().text


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], sys.argv[2])
