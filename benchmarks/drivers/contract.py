"""What every driver can do, and the loop one writes by hand where a library has none."""

import json
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from benchmarks.canned import PROMPT, SYSTEM

Wire = dict[str, Any]

API_KEY = "not-a-key"
"""Most SDKs refuse to start without one."""

LONG_S = 60.0
"""Time-out of everything: httpx's own 5 s for a connection of its pool would fail most of 1,000 agents."""

PARAMETERS: Wire = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
}
TOOL: Wire = {
    "type": "function",
    "function": {"name": "add", "description": "Add two integers.", "parameters": PARAMETERS},
}


class Driver(Protocol):
    """One library, used as its documentation says, with one client for all calls."""

    async def ask(self) -> str:
        """One request without tools; the answer."""
        ...

    async def round(self) -> str:
        """An agent with one tool: a request, the tool's call, a second request; the answer."""
        ...

    async def stream(self) -> int:
        """One streamed request; the number of deltas of text that were seen."""
        ...

    async def close(self) -> None:
        """Close the client."""
        ...


async def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


def question(*, model: str = "m", tools: bool = False, stream: bool = False) -> Wire:
    """The body of the first request."""
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": PROMPT}]
    body: Wire = {"model": model, "messages": messages, "max_tokens": 256}
    if tools:
        body["tools"] = [TOOL]
    if stream:
        body["stream"] = True
    return body


async def hand_written_loop(post: Callable[[Wire], Awaitable[Wire]]) -> str:
    """Ask, run what is called, ask again; no check, no limit, no retry.

    Args:
        post: sends a body and returns the completion.
    """
    body = question(tools=True)
    while True:
        message = (await post(body))["choices"][0]["message"]
        if not message.get("tool_calls"):
            return str(message["content"])
        body["messages"].append(message)
        for call in message["tool_calls"]:
            result = await add(**json.loads(call["function"]["arguments"]))
            turn = {"role": "tool", "tool_call_id": call["id"], "content": str(result)}
            body["messages"].append(turn)


async def ask_once(post: Callable[[Wire], Awaitable[Wire]]) -> str:
    """One request and the text of its answer."""
    return str((await post(question()))["choices"][0]["message"]["content"])


def delta_text(line: str | bytes) -> str:
    """The text in one line of an event stream, "" where it has none."""
    prefix: Any = b"data: " if isinstance(line, bytes) else "data: "
    done: Any = b"data: [DONE]" if isinstance(line, bytes) else "data: [DONE]"
    if not line.startswith(prefix) or line.startswith(done):
        return ""
    choices = json.loads(line[len(prefix) :])["choices"]
    return str(choices[0]["delta"].get("content") or "") if choices else ""
