"""When a failed request is sent again: tables for the decision, virtual time for the driver."""

import pickle
from collections.abc import Callable
from dataclasses import dataclass, field

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.errors import (
    Backpressure,
    EmptyReplyError,
    InputTooLargeError,
    InvalidRequestError,
    ModelNotFoundError,
    ProtocolError,
    RateLimitedError,
    RequestTimeoutError,
    ResponseTooLargeError,
    RigError,
    ServerError,
    StreamCutError,
    TruncatedToolCallError,
    UnauthorizedError,
    UpstreamError,
)
from rig.events import RetryEvent, RunEvent, event_listener
from rig.messages import ToolCall
from rig.transport.retry import RetryPolicy, retrying
from rig.transport.retry_rules import (
    MAX_DETAIL_CHARS,
    TRANSPORT_REASONS,
    GiveUp,
    Progress,
    Wait,
    decide,
)

autojump = pytest.mark.parametrize("anyio_backend", ["trio-autojump"], indirect=True)


def busy(
    retry_after_s: float | None = None, backpressure: Backpressure | None = None, reason: str = ""
) -> RigError:
    error = RateLimitedError("the endpoint is busy", status=429, detail="slow down", reason=reason)
    error.retry_after_s = retry_after_s
    error.backpressure = backpressure
    return error


def failing(
    status: int = 502,
    retry_after_s: float | None = None,
    *,
    retryable: bool | None = None,
    detail: str = "",
) -> RigError:
    error = ServerError("the server failed", status=status, retryable=retryable, detail=detail)
    error.retry_after_s = retry_after_s
    return error


def lost(reason: str = "reset") -> RigError:
    return UpstreamError("the server broke the connection", reason=reason)


def cut(text: str = "", tool_calls: tuple[ToolCall, ...] = ()) -> RigError:
    error = StreamCutError("the answer ended before it was complete", reason="eof")
    error.text = text
    error.tool_calls = tool_calls
    return error


def failed(text: str) -> RigError:
    error = StreamCutError("the server ended the reply", reason="failed", retryable=True)
    error.text = text
    return error


def ask(
    error: RigError,
    policy: RetryPolicy | None = None,
    *,
    attempts: int = 0,
    attempts_5xx: int = 0,
    elapsed_s: float = 0.0,
    random: float = 0.0,
) -> Wait | GiveUp:
    progress = Progress(attempts=attempts, attempts_5xx=attempts_5xx)
    return decide(policy or RetryPolicy(), progress, error, elapsed_s=elapsed_s, random=random)


RETRIED: dict[str, tuple[RigError, str]] = {
    "429": (busy(), "429"),
    "a rate limit on another status": (RateLimitedError("busy", status=503), "429"),
    "500": (failing(500), "5xx"),
    "502": (failing(502), "5xx"),
    "529": (failing(529), "5xx"),
    "loading": (ServerError("loading", status=503, reason="loading"), "5xx"),
    "connection attempt timed out": (RequestTimeoutError("late", reason="connect"), "transport"),
    "no descriptor": (UpstreamError("no", reason="too_many_files", retryable=True), "transport"),
    "no descriptor in time": (RequestTimeoutError("late", reason="too_many_files"), "transport"),
    "body cut": (cut(), "transport"),
    "a reply that failed": (StreamCutError("failed", reason="failed", retryable=True), "5xx"),
    "a reply that failed in the middle": (failed("half"), "5xx"),
    **{reason: (lost(reason), "transport") for reason in sorted(TRANSPORT_REASONS)},
}


@pytest.mark.parametrize(("error", "kind"), RETRIED.values(), ids=RETRIED)
def test_what_may_pass_is_sent_again(error: RigError, kind: str) -> None:
    decision = ask(error)
    assert isinstance(decision, Wait)
    assert (decision.event.kind, decision.event.attempt, decision.event.status) == (
        kind,
        1,
        error.status,
    )
    assert decision.delay_s == decision.event.delay_s == 1.0
    assert decision.progress == Progress(attempts=1, attempts_5xx=int(kind == "5xx"))


FINAL: dict[str, RigError] = {
    "a quota": busy(reason="quota"),
    "a rate limit said to be final": RateLimitedError("busy", status=429, retryable=False),
    "a 500 that will fail again": failing(500, retryable=False),
    "a 500 that will fail again, with an ask": failing(500, 3, retryable=False),
    "tls": lost("tls"),
    "no reason given": lost(""),
    "an answer that is not classified": UpstreamError("odd", status=418, reason="status"),
    "a transport reason on an answer": UpstreamError("odd", status=400, reason="reset"),
    "first byte timed out": RequestTimeoutError("late", reason="first_byte"),
    "idle": RequestTimeoutError("late", reason="idle"),
    "write timed out": RequestTimeoutError("late", reason="write"),
    "total": RequestTimeoutError("late", reason="total"),
    "no slot in time": RequestTimeoutError("late", reason="queue"),
    "cut after text": cut("Hel"),
    "cut after a call": cut(tool_calls=(ToolCall(id="1", name="f", arguments="{}"),)),
    "not http": ProtocolError("odd", reason="status_line"),
    "empty reply": EmptyReplyError("empty"),
    "no such model": ModelNotFoundError("unknown", status=404),
    "unauthorized": UnauthorizedError("no", status=401),
    "bad request": InvalidRequestError("no", status=400),
    "input too large on a 500": InputTooLargeError("long", status=500),
    "truncated tool call on a 500": TruncatedToolCallError("cut", status=500),
    "over the cap": ResponseTooLargeError("large"),
}


@pytest.mark.parametrize("error", FINAL.values(), ids=FINAL)
def test_what_will_not_pass_is_raised_at_once_and_untouched(error: RigError) -> None:
    decision = ask(error)
    assert isinstance(decision, GiveUp)
    assert decision.error is error
    assert decision.event is None


def test_the_schedule_doubles_up_to_its_ceiling() -> None:
    delays = [
        decision.delay_s for n in range(8) if isinstance(decision := ask(busy(), attempts=n), Wait)
    ]
    assert delays == [1, 2, 4, 8, 16, 30, 30, 30]


def test_the_schedule_stays_finite_for_ever() -> None:
    decision = ask(busy(), RetryPolicy(budget_s=None), attempts=100_000)
    assert isinstance(decision, Wait)
    assert decision.delay_s == 30


def test_it_doubles_whatever_failed_and_whoever_set_the_delay() -> None:
    policy, progress, delays = RetryPolicy(), Progress(), []
    for error in (busy(), lost(), failing(502, 7), busy(3), failing(500), cut()):
        decision = decide(policy, progress, error, elapsed_s=0, random=0)
        assert isinstance(decision, Wait)
        delays.append(decision.delay_s)
        progress = decision.progress
    assert delays == [1, 2, 7, 3, 16, 30]
    assert progress == Progress(attempts=6, attempts_5xx=2)


@pytest.mark.parametrize(
    ("asked", "delay_s", "server_asked"),
    [(3, 3, True), (10, 10, True), (0.25, 0.25, True), (299, 299, True), (None, 1, False), (0, 1, False),
     (-5, 1, False), (float("nan"), 1, False)],
)  # fmt: skip
@pytest.mark.parametrize("make", [busy, lambda asked: failing(503, asked)], ids=["429", "5xx"])
def test_what_the_server_asks_comes_before_the_schedule(
    make: Callable[[float | None], RigError],
    asked: float | None,
    delay_s: float,
    server_asked: bool,
) -> None:
    decision = ask(make(asked))
    assert isinstance(decision, Wait)
    assert (decision.delay_s, decision.event.server_asked) == (delay_s, server_asked)


def test_an_ask_is_cut_to_the_ceiling_before_jitter() -> None:
    policy = RetryPolicy(budget_s=None, max_retry_after_s=60)
    decision = ask(busy(86_400), policy, random=0.5)
    assert isinstance(decision, Wait)
    assert decision.delay_s == pytest.approx(66)
    decision = ask(busy(86_400), RetryPolicy(max_retry_after_s=0))
    assert isinstance(decision, Wait)
    assert (decision.delay_s, decision.event.server_asked) == (1, False)


def test_an_ask_beyond_the_budget_gives_up_at_once() -> None:
    decision = ask(busy(300), elapsed_s=0.1)
    assert isinstance(decision, GiveUp)
    assert isinstance(decision.error, RateLimitedError)
    assert decision.error.retry_after_s == 300


@pytest.mark.parametrize("asked", [None, 10])
def test_jitter_only_adds_and_is_drawn_from_the_clean_schedule(asked: float | None) -> None:
    plain = asked or 4
    low, high = (ask(busy(asked), attempts=2, random=random) for random in (0.0, 0.999))
    assert isinstance(low, Wait)
    assert isinstance(high, Wait)
    assert low.delay_s == plain
    assert plain * 1.19 < high.delay_s < plain * 1.2


@pytest.mark.parametrize(
    ("elapsed_s", "random", "waits"),
    [
        (298, 0, True),
        (299, 0, True),
        (299.1, 0, False),
        (298.9, 0.9, False),
        (298.9, 0.1, True),
        (1000, 0, False),
    ],
)
def test_a_wait_that_ends_after_the_budget_is_not_begun(
    elapsed_s: float, random: float, waits: bool
) -> None:
    decision = ask(busy(), elapsed_s=elapsed_s, random=random)
    assert isinstance(decision, Wait if waits else GiveUp)


def test_429_and_transport_faults_never_use_up_the_5xx_tries() -> None:
    decision = ask(failing(), RetryPolicy(max_5xx=2), attempts=20)
    assert isinstance(decision, Wait)
    for error in (busy(), lost()):
        decision = ask(error, RetryPolicy(max_5xx=2), attempts=20, attempts_5xx=2)
        assert isinstance(decision, Wait)
        assert (decision.event.attempts_5xx, decision.event.max_5xx) == (0, 0)


def test_the_last_allowed_5xx_gives_up() -> None:
    decision = ask(failing(502, detail="bad gateway"), attempts=4, attempts_5xx=4, elapsed_s=16)
    assert isinstance(decision, GiveUp)
    event = decision.event
    assert event is not None
    assert (event.kind, event.attempt, event.attempts_5xx, event.max_5xx) == ("giveup", 5, 5, 5)
    assert (event.status, event.delay_s, event.elapsed_s, event.budget_s) == (502, 0, 16, 300)


def after(
    *errors: RigError, greedy: bool = True, policy: RetryPolicy | None = None
) -> Wait | GiveUp:
    """The decision on the last error, when those before it failed the same call."""
    progress = Progress()
    for error in errors[:-1]:
        decision = decide(
            policy or RetryPolicy(), progress, error, elapsed_s=0, random=0, greedy=greedy
        )
        assert isinstance(decision, Wait)
        progress = decision.progress
    return decide(
        policy or RetryPolicy(), progress, errors[-1], elapsed_s=0, random=0, greedy=greedy
    )


SAME_AGAIN: dict[str, tuple[RigError, ...]] = {
    "twice": (failing(500, detail="a"), failing(500, detail="a")),
    "twice without a word": (failing(500), failing(500)),
    "with another fault between": (failing(500), failing(502), busy(), failing(500)),
    "with another 500 between": (failing(500, detail="a"), failing(500), failing(500, detail="a")),
    "with an ask for no time": (failing(500, 0), failing(500, 0)),
}


@pytest.mark.parametrize("errors", SAME_AGAIN.values(), ids=SAME_AGAIN)
def test_at_temperature_0_the_same_500_twice_is_enough(errors: tuple[RigError, ...]) -> None:
    decision = after(*errors)
    assert isinstance(decision, GiveUp)
    told = decision.error
    assert (type(told), told.status, told.detail) == (ServerError, 500, errors[-1].detail)
    assert (told.reason, told.retryable) == ("deterministic", False)
    assert "temperature 0" in told.message
    assert errors[-1].retryable
    assert decision.event is not None
    assert (decision.event.kind, decision.event.attempt) == ("giveup", len(errors))
    assert isinstance(after(*errors, greedy=False), Wait)


MAY_PASS: dict[str, tuple[RigError, ...]] = {
    "once": (failing(500),),
    "other words": (failing(500, detail="a"), failing(500, detail="b")),
    "502": (failing(502),) * 2,
    "503": (failing(503),) * 2,
    "504": (failing(504),) * 2,
    "429": (busy(),) * 2,
    "no connection": (lost(),) * 2,
    "a body cut": (cut(),) * 2,
    "loading": (ServerError("loading", status=500, reason="loading"),) * 2,
    "a 500 that says when to come back": (failing(500, 3),) * 2,
}


@pytest.mark.parametrize("errors", MAY_PASS.values(), ids=MAY_PASS)
def test_at_temperature_0_anything_else_is_sent_again(errors: tuple[RigError, ...]) -> None:
    assert isinstance(after(*errors), Wait)


def test_off_is_off_at_temperature_0() -> None:
    error = failing(500)
    decision = after(error, policy=RetryPolicy.off())
    assert isinstance(decision, GiveUp)
    assert (decision.error, decision.event) == (error, None)


def test_max_tries_counts_every_request() -> None:
    policy = RetryPolicy(max_tries=3)
    assert isinstance(ask(busy(), policy, attempts=1), Wait)
    assert isinstance(ask(busy(), policy, attempts=2), GiveUp)


@pytest.mark.parametrize("error", [busy(0), busy(3), failing(), lost(), cut()], ids=str)
def test_off_gives_up_at_once_with_the_error_as_it_is(error: RigError) -> None:
    assert ask(error, RetryPolicy.off()) == GiveUp(
        error=error, event=None, progress=ask(error).progress
    )


def test_the_error_says_what_ran_out_and_keeps_everything_else() -> None:
    error = failing(502, 2, detail="upstream said no")
    error.reason = "unavailable"
    decision = ask(error, RetryPolicy(max_5xx=1))
    assert isinstance(decision, GiveUp)
    told = decision.error
    assert type(told) is ServerError
    assert (told.status, told.detail, told.reason, told.retry_after_s) == (
        502,
        "upstream said no",
        "unavailable",
        2,
    )
    assert told.message.startswith(error.message)
    assert len(told.message) > len(error.message) == len("the server failed")
    assert "upstream said no" not in str(told)
    assert str(pickle.loads(pickle.dumps(told))) == str(told)


def test_an_error_that_is_final_after_waits_closes_their_story() -> None:
    error = InvalidRequestError("no", status=400)
    decision = ask(error, attempts=2)
    assert isinstance(decision, GiveUp)
    assert decision.error is error
    assert decision.event is not None
    assert (decision.event.kind, decision.event.attempt, decision.event.status) == (
        "giveup",
        3,
        400,
    )


@pytest.mark.parametrize("policy", [RetryPolicy(), RetryPolicy.off()], ids=["on", "off"])
def test_a_request_that_got_no_slot_counts_as_none(policy: RetryPolicy) -> None:
    error = RequestTimeoutError("late", reason="queue")
    first = ask(error, policy)
    assert isinstance(first, GiveUp)
    assert (first.event, first.progress.attempts) == (None, 0)
    later = ask(error, policy, attempts=2)
    assert isinstance(later, GiveUp)
    assert later.event is not None
    assert (later.event.kind, later.event.attempt, later.progress.attempts) == ("giveup", 2, 2)


QUEUE = Backpressure(capacity=4, in_flight=4, waiting=2)


@pytest.mark.parametrize(
    ("error", "keys", "words"),
    {
        "busy": (busy(10, QUEUE), {"attempts": 1}, ["busy", "4/4 slots busy, 2 waiting ahead", "asked for 10 s", "attempt 2"]),
        "busy, nothing said": (busy(), {}, ["busy", "429", "waiting 1 s", "attempt 1"]),
        "5xx": (failing(502), {"attempts": 2, "attempts_5xx": 1}, ["server failed", "502", "attempt 3", "2 of 5"]),
        "transport": (lost(), {}, ["broke the connection", "waiting 1 s", "attempt 1"]),
    }.values(),
)  # fmt: skip
def test_events_read_as_a_sentence_of_ours(
    error: RigError, keys: dict[str, int], words: list[str]
) -> None:
    event = ask(error, **keys).event  # type: ignore[arg-type]  # counts by name
    assert event is not None
    assert [word for word in words if word not in event.reason] == []
    assert str(event) == event.reason
    assert event.backpressure == (
        error.backpressure if isinstance(error, RateLimitedError) else None
    )


@pytest.mark.parametrize(
    ("error", "kept"), [(lost(), True), (cut(), True), (busy(), False), (failing(), False)], ids=str
)
def test_the_fault_of_a_connection_is_on_the_event(error: RigError, kept: bool) -> None:
    for policy in (RetryPolicy(), RetryPolicy(budget_s=0)):
        event = ask(error, policy).event
        assert event is not None
        assert event.error is (error if kept else None)


def test_what_the_endpoint_said_is_in_the_detail_only_one_bounded_line() -> None:
    error = failing(502, detail=" <h1>secret</h1>" + "x" * 500 + "\r\nsecond line")
    for decision in (ask(error), ask(error, RetryPolicy(max_5xx=1))):
        assert decision.event is not None
        assert decision.event.detail == ("<h1>secret</h1>" + "x" * 500)[:MAX_DETAIL_CHARS]
        assert "secret" not in decision.event.reason + repr(decision.event)
    assert ask(failing(detail="one\r\ntwo")).event.detail == "one"  # type: ignore[union-attr]  # a Wait


@pytest.mark.parametrize(
    "bad",
    [
        {"budget_s": -1}, {"budget_s": float("nan")}, {"budget_s": float("inf")}, {"initial_s": -0.1},
        {"initial_s": float("inf")}, {"max_s": -1}, {"max_s": float("nan")}, {"jitter": -0.1}, {"jitter": 1.1},
        {"budget_s": "5"}, {"budget_s": True}, {"initial_s": None}, {"max_s": "1"}, {"jitter": "0.1"},
        {"jitter": None}, {"max_5xx": 2.5}, {"max_5xx": "2"}, {"max_5xx": True}, {"max_5xx": None},
        {"max_tries": 1.0}, {"max_tries": "1"}, {"max_retry_after_s": b"1"},
        {"jitter": float("nan")}, {"max_5xx": 0}, {"max_retry_after_s": -1}, {"max_tries": 0},
    ],
    ids=str,
)  # fmt: skip
def test_a_policy_with_impossible_numbers_is_refused(bad: dict[str, object]) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        RetryPolicy(**bad)  # type: ignore[arg-type]  # the point
    assert next(iter(bad)) in str(caught.value)


def test_zero_and_none_are_values() -> None:
    RetryPolicy(budget_s=0, initial_s=0, max_s=0, jitter=0, max_retry_after_s=0)
    RetryPolicy(budget_s=None, max_tries=None)


errors = st.one_of(
    st.builds(busy, st.one_of(st.none(), st.floats())),
    st.builds(failing, st.integers(500, 599), st.one_of(st.none(), st.floats())),
    st.sampled_from([lost(), cut(), *FINAL.values()]),
)
policies = st.builds(
    RetryPolicy,
    budget_s=st.one_of(st.none(), st.floats(0, 1e9)),
    initial_s=st.floats(0, 1e9),
    max_s=st.floats(0, 1e9),
    jitter=st.floats(0, 1),
    max_5xx=st.integers(1, 9),
    max_retry_after_s=st.floats(0, 1e9),
    max_tries=st.one_of(st.none(), st.integers(1, 9)),
)


@given(policies, st.lists(errors, max_size=30), st.floats(0, 1, exclude_max=True))
def test_whatever_fails_the_waits_stay_within_the_policy(
    policy: RetryPolicy, failures: list[RigError], random: float
) -> None:
    progress, now = Progress(), 0.0
    for error in failures:
        decision = decide(policy, progress, error, elapsed_s=now, random=random)
        progress = decision.progress
        if isinstance(decision, GiveUp):
            break
        longest = max(policy.max_s, policy.max_retry_after_s) * (1 + policy.jitter)
        assert 0 <= decision.delay_s <= longest
        now += decision.delay_s
        assert policy.budget_s is None or now <= policy.budget_s
        assert policy.max_tries is None or progress.attempts < policy.max_tries
        assert progress.attempts_5xx < policy.max_5xx


# --- The driver ---


@dataclass
class Endpoint:
    """Fails with each error in turn, then answers."""

    failures: list[RigError]
    calls: int = 0
    times: list[float] = field(default_factory=list)

    async def send(self) -> str:
        self.calls += 1
        self.times.append(anyio.current_time())
        await anyio.lowlevel.checkpoint()
        if self.calls <= len(self.failures):
            raise self.failures[self.calls - 1]
        return "answer"


FAST = RetryPolicy(initial_s=0, max_s=0, max_retry_after_s=0)
"""Delays of nothing: what a loop with a real clock may wait."""


async def test_the_first_success_is_returned_and_nothing_told() -> None:
    events: list[RetryEvent] = []
    endpoint = Endpoint([])
    assert await retrying(endpoint.send, FAST, on_retry=events.append) == "answer"
    assert (endpoint.calls, events) == (1, [])


async def test_recovery_is_told_once() -> None:
    events: list[RetryEvent] = []
    endpoint = Endpoint([busy(), lost()])
    assert await retrying(endpoint.send, FAST, on_retry=events.append) == "answer"
    assert [(event.kind, event.attempt) for event in events] == [
        ("429", 1),
        ("transport", 2),
        ("recovered", 3),
    ]


async def test_the_listener_of_the_run_is_told_the_same_and_awaited() -> None:
    events: list[RetryEvent] = []
    heard: list[RetryEvent] = []

    async def listen(event: RunEvent) -> None:
        await anyio.lowlevel.checkpoint()
        assert isinstance(event, RetryEvent)
        heard.append(event)

    before = event_listener.set(listen)
    try:
        await retrying(Endpoint([busy(), lost()]).send, FAST, on_retry=events.append)
        await retrying(Endpoint([busy()]).send, FAST)
    finally:
        event_listener.reset(before)
    assert [event.kind for event in heard] == ["429", "transport", "recovered", "429", "recovered"]
    assert heard[:3] == events


async def test_a_stream_that_ends_well_without_a_word_is_not_asked_for_again() -> None:
    endpoint = Endpoint([StreamCutError("nothing came", reason="no_events")])
    with pytest.raises(StreamCutError):
        await retrying(endpoint.send, FAST)
    assert endpoint.calls == 1


async def test_429s_do_not_count_against_a_cap_of_two_5xx() -> None:
    endpoint = Endpoint([busy()] * 4 + [failing(500)])
    policy = RetryPolicy(initial_s=0, max_s=0, max_5xx=2)
    assert await retrying(endpoint.send, policy) == "answer"
    assert endpoint.calls == 6


async def test_a_cap_of_two_on_502_gives_one_wait_and_a_giveup() -> None:
    events: list[RetryEvent] = []
    endpoint = Endpoint([failing()] * 9)
    policy = RetryPolicy(initial_s=0, max_s=0, max_5xx=2)
    with pytest.raises(ServerError) as caught:
        await retrying(endpoint.send, policy, on_retry=events.append)
    assert [(event.kind, event.attempts_5xx, event.max_5xx) for event in events] == [
        ("5xx", 1, 2),
        ("giveup", 2, 2),
    ]
    assert (endpoint.calls, caught.value.attempts, caught.value.status) == (2, 2, 502)


@pytest.mark.parametrize(
    "error", [busy(0), failing(), lost(), cut(), InvalidRequestError("no")], ids=str
)
async def test_off_sends_once(error: RigError) -> None:
    events: list[RetryEvent] = []
    endpoint = Endpoint([error] * 9)
    with pytest.raises(type(error)) as caught:
        await retrying(endpoint.send, RetryPolicy.off(), on_retry=events.append)
    assert caught.value is error
    assert (endpoint.calls, error.attempts, events) == (1, 1, [])


async def test_the_raised_error_chains_no_earlier_attempt() -> None:
    for last in (InvalidRequestError("no"), failing()):
        endpoint = Endpoint([busy(), lost(), failing(), last])
        policy = RetryPolicy(initial_s=0, max_s=0, max_5xx=2)
        with pytest.raises(type(last)) as caught:
            await retrying(endpoint.send, policy)
        assert caught.value.attempts == 4
        assert caught.value.__context__ is None
        assert caught.value.__cause__ is None
        assert any(entry.name == "send" for entry in caught.traceback)


async def test_other_exceptions_pass_untouched() -> None:
    async def send() -> None:
        raise KeyError("a bug")

    with pytest.raises(KeyError):
        await retrying(send, FAST)


async def test_what_the_listener_raises_ends_the_call() -> None:
    def listen(event: RetryEvent) -> None:
        raise ValueError(event.kind)

    endpoint = Endpoint([busy()])
    with pytest.raises(ValueError, match="429") as caught:
        await retrying(endpoint.send, FAST, on_retry=listen)
    assert caught.value.__context__ is None
    assert endpoint.calls == 1


async def test_a_greedy_request_is_sent_twice_for_one_500() -> None:
    events: list[RetryEvent] = []
    endpoint = Endpoint([failing(500, detail="x")] * 9)
    with pytest.raises(ServerError) as caught:
        await retrying(endpoint.send, FAST, on_retry=events.append, greedy=True)
    assert (endpoint.calls, caught.value.attempts, caught.value.reason) == (2, 2, "deterministic")
    assert [event.kind for event in events] == ["5xx", "giveup"]


async def test_a_greedy_request_outlasts_different_500s() -> None:
    endpoint = Endpoint([failing(500, detail=word) for word in "abc"])
    assert await retrying(endpoint.send, FAST, greedy=True) == "answer"


@autojump
async def test_it_sleeps_as_decided() -> None:
    endpoint = Endpoint([busy(), lost(), failing(502, 10), failing()])
    await retrying(endpoint.send, RetryPolicy(jitter=0))
    starts = [at - endpoint.times[0] for at in endpoint.times]
    assert starts == pytest.approx([0, 1, 3, 13, 21])


@autojump
async def test_jitter_spreads_the_waits() -> None:
    gaps = set()
    for _ in range(20):
        endpoint = Endpoint([busy()])
        await retrying(endpoint.send, RetryPolicy())
        gaps.add(endpoint.times[1] - endpoint.times[0])
    assert len(gaps) > 1
    assert min(gaps) >= 1 - 1e-6
    assert max(gaps) < 1.2


@autojump
async def test_time_spent_in_requests_counts_against_the_budget() -> None:
    started = anyio.current_time()
    events: list[RetryEvent] = []

    async def send() -> None:
        await anyio.sleep(100)
        raise busy()

    with pytest.raises(RateLimitedError) as caught:
        await retrying(send, RetryPolicy(budget_s=250, jitter=0), on_retry=events.append)
    # 100 s, 1 s wait, 100 s, 2 s wait, 100 s: the third failure lies beyond 250 s.
    assert anyio.current_time() - started == pytest.approx(303)
    assert [event.kind for event in events] == ["429", "429", "giveup"]
    assert [event.elapsed_s for event in events] == pytest.approx([100, 201, 303])
    assert caught.value.attempts == 3


@autojump
async def test_an_ask_of_the_whole_budget_fails_without_a_wait() -> None:
    started = anyio.current_time()
    endpoint = Endpoint([busy(300)] * 2)
    policy = RetryPolicy(budget_s=299)
    with pytest.raises(RateLimitedError):
        await retrying(endpoint.send, policy)
    assert anyio.current_time() == started
    assert endpoint.calls == 1


@autojump
async def test_without_a_budget_it_outlasts_any_rate_limit() -> None:
    endpoint = Endpoint([busy()] * 500)
    assert await retrying(endpoint.send, RetryPolicy(budget_s=None)) == "answer"
    assert endpoint.calls == 501


@autojump
async def test_a_cancelled_wait_tells_no_giveup() -> None:
    events: list[RetryEvent] = []
    endpoint = Endpoint([busy(60)])
    with anyio.move_on_after(30) as scope:
        await retrying(endpoint.send, RetryPolicy(), on_retry=events.append)
    assert scope.cancelled_caught
    assert [event.kind for event in events] == ["429"]
    assert endpoint.calls == 1


async def test_the_clock_can_be_given() -> None:
    events: list[RetryEvent] = []
    ticks = iter([0.0, 7.0, 8.5])
    endpoint = Endpoint([busy()])
    await retrying(endpoint.send, FAST, on_retry=events.append, clock=lambda: next(ticks))
    assert [event.elapsed_s for event in events] == [7.0, 8.5]
