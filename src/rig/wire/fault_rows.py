"""The table that turns an endpoint's fault into one of rig's errors. No I/O.

Rules for whoever edits this file: the first row that matches wins; a row matches when the status is
one of its statuses and, if it names codes, phrases or patterns, one of those is there. Phrases are
lower-case and are looked for in the message's start and end only, since the rest may be the caller's own
prompt sent back; long lists of them are in `rig.wire.fault_words`. `says` is our sentence: what is wrong and what to change, nothing of the endpoint.
"""

import re
from collections.abc import Container
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
from rig.late_dataclass import dataclass
from rig.wire.fault_text import FaultText
from rig.wire.fault_words import (
    MODEL_404_PATTERNS,
    MODEL_CODES,
    MODEL_PATTERNS,
    MODEL_PHRASES,
    PATH_WORDS,
    PAYLOAD_PHRASES,
    RATE_TOO_LARGE_PHRASES,
    REFUSAL_CODES,
    REFUSAL_PHRASES,
    TOO_LARGE_CODES,
    TOO_LARGE_PATTERNS,
    TOO_LARGE_PHRASES,
    TOOLS_OFF_PATTERNS,
)

_ANY: Final = range(400, 600)
_4XX: Final = range(400, 500)
_5XX: Final = range(500, 600)
_ANY_BUT_413: Final = frozenset(_ANY) - {413}


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
        patterns: the same for wordings that are no fixed words.
        unless: words that must not be in the message.
    """

    error: type[RigError]
    says: str
    statuses: Container[int] = _ANY
    reason: str = ""
    retryable: bool | None = None
    codes: frozenset[str] = frozenset()
    phrases: tuple[tuple[str, ...], ...] = ()
    patterns: tuple[re.Pattern[str], ...] = ()
    unless: tuple[str, ...] = ()

    @property
    def looks(self) -> bool:
        """Whether the row looks at the message, and not at status and codes alone."""
        return bool(self.phrases or self.patterns)

    def matches(self, status: int, fault: FaultText) -> bool:
        """Whether this row is the fault's."""
        if status not in self.statuses or any(word in fault.search for word in self.unless):
            return False
        if not self.codes and not self.looks:
            return True
        return (
            not self.codes.isdisjoint(fault.codes)
            or any(fault.says(*words) for words in self.phrases)
            or any(pattern.search(fault.search) for pattern in self.patterns)
        )


_TOO_LARGE: Final = (
    "the prompt does not fit the server's context window or batch: shorten it, lower"
    " max_tokens, or serve the model with a larger context"
)
_TEMPLATE: Final = (
    "the model's chat template refused the messages: change their roles or order, for"
    " example one system message first and user and assistant in turn"
)
_PAYLOAD: Final = "the request's body is larger than the endpoint takes: shorten the messages"
_NO_MODEL: Final = "the endpoint has no model of that name: see client.models()"
_NO_QUOTA: Final = "the account behind the API key has no quota left"
_BUSY: Final = "the endpoint is busy or limits requests: try again later"
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
                "api_key_invalid",  # Google
                "invalid_token",
                "status_code:1004",  # MiniMax
                "status_code:2049",
                "error_code:110",  # Baidu, as the next
                "error_code:111",
            }
        ),
        phrases=(("api key not valid",), ("invalid api key",), ("api key is invalid",)),
        says="the endpoint refused the credentials: check the API key",
    ),
    Row(
        error=InputTooLargeError,
        reason="rate",
        statuses=(413, 429),
        phrases=RATE_TOO_LARGE_PHRASES,
        says="the request has more tokens than the endpoint allows in a minute: shorten the messages,"
        " or lower max_tokens",
    ),
    Row(
        error=RateLimitedError,
        reason="quota",
        retryable=False,
        statuses=(400, 402, 403, 429),
        codes=frozenset(
            {
                "insufficient_quota",
                "insufficient_credits",
                "insufficient_balance",
                "billing_hard_limit_reached",
                "billing_not_active",
                "exceeded_current_quota_error",  # Kimi
                "budget_exceeded",  # litellm
                "arrearage",  # DashScope
                "1113",  # GLM
                "status_code:1008",  # MiniMax
            }
        ),
        phrases=(("budget has been exceeded",), ("exceededbudget",), ("budgetexceeded",)),
        says=_NO_QUOTA,
    ),
    Row(
        error=RateLimitedError,
        reason="quota",
        retryable=False,
        statuses=(400, 403, 429),
        phrases=(
            ("credit balance is too low",),  # Anthropic
            ("used all available credits",),  # xAI
            ("insufficient balance",),
            ("out of credits",),
        ),
        says=_NO_QUOTA,
    ),
    Row(error=RateLimitedError, statuses=(429,), says=_BUSY),
    Row(
        error=RateLimitedError,
        statuses=(400, 403),
        phrases=(
            ("rate limit exceeded",),  # GitHub at 403
            ("rate limit reached",),
            ("secondary rate limit",),
            ("too many requests",),
            ("too many tokens, please wait",),  # Bedrock
        ),
        says=_BUSY,
    ),
    Row(
        error=RateLimitedError,
        statuses=_ANY_BUT_413,
        codes=frozenset(
            {
                "rate_limit_error",
                "rate_limit_exceeded",
                "rate_limit_reached_error",
                "too_many_requests",
                "too_many_requests_exception",
                "throttling",  # DashScope, as the two below
                "throttling.ratequota",
                "throttling.allocationquota",
                "throttling_exception",  # AWS
                "request_limit_exceeded",
                "capacity_exceeded",  # Groq at 498
                "status_code:1002",  # MiniMax, as the two below
                "status_code:1039",
                "status_code:1041",
                "error_code:4",  # Baidu, as the next
                "error_code:18",
            }
        ),
        says=_BUSY,
    ),
    # What was asked is declined.
    Row(
        error=RefusedError,
        reason="content_filter",
        codes=REFUSAL_CODES,
        phrases=REFUSAL_PHRASES,
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
            ("xml syntax error on line", "unexpected eof"),  # Ollama's parser of Qwen's calls
        ),
        says="the server could not parse a tool call that was cut: raise max_tokens, or ask for"
        " smaller arguments",
    ),
    Row(
        error=InputTooLargeError,
        codes=TOO_LARGE_CODES,
        phrases=TOO_LARGE_PHRASES,
        says=_TOO_LARGE,
    ),
    Row(
        error=InputTooLargeError,
        statuses=_4XX,
        patterns=TOO_LARGE_PATTERNS,
        says=_TOO_LARGE,
    ),
    Row(
        error=InputTooLargeError,
        reason="payload",
        statuses=_4XX,
        phrases=PAYLOAD_PHRASES,
        says=_PAYLOAD,
    ),
    Row(
        error=InputTooLargeError,
        reason="payload",
        statuses=(413,),
        says=_PAYLOAD,
    ),
    Row(
        error=NotConfiguredError,
        reason="tools_off",
        phrases=(
            ("enable-auto-tool-choice",),
            ("tool-call-parser",),
            ("requires --jinja",),
            ("--jinja flag",),
        ),
        patterns=TOOLS_OFF_PATTERNS,
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
            ("jinja exception",),  # llama.cpp
            ("jinja2.exceptions",),  # vLLM
            ("jinja error",),
            ("jinja template:",),  # LM Studio
            ("jinja template error",),
            ("parse jinja template",),
            ("render", "jinja template"),
            ("at row ", ", column "),  # llama.cpp's older engine, minja
            ("template: ", "executing "),  # Ollama, Go's text/template
            ("chat template error",),
            ("chat template failed",),
            ("chat_template is not set",),
            ("provide a chat template",),  # vLLM, of transformers
            ("no chat template",),
            ("apply chat template",),
            ("apply_chat_template",),
            ("generate parser for this template",),  # llama.cpp
            ("raise_exception",),
            ("roles must alternate",),
            ("system role not supported",),  # Gemma
            ("roles are supported!",),  # Mistral
            ("no user query found in messages",),  # Qwen
            ("templateerror",),
            ("template error",),
            ('can only concatenate str (not "list")',),  # llama-cpp-python, content parts
        ),
        says=_TEMPLATE,
    ),
    Row(
        error=ServerError,
        reason="tool_call",
        retryable=False,
        statuses=_5XX,
        phrases=(
            ("error parsing tool call",),
            ("failed to parse tool call",),
            ("failed to parse input at pos",),  # llama.cpp, as the next
            ("peg-native format",),
            ("xml syntax error on line",),  # Ollama's parser of Qwen's calls
        ),
        says="the server could not parse the tool call the model wrote",
    ),
    # What is not there.
    Row(
        error=NotConfiguredError,
        reason="endpoint_not_found",
        phrases=(("unexpected endpoint or method",),),  # LM Studio, at 200
        says=_ENDPOINT_NOT_FOUND,
    ),
    Row(
        error=ModelNotFoundError,
        retryable=False,
        codes=MODEL_CODES,
        phrases=MODEL_PHRASES,
        says=_NO_MODEL,
    ),
    Row(
        error=ModelNotFoundError,
        retryable=False,
        patterns=MODEL_PATTERNS,
        unless=PATH_WORDS,
        says=_NO_MODEL,
    ),
    Row(
        error=InvalidRequestError,
        reason="provider",
        statuses=(404,),
        phrases=(("no endpoints found",),),  # OpenRouter
        says="no provider behind the endpoint serves the model with these options or account settings:"
        " change the options the endpoint names",
    ),
    Row(
        error=ModelNotFoundError,
        retryable=False,
        statuses=(404,),
        patterns=MODEL_404_PATTERNS,
        unless=PATH_WORDS,
        says=_NO_MODEL,
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
            ("validation error", "completionrequest"),  # pydantic, of the request's class
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
    (
        frozenset({
            "authentication_error", "invalid_api_key", "unauthorized", "status_code:1004",
            "status_code:2049", "error_code:110", "error_code:111",
        }),
        401,
    ),
    (frozenset({"permission_error", "forbidden"}), 403),
    (frozenset({"not_found_error", "notfounderror", "not_found"}), 404),
    (frozenset({"request_too_large"}), 413),
    (
        frozenset({
            "rate_limit_error", "rate_limit_exceeded", "backpressure", "too_many_requests",
            "insufficient_quota", "budget_exceeded", "throttling_exception", "capacity_exceeded", "1113",
            "status_code:1002", "status_code:1008", "status_code:1039", "status_code:1041",
            "error_code:4", "error_code:17", "error_code:18", "error_code:19",
        }),
        429,
    ),
    (
        frozenset({
            "invalid_request_error", "badrequesterror", "bad request", "invalid_request",
            "exceed_context_size_error", "context_length_exceeded", "status_code:2013",
            "error_code:336001", "error_code:336003", *REFUSAL_CODES, *TOO_LARGE_CODES,
        }),
        400,
    ),
    (frozenset({"not_supported_error"}), 501),
    (frozenset({"unavailable_error", "overloaded_error", "service_unavailable"}), 503),
    (frozenset({"timeout_error", "status_code:1001"}), 504),
    (
        frozenset({
            "server_error", "internal_server_error", "internalservererror", "api_error",
            "status_code:1000", "status_code:1013", "status_code:1024", "status_code:1033",
            "error_code:336000", "error_code:336100",
        }),
        500,
    ),
)  # fmt: skip
"""The status an error at HTTP 200 would have had, by its type or code. MiniMax's codes are status_code:N
(platform.minimax.io, error codes), Baidu's error_code:N."""

IMPLIED_BY_WORDS: Final = (
    ("unexpected endpoint or method", 404),
    ("too many requests", 429),
    ("rate limit", 429),
    ("rate-limited", 429),
    ("request limit reached", 429),
    ("backpressure", 429),
    ("not authenticated", 401),
    ("invalid api key", 401),
    ("overloaded", 503),
    ("loading model", 503),
    ("no backend available", 503),
    ("temporarily unavailable", 503),
)
"""The same by its message, for servers that send no type."""
