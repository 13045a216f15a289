"""The examination: which model, then what the endpoint does with it, inside one bound of time."""

import math
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import Final

import anyio

from rig.client import Client
from rig.client.probes.profile import EndpointProfile
from rig.client.probes.survey import OnProbe
from rig.errors import RigError
from rig.extras.cli.choosing import Chosen, Offer
from rig.extras.cli.clean import shown_url, without_secret
from rig.extras.cli.failures import (
    NO_MODELS,
    NOT_AN_ENDPOINT,
    Failure,
    explain,
    out_of_time,
    usage,
)
from rig.extras.cli.report import Report
from rig.late_dataclass import dataclass
from rig.transport.retry import RetryPolicy

TIMEOUT_S: Final = 58.0
"""Seconds for everything, so that it takes less than a minute with the start of Python."""

MAX_TIMEOUT_S: Final = 3_600.0
"""Most seconds that can be asked for. Thirty short questions that take longer tell nothing of use."""

RESERVE_S: Final = 4.0
"""Seconds kept back of what is left for probing, so that the profile ends by itself and is not lost: its last
probe waits a moment before it looks at the server's counters. With less than twice as much left, half of
it is kept back."""

LISTING_S: Final = 15.0
"""Seconds for the list of models. Proxies ask all of their servers for it."""

Choose = Callable[[Offer], str | None]
"""Asks the person which model; None where there is nobody to ask, or no answer."""

_HOPELESS: Final = frozenset({"upstream", "timeout", "unauthorized"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What to examine.

    Attributes:
        url: the endpoint.
        model: the model's name, None to choose one.
        key: the key itself; never part of the representation.
        dialect: the name of the dialect to speak, None for the client's own choice.
        timeout_s: seconds for everything but a person's thinking.
        cache: the file profiles are kept in.
        refresh: measure although the file knows.
    """

    url: str = field(repr=False)
    model: str | None = None
    key: str = field(default="", repr=False)
    dialect: str | None = None
    timeout_s: float = TIMEOUT_S
    cache: Path | None = None
    refresh: bool = False

    def client(self) -> Client:
        """A client of the endpoint that repeats nothing.

        Raises:
            InvalidRequestError: a setting can't be used.
        """
        return Client(self.url, self.key, dialect=self.dialect, retry=RetryPolicy.off())


def read_key(name: str | None, environment: Mapping[str, str]) -> str | Failure:
    """The key a variable holds; "" where none is named.

    Args:
        name: the variable's name.
        environment: the variables there are.
    """
    if name is None:
        return ""
    key = environment.get(name, "").strip()
    return key or usage("--api-key-env names a variable that is not set, or empty.")


def problem(settings: Settings) -> Failure | None:
    """What makes settings unusable before anything is sent.

    Args:
        settings: as they were given.
    """
    if not 1 <= settings.timeout_s <= MAX_TIMEOUT_S or not math.isfinite(settings.timeout_s):
        return usage(f"--timeout takes seconds from 1 to {MAX_TIMEOUT_S:g}.")
    if settings.model is not None and not (settings.model.strip() and _is_text(settings.model)):
        return usage("--model takes the name of a model; leave it out to take one that is listed.")
    if settings.cache is not None and not settings.cache.absolute().parent.is_dir():
        return usage("--cache takes a file in a folder that exists.")
    return None


def examine(
    settings: Settings, choose: Choose, progress: Callable[[], AbstractContextManager[OnProbe]]
) -> Report:
    """Measure an endpoint. Blocks; whatever goes wrong is in the report.

    Args:
        settings: what to examine.
        choose: asks which model where several are listed.
        progress: shows probes while its block lasts.
    """
    url = shown_url(settings.url)
    wrong = problem(settings)
    if wrong is not None:
        return Report.of_failure(url, wrong)
    started = time.monotonic()
    listed = anyio.run(_list_models, settings)
    left_s = settings.timeout_s - (time.monotonic() - started)
    chosen = _choose(settings, listed, choose)
    if isinstance(chosen, Failure):
        return Report.of_failure(url, chosen)
    model, how = chosen
    with progress() as on_probe:
        profile = anyio.run(partial(_profile, settings, model, left_s, on_probe))
    if isinstance(profile, Failure):
        return Report.of_failure(url, profile, model=model, chosen=how)
    if isinstance(listed, Failure) and _is_no_endpoint(listed, profile):
        return Report.of_failure(url, listed, model=model, chosen=how, profile=profile)
    return Report.of_profile(url, how, profile)


async def _list_models(settings: Settings) -> tuple[str, ...] | Failure:
    timeout_s = min(LISTING_S, settings.timeout_s)
    try:
        with anyio.fail_after(timeout_s):
            async with settings.client() as client:
                return await client.models()
    except RigError as error:
        return _explained(error, settings)
    except TimeoutError:
        return out_of_time(timeout_s)


async def _profile(
    settings: Settings, model: str, left_s: float, on_probe: OnProbe
) -> EndpointProfile | Failure:
    try:
        with anyio.fail_after(max(left_s, 0.0)):
            async with settings.client() as client:
                profile = await client.profile(
                    model,
                    refresh=settings.refresh,
                    cache=settings.cache,
                    budget_s=max(left_s - RESERVE_S, left_s / 2, 0.1),
                    on_probe=on_probe,
                )
    except RigError as error:
        return _explained(error, settings)
    except TimeoutError:
        return out_of_time(settings.timeout_s)
    secretless = without_secret(profile.model_dump(mode="json"), settings.key)
    return EndpointProfile.model_validate(secretless)


def _choose(
    settings: Settings, listed: tuple[str, ...] | Failure, choose: Choose
) -> tuple[str, Chosen] | Failure:
    """The model to measure and how it was found, or why there is none."""
    if isinstance(listed, Failure):
        goes_on = settings.model is not None and listed.code not in {*_HOPELESS, "usage"}
        return (settings.model or "", "named") if goes_on else listed
    if settings.model is not None:
        return settings.model, "named"
    offer = Offer.of(listed)
    if not offer.names:
        return NO_MODELS
    if len(offer.names) == 1:
        return offer.names[0], "only"
    answer = choose(offer)
    return (offer.names[0], "first") if answer is None else (answer, "asked")


def _is_no_endpoint(listed: Failure, profile: EndpointProfile) -> bool:
    """Whether neither the list of models nor a chat was answered as such servers do."""
    return listed.code in NOT_AN_ENDPOINT and profile.state.value == "failing"


def _explained(error: RigError, settings: Settings) -> Failure:
    return explain(error, secret=settings.key, listing=settings.model is None)


def _is_text(name: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in name)
