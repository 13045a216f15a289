"""The properties of an endpoint as people read them: their names, their values in words, good or bad. Pure.

Adding a property to the profile is adding a row here; one without a row is shown by its own name.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Literal

from rig.client.probes.finding import Finding
from rig.client.probes.profile import EndpointProfile
from rig.extras.cli.clean import shown, shown_name
from rig.late_dataclass import dataclass
from rig.messages import as_array

Tone = Literal["good", "bad", "plain", "unknown"]
"""good: as it should be. bad: something to know or to change. plain: neither. unknown: not measured."""

Words = Mapping[object, tuple[str, Tone]]
"""Values of a property, with what they mean in a few words."""

MAX_LISTED: Final = 3
"""Models that are named in the table; the rest is counted."""

NOT_MEASURED: Final = "not measured"


@dataclass(frozen=True, slots=True, kw_only=True)
class Property:
    """How one property is shown.

    Attributes:
        section: the heading it stands under.
        label: its name.
        words: its values in words, None where a value speaks for itself.
        unit: what stands behind a number.
    """

    section: str
    label: str
    words: Words | None = None
    unit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table.

    Attributes:
        section: the heading it stands under.
        label: the property.
        finding: what was found.
        evidence: what shows it.
        said: what the endpoint said to it, "" for nothing.
        tone: good or bad.
    """

    section: str
    label: str
    finding: str
    evidence: str
    said: str
    tone: Tone


_HONOURED: Final[Words] = MappingProxyType(
    {"honoured": ("yes", "good"), "ignored": ("ignored", "bad"), "refused": ("refused", "bad")}
)
_ENFORCED: Final[Words] = MappingProxyType(
    {
        "enforced": ("enforced", "good"),
        "ignored": ("ignored", "bad"),
        "refused": ("refused", "plain"),
    }
)
_GOOD: Final[Words] = MappingProxyType({True: ("yes", "good"), False: ("no", "bad")})
_NICE: Final[Words] = MappingProxyType({True: ("yes", "good"), False: ("no", "plain")})

PROPERTIES: Final[Mapping[str, Property]] = MappingProxyType(
    {
        "state": Property(
            section="Endpoint",
            label="state",
            words={
                "ready": ("ready", "good"),
                "loading": ("loading its model", "bad"),
                "model_not_found": ("no such model", "bad"),
                "failing": ("failing", "bad"),
            },
        ),
        "server": Property(section="Endpoint", label="server"),
        "build": Property(section="Endpoint", label="version"),
        "models": Property(section="Endpoint", label="models"),
        "tools": Property(
            section="Tools",
            label="tool calls",
            words={
                "native": ("work", "good"),
                "forced": ("only if required", "bad"),
                "auto_refused": ("only if required", "bad"),
                "text": ("left in the text", "bad"),
                "dropped": ("tools are dropped", "bad"),
                "refused": ("refused", "bad"),
                "none": ("never made", "bad"),
            },
        ),
        "tool_choice_required": Property(section="Tools", label="required calls", words=_HONOURED),
        "tool_choice_named": Property(section="Tools", label="calls by name", words=_HONOURED),
        "parallel_calls": Property(section="Tools", label="several at once", words=_NICE),
        "streamed_calls": Property(section="Tools", label="calls in streams", words=_GOOD),
        "arguments_lossless": Property(section="Tools", label="exact arguments", words=_GOOD),
        "json_schema": Property(section="Forms", label="JSON schema", words=_ENFORCED),
        "json_object": Property(section="Forms", label="JSON mode", words=_ENFORCED),
        "grammar": Property(section="Forms", label="grammar", words=_ENFORCED),
        "grammar_with_tools": Property(
            section="Forms", label="grammar with tools", words=_ENFORCED
        ),
        "malformed_grammar": Property(
            section="Forms",
            label="broken grammar",
            words={"refused": ("refused", "good"), "ignored": ("ignored", "bad")},
        ),
        "system_role": Property(
            section="Prompts",
            label="system prompt",
            words={
                "obeyed": ("obeyed", "good"),
                "shown": ("read, not obeyed", "plain"),
                "dropped": ("dropped", "bad"),
                "refused": ("refused", "bad"),
            },
        ),
        "reasoning": Property(
            section="Prompts",
            label="thoughts",
            words={
                "field": ("in their own field", "good"),
                "tags": ("in the text, tagged", "bad"),
                "orphan_closer": ("in the text, half a tag", "bad"),
                "none": ("none", "plain"),
            },
        ),
        "thinking_switch": Property(section="Prompts", label="thinking switch", words=_HONOURED),
        "long_prompts": Property(
            section="Prompts",
            label="prompts too long",
            words={
                "refused": ("refused", "good"),
                "cut": ("cut silently", "bad"),
                "taken": ("read whole", "good"),
            },
        ),
        "window_tokens": Property(section="Limits", label="window", unit="tokens"),
        "tokenizer": Property(
            section="Limits",
            label="token counts",
            words={
                "prompts": ("whole prompts", "good"),
                "texts": ("texts only", "plain"),
                "none": ("none", "plain"),
            },
        ),
        "max_tokens": Property(section="Limits", label="max_tokens", words=_HONOURED),
        "max_completion_tokens": Property(
            section="Limits", label="max_completion_tokens", words=_HONOURED
        ),
        "stop": Property(section="Limits", label="stop strings", words=_HONOURED),
        "repeatable": Property(section="Limits", label="repeatable", words=_NICE),
        "stream_usage": Property(
            section="Limits",
            label="usage in streams",
            words={
                "always": ("always", "good"),
                "when_asked": ("if asked for", "good"),
                "never": ("never", "bad"),
            },
        ),
        "abort_on_close": Property(section="Limits", label="stops when left", words=_GOOD),
        "latency_s": Property(section="Speed", label="short answer", unit="s"),
        "time_to_first_token_s": Property(section="Speed", label="first token", unit="s"),
        "tokens_per_s": Property(section="Speed", label="speed", unit="tokens/s"),
    }
)
"""All properties, in the order of the table."""


def rows(profile: EndpointProfile) -> tuple[Row, ...]:
    """The table of a profile.

    Args:
        profile: what was measured.
    """
    findings = profile.findings()
    names = [*(name for name in PROPERTIES if name in findings), *(findings.keys() - PROPERTIES)]
    return tuple(_row(name, findings[name]) for name in names)


def unmeasured(profile: EndpointProfile) -> int:
    """How many properties were not measured.

    Args:
        profile: what was measured.
    """
    return sum(not finding.measured for finding in profile.findings().values())


def _row(name: str, finding: Finding[Any]) -> Row:
    shape = PROPERTIES.get(name) or Property(section="More", label=name.replace("_", " "))
    text, tone = _words(shape, finding.value)
    evidence = shown(finding.evidence)
    return Row(
        section=shape.section,
        label=shape.label,
        finding=text,
        evidence=evidence.removeprefix(f"{NOT_MEASURED}: ") if tone == "unknown" else evidence,
        said=shown(finding.detail),
        tone=tone,
    )


def _words(shape: Property, value: object) -> tuple[str, Tone]:
    if value is None:
        return NOT_MEASURED, "unknown"
    entries = as_array(value)
    if entries is not None:
        return _listed([str(entry) for entry in entries]), "plain"
    if shape.words:
        return shape.words.get(value) or (shown_name(str(value)), "plain")
    number = f"{value:,}" if isinstance(value, int) else str(value)
    if isinstance(value, float):
        number = f"{value:,.3g}" if value < _EXACT_BELOW else f"{value:,.0f}"
    return f"{shown_name(number)} {shape.unit}".rstrip(), "plain"


_EXACT_BELOW: Final = 100.0


def _listed(names: list[str]) -> str:
    more = len(names) - MAX_LISTED
    shown_ones = ", ".join(shown_name(name) for name in names[:MAX_LISTED])
    if not names:
        return "none"
    return f"{shown_ones} and {more:,} more" if more > 0 else shown_ones
