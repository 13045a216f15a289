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
from rig.wire.faults import error_from_response, hints_overflow
from rig.wire.told_faults import error_in_payload

BARE: dict[int, tuple[type[RigError], str, bool]] = {
    301: (ProtocolError, "redirect", False),
    307: (ProtocolError, "redirect", False),
    308: (ProtocolError, "redirect", False),
    304: (ProtocolError, "status", False),
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
        assert error.retryable == (error.reason != "quota")
    elif error.retryable:
        assert isinstance(error, ServerError)
        assert status >= 500


# Wordings of one kind of fault, each as the server named writes it, at the status it uses.
WORDINGS: dict[tuple[type[RigError], str], dict[str, tuple[int, object]]] = {
    (InputTooLargeError, ""): {
        "OpenAI, input": (400, says("Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.")),
        "a conversation": (400, says("Your conversation is too long, please start a new one")),
        "Baidu": (400, {"error_code": 336103, "error_msg": "prompt tokens too long"}),
        "vLLM, total": (400, says("The prompt (total length 5000) is too long to fit into the model (context length 4096).")),
        "vLLM, decoder": (400, says("The decoder prompt (length 5000) is longer than the maximum model length of 4096.")),
        "SGLang, allowed": (400, {"message": "Input length (5000 tokens) exceeds the maximum allowed length (4090 tokens)."}),
        "LM Studio, n_keep": (400, {"error": "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 9000>= n_ctx: 4096)."}),
        "Anthropic, sum": (400, says("input length and `max_tokens` exceed context limit: 199211 + 20000 > 200000", type="invalid_request_error")),
        "Gemini": (400, [{"error": {"code": 400, "message": "The input token count (1200000) exceeds the maximum number of tokens allowed (1048575).", "status": "INVALID_ARGUMENT"}}]),
        "Gemini, later": (400, says("The input token count exceeds the maximum number of tokens allowed 1048576.")),
        "Bedrock": (400, {"message": "Input is too long for requested model."}),
        "Bedrock's gateway": (400, {"detail": "Too many input tokens. Max input tokens: 8192, request input token count: 9000 "}),
        "Cohere": (400, {"message": "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5000."}),
        "Mistral": (400, {"message": "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length", "code": "3051"}),
        "Kimi": (400, says("Invalid request: Your request exceeded model token limit: 8192", type="invalid_request_error")),
        "DashScope": (400, says("<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]")),
        "GLM": (400, says("Prompt exceeds max length", code="1261")),
        "GLM, the code alone": (400, says("x", code="1261")),
        "MiniMax": (400, says("invalid params, context window exceeds limit (2013)")),
        "TabbyAPI": (400, {"detail": "Prompt length 5000 is greater than max_seq_len 4096"}),
        "TensorRT-LLM": (400, {"message": "Prompt length (5000) exceeds maximum input length (4096). Set log level"}),
        "TensorRT-LLM, sum": (400, {"message": "The sum of prompt length (5000.0), query length (0) should not exceed max_num_tokens (4096)"}),
        "Copilot": (400, says("prompt token count of 40000 exceeds the limit of 32768", code="model_max_prompt_tokens_exceeded")),
        "llama-cpp-python": (500, says("Requested tokens (9079) exceed context window of 2048")),
        "OpenRouter": (400, says("This endpoint's maximum context length is 32768 tokens. However, you requested about 40000 tokens")),
        "Responses": (400, says("Your input exceeds the context window of this model.")),
        "xAI": (400, {"code": "Client specified an invalid argument", "error": "This model's maximum prompt length is 131072 but the request contains 537812 tokens."}),
        "SambaNova": (400, says("Requested maximum completion tokens (4096) and prompt tokens (30000) exceed the maximum sequence length 16384")),
        "watsonx": (400, {"errors": [{"code": "invalid_input_argument", "message": "Invalid input argument for Model 'x': the number of input tokens 9000 cannot exceed the total tokens limit 8192"}]}),
        "Databricks": (400, {"error_code": "BAD_REQUEST", "message": '{"error_code":"BAD_REQUEST","message":"Requested input length 9000 is larger than maximum input length 8192"}'}),
        "Novita": (400, {"code": 400, "message": "input tokens length 9000 exceeds the maximum input tokens length 8192"}),
        "Cloudflare": (413, {"errors": [{"message": "AiError: The estimated number of input and maximum output tokens (9000) exceeded this model context window limit (8192).", "code": 5021}]}),
        "a wording nobody listed": (400, says("Total tokens of your conversation exceeded what we allow")),
        "another": (422, {"detail": "the prompt tokens are too many for this deployment"}),
        "a message's text": (400, says("Invalid 'messages[0].content': string too long. Expected a string with maximum length 1048576", code="string_above_max_length", param="messages[0].content")),
    },
    (InputTooLargeError, "payload"): {
        "Google": (400, says("Request payload size exceeds the limit: 20971520 bytes.")),
        "a page": (413, "<html><head><title>413 Request Entity Too Large</title></head></html>"),
        "a rate at 413": (413, says("x", code="rate_limit_exceeded")),
    },
    (InputTooLargeError, "rate"): {
        "Groq": (413, says("Request too large for model `x` in organization `y` on tokens per minute (TPM): Limit 6000, Requested 7190", code="rate_limit_exceeded")),
        "OpenAI": (429, says("Request too large for gpt-4 on tokens per min (TPM): Limit 10000, Requested 12000. The input or output tokens must be reduced in order to run successfully.", code="rate_limit_exceeded")),
    },
    (RateLimitedError, "quota"): {
        "Anthropic": (400, says("Your credit balance is too low to access the Anthropic API.")),
        "xAI": (403, {"error": "Your team has either used all available credits or reached its monthly spending limit."}),
        "Kimi": (429, says("Your account is suspended, please check your plan", type="exceeded_current_quota_error")),
        "LiteLLM at 400": (400, says("Budget has been exceeded! Current cost: 0.0001", type="budget_exceeded", code="400")),
        "LiteLLM": (429, says("ExceededBudget: User=x over budget.", code="429")),
        "GLM": (429, says("x", code="1113")),
        "OpenAI": (429, says("You exceeded your current quota", code="insufficient_quota")),
    },
    (RateLimitedError, ""): {
        "GitHub": (403, {"message": "API rate limit exceeded for user ID 1."}),
        "Bedrock": (400, {"message": "Too many tokens, please wait before trying again."}),
        "AWS": (400, {"__type": "ThrottlingException", "message": "Too many requests, please wait"}),
        "DashScope": (400, {"code": "Throttling.RateQuota", "message": "x"}),
        "Groq's flex": (498, says("Flex tier capacity exceeded", code="capacity_exceeded")),
        "Gemini, a minute's quota": (429, [{"error": {"code": 429, "message": "You exceeded your current quota. Please retry in 17.5s.", "status": "RESOURCE_EXHAUSTED"}}]),
        "Mistral": (429, {"message": "Service tier capacity exceeded for this model.", "code": "3505"}),
        "OpenAI": (429, says("Rate limit reached for gpt-4 on tokens per min (TPM): Limit 10000, Used 9999, Requested 30.", code="rate_limit_exceeded")),
    },
    (UnauthorizedError, ""): {
        "Google's reason": (400, [{"error": {"code": 400, "message": "x", "status": "INVALID_ARGUMENT", "details": [{"reason": "API_KEY_INVALID"}]}}]),
        "Google's words": (400, says("API key not valid. Please pass a valid API key.")),
        "a 403 of AWS": (403, {"message": "The security token included in the request is invalid."}),
        "a 403 of a proxy": (403, "<html><title>Attention Required! | Cloudflare</title></html>"),
    },
    (RefusedError, "content_filter"): {
        "OpenAI, images": (400, says("Your request was rejected by the safety system.")),
        "Gemini": (400, says("The prompt could not be submitted: it is blocked due to PROHIBITED_CONTENT")),
        "DeepSeek": (400, says("Content Exists Risk", type="invalid_request_error", code="invalid_request_error")),
        "DashScope, camel case": (400, {"code": "DataInspectionFailed", "message": "x"}),
        "DashScope, words": (400, says("Output data may contain inappropriate content.")),
        "OpenRouter": (403, says('x requires moderation on Anthropic. Your input was flagged for "violence".', code=403, metadata={"reasons": ["violence"]})),
        "xAI": (403, {"code": "The caller does not have permission", "error": "Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO"}),
        "Anthropic": (400, says("Output blocked by content filtering policy")),
        "OpenAI": (400, says("Invalid prompt: your prompt was flagged as potentially violating our usage policy.", code="invalid_prompt")),
        "OpenAI, the code alone": (400, says("x", code="invalid_prompt")),
        "GLM": (400, {"contentFilter": [{"level": 1}], "error": {"code": "1301", "message": "x"}}),
        "GLM's list alone": (400, {"contentFilter": [{"level": 1}], "error": {"code": "9", "message": "x"}}),
        "Kimi": (400, says("The request was rejected because it was considered high risk")),
        "LiteLLM": (400, says("{'error': 'Violated guardrail policy', 'bedrock_guardrail_response': 'x'}")),
    },
    (ModelNotFoundError, ""): {
        "a model at 400": (400, says("model 'qwen3:8b' not found")),
        "a model at 500": (500, says("Model qwen3 does not exist")),
        "LM Studio": (400, {"error": 'Invalid model identifier "foo". Please specify a valid downloaded model'}),
        "Perplexity": (400, says("Invalid model 'foo'. Permitted models can be found in the documentation")),
        "Vertex": (404, says("Publisher Model `projects/p/locations/l/models/x` was not found or your project does not have access to it.")),
        "Fireworks": (404, says("Model not found, inaccessible, and/or not deployed")),
        "DeepSeek": (400, says("Model Not Exist", code="invalid_request_error")),
        "OpenRouter": (404, says("No endpoints found for google/gemini-2.0-flash-exp:free.", code=404)),
        "Xinference": (400, {"detail": "[address=0.0.0.0:1234, pid=1] Model not found in the model list, uid: qwen"}),
        "Anthropic": (404, {"type": "error", "error": {"type": "not_found_error", "message": "model: claude-9"}}),
        "Together": (404, says("Unable to access model foo.", code="model_not_available")),
        "Groq": (400, says("The model `x` has been decommissioned and is no longer supported.", code="model_decommissioned")),
        "Bedrock": (400, {"message": "The provided model identifier is invalid."}),
        "Bedrock's gateway": (400, {"detail": "Unsupported model foo, please use models API"}),
        "Hugging Face": (400, says("The requested model 'x' is not supported by any provider you have enabled.", code="model_not_supported")),
        "llama-swap": (404, {"error": "no router for requested model"}),
        "LocalAI": (404, says('model "foo" not found', code=404)),
        "LiteLLM": (400, says("litellm.BadRequestError: You passed in model=foo. There are no healthy deployments for this model.")),
        "Triton": (400, {"error": "Request for unknown model: 'x' is not found"}),
        "KServe": (404, {"error": "Model with name foo does not exist."}),
        "GLM": (400, says("x", code="1211")),
        "Gemini": (404, says("models/foo is not found for API version v1main, or is not supported for generateContent.")),
        "Azure": (404, says("The API deployment for this resource does not exist.", code="DeploymentNotFound")),
        "Kimi": (404, says("Not found the model kimi-x or Permission denied", type="resource_not_found_error")),
        "a name with dots": (404, says("The model `Qwen/Qwen2.5-7B` does not exist.")),
        "new-api": (503, says("x", code="model_not_found")),
    },
    (NotConfiguredError, "endpoint_not_found"): {
        "models in the path": (404, {"error": "path /models/v1/chat/completions not found"}),
        "a model's router": (404, {"message": "The requested resource was not found. Model router v2"}),
        "Spring": (404, {"status": 404, "error": "Not Found", "path": "/model/v1/chat/completions"}),
        "Express": (404, "<html><body><pre>Cannot POST /models/chat/completions</pre></body></html>"),
        "OpenAI": (404, says("Invalid URL (POST /v1/v1/chat/completions)")),
        "a server of models": (404, "Not Found: model-server 1.2"),
        "LM Studio at 404": (404, {"error": "Unexpected endpoint or method. (POST /chat/completions)"}),
    },
    (NotConfiguredError, "tools_off"): {
        "OpenAI": (400, says("Unsupported parameter: 'tools' is not supported with this model.")),
        "without a verb": (400, says("tool calling not supported")),
        "OpenRouter": (404, says("No endpoints found that support tool use. To learn more, visit")),
        "Groq": (400, says("`tool calling` is not supported with this model")),
        "LiteLLM": (400, says("litellm.UnsupportedParamsError: ollama does not support parameters: ['tools'], for model=x.")),
        "DeepSeek": (400, says("deepseek-reasoner does not support Function Calling")),
        "Bedrock": (400, {"detail": "An error occurred (ValidationException): This model doesn't support tool use."}),
        "a model": (400, says("Function calling is not enabled for this model")),
        "tools, plural": (400, says("tools are not supported by this model")),
    },
    (InvalidRequestError, "template"): {
        "minja": (500, says("Value is not callable: null at row 62, column 114:\n {%- if message.content %}")),
        "minja, roles": (500, says("Only user, assistant and tool roles are supported! at row 3, column 5:\n{{- bos }}")),
        "llama.cpp, Jinja": (500, says("\nWhile executing CallExpression at line 88: raise_exception('x')\nError: Jinja Exception: No user query found in messages.")),
        "Ollama": (500, {"error": 'template: :3:14: executing "" at <.Foo>: can\'t evaluate field Foo in type struct'}),
        "Gemma": (500, {"error": "System role not supported"}),
        "LM Studio": (400, {"error": 'Error rendering prompt with jinja template: "Cannot call something that is not a function"'}),
        "vLLM": (400, says("As of transformers v4.44, default chat template is no longer allowed, so you must provide a chat template if the tokenizer does not define one.")),
    },
    (ServerError, "tool_call"): {
        "llama.cpp": (500, says('Failed to parse input at pos 123: <tool_call>\n{"name": "f"')),
        "llama.cpp, format": (500, says("The model produced output that does not match the expected peg-native format")),
        "Ollama": (500, {"error": "XML syntax error on line 8: element <parameter> closed by </function>"}),
        "Ollama, JSON": (500, {"error": "error parsing tool call: raw='{\"a\":b}', err=invalid character 'b'"}),
    },
    (TruncatedToolCallError, "server"): {
        "Ollama, XML": (500, {"error": "XML syntax error on line 8: unexpected EOF"}),
    },
    (InvalidRequestError, "server_500"): {
        "vLLM": (500, {"object": "error", "message": "1 validation error for ChatCompletionRequest\nmessages", "code": 500}),
    },
    (InvalidRequestError, "provider"): {
        "OpenRouter": (404, says("No endpoints found matching your data policy.")),
    },
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "reason", "status", "body"),
    [
        pytest.param(kind, reason, status, body, id=f"{kind.__name__} {reason}: {server}")
        for (kind, reason), wordings in WORDINGS.items()
        for server, (status, body) in wordings.items()
    ],
)
def test_every_wording_of_a_fault_is_that_fault(
    kind: type[RigError], reason: str, status: int, body: object
) -> None:
    raw = body.encode() if isinstance(body, str) else to_json(body)
    error = error_from_response(status, {}, raw)
    assert (type(error), error.reason) == (kind, reason)
    assert error.retryable == (kind is RateLimitedError and not reason)


# What sounds like a fault and is another.
LOOK_ALIKES: dict[str, tuple[int, object, type[RigError], str]] = {
    "an output that is not found": (400, says("model output: tool 'x' not found"), InvalidRequestError, ""),
    "a parameter of a model": (400, says("model x: parameter 'foo' is not supported"), InvalidRequestError, ""),
    "a limit as a field": (400, says("unknown field rate_limit"), InvalidRequestError, ""),
    "a model that failed": (500, says("model qwen3 crashed: file not found"), ServerError, ""),
    "blocked by a firewall": (403, says("your address was blocked"), UnauthorizedError, ""),
    "too many tokens for the reply": (400, says("max_tokens is too large: 99999. This model supports at most 16384 completion tokens, whereas you provided 99999."), InvalidRequestError, ""),
    "Anthropic's max_tokens": (400, says("max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens"), InvalidRequestError, ""),
    "the model's maximum of something else": (400, says("max_tokens exceeds the model's maximum output"), InvalidRequestError, ""),
    "Groq's max_tokens": (400, says("`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the `context_window` for this model"), InvalidRequestError, ""),
    "a length that must be more": (400, says("input length must be greater than 0"), InvalidRequestError, ""),
    "a tool's name": (400, says("Invalid 'tools[0].function.name': string too long. Expected a string with maximum length 64", code="string_above_max_length", param="tools[0].function.name"), InvalidRequestError, ""),
    "too many images": (400, says("the number of images in the prompt exceeds the limit of 5"), InvalidRequestError, ""),
    "too many inputs": (400, says("Invalid 'input': array too long. Expected an array with maximum length 2048"), InvalidRequestError, ""),
    "a bad temperature": (400, says("temperature exceeds the maximum of 2"), InvalidRequestError, ""),
    "no memory for a context window": (500, says("failed to allocate memory for context window of 131072"), ServerError, ""),
    "no memory": (500, says("CUDA out of memory. Tried to allocate 2 GiB"), ServerError, ""),
    "the prompt sent back": (422, {"detail": [{"loc": ["body", "temperature"], "msg": "Input should be less than or equal to 2", "ctx": {"prompt": "context window"}}]}, InvalidRequestError, ""),
    "a user who asks about Jinja": (500, says("internal error while processing: user asked about jinja templates"), ServerError, ""),
    "a user who asks about chat_template": (500, says("worker died; last request: what is a chat_template?"), ServerError, ""),
    "rows of a table": (500, says("bad value at row 3 of the index"), ServerError, ""),
    "an answer that is no answer": (500, says("1 validation error for ChatCompletionResponse\nchoices"), ServerError, ""),
    "an unknown field": (400, says("unknown field content_filter_level"), InvalidRequestError, ""),
    "a policy of another kind": (400, says("cache policy must be one of lru, fifo"), InvalidRequestError, ""),
    "moderation as a model": (400, says("the moderation option is not known"), InvalidRequestError, ""),
    "no right to a key": (403, says("Your account does not have access", code="permission_denied"), UnauthorizedError, ""),
    "an option of tools": (400, says("this server does not support tool_choice=required"), InvalidRequestError, ""),
    "tools with something else": (400, says("response_format with tools is not supported"), InvalidRequestError, ""),
    "an answer's tools": (500, says("tool server is not available"), ServerError, ""),
    "a file": (404, says("File Not Found", type="not_found_error"), NotConfiguredError, "endpoint_not_found"),
    "a tool that is not found": (404, says("tool not found"), NotConfiguredError, "endpoint_not_found"),
    "a capacity": (503, says("capacity is exceeded"), ServerError, "unavailable"),
    "quota as a word": (429, says("request quota per second reached"), RateLimitedError, ""),
}  # fmt: skip


@pytest.mark.parametrize(
    ("status", "body", "kind", "reason"), LOOK_ALIKES.values(), ids=LOOK_ALIKES
)
def test_what_sounds_like_another_fault_is_not_taken_for_it(
    status: int, body: object, kind: type[RigError], reason: str
) -> None:
    error = error_from_response(status, {}, to_json(body))
    assert (type(error), error.reason) == (kind, reason)


@pytest.mark.parametrize("status", [400, 403, 404, 429, 500])
@pytest.mark.parametrize(
    "unit",
    ["model ", "prompt tokens ", "tools ", "input length ", "x" * 60 + " ", "does not support "],
)
def test_a_flood_of_half_a_wording_is_read_at_once(status: int, unit: str) -> None:
    body = to_json(says(unit * 50_000, code=unit * 1000))
    assert error_from_response(status, {}, body).status == status


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
    "vLLM, total": (says("The prompt (total length 5000) is too long to fit into the model (context length 4096)."), 5000, 4096),
    "SGLang, allowed": (says("Input length (5000 tokens) exceeds the maximum allowed length (4090 tokens)."), 5000, 4090),
    "Gemini": (says("The input token count (1200000) exceeds the maximum number of tokens allowed (1048575)."), 1200000, 1048575),
    "TabbyAPI": (says("Prompt length 5000 is greater than max_seq_len 4096"), 5000, 4096),
    "TensorRT-LLM": (says("Prompt length (5000) exceeds maximum input length (4096)."), 5000, 4096),
    "watsonx": (says("the number of input tokens 9000 cannot exceed the total tokens limit 8192 for this model"), 9000, 8192),
    "Copilot": (says("prompt token count of 40000 exceeds the limit of 32768"), 40000, 32768),
    "Kimi": (says("Your request exceeded model token limit: 8192"), None, 8192),
    "Cohere": (says("total number of tokens in the prompt cannot exceed 4081 - received 5000."), 5000, 4081),
    "LM Studio, n_keep": (
        says("The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 9000>= n_ctx: 4096)"),
        9000, 4096,
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
    "OpenRouter's reasons": (says("requires moderation. Your input was flagged", metadata={"reasons": ["violence"]}), "violence"),
    "a number": (says("x", code="1301"), "content_filter"),
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
        {"message": {"role": "assistant", "content": "x"}, "done": True},
        {
            "choices": [{"message": {"content": "x"}}],
            "base_resp": {"status_code": 0, "status_msg": "success"},
        },
        {"choices": [{"message": {"content": "x"}}], "success": True, "code": 200, "msg": "ok"},
        {"success": True},
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


AT_200: dict[str, tuple[object, type[RigError], str, bool]] = {
    "MiniMax, busy": ({"choices": None, "base_resp": {"status_code": 1002, "status_msg": "rate limit exceeded(RPM)"}}, RateLimitedError, "", True),
    "MiniMax, key": ({"base_resp": {"status_code": 1004, "status_msg": "login fail"}}, UnauthorizedError, "", False),
    "MiniMax, no money": ({"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}}, RateLimitedError, "quota", False),
    "MiniMax, filter": (
        {"choices": [{"message": {"content": ""}}], "base_resp": {"status_code": 1027, "status_msg": "output new_sensitive"}},
        RefusedError, "content_filter", False,
    ),
    "MiniMax, inside": ({"base_resp": {"status_code": 1013, "status_msg": "x"}}, ServerError, "", True),
    "Baidu, busy": ({"error_code": 18, "error_msg": "Open api qps request limit reached"}, RateLimitedError, "", True),
    "Baidu, key": ({"error_code": 110, "error_msg": "Access token invalid or no longer valid"}, UnauthorizedError, "", False),
    "no success": ({"success": False, "code": 401, "msg": "token invalid"}, UnauthorizedError, "", False),
    "no success, a failure": ({"success": False, "code": 500, "msg": "404 NOT_FOUND"}, ServerError, "", True),
    "LM Studio, path": ({"error": "Unexpected endpoint or method. (POST /chat/completions). Returning 200 anyway"}, NotConfiguredError, "endpoint_not_found", False),
    "too long": ({"error": "Prompt length 5000 is greater than max_seq_len 4096"}, InputTooLargeError, "", False),
    "declined": ({"error": {"message": "Content Exists Risk"}}, RefusedError, "content_filter", False),
    "not authenticated": ({"detail": "Not authenticated"}, UnauthorizedError, "", False),
}  # fmt: skip


@pytest.mark.parametrize(("payload", "kind", "reason", "retryable"), AT_200.values(), ids=AT_200)
def test_an_error_at_200_is_told_by_its_numbers_and_words(
    payload: dict[str, object], kind: type[RigError], reason: str, retryable: bool
) -> None:
    error = error_in_payload(payload)
    assert error is not None
    assert (type(error), error.reason, error.retryable) == (kind, reason, retryable)


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
