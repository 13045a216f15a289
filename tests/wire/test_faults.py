"""A failed request to the one error that says what to change."""

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import to_json

from rig.errors import (
    InputTooLargeError,
    InvalidRequestError,
    ModelNotFoundError,
    NotConfiguredError,
    ProtocolError,
    RateLimitedError,
    RefusedError,
    RequestTimeoutError,
    RigError,
    ServerError,
    TruncatedToolCallError,
    UnauthorizedError,
)
from rig.wire.fault_rows import ROWS
from rig.wire.faults import error_from_response, error_in_payload, hints_overflow

BARE: dict[int, tuple[type[RigError], str, bool]] = {
    301: (ProtocolError, "redirect", False),
    307: (ProtocolError, "redirect", False),
    308: (ProtocolError, "redirect", False),
    400: (InvalidRequestError, "", False),
    401: (UnauthorizedError, "", False),
    402: (NotConfiguredError, "payment", False),
    403: (UnauthorizedError, "", False),
    404: (NotConfiguredError, "endpoint_not_found", False),
    405: (NotConfiguredError, "endpoint_not_found", False),
    407: (NotConfiguredError, "proxy", False),
    408: (RequestTimeoutError, "server", True),
    409: (InvalidRequestError, "", False),
    413: (InputTooLargeError, "payload", False),
    418: (InvalidRequestError, "", False),
    422: (InvalidRequestError, "", False),
    429: (RateLimitedError, "", True),
    500: (ServerError, "", True),
    501: (ServerError, "not_supported", False),
    502: (ServerError, "unavailable", True),
    503: (ServerError, "unavailable", True),
    504: (ServerError, "unavailable", True),
    520: (ServerError, "unavailable", True),
    521: (ServerError, "unavailable", True),
    522: (ServerError, "unavailable", True),
    523: (ServerError, "unavailable", True),
    524: (ServerError, "unavailable", True),
    529: (ServerError, "unavailable", True),
    599: (ServerError, "", True),
    200: (ProtocolError, "status", False),
    204: (ProtocolError, "status", False),
    600: (ProtocolError, "status", False),
    999: (ProtocolError, "status", False),
}


@pytest.mark.parametrize("body", [b"", b"<html><h1>x</h1>", b"{}", b'{"error": null}', b"oops"])
@pytest.mark.parametrize("status", BARE)
def test_the_status_alone_decides_where_the_body_says_nothing(status: int, body: bytes) -> None:
    kind, reason, retryable = BARE[status]
    error = error_from_response(status, {}, body)
    assert (type(error), error.reason, error.retryable) == (kind, reason, retryable)
    assert error.status == status


def says(message: str, **fields: object) -> dict[str, object]:
    return {"error": {"message": message, **fields}}


TRUNCATED = (
    "Failed to parse tool call arguments as JSON: [json.exception.parse_error.101] parse error at"
    " line 1, column 19315: syntax error while parsing value - invalid string: missing closing"
    " quote; last read: ..."
)

KINDS: dict[str, tuple[int, object, type[RigError], str]] = {
    # a call that was cut
    "llama.cpp, cut call": (500, says(TRUNCATED), TruncatedToolCallError, "server"),
    "the same at 400": (400, says(TRUNCATED), TruncatedToolCallError, "server"),
    "Ollama, cut call": (
        500,
        says("failed to parse JSON: unexpected end of JSON input", type="api_error"),
        TruncatedToolCallError,
        "server",
    ),
    "Ollama, harmony": (
        500,
        {"error": "error parsing tool call: raw='{..', err=unexpected end of JSON input"},
        TruncatedToolCallError,
        "server",
    ),
    "Ollama, under a key of its own": (
        500,
        {"error parsing tool call": "invalid character 'c' looking for beginning of value"},
        ServerError,
        "tool_call",
    ),
    "not a cut call: our body": (500, says("failed to parse request body"), InvalidRequestError, "server_500"),
    "not a cut call: a failure": (500, says("internal server error"), ServerError, ""),
    "not a cut call: a time-out": (500, says("upstream timeout"), ServerError, ""),
    "not a cut call: loading": (500, says("model is loading"), ServerError, "loading"),
    # a prompt that is too long
    "llama.cpp, batch": (
        500,
        says("input (35871 tokens) is too large to process. increase the physical batch size"),
        InputTooLargeError,
        "",
    ),
    "the same at 400 ": (
        400,
        says("input (35871 tokens) is too large to process. increase the physical batch size"),
        InputTooLargeError,
        "",
    ),
    "only a type": (400, says("x", type="exceed_context_size_error"), InputTooLargeError, ""),
    "only a code": (400, says("x", code="context_length_exceeded"), InputTooLargeError, ""),
    "SGLang": (
        400,
        {"message": "The input (5000 tokens) is longer than the model's context length (4096 tokens)."},
        InputTooLargeError,
        "",
    ),
    "LM Studio": (
        400,
        {"error": "Trying to keep the first 6547 tokens when context the overflows. However, the model"
                  " is loaded with context length of only 4096 tokens"},
        InputTooLargeError,
        "",
    ),
    "LM Studio, while writing": (
        400,
        {"error": "Reached context length of 4096 tokens with model (arch: gpt-oss)"},
        InputTooLargeError,
        "",
    ),
    "Ollama": (400, {"error": "the input length exceeds the context length"}, InputTooLargeError, ""),
    "TGI": (
        422,
        {"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given:"
                  " 5000 `inputs` tokens", "error_type": "validation"},
        InputTooLargeError,
        "",
    ),
    "an older llama.cpp": (400, says("context shift is disabled"), InputTooLargeError, ""),
    "Anthropic's": (400, says("prompt is too long: 210000 tokens > 200000 maximum"), InputTooLargeError, ""),
    "something else is too long": (400, says("the tool's name is too long"), InvalidRequestError, ""),
    # the credentials
    "a wrong key at 400": (400, says("bad key", code="invalid_api_key"), UnauthorizedError, ""),
    "litellm without a database": (400, says("No connected db.", type="no_db_connection"), UnauthorizedError, ""),
    "401 whatever it says": (401, says("maximum context length"), UnauthorizedError, ""),
    # too many requests
    "429 whatever it says": (429, says("maximum context length"), RateLimitedError, ""),
    "rate limit at 400": (400, says("slow", type="rate_limit_error"), RateLimitedError, ""),
    "no quota": (429, says("pay", code="insufficient_quota"), RateLimitedError, "quota"),
    # declined
    "OpenAI's filter": (400, says("x", code="content_policy_violation"), RefusedError, "content_filter"),
    "Azure's filter": (400, says("x", code="content_filter"), RefusedError, "content_filter"),
    "a filter at 403": (403, says("x", code="content_filter"), RefusedError, "content_filter"),
    "litellm's filter": (
        400,
        says("litellm.ContentPolicyViolationError: AzureException - x"),
        RefusedError,
        "content_filter",
    ),
    # templates, grammars, tools
    "Jinja": (500, says("Jinja Exception: no"), InvalidRequestError, "template"),
    "Jinja at 404": (404, says("chat template error: model roles"), InvalidRequestError, "template"),
    "roles": (
        500,
        says("After the optional system message, conversation roles must alternate user and assistant"),
        InvalidRequestError,
        "template",
    ),
    "a grammar": (400, says("Failed to initialize samplers: failed to parse grammar"), InvalidRequestError, "schema"),
    "a schema": (
        400,
        says("Unable to generate parser for this template. JSON schema conversion failed: Unrecognized schema"),
        InvalidRequestError,
        "schema",
    ),
    "grammar and tools": (400, says("Cannot use custom grammar constraints with tools."), InvalidRequestError, "grammar"),
    "grammar and tools, old": (500, says("Cannot use custom grammar constraints with tools."), InvalidRequestError, "grammar"),
    "vLLM without tools": (
        400,
        says('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
        NotConfiguredError,
        "tools_off",
    ),
    "llama.cpp without tools": (500, says("tools param requires --jinja flag"), NotConfiguredError, "tools_off"),
    "Ollama without tools": (
        400,
        {"error": "registry.ollama.ai/library/x does not support tools"},
        NotConfiguredError,
        "tools_off",
    ),
    # what is not there
    "vLLM, model": (404, says("The model `x` does not exist.", type="NotFoundError"), ModelNotFoundError, ""),
    "Ollama, model": (404, {"error": "model 'qwen3' not found, try pulling it first"}, ModelNotFoundError, ""),
    "OpenAI, model": (404, says("x", code="model_not_found"), ModelNotFoundError, ""),
    "litellm, model": (400, says("Invalid model name passed in model=x"), ModelNotFoundError, ""),
    "OpenRouter, model": (400, says("x is not a valid model ID"), ModelNotFoundError, ""),
    "LM Studio, model": (404, says("No models loaded. Please load a model"), ModelNotFoundError, ""),
    "llama.cpp, path": (404, says("File Not Found", type="not_found_error"), NotConfiguredError, "endpoint_not_found"),
    "FastAPI, path": (404, {"detail": "Not Found"}, NotConfiguredError, "endpoint_not_found"),
    "Ollama, path": (404, "404 page not found", NotConfiguredError, "endpoint_not_found"),
    # the server
    "loading": (503, says("Loading model", type="unavailable_error"), ServerError, "loading"),
    "TGI loading": (503, {"error": "Model x is currently loading"}, ServerError, "loading"),
    "Ollama loading": (500, {"error": "llm server loading model"}, ServerError, "loading"),
    "could not load": (500, {"error": "error loading model /x.gguf"}, ServerError, ""),
    "overloaded": (529, {"type": "error", "error": {"type": "overloaded_error", "message": "x"}}, ServerError, "unavailable"),
    # requests reported as 500
    "no vision": (500, says("image input is not supported - you may need the mmproj"), InvalidRequestError, "server_500"),
    "pydantic in llama-cpp-python": (500, says("7 validation errors:\n {'type': ..."), InvalidRequestError, "server_500"),
    "b4747": (500, says('Failed to parse messages: Expected "content"; messages = []'), InvalidRequestError, "server_500"),
    "the type tells": (500, says("x", type="invalid_request_error"), InvalidRequestError, "server_500"),
    "Mistral's ids": (500, says("Tool call id was x but must be a-z, A-Z, 0-9"), InvalidRequestError, "server_500"),
}  # fmt: skip


@pytest.mark.parametrize(("status", "body", "kind", "reason"), KINDS.values(), ids=KINDS)
def test_the_body_tells_what_the_status_does_not(
    status: int, body: object, kind: type[RigError], reason: str
) -> None:
    error = error_from_response(status, {}, to_json(body))
    assert (type(error), error.reason) == (kind, reason)
    assert error.status == status


@pytest.mark.parametrize(("status", "body", "kind", "reason"), KINDS.values(), ids=KINDS)
def test_the_gateway_s_rule_of_what_is_worth_repeating(
    status: int, body: object, kind: type[RigError], reason: str
) -> None:
    error = error_from_response(status, {}, to_json(body))
    if isinstance(error, RateLimitedError | RequestTimeoutError):
        assert error.retryable
    elif error.retryable:
        assert isinstance(error, ServerError)
        assert status >= 500


NUMBERS: dict[str, tuple[object, int | None, int | None]] = {
    "llama.cpp's fields": (says("x", type="exceed_context_size_error", n_prompt_tokens=9031, n_ctx=2048), 9031, 2048),
    "llama.cpp's words": (says("request (9031 tokens) exceeds the available context size (2048 tokens), try"), 9031, 2048),
    "llama.cpp's batch": (
        says("input (35871 tokens) is too large to process. increase the physical batch size (current batch size: 8192)"),
        35871, 8192,
    ),
    "vLLM": (
        says("This model's maximum context length is 262144 tokens. However, you requested 0 output tokens"
             " and your prompt contains at least 262145 input tokens, for a total of"), 262145, 262144,
    ),
    "vLLM, max_tokens": (
        says("'max_tokens' is too large: 100000. This model's maximum context length is 2048 tokens and"
             " your request has 30 input tokens"), 30, 2048,
    ),
    "llama-cpp-python": (
        says("This model's maximum context length is 2048 tokens. However, you requested 9079 tokens"
             " (9031 in the messages, 48 in the completion)."), 9031, 2048,
    ),
    "OpenAI": (
        says("This model's maximum context length is 8192 tokens. However, your messages resulted in 9,000 tokens."),
        9000, 8192,
    ),
    "SGLang": (says("The input (5000 tokens) is longer than the model's context length (4096 tokens)."), 5000, 4096),
    "Anthropic": (says("prompt is too long: 210000 tokens > 200000 maximum"), 210000, 200000),
    "LM Studio": (
        says("Trying to keep the first 6547 tokens when context the overflows. However, the model is loaded"
             " with context length of only 4096 tokens"), 6547, 4096,
    ),
    "no numbers": (says("context_length_exceeded"), None, None),
    "numbers beyond belief": (
        says("request (99999999999999999999 tokens) exceeds the available context", n_ctx=-1), 999999999999, None,
    ),
    "fields of other types": (says("exceeds the available context", n_ctx="many", n_prompt_tokens=True), None, None),
}  # fmt: skip


@pytest.mark.parametrize(("body", "prompt", "context"), NUMBERS.values(), ids=NUMBERS)
def test_the_sizes_are_read_out(body: object, prompt: int | None, context: int | None) -> None:
    error = error_from_response(400, {}, to_json(body))
    assert isinstance(error, InputTooLargeError)
    assert (error.prompt_tokens, error.context_tokens) == (prompt, context)


CATEGORIES: dict[str, tuple[object, str]] = {
    "the code": (says("x", code="content_policy_violation"), "content_policy_violation"),
    "the filter that hit": (
        says("x", code="content_filter", innererror={
            "code": "ResponsibleAIPolicyViolation",
            "content_filter_result": {"hate": {"filtered": False}, "violence": {"filtered": True}},
        }),
        "violence",
    ),
    "words alone": (says("rejected as a result of our safety system"), "content_filter"),
}  # fmt: skip


@pytest.mark.parametrize(("body", "category"), CATEGORIES.values(), ids=CATEGORIES)
def test_a_refusal_has_a_category(body: object, category: str) -> None:
    error = error_from_response(400, {}, to_json(body))
    assert isinstance(error, RefusedError)
    assert error.category == category
    assert not error.retryable


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_server_s_numbers_are_on_the_error(status: int) -> None:
    headers = {"retry-after": "3", "x-ratelimit-waiting": "2"}
    error = error_from_response(status, headers, b'{"error": {"retry_after": 9, "capacity": 4}}')
    assert isinstance(error, RateLimitedError | ServerError)
    assert error.retry_after_s == 3
    assert error.backpressure is not None
    assert (error.backpressure.capacity, error.backpressure.waiting) == (4, 2)
    assert error.backpressure.retry_after_s == 3


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.error.__name__}-{row.reason}")
def test_a_row_is_written_as_the_table_s_rules_say(row: Any) -> None:
    assert row.says[0].islower()
    assert all(word == word.lower() for words in row.phrases for word in words)
    assert all(code == code.lower() for code in row.codes)


def test_the_table_has_an_answer_for_every_status_of_a_fault() -> None:
    for status in range(300, 600):
        assert error_from_response(status, {}, b"").status == status


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"choices": [{"message": {"content": "x"}}]},
        {"choices": []},
        {"error": None, "choices": []},
        {"error": "", "message": "", "detail": None},
        {"choices": [{"error": None}]},
        {"choices": [None]},
        {"choices": [], "message": "not an error, a field"},
    ],
)
def test_a_payload_without_an_error_tells_of_none(payload: dict[str, object]) -> None:
    assert error_in_payload(payload) is None


@pytest.mark.parametrize(
    "text",
    [
        "This model's maximum context length is 8192 tokens",
        "the input exceeds n_ctx",
        "prompt is too long",
        "Reduce the LENGTH of the messages",
        "input (14969 tokens) is too large to process. increase the physical batch size",
    ],
)
def test_a_probe_takes_loose_signs_of_overflow(text: str) -> None:
    assert hints_overflow(text)


def test_a_probe_does_not_take_everything() -> None:
    assert not hints_overflow("invalid api key")


VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.just("MARKER") | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([
                "error", "message", "detail", "msg", "loc", "code", "type", "status", "metadata",
                "raw", "innererror", "errors", "reason", "capacity", "retry_after", "n_ctx",
                "content_filter_result", "object",
            ]),
            inner,
        )
    ),
    max_leaves=12,
)  # fmt: skip
STATUSES = st.integers(100, 700)


def _is_clean(error: RigError) -> None:
    state = getattr(error, "backpressure", None)
    assert "MARKER" not in str(error) + repr(error) + str(state) + repr(state) + error.reason
    assert error.message
    assert len(error.detail) <= 2000
    error.detail.encode()
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


@given(
    STATUSES,
    VALUES,
    st.dictionaries(st.sampled_from(["retry-after", "date"]), st.text(max_size=40)),
)
def test_any_answer_becomes_an_error_without_its_text(
    status: int, value: object, headers: dict[str, str]
) -> None:
    _is_clean(error_from_response(status, headers, to_json(value, inf_nan_mode="constants")))


@given(STATUSES, st.binary(max_size=200))
def test_any_bytes_become_an_error(status: int, body: bytes) -> None:
    _is_clean(error_from_response(status, {}, b"MARKER" + body))
    _is_clean(error_from_response(status, {}, body + b'{"error": "MARKER"}'))


@given(
    st.dictionaries(st.sampled_from(["error", "detail", "choices", "object", "message"]), VALUES)
)
def test_any_payload_is_judged(payload: dict[str, object]) -> None:
    error = error_in_payload(payload)
    if error is not None:
        _is_clean(error)


@pytest.mark.parametrize("marker_at", ["message", "type", "code", "param", "reason"])
@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 429, 500, 503])
def test_no_text_of_the_endpoint_is_in_the_message(status: int, marker_at: str) -> None:
    body = {"error": {"message": "x maximum context length", marker_at: "MARKER"}}
    _is_clean(error_from_response(status, {"x-marker": "MARKER"}, to_json(body)))
