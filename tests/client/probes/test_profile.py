"""A profile is a value: frozen, to JSON and back, with its findings by name."""

from datetime import UTC, datetime

import pytest
from pydantic import ValidationError

from rig.agent.capabilities import Capabilities, Profiled
from rig.client.probes.facts import Facts
from rig.client.probes.finding import Enforcement, Finding
from rig.client.probes.judge import judge_profile
from rig.client.probes.judge_tools import ToolSupport
from rig.client.probes.known import Known
from rig.client.probes.observed import Failure, Observed
from rig.client.probes.profile import EndpointProfile
from rig.client.probes.running import Departure
from rig.model import Reply


def profile() -> EndpointProfile:
    known = Known(
        model="m",
        facts=Facts(server="vllm", models=("m",), window_tokens=4096, tokenizer="texts"),
        seen={
            "plain": Observed(reply=Reply(text="4"), elapsed_s=0.1),
            "grammar": Observed(failure=Failure(code="x", status=400, detail="its words")),
        },
    )
    return judge_profile(known, Departure(), measured_at=datetime.now(UTC), took_s=1.0)


def test_a_profile_goes_to_json_and_back() -> None:
    made = profile()
    assert EndpointProfile.model_validate_json(made.model_dump_json()) == made
    assert EndpointProfile.model_validate(made.model_dump()) == made


def test_a_profile_can_not_be_changed() -> None:
    with pytest.raises(ValidationError):
        profile().model = "other"  # type: ignore[misc]  # that is the test


def test_the_findings_are_all_fields_that_are_findings() -> None:
    made = profile()
    fields = EndpointProfile.model_fields
    others = {"format", "model", "spoken", "measured_at", "took_s", "tool_surface"}
    assert set(made.findings()) == set(fields) - others
    assert all(isinstance(finding, Finding) for finding in made.findings().values())
    assert next(iter(made.findings())) == "state"


def test_the_representation_shows_no_words_of_the_endpoint() -> None:
    made = profile()
    assert made.grammar.detail == "its words"
    assert "its words" not in repr(made) + str(made)


@pytest.mark.parametrize(
    ("support", "native"),
    [
        ("native", True),
        ("forced", False),
        ("auto_refused", False),
        ("text", False),
        ("dropped", False),
        ("refused", False),
        ("none", False),
        (None, None),
    ],
)
def test_only_calls_that_come_unforced_count_as_tools_for_a_run(
    support: ToolSupport | None, native: bool | None
) -> None:
    finding = Finding[ToolSupport](value=support, evidence="x")
    made = profile().model_copy(update={"tools": finding})
    assert made.capabilities.native_tools is native


@pytest.mark.parametrize(
    ("found", "known"), [("enforced", True), ("ignored", False), ("refused", False), (None, None)]
)
def test_a_run_relies_on_a_form_that_is_enforced(
    found: Enforcement | None, known: bool | None
) -> None:
    finding = Finding[Enforcement](value=found, evidence="x")
    made = profile().model_copy(update={"grammar": finding, "json_schema": finding})
    assert made.capabilities == Capabilities(
        native_tools=made.capabilities.native_tools,
        grammar=known,
        json_schema=known,
        context_tokens=made.window_tokens.value,
    )
    assert isinstance(made, Profiled)
