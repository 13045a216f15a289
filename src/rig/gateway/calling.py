"""One request on its way through a pool: it waits for an endpoint, asks it, and does what was decided.

Nothing is decided here: `choose` says where, `health` what a failure means, `failover` what follows it.
Rules for whoever edits this file: a seat is left on every way out; an error is told and raised where no
other one is being handled; no await stands between a choice and taking the seat.
"""

import math
import random as randomness
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

import anyio

from rig.client.fair_queue import Waiting
from rig.errors import (
    InputTooLargeError,
    InvalidRequestError,
    RequestTimeoutError,
    RigError,
)
from rig.events import (
    EndpointChanged,
    EndpointState,
    EndpointWait,
    FailedOver,
    RunEvent,
)
from rig.gateway.choose import Ask, Candidate, Choice, Nobody, WaitUntil, choose
from rig.gateway.failover import Again, GiveUp, Situation, next_attempt
from rig.gateway.fault import fault_of
from rig.gateway.floor import Floor, Seat
from rig.gateway.line import NEW, Line
from rig.gateway.outcome import (
    Failure,
    final_error,
    no_endpoint_error,
    nobody_error,
    retry_event,
)
from rig.gateway.policy import PoolPolicy
from rig.late_dataclass import dataclass
from rig.model import Priority
from rig.transport.retry import RetryPolicy

T = TypeVar("T")
Tell = Callable[[RunEvent], Awaitable[None]]

CLOSED: Final = "the pool was closed: make a new one, they are cheap"

_NO_ANSWER: Final = frozenset({"silent", "unreachable", "broken"})
_NOBODYS: Final = frozenset({"ours", "short"})  # no endpoint is to blame


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """What is asked for.

    Attributes:
        model: its name in the pool.
        conversation: what tells its conversation from others; None where no cache matters.
        tenant: whose request it is.
        priority: whether somebody waits for the answer.
        tags: only endpoints that have all of them.
        greedy: it is at temperature 0.
    """

    model: str
    conversation: int | None = None
    tenant: str = ""
    priority: Priority = "interactive"
    tags: frozenset[str] = frozenset()
    greedy: bool = False


class Call:
    """One request to a pool.

    Args:
        errand: what is asked for.
        floor: the endpoints.
        policy: the pool's numbers.
        retry: delays, budget, how many requests may fail.
        tell: told of what happens.

    Attributes:
        attempts: requests that were sent.
        began: when the call began, on the event loop's clock.
        last_sent: when the last request was sent.
    """

    def __init__(
        self, errand: Errand, floor: Floor, *, policy: PoolPolicy, retry: RetryPolicy, tell: Tell
    ) -> None:
        self.attempts = 0
        self.began = self.last_sent = anyio.current_time()
        self._errand = errand
        self._floor = floor
        self._policy = policy
        self._retry = retry
        self._tell = tell
        self._visits = dict.fromkeys(range(len(floor.lines)), NEW)
        self._failure: Failure | None = None
        self._begun = False
        self._restarts = 0
        self._stay: int | None = None
        self._overflowed: int | None = None
        self._pausing = False
        self._believed = True
        self._told = 0
        self._asked: dict[str, None] = {}

    async def answer(self, send: Callable[[Line], Awaitable[T]]) -> T:
        """Ask until somebody answers.

        Args:
            send: asks one endpoint, once.

        Returns:
            The answer.

        Raises:
            RigError: nobody could answer; the last endpoint's error, with the number of attempts.
        """
        while True:  # bounded: every failure is counted by `next_attempt`, every wait by the budget
            outcome = await self._ask_once(await self.seat(), send)
            if not isinstance(outcome, Failure):
                return outcome
            await self.failed(outcome)

    async def seat(self) -> Seat:
        """A seat at the endpoint to ask now, after whatever waits that needs.

        Raises:
            RigError: nobody can answer, or not in time.
            InvalidRequestError: the pool is closed.
        """
        while True:  # bounded: by the budget, and by the number of endpoints
            if self._floor.closed:
                raise InvalidRequestError(CLOSED)
            self._floor.wake()  # nobody goes ahead of those who wait
            choice = self._choose()
            if isinstance(choice, Ask):
                seat: Seat | None = self._floor.sit(choice.index)
            elif isinstance(choice, WaitUntil):
                seat = await self._wait(choice)
            else:
                raise self._error_of(choice)
            if seat is not None and await self._is_ready(seat):
                self._stay = None
                return seat

    def failed_at(
        self, line: Line, error: RigError, *, trial: bool = False, counts: bool = True
    ) -> Failure:
        """Note that a request failed, before its seat is left, so that whoever is next knows.

        Args:
            line: the endpoint.
            error: the failure.
            trial: it tried an endpoint that had been left alone.
            counts: it is one of the requests that are counted.
        """
        fault = fault_of(error)
        line.errors += counts and fault not in _NOBODYS
        if fault == "overflow":
            self._learn_window(line, error)
        before = line.health
        event = line.failed(
            error,
            fault,
            model=self._errand.model,
            now=anyio.current_time(),
            policy=self._policy,
            retry=self._retry,
            random=_random(),
        )
        if line.health is not before:
            self._floor.paused(line)
        return Failure(
            index=line.index, name=line.name, error=error, fault=fault, event=event, trial=trial
        )

    def answered_at(
        self, line: Line, since: float | None, *, complete: bool = True
    ) -> EndpointChanged | None:
        """Note that an answer came, or has begun to.

        Args:
            line: the endpoint.
            since: when it was asked, where that measures how long an answer takes to begin.
            complete: all of it came.

        Returns:
            What is to be told, None for nothing.
        """
        latency_s = None if since is None else anyio.current_time() - since
        event = line.answered(latency_s, complete=complete, sent_at=self.last_sent)
        if self._errand.conversation is not None:
            self._floor.affinity.learn(self._errand.conversation, line.index)
        if event is not None:
            self._floor.offer(line)
        return event

    def sent_to(self, line: Line) -> float:
        """Count a request that is sent now.

        Args:
            line: to this endpoint.

        Returns:
            The event loop's clock.
        """
        self.attempts += 1
        line.requests += 1
        self._asked[line.name] = None
        self.last_sent = anyio.current_time()
        return self.last_sent

    async def tell(self, event: EndpointChanged | None) -> None:
        """Tell of a change, if there is one.

        Args:
            event: what changed.
        """
        if event is not None:
            await self._tell(event)

    async def failed(self, failure: Failure, *, begun: bool = False) -> None:
        """Do what follows a failure: sleep, or return so that another endpoint is chosen.

        Args:
            failure: what `failed_at` returned; its seat was left.
            begun: something of the reply had been handed out.

        Raises:
            RigError: nothing follows.
        """
        await self.tell(failure.event)
        self._failure, self._begun = failure, begun
        now = anyio.current_time()
        decision = next_attempt(
            Situation(
                fault=failure.fault,
                error=failure.error,
                visit=self._visits[failure.index],
                health=self._floor.lines[failure.index].health,
                now=now,
                elapsed_s=now - self.began,
                attempts=self.attempts,
                trial=failure.trial,
                begun=begun,
                restarts=self._restarts,
                greedy=self._errand.greedy,
                random=_random(),
            ),
            self._policy,
            self._retry,
        )
        self._restarts += begun
        if isinstance(decision, GiveUp):
            raise self._last_error(failure)
        self._visits[failure.index] = decision.visit
        if isinstance(decision, Again):
            self._stay = failure.index
            await self._tell(
                retry_event(
                    failure,
                    attempts=self.attempts,
                    delay_s=decision.delay_s,
                    elapsed_s=now - self.began,
                    budget_s=self._retry.budget_s,
                )
            )
            await anyio.sleep(decision.delay_s)

    async def _ask_once(self, seat: Seat, send: Callable[[Line], Awaitable[T]]) -> T | Failure:
        line = seat.line
        with seat:
            since = self.sent_to(line)
            try:
                answer = await send(line)
            except RigError as error:
                return self.failed_at(line, error, trial=seat.trial)
            event = self.answered_at(line, since)
        await self.tell(event)
        return answer

    def _learn_window(self, line: Line, error: RigError) -> None:
        """The prompt does not fit an endpoint: what is known of its window, and of the prompt."""
        told = error if isinstance(error, InputTooLargeError) else InputTooLargeError("")
        model = self._errand.model
        if line.window(model) is None:
            line.learn_window(model, told.context_tokens)
        needed = line.window(model) or told.prompt_tokens or 0
        self._overflowed = max(self._overflowed or 0, needed)

    # Where to

    def _choose(self) -> Choice:
        now = anyio.current_time()
        if self._stay is not None:
            alone = choose([self._candidate(self._floor.lines[self._stay], now)], now=now)
            if isinstance(alone, Ask):
                return alone
        choice = self._choose_from(self._floor.lines, now)
        if isinstance(choice, Nobody) and choice.reason == "missing_model" and self._believed:
            self._believed = False  # nobody lists it: ask all the same, lists are not always whole
            choice = self._choose_from(self._floor.lines, now)
        return choice

    def _choose_from(self, lines: Sequence[Line], now: float) -> Choice:
        key = self._errand.conversation
        return choose(
            [self._candidate(line, now) for line in lines],
            now=now,
            prefer=None if key is None else self._floor.affinity.find(key),
            max_imbalance=self._policy.max_imbalance,
        )

    def _candidate(self, line: Line, now: float) -> Candidate:
        return line.candidate(
            self._errand.model,
            now,
            visit=self._visits[line.index],
            excluded=self._excluded(line, now),
            believed=self._believed,
        )

    def _excluded(self, line: Line, now: float) -> str:
        """Why the request must not go there, beside what happened there; "" when it may."""
        if not self._errand.tags.issubset(line.endpoint.tags):
            return "tags"
        if self._overflowed is not None:
            window = line.window(self._errand.model) or 0
            if window <= self._overflowed:
                return "window"
        budget_s = self._retry.budget_s
        spent = budget_s is not None and now - self.began > budget_s
        return "budget" if spent and self._visits[line.index].failures else ""

    async def _wait(self, choice: WaitUntil) -> Seat | None:
        """Wait for a seat, in one place of the line, whatever stands in the way; None where nothing does.

        Raises:
            RigError: none comes within the budget.
        """
        budget_s = self._retry.budget_s
        deadline = math.inf if budget_s is None else self.began + budget_s
        if choice.reason == "resting" and choice.at > deadline:
            raise self._out_of_time()

        async def look() -> float | None:
            return await self._again(deadline)

        again = await look()
        if again is None:
            return None
        try:
            return await self._floor.queue.wait(
                Waiting(
                    tenant=self._errand.tenant,
                    priority=self._errand.priority,
                    accepts=self._accepts,
                    until=deadline,
                    again=again,
                    look=look,
                    told=lambda: not self._pausing,
                )
            )
        except RequestTimeoutError as error:
            late = error
        if anyio.current_time() >= deadline:
            late.attempts = self.attempts
            raise self._out_of_time() if self._failure or self._pausing else late
        return None

    async def _again(self, deadline: float) -> float | None:
        """When whoever waits is to look again; None where it has nothing to wait for, or not in time."""
        at = self._waits_until(deadline)
        if at is not None and self._pausing:
            await self._tell(self._waiting_event(at))
            at = self._waits_until(deadline)  # telling takes as long as the listener likes
        return at

    def _waits_until(self, deadline: float) -> float | None:
        choice = self._choose()
        if self._floor.closed or not isinstance(choice, WaitUntil):
            return None
        self._pausing = choice.reason == "resting"
        return None if self._pausing and choice.at > deadline else choice.at

    def _accepts(self, seat: Seat) -> bool:
        now = anyio.current_time()
        one = self._candidate(seat.line, now)
        ready = self._visits[seat.line.index].not_before <= now
        return ready and not one.excluded and one.has_model is not False

    async def _is_ready(self, seat: Seat) -> bool:
        """Look at an endpoint that was silent before it is asked, and tell where the request goes.

        Returns:
            Whether it is to be asked; its seat was left where not.
        """
        line, ready = seat.line, False
        silence: Failure | None = None
        try:
            if line.health.resting and line.health.silent:
                silence = await self._probe(line)
            if silence is None:
                await self._tell_of_failover(line)
                ready = True
        finally:
            if not ready:
                seat.leave()
        await self.tell(None if silence is None else silence.event)
        return ready

    async def _probe(self, line: Line) -> Failure | None:
        """Ask something small; any answer will do. None when one came."""
        outcome: RigError | None = None
        with anyio.move_on_after(self._policy.probe_s):
            try:
                await line.client.models()
            except RigError as error:
                outcome = error
            if outcome is None or fault_of(outcome) not in _NO_ANSWER:
                return None
        silent = outcome or RequestTimeoutError(
            "the endpoint was still silent when it was asked for its models", reason="probe"
        )
        return self.failed_at(line, silent, counts=False)

    # What is told, and what is raised

    async def _tell_of_failover(self, line: Line) -> None:
        failure = self._failure
        if failure is None or failure.index == line.index or self._told == self.attempts:
            return
        self._told = self.attempts
        await self._tell(
            FailedOver(
                from_endpoint=failure.name,
                to_endpoint=line.name,
                reason=failure.fault,
                attempt=self.attempts + 1,
                begun=self._begun,
            )
        )

    def _waiting_event(self, at: float) -> EndpointWait:
        now = anyio.current_time()
        waited_for: list[tuple[str, EndpointState]] = [
            (line.name, line.health.state)
            for line in self._floor.lines
            if _may_come(self._candidate(line, now), now)
        ]
        return EndpointWait(delay_s=max(0.0, at - now), endpoints=tuple(waited_for))

    def _error_of(self, nobody: Nobody) -> RigError:
        failure = self._failure
        return nobody_error(nobody) if failure is None else self._last_error(failure)

    def _out_of_time(self) -> RigError:
        """None of the endpoints can be asked within the budget."""
        if self._failure is not None:
            return self._last_error(self._failure)
        now = anyio.current_time()
        error = no_endpoint_error(line.status(now) for line in self._floor.lines)
        error.attempts = self.attempts
        return error

    def _last_error(self, failure: Failure) -> RigError:
        alone = len(self._floor.lines) == 1 or failure.fault in _NOBODYS
        name = "" if alone else failure.name
        return final_error(failure.error, attempts=self.attempts, asked=self._asked, name=name)


def _may_come(candidate: Candidate, now: float) -> bool:
    """Whether it is of use later, and not yet."""
    possible = not candidate.excluded and candidate.has_model is not False
    return possible and candidate.ready_at > now


def _random() -> float:
    return randomness.random()  # noqa: S311 spreads load, guards nothing
