"""Status, headers and body of a failed request to one of rig's errors. No I/O.

The order of judgement is the table's in `rig.wire.fault_rows`; here only the numbers are read out.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from rig.errors import (
    InputTooLargeError,
    ProtocolError,
    RateLimitedError,
    RefusedError,
    RigError,
    ServerError,
    UpstreamError,
)
from rig.messages import as_array, as_object
from rig.wire.backpressure import read_backpressure, read_retry_after
from rig.wire.fault_rows import IMPLIED_BY_WORDS, IMPLIED_STATUSES, ROWS, Row
from rig.wire.fault_text import FaultText, clean_line, fault_of, read_fault
from rig.wire.fault_words import OVERFLOW_HINTS, REFUSAL_CODES

MAX_CATEGORY_CHARS: Final = 64
"""Characters kept of a filter's category."""

MAX_TOKEN_DIGITS: Final = 12
"""Digits of a token count that are read; ten million tokens have eight."""

_NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})

_PROMPT_FIELDS: Final = ("n_prompt_tokens", "prompt_tokens", "input_tokens")
_CONTEXT_FIELDS: Final = ("n_ctx", "context_length", "max_model_len")
_PROMPT_PHRASES: Final = (
    "total length ",  # vLLM
    "prompt length (",
    "prompt length ",
    "input length (",
    "input length ",
    "input tokens length ",
    "input token count (",
    "input token count: ",
    "token count of ",
    "prompt tokens (",
    "number of input tokens ",
    "n_keep: ",
    "- received ",
    "contains at least ",  # vLLM
    "resulted in ",  # OpenAI
    "your request has ",
    "prompt is too long: ",  # Anthropic's
    "requested (",
    "tokens (",  # llama-cpp-python: 9079 tokens (9031 in the messages
    "keep the first ",  # LM Studio
    "given: ",  # TGI
    "request (",  # llama.cpp
    "input (",  # llama.cpp, SGLang
    "you requested ",
)
_CONTEXT_PHRASES: Final = (
    "maximum allowed length (",
    "maximum number of tokens allowed (",
    "maximum number of tokens allowed ",
    "maximum sequence length ",
    "maximum input length (",
    "maximum input length ",
    "maximum input tokens length ",
    "total tokens limit ",
    "exceeds the limit of ",
    "max_num_tokens (",
    "max_seq_len ",
    "max input tokens: ",
    "model token limit: ",
    "cannot exceed ",
    "n_ctx: ",
    "should be [1, ",
    "maximum context length is ",
    "maximum context length of ",
    "available context size (",
    "context length (",
    "(context length ",
    "context length of only ",
    "context length of ",
    "current batch size: ",
    "tokens > ",
    "must be <= ",
    "less than ",
)


def error_from_response(
    status: int, headers: Mapping[str, str], body: bytes, *, now: float | None = None
) -> RigError:
    """The error a response stands for.

    Args:
        status: its status.
        headers: its headers, names in lower case.
        body: its decoded body.
        now: seconds since the epoch, for a `Retry-After` date without a Date header.

    Returns:
        An error to raise. What the endpoint wrote is on its `detail` alone.
    """
    fault = read_fault(body)
    row = _row(status, fault)
    if row is not None:
        return _built(row, status, fault, headers, now)
    return ProtocolError(
        "the endpoint answered with a status that is none of a chat completion",
        status=status,
        reason="status",
        detail=fault.line,
        retryable=False,
    )


def told_error(told: object) -> RigError:
    """The error that an answer without a status of its own tells of.

    Args:
        told: what of it is an error, see `rig.wire.told_faults`.
    """
    fault = fault_of(told)
    status = fault.status or _implied_status(fault)
    row = _row(status, fault) if status else None
    if row is not None and status:
        return _built(row, status, fault, _NO_HEADERS, None)
    return UpstreamError(
        "the endpoint answered with an error instead of a reply",
        reason="error_in_reply",
        detail=fault.line,
    )


def hints_overflow(text: str) -> bool:
    """Whether a refusal may mean that the prompt was too long; loose, for probes only.

    Args:
        text: what the endpoint said, for example an error's `detail`.
    """
    lower = text.lower()
    return any(hint in lower for hint in OVERFLOW_HINTS)


def _row(status: int, fault: FaultText) -> Row | None:
    return next((row for row in ROWS if row.matches(status, fault)), None)


def _built(
    row: Row, status: int, fault: FaultText, headers: Mapping[str, str], now: float | None
) -> RigError:
    error = row.error(
        row.says, status=status, detail=fault.line, reason=row.reason, retryable=row.retryable
    )
    if isinstance(error, RateLimitedError | ServerError):
        error.retry_after_s = read_retry_after(headers, fault, now)
        error.backpressure = read_backpressure(headers, fault, error.retry_after_s)
    elif isinstance(error, InputTooLargeError):
        error.prompt_tokens = _tokens(fault, _PROMPT_FIELDS, _PROMPT_PHRASES)
        error.context_tokens = _tokens(fault, _CONTEXT_FIELDS, _CONTEXT_PHRASES)
    elif isinstance(error, RefusedError):
        error.category = _category(fault)
    return error


def _implied_status(fault: FaultText) -> int | None:
    for codes, status in IMPLIED_STATUSES:
        if not codes.isdisjoint(fault.codes):
            return status
    for words, status in IMPLIED_BY_WORDS:
        if fault.says(words):
            return status
    strict = next((row for row in ROWS if row.looks and row.matches(400, fault)), None)
    return 400 if strict is not None else None


def _tokens(fault: FaultText, names: tuple[str, ...], phrases: tuple[str, ...]) -> int | None:
    """A count of tokens: from a field of the error, else after a phrase of its message."""
    for name in names:
        value = fault.fields.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 53:
            return value
    counts = (_leading_count(fault.search.partition(phrase)[2]) for phrase in phrases)
    return next((count for count in counts if count), None)


def _leading_count(text: str) -> int:
    head = text[:MAX_TOKEN_DIGITS].replace(",", "")
    digits = head[: len(head) - len(head.lstrip("0123456789"))]
    return int(digits) if digits else 0


def _category(fault: FaultText) -> str:
    """The endpoint's word for what it declined: the filter that hit, else the code."""
    inner = as_object(fault.fields.get("innererror")) or {}
    for results in (inner.get("content_filter_result"), fault.fields.get("content_filter_result")):
        hit = filtered_category(results)
        if hit:
            return hit
    reasons = as_array((as_object(fault.fields.get("metadata")) or {}).get("reasons"))
    if reasons and isinstance(reasons[0], str):  # OpenRouter's moderation
        return clean_line(reasons[0])[:MAX_CATEGORY_CHARS]
    codes = sorted(code for code in fault.codes & REFUSAL_CODES if code.replace("_", "").isalpha())
    return codes[0] if codes else "content_filter"


def filtered_category(results: object) -> str:
    """The first category that an Azure-style filter report marks as filtered; "" when none is.

    Args:
        results: `{"hate": {"filtered": true, "severity": "high"}, ...}`.
    """
    for category, verdict in (as_object(results) or {}).items():
        if (as_object(verdict) or {}).get("filtered") is True:
            return clean_line(category)[:MAX_CATEGORY_CHARS]
    return ""
