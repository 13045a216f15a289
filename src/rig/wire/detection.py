"""What tells one server from another: paths that can be asked for, and answers only one gives. No I/O.

Adding a server is adding a row. Most are told by the first: who owns the models it lists.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from rig.late_dataclass import dataclass
from rig.messages import as_array, as_object
from rig.wire.dialect import Dialect
from rig.wire.dialects import ANTHROPIC, DIALECTS
from rig.wire.payload import parse_json

MAX_ANSWER_BYTES: Final = 1 << 20
"""Bytes of an answer that are read. llama.cpp's /props holds a chat template, 50 KB at most; a proxy
that lists a thousand models sends 200 KB."""

_HOSTS: Final[Mapping[str, Dialect]] = MappingProxyType(
    {"api.anthropic.com": ANTHROPIC, "api.openai.com": DIALECTS["openai"]}
)

_OWNERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "llamacpp": "llama.cpp",  # measured on b4747 to b11549
        "vllm": "vllm",  # measured on 0.32
        "sglang": "sglang",  # python/sglang/srt/entrypoints/openai/protocol.py, ModelCard
        "library": "ollama",  # openai/openai.go, ToListCompletion: the namespace of official models
        "organization_owner": "lm-studio",  # lmstudio-ai/lmstudio-bug-tracker 619
    }
)


@dataclass(frozen=True, slots=True)
class Probe:
    """One question.

    Attributes:
        path: what is asked for, below the server's root.
        reads: the dialect's name in a JSON object that is the answer; "" when it tells nothing.
    """

    path: str
    reads: Callable[[Mapping[str, object]], str]


def _owner(answer: Mapping[str, object]) -> str:
    entries = _objects(answer.get("data"))
    owners = (_OWNERS.get(str(entry.get("owned_by"))) for entry in entries)
    told = next((owner for owner in owners if owner), "")
    if not told and any(
        "display_name" in entry and entry.get("type") == "model" for entry in entries
    ):
        return "anthropic"  # anthropic-sdk-python, types/model_info.py
    return told


def _llama(answer: Mapping[str, object]) -> str:
    return "llama.cpp" if "default_generation_settings" in answer else ""


def _sglang(answer: Mapping[str, object]) -> str:
    return "sglang" if "model_path" in answer and "is_generation" in answer else ""


def _only_version(name: str) -> Callable[[Mapping[str, object]], str]:
    """For answers of one field: llama-swap and others say more under the same path."""
    return lambda answer: name if [*answer] == ["version"] else ""


def _lm_studio(answer: Mapping[str, object]) -> str:
    entries = _objects(answer.get("data"))
    return "lm-studio" if any("compatibility_type" in entry for entry in entries) else ""


PROBES: Final = (
    Probe("v1/models", _owner),
    Probe("props", _llama),
    Probe("get_model_info", _sglang),
    Probe("version", _only_version("vllm")),
    Probe("api/version", _only_version("ollama")),
    Probe("api/v0/models", _lm_studio),
)
"""Asked in this order until one tells."""


def dialect_of_host(host: str) -> Dialect | None:
    """The dialect of a vendor's own host, which needs no question.

    Args:
        host: the host's name.
    """
    return _HOSTS.get(host.lower().rstrip("."))


def recognise(probe: Probe, body: bytes) -> Dialect | None:
    """The dialect an answer at status 200 tells; None when it tells nothing.

    Args:
        probe: the question.
        body: the answer, any bytes: LM Studio answers 200 at paths it does not have.
    """
    try:
        answer = as_object(parse_json(body))
    except ValueError:
        return None
    return None if answer is None else DIALECTS.get(probe.reads(answer))


def _objects(value: object) -> Sequence[Mapping[str, object]]:
    wires = (as_object(entry) for entry in as_array(value) or ())
    return [wire for wire in wires if wire is not None]
