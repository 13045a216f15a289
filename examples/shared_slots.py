"""Somebody asks while a batch is under way: the question goes first, and its wait is shown.

python examples/shared_slots.py http://127.0.0.1:8080/v1 qwen3
"""

import sys

import anyio

from rig import ChatOptions, Client, RetryPolicy, RunEvent, SlotWait

NIGHTLY = ChatOptions(tenant="nightly", priority="batch")
ANN = ChatOptions(tenant="ann")


def show(event: RunEvent) -> None:
    if isinstance(event, SlotWait):
        print(event)  # waiting for a slot, position 1: 2 of 2 are busy


async def main(base_url: str, model: str, documents: int = 20) -> list[str]:
    done: list[str] = []

    async def summarise(client: Client, number: int) -> None:
        await client.run(f"Summarise document {number}.", max_tokens=256, options=NIGHTLY)
        done.append(f"document {number}")

    async def ask(client: Client) -> None:
        await client.run("What is 17 * 23?", max_tokens=64, options=ANN, on_event=show)
        done.append("the question")

    patient = RetryPolicy(budget_s=3600)  # an hour for each call, its wait for a slot included
    async with (
        Client(base_url, model=model, slots=2, retry=patient) as client,
        anyio.create_task_group() as tasks,
    ):
        for number in range(documents):
            tasks.start_soon(summarise, client, number)
        tasks.start_soon(ask, client)
    return done


if __name__ == "__main__":
    print(anyio.run(main, sys.argv[1], sys.argv[2]))
