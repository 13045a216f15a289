"""The report for people: a table and the advice on a terminal, the same as lines elsewhere."""

from itertools import groupby
from types import MappingProxyType
from typing import Final

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from rig.client.probes.advice import Advice
from rig.client.probes.profile import EndpointProfile
from rig.extras.cli.clean import shown, shown_name
from rig.extras.cli.failures import Failure
from rig.extras.cli.properties import Row, rows, unmeasured
from rig.extras.cli.report import Report

_TONES: Final = MappingProxyType({"good": "green", "bad": "red", "plain": "", "unknown": "dim"})
_SEVERITIES: Final = MappingProxyType({"error": "bold red", "warning": "yellow", "hint": "cyan"})
_CHOSEN: Final = MappingProxyType(
    {
        "named": "",
        "only": "the only one it lists",
        "first": "the first that it lists; --model NAME measures another",
        "asked": "",
    }
)
_LABEL_CHARS: Final = 22
_FINDING_CHARS: Final = 24
_MAX_OWN_CHARS: Final = 1_000
_USED_UP: Final = "were used up"


def write_page(console: Console, report: Report, *, details: bool) -> None:
    """Write a report for people to read.

    Everything is written as text: nothing in it is markup.

    Args:
        console: where to.
        report: what was found.
        details: say also what the endpoint itself said.
    """
    _write_head(console, report)
    profile = report.profile
    if profile is not None:
        if console.is_terminal:
            console.print(_table(rows(profile), details=details))
        else:
            _write_rows(console, rows(profile), details=details)
        _line(console)
        for advice in report.advice:
            _write_advice(console, advice)
    if report.failure is not None:
        _write_failure(console, report.failure, details=details)
    _line(console, _verdict(report), style="bold")


def _write_head(console: Console, report: Report) -> None:
    _line(console, f"endpoint  {shown(report.url) or '(not a URL)'}")
    if report.model is not None:
        how = _CHOSEN[report.chosen or "named"]
        _line(console, f"model     {shown_name(report.model)}" + (f" ({how})" if how else ""))
    if report.profile is not None:
        _line(console, f"measured  {_measured(report.profile)}")
    _line(console)


def _measured(profile: EndpointProfile) -> str:
    total = len(profile.findings())
    when = f"{profile.measured_at:%Y-%m-%d %H:%M:%S %Z}".rstrip()
    return f"{total - unmeasured(profile)} of {total} properties in {profile.took_s:.1f} s, {when}"


def _table(lines: tuple[Row, ...], *, details: bool) -> Table:
    table = Table(show_edge=False, pad_edge=False, expand=False)
    table.add_column("property", no_wrap=True)
    table.add_column("finding", max_width=_FINDING_CHARS)
    table.add_column("what shows it", overflow="fold")
    for _, section in groupby(lines, key=lambda row: row.section):
        for row in section:
            evidence = Text(row.evidence, style="dim" if row.tone == "unknown" else "")
            if details and row.said:
                evidence.append(f"\nit said: {row.said}", style="italic")
            table.add_row(Text(row.label), Text(row.finding, style=_TONES[row.tone]), evidence)
        table.add_section()
    return table


def _write_rows(console: Console, lines: tuple[Row, ...], *, details: bool) -> None:
    for row in lines:
        label, finding = row.label.ljust(_LABEL_CHARS), row.finding.ljust(_FINDING_CHARS)
        said = f" (it said: {row.said})" if details and row.said else ""
        _line(console, f"{label} {finding} {row.evidence}{said}")


def _write_advice(console: Console, advice: Advice) -> None:
    head = Text(f"{advice.severity}: ", style=_SEVERITIES[advice.severity])
    head.append(shown(advice.title, _MAX_OWN_CHARS), style="bold")
    parts = [Text(f"change: {shown(advice.what_to_change, _MAX_OWN_CHARS)}")]
    if advice.source:
        parts.append(Text(f"see: {shown(advice.source)}", style="dim"))
    _text(console, head)
    for part in parts:
        _text(console, part, indent=2)
    _line(console)


def _write_failure(console: Console, failure: Failure, *, details: bool) -> None:
    status = f" (http {failure.status})" if failure.status is not None else ""
    _text(console, Text(f"{failure.sentence}{status}"))
    if failure.detail:
        said = shown(failure.detail) if details else "something, which --details shows"
        _text(console, Text(f"The endpoint said: {said}", style="dim"))
    _line(console)


def _verdict(report: Report) -> str:
    found = [
        _counted(sum(advice.severity == severity for advice in report.advice), severity)
        for severity in ("error", "warning", "hint")
    ]
    counts = ", ".join(count for count in found if count)
    said = {
        "fine": "Fine: nothing has to be changed",
        "warnings": "It works, and something should be changed",
        "broken": "Agents don't work on this endpoint as it is",
        "not_measured": "Nothing could be measured",
    }[report.verdict]
    slow = report.profile is not None and _ran_out(report.profile)
    more = " Not everything was reached in time: give it longer with --timeout." if slow else ""
    return f"{said}{f' ({counts})' if counts else ''}.{more}"


def _counted(number: int, severity: str) -> str:
    return "" if not number else f"{number} {severity}{'s' if number > 1 else ''}"


def _ran_out(profile: EndpointProfile) -> bool:
    return any(_USED_UP in finding.evidence for finding in profile.findings().values())


def _line(console: Console, text: str = "", style: str = "") -> None:
    _text(console, Text(text, style=style))


def _text(console: Console, text: Text, indent: int = 0) -> None:
    """Wrapped on a terminal; elsewhere whole lines, which can be searched."""
    if console.is_terminal:
        console.print(Padding(text, (0, 0, 0, indent), expand=False))
    else:
        console.print(Text(" " * indent).append_text(text), soft_wrap=True)
