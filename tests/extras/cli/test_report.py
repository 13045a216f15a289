"""The document for machines keeps its form, and the exit code follows the verdict."""

import json
from typing import Any

import pytest

from rig.client.probes.finding import Finding
from rig.client.probes.profile import EndpointProfile
from rig.extras.cli.failures import Failure
from rig.extras.cli.report import EXIT_CODES, REPORT_FORMAT, Report

HEALTHY: dict[str, Any] = {
    "state": "ready",
    "server": "generic",
    "models": ("m",),
    "tools": "native",
}


def profile(model: str = "m", **values: Any) -> EndpointProfile:
    found = {
        name: Finding[Any](value=values.get(name), evidence="seen").model_dump()
        for name, field in EndpointProfile.model_fields.items()
        if isinstance(field.annotation, type) and issubclass(field.annotation, Finding)
    }
    return EndpointProfile.model_validate(
        {
            **found,
            "model": model,
            "spoken": "generic",
            "measured_at": "2026-11-30T00:00:00Z",
            "took_s": 1.0,
            "tool_surface": {"model": model, "echoes": []},
        }
    )


VERDICTS: dict[str, tuple[dict[str, Any], str]] = {
    "all well": ({}, "fine"),
    "hints only": ({"window_tokens": 2048}, "fine"),
    "a warning": ({"stop": "ignored"}, "warnings"),
    "a warning and hints": ({"stop": "ignored", "window_tokens": 2048}, "warnings"),
    "no tools": ({"tools": "dropped"}, "broken"),
    "failing": ({"state": "failing"}, "broken"),
    "loading": ({"state": "loading"}, "not_measured"),
    "no such model": ({"state": "model_not_found"}, "not_measured"),
    "not reached": ({"state": None}, "not_measured"),
}


@pytest.mark.parametrize(("values", "verdict"), VERDICTS.values(), ids=VERDICTS)
def test_the_verdict_is_the_worst_of_the_advice(values: dict[str, Any], verdict: str) -> None:
    report = Report.of_profile("http://h/v1", "only", profile(**{**HEALTHY, **values}))
    assert report.verdict == verdict
    assert report.exit_code == EXIT_CODES[verdict]


def test_a_failure_is_never_a_verdict_on_the_endpoint() -> None:
    report = Report.of_failure("http://h/v1", Failure(code="upstream", sentence="No."))
    assert (report.verdict, report.exit_code) == ("not_measured", 3)


def test_the_exit_codes_stay_the_same() -> None:
    assert dict(EXIT_CODES) == {"fine": 0, "warnings": 1, "broken": 2, "not_measured": 3}


def test_the_document_has_the_documented_fields() -> None:
    """Whoever takes a field away, or changes what it means, raises `REPORT_FORMAT`."""
    document = json.loads(  # noqa: TID251  the test plays a program that reads it
        Report.of_profile("http://h/v1", "only", profile(stop="ignored", **HEALTHY)).to_json()
    )
    assert document["rig_doctor"] == REPORT_FORMAT == 1
    assert [*document] == [
        "rig_doctor",
        "rig_version",
        "url",
        "verdict",
        "exit_code",
        "model",
        "chosen",
        "failure",
        "profile",
        "advice",
    ]
    assert [*document["advice"][0]] == ["severity", "topic", "title", "what_to_change", "source"]
    assert document["profile"]["stop"] == {"value": "ignored", "evidence": "seen", "detail": ""}
    assert EndpointProfile.model_validate(document["profile"]) == profile(stop="ignored", **HEALTHY)


def test_the_document_of_a_failure_has_the_same_fields() -> None:
    failure = Failure(code="upstream", reason="dns", sentence="No.", detail="x")
    document = json.loads(Report.of_failure("", failure).to_json())  # noqa: TID251  as above
    assert document["failure"] == {
        "code": "upstream",
        "sentence": "No.",
        "reason": "dns",
        "status": None,
        "detail": "x",
    }
    assert document["profile"] is document["model"] is document["chosen"] is None
    assert document["advice"] == []


def test_a_name_goes_through_the_document_exactly_and_only_as_printable_ascii() -> None:
    name = "\x1b[31m\x7f\x9b\u202e[red]caf\u00e9\n"
    text = Report.of_profile("http://h/v1", "only", profile(name, **HEALTHY)).to_json()
    assert all(" " <= char <= "~" or char == "\n" for char in text)
    assert json.loads(text)["model"] == name  # noqa: TID251  as above
