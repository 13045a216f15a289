"""One door for many models: questions go to the model that suits them, and each says where it went.

python examples/router.py http://127.0.0.1:8080/v1 qwen3-coder qwen3 qwen3-0.6b
"""

import sys

import anyio

from rig import Category, Client, RouteChosen, RouteFellBack, Router, RunEvent

QUESTIONS = [
    "Why does `for i in range(3): print(i)` print no 3?",
    "Refactor this:\n```python\nx = x + 1\n```",
    "Say something nice about Tuesdays.",
]


def narrate(event: RunEvent) -> None:
    if isinstance(event, RouteChosen):
        print(f"[{event.category or 'no category'}: {event.model}, {event.by}, {event.reason}]")
    elif isinstance(event, RouteFellBack):
        print(f"[{event.wanted}: {event.reason}, so {event.used or 'the default'}]")


async def main(base_url: str, coder: str, talker: str, sorter: str) -> list[str]:
    answers: list[str] = []
    async with Client(base_url) as client:
        router = Router(
            client,
            categories={
                "code": Category(
                    models=(coder, talker),
                    description="programs: writing, explaining, repairing them",
                    patterns=("refactor*", "stack trace"),
                    code=True,
                ),
                "chat": Category(models=(talker,), description="everything else"),
            },
            default=talker,
            default_category="chat",
            router_model=sorter,
        )
        for question in QUESTIONS:
            result = await router.run(question, max_tokens=512, on_event=narrate)
            print(result.text)
            answers.append(result.text)
    return answers


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4])
