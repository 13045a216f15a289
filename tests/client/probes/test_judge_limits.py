"""Limits, counts and speed, judged from what the probes saw."""

import pytest

from rig.client.probes.facts import Facts
from rig.client.probes.judge_limits import (
    judge_first_token,
    judge_latency,
    judge_long_prompts,
    judge_max_completion_tokens,
    judge_max_tokens,
    judge_speed,
    judge_stop,
    judge_stream_usage,
)
from rig.client.probes.known import Known
from rig.client.probes.observed import PROBE_TIMEOUT, Failure, Observed
from rig.messages import Usage
from rig.model import FinishReason, Reply

COUNT = "1 2 3 4 5 6 7 8 9 10"
LATE = Observed(failure=Failure(code=PROBE_TIMEOUT))
REFUSED = Observed(failure=Failure(code="invalid_request", status=400))


def said(
    text: str = "",
    *,
    finish: FinishReason = "stop",
    tokens: int = 0,
    prompt: int = 0,
    pieces: int = 0,
) -> Observed:
    usage = Usage(completion_tokens=tokens, prompt_tokens=prompt, reported=bool(tokens or prompt))
    return Observed(reply=Reply(text=text, finish_reason=finish, usage=usage), pieces=pieces)


USAGES: dict[str, tuple[Observed, Observed, str | None]] = {
    "when asked": (said(COUNT, tokens=20), said("1 2"), "when_asked"),
    "always": (said(COUNT, tokens=20), said("1 2", tokens=4), "always"),
    "never": (said(COUNT), said("1 2"), "never"),
    "asked, and the other one was left": (
        said(COUNT, tokens=20),
        Observed(left=True),
        "when_asked",
    ),
    "no stream": (LATE, said("1 2"), None),
}


@pytest.mark.parametrize(("asked", "unasked", "value"), USAGES.values(), ids=USAGES)
def test_when_streams_tell_what_they_cost(
    asked: Observed, unasked: Observed, value: str | None
) -> None:
    known = Known(model="m", seen={"stream": asked, "short stream": unasked})
    assert judge_stream_usage(known).value == value


STOPS: dict[str, tuple[Observed, str | None]] = {
    "before the word": (said("1 2 3 4 5 "), "honoured"),
    "as if nothing had been said": (said(COUNT), "ignored"),
    "another reply altogether": (said("one, two, three"), None),
    "refused": (REFUSED, "refused"),
    "too late": (LATE, None),
    "not asked": (Observed(skipped="no text"), None),
}


@pytest.mark.parametrize(("observed", "value"), STOPS.values(), ids=STOPS)
def test_a_stop_ends_the_reply_the_model_is_known_to_give(
    observed: Observed, value: str | None
) -> None:
    known = Known(model="m", seen={"stream": said(COUNT), "stop": observed})
    assert judge_stop(known).value == value


LIMITS: dict[str, tuple[Observed, str | None]] = {
    "at the limit": (said("1 2", finish="length", tokens=2, pieces=2), "honoured"),
    "at the limit, and nobody counts": (said("1 2", finish="length", pieces=2), "honoured"),
    "far beyond it": (said(COUNT, tokens=20, pieces=9), "ignored"),
    "on and on": (Observed(left=True, pieces=12), "ignored"),
    "ended by itself": (said("1", tokens=1, pieces=1), None),
    "refused": (REFUSED, "refused"),
    "too late": (LATE, None),
}


@pytest.mark.parametrize(("observed", "value"), LIMITS.values(), ids=LIMITS)
def test_a_limit_of_a_few_tokens_ends_the_reply(observed: Observed, value: str | None) -> None:
    short = Known(model="m", seen={"short stream": observed})
    newer = Known(model="m", seen={"max_completion_tokens": observed})
    assert judge_max_tokens(short).value == value
    assert judge_max_completion_tokens(newer).value == value


WINDOW = 4096
LONG: dict[str, tuple[Observed, int | None, str | None]] = {
    "refused as too long": (
        Observed(failure=Failure(code="input_too_large", status=400)),
        WINDOW,
        "refused",
    ),
    "cut to the window": (said("x", prompt=4096), WINDOW, "cut"),
    "cut to half of it": (said("x", prompt=2050), WINDOW, "cut"),
    "read whole": (said("x", prompt=6160), WINDOW, "taken"),
    "nobody counts": (said("x"), WINDOW, None),
    "refused for another reason": (REFUSED, WINDOW, None),
    "too late": (LATE, WINDOW, None),
    "no window is known": (Observed(skipped="no window"), None, None),
}


@pytest.mark.parametrize(("observed", "window", "value"), LONG.values(), ids=LONG)
def test_what_becomes_of_a_prompt_that_does_not_fit(
    observed: Observed, window: int | None, value: str | None
) -> None:
    known = Known(model="m", facts=Facts(window_tokens=window), seen={"long prompt": observed})
    assert judge_long_prompts(known).value == value


def test_speed_and_latency_are_measured_where_something_came() -> None:
    usage = Usage(completion_tokens=41, reported=True, time_to_first_token_s=0.5)
    stream = Observed(reply=Reply(text=COUNT, usage=usage), elapsed_s=1.5)
    known = Known(
        model="m", seen={"stream": stream, "plain": Observed(reply=Reply(), elapsed_s=0.25)}
    )
    assert judge_speed(known).value == 40.0
    assert judge_first_token(known).value == 0.5
    assert judge_latency(known).value == 0.25


def test_speed_and_latency_are_not_measured_where_nothing_came() -> None:
    nothing = Known(model="m", seen={"stream": LATE, "plain": LATE})
    for judge in (judge_speed, judge_first_token, judge_latency):
        assert judge(nothing).value is None
    whole = Known(model="m", seen={"stream": said("4")})
    assert judge_first_token(whole).value is None
    assert judge_speed(whole).value is None
