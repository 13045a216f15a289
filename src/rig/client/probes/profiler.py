"""A client's profiles: remembered, read from the caller's file, or measured."""

from pathlib import Path

import anyio
import anyio.to_thread

from rig.client.findings import MAX_MODELS
from rig.client.per_loop import PerLoop
from rig.client.probes.cache import cache_key, is_fresh, read_profile, utc_now, write_profile
from rig.client.probes.identify import IDENTIFY_TIMEOUT_S, identify
from rig.client.probes.limits import BUDGET_S, CACHE_S
from rig.client.probes.line import Line
from rig.client.probes.profile import EndpointProfile
from rig.client.probes.survey import FIRST, TOTAL, OnProbe, Survey
from rig.errors import InvalidRequestError


class Profiler:
    """Measures what an endpoint does, once for each model while nothing changes.

    One measurement runs at a time: two would take each other for the server's slowness. Who asks for
    the same meanwhile waits, and shares its profile.

    Args:
        endpoint: a name of the endpoint, as `endpoint_name` gives it.
    """

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint
        self._lock = PerLoop(anyio.Lock)
        self._remembered: dict[str, EndpointProfile] = {}

    async def profile(
        self,
        line: Line,
        model: str,
        *,
        refresh: bool = False,
        cache: Path | None = None,
        max_age_s: float = CACHE_S,
        budget_s: float = BUDGET_S,
        on_probe: OnProbe | None = None,
    ) -> EndpointProfile:
        """The profile of a model; see `Client.profile`.

        Args:
            line: reaches the endpoint.
            model: the model's name.
            refresh: measure again whatever is known.
            cache: the file profiles are kept in, None for none.
            max_age_s: seconds a profile is believed.
            budget_s: seconds for measuring.
            on_probe: told before each probe.

        Raises:
            InvalidRequestError: budget_s or max_age_s is not above zero.
            RigError: the endpoint can't be reached, or wants another key.
        """
        if not budget_s > 0 or not max_age_s > 0:
            raise InvalidRequestError("budget_s and max_age_s must be above 0 seconds")
        async with self._lock.get():
            return await self._profile(line, model, refresh, cache, max_age_s, budget_s, on_probe)

    async def _profile(
        self,
        line: Line,
        model: str,
        refresh: bool,
        cache: Path | None,
        max_age_s: float,
        budget_s: float,
        on_probe: OnProbe | None,
    ) -> EndpointProfile:
        started = anyio.current_time()
        if on_probe is not None:
            on_probe(FIRST[0], 1, TOTAL)
        facts = await identify(line, model, timeout_s=min(IDENTIFY_TIMEOUT_S, budget_s))
        key = cache_key(self._endpoint, model, line.dialect_for(model).name, facts)
        if not refresh:
            known = await self._known(key, cache, max_age_s)
            if known is not None:
                return known
        survey = Survey(line, model, facts, started=started, budget_s=budget_s, on_probe=on_probe)
        profile = await survey.run()
        if profile.state.value == "ready":
            await self._keep(key, cache, profile)
        return profile

    async def _known(
        self, key: str, cache: Path | None, max_age_s: float
    ) -> EndpointProfile | None:
        profile = self._remembered.get(key)
        if profile is None and cache is not None:
            profile = await anyio.to_thread.run_sync(read_profile, cache, key)
        if profile is None or not is_fresh(profile, utc_now(), max_age_s):
            return None
        return profile

    async def _keep(self, key: str, cache: Path | None, profile: EndpointProfile) -> None:
        self._remembered.pop(key, None)
        if len(self._remembered) >= MAX_MODELS:
            del self._remembered[next(iter(self._remembered))]
        self._remembered[key] = profile
        if cache is not None:
            await anyio.to_thread.run_sync(write_profile, cache, key, profile)
