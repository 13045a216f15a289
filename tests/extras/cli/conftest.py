"""The command against fake servers: the fakes of the probes' tests, on real loopback sockets."""

import importlib.util
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

from rig.extras.cli import main
from rig.testing import Answer, FakeBackend, ReceivedRequest, answer, repeat

_FAKES = Path(__file__).parents[2] / "client" / "probes" / "conftest.py"


def _fakes() -> Any:
    name = "rig_probe_fakes"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, _FAKES)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    code: int
    out: str
    err: str


Run = Callable[..., Awaitable[Outcome]]
Fake = Callable[..., FakeBackend]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the command in a thread of its own, beside the server it talks to."""
    monkeypatch.setattr("rig.client.probes.survey.GONE_S", 0.0)  # no wait after a stream is left
    for name in ("COLUMNS", "FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)

    async def command(*args: str) -> Outcome:
        code = await anyio.to_thread.run_sync(partial(main, args))
        out, err = capfd.readouterr()
        return Outcome(code, out, err)

    return command


@pytest.fixture
def fake() -> Fake:
    """Makes the server of a kind; `models` are the names it lists, and every name is answered."""

    def make(kind: str, *models: str) -> FakeBackend:
        fakes = _fakes()
        served = fakes.Served(fakes.KINDS[kind]())

        def respond(request: ReceivedRequest) -> Answer:
            if models and request.path == "/v1/models":
                data = [{"id": name, "owned_by": served.kind.owner} for name in models]
                return answer(body={"object": "list", "data": data})
            if request.path == "/slots" and served.kind.stops:
                return answer(body=[])  # over sockets a closed stream is seen a moment later
            found: Answer = served.respond(request)
            return found

        return FakeBackend(repeat(respond))

    return make
