"""Profiles kept in a file, for the caller who names one.

An entry is kept by what was measured: endpoint, model, build and settings of the server, dialect. The file
holds no URL and no key (the endpoint is a hash) and none of the sentences the endpoint said. It is
written anew at once, so nobody reads half of it; of two processes that write, the last one wins. A file
that is not a cache of rig's is neither believed nor overwritten, and no fault of the file is an error.
"""

import hashlib
import os
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import from_json, to_json

from rig.client.probes.facts import Facts
from rig.client.probes.profile import PROFILE_FORMAT, EndpointProfile
from rig.messages import as_array, as_object

MAX_CACHE_BYTES: Final = 8 << 20
"""Bytes of a file that are read. A profile is 10 KB, a list of 200 models in it included."""

MAX_ENTRIES: Final = 256
"""Profiles kept in one file; the oldest go first."""

_MARK: Final = b'{"rig_profiles":'
_VERSION: Final = 1


class _File(BaseModel):
    """The file. Its first field is how it is told from other people's."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    rig_profiles: int
    entries: dict[str, object]


def endpoint_name(base_url: str) -> str:
    """A name of an endpoint that does not tell where it is.

    Args:
        base_url: its normalised URL.
    """
    return hashlib.sha256(base_url.encode()).hexdigest()


def cache_key(endpoint: str, model: str, spoken: str, facts: Facts) -> str:
    """What a profile is kept by.

    Args:
        endpoint: the endpoint's name.
        model: the model's.
        spoken: the dialect's.
        facts: what the server says of itself: another build or other settings make another key.
    """
    parts = [endpoint, model, spoken, facts.server, facts.build, facts.fingerprint, PROFILE_FORMAT]
    return hashlib.sha256(to_json([str(part) for part in parts])).hexdigest()


def is_fresh(profile: EndpointProfile, now: datetime, max_age_s: float) -> bool:
    """Whether a profile is still believed; one from the future never is.

    Args:
        profile: the profile.
        now: an aware time.
        max_age_s: seconds it is believed.
    """
    measured = profile.measured_at
    if measured.tzinfo is None:
        return False
    return timedelta(0) <= now - measured < timedelta(seconds=max_age_s)


def read_profile(path: Path, key: str) -> EndpointProfile | None:
    """The profile of a key; None where there is none that can be read. Blocks.

    Args:
        path: the file; it may be missing, corrupt or anybody's.
        key: as `cache_key` gives it.
    """
    entry = (_entries(path) or {}).get(key)
    return None if entry is None else _profile(entry)


def write_profile(path: Path, key: str, profile: EndpointProfile) -> None:
    """Keep a profile, if the file can be written and is not somebody else's. Blocks.

    Args:
        path: the file; its folder must exist.
        key: as `cache_key` gives it.
        profile: what to keep; what the endpoint said to each finding is left out.
    """
    entries = _entries(path)
    if entries is None:
        return
    kept: dict[str, object] = {**entries, key: _without_endpoint_text(profile)}
    by_age = sorted(kept, key=lambda name: _measured_at(kept[name]))
    newest = {name: kept[name] for name in by_age[-MAX_ENTRIES:]}
    try:
        _replace(path, to_json({"rig_profiles": _VERSION, "entries": newest}))
    except OSError:
        return


def _entries(path: Path) -> Mapping[str, object] | None:
    """The entries of a file: none for a missing or broken one, None for one that is not ours."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_CACHE_BYTES + 1)
    except FileNotFoundError:
        return {}
    except OSError:
        return None
    if data and not data.startswith(_MARK):
        return None
    try:
        read = _File.model_validate(from_json(data)) if len(data) <= MAX_CACHE_BYTES else None
    except ValueError:
        return {}
    return read.entries if read is not None and read.rig_profiles == _VERSION else {}


def _profile(entry: object) -> EndpointProfile | None:
    try:
        profile = EndpointProfile.model_validate_json(to_json(entry))
    except (ValidationError, ValueError):
        return None
    return profile if profile.format == PROFILE_FORMAT else None


def _without_endpoint_text(profile: EndpointProfile) -> object:
    return _cleaned(profile.model_dump(mode="json"))


def _cleaned(value: object) -> object:
    """A copy without the texts named `detail` and `received`."""
    wire = as_object(value)
    if wire is not None:
        blank = {"detail": "", "received": None}
        return {
            name: blank[name] if name in blank else _cleaned(item) for name, item in wire.items()
        }
    entries = as_array(value)
    return value if entries is None else [_cleaned(item) for item in entries]


def _measured_at(entry: object) -> str:
    """When an entry was measured: ISO times of one zone sort as texts; anything else is oldest."""
    told = (as_object(entry) or {}).get("measured_at")
    return told if isinstance(told, str) else ""


def _replace(path: Path, data: bytes) -> None:
    """Write a file at once: readers see the old one or the new one.

    Raises:
        OSError: it can't be written.
    """
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def utc_now() -> datetime:
    """The time of the wall clock, which is what a file's age is told by."""
    return datetime.now(UTC)
