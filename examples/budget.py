"""One budget for many agents: what they spend together is bounded, whatever each of them does.

python examples/budget.py http://127.0.0.1:8080/v1 qwen3
"""

import sys

import anyio

from rig import (
    Budget,
    BudgetExceededError,
    Client,
    Compaction,
    Price,
    Prices,
    SharedBudget,
    ToolContext,
    tool,
)

CITIES = ("Paris", "Rome", "Oslo", "Bern")
PRICES = Prices({}, default=Price(prompt_per_million=0.10, completion_per_million=0.30))


async def main(base_url: str, model: str, calls: int = 8) -> dict[str, str]:
    shared = SharedBudget(
        Budget(tokens=50_000, calls=calls, tool_calls=6, seconds=300, cost=0.05, prices=PRICES)
    )
    answers: dict[str, str] = {}
    async with Client(base_url, model=model) as client:

        @tool
        async def guide(question: str, context: ToolContext) -> str:
            """Ask a guide who knows every city."""
            said = await client.run(question, max_tokens=128, budget=context.budget)
            return said.text

        async def plan(city: str) -> None:
            part = SharedBudget(Budget(calls=3), within=shared)
            try:
                result = await client.run(
                    f"What should I see in {city}? Ask the guide.",
                    tools=[guide],
                    max_tokens=256,
                    budget=part,
                    compaction=Compaction(),
                )
                answers[city] = result.text
            except BudgetExceededError as error:
                answers[city] = f"(out of {error.reason})"

        async with anyio.create_task_group() as tasks:
            for city in CITIES:
                tasks.start_soon(plan, city)
    spent = shared.spent
    print(f"{spent.calls} requests, {spent.tokens} tokens, {spent.cost:.6f}")
    return answers


if __name__ == "__main__":
    for place, answer in anyio.run(main, sys.argv[1], sys.argv[2]).items():
        print(f"{place}: {answer}")
