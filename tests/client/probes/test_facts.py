"""What servers say of themselves, read from real answers and from anything else."""

import json
from typing import Any

import pytest

from rig.client.probes.facts import (
    MAX_LISTED,
    MAX_NAME_CHARS,
    PLACES,
    Facts,
    Place,
    listed_models,
    lists,
    opens_thought,
    read_place,
    says_loading,
)

# llama.cpp b10434 and b4748, /props, shortened.
MODERN: dict[str, Any] = {
    "default_generation_settings": {"n_ctx": 2048, "params": {}},
    "total_slots": 2,
    "model_path": "/models/a.gguf",
    "media_marker": "<__media_GW6m__>",
    "chat_template": "{{ messages }}",
    "chat_template_caps": {"supports_tools": False, "supports_system_role": True, "odd": "x"},
    "build_info": "b1-7e4c0a9",
    "is_sleeping": False,
}
OLD = {"default_generation_settings": {"n_ctx": 2048}, "build_info": "b4748-c392e5094"}

PROPS, VERSION, SGLANG = PLACES["llama.cpp"][0], PLACES["vllm"][0], PLACES["sglang"][0]
SHOW = PLACES["ollama"][1]


def read(place: Place, answer: object) -> Facts:
    return read_place(Facts(), place, json.dumps(answer).encode())


def test_llama_cpp_tells_its_build_and_what_its_template_can_do() -> None:
    facts = read(PROPS, MODERN)
    assert facts.build == "b1-7e4c0a9"
    assert facts.caps == {"supports_tools": False, "supports_system_role": True}
    old = read(PROPS, OLD)
    assert (old.build, old.caps) == ("b4748-c392e5094", {})


SETTINGS = {
    "another template": ({"chat_template": "x"}, False),
    "another model": ({"model_path": "/b"}, False),
    "another window": ({"default_generation_settings": {"n_ctx": 4096}}, False),
    "a marker made anew with every start": ({"media_marker": "<__media_y__>"}, True),
    "asleep": ({"is_sleeping": True}, True),
}


@pytest.mark.parametrize(("changed", "same"), SETTINGS.values(), ids=SETTINGS)
def test_the_fingerprint_changes_with_the_settings_and_nothing_else(
    changed: dict[str, Any], same: bool
) -> None:
    assert (read(PROPS, MODERN).fingerprint == read(PROPS, MODERN | changed).fingerprint) is same


def test_versions_are_read() -> None:
    assert read(VERSION, {"version": "0.32.0"}).build == "0.32.0"
    assert read(SGLANG, {"model_path": "m", "version": "0.5.1"}).build == "0.5.1"


def test_ollama_tells_of_each_model_whether_it_knows_tools() -> None:
    assert read(SHOW, {"capabilities": ["completion", "tools"]}).caps["supports_tools"] is True
    assert read(SHOW, {"capabilities": ["completion"]}).caps["supports_tools"] is False
    assert read(SHOW, {"parameters": "stop x"}).caps == {}


ODD: dict[str, bytes] = {
    "nothing": b"",
    "a page": b"<html>",
    "a list": b"[1, 2]",
    "null": b"null",
    "other types": b'{"version": 1, "build_info": [], "chat_template_caps": 3, "capabilities": 1}',
    "half a surrogate pair": rb'{"chat_template": "\ud83d", "version": "\ud83d", "build_info": "\ud83d"}',
    "not a number": b'{"total_slots": NaN}',
    "deep": b'{"chat_template": ' + b"[" * 100_000,
}


@pytest.mark.parametrize(
    "place", [place for places in PLACES.values() for place in places], ids=lambda place: place.path
)
@pytest.mark.parametrize("body", ODD.values(), ids=ODD)
def test_any_other_answer_tells_nothing_and_raises_nothing(place: Place, body: bytes) -> None:
    facts = read_place(Facts(server="x"), place, body)
    assert facts.server == "x"
    assert len(facts.build) <= 1


def test_names_are_bounded_and_fit_to_be_shown() -> None:
    names = listed_models(("a\x1b[31m\nb", "x" * 1000, *map(str, range(1000))))
    assert names[0] == "a b"
    assert len(names[1]) == MAX_NAME_CHARS
    assert len(names) == MAX_LISTED


@pytest.mark.parametrize(
    ("model", "listed"),
    [("qwen3", True), ("Qwen3:latest", True), ("qwen3:8b", False), ("", False)],
)
def test_a_name_is_listed_as_servers_compare_it(model: str, listed: bool) -> None:
    assert lists(("llama", "qwen3:latest"), model) is listed


@pytest.mark.parametrize(
    ("status", "body", "loading"),
    [
        (503, b'{"error": {"message": "Loading model", "code": 503}}', True),
        (503, b"upstream down", False),
        (200, b'{"status": "ok"}', False),
        (404, b"loading", False),
    ],
)
def test_loading_is_a_503_that_says_so(status: int, body: bytes, loading: bool) -> None:
    assert says_loading(status, body) is loading


@pytest.mark.parametrize(
    ("prompt", "opens"),
    [
        ("<|im_start|>assistant\n<think>\n", True),
        ("<\uff5cAssistant\uff5c><think>\n", True),
        ("assistant\n<THINKING>", True),
        ("assistant\n", False),
        ("assistant\n<think>\n\n</think>\n\n", False),
        ("<think> of it\nassistant\n", False),
        ("", False),
        ("<" * 1_000_000, False),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_template_that_opens_a_thought_ends_with_the_tag(prompt: str, opens: bool) -> None:
    assert opens_thought(prompt) is opens
