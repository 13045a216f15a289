"""Looking at an endpoint because somebody asked: is it there, what has it, how busy is it."""

from dataclasses import replace

import anyio

from rig.errors import RequestTimeoutError, RigError
from rig.events import EndpointChanged
from rig.gateway.fault import fault_of
from rig.gateway.health import Health
from rig.gateway.line import Line
from rig.gateway.policy import PoolPolicy
from rig.transport.retry import RetryPolicy
from rig.wire.occupancy import Occupancy

CHECK_S = 10.0
"""Seconds for looking at one endpoint: up to fifteen small requests, which a server that is well answers in
milliseconds, also while it generates."""


_GONE = frozenset({"unreachable", "broken", "silent", "loading"})

LISTED_S = 60.0
"""Seconds a list of models is believed. Models come and go by hand; routers ask before each run."""


async def list_models(
    line: Line, policy: PoolPolicy, retry: RetryPolicy
) -> tuple[RigError | None, EndpointChanged | None]:
    """Ask an endpoint for its models, and note what that tells; nothing is repeated.

    Args:
        line: the endpoint.
        policy: the pool's numbers.
        retry: the delays.

    Returns:
        Why there is no list, None where there is one; and what changed.
    """
    error: RigError | None = RequestTimeoutError("the endpoint was silent", reason="probe")
    with anyio.move_on_after(CHECK_S):
        try:
            listed = await line.client.models()
        except RigError as fault:
            error = fault
        else:
            line.listed, line.listed_at = listed, anyio.current_time()
            error = None
    if error is not None:
        return error, _failed(line, error, policy, retry)
    return None, line.become(_found(line.health), anyio.current_time())


async def check(line: Line, policy: PoolPolicy, retry: RetryPolicy) -> list[EndpointChanged]:
    """Ask for models, window and occupancy, and note what that tells; nothing is repeated.

    Args:
        line: the endpoint.
        policy: the pool's numbers.
        retry: the delays.

    Returns:
        What changed.

    Raises:
        RigError: the pool was closed.
    """
    error, event = await list_models(line, policy, retry)
    events = [event]
    occupancy: Occupancy | None = None
    if error is None or fault_of(error) not in _GONE:
        with anyio.move_on_after(CHECK_S):
            occupancy = await line.client.occupancy()
            names = tuple(line.endpoint.names or ())
            model = names[0] if len(names) == 1 else ""
            if line.window(model) is None:
                line.learn_window(model, await line.client.context_window(line.model_there(model)))
    if occupancy is not None:
        events.append(_occupied(line, occupancy, policy))
    return [each for each in events if each is not None]


def _failed(
    line: Line, error: RigError, policy: PoolPolicy, retry: RetryPolicy
) -> EndpointChanged | None:
    """A server without a list of models may be well; one without an answer is not."""
    fault = fault_of(error)
    if fault not in _GONE:
        return line.become(_found(line.health), anyio.current_time())
    return line.failed(
        error, fault, model="", now=anyio.current_time(), policy=policy, retry=retry, random=0.0
    )


def _found(health: Health) -> Health:
    """It answered: so there is a connection, and nothing is loaded; whether it generates is not known."""
    if health.silent or health.state in {"down", "loading"}:
        return Health(state="unknown", latency_s=health.latency_s)
    return health


def _occupied(line: Line, occupancy: Occupancy, policy: PoolPolicy) -> EndpointChanged | None:
    """It says how many slots it has; where others hold them all, it is busy for a moment."""
    if line.endpoint.slots is None and occupancy.slots is not None:
        line.slots = occupancy.slots
    others = (occupancy.busy or 0) > line.in_flight
    if not (occupancy.full and others) or line.health.resting:
        return None
    now = anyio.current_time()
    busy = replace(line.health, state="busy", until=now + policy.loading_s, reason="full")
    return line.become(busy, now)
