"""`nox -s demo` works, and fails when it does not."""

import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from rig.testing import FakeBackend, refused_url, repeat, reply

DEMO = Path(__file__).parents[2] / "examples" / "demo.py"


async def demo(*words: str) -> subprocess.CompletedProcess[bytes]:
    with anyio.fail_after(50):
        return await anyio.run_process(
            [sys.executable, str(DEMO), *words], check=False, stderr=subprocess.STDOUT
        )


async def test_the_demo_calls_a_tool_on_the_real_model_and_answers() -> None:
    done = await demo()
    output = done.stdout.decode()
    assert done.returncode == 0, output
    assert 'get_price runs with {"item": "apple"}' in output
    assert "3 dollars" in output
    assert "stopped" in output


async def test_the_demo_fails_when_the_model_calls_no_tool() -> None:
    async with FakeBackend(repeat(reply("I would not know."))).serve() as backend:
        done = await demo("--url", backend.url, "--model", "fake")
    assert done.returncode == 1
    assert "without calling a tool" in done.stdout.decode()


async def test_the_demo_runs_on_a_server_of_the_user_s_with_a_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DEMO_KEY", "sk-planted")
    answers = reply(tool_calls=[("get_price", {"item": "apple"})]), reply("3 dollars.")
    async with FakeBackend(*answers).serve() as backend:
        done = await demo("--url", backend.url, "--model", "fake", "--api-key-env", "DEMO_KEY")
    assert done.returncode == 0, done.stdout.decode()
    assert backend.requests[0].header("authorization") == "Bearer sk-planted"
    assert b"sk-planted" not in done.stdout


async def test_the_demo_fails_with_a_sentence_when_the_server_does() -> None:
    with refused_url() as url:
        done = await demo("--url", url, "--model", "fake", "--question", "hi")
    assert done.returncode == 1
    assert "failed     upstream" in done.stdout.decode()
    assert "Traceback" not in done.stdout.decode()
