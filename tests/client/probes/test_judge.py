"""All that was seen becomes one profile; what was not seen says why."""

from datetime import UTC, datetime

from rig.client.probes.facts import Facts
from rig.client.probes.finding import NOT_MEASURED
from rig.client.probes.judge import judge_profile
from rig.client.probes.known import Known
from rig.client.probes.observed import Observed
from rig.client.probes.running import Departure
from rig.model import Reply

NOW = datetime(2026, 11, 30, tzinfo=UTC)
FACTS = Facts(
    server="llama.cpp",
    build="b1-7e4c0a9",
    models=("a", "b"),
    window_tokens=2048,
    tokenizer="prompts",
)


def test_an_endpoint_nothing_is_known_of_has_a_profile_without_values() -> None:
    profile = judge_profile(
        Known(model="m"), Departure(why="not asked"), measured_at=NOW, took_s=1.23456
    )
    empty = {name for name, finding in profile.findings().items() if not finding.measured}
    assert empty == set(profile.findings()) - {"server"}
    for name in empty:
        assert profile.findings()[name].evidence.startswith(NOT_MEASURED), name
    assert profile.took_s == 1.235


def test_what_the_endpoint_says_of_itself_is_in_it() -> None:
    known = Known(model="a", facts=FACTS, seen={"plain": Observed(reply=Reply(text="4"))})
    profile = judge_profile(known, Departure(), measured_at=NOW, took_s=1)
    assert profile.server.value == "llama.cpp"
    assert profile.build.value == "b1-7e4c0a9"
    assert profile.models.value == ("a", "b")
    assert profile.window_tokens.value == 2048
    assert profile.tokenizer.value == "prompts"
    assert profile.state.value == "ready"
    assert (profile.model, profile.spoken) == ("a", "generic")
