"""Every property of the profile has a name and its values words."""

from types import UnionType
from typing import Any, Literal, get_args, get_origin

import pytest

from rig.client.probes.finding import Finding
from rig.client.probes.profile import EndpointProfile
from rig.extras.cli.properties import PROPERTIES, rows, unmeasured

FINDINGS = {
    name: field.annotation
    for name, field in EndpointProfile.model_fields.items()
    if isinstance(field.annotation, type) and issubclass(field.annotation, Finding)
}


def values_of(name: str) -> list[Any]:
    """The values of a finding that are an enumeration, by its type."""
    annotation: Any = FINDINGS[name]
    kind = annotation.model_fields["value"].annotation
    options = get_args(kind) if get_origin(kind) is UnionType or get_args(kind) else (kind,)
    found: list[Any] = []
    for option in options:
        found += get_args(option) if get_origin(option) is Literal else ()
        found += (True, False) if option is bool else ()
    return found


def test_every_finding_has_a_row_and_no_row_is_left_over() -> None:
    assert set(PROPERTIES) == set(FINDINGS)


@pytest.mark.parametrize("name", [name for name in FINDINGS if values_of(name)])
def test_every_value_has_words(name: str) -> None:
    assert set(PROPERTIES[name].words or ()) == set(values_of(name))


def test_the_properties_of_a_section_stand_together() -> None:
    sections = [shape.section for shape in PROPERTIES.values()]
    assert sections == sorted(sections, key=sections.index)


def profile(**found: Finding[Any]) -> EndpointProfile:
    nothing = {name: {"evidence": "not measured: nobody asked"} for name in FINDINGS}
    return EndpointProfile.model_validate(
        {
            **nothing,
            "model": "m",
            "spoken": "generic",
            "measured_at": "2026-11-30T00:00:00Z",
            "took_s": 1.0,
            "tool_surface": {"model": "m", "echoes": []},
            **{name: finding.model_dump() for name, finding in found.items()},
        }
    )


def row(name: str, value: Any, **more: Any) -> Any:
    found = profile(**{name: Finding[Any](value=value, evidence="seen", **more)})
    return next(line for line in rows(found) if line.label == PROPERTIES[name].label)


VALUES = {
    "a word": ("tools", "native", "work", "good"),
    "a bad one": ("long_prompts", "cut", "cut silently", "bad"),
    "no": ("abort_on_close", False, "no", "bad"),
    "a number": ("window_tokens", 131072, "131,072 tokens", "plain"),
    "a fraction": ("latency_s", 0.04871, "0.0487 s", "plain"),
    "a large one": ("tokens_per_s", 163.94, "164 tokens/s", "plain"),
    "nothing": ("tools", None, "not measured", "unknown"),
    "one name": ("models", ("a",), "a", "plain"),
    "no names": ("models", (), "none", "plain"),
    "many names": ("models", tuple("abcde"), "a, b, c and 2 more", "plain"),
    "a hostile name": ("models", ("\x1b[31m[b]a",), "[b]a", "plain"),
    "a hostile version": ("build", "\x1b]0;x\x07" + "v" * 500, "v" * 77 + "...", "plain"),
}


@pytest.mark.parametrize(("name", "value", "text", "tone"), VALUES.values(), ids=VALUES)
def test_a_value_is_shown_in_words(name: str, value: Any, text: str, tone: str) -> None:
    found = row(name, value)
    assert (found.finding, found.tone) == (text, tone)


def test_what_was_not_measured_says_why_without_saying_it_twice() -> None:
    (line, *_) = rows(profile())
    assert (line.finding, line.evidence) == ("not measured", "nobody asked")
    assert unmeasured(profile()) == len(FINDINGS)


def test_what_the_endpoint_said_is_kept_apart() -> None:
    found = row("grammar", "refused", detail="\x1b[31mno")
    assert found.said
    assert "\x1b" not in found.said
    assert found.said not in found.evidence
