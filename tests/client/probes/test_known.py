"""What is known so far decides how the next question is asked."""

import pytest

from rig.client.probes.facts import Facts
from rig.client.probes.known import Known
from rig.client.probes.observed import Failure, Observed
from rig.model import Reply

THOUGHT = Observed(reply=Reply(text="4", reasoning="hm"))
PLAIN = Observed(reply=Reply(text="4"))
FAILED = Observed(failure=Failure(code="server_error", status=500))

CASES: dict[str, tuple[Facts, dict[str, Observed], bool, bool]] = {
    "nothing is known": (Facts(), {}, False, False),
    "it does not think": (Facts(), {"plain": PLAIN, "thinking": THOUGHT}, False, False),
    "it thinks, and stops when told": (Facts(), {"plain": THOUGHT, "thinking": PLAIN}, True, True),
    "it thinks on": (Facts(), {"plain": THOUGHT, "thinking": THOUGHT}, True, False),
    "it thinks, and can't be told": (Facts(), {"plain": THOUGHT, "thinking": FAILED}, True, False),
    "its template thinks": (Facts(opens_thought=True), {"plain": PLAIN}, True, False),
    "its template thinks on": (
        Facts(opens_thought=True, opens_hushed=True),
        {"plain": PLAIN, "thinking": PLAIN},
        True,
        False,
    ),
    "its template can be told": (
        Facts(opens_thought=True, opens_hushed=False),
        {"plain": PLAIN},
        True,
        True,
    ),
}


@pytest.mark.parametrize(("facts", "seen", "thinks", "hushed"), CASES.values(), ids=CASES)
def test_thinking_is_seen_by_itself_or_in_the_template(
    facts: Facts, seen: dict[str, Observed], thinks: bool, hushed: bool
) -> None:
    known = Known(model="m", facts=facts, seen=seen)
    assert known.thinks is thinks
    assert known.hushed is hushed


def test_a_probe_that_did_not_run_saw_nothing() -> None:
    observed = Known(model="m")["whatever"]
    assert observed.reply is None
    assert not observed.refused
    assert observed.why
