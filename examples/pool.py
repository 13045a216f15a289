"""Several servers as one: whoever is well answers, and what happens to the others is told.

python examples/pool.py qwen3 http://10.0.0.1:8080/v1 http://10.0.0.2:8080/v1
"""

import sys

import anyio

from rig import Endpoint, Pool, RunEvent


def tell(event: RunEvent) -> None:
    print(f"  ({event})")


async def main(model: str, *urls: str) -> list[str]:
    endpoints = [
        Endpoint(url, name=f"server {number}", slots=4) for number, url in enumerate(urls, start=1)
    ]
    answers: list[str] = []
    async with Pool(endpoints, model=model, on_event=tell) as pool:
        for number in range(3):
            result = await pool.run(f"Is {number} prime?", max_tokens=64)
            answers.append(result.text)
            print(result.text)
        for status in pool.endpoints:
            print(f"{status.name}: {status.state}, {status.latency_s or 0:.2f} s")
    return answers


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], *sys.argv[2:])
