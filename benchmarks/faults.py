"""The same broken calls to every client: what becomes of a call that the server left in the text?

    nox -s faults                        asks every client, and writes docs/benchmarks/faults.md
    python -m benchmarks.faults DRIVER   asks one, in its environment; prints a line of JSON

A run with one tool, `add`. The first reply holds the fault; once a request tells that the tool gave 42, the
model answers. What is written down is what the client's user gets.
"""

import argparse
import asyncio
import contextlib
import importlib
import json
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.canned import ANSWER, answer_body, call_body
from benchmarks.environments import CLIENTS, ENVIRONMENTS, RIG, ROOT, Client, Environments

PAGE = ROOT / "docs" / "benchmarks" / "faults.md"
MAX_REQUESTS = 12
"""Then the model gives up and answers: some clients ask for ever."""

RUN_S = 60.0
"""Seconds a client gets for one fault."""

ARGUMENTS = {"a": 40, "b": 2}
_CALL = json.dumps({"name": "add", "arguments": ARGUMENTS})


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One way in which a call arrives broken.

    Attributes:
        name: for people.
        text: of the reply, where the call leaked into it.
        arguments: of a structured call; None where the reply has none.
    """

    name: str
    text: str = ""
    arguments: str | None = None


FAULTS = (
    Fault(name="Hermes: `<tool_call>{..}</tool_call>`", text=f"<tool_call>\n{_CALL}\n</tool_call>"),
    Fault(
        name="Qwen-Coder: `<function=..><parameter=..>`",
        text="<tool_call>\n<function=add>\n<parameter=a>\n40\n</parameter>\n"
        "<parameter=b>\n2\n</parameter>\n</function>\n</tool_call>",
    ),
    Fault(name="fenced JSON, and nothing else", text=f"```json\n{_CALL}\n```"),
    Fault(name='arguments `{"a": 40, "b": 2,}`', arguments='{"a": 40, "b": 2,}'),
)


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What came of one fault.

    Attributes:
        fault: its name.
        result: what the run returned, "" where it raised.
        raised: the class of what it raised, "" where it returned.
        ran: the tool's result came back to the model.
        requests: how many were sent.
    """

    fault: str
    result: str
    raised: str
    ran: bool
    requests: int

    @property
    def verdict(self) -> str:
        """The same in a word."""
        if self.raised:
            return f"raises `{self.raised}`"
        if self.ran and self.result == ANSWER:
            return "called" if self.requests == 2 else f"called after {self.requests - 1} requests"
        if self.requests > 1:
            return f"asks {self.requests} times, never called"
        return "**returned as the answer**" if self.result else "empty answer"


class Endpoint:
    """Answers with the fault until it is told the tool's result."""

    def __init__(self, fault: Fault) -> None:
        self._fault = fault
        self.requests = 0
        self.ran = False

    def answer(self, request: bytes) -> bytes:
        """The body of the answer to a body."""
        fields = json.loads(request)
        self.requests += 1
        self.ran = self.ran or any(_is_result(turn) for turn in fields["messages"][1:])
        names = {tool["function"]["name"] for tool in fields.get("tools") or ()}
        if self.ran or self.requests >= MAX_REQUESTS:
            if "final_answer" in names:  # smolagents ends with a call
                return call_body("final_answer", {"answer": ANSWER})
            return answer_body()
        completion = json.loads(call_body("add", ARGUMENTS))
        message = completion["choices"][0]["message"]
        if self._fault.arguments is None:
            message["content"] = self._fault.text
            del message["tool_calls"]
            completion["choices"][0]["finish_reason"] = "stop"
        else:
            message["tool_calls"][0]["function"]["arguments"] = self._fault.arguments
        return json.dumps(completion).encode()

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection until the client leaves."""
        with contextlib.suppress(
            asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError
        ):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                length = int(head.partition(b"content-length:")[2].split(b"\r\n")[0])
                body = self.answer(await reader.readexactly(length))
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n")
                writer.write(b"content-length: %d\r\n\r\n%b" % (len(body), body))
        writer.close()


def _is_result(turn: dict[str, Any]) -> bool:
    """Whether a turn tells the tool's result: a tool turn, or smolagents' user turn."""
    said = json.dumps(turn.get("content") or "")
    return turn["role"] in {"tool", "tool-response", "user"} and "42" in said


async def seen(driver: str, fault: Fault) -> Seen:
    """Send one client into one fault."""
    endpoint = Endpoint(fault)
    server = await asyncio.start_server(endpoint.connected, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    client = importlib.import_module(f"benchmarks.drivers.{driver}").make(
        f"http://127.0.0.1:{port}/v1"
    )
    result, raised = "", ""
    try:
        async with asyncio.timeout(RUN_S):
            result = await client.round()
    except Exception as error:  # noqa: BLE001 whatever it is, it is the finding
        raised = type(error).__name__
    await client.close()
    server.close()
    return Seen(
        fault=fault.name,
        result=result,
        raised=raised,
        ran=endpoint.ran,
        requests=endpoint.requests,
    )


async def _print_all(driver: str) -> None:
    print(json.dumps([asdict(await seen(driver, fault)) for fault in FAULTS]), flush=True)


def _ask(client: Client, environments: Environments) -> list[Seen]:
    out = subprocess.run(  # noqa: S603 our own arguments
        [environments.python(client.environment), "-m", "benchmarks.faults", client.driver],
        check=True,
        capture_output=True,
        encoding="utf-8",
        cwd=ROOT,
        timeout=len(FAULTS) * RUN_S * 2,
    )
    return [Seen(**item) for item in json.loads(out.stdout.strip().splitlines()[-1])]


def page(rows: dict[str, list[Seen]], versions: dict[str, str]) -> str:
    """The page, from what every client did."""
    told = ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))
    lines = [
        "# Calls that arrive broken",
        "",
        "Written by `nox -s faults`: the same agent, one tool, the same broken replies, sent to",
        "every client as its documentation says. *called*: the tool ran with the right arguments, and the run",
        "ended with the model's answer. Where a library has no loop of its own, the few lines that anybody would",
        "write stand in for it.",
        "",
        f"{told}.",
        "",
        "| client | " + " | ".join(fault.name for fault in FAULTS) + " |",
        "| --- |" + " --- |" * len(FAULTS),
    ]
    lines += [
        f"| {title} | " + " | ".join(one.verdict for one in row) + " |"
        for title, row in rows.items()
    ]
    return "\n".join(lines) + "\n"


def main(folder: Path) -> None:
    """Ask every client, and write the page."""
    environments = Environments(folder)
    rows: dict[str, list[Seen]] = {}
    versions: dict[str, str] = {}
    asked = [
        client
        for client in CLIENTS
        if client.driver == RIG or not client.driver.startswith(("rig_", "raw_"))
    ]
    for environment in ENVIRONMENTS:
        if any(client.environment == environment.name for client in asked):
            environments.prepare(environment)
            versions |= environments.versions(environment)
    for client in asked:
        rows[client.title] = _ask(client, environments)
        print(client.title, *(one.verdict for one in rows[client.title]), sep=" | ")
    PAGE.write_text(page(rows, versions), encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("driver", nargs="?", help="ask this client alone, in this environment")
    parser.add_argument("--environments", type=Path, default=ROOT / ".nox" / "bench-environments")
    arguments = parser.parse_args()
    if arguments.driver:
        asyncio.run(_print_all(arguments.driver))
    else:
        main(arguments.environments)
