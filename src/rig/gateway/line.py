"""One endpoint of a pool in one event loop: its client, its health, and who is being answered."""

import math
from collections import OrderedDict
from typing import Final

from rig.client.client import Client
from rig.errors import RigError
from rig.events import EndpointChanged
from rig.gateway.choose import Candidate
from rig.gateway.endpoint import Endpoint, EndpointStatus
from rig.gateway.failover import Visit
from rig.gateway.fault import Fault
from rig.gateway.health import Health, answered, failed
from rig.gateway.model_names import lists, plain_name
from rig.gateway.policy import PoolPolicy
from rig.transport.retry import RetryPolicy

MAX_MISSING: Final = 64
"""Models remembered as missing at an endpoint; the oldest is forgotten. Names are the caller's own."""

MAX_WINDOWS: Final = 64
"""Models whose windows are remembered; the same holds."""

NEW: Final = Visit()
"""A visit to an endpoint that this request has not been to."""


class Line:
    """An endpoint as it is now. Nothing here awaits.

    Args:
        index: its place in the pool.
        endpoint: as it was described.
        client: sends to it.

    Attributes:
        health: how it is.
        in_flight: requests it is answering, never more than `slots`.
        shut: it could not be given a request when that was last looked at, or since.
        requests: how many it was sent.
        errors: how many of them failed.
        slots: how many it may at a time; what it told itself where the endpoint does not say.
        listed: the models it listed when it was asked, None when it was not.
        listed_at: when that was, on the event loop's clock.
    """

    def __init__(self, index: int, endpoint: Endpoint, client: Client) -> None:
        self.index = index
        self.endpoint = endpoint
        self.client = client
        self.health = Health()
        self.in_flight = 0
        self.shut = False
        self.requests = 0
        self.errors = 0
        self.slots = endpoint.slots
        self.listed: tuple[str, ...] | None = None
        self.listed_at = 0.0
        self._trials = 0
        self._trial_until = 0.0
        self._missing: OrderedDict[str, float] = OrderedDict()
        self._windows: OrderedDict[str, int] = OrderedDict()

    @property
    def name(self) -> str:
        """What it is called."""
        return self.endpoint.name

    @property
    def full(self) -> bool:
        """Whether all its slots are taken."""
        return self.slots is not None and self.in_flight >= self.slots

    def is_free(self, now: float) -> bool:
        """Whether it may be given a request at all.

        Args:
            now: the event loop's clock.
        """
        return not self.full and self.ready_at <= now

    @property
    def ready_at(self) -> float:
        """When somebody may be let on: after its pause, or when the one who tries it takes too long."""
        return max(self.health.until, self._trial_until) if self.health.resting else 0.0

    def candidate(
        self, model: str, now: float, *, visit: Visit, excluded: str = "", believed: bool = True
    ) -> Candidate:
        """The endpoint as one request sees it.

        Args:
            model: the model it asks for.
            now: the event loop's clock.
            visit: what lies behind there.
            excluded: why it must not be asked, "" when it may.
            believed: whether it has no other models than it lists; llama.cpp answers to any name.
        """
        health = self.health
        has_model = self.has_model(model, now)
        if not believed and not has_model and not self.refuses(model, now):
            has_model = None
        return Candidate(
            index=self.index,
            ready_at=max(self.ready_at, visit.not_before),
            resting=health.resting,
            tried=self._trials > 0,
            in_flight=self.in_flight,
            slots=self.slots,
            priority=self.endpoint.priority,
            latency_s=health.latency_s,
            has_model=has_model,
            excluded=excluded or visit.excluded,
            failures=visit.failures,
        )

    def has_model(self, model: str, now: float) -> bool | None:
        """Whether it has a model; None when only asking would tell.

        Args:
            model: its name in the pool.
            now: the event loop's clock.
        """
        if self.refuses(model, now):
            return False
        return True if self.endpoint.names is not None else lists(self.listed, model)

    def refuses(self, model: str, now: float) -> bool:
        """Whether it is not declared to have a model, or said of it that it has not.

        Args:
            model: its name in the pool.
            now: the event loop's clock.
        """
        return lists(self.endpoint.names, model) is False or self._is_missing(model, now)

    def window(self, model: str) -> int | None:
        """Its context window in tokens, None when not known.

        Args:
            model: the name in the pool of the model it is the window of.
        """
        known = self._windows.get(plain_name(model)) or self._windows.get("")
        return self.endpoint.context_tokens or known

    def learn_window(self, model: str, tokens: int | None) -> None:
        """Remember a window.

        Args:
            model: of which model, "" where the endpoint told it of whatever it has.
            tokens: its size, None for not known.
        """
        if tokens:
            self._windows[plain_name(model)] = tokens
            if len(self._windows) > MAX_WINDOWS:
                self._windows.popitem(last=False)

    def model_there(self, model: str) -> str:
        """What a model is called at the endpoint.

        Args:
            model: its name in the pool.
        """
        names = self.endpoint.names or {}
        if model in names:
            return names[model]
        wanted = plain_name(model)
        return next((there for here, there in names.items() if plain_name(here) == wanted), model)

    def take(self, now: float, policy: PoolPolicy) -> bool:
        """Count a request that is about to be sent.

        Args:
            now: the event loop's clock.
            policy: how long it keeps others off an endpoint that was left alone: for a moment, since
                failures are quick, but for a whole pause where the failure was silence.

        Returns:
            Whether it tries such an endpoint.
        """
        self.in_flight += 1
        trial = self.health.resting
        if trial:
            self._trials += 1
            hold_s = policy.max_cooling_s if self.health.silent else policy.probe_s
            self._trial_until = now + hold_s
        self.shut = self.shut or trial or self.full
        return trial

    def give(self, *, trial: bool) -> None:
        """A request is over.

        Args:
            trial: what `take` said.
        """
        self.in_flight -= 1
        if trial:
            self._trials -= 1
            if not self._trials:
                self._trial_until = 0.0

    def answered(
        self,
        latency_s: float | None = None,
        *,
        complete: bool = True,
        sent_at: float = math.inf,
    ) -> EndpointChanged | None:
        """An answer came.

        Args:
            latency_s: seconds until it began.
            complete: all of it came.
            sent_at: when it was asked, on the event loop's clock.

        Returns:
            The event, None where nothing changed.
        """
        after = answered(self.health, latency_s, complete=complete, sent_at=sent_at)
        return self.become(after, 0.0)

    def failed(
        self,
        error: RigError,
        fault: Fault,
        *,
        model: str,
        now: float,
        policy: PoolPolicy,
        retry: RetryPolicy,
        random: float,
    ) -> EndpointChanged | None:
        """A request failed.

        Args:
            error: the failure.
            fault: its kind.
            model: what was asked for.
            now: the event loop's clock.
            policy: the pool's numbers.
            retry: the delays.
            random: for the jitter.

        Returns:
            The event, None where nothing changed.
        """
        if fault == "missing":
            self._missing[plain_name(model)] = now + policy.missing_s
            if len(self._missing) > MAX_MISSING:
                self._missing.popitem(last=False)
        after = failed(
            self.health, fault, error, now=now, policy=policy, retry=retry, random=random
        )
        return self.become(after, now)

    def status(self, now: float) -> EndpointStatus:
        """How it is.

        Args:
            now: the event loop's clock.
        """
        endpoint, health = self.endpoint, self.health
        names = endpoint.names
        return EndpointStatus(
            name=endpoint.name,
            state="busy" if self.full and not health.resting else health.state,
            reason=health.reason,
            pause_s=max(0.0, health.until - now),
            in_flight=self.in_flight,
            slots=self.slots,
            failures=health.failures,
            requests=self.requests,
            errors=self.errors,
            latency_s=health.latency_s,
            models=tuple(names) if names is not None else self.listed,
            missing=tuple(name for name in self._missing if self._is_missing(name, now)),
            context_tokens=endpoint.context_tokens or min(self._windows.values(), default=None),
            priority=endpoint.priority,
            tags=tuple(endpoint.tags),
        )

    def _is_missing(self, model: str, now: float) -> bool:
        return bool(self._missing) and self._missing.get(plain_name(model), 0.0) > now

    def become(self, after: Health, now: float) -> EndpointChanged | None:
        """Be as it was found.

        Args:
            after: how it is.
            now: the event loop's clock.

        Returns:
            The event, None where its state is the same.
        """
        before, self.health = self.health, after
        self.shut = self.shut or after.resting
        if before.state == after.state:
            return None
        return EndpointChanged(
            endpoint=self.name,
            before=before.state,
            after=after.state,
            reason=after.reason if after.resting else "",
            pause_s=max(0.0, after.until - now) if after.resting else 0.0,
        )
