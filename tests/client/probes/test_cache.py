"""Profiles in a file: only fresh ones of the same thing are believed, and no file does any harm."""

import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic_core import from_json

from rig.client.probes import cache
from rig.client.probes.cache import (
    MAX_CACHE_BYTES,
    MAX_ENTRIES,
    cache_key,
    endpoint_name,
    is_fresh,
    read_profile,
    write_profile,
)
from rig.client.probes.facts import Facts
from rig.client.probes.judge import judge_profile
from rig.client.probes.known import Known
from rig.client.probes.observed import Failure, Observed
from rig.client.probes.plan import echo_name
from rig.client.probes.profile import EndpointProfile
from rig.client.probes.running import Departure
from rig.messages import ToolCall
from rig.model import Reply

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
FACTS = Facts(server="llama.cpp", build="b1", fingerprint="f")


def profile(model: str = "m", measured_at: datetime = NOW) -> EndpointProfile:
    call = ToolCall(name="echo", arguments='{"text": "endpoint text"}')
    seen = {
        "plain": Observed(reply=Reply(text="4")),
        "grammar": Observed(failure=Failure(code="x", status=400, detail="endpoint text")),
        echo_name("plain"): Observed(reply=Reply(tool_calls=(call,))),
    }
    known = Known(model=model, seen=seen)
    return judge_profile(known, Departure(), measured_at=measured_at, took_s=1)


def test_what_was_written_is_read_again_without_the_endpoints_words(tmp_path: Path) -> None:
    file = tmp_path / "profiles.json"
    made = profile()
    write_profile(file, "key", made)
    read = read_profile(file, "key")
    assert read is not None
    assert "endpoint text" in made.model_dump_json()
    assert "endpoint text" not in file.read_text(encoding="utf-8")
    for name, finding in made.findings().items():
        assert (read.findings()[name].value, read.findings()[name].evidence) == (
            finding.value,
            finding.evidence,
        )
    assert read.tool_surface.echoes[0].lossy
    assert read_profile(file, "other") is None


def test_several_profiles_live_in_one_file(tmp_path: Path) -> None:
    file = tmp_path / "profiles.json"
    for name in ("a", "b", "a"):
        write_profile(file, name, profile(name))
    assert [read.model for key in ("a", "b") if (read := read_profile(file, key))] == ["a", "b"]


def test_the_oldest_go_when_there_are_too_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "MAX_ENTRIES", 2)
    assert MAX_ENTRIES > 2
    file = tmp_path / "profiles.json"
    for hour in (3, 1, 2):
        write_profile(file, str(hour), profile(measured_at=NOW + timedelta(hours=hour)))
    assert [hour for hour in "123" if read_profile(file, hour)] == ["2", "3"]


@pytest.mark.parametrize(
    "changed",
    [
        {"endpoint": "http://127.0.0.1:2/v1/"},
        {"model": "n"},
        {"spoken": "vllm"},
        {"facts": replace(FACTS, build="b2")},
        {"facts": replace(FACTS, fingerprint="g")},
        {"facts": replace(FACTS, server="vllm")},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_another_endpoint_model_dialect_or_build_is_another_key(changed: dict[str, Any]) -> None:
    same: dict[str, Any] = {
        "endpoint": "http://127.0.0.1:1/v1/",
        "model": "m",
        "spoken": "generic",
        "facts": FACTS,
    }
    assert cache_key(**same) == cache_key(**same)
    assert cache_key(**same) != cache_key(**{**same, **changed})


def test_nothing_of_the_url_is_in_a_name_or_a_key() -> None:
    name = endpoint_name("http://secret-host:8080/path/v1/")
    assert "secret" not in name
    assert "secret" not in cache_key(name, "m", "generic", FACTS)
    assert name != endpoint_name("http://secret-host:8081/path/v1/")


@pytest.mark.parametrize(
    ("age_s", "fresh"), [(0, True), (59.9, True), (60, False), (-1, False), (1e6, False)]
)
def test_a_profile_is_believed_for_its_time(age_s: float, fresh: bool) -> None:
    made = profile(measured_at=NOW - timedelta(seconds=age_s))
    assert is_fresh(made, NOW, 60) is fresh


def test_a_time_without_a_zone_is_not_believed() -> None:
    assert not is_fresh(profile(measured_at=datetime(2026, 11, 30, 12)), NOW, 1e9)  # noqa: DTZ001 that is the test


BROKEN: dict[str, bytes] = {
    "empty": b"",
    "cut": b'{"rig_profiles":1,"entries":{"key":{"for',
    "of another version": b'{"rig_profiles":2,"entries":{}}',
    "more fields": b'{"rig_profiles":1,"entries":{},"x":1}',
    "no entries": b'{"rig_profiles":1}',
    "an entry that is no profile": b'{"rig_profiles":1,"entries":{"key":{"format":1}}}',
    "an entry that is no object": b'{"rig_profiles":1,"entries":{"key":3}}',
    "too large": b'{"rig_profiles":1,"entries":{}}' + b" " * MAX_CACHE_BYTES,
    "deep": b'{"rig_profiles":' + b"[" * 100_000,
}


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN)
def test_a_broken_cache_is_as_good_as_none_and_is_written_anew(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "profiles.json"
    file.write_bytes(data)
    assert read_profile(file, "key") is None
    write_profile(file, "key", profile())
    assert read_profile(file, "key") is not None


FOREIGN = {
    "somebody's settings": b'{"settings": 1}',
    "a text": b"dear diary",
    "bytes": b"\x00\xff\xfe",
    "a list": b"[]",
}


@pytest.mark.parametrize("data", FOREIGN.values(), ids=FOREIGN)
def test_a_file_of_somebody_else_is_neither_read_nor_overwritten(
    tmp_path: Path, data: bytes
) -> None:
    file = tmp_path / "profiles.json"
    file.write_bytes(data)
    write_profile(file, "key", profile())
    assert read_profile(file, "key") is None
    assert file.read_bytes() == data


def test_a_path_that_can_not_be_written_is_no_error(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing" / "profiles.json", tmp_path / "f" / "x"):
        write_profile(path, "key", profile())
        assert read_profile(path, "key") is None
    assert list(tmp_path.iterdir()) == []


def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "profiles.json"
    write_profile(file, "key", profile("old"))
    before = file.read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    write_profile(file, "key", profile("new"))
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]


def test_only_its_owner_may_read_the_file(tmp_path: Path) -> None:
    file = tmp_path / "profiles.json"
    write_profile(file, "key", profile())
    assert file.stat().st_mode & 0o077 == 0
    assert list(from_json(file.read_bytes())) == ["rig_profiles", "entries"]
