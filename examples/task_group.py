"""A thousand agents in one task group, on trio as on asyncio, four requests at a time.

python examples/task_group.py http://127.0.0.1:8080/v1 qwen3
"""

import sys

import anyio

from rig import Client, RetryPolicy, RigError


async def main(base_url: str, model: str, count: int = 1000) -> dict[int, str]:
    answers: dict[int, str] = {}

    async def one(client: Client, number: int) -> None:
        try:
            result = await client.run(f"Is {number} prime?", model=model, max_tokens=64)
        except RigError as error:  # one bad answer is no reason to lose the other 999
            answers[number] = f"failed: {error.code}"
        else:
            answers[number] = result.text

    patient = RetryPolicy(budget_s=3600)  # an hour for each call, its wait for a slot included
    async with (
        Client(base_url, slots=4, retry=patient) as client,
        anyio.create_task_group() as tasks,
    ):
        for number in range(count):
            tasks.start_soon(one, client, number)
    return answers


if __name__ == "__main__":
    print(anyio.run(main, sys.argv[1], sys.argv[2]))
