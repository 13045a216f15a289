"""How large a context window is: where servers say it, as a table, and how each answer is read. No I/O.

Adding a server is adding a row and the function that reads its answer. What is wanted is the window a
request really has: that of a slot of the loaded model, not what the model was trained for. Readers
take any JSON value, and give None for every answer that does not say it.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, Literal

from rig.late_dataclass import dataclass
from rig.messages import MAX_COUNT, as_array, as_object
from rig.wire.payload import parse_json

MAX_PARAMETERS_CHARS: Final = 65_536
"""Characters of Ollama's `parameters` that are read: one line a parameter, some 40 characters each."""

MAX_TOKEN_DIGITS: Final = 12
"""Digits of a window written as text that are read; ten million tokens have eight."""


@dataclass(frozen=True, slots=True)
class Window:
    """The size of a context window.

    Attributes:
        tokens: prompt and reply together.
        settled: False for the most the model can have, told while it is not loaded: what it gets is
            decided when it is.
    """

    tokens: int
    settled: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowSource:
    """One place where a server says how large the window is.

    Attributes:
        name: whose it is.
        path: below the server's root; `{model}` stands for the model's name.
        read: reads the answer: (parsed JSON, model) to the window.
        method: GET, or POST with `{"model": MODEL}`.
    """

    name: str
    path: str
    read: Callable[[object, str], Window | None]
    method: Literal["GET", "POST"] = "GET"


def read_window(source: WindowSource, body: bytes, model: str) -> Window | None:
    """The window an answer tells.

    Args:
        source: where it was asked.
        body: the decoded body of a 200.
        model: the model's name, or "".

    Returns:
        The window; None where it is not told, and for bodies that are not JSON.
    """
    try:
        value: object = parse_json(body)
    except ValueError:
        return None
    return source.read(value, model)


def read_props(value: object, _model: str) -> Window | None:
    """llama.cpp's /props: the window of one slot; older servers have it at the top."""
    wire = as_object(value) or {}
    settings = as_object(wire.get("default_generation_settings")) or {}
    return _window(settings.get("n_ctx")) or _window(wire.get("n_ctx"))


def read_model_list(value: object, model: str) -> Window | None:
    """/v1/models, where the entry of the model says it: vLLM, SGLang, llama.cpp and the hosted ones.

    A list of a single model is about that model, whatever name it was asked for by.
    """
    entry = _entry(_entries(value, "data"), model, ("id", "root", "name"))
    names = (
        "max_model_len",  # vLLM, SGLang
        "context_length",  # OpenRouter
        "context_window",  # Groq
        "max_context_length",  # Mistral
    )
    windows = (_window(entry.get(name)) for name in names)
    found = next((window for window in windows if window), None)
    meta = as_object(entry.get("meta")) or {}  # llama.cpp; n_ctx_train beside it is no window
    return found or _window(meta.get("n_ctx"))


def read_ollama_ps(value: object, model: str) -> Window | None:
    """Ollama's /api/ps: the window the loaded model was given."""
    for entry in _entries(value, "models"):
        if _is_named(entry, model, ("name", "model")):
            return _window(entry.get("context_length"))
    return None


def read_ollama_show(value: object, _model: str) -> Window | None:
    """Ollama's /api/show: the `num_ctx` the model is loaded with, else the most it can have.

    Without a `num_ctx` the server chooses by its settings and memory, often 4,096.
    """
    wire = as_object(value) or {}
    limit = _model_limit(as_object(wire.get("model_info")) or {})
    asked = _num_ctx(wire.get("parameters"))
    if asked:
        return Window(min(asked.tokens, limit.tokens) if limit else asked.tokens)
    return Window(limit.tokens, settled=False) if limit else None


def read_lm_studio(value: object, model: str) -> Window | None:
    """LM Studio's /api/v0/models: the window the model was loaded with, else the most it can have."""
    entry = _entry(_entries(value, "data"), model, ("id",))
    loaded = _window(entry.get("loaded_context_length"))
    most = _window(entry.get("max_context_length"))
    return loaded or (Window(most.tokens, settled=False) if most else None)


def read_lm_studio_v1(value: object, model: str) -> Window | None:
    """LM Studio's /api/v1/models (0.4 and later): the window of a loaded instance, else the most."""
    entry = _entry(_entries(value, "models"), model, ("key", "selected_variant"))
    for instance in _objects(entry.get("loaded_instances")):
        config = as_object(instance.get("config")) or {}
        if loaded := _window(config.get("context_length")):
            return loaded
    most = _window(entry.get("max_context_length"))
    return Window(most.tokens, settled=False) if most else None


def read_tgi(value: object, _model: str) -> Window | None:
    """TGI's /info: prompt and reply together; older servers only say the prompt's share."""
    wire = as_object(value) or {}
    names = ("max_total_tokens", "max_input_tokens", "max_input_length")
    return next((window for name in names if (window := _window(wire.get(name)))), None)


def read_sglang(value: object, _model: str) -> Window | None:
    """SGLang's server info: the context, or less where the memory for it is smaller (sglang 4048)."""
    wire = as_object(value) or {}
    names = ("context_length", "max_context_length", "max_req_input_len", "max_total_num_tokens")
    sizes = [window.tokens for name in names if (window := _window(wire.get(name)))]
    return Window(min(sizes)) if sizes else None


def read_litellm(value: object, model: str) -> Window | None:
    """LiteLLM's /model/info: what its operator, or its list of models, says of the model."""
    entry = _entry(_entries(value, "data"), model, ("model_name",))
    info = as_object(entry.get("model_info")) or {}
    return _window(info.get("max_input_tokens"))


WINDOW_SOURCES: Final[tuple[WindowSource, ...]] = (
    WindowSource(name="llama.cpp", path="props", read=read_props),
    WindowSource(name="llama-swap", path="upstream/{model}/props", read=read_props),
    WindowSource(name="the list of models", path="v1/models", read=read_model_list),
    WindowSource(
        name="llama.cpp's router", path="props?model={model}&autoload=false", read=read_props
    ),
    WindowSource(name="Ollama, loaded", path="api/ps", read=read_ollama_ps),
    WindowSource(name="Ollama", path="api/show", read=read_ollama_show, method="POST"),
    WindowSource(name="LM Studio", path="api/v0/models", read=read_lm_studio),
    WindowSource(name="LM Studio v1", path="api/v1/models", read=read_lm_studio_v1),
    WindowSource(name="TGI", path="info", read=read_tgi),
    WindowSource(name="SGLang", path="get_server_info", read=read_sglang),
    WindowSource(name="LiteLLM", path="model/info", read=read_litellm),
)
"""First that says a window wins."""


def _window(value: object) -> Window | None:
    """A number of tokens above zero; numbers written as text count too."""
    if isinstance(value, str):
        digits = value.strip()
        is_number = digits.isascii() and digits.isdigit() and len(digits) <= MAX_TOKEN_DIGITS
        value = int(digits) if is_number else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return Window(int(value)) if 0 < value <= MAX_COUNT and value == int(value) else None


def _num_ctx(parameters: object) -> Window | None:
    """`num_ctx` of Ollama's parameters, which are lines of `name   value`."""
    wire = as_object(parameters)
    if wire is not None:
        return _window(wire.get("num_ctx"))
    if not isinstance(parameters, str):
        return None
    for line in parameters[:MAX_PARAMETERS_CHARS].splitlines():
        words = line.split()
        if len(words) == 2 and words[0] == "num_ctx":
            return _window(words[1])
    return None


def _model_limit(info: Mapping[str, object]) -> Window | None:
    """`ARCHITECTURE.context_length` of a model's metadata."""
    own = _window(info.get(f"{info.get('general.architecture')}.context_length"))
    names = (name for name in info if name.endswith(".context_length"))
    return own or next((window for name in names if (window := _window(info[name]))), None)


def _entries(value: object, field: str) -> list[Mapping[str, object]]:
    wire = as_object(value)
    return list(_objects(wire.get(field) if wire is not None else value))


def _objects(value: object) -> Iterator[Mapping[str, object]]:
    for item in as_array(value) or ():
        wire = as_object(item)
        if wire is not None:
            yield wire


def _entry(
    entries: list[Mapping[str, object]], model: str, fields: tuple[str, ...]
) -> Mapping[str, object]:
    """The entry of the model; the only one when there is just one; else an empty one."""
    for entry in entries:
        if _is_named(entry, model, fields):
            return entry
    return entries[0] if len(entries) == 1 else {}


def _is_named(entry: Mapping[str, object], model: str, fields: tuple[str, ...]) -> bool:
    aliases = as_array(entry.get("aliases")) or ()
    names = (*(entry.get(field) for field in fields), *aliases)
    wanted = _plain(model)
    return bool(wanted) and any(isinstance(name, str) and _plain(name) == wanted for name in names)


def _plain(name: str) -> str:
    """A name as servers compare it: Ollama's `:latest` says nothing."""
    return name.strip().lower().removesuffix(":latest")
