"""A typed result: the answer is parsed into a pydantic model, and asked for again when it is not one.

python examples/typed_output.py http://127.0.0.1:8080/v1 qwen3
"""

import sys

import anyio
from pydantic import BaseModel

from rig import Client


class Invoice(BaseModel):
    customer: str
    total: float


async def main(base_url: str, model: str) -> Invoice | None:
    async with Client(base_url) as client:
        result = await client.run(
            "Invoice of ACME Ltd: two licences at 19.50 each.",
            model=model,
            output=Invoice,
            max_tokens=512,
        )
        print(result.output)
        return result.output


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], sys.argv[2])
