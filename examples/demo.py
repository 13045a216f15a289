"""An agent with two tools against a real model, every step printed as it happens.

    nox -s demo                                                 # llama.cpp's server, started here
    nox -s demo -- --url http://127.0.0.1:8080/v1 --model qwen3 # a server of yours

Ends with 0 when the model called a tool and answered, with 1 when it did not.
"""

import argparse
import os
import sys
import textwrap
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio

from rig import (
    ChatOptions,
    Client,
    Message,
    ReplyReceived,
    RetryEvent,
    RetryPolicy,
    RigError,
    RoundStarted,
    RunEvent,
    RunResult,
    ToolFinished,
    ToolStarted,
    tool,
)
from rig.testing import LocalModel, example_exchanges

QUESTION = "How much does an apple cost?"
SYSTEM = "You call functions to answer."
MAX_TOKENS = 512
PRICES = {"apple": "3 dollars", "banana": "2 dollars", "book": "14 dollars"}
WEATHER = {"paris": "18 degrees and sunny", "oslo": "3 degrees and cloudy"}


@tool
async def get_price(item: str) -> str:
    """Get the price of an item in a shop."""
    return next((price for name, price in PRICES.items() if name in item.lower()), "not for sale")


@tool
async def get_weather(city: str) -> str:
    """Get the current weather in a city."""
    return WEATHER.get(city.lower(), "no report from there")


@dataclass
class Endpoint:
    """Where to ask, and what a small model needs to be shown first."""

    url: str
    model: str
    api_key: str = ""
    history: tuple[Message, ...] = ()
    temperature: float | None = None
    options: ChatOptions = field(default_factory=ChatOptions)


class Narrator:
    """Prints each step of a run with the seconds it took."""

    def __init__(self) -> None:
        self._since = time.perf_counter()

    def say(self, what: str, text: str = "", *, timed: bool = False) -> None:
        """Print a line; a timed one says how long ago the last line was."""
        now = time.perf_counter()
        took = f"{now - self._since:6.2f} s" if timed else ""
        self._since = now
        first, *more = textwrap.wrap(text, 62) or [""]
        print(f"{what:<10} {first:<62} {took}".rstrip(), flush=True)
        for line in more:
            print(f"{'':<10} {line}", flush=True)

    def on_event(self, event: RunEvent) -> None:
        """Tell what happened in the run."""
        match event:
            case RoundStarted(iteration=number):
                self.say("request", f"number {number} sent")
            case ReplyReceived(reply=reply):
                calls = ", ".join(f"{call.name}({call.arguments})" for call in reply.tool_calls)
                self.say("reply", f"calls {calls}" if calls else repr(reply.text), timed=True)
            case ToolStarted(call=call):
                self.say("tool", f"{call.name} runs with {call.arguments}")
            case ToolFinished(outcome=outcome):
                self.say("result", repr(outcome.content), timed=True)
            case _:
                pass

    def on_retry(self, event: RetryEvent) -> None:
        """Tell why nothing happens."""
        self.say("retry", event.reason, timed=True)


@asynccontextmanager
async def local_endpoint(narrator: Narrator) -> AsyncGenerator[Endpoint]:
    """llama.cpp's server with SmolLM2-135M, for as long as the block runs."""
    async with LocalModel() as local:
        narrator.say("server", f"llama.cpp with {local.model} at {local.url}", timed=True)
        yield Endpoint(
            local.url,
            local.model,
            # So small a model calls tools only after it was shown how, twice for each tool.
            history=example_exchanges(),
            temperature=0.2,
            options=ChatOptions(seed=1),
        )
        narrator.say("")
    narrator.say("server", "stopped", timed=True)


@asynccontextmanager
async def own_endpoint(url: str, model: str, key_variable: str) -> AsyncGenerator[Endpoint]:
    """The user's server; the key is read from the environment so that no shell history has it."""
    yield Endpoint(url, model, api_key=os.environ[key_variable] if key_variable else "")


async def ask(endpoint: Endpoint, question: str, narrator: Narrator) -> RunResult[None]:
    """Run the agent."""
    narrator.say("question", question)
    narrator.say("")
    async with Client(
        endpoint.url,
        endpoint.api_key,
        model=endpoint.model,
        retry=RetryPolicy(max_tries=4),
        on_retry=narrator.on_retry,
    ) as client:
        return await client.run(
            question,
            system=SYSTEM,
            tools=[get_weather, get_price],
            history=endpoint.history,
            max_tokens=MAX_TOKENS,
            temperature=endpoint.temperature,
            options=endpoint.options,
            on_event=narrator.on_event,
        )


def report(result: RunResult[None], narrator: Narrator) -> int:
    """Print the result; 1 when no tool was called."""
    usage = result.usage
    narrator.say("")
    narrator.say("answer", result.text)
    narrator.say(
        "usage",
        f"{result.iterations} requests, {len(result.tool_calls)} tool calls, "
        f"{usage.prompt_tokens} prompt tokens ({usage.cached_tokens} of them cached), "
        f"{usage.completion_tokens} generated, {usage.latency_s:.2f} s waiting for the model",
    )
    if any(outcome.executed for outcome in result.tool_calls):
        return 0
    narrator.say("failed", "the model answered without calling a tool")
    return 1


async def main(arguments: argparse.Namespace) -> int:
    """Run the demo and return the exit code."""
    narrator = Narrator()
    opened = (
        own_endpoint(arguments.url, arguments.model, arguments.api_key_env)
        if arguments.url
        else local_endpoint(narrator)
    )
    try:
        async with opened as endpoint:
            return report(await ask(endpoint, arguments.question, narrator), narrator)
    except RigError as error:
        narrator.say("failed", f"{error.code}: {error}")
        if error.detail:
            print(textwrap.indent(error.detail, " " * 11))
        return 1


def parsed(words: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--url", default="", help="base URL of your server, instead of the local one"
    )
    parser.add_argument("--model", default="", help="the model's name there")
    parser.add_argument("--api-key-env", default="", help="environment variable that holds its key")
    parser.add_argument("--question", default=QUESTION)
    arguments = parser.parse_args(words)
    if arguments.url and not arguments.model:
        parser.error("--url needs --model: the name your server gives the model")
    if arguments.api_key_env and arguments.api_key_env not in os.environ:
        parser.error(f"--api-key-env: {arguments.api_key_env} is not set")
    return arguments


if __name__ == "__main__":
    sys.exit(anyio.run(main, parsed(sys.argv[1:])))
