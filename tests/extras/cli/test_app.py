"""What can be given on the command line, and what wrong use ends in."""

import io
import sys
from typing import NoReturn

import pytest

from rig.extras.cli import app, command
from rig.extras.cli.command import Options

WRONG = {
    "no command": [],
    "an unknown command": ["diagnose"],
    "no URL": ["doctor"],
    "two URLs": ["doctor", "http://127.0.0.1:1", "http://127.0.0.1:2"],
    "an unknown option": ["doctor", "http://127.0.0.1:1", "--key", "x"],
    "no number": ["doctor", "http://127.0.0.1:1", "--timeout", "soon"],
}


@pytest.mark.parametrize("args", WRONG.values(), ids=WRONG)
def test_wrong_use_has_its_own_exit_code_and_leaves_stdout_empty(
    args: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert app.run(args) == app.USAGE
    out, err = capsys.readouterr()
    assert "rig" in out + err
    if args:
        assert out == ""


def test_help_ends_well(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["doctor", "--help"]) == 0
    out = capsys.readouterr().out
    for option in ("--model", "--api-key-env", "--dialect", "--json", "--no-color", "--timeout"):
        assert option in out


def test_every_option_reaches_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Options] = []

    def take(options: Options) -> int:
        seen.append(options)
        return 2

    monkeypatch.setattr(command, "run_doctor", take)
    line = "doctor u --model m --api-key-env K --dialect vllm --json --details --no-color"
    assert app.run([*line.split(), "--timeout", "5", "--cache", "f", "--refresh"]) == 2
    (options,) = seen
    assert (options.url, options.model, options.api_key_env) == ("u", "m", "K")
    assert (options.dialect, options.timeout_s, str(options.cache)) == ("vllm", 5.0, "f")
    assert all((options.as_json, options.details, options.no_color, options.refresh))


def test_the_url_is_not_in_the_representation_of_the_options() -> None:
    assert "secret" not in repr(Options(url="http://user:secret@host"))


def test_a_fault_of_its_own_is_no_verdict_and_repeats_no_message(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = "what the endpoint said"

    def fail(options: Options) -> NoReturn:
        raise ValueError(said)

    monkeypatch.setattr(command, "run_doctor", fail)
    assert app.run(["doctor", "http://127.0.0.1:1"]) == app.USAGE
    out, err = capsys.readouterr()
    assert out == ""
    assert "ValueError" in err
    assert said not in err


def test_ctrl_c_is_told_by_the_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(options: Options) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "run_doctor", stop)
    assert app.run(["doctor", "http://127.0.0.1:1"]) == app.STOPPED
    assert "Traceback" not in capsys.readouterr().err


def test_a_terminal_that_knows_few_letters_is_written_to_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bytes_out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(bytes_out, encoding="ascii"))
    assert app.run(["version"]) == 0
    sys.stdout.write("caf\u00e9")
    sys.stdout.flush()
    assert b"caf\\xe9" in bytes_out.getvalue()
