"""What an endpoint says of itself without being made to generate: the places, and how they are read. No I/O.

Adding a server is adding its places to the table. Readers take any JSON value.
"""

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from types import MappingProxyType
from typing import Final, Literal

from pydantic_core import to_json

from rig.late_dataclass import dataclass
from rig.messages import as_array, as_object
from rig.wire.fault_text import clean_line
from rig.wire.payload import parse_json

Tokenizer = Literal["prompts", "texts", "none"]
"""What the endpoint counts: whole prompts exactly, only texts, or nothing."""

MAX_FACT_BYTES: Final = 1 << 20
"""Bytes of an answer that are read. llama.cpp's /props holds a chat template, 50 KB at most."""

MAX_NAME_CHARS: Final = 200
"""Characters of a name or a version the endpoint gives; file paths of models have some 120."""

MAX_LISTED: Final = 200
"""Models that are kept of a list. Proxies list thousands, and nobody reads them in a profile."""

_TAIL_CHARS: Final = 80
_OPENER: Final = re.compile(r"<\s?think(?:ing)?\s?>\s*\Z", re.IGNORECASE)
_NONE: Final[Mapping[str, bool]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What an endpoint says of itself.

    Attributes:
        server: the name of its dialect.
        build: its version, "" where it tells none.
        fingerprint: changes when the server is started with other settings, where it tells them.
        caps: what it says its chat template or model can do, by llama.cpp's names.
        loading: whether it says that it is loading its model.
        models: the names it lists, None where there is no list.
        window_tokens: the context window, None where it does not say.
        tokenizer: what it counts; None where that was not looked for.
        opens_thought: whether the template ends the prompt inside a thought; None where it can't be seen.
        opens_hushed: the same where it is told not to think.
    """

    server: str = "generic"
    build: str = ""
    fingerprint: str = ""
    caps: Mapping[str, bool] = field(default_factory=lambda: _NONE)
    loading: bool = False
    models: tuple[str, ...] | None = None
    window_tokens: int | None = None
    tokenizer: Tokenizer | None = None
    opens_thought: bool | None = None
    opens_hushed: bool | None = None


Read = Callable[[Facts, Mapping[str, object]], Facts]
"""Adds what an answer tells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One place where a server says something of itself.

    Attributes:
        path: below the server's root.
        read: reads the answer, a JSON object.
        method: GET, or POST with `{"model": MODEL}`.
    """

    path: str
    read: Read
    method: Literal["GET", "POST"] = "GET"


def _props(facts: Facts, answer: Mapping[str, object]) -> Facts:
    """llama.cpp's /props, from b4747 to b11549; `chat_template_caps` came in 2026."""
    caps = as_object(answer.get("chat_template_caps")) or {}
    settings = as_object(answer.get("default_generation_settings")) or {}
    told = [answer.get(name) for name in ("model_path", "chat_template", "total_slots")]
    text = to_json([*told, settings.get("n_ctx"), caps], inf_nan_mode="null")
    return replace(
        facts,
        build=_name(answer.get("build_info")),
        caps={name: value for name, value in caps.items() if isinstance(value, bool)},
        fingerprint=hashlib.sha256(text).hexdigest()[:16],
    )


def _version(facts: Facts, answer: Mapping[str, object]) -> Facts:
    return replace(facts, build=_name(answer.get("version")) or facts.build)


def _ollama_model(facts: Facts, answer: Mapping[str, object]) -> Facts:
    """Ollama's /api/show: `capabilities` is derived from the model's template (server/images.go)."""
    listed = as_array(answer.get("capabilities"))
    if listed is None:
        return facts
    tools = "tools" in listed
    return replace(facts, caps={"supports_tools": tools, "supports_tool_calls": tools})


PLACES: Final[Mapping[str, tuple[Place, ...]]] = MappingProxyType(
    {
        "llama.cpp": (Place(path="props", read=_props),),
        "vllm": (Place(path="version", read=_version),),
        "sglang": (Place(path="get_server_info", read=_version),),
        "ollama": (
            Place(path="api/version", read=_version),
            Place(path="api/show", read=_ollama_model, method="POST"),
        ),
    }
)
"""Where each kind of server tells its version and its settings."""


def read_place(facts: Facts, place: Place, body: bytes) -> Facts:
    """The facts with what an answer tells.

    Args:
        facts: what was known before.
        place: where it was asked.
        body: the answer at status 200; any bytes.
    """
    wire = _object(body)
    try:
        return facts if wire is None else place.read(facts, wire)
    except ValueError:  # a value that can't be written as JSON, such as a lone surrogate
        return facts


def says_loading(status: int, body: bytes) -> bool:
    """Whether an answer of /health means that the model is being loaded.

    Args:
        status: HTTP status.
        body: the answer.
    """
    return status == 503 and b"loading" in body[:MAX_FACT_BYTES].lower()


def opens_thought(prompt: str) -> bool:
    """Whether a rendered prompt ends inside a thought, so that a reply begins in one.

    Args:
        prompt: the prompt as the chat template writes it.
    """
    return _OPENER.search(prompt[-_TAIL_CHARS:]) is not None


def listed_models(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names of a list of models, bounded and fit to be shown.

    Args:
        names: as the endpoint gave them.
    """
    return tuple(_name(name) for name in names[:MAX_LISTED])


def lists(models: tuple[str, ...], model: str) -> bool:
    """Whether a model is listed, by its name as servers compare it.

    Args:
        models: the names that are listed.
        model: the name that is asked for.
    """
    return _plain(model) in map(_plain, models)


def _plain(name: str) -> str:
    """A name without what says nothing: Ollama's `:latest`, and the case of letters."""
    return _name(name).lower().removesuffix(":latest")


def _name(value: object) -> str:
    return clean_line(value)[:MAX_NAME_CHARS] if isinstance(value, str) else ""


def _object(body: bytes) -> Mapping[str, object] | None:
    try:
        return as_object(parse_json(body))
    except ValueError:
        return None
