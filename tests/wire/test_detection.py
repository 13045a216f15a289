"""Which answers tell which server."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.wire.detection import PROBES, dialect_of_host, recognise
from rig.wire.dialects import DIALECTS

CAPTURES = Path(__file__).parents[1] / "data" / "wire" / "captures"
BY_PATH = {probe.path: probe for probe in PROBES}


def owned(*owners: object) -> object:
    return {"object": "list", "data": [{"id": "m", "owned_by": owner} for owner in owners]}


ANSWERS: dict[str, tuple[str, object, str | None]] = {
    "llama.cpp's models": ("v1/models", owned("llamacpp"), "llama.cpp"),
    "vLLM's models": ("v1/models", owned("vllm"), "vllm"),
    "SGLang's models": ("v1/models", owned("sglang"), "sglang"),
    "Ollama's models": ("v1/models", owned("me", "library"), "ollama"),
    "LM Studio's models": ("v1/models", owned("organization_owner"), "lm-studio"),
    "Anthropic's models": (
        "v1/models",
        {"data": [{"type": "model", "id": "claude-x", "display_name": "X"}], "has_more": False},
        "anthropic",
    ),
    "a proxy's models": ("v1/models", owned("openai", "me", None), None),
    "no models": ("v1/models", {"data": []}, None),
    "llama.cpp's settings": (
        "props",
        {"default_generation_settings": {"n_ctx": 2048}, "total_slots": 2},
        "llama.cpp",
    ),
    "vLLM's version": ("version", {"version": "0.32.0"}, "vllm"),
    "Ollama's version": ("api/version", {"version": "0.12.1"}, "ollama"),
    "llama-swap's version": ("api/version", {"version": "1", "commit": "a"}, None),
    "SGLang's model": (
        "get_model_info",
        {"model_path": "a/b", "tokenizer_path": "a/b", "is_generation": True},
        "sglang",
    ),
    "LM Studio's own list": (
        "api/v0/models",
        {"data": [{"id": "m", "type": "llm", "state": "loaded", "compatibility_type": "gguf"}]},
        "lm-studio",
    ),
    "LM Studio without that path": ("props", {"error": "Unexpected endpoint or method."}, None),
    "a list": ("props", [{"default_generation_settings": {}}], None),
    "null": ("v1/models", None, None),
    "models that are no list": ("v1/models", {"data": {"owned_by": "vllm"}}, None),
    "an owner that is no text": ("v1/models", owned(["vllm"], {}), None),
}


@pytest.mark.parametrize(("path", "answer", "name"), ANSWERS.values(), ids=ANSWERS.keys())
def test_an_answer_tells_its_server(path: str, answer: object, name: str | None) -> None:
    told = recognise(BY_PATH[path], json.dumps(answer).encode())
    assert told is (None if name is None else DIALECTS[name])


@pytest.mark.parametrize(
    ("server", "name"),
    [
        ("llama-server", "llama.cpp"),
        ("llama-server-smol-hermes", "llama.cpp"),
        ("llama-server-b4747", "llama.cpp"),
        ("vllm", "vllm"),
        ("litellm-proxy", None),
        ("llama-cpp-python", None),
    ],
)
def test_real_lists_of_models_tell_their_server(server: str, name: str | None) -> None:
    body = (CAPTURES / server / "models.txt").read_bytes().partition(b"\r\n\r\n")[2]
    told = recognise(BY_PATH["v1/models"], body)
    assert (told.name if told else None) == name


@pytest.mark.parametrize("body", [b"", b"<html>", b'{"data"', b"\xff"])
def test_what_is_no_json_tells_nothing(body: bytes) -> None:
    assert all(recognise(probe, body) is None for probe in PROBES)


@given(st.binary(max_size=40) | st.text(max_size=20).map(lambda text: json.dumps(text).encode()))
def test_any_bytes_are_read(body: bytes) -> None:
    for probe in PROBES:
        recognise(probe, body)


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("api.anthropic.com", "anthropic"),
        ("API.OPENAI.COM.", "openai"),
        ("127.0.0.1", None),
        ("api.openai.com.example", None),
    ],
)
def test_a_vendors_own_host_needs_no_question(host: str, name: str | None) -> None:
    told = dialect_of_host(host)
    assert (told.name if told else None) == name
