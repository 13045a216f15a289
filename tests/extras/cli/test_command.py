"""The command between shell and person: the question for a model, the streams, Ctrl-C."""

import io
import json
import os
import signal
import sys
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
import pytest

from rig.extras.cli import command
from rig.extras.cli.command import Options, run_doctor
from rig.testing import FakeBackend, Hang, answer, raw, repeat


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


ANSWERS = {
    "a number": ("2\n", "two", "asked"),
    "a name": ("two\n", "two", "asked"),
    "nothing": ("\n", "one", "asked"),
    "wrong, then right": ("5\nthree\n2\n", "two", "asked"),
    "always wrong": ("x\n" * 9, "one", "first"),
    "the end of the input": ("", "one", "first"),
}


@pytest.mark.parametrize(("typed", "model", "chosen"), ANSWERS.values(), ids=ANSWERS)
@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
async def test_a_person_at_a_terminal_chooses_among_several_models(
    typed: str, model: str, chosen: str, fake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rig.client.probes.survey.GONE_S", 0.0)
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    monkeypatch.setattr(sys, "stderr", Terminal())
    reports: list[Any] = []

    def keep(console: Any, report: Any, *, details: bool) -> None:
        reports.append(report)

    monkeypatch.setattr(command, "write_page", keep)
    async with fake("llama.cpp", "one", "two").serve() as backend:
        await anyio.to_thread.run_sync(partial(run_doctor, Options(url=backend.url)))
    assert (reports[0].model, reports[0].chosen) == (model, chosen)


@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
async def test_machines_are_asked_nothing_even_at_a_terminal(
    fake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rig.client.probes.survey.GONE_S", 0.0)
    out = Terminal()
    monkeypatch.setattr(sys, "stdin", Terminal("2\n"))
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", Terminal())
    async with fake("llama.cpp", "one", "two").serve() as backend:
        await anyio.to_thread.run_sync(partial(run_doctor, Options(url=backend.url, as_json=True)))
    document = json.loads(out.getvalue())  # noqa: TID251  the test plays a program that reads it
    assert (document["model"], document["chosen"]) == ("one", "first")


@pytest.mark.parametrize("no_color", [True, False])
@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
async def test_colours_can_be_switched_off(
    no_color: bool, fake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rig.client.probes.survey.GONE_S", 0.0)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    out = Terminal()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    async with fake("llama.cpp").serve() as backend:
        options = Options(url=backend.url, no_color=no_color)
        await anyio.to_thread.run_sync(partial(run_doctor, options))
    assert ("\x1b[32m" in out.getvalue()) is not no_color


IN_A_TERMINAL = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    "import sys; from rig.extras.cli.entry import main; sys.exit(main())"
)
"""A shell starts jobs in the background with Ctrl-C ignored, and their children inherit that."""


@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise there")
@pytest.mark.parametrize("more", [[], ["--json"]])
@pytest.mark.parametrize("requests", [1, 2], ids=["listing", "probing"])
async def test_ctrl_c_ends_it_at_once_without_a_trace(requests: int, more: list[str]) -> None:
    first = [answer(body={"data": [{"id": "m"}]})] * (requests - 1)
    async with FakeBackend(*first, repeat(raw(Hang()))).serve() as backend:
        line = [sys.executable, "-c", IN_A_TERMINAL, "doctor", backend.url, *more]
        async with await anyio.open_process(line) as process:
            await backend.wait_for_requests(requests)
            process.send_signal(signal.SIGINT)
            with anyio.fail_after(30):
                out = b"".join([chunk async for chunk in _of(process.stdout)])
                err = b"".join([chunk async for chunk in _of(process.stderr)])
                code = await process.wait()
    assert code == 130
    assert b"Traceback" not in err
    if more:  # who reads a document gets one
        document = json.loads(out)  # noqa: TID251  as above
        assert (document["exit_code"], document["failure"]["code"]) == (130, "stopped")
    else:
        assert out == b""


def _of(stream: Any) -> Any:
    assert stream is not None
    return stream
