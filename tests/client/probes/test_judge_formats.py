"""A form is enforced when the answer has it against the prompt's wish."""

from collections.abc import Callable

import pytest

from rig.client.probes.finding import Finding
from rig.client.probes.judge_formats import (
    judge_grammar_alone,
    judge_grammar_with_tools,
    judge_json_object,
    judge_malformed,
    judge_schema,
)
from rig.client.probes.known import Known
from rig.client.probes.observed import PROBE_TIMEOUT, Failure, Observed
from rig.model import FinishReason, Reply

Judge = Callable[[Known], Finding[str]]


def said(text: str, finish: FinishReason = "stop", reasoning: str = "") -> Observed:
    return Observed(reply=Reply(text=text, finish_reason=finish, reasoning=reasoning))


REFUSED = Observed(failure=Failure(code="server_error", status=500, detail="both"))
LATE = Observed(failure=Failure(code=PROBE_TIMEOUT))

SCHEMAS: dict[str, tuple[Observed, str | None]] = {
    "obeyed": (said('{"fruit": "kiwi"}'), "enforced"),
    "obeyed, spaced": (said('{\n  "fruit":\t"kiwi"\n}\n'), "enforced"),
    "the prompt's own wish": (said("hello"), "ignored"),
    "JSON of another form": (said('{"text": "hello"}'), "ignored"),
    "a fence around it": (said('```json\n{"fruit": "kiwi"}\n```'), "ignored"),
    "more than it allows": (said('{"fruit": "kiwi", "text": "hello"}'), "ignored"),
    "nothing but a thought": (said("", "length", "hm"), None),
    "refused": (REFUSED, "refused"),
    "too late": (LATE, None),
    "not asked": (Observed(skipped="no sense"), None),
}
OBJECTS: dict[str, tuple[Observed, str | None]] = {
    "an object": (said('{"answer": "hello"}'), "enforced"),
    "cut inside of one": (said('{"answer": "hello, ', "length"), "enforced"),
    "a text": (said("hello"), "ignored"),
    "a list": (said("[1]"), "ignored"),
    "cut, and not an object": (said("hello {", "length"), "ignored"),
    "open, and not cut": (said('{"answer": "hel'), "ignored"),
    "refused": (REFUSED, "refused"),
}
GRAMMARS: dict[str, tuple[Observed, str | None]] = {
    "obeyed": (said("yes"), "enforced"),
    "ignored": (said("hello"), "ignored"),
    "refused": (REFUSED, "refused"),
    "too late": (LATE, None),
}
ALL = [
    *(
        (f"json_schema: {name}", judge_schema, "json_schema", *case)
        for name, case in SCHEMAS.items()
    ),
    *(
        (f"json_object: {name}", judge_json_object, "json_object", *case)
        for name, case in OBJECTS.items()
    ),
    *(
        (f"grammar: {name}", judge_grammar_alone, "grammar", *case)
        for name, case in GRAMMARS.items()
    ),
    *(
        (f"grammar with tools: {name}", judge_grammar_with_tools, "grammar with tools", *case)
        for name, case in GRAMMARS.items()
    ),
]


@pytest.mark.parametrize(
    ("judge", "step", "observed", "value"),
    [case[1:] for case in ALL],
    ids=[case[0] for case in ALL],
)
def test_a_form_is_enforced_ignored_or_refused(
    judge: Judge, step: str, observed: Observed, value: str | None
) -> None:
    finding = judge(Known(model="m", seen={step: observed}))
    assert finding.value == value
    assert finding.evidence
    assert finding.detail == ("both" if value == "refused" else "")


MALFORMED: dict[str, tuple[Observed, str | None]] = {
    "refused": (REFUSED, "refused"),
    "answered all the same": (said("hello"), "ignored"),
    "the connection broke": (Observed(failure=Failure(code="upstream", reason="eof")), None),
    "not asked": (Observed(skipped="it may die"), None),
}


@pytest.mark.parametrize(("observed", "value"), MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_grammar_is_refused_or_ignored(observed: Observed, value: str | None) -> None:
    assert judge_malformed(Known(model="m", seen={"malformed grammar": observed})).value == value
