"""The state, thoughts, the system prompt and repetition, judged from ordinary replies."""

import pytest
from pydantic_core import to_json

from rig.client.probes.facts import Facts
from rig.client.probes.judge_replies import (
    judge_reasoning,
    judge_repeatable,
    judge_state,
    judge_system,
    judge_thinking,
)
from rig.client.probes.known import Known
from rig.client.probes.observed import PROBE_TIMEOUT, Failure, Observed
from rig.messages import Usage
from rig.model import Reply
from rig.wire.decode import decode_chat


def whole(content: str, **fields: str) -> Observed:
    """A reply as the server wrote it, decoded as every reply is."""
    message = {"role": "assistant", "content": content, **fields}
    body = to_json({"choices": [{"message": message, "finish_reason": "stop"}]})
    return Observed(reply=decode_chat(body), content=content)


def counted(text: str, tokens: int) -> Observed:
    return Observed(reply=Reply(text=text, usage=Usage(prompt_tokens=tokens, reported=tokens > 0)))


def failed(code: str, status: int | None = None, reason: str = "") -> Observed:
    return Observed(failure=Failure(code=code, status=status, reason=reason))


PLAIN = whole("4")

STATES: dict[str, tuple[Observed, bool, str | None]] = {
    "answered": (PLAIN, False, "ready"),
    "loading, by its health": (failed("server_error", 503), True, "loading"),
    "loading, by its error": (failed("server_error", 503, "loading"), False, "loading"),
    "no such model": (failed("model_not_found", 404), False, "model_not_found"),
    "broken": (failed("server_error", 500), False, "failing"),
    "a page of a proxy": (failed("protocol_error", None, "html"), False, "failing"),
    "too late": (failed(PROBE_TIMEOUT), False, "failing"),
    "not asked": (Observed(skipped="no time"), False, None),
}


@pytest.mark.parametrize(("plain", "loading", "value"), STATES.values(), ids=STATES)
def test_the_state_is_that_of_a_plain_question(
    plain: Observed, loading: bool, value: str | None
) -> None:
    known = Known(model="m", facts=Facts(loading=loading), seen={"plain": plain})
    assert judge_state(known).value == value


REASONING: dict[str, tuple[list[Observed], bool | None, str | None]] = {
    "none": ([PLAIN, whole("hello")], None, "none"),
    "llama.cpp's field": ([whole("4", reasoning_content="hm")], None, "field"),
    "vLLM's field": ([whole("4", reasoning="hm")], None, "field"),
    "a field nobody sends back": ([whole("4", thinking="hm")], None, "field"),
    "a field, and its closer left behind": ([whole("</think>\n4", reasoning="hm")], None, "field"),
    "tags": ([whole("<think>hm</think>4")], None, "tags"),
    "tags behind text": ([whole("Well. <think>hm</think>4")], None, "tags"),
    "another spelling": ([whole("[THINK]hm[/THINK]4")], None, "tags"),
    "only the closer": ([whole("hm\n</think>\n4")], None, "orphan_closer"),
    "a stream that took back its text": (
        [Observed(reply=Reply(text="4", reasoning="hm"), retracted=True)],
        None,
        "orphan_closer",
    ),
    "only where it was told to think": ([PLAIN, whole("<think>hm</think>4")], None, "tags"),
    "cut before the closer, and the template opens it": (
        [whole("hm, two and")],
        True,
        "orphan_closer",
    ),
    "a template that opens it for a server that separates": (
        [whole("4", reasoning_content="hm")],
        True,
        "field",
    ),
    "nothing was answered": ([failed("server_error", 500)], None, None),
}


@pytest.mark.parametrize(("replies", "opens", "value"), REASONING.values(), ids=REASONING)
def test_thoughts_are_found_where_they_are(
    replies: list[Observed], opens: bool | None, value: str | None
) -> None:
    seen = dict(zip(("plain", "thinking"), replies, strict=False))
    known = Known(model="m", facts=Facts(opens_thought=opens), seen=seen)
    assert judge_reasoning(known).value == value


THOUGHT = whole("<think>hm</think>4")
SWITCHES: dict[str, tuple[Observed, Observed, str | None]] = {
    "off on demand": (THOUGHT, PLAIN, "honoured"),
    "on on demand": (PLAIN, THOUGHT, "honoured"),
    "not off": (THOUGHT, THOUGHT, "ignored"),
    "never a thought": (PLAIN, PLAIN, None),
    "refused": (THOUGHT, failed("invalid_request", 400), "refused"),
    "too late": (THOUGHT, failed(PROBE_TIMEOUT), None),
}


@pytest.mark.parametrize(("plain", "told", "value"), SWITCHES.values(), ids=SWITCHES)
def test_the_switch_is_honoured_when_it_changes_something(
    plain: Observed, told: Observed, value: str | None
) -> None:
    assert judge_thinking(Known(model="m", seen={"plain": plain, "thinking": told})).value == value


@pytest.mark.parametrize(
    ("hushed", "value"), [(False, "honoured"), (True, "ignored"), (None, None)]
)
def test_the_switch_of_a_model_that_had_no_thought_is_that_of_its_template(
    hushed: bool | None, value: str | None
) -> None:
    facts = Facts(opens_thought=True, opens_hushed=hushed)
    known = Known(model="m", facts=facts, seen={"plain": PLAIN, "thinking": PLAIN})
    assert judge_thinking(known).value == value


SYSTEMS: dict[str, tuple[Observed, int, str | None]] = {
    "obeyed": (counted("Kiwi!", 60), 30, "obeyed"),
    "obeyed, and nobody counts": (counted("kiwi", 0), 0, "obeyed"),
    "shown, and a weak model": (counted("4", 60), 30, "shown"),
    "instead of the template's own": (counted("4", 28), 30, "shown"),
    "dropped": (counted("4", 30), 30, "dropped"),
    "nobody counts": (counted("4", 0), 30, None),
    "refused": (failed("invalid_request", 400), 30, "refused"),
    "too late": (failed(PROBE_TIMEOUT), 30, None),
}


@pytest.mark.parametrize(("observed", "bare", "value"), SYSTEMS.values(), ids=SYSTEMS)
def test_a_system_prompt_that_is_dropped_is_told_from_a_model_that_does_not_obey(
    observed: Observed, bare: int, value: str | None
) -> None:
    known = Known(model="m", seen={"plain": counted("4", bare), "system": observed})
    assert judge_system(known).value == value


@pytest.mark.parametrize(
    ("second", "value"),
    [(PLAIN, True), (whole("four"), False), (THOUGHT, False), (failed("timeout"), None)],
    ids=["the same", "another text", "another thought", "no second"],
)
def test_an_answer_repeats_itself_or_not(second: Observed, value: bool | None) -> None:
    known = Known(model="m", seen={"plain": PLAIN, "repeat": second})
    assert judge_repeatable(known).value is value
