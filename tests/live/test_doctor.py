"""The doctor against a real server with a real model, as people start it."""

import json
import sys

import anyio
import pytest

from rig.client.probes.profile import EndpointProfile
from rig.testing import LocalModel


@pytest.mark.timeout(120)  # the server starts too; the program bounds itself to a minute
async def test_a_real_server_is_measured_and_judged_in_time(local: LocalModel) -> None:
    done = await anyio.run_process(
        [sys.executable, "-m", "rig.extras.cli", "doctor", local.url, "--json"], check=False
    )
    assert done.stderr == b""
    document = json.loads(done.stdout)  # noqa: TID251  the test plays a program that reads it
    profile = EndpointProfile.model_validate(document["profile"])
    assert (document["model"], document["chosen"]) == (local.model, "only")
    assert done.returncode == document["exit_code"]
    assert document["verdict"] in {"fine", "warnings"}
    assert (profile.state.value, profile.server.value) == ("ready", "llama.cpp")
    assert profile.tools.value == "native"
    assert profile.json_schema.value == "enforced"
    assert not any("used up" in finding.evidence for finding in profile.findings().values())


async def test_a_key_that_is_missing_is_told() -> None:
    async with LocalModel(api_key="sk-of-this-test") as guarded:
        done = await anyio.run_process(
            [sys.executable, "-m", "rig.extras.cli", "doctor", guarded.url, "--model", "smollm2"],
            check=False,
        )
    assert done.returncode == 3
    assert b"--api-key-env" in done.stdout
