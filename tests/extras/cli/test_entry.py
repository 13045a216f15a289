"""The command begins with what it needs, or says what is missing."""

import importlib.util
import os
import subprocess
import sys
from importlib.machinery import ModuleSpec

import pytest

from rig.extras.cli import entry
from rig.version import VERSION


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_without_the_extra_it_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], missing: str
) -> None:
    def find(name: str) -> ModuleSpec | None:
        return None if name == missing else importlib.util.find_spec(name)

    monkeypatch.setattr(entry, "find_spec", find)
    assert entry.main(["doctor", "http://127.0.0.1:1"]) == entry.MISSING == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert missing in err
    assert entry.INSTALL in err


def test_it_runs_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "rig.extras.cli", "version"],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONWARNINGS": "error"},
    )
    assert (done.returncode, done.stdout.decode().strip()) == (0, f"rig {VERSION}")


def test_help_and_version_load_nothing_that_writes_reports() -> None:
    program = (
        "import sys; from rig.extras.cli import main\n"
        "main(['--help']); main(['version'])\n"
        "assert 'rig.extras.cli.app' in sys.modules\n"
        "assert not sys.modules.keys() & {'rig.extras.cli.page', 'rig.extras.cli.progress'}"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
