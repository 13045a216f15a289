"""One client for a whole FastAPI service: opened at start-up, shared by all requests.

RIG_URL=http://127.0.0.1:8080/v1 RIG_MODEL=qwen3 uvicorn examples.fastapi_service:app
"""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TypedDict

from fastapi import FastAPI, HTTPException, Request
from pydantic import BaseModel

from rig import Client, RigError


class State(TypedDict):
    client: Client


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncGenerator[State]:
    async with Client(os.environ["RIG_URL"], model=os.environ["RIG_MODEL"]) as client:
        yield {"client": client}


app = FastAPI(lifespan=lifespan)


class Question(BaseModel):
    text: str


@app.post("/ask")
async def ask(question: Question, request: Request) -> dict[str, str]:
    client: Client = request.state.client
    try:
        result = await client.run(question.text, max_tokens=512)
    except RigError as error:
        raise HTTPException(503 if error.retryable else 502, error.code) from None
    return {"answer": result.text}
