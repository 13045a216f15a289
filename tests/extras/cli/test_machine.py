"""Who waits for a document gets one, whatever went wrong."""

import importlib.util
import json
from importlib.machinery import ModuleSpec
from typing import Any, NoReturn

import pytest

from rig.extras.cli import app, command, entry
from rig.extras.cli.command import Options
from rig.extras.cli.machine import wants_json

URL = "http://127.0.0.1:1/v1"


def read(out: str) -> Any:
    assert out.isascii()
    return json.loads(out)  # noqa: TID251  the test plays a program that reads it


WRONG = {
    "no number": ([URL, "--json", "--timeout", "abc"], URL, "--timeout"),
    "no number behind an equals sign": ([URL, "--timeout=abc", "--json"], URL, "--timeout"),
    "a number that is none": ([URL, "--json", "--timeout", "nan"], URL, "--timeout"),
    "a number out of bounds": ([URL, "--json", "--timeout", "0"], URL, "--timeout"),
    "an unknown option": ([URL, "--json", "--key", "sk-secret"], URL, "--key"),
    "no value": ([URL, "--json", "--model"], URL, ""),
    "no URL": (["--json"], "", "URL"),
    "two URLs": ([URL, "http://user:secret@h", "--json"], URL, ""),
    "no URL in the URL": (["localhost:8080", "--json"], "", "URL"),
    "another scheme": (["ftp://h/v1", "--json"], "ftp://h/v1", "URL"),
    "a key in the URL": (["http://user:secret@127.0.0.1:1", "--json"], "http://127.0.0.1:1", ""),
    "a variable that is not set": ([URL, "--json", "--api-key-env", "RIG_NO_SUCH"], URL, "--api-key-env"),
    "no model": ([URL, "--json", "--model", " "], URL, "--model"),
    "an unknown dialect": ([URL, "--json", "--dialect", "x"], URL, "dialect"),
    "no folder": ([URL, "--json", "--cache", "/no/such/folder/f"], URL, "--cache"),
}  # fmt: skip


@pytest.mark.parametrize(("args", "url", "named"), WRONG.values(), ids=WRONG)
def test_wrong_use_is_a_document_too(
    args: list[str], url: str, named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert app.run(["doctor", *args]) == app.USAGE
    out = capsys.readouterr().out
    found = read(out)
    assert (found["verdict"], found["exit_code"]) == ("not_measured", app.USAGE)
    assert found["url"] in {url, ""}
    assert found["failure"]["code"] in {"usage", "invalid_request"}
    assert named in found["failure"]["sentence"]
    assert "secret" not in out


def test_a_fault_of_its_own_is_a_document_without_its_message(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = "what the endpoint said"

    def fail(options: Options) -> NoReturn:
        raise ValueError(said)

    monkeypatch.setattr(command, "run_doctor", fail)
    assert app.run(["doctor", URL, "--json"]) == app.USAGE
    out, err = capsys.readouterr()
    assert read(out)["failure"]["code"] == "fault"
    assert said not in out + err


def test_ctrl_c_is_a_document(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(options: Options) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "run_doctor", stop)
    assert app.run(["doctor", URL, "--json"]) == app.STOPPED
    found = read(capsys.readouterr().out)
    assert (found["exit_code"], found["failure"]["code"]) == (app.STOPPED, "stopped")


def test_a_missing_extra_is_a_document(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def find(name: str) -> ModuleSpec | None:
        return None if name == "rich" else importlib.util.find_spec(name)

    monkeypatch.setattr(entry, "find_spec", find)
    assert entry.main(["doctor", URL, "--json"]) == entry.MISSING
    found = read(capsys.readouterr().out)
    assert (found["exit_code"], found["failure"]["code"]) == (entry.MISSING, "missing_extra")
    assert entry.INSTALL in found["failure"]["sentence"]


@pytest.mark.parametrize(
    "args",
    [["doctor", URL], ["version", "--json"], ["doctor", "--", "--json"], ["doctor", "--help", "--json"]],
    ids=str,
)  # fmt: skip
def test_nobody_else_gets_one(args: list[str]) -> None:
    assert not wants_json(args)
