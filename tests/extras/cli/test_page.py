"""The page for people: a table on a terminal, whole lines elsewhere, and nothing a stranger wrote acts."""

import io
from typing import Any

import pytest
from rich.console import Console

from rig.client.probes.finding import Finding
from rig.client.probes.profile import EndpointProfile
from rig.extras.cli.failures import Failure
from rig.extras.cli.page import write_page
from rig.extras.cli.report import Report

EVIL = "\x1b[2J\x1b]0;owned\x07[bold red]x[/bold red] :smile:"
SEEN = "[bold red]x[/bold red] :smile:"


def profile(model: str = "m", detail: str = "", **values: Any) -> EndpointProfile:
    found = {
        name: Finding[Any](value=values.get(name), evidence="seen", detail=detail).model_dump()
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


def written(report: Report, *, details: bool = False, **options: Any) -> str:
    file = io.StringIO()
    shape: dict[str, Any] = {"width": 100, "color_system": None, **options}
    console = Console(file=file, markup=False, emoji=False, highlight=False, **shape)
    write_page(console, report, details=details)
    return file.getvalue()


def report(**values: Any) -> Report:
    return Report.of_profile("http://h/v1", "first", profile(**{"state": "ready", **values}))


SURFACES: dict[str, dict[str, Any]] = {
    "a terminal": {"force_terminal": True},
    "a narrow one": {"force_terminal": True, "width": 40},
    "a pipe": {"force_terminal": False},
}


@pytest.mark.parametrize("options", SURFACES.values(), ids=SURFACES)
def test_findings_then_advice_then_the_verdict(options: dict[str, Any]) -> None:
    page = written(report(server="vllm", tools="text", window_tokens=512), **options)
    order = [
        "http://h/v1",
        "tool calls",
        "error: ",
        "--tool-call-parser",
        "hint: ",
        "1 error, 2 hints",
    ]
    places = [" ".join(page.split()).index(word) for word in order]
    assert places == sorted(places)


def test_the_most_severe_advice_comes_first() -> None:
    page = written(report(window_tokens=512, stop="ignored", tools="dropped"))
    assert page.index("error: ") < page.index("warning: ") < page.index("hint: ")


def test_a_property_is_one_line_where_there_is_no_terminal() -> None:
    lines = written(report(tools="native"), width=20).splitlines()
    (line,) = [line for line in lines if line.startswith("tool calls")]
    assert line.split() == ["tool", "calls", "work", "seen"]


@pytest.mark.parametrize("options", SURFACES.values(), ids=SURFACES)
@pytest.mark.parametrize("details", [False, True])
def test_what_strangers_wrote_is_text(options: dict[str, Any], details: bool) -> None:
    values = {"models": (EVIL,), "build": EVIL, "state": "model_not_found"}
    hostile = Report.of_profile("http://h/v1", "only", profile(EVIL, detail=EVIL, **values))
    page = written(hostile, details=details, **options)
    assert "\x1b]0" not in page
    assert "\x1b[2J" not in page
    assert "\x07" not in page
    assert "[bold red]x" in page


def test_a_flood_is_cut() -> None:
    flood = Report.of_profile(
        "http://h/v1", "only", profile("m" * 100_000, models=("n" * 100_000,), state="ready")
    )
    assert len(written(flood)) < 10_000


def test_what_the_endpoint_said_is_shown_only_on_request() -> None:
    said = Report.of_profile(
        "http://h/v1", "only", profile(detail="out of memory", state="failing")
    )
    assert "out of memory" not in written(said)
    assert "out of memory" in written(said, details=True)
    failed = Report.of_failure("u", Failure(code="x", sentence="No.", detail="out of memory"))
    assert "out of memory" not in written(failed)
    assert "--details" in written(failed)
    assert "out of memory" in written(failed, details=True)


def test_a_failure_is_a_sentence_with_its_status() -> None:
    page = written(Report.of_failure("http://h/v1", Failure(code="x", sentence="No.", status=401)))
    assert "No. (http 401)" in page


def test_a_model_that_was_taken_as_the_first_says_how_to_take_another() -> None:
    assert "--model NAME" in written(report())
    named = Report.of_profile("http://h/v1", "named", profile(state="ready"))
    assert "--model NAME" not in written(named)


def test_running_out_of_time_is_said() -> None:
    slow = profile(state="ready").model_copy(
        update={"stop": Finding[Any].unmeasured("the 5 s of the profile were used up")}
    )
    page = written(Report.of_profile("http://h/v1", "only", slow))
    assert "--timeout" in page.splitlines()[-1]


def test_colours_are_only_what_the_console_allows() -> None:
    colours = written(report(), force_terminal=True, color_system="standard")
    assert "\x1b[32m" in colours
    plain = written(report(), force_terminal=True, color_system="standard", no_color=True)
    assert "\x1b[32m" not in plain
