"""A finding holds a value or says why there is none; what the endpoint said is bounded and kept apart."""

import pytest
from pydantic import ValidationError

from rig.client.probes.finding import MAX_ENDPOINT_CHARS, NOT_MEASURED, Finding


def test_a_finding_without_a_value_says_why() -> None:
    finding = Finding[int].unmeasured("nobody asked")
    assert finding.value is None
    assert not finding.measured
    assert finding.evidence == NOT_MEASURED + "nobody asked"


@pytest.mark.parametrize("value", [0, False, ""])
def test_a_value_that_is_false_is_measured(value: object) -> None:
    assert Finding[object](value=value, evidence="x").measured


def test_what_the_endpoint_said_is_one_bounded_line_and_not_in_the_representation() -> None:
    finding = Finding[int](value=1, evidence="x", detail="secret\x1b[31m\n" * 1000)
    assert len(finding.detail) <= MAX_ENDPOINT_CHARS
    assert "\n" not in finding.detail
    assert "\x1b" not in finding.detail
    assert "secret" not in repr(finding) + str(finding)


def test_a_finding_goes_to_json_and_back() -> None:
    finding = Finding[tuple[str, ...]](value=("a", "b"), evidence="x", detail="y")
    assert Finding[tuple[str, ...]].model_validate_json(finding.model_dump_json()) == finding


def test_a_foreign_value_is_refused_without_repeating_it() -> None:
    with pytest.raises(ValidationError) as caught:
        Finding[int].model_validate({"value": "secret", "evidence": "x"})
    assert "secret" not in str(caught.value)
