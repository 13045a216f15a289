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
    ReasoningDelta,
    Reply,
    ReplyReceived,
    RetryEvent,
    RetryPolicy,
    RigError,
    RoundStarted,
    RunEvent,
    RunResult,
    RunStream,
    TextDelta,
    ToolCallArguments,
    ToolFinished,
    ToolStarted,
    tool,
)
from rig.testing import LocalModel, example_exchanges

QUESTION = "How much does an apple cost?"
SYSTEM = "You call functions to answer."
MAX_TOKENS = 512
TICK_S = 1.0  # after which a wait is shown to go on
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
        self._terminal = sys.stdout.isatty()
        self._waits_for = ""
        self._until = 0.0
        self._pieces = 0
        self._first = 0.0

    def say(self, what: str, text: str = "", *, timed: bool = False) -> None:
        """Print a line; a timed one says how long ago the last line was."""
        now = time.perf_counter()
        took = f"{now - self._since:6.2f} s" if timed else ""
        self._since = now
        first, *more = textwrap.wrap(text, 62) or [""]
        line = f"{what:<10} {first:<62} {took}"  # as wide as what `tick` may have left there
        print(line if self._terminal else line.rstrip(), flush=True)
        for line in more:
            print(f"{'':<10} {line}", flush=True)

    def on_event(self, event: RunEvent) -> None:
        """Tell what happened in the run."""
        match event:
            case RoundStarted(iteration=number):
                self.say("request", f"number {number} sent")
                self._waits_for, self._pieces = "the first token", 0
            case RetryEvent():
                self.say("retry", event.reason, timed=True)
                self._waits_for = "the next try" if event.delay_s else "the first token"
                self._until = time.perf_counter() + event.delay_s
            case TextDelta() | ReasoningDelta() | ToolCallArguments():
                if not self._pieces:
                    self._first = time.perf_counter()
                self._pieces += 1
                self._waits_for = "the rest"
            case ReplyReceived(reply=reply):
                calls = ", ".join(f"{call.name}({call.arguments})" for call in reply.tool_calls)
                self.say("reply", f"calls {calls}" if calls else repr(reply.text), timed=True)
                self.say("", speed(reply))
            case ToolStarted(call=call):
                self.say("tool", f"{call.name} runs with {call.arguments}")
                self._waits_for = f"the tool {call.name}"
            case ToolFinished(outcome=outcome):
                self.say("result", repr(outcome.content), timed=True)
            case _:
                pass

    def tick(self) -> None:
        """Tell that a wait goes on; on a terminal in one line that is written again and again."""
        now = time.perf_counter()
        match self._waits_for:
            case "the next try":
                line = f"{max(0.0, self._until - now):.0f} s to the next try"
            case "the rest":
                # Servers send a token a piece, nearly: close enough for a number that changes.
                rate = self._pieces / max(now - self._first, 0.001)
                line = f"{self._pieces} tokens so far, {rate:.1f} a second"
            case waits_for:
                line = f"{now - self._since:.0f} s waiting for {waits_for}"
        if self._terminal:
            print(f"{'':<10} {line:<62}", end="\r", flush=True)
        else:
            print(f"{'':<10} {line}", flush=True)


def speed(reply: Reply) -> str:
    """How fast a reply came, as far as it is known."""
    usage = reply.usage
    parts: list[str] = []
    if usage.time_to_first_token_s is not None:
        parts.append(f"first token after {usage.time_to_first_token_s:.2f} s")
        writing_s = usage.generation_s or usage.latency_s - usage.time_to_first_token_s
        if usage.completion_tokens > 1 and writing_s > 0:
            parts.append(f"{usage.completion_tokens / writing_s:.0f} tokens a second")
    return ", ".join(parts)


async def narrated(run: RunStream[None], narrator: Narrator) -> RunResult[None]:
    """Tell a run to its end, and every second that it goes on."""
    events = aiter(run)
    while True:
        event: RunEvent | None = None
        with anyio.move_on_after(TICK_S) as waiting:
            event = await anext(events, None)
        if waiting.cancelled_caught:
            narrator.tick()
        elif event is None:
            return run.result()
        else:
            narrator.on_event(event)


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
    async with (
        Client(
            endpoint.url,
            endpoint.api_key,
            model=endpoint.model,
            retry=RetryPolicy(max_tries=4),
        ) as client,
        client.run_stream(
            question,
            system=SYSTEM,
            tools=[get_weather, get_price],
            history=endpoint.history,
            max_tokens=MAX_TOKENS,
            temperature=endpoint.temperature,
            options=endpoint.options,
        ) as run,
    ):
        return await narrated(run, narrator)


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
