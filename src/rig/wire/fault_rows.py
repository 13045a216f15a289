"""The table that turns an endpoint's fault into one of rig's errors. No I/O.

Rules for whoever edits this file: the first row that matches wins; a row matches when the status is
one of its statuses and, if it names codes or phrases, one of those is there. Phrases are lower-case
and are looked for in the message's start and end only, since the rest may be the caller's own
prompt sent back. `says` is our sentence: what is wrong and what to change, nothing of the endpoint.
"""

from collections.abc import Container
from dataclasses import dataclass
from typing import Final

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
from rig.wire.fault_text import FaultText

_ANY: Final = range(400, 600)
_4XX: Final = range(400, 500)
_5XX: Final = range(500, 600)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One kind of fault.

    Attributes:
        error: what is raised.
        says: the sentence of it.
        statuses: where it is looked for.
        reason: tells rows of one error apart.
        retryable: overrides the error's own answer.
        codes: words of `error.type` and `error.code`, one of which must be there.
        phrases: groups of words; all words of one group must be in the message.
    """

    error: type[RigError]
    says: str
    statuses: Container[int] = _ANY
    reason: str = ""
    retryable: bool | None = None
    codes: frozenset[str] = frozenset()
    phrases: tuple[tuple[str, ...], ...] = ()

    def matches(self, status: int, fault: FaultText) -> bool:
        """Whether this row is the fault's."""
        if status not in self.statuses:
            return False
        if not self.codes and not self.phrases:
            return True
        return not self.codes.isdisjoint(fault.codes) or any(
            fault.says(*words) for words in self.phrases
        )


REFUSAL_CODES: Final = frozenset(
    {
        "content_filter",
        "content_policy_violation",
        "content_policy_error",
        "responsibleaipolicyviolation",
        "contentpolicyviolationerror",
        "content_blocked",
        "moderation_blocked",
        "prompt_blocked",
        "safety_violation",
        "guardrail_violation",
        "sensitive_words_detected",
        "data_inspection_failed",
    }
)
"""What content filters call themselves; one of them becomes `RefusedError.category`."""

TOO_LARGE_PHRASES: Final = (
    ("too large to process",),  # llama.cpp, physical batch
    ("physical batch size",),
    ("exceeds the available context",),  # llama.cpp
    ("exceed_context_size",),
    ("maximum context length",),  # OpenAI, vLLM, llama-cpp-python
    ("context_length_exceeded",),
    ("context length exceeded",),
    ("model's context length",),  # SGLang
    ("exceeds the context",),  # Ollama
    ("exceeds context",),
    ("exceeds the model's",),
    ("does not fit in context",),
    ("context shift is disabled",),
    ("context the overflows",),  # LM Studio's own words
    ("context overflows",),
    ("context size has been exceeded",),
    ("reached context length",),
    ("context window",),
    ("contextwindowexceeded",),  # litellm
    ("prompt is too long",),
    ("prompt too long",),
    ("input is too long",),
    ("input too long",),
    ("maximum prompt length",),
    ("reduce the length of the",),
    ("longer than the maximum model length",),
    ("inputs", "max_new_tokens", "must be <="),  # TGI
    ("inputs", "must have less than", "tokens"),
)
"""How servers say that the prompt is too long (earendil-works/pi 5930 and the servers themselves)."""

OVERFLOW_HINTS: Final = (
    "context length", "context window", "maximum context", "context_length_exceeded", "n_ctx",
    "too long", "exceeds", "longer than", "reduce the length", "maximum number of tokens",
    "maximum prompt", "too large to process", "physical batch size",
)  # fmt: skip
"""Loose signs of the same, for a probe that grows a prompt on purpose until it is refused."""

_ENDPOINT_NOT_FOUND: Final = (
    "the endpoint has no such path: check base_url, most servers want it to end in /v1"
)

ROWS: Final[tuple[Row, ...]] = (
    Row(
        error=ProtocolError,
        reason="redirect",
        statuses=(300, 301, 302, 303, 307, 308),
        says="the endpoint answered with a redirect, and rig follows none: set base_url to the"
        " address it leads to",
    ),
    # Who asks, and how often.
    Row(
        error=UnauthorizedError,
        statuses=(401,),
        says="the endpoint refused the credentials: check the API key",
    ),
    Row(
        error=UnauthorizedError,
        statuses=_4XX,
        codes=frozenset(
            {
                "authentication_error",
                "invalid_api_key",
                "invalid_authentication",
                "auth_error",
                "token_not_found_in_db",
                "expired_key",
                "no_db_connection",  # litellm without a database, for a key it does not know
            }
        ),
        says="the endpoint refused the credentials: check the API key",
    ),
    Row(
        error=RateLimitedError,
        reason="quota",
        statuses=(402, 429),
        codes=frozenset(
            {"insufficient_quota", "insufficient_credits", "billing_hard_limit_reached"}
        ),
        says="the account behind the API key has no quota left",
    ),
    Row(
        error=RateLimitedError,
        statuses=(429,),
        says="the endpoint is busy or limits requests: try again later",
    ),
    Row(
        error=RateLimitedError,
        codes=frozenset({"rate_limit_error", "rate_limit_exceeded", "too_many_requests"}),
        says="the endpoint is busy or limits requests: try again later",
    ),
    # What was asked is declined.
    Row(
        error=RefusedError,
        reason="content_filter",
        codes=REFUSAL_CODES,
        phrases=(
            ("content_policy_violation",),
            ("responsibleaipolicyviolation",),
            ("content management policy",),
            ("content policy violation",),
            ("rejected as a result of our safety system",),
            ("contentpolicyviolationerror",),
        ),
        says="a content filter of the endpoint declined the request",
    ),
    # Faults that the same context reproduces, on whatever status they come.
    Row(
        error=TruncatedToolCallError,
        reason="server",
        phrases=tuple(
            (call, "parse", sign)
            for call in ("tool call", "tool_call")
            for sign in ("unexpected end", "missing closing quote", "parse_error", "invalid string")
        ),
        says="the server could not parse a tool call that was cut: raise max_tokens, or ask for"
        " smaller arguments",
    ),
    Row(
        error=TruncatedToolCallError,
        reason="server",
        statuses=_5XX,
        phrases=(
            ("failed to parse json", "unexpected end of json input"),  # ollama/ollama 14570
            ("error parsing tool call", "unexpected end"),  # ollama/ollama 13710
        ),
        says="the server could not parse a tool call that was cut: raise max_tokens, or ask for"
        " smaller arguments",
    ),
    Row(
        error=InputTooLargeError,
        codes=frozenset(
            {
                "exceed_context_size_error",
                "context_length_exceeded",
                "context_window_exceeded",
                "contextwindowexceedederror",
                "string_above_max_length",
            }
        ),
        phrases=TOO_LARGE_PHRASES,
        says="the prompt does not fit the server's context window or batch: shorten it, lower"
        " max_tokens, or serve the model with a larger context",
    ),
    Row(
        error=InputTooLargeError,
        reason="payload",
        statuses=(413,),
        codes=frozenset(),
        says="the request's body is larger than the endpoint takes: shorten the messages",
    ),
    Row(
        error=NotConfiguredError,
        reason="tools_off",
        phrases=(
            ("enable-auto-tool-choice",),
            ("tool-call-parser",),
            ("requires --jinja",),
            ("--jinja flag",),
            ("does not support tools",),
            ("does not support tool",),
        ),
        says="the server or the model was started without tool calling: for llama.cpp add --jinja,"
        " for vLLM --enable-auto-tool-choice and --tool-call-parser, or choose another model",
    ),
    Row(
        error=NotConfiguredError,
        reason="embeddings_off",
        phrases=(
            ("does not support embeddings",),  # llama.cpp, Ollama, vLLM
            ("pooling type", "not oai compatible"),  # llama.cpp
            ("created with embedding=true",),  # llama-cpp-python
        ),
        says="the server or the model makes no embeddings: start llama.cpp with --embeddings, and"
        " with --pooling mean for a model that names none, or serve an embedding model",
    ),
    Row(
        error=InvalidRequestError,
        reason="grammar",
        phrases=(
            ("cannot use custom grammar",),
            ("cannot use both json_schema and grammar",),
            ("cannot specify grammar with tools",),
            ("one kind of structured outputs",),
        ),
        says="the server can't combine these constraints: send only one of grammar, response_format"
        " and tools",
    ),
    Row(
        error=InvalidRequestError,
        reason="schema",
        phrases=(
            ("json schema conversion failed",),
            ("unrecognized schema",),
            ("failed to parse grammar",),
            ("failed to initialize samplers",),
            ("grammar error",),
            ("invalid grammar",),
            ("unsupported schema",),
            ("unsupported json schema",),
            ("convert the grammar",),
        ),
        says="the server can't turn a schema or grammar of the request into sampling rules: drop"
        " patterns, references and large bounds from the tools' schemas and response_format",
    ),
    Row(
        error=InvalidRequestError,
        reason="template",
        phrases=(
            ("jinja",),
            ("chat template",),
            ("chat_template",),
            ("raise_exception",),
            ("roles must alternate",),
            ("templateerror",),
            ("template error",),
            ('can only concatenate str (not "list")',),  # llama-cpp-python, content parts
        ),
        says="the model's chat template refused the messages: change their roles or order, for"
        " example one system message first and user and assistant in turn",
    ),
    Row(
        error=ServerError,
        reason="tool_call",
        retryable=False,
        statuses=_5XX,
        phrases=(("error parsing tool call",), ("failed to parse tool call",)),
        says="the server could not parse the tool call the model wrote",
    ),
    # What is not there.
    Row(
        error=ModelNotFoundError,
        codes=frozenset({"model_not_found", "model_not_found_error", "invalid_model"}),
        phrases=(
            ("invalid model name",),
            ("not a valid model",),
            ("unknown model",),
            ("no such model",),
            ("no models loaded",),
            ("could not find real modelid",),
            ("try pulling it first",),
        ),
        says="the endpoint has no model of that name: see client.models()",
    ),
    Row(
        error=ModelNotFoundError,
        statuses=(404,),
        phrases=(
            *(
                ("model", sign)
                for sign in ("not found", "not exist", "unknown", "not available", "not loaded")
            ),
            ("model: ", "not_found_error"),  # Anthropic's
        ),
        says="the endpoint has no model of that name: see client.models()",
    ),
    Row(
        error=UnauthorizedError,
        statuses=(403,),
        says="the endpoint does not allow this with these credentials: check the API key's rights",
    ),
    Row(
        error=NotConfiguredError,
        reason="endpoint_not_found",
        statuses=(404, 405),
        says=_ENDPOINT_NOT_FOUND,
    ),
    Row(
        error=NotConfiguredError,
        reason="payment",
        statuses=(402,),
        says="the endpoint wants to be paid: check the account behind the API key",
    ),
    Row(
        error=NotConfiguredError,
        reason="proxy",
        statuses=(407,),
        says="a proxy in front of the endpoint wants credentials of its own",
    ),
    Row(
        error=RequestTimeoutError,
        reason="server",
        statuses=(408,),
        says="the endpoint gave up waiting for the request",
    ),
    # The server's own faults, and requests it reports as such.
    Row(
        error=ServerError,
        reason="loading",
        statuses=(503,),
        phrases=(("loading",), ("warming up",), ("starting up",)),
        says="the server is still loading the model",
    ),
    Row(
        error=ServerError,
        reason="loading",
        statuses=_5XX,
        phrases=(
            ("model is loading",),
            ("currently loading",),
            ("still loading",),
            ("server loading model",),
        ),
        says="the server is still loading the model",
    ),
    Row(
        error=InvalidRequestError,
        reason="server_500",
        statuses=_5XX,
        codes=frozenset({"invalid_request_error", "badrequesterror", "bad_request"}),
        says="the endpoint refused the request: change the messages or options it names",
    ),
    Row(
        error=InvalidRequestError,
        reason="server_500",
        statuses=(500,),
        phrases=(
            ("failed to parse messages",),
            ("failed to parse tools",),
            ("failed to parse request",),
            ("json.exception.",),
            ("mmproj",),
            ("image input is not supported",),
            ("unsupported content part",),
            ("not a multimodal model",),
            ("validation error:",),
            ("validation errors:",),
            ("field required",),
            ("invalid tool_choice",),
            ("tool choice", "not found in tools"),
            ("cannot use tools with stream",),
            ("only one completion choice",),
            ("response_format type must be",),
            ("tool call id was",),
            ("must be created with",),
        ),
        says="the endpoint refused the request: change the messages or options it names",
    ),
    Row(
        error=ServerError,
        reason="not_supported",
        retryable=False,
        statuses=(501, 505, 510, 511),
        says="the server does not support this request",
    ),
    Row(
        error=ServerError,
        reason="unavailable",
        statuses=(502, 503, 504, 520, 521, 522, 523, 524, 529),
        says="the server is not available at the moment",
    ),
    Row(error=ServerError, statuses=_5XX, says="the server failed"),
    Row(
        error=InvalidRequestError,
        statuses=_4XX,
        says="the endpoint refused the request: change the messages or options it names",
    ),
)
"""First match wins."""

IMPLIED_STATUSES: Final = (
    (frozenset({"authentication_error", "invalid_api_key", "unauthorized"}), 401),
    (frozenset({"permission_error", "forbidden"}), 403),
    (frozenset({"not_found_error", "notfounderror", "not_found"}), 404),
    (frozenset({"request_too_large"}), 413),
    (frozenset({"rate_limit_error", "rate_limit_exceeded", "backpressure", "too_many_requests"}), 429),
    (
        frozenset({
            "invalid_request_error", "badrequesterror", "bad request", "invalid_request",
            "exceed_context_size_error", "context_length_exceeded", *REFUSAL_CODES,
        }),
        400,
    ),
    (frozenset({"not_supported_error"}), 501),
    (frozenset({"unavailable_error", "overloaded_error", "service_unavailable"}), 503),
    (frozenset({"timeout_error"}), 504),
    (frozenset({"server_error", "internal_server_error", "internalservererror", "api_error"}), 500),
)  # fmt: skip
"""The status an error at HTTP 200 would have had, by its type or code."""

IMPLIED_BY_WORDS: Final = (
    ("too many requests", 429),
    ("rate limit", 429),
    ("backpressure", 429),
    ("overloaded", 503),
    ("loading model", 503),
    ("no backend available", 503),
    ("temporarily unavailable", 503),
)
"""The same by its message, for servers that send no type."""
