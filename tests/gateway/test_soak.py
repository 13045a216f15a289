"""A pool under weather: thousands of runs over endpoints that break in every way, and what must hold all the same.

The weather, the runs and what they meet are drawn from one seed, which every failure names:
`RIG_SOAK_SEED=7 pytest tests/gateway/test_soak.py` repeats seed 7, `RIG_SOAK_RUNS=10000` makes it the whole soak.
In virtual time with trio's order of tasks drawn from the seed too, so that a failure can be had again; over
sockets the order is the machine's.
"""

import gc
import json
import math
import os
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import anyio
import anyio.lowlevel
import httpx
import pytest
import trio
from anyio.abc import TaskGroup
from pydantic import BaseModel
from pydantic_core import from_json

from rig import (
    Budget,
    ChatOptions,
    Endpoint,
    FailedOver,
    Pool,
    PoolPolicy,
    RetryPolicy,
    RigError,
    RoundStarted,
    RunEvent,
    RunResult,
    Termination,
    TextDelta,
    TextRetracted,
    Timeouts,
    ToolContext,
    ToolError,
    tool,
)
from rig.testing import (
    Answer,
    Close,
    FakeBackend,
    Hang,
    Pause,
    ReceivedRequest,
    Reset,
    Step,
    answer,
    call_deltas,
    faults,
    models,
    refused_url,
    repeat,
    reply,
    stream,
)

RUNS = int(os.environ.get("RIG_SOAK_RUNS", "2000"))
"""Runs in virtual time: eight seconds. The whole soak has 10,000 a seed: forty."""

SEEDS = [int(seed) for seed in os.environ.get("RIG_SOAK_SEED", "1").split(",")]

SOCKET_RUNS = 500

SLOTS: dict[str, int | None] = {"a": 4, "b": 8, "c": 2, "d": None}

TICKS = 8
"""Into so many parts a unit of time is divided."""

MAX_STEPS = 40
"""Turns of the event loop in which all that a tick sets off is over."""

CANCELLING = 0.02
"""How often another run is cancelled in the moment in which a reply or a run ends: what that gives back may be
given to whom was just cancelled, or was just about to be."""

LAG = 2.5
"""Units of time a run may wait while somebody well has a slot free: it may be the one that is looking whether
two silent ones are back."""

MAX_TRIES = 7
RESTARTS = 2
MAX_5XX = 2
BUDGET = 60.0
MAX_ROUNDS = 5

DAYS = 5
"""Parts of the soak; after each nothing may be left, and memory is looked at."""

LEAST_COMPLETED = 0.98
"""Share of the runs that complete when somebody was well all the time; 0.998 was measured."""

UNIT_S = 0.04
"""A unit of time over sockets: time-outs of ten of them must hold on a machine that has other things to do."""

LEAST_COMPLETED_OVER_SOCKETS = 0.75
"""The same over sockets, where the machine may be slower than the weather; alone on it 0.99 was measured."""

MAX_BLOCKS_A_RUN = 16
"""Blocks of memory that may stay for each run: affinity remembers conversations."""

EPOCH = 20.0
"""Units of time in which one endpoint stays well, unless it is dark."""

DARK = 0.07
"""Share of the epochs in which nobody is well."""

Way = Literal["complete", "stream", "events", "left"]

WELL: dict[str, float] = {"reset": 0.004, "cut": 0.008, "error": 0.004, "refusal": 0.001}
MOODS: dict[str, dict[str, float]] = {
    "calm": {},
    "well": WELL,
    "flaky": {
        "reset": 0.1,
        "cut": 0.2,
        "error": 0.1,
        "stall": 0.03,
        "garbage": 0.02,
        "late_reset": 0.05,
    },
    "limited": {"limited": 0.4, "limited_mutely": 0.3},
    "busy": {"unavailable": 0.6, "bad_gateway": 0.2},
    "loading": {"loading": 1.0},
    "mute": {"hang": 0.7, "stall": 0.3},
    "garbled": {"garbage": 0.7, "no_http": 0.2},
    "without the model": {"missing": 1.0},
    "down": {"refused": 1.0},
    "cutting": {"cut": 0.8},
    "slow": {"slow": 0.5},
}
"""What an endpoint does in each mood, and how often; else it answers."""

NEVER_AGAIN = frozenset({"hang", "garbage", "missing"})
"""Faults after which a request must not be sent there again."""

BREAKING = frozenset({"cut", "stall"})
"""Faults that come when some of the reply was delivered."""


def ticks(units: float) -> float:
    """The time to the next tick: the more happens in the same moment, the more races there are."""
    return round(units * TICKS) / TICKS


class Total(BaseModel):
    """What typed runs answer."""

    run: int
    calls: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One run: how it is started, what its model does, how it is treated."""

    number: int
    way: Way
    rounds: int
    calls: int
    typed: bool
    garbled_once: bool
    stubborn: bool
    on_limit: Literal["raise", "answer"]
    tenant: str
    priority: Literal["interactive", "batch"]
    cancelled_after: float | None
    seconds: float | None
    events_read: int
    starts_at: float


def planned(draw: random.Random, number: int, starts_at: float) -> Plan:
    typed = draw.random() < 0.2
    return Plan(
        number=number,
        way=draw.choices(("complete", "stream", "events", "left"), (40, 35, 20, 5))[0],
        rounds=draw.choice((0, 1, 1, 1, 2)),
        calls=draw.choice((1, 1, 1, 2, 3)),
        typed=typed,
        garbled_once=typed and draw.random() < 0.2,
        stubborn=draw.random() < 0.05,
        on_limit="answer" if draw.random() < 0.3 else "raise",
        tenant="flood" if number % 100 < 40 else draw.choice(("ann", "bob", "")),
        priority="batch" if draw.random() < 0.3 else "interactive",
        cancelled_after=ticks(draw.uniform(0, 12)) if draw.random() < 0.15 else None,
        seconds=draw.uniform(1, 20) if draw.random() < 0.05 else None,
        events_read=draw.randrange(12),
        starts_at=starts_at,
    )


def plans(draw: random.Random, count: int, gap: float) -> list[Plan]:
    """Runs that come one by one, but for those of a tenant that sends forty at once."""
    made: list[Plan] = []
    at = 0.0
    for number in range(count):
        if number % 100 >= 40:
            at += ticks(draw.expovariate(1 / gap))
        made.append(planned(draw, number, at))
    return made


class Weather:
    """How each endpoint is when; the same for the same seed.

    Args:
        seed: of the soak.
        names: the endpoints.

    Attributes:
        calm: the storm is over: all are well.
    """

    def __init__(self, seed: int, names: Sequence[str]) -> None:
        self._seed = seed
        self._names = names
        self._epochs: dict[int, tuple[bool, dict[str, list[str]]]] = {}
        self.calm = False

    def mood(self, name: str, at: float) -> str:
        """An endpoint's mood."""
        if self.calm:
            return "calm"
        moods = self._epoch(int(at / EPOCH))[1][name]
        return moods[int(at % EPOCH / EPOCH * len(moods))]

    def was_dark(self, since: float, until: float) -> bool:
        """Whether nobody was well at some time between."""
        return any(
            self._epoch(epoch)[0] for epoch in range(int(since / EPOCH), int(until / EPOCH) + 1)
        )

    def _epoch(self, number: int) -> tuple[bool, dict[str, list[str]]]:
        if number not in self._epochs:
            draw = random.Random(f"{self._seed}/{number}")
            dark = draw.random() < DARK
            bad = [mood for mood in MOODS if mood not in {"well", "calm"}]
            moods = {
                name: draw.choices(
                    bad if dark else [*bad, "well", "well", "well"], k=draw.randint(1, 4)
                )
                for name in self._names
            }
            if not dark:
                moods[draw.choice(self._names)] = ["well"]
            self._epochs[number] = dark, moods
        return self._epochs[number]


@dataclass(slots=True)
class Attempts:
    """What was sent of one request of a run."""

    count: int = 0
    failed_5xx: Counter[str] = field(default_factory=Counter)
    closed: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Course:
    """One run under way: what was sent for it, and what it did."""

    plan: Plan
    attempts: dict[bytes, Attempts] = field(default_factory=lambda: defaultdict(Attempts))
    offered: dict[str, tuple[bytes, int, bool]] = field(default_factory=dict)
    executed: Counter[str] = field(default_factory=Counter)
    refused: bool = False
    begun_anew: int = 0
    shown: str = ""
    asks_since: float | None = None
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)


class World:
    """The endpoints, the weather, and the book of what happened.

    Args:
        seed: what everything is drawn from.
        unit_s: seconds of the event loop's clock that one unit of time takes.
        names: the endpoints.
        lag: units of time that a run may wait for a slot that is free.
    """

    def __init__(self, seed: int, unit_s: float, names: Sequence[str], lag: float) -> None:
        self.seed = seed
        self.unit_s = unit_s
        self.draw = random.Random(seed)
        self.weather = Weather(seed, names)
        self.began = anyio.current_time()
        self.pool: Pool | None = None
        self.courses: dict[int, Course] = {}
        self.violations: list[str] = []
        self.outcomes: Counter[str] = Counter()
        self.met: Counter[str] = Counter()
        self.waits: dict[tuple[str, str], list[float]] = defaultdict(list)
        self.sent = 0
        self.late = 0
        self._free: dict[str, float] = {}
        self._lag = lag
        self.effects = 0
        self.fair = 0
        self.completed = 0
        self.longest = 0.0

    @property
    def now(self) -> float:
        """Units of time since the beginning."""
        return (anyio.current_time() - self.began) / self.unit_s

    def wrong(self, what: str) -> None:
        """Note what must not happen."""
        if len(self.violations) < 20:
            self.violations.append(f"seed {self.seed}, at {self.now:.1f}: {what}")

    def pause(self, least: float, most: float) -> Pause:
        """A wait of so many units of time."""
        return Pause(ticks(self.draw.uniform(least, most)) * self.unit_s)

    def summary(self) -> dict[str, object]:
        """What happened, in numbers."""
        return {
            "seed": self.seed,
            "outcomes": dict(self.outcomes.most_common()),
            "faults": dict(self.met.most_common()),
            "requests": self.sent,
            "effects": self.effects,
            "completed": f"{self.completed} of {self.fair}",
            "units of time": round(self.now),
        }

    # The endpoints

    def responder(self, name: str) -> Callable[[ReceivedRequest], Answer]:
        """What an endpoint answers."""

        def respond(request: ReceivedRequest) -> Answer:
            mood = MOODS[self.weather.mood(name, self.now)]
            fault = self._fault(mood)
            if request.path.endswith("/models"):
                return models("m") if fault not in FAULTS else FAULTS[fault](self)
            self.sent += 1
            self.met[fault] += 1
            course = self._course(request.body)
            if course is None:
                self.late += 1
                return reply("too late")
            self._count(course, name, request.body, fault)
            self._look_at_slots()
            if fault in FAULTS:
                course.refused |= fault == "refusal"
                return FAULTS[fault](self)
            steps, end = self._steps(course, request, broken=fault in BREAKING | {"late_reset"})
            return Answer(self._spoilt(fault, steps, end))

        return respond

    def refused(self, name: str, body: bytes) -> None:
        """A request found nobody there."""
        self.met["refused"] += 1
        course = self._course(body)
        if course is not None:
            self._count(course, name, body, "refused")

    def _course(self, body: bytes) -> Course | None:
        found = _RUN.search(body)
        return None if found is None else self.courses.get(int(found[1]))

    def _look_at_slots(self) -> None:
        """Nobody has more requests than slots, and no run waits while somebody well has a slot free."""
        now = self.now
        for status in self.pool.endpoints if self.pool is not None else ():
            slots = sys.maxsize if status.slots is None else status.slots
            if status.in_flight > slots:
                self.wrong(f"{status.name} has {status.in_flight} requests")
            if status.state == "healthy" and not status.missing and status.in_flight < slots:
                self._free.setdefault(status.name, now)
            else:
                self._free.pop(status.name, None)
        waiting = min(
            (each.asks_since for each in self.courses.values() if each.asks_since is not None),
            default=math.inf,
        )
        if now - max(waiting, min(self._free.values(), default=math.inf)) > self._lag:
            self.wrong(f"a run waits since {waiting:.1f} though {self._free} are free")

    def _fault(self, mood: dict[str, float]) -> str:
        left = self.draw.random()
        for fault, share in mood.items():
            left -= share
            if left < 0:
                return fault
        return ""

    def _count(self, course: Course, name: str, body: bytes, fault: str) -> None:
        attempts = course.attempts[body]
        attempts.count += 1
        number = course.plan.number
        if course.asks_since is not None:
            waited = self.now - course.asks_since
            self.waits[course.plan.tenant, course.plan.priority].append(waited)
            course.asks_since = None
        if attempts.count > MAX_TRIES:
            self.wrong(f"run {number}: one request was sent {attempts.count} times")
        if name in attempts.closed:
            self.wrong(f"run {number}: {name} was asked again though it can't answer")
        if attempts.failed_5xx[name] >= MAX_5XX:
            self.wrong(f"run {number}: {name} was asked after {MAX_5XX} times 5xx")
        if fault in {"error", "bad_gateway", "unavailable"}:
            attempts.failed_5xx[name] += 1
        if fault in NEVER_AGAIN:
            attempts.closed.add(name)

    def _steps(
        self, course: Course, request: ReceivedRequest, *, broken: bool
    ) -> tuple[list[Step], int]:
        """A good answer, and how many of its steps come before its end is told."""
        body = request.json
        text, calls = self._said(course, body)
        for call in calls:
            course.offered[_nonce(call[2])] = request.body, self.sent, broken
        first = self.pause(0.1, 2.0)
        if not body.get("stream"):
            head, _, content = _bytes(reply(text or None, tool_calls=calls)).partition(b"\r\n\r\n")
            half = len(content) // 2
            return [first, head + b"\r\n\r\n" + content[:half], content[half:]], 2
        deltas: list[Any] = [text[at : at + 7] for at in range(0, len(text), 7)]
        deltas += call_deltas(*calls, piece_chars=16)
        at = self.draw.randrange(len(deltas) + 1)
        deltas.insert(at, self.pause(0.0, 1.0))
        steps = list(stream(*deltas).steps)
        return [steps[0], first, *steps[1:]], 1 + len(
            steps
        ) - 4  # finish, usage, [DONE], last chunk

    def _said(self, course: Course, body: Any) -> tuple[str, list[tuple[str, str, str]]]:
        """The model's text and calls."""
        plan = course.plan
        rounds = sum(message["role"] == "assistant" for message in body["messages"])
        asked_again = body["messages"][-1]["role"] == "user" and rounds > 0
        if body.get("tools") and not asked_again and (plan.stubborn or rounds < plan.rounds):
            ids = self.draw.choice(("", "call_0", f"call_{self.sent}_"))
            made: list[tuple[str, str, str]] = []
            for index in range(plan.calls):
                arguments = {"run": plan.number, "nonce": f"{self.sent}.{index}"}
                made.append((ids and f"{ids}{index}", "note", json.dumps(arguments)))
            return self.draw.choice(("", "Let me note that. ")), made
        if not plan.typed:
            return f"run {plan.number} is done", []
        if plan.garbled_once and not asked_again:
            return "I would rather not say.", []
        return json.dumps({"run": plan.number, "calls": rounds}), []

    def _spoilt(self, fault: str, steps: list[Step], end: int) -> list[Step]:
        if fault == "slow":
            return [self.pause(2, 4), *steps]
        if fault not in BREAKING | {"late_reset"}:
            return steps
        head = next(index for index, step in enumerate(steps) if isinstance(step, bytes))
        kept = (
            head + 1 if fault == "late_reset" else self.draw.randint(head + 1, max(head + 1, end))
        )
        ending = Hang() if fault == "stall" else self.draw.choice((Close(), Reset()))
        return [*steps[:kept], ending]

    # The runs

    async def run(self, pool: Pool, plan: Plan, tasks: TaskGroup) -> None:
        """One run from its start to its end, whatever that is, and what must be true of it."""
        course = self.courses[plan.number] = Course(plan)
        since, outcome, result = self.now, "cancelled", None
        try:
            with anyio.CancelScope() as scope:
                course.scope = scope
                if plan.cancelled_after is not None:
                    tasks.start_soon(self._cancel, scope, plan.cancelled_after)
                result = await self._outcome(pool, course)
                outcome = "left"
                if result is not None:
                    outcome = f"ended {result.termination}"
        except RigError as error:
            outcome, result = type(error).__name__, error.result
            if result is None:
                self.wrong(f"run {plan.number}: {outcome} holds no result")
        except Exception as error:  # noqa: BLE001 what no run may end with
            outcome = f"UNTYPED {type(error).__name__}"
            self.wrong(f"run {plan.number}: {error!r}")
        finally:
            del self.courses[plan.number]
        self.cancel_somebody()
        self.outcomes[outcome] += 1
        self.longest = max(self.longest, self.now - since)
        self._check(course, outcome, result)
        self._weigh(course, outcome, since)

    def cancel_somebody(self) -> None:
        """Cancel a run now and then, one that waits if there is one."""
        if self.courses and self.draw.random() < CANCELLING:
            courses = [*self.courses.values()]
            waiting = [course for course in courses if course.asks_since is not None]
            self.draw.choice(waiting or courses).scope.cancel()

    async def _cancel(self, scope: anyio.CancelScope, after: float) -> None:
        """Cancel a run later, and not only just when the clock has moved."""
        await anyio.sleep(after * self.unit_s)
        for _ in range(self.draw.randrange(MAX_STEPS)):
            await anyio.lowlevel.checkpoint()
        scope.cancel()

    async def ask_aside(self, number: int) -> str:
        """A run inside of a tool: no slot is held meanwhile, so that it can't wait for itself."""
        assert self.pool is not None
        try:
            aside = await self.pool.run(f"run {number}; aside {self.sent}", max_tokens=64)
        except RigError as error:
            return f"nobody knows: {error.reason}"
        return aside.text

    async def _outcome(self, pool: Pool, course: Course) -> RunResult[Any] | None:
        plan = course.plan
        given: dict[str, Any] = {
            "tools": [note],
            "max_tokens": 64,
            "max_iterations": MAX_ROUNDS - 1,
            "output": Total if plan.typed else None,
            "on_limit": plan.on_limit,
            "options": ChatOptions(tenant=plan.tenant, priority=plan.priority),
            "deps": (self, course),
        }
        if plan.seconds is not None:
            given["budget"] = Budget(seconds=plan.seconds * self.unit_s)
        prompt = f"run {plan.number};"

        def heard(event: RunEvent) -> None:
            self._heard(course, event)

        result: RunResult[Any]
        if plan.way in {"complete", "stream"}:
            result = await pool.run(prompt, stream=plan.way == "stream", on_event=heard, **given)
            return result
        async with pool.run_stream(prompt, **given) as events:
            count = 0
            async for event in events:
                heard(event)
                count += 1
                if plan.way == "left" and count > plan.events_read:
                    return None
            result = events.result()
            return result

    def _heard(self, course: Course, event: RunEvent) -> None:
        if isinstance(event, RoundStarted):
            course.begun_anew, course.shown = 0, ""
            if course.plan.way in {"complete", "stream"}:  # others hear of it later
                course.asks_since = self.now
        elif isinstance(event, TextDelta):
            course.shown += event.text
        elif isinstance(event, TextRetracted):
            course.shown = ""
        elif isinstance(event, FailedOver) and event.begun:
            course.begun_anew += 1
            if course.begun_anew > RESTARTS:
                self.wrong(f"run {course.plan.number}: a stream was begun anew too often")

    def _check(self, course: Course, outcome: str, result: RunResult[Any] | None) -> None:
        """No call ran twice, none of a reply that was given up, and all of those that count did."""
        plan, number = course.plan, course.plan.number
        self.effects += course.executed.total()
        sources: dict[bytes, set[int]] = defaultdict(set)
        for nonce, times in course.executed.items():
            body, attempt, broken = course.offered.get(nonce, (b"", 0, True))
            sources[body].add(attempt)
            if times != 1 or broken:
                self.wrong(f"run {number}: call {nonce} ran {times} times, broken {broken}")
        if any(len(attempts) > 1 for attempts in sources.values()):
            self.wrong(f"run {number}: calls of two replies to one request ran")
        if result is None:
            return
        answered = [_nonce(one.call.arguments) for one in result.tool_calls if one.executed]
        said = {
            _nonce(call.arguments) for message in result.messages for call in message.tool_calls
        }
        if not set(answered) <= set(course.executed) <= said or len(answered) != len(set(answered)):
            self.wrong(f"run {number}, {outcome}: {answered} answered, {course.executed} ran")
        if result.termination is Termination.COMPLETED:
            if set(answered) != set(course.executed):
                self.wrong(f"run {number}: {course.executed} ran, and only {answered} answered")
            if result.text != f"run {number} is done" and (
                not plan.typed or result.output is None or result.output.run != number
            ):
                self.wrong(f"run {number} ended with {result.text!r}")
            if plan.way != "complete" and course.shown.strip() != result.text:
                self.wrong(f"run {number} showed {course.shown!r} for {result.text!r}")

    def _weigh(self, course: Course, outcome: str, since: float) -> None:
        """Count the runs that nothing but the endpoints could keep from completing."""
        plan = course.plan
        hindered = plan.stubborn or plan.seconds is not None or plan.way == "left"
        if hindered or outcome == "cancelled" or course.refused:
            return
        if self.weather.was_dark(since, self.now):
            return
        self.fair += 1
        self.completed += outcome == "ended completed"


_RUN = re.compile(rb"run (\d+);")


def _nonce(arguments: str) -> str:
    """What tells a call from all others; its text where that was cut."""
    return str(from_json(arguments).get("nonce", arguments))


def _bytes(made: Answer) -> bytes:
    return b"".join(step for step in made.steps if isinstance(step, bytes))


@tool
async def note(run: int, nonce: str, context: ToolContext) -> str:
    """Note something."""
    world, course = context.deps
    course.executed[nonce] += 1
    if run != course.plan.number:
        world.wrong(f"run {course.plan.number} was given a call of run {run}")
    await anyio.sleep(ticks(world.draw.uniform(0, 1)) * world.unit_s)
    if world.draw.random() < 0.05:
        aside: str = await world.ask_aside(run)
        return aside
    if world.draw.random() < 0.05:
        raise ToolError("the pencil broke")
    return f"noted {nonce}"


def _limited(world: World) -> Answer:
    after_ms = ticks(world.draw.uniform(0.5, 8)) * world.unit_s * 1000
    return answer(
        429,
        {"error": {"message": "Rate limit reached", "type": "rate_limit_error"}},
        {"retry-after-ms": f"{after_ms:.0f}"},
    )


def _garbage(world: World) -> Answer:
    return world.draw.choice(
        (faults.html_page(200), faults.cut_json(), faults.no_choices(), faults.empty_body())
    )


FAULTS: dict[str, Callable[[World], Answer]] = {
    "reset": lambda _: faults.reset_before_headers(),
    "refused": lambda _: faults.reset_before_headers(),
    "hang": lambda _: faults.hang(),
    "limited": _limited,
    "limited_mutely": lambda _: faults.rate_limited(None),
    "unavailable": lambda _: faults.server_error(503, "try again later"),
    "bad_gateway": lambda _: faults.html_502(),
    "error": lambda _: faults.server_error(),
    "loading": lambda _: faults.loading(),
    "garbage": _garbage,
    "no_http": lambda _: faults.not_http(),
    "missing": lambda _: faults.model_not_found("m"),
    "refusal": lambda _: answer(400, {"error": {"message": "no such thing as this field"}}),
}
"""Faults instead of an answer; the others spoil one."""


class Door(httpx.AsyncBaseTransport):
    """The way to an endpoint in process: counts what is open there, and refuses while it is down.

    Args:
        world: the book.
        name: the endpoint.
    """

    def __init__(self, world: World, name: str) -> None:
        self._world = world
        self._name = name
        self._backend = FakeBackend(repeat(world.responder(name)))
        self.open = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        world, slots = self._world, SLOTS[self._name]
        self._backend.requests.clear()
        self.open += 1
        if slots is not None and self.open > slots:
            world.wrong(f"{self._name} has {self.open} requests, more than {slots}")
        try:
            await anyio.lowlevel.checkpoint()
            if world.weather.mood(self._name, world.now) == "down":
                world.refused(self._name, await request.aread())
                raise httpx.ConnectError("refused", request=request)
            response = await self._backend.transport.handle_async_request(request)
        except BaseException:
            self.open -= 1
            raise
        response.stream = _Body(response.stream, self)
        return response

    def close(self, *, last: bool) -> None:
        """An answer is over; its seat is about to be left."""
        self.open -= last
        self._world.cancel_somebody()


class _Body(httpx.AsyncByteStream):
    def __init__(self, inner: Any, door: Door) -> None:
        self._inner = inner
        self._door = door
        self._open = True

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._inner:
            yield part

    async def aclose(self) -> None:
        try:
            await self._inner.aclose()
        finally:
            self._door.close(last=self._open)
            self._open = False


def policies(unit_s: float) -> dict[str, Any]:
    """A pool's numbers in units of time."""
    return {
        "model": "m",
        "policy": PoolPolicy(
            cooling_s=2 * unit_s,
            max_cooling_s=8 * unit_s,
            loading_s=unit_s,
            missing_s=8 * unit_s,
            probe_s=unit_s,
            patience_s=3 * unit_s,
            restarts=RESTARTS,
        ),
        "retry": RetryPolicy(
            initial_s=0.5 * unit_s,
            jitter=0.0,
            max_s=8 * unit_s,
            budget_s=BUDGET * unit_s,
            max_tries=MAX_TRIES,
            max_5xx=MAX_5XX,
        ),
    }


async def soak(world: World, pool: Pool, runs: Sequence[Plan]) -> None:
    """All runs, each at its time, to the end of the last one."""
    shift = world.now - runs[0].starts_at
    async with anyio.create_task_group() as tasks:
        for plan in runs:
            await anyio.sleep_until(world.began + (plan.starts_at + shift) * world.unit_s)
            tasks.start_soon(world.run, pool, plan, tasks)


def check_end(world: World, pool: Pool) -> None:
    """When all runs are over, nothing of them is left, and none has gone wrong.

    Raises:
        AssertionError: it has; all that the seed brings out is told.
    """
    queue = pool._floors.get().queue
    left = {
        "in flight": sum(status.in_flight for status in pool.endpoints),
        "waiting": queue.waiting,
        "positions": len(queue._positions._due),
        "runs": len(world.courses),
    }
    if any(left.values()):
        world.wrong(f"left behind: {left}")
    print(world.summary())  # shown with a failure, and by -rP
    assert not world.violations, "\n".join(world.violations)


def check_fairness(world: World) -> None:
    """Who waits for an answer waits less than a batch, and nobody waits long for those who send many at once."""

    def mean_s(priority: str, *tenants: str) -> float:
        waits = [wait for tenant in tenants for wait in world.waits[tenant, priority]]
        return sum(waits) / len(waits)

    small = ("", "ann", "bob")
    interactive, batch = mean_s("interactive", *small), mean_s("batch", *small)
    flood = mean_s("interactive", "flood")
    print(f"waited: interactive {interactive:.2f}, batch {batch:.2f}, flood {flood:.2f}")
    assert interactive < batch
    assert interactive < flood / 3
    assert max(max(waits) for waits in world.waits.values()) < BUDGET


def memory() -> int:
    """Blocks of memory in use."""
    gc.collect()
    return sys.getallocatedblocks()


# In virtual time


@pytest.fixture
def _same_order_of_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trio shuffles who goes first so that nobody relies on it: here by the seed."""
    monkeypatch.setattr(trio._core._run, "_ALLOW_DETERMINISTIC_SCHEDULING", True)


@asynccontextmanager
async def in_process(world: World) -> AsyncGenerator[tuple[Pool, dict[str, Door]]]:
    """A pool over the endpoints of the world, without sockets."""
    doors = {name: Door(world, name) for name in SLOTS}
    async with AsyncExitStack() as stack:
        endpoints: list[Endpoint] = []
        for name, slots in SLOTS.items():
            client = httpx.AsyncClient(transport=doors[name], timeout=None)
            await stack.enter_async_context(client)
            endpoints.append(
                Endpoint("http://fake.invalid/v1", name=name, slots=slots, http_client=client)
            )
        timeouts = Timeouts(first_byte_s=6, idle_s=4, total_s=30)
        async with Pool(endpoints, timeouts=timeouts, **policies(1.0)) as pool:
            world.pool = pool
            yield pool, doors


@pytest.mark.timeout(600)
@pytest.mark.usefixtures("_same_order_of_tasks")
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("anyio_backend", ["trio-autojump"], indirect=True)
async def test_ten_thousand_runs_under_weather_end_as_they_may_and_leave_nothing(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    trio._core._run._r.seed(seed)
    monkeypatch.setattr("rig.gateway.calling.randomness", random.Random(seed))
    world = World(seed, 1.0, list(SLOTS), lag=LAG)
    runs = plans(random.Random(seed), RUNS, gap=0.8)
    tasks = len(anyio.get_running_tasks())
    async with in_process(world) as (pool, doors):
        day = len(runs) // DAYS
        after: list[int] = []
        for begin in range(0, len(runs), day):
            await soak(world, pool, runs[begin : begin + day])
            check_end(world, pool)
            assert [door.open for door in doors.values()] == [0] * len(doors)
            assert len(anyio.get_running_tasks()) == tasks
            after.append(memory())
        assert world.outcomes.total() == len(runs)
        assert world.completed >= LEAST_COMPLETED * world.fair
        assert after[-1] - after[0] < MAX_BLOCKS_A_RUN * (len(runs) - day)
        assert not world.late, "requests came when their runs were over"
        check_fairness(world)
        world.weather.calm = True
        await soak(world, pool, plans(random.Random(seed), 100, gap=0.8))
        check_end(world, pool)
        assert {status.state for status in pool.endpoints} == {"healthy"}


# Over sockets


@asynccontextmanager
async def over_sockets(world: World) -> AsyncGenerator[Pool]:
    """A pool over served endpoints, and one where nobody listens."""
    backends = {name: FakeBackend(repeat(world.responder(name))) for name in SLOTS}
    async with AsyncExitStack() as stack:
        for backend in backends.values():
            await stack.enter_async_context(backend.serve())
        endpoints = [
            Endpoint(backend.url, name=name, slots=SLOTS[name])
            for name, backend in backends.items()
        ]
        endpoints.append(Endpoint(stack.enter_context(refused_url()), name="nobody"))
        timeouts = Timeouts(first_byte_s=10 * UNIT_S, idle_s=8 * UNIT_S, total_s=60 * UNIT_S)
        async with Pool(endpoints, timeouts=timeouts, **policies(world.unit_s)) as pool:
            world.pool = pool
            yield pool
        for backend in backends.values():
            await _all_left(backend)


async def _all_left(backend: FakeBackend) -> None:
    await backend.wait_until(lambda: not backend.connections.open)


@pytest.mark.parametrize("seed", SEEDS)
async def test_runs_over_sockets_under_weather_end_as_they_may_and_leave_nothing(
    seed: int,
) -> None:
    world = World(seed, UNIT_S, list(SLOTS), lag=math.inf)
    runs = plans(random.Random(seed), SOCKET_RUNS, gap=0.3)
    tasks = len(anyio.get_running_tasks())
    async with over_sockets(world) as pool:
        await soak(world, pool, runs)
        check_end(world, pool)
        assert world.outcomes.total() == len(runs)
        assert world.completed >= LEAST_COMPLETED_OVER_SOCKETS * world.fair
    assert len(anyio.get_running_tasks()) == tasks
