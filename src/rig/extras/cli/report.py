"""What the doctor found, as one value: the JSON document for machines, the verdict, the exit code. No I/O."""

import json
from collections.abc import Sequence
from types import MappingProxyType
from typing import Final, Literal, Self

from pydantic import BaseModel, ConfigDict

from rig.client.probes.advice import Advice, advise
from rig.client.probes.profile import EndpointProfile
from rig.extras.cli.choosing import Chosen
from rig.extras.cli.failures import Failure
from rig.version import VERSION

REPORT_FORMAT: Final = 1
"""The form of the document. It grows when a field goes or changes its meaning; new fields don't change it."""

Verdict = Literal["fine", "warnings", "broken", "not_measured"]
"""fine: nothing to change, or only hints. warnings: something fails without a word. broken: agents don't
work there. not_measured: nothing could be found out."""

EXIT_CODES: Final = MappingProxyType({"fine": 0, "warnings": 1, "broken": 2, "not_measured": 3})
"""By verdict."""

_UNMEASURED: Final = frozenset({None, "loading", "model_not_found"})


class Report(BaseModel):
    """What the doctor found.

    Attributes:
        rig_doctor: the form of the document.
        rig_version: the version that measured.
        url: the endpoint, without user, password and query.
        verdict: how it is with the endpoint, in one word.
        exit_code: the exit code of the process.
        model: the model that was measured, None where it did not come to that.
        chosen: how the model was chosen, None where it was not.
        failure: why nothing could be measured, None where something was.
        profile: what was measured, None where nothing was.
        advice: what to change, the most severe first.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    rig_doctor: int = REPORT_FORMAT
    rig_version: str = VERSION
    url: str
    verdict: Verdict
    exit_code: int
    model: str | None = None
    chosen: Chosen | None = None
    failure: Failure | None = None
    profile: EndpointProfile | None = None
    advice: tuple[Advice, ...] = ()

    @classmethod
    def of_profile(cls, url: str, chosen: Chosen, profile: EndpointProfile) -> Self:
        """The report of a profile.

        Args:
            url: the endpoint, fit to be shown.
            chosen: how the model was chosen.
            profile: what was measured.
        """
        advice = advise(profile)
        verdict = _verdict(profile, advice)
        return cls(
            url=url,
            verdict=verdict,
            exit_code=EXIT_CODES[verdict],
            model=profile.model,
            chosen=chosen,
            profile=profile,
            advice=advice,
        )

    @classmethod
    def of_failure(
        cls,
        url: str,
        failure: Failure,
        *,
        model: str | None = None,
        chosen: Chosen | None = None,
        profile: EndpointProfile | None = None,
    ) -> Self:
        """The report where nothing could be measured.

        Args:
            url: the endpoint, fit to be shown.
            failure: why.
            model: the model, where it came to one.
            chosen: how it was chosen.
            profile: what was found out all the same.
        """
        return cls(
            url=url,
            verdict="not_measured",
            exit_code=EXIT_CODES["not_measured"],
            model=model,
            chosen=chosen,
            failure=failure,
            profile=profile,
        )

    def to_json(self) -> str:
        """The document for machines: plain ASCII, so that nothing in it can reach a terminal."""
        document = self.model_dump(mode="json")
        return json.dumps(document, indent=2, ensure_ascii=True, allow_nan=False)


def _verdict(profile: EndpointProfile, advice: Sequence[Advice]) -> Verdict:
    if profile.state.value in _UNMEASURED:
        return "not_measured"
    severities = {piece.severity for piece in advice}
    if "error" in severities:
        return "broken"
    return "warnings" if "warning" in severities else "fine"
