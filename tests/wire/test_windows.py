"""How answers about the context window are read."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import to_json

from rig.wire.windows import WINDOW_SOURCES, Window, WindowSource, read_window

DATA = Path(__file__).parents[1] / "data" / "windows"
SOURCES = {source.name: source for source in WINDOW_SOURCES}
MOST = False

RECORDED: list[tuple[str, str, str, Window | None]] = [
    ("llama.cpp", "llama-server.props", "smollm2", Window(2048)),
    ("llama.cpp", "llama-server-b4747.props", "smollm2", Window(2048)),
    ("llama.cpp", "llama-server-qwen05.props", "qwen", Window(4096)),
    ("llama.cpp", "vllm.props", "smollm2", None),
    ("llama.cpp", "llama-cpp-python.props", "smollm2", None),
    ("the list of models", "llama-server.models", "any name", Window(2048)),
    ("the list of models", "llama-server-b4747.models", "smollm2", None),
    ("the list of models", "vllm.models", "smollm2", Window(2048)),
    ("the list of models", "vllm.models", "/srv/testdata/models/smollm2-hf", Window(2048)),
    ("the list of models", "llama-cpp-python.models", "smollm2", None),
    ("the list of models", "litellm-proxy.models", "smollm2", None),
    ("Ollama, loaded", "ollama.ps", "gemma3", Window(4096)),
    ("Ollama, loaded", "ollama.ps", "gemma3:latest", Window(4096)),
    ("Ollama, loaded", "ollama.ps", "qwen3:14b", None),
    ("Ollama, loaded", "ollama.ps", "", None),
    ("Ollama", "ollama.show", "qwen3:14b", Window(16384)),
    ("Ollama", "ollama.show-without-num-ctx", "llama3.1", Window(131072, MOST)),
    ("LM Studio", "lm-studio.v0-models", "devstral-small-2505-mlx", Window(4096)),
    ("LM Studio", "lm-studio.v0-models", "qwen2-vl-7b-instruct", Window(32768, MOST)),
    ("LM Studio", "lm-studio.v0-models", "other", None),
    ("LM Studio v1", "lm-studio.v1-models", "gemma-3-270m-it-qat", Window(4096)),
    ("LM Studio v1", "lm-studio.v1-models", "qwen/qwen3-8b", Window(40960, MOST)),
    ("TGI", "tgi.info", "any name", Window(32768)),
    ("SGLang", "sglang.server-info", "any name", Window(59862)),
    ("LiteLLM", "litellm.model-info", "smollm2", Window(2048)),
    ("LiteLLM", "litellm.model-info", "mock", None),
]


@pytest.mark.parametrize(
    ("source", "file", "model", "window"),
    RECORDED,
    ids=[f"{file} for {model or 'no name'}" for _, file, model, _ in RECORDED],
)
def test_answers_of_servers_tell_their_window(
    source: str, file: str, model: str, window: Window | None
) -> None:
    body = (DATA / f"{file}.json").read_bytes()
    assert read_window(SOURCES[source], body, model) == window


def listed(**fields: object) -> dict[str, object]:
    return {"data": [{"id": "m", **fields}, {"id": "other", "max_model_len": 7}]}


CASES: dict[str, tuple[str, object, Window | None]] = {
    "a slot's window": (
        "llama.cpp",
        {"total_slots": 1, "default_generation_settings": {"n_ctx": 180224}},
        Window(180224),
    ),
    "at the top": ("llama.cpp", {"n_ctx": 4096}, Window(4096)),
    "a slot's of 0 falls to the top": (
        "llama.cpp",
        {"default_generation_settings": {"n_ctx": 0}, "n_ctx": 4096},
        Window(4096),
    ),
    "a slot's before the top": (
        "llama.cpp",
        {"default_generation_settings": {"n_ctx": 2048}, "n_ctx": 4096},
        Window(2048),
    ),
    "0 everywhere": (
        "llama.cpp",
        {"default_generation_settings": {"n_ctx": 0}, "n_ctx": 0},
        None,
    ),
    "settings of another kind": ("llama.cpp", {"default_generation_settings": [1]}, None),
    "a negative number": ("llama.cpp", {"n_ctx": -1}, None),
    "true": ("llama.cpp", {"n_ctx": True}, None),
    "a whole float": ("llama.cpp", {"n_ctx": 4096.0}, Window(4096)),
    "half a token": ("llama.cpp", {"n_ctx": 0.5}, None),
    "a number as text": ("llama.cpp", {"n_ctx": " 4096 "}, Window(4096)),
    "digits of another script": ("llama.cpp", {"n_ctx": "\u0664\u0660"}, None),
    "too many digits": ("llama.cpp", {"n_ctx": "9" * 5000}, None),
    "beyond exact numbers": ("llama.cpp", {"n_ctx": 1 << 60}, None),
    "the entry of the model": ("the list of models", listed(max_model_len=32768), Window(32768)),
    "OpenRouter's name": ("the list of models", listed(context_length=128000), Window(128000)),
    "Groq's name": ("the list of models", listed(context_window=131072), Window(131072)),
    "Mistral's name": ("the list of models", listed(max_context_length=32768), Window(32768)),
    "an entry that says nothing": ("the list of models", listed(), None),
    "the training window is none": (
        "the list of models",
        listed(meta={"n_ctx_train": 131072}),
        None,
    ),
    "an alias": (
        "the list of models",
        {"data": [{"id": "x"}, {"id": "y", "aliases": ["m"], "meta": {"n_ctx": 4096}}]},
        Window(4096),
    ),
    "names differ in case": (
        "the list of models",
        {"data": [{"id": "x"}, {"id": "M", "max_model_len": 1024}]},
        Window(1024),
    ),
    "none of several": (
        "the list of models",
        {"data": [{"id": "x", "max_model_len": 1}, {"id": "y", "max_model_len": 2}]},
        None,
    ),
    "the only one": ("the list of models", {"data": [{"max_model_len": 1024}]}, Window(1024)),
    "a bare list": ("the list of models", [{"id": "m", "max_model_len": 1024}], Window(1024)),
    "entries of other kinds": ("the list of models", {"data": [1, None, "m", []]}, None),
    "no other loaded model": (
        "Ollama, loaded",
        {"models": [{"name": "other", "context_length": 4096}]},
        None,
    ),
    "an older Ollama's": ("Ollama, loaded", {"models": [{"name": "m"}]}, None),
    "a num_ctx above what the model can": (
        "Ollama",
        {"parameters": "num_ctx 99999", "model_info": {"llama.context_length": 8192}},
        Window(8192),
    ),
    "a num_ctx alone": ("Ollama", {"parameters": "num_ctx\t4096"}, Window(4096)),
    "parameters as an object": ("Ollama", {"parameters": {"num_ctx": 4096}}, Window(4096)),
    "a stop that speaks of num_ctx": (
        "Ollama",
        {"parameters": 'stop "num_ctx 12"', "model_info": {"llama.context_length": 8192}},
        Window(8192, MOST),
    ),
    "a num_ctx that is no number": ("Ollama", {"parameters": "num_ctx lots"}, None),
    "the named architecture's": (
        "Ollama",
        {
            "model_info": {
                "clip.context_length": 77,
                "general.architecture": "gemma3",
                "gemma3.context_length": 131072,
            }
        },
        Window(131072, MOST),
    ),
    "an older TGI's": ("TGI", {"max_input_length": 1024}, Window(1024)),
    "another server's /info": ("TGI", {"name": "x", "version": "1"}, None),
    "SGLang without a context of its own": (
        "SGLang",
        {"context_length": None, "max_total_num_tokens": 4096},
        Window(4096),
    ),
    "SGLang's newer name": ("SGLang", {"max_context_length": 32768}, Window(32768)),
}


@pytest.mark.parametrize(("source", "value", "window"), CASES.values(), ids=CASES.keys())
def test_an_answer_tells_the_window_a_request_has(
    source: str, value: object, window: Window | None
) -> None:
    assert read_window(SOURCES[source], to_json(value), "m") == window


HOSTILE = {
    "html": b"<html>200</html>",
    "empty": b"",
    "cut": b'{"n_ctx": 40',
    "binary": b"\xff\xfe\x00",
    "deep": b"[" * 100_000,
    "5000 digits": b'{"n_ctx":' + b"9" * 5000 + b"}",
    "nan": b'{"n_ctx": NaN, "max_total_tokens": Infinity}',
    "null": b"null",
}


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("source", WINDOW_SOURCES, ids=lambda source: source.name)
def test_no_body_makes_a_reader_fail(source: WindowSource, body: bytes) -> None:
    assert read_window(source, body, "m") is None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["data", "models", "n_ctx", "id", "parameters", "model_info", "aliases", "meta"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(json_values)
def test_any_value_is_a_positive_window_or_none(value: object) -> None:
    for source in WINDOW_SOURCES:
        window = source.read(value, "m")
        assert window is None or window.tokens > 0


def test_long_parameters_are_read_only_in_part() -> None:
    text = "stop x\n" * 20_000 + "num_ctx 4096\n"
    assert read_window(SOURCES["Ollama"], to_json({"parameters": text}), "m") is None
