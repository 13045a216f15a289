"""Why a reply ended: a server's word, in whatever spelling and place, to one of rig's. No I/O.

A word nobody knows is unknown, and a cut or failed reply that passes for a whole one is a wrong answer.
So words are compared by what they are made of: `MAX_TOKENS`, `max-tokens` and `maxTokensReached` are one.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal

from rig.messages import as_object
from rig.model import FinishReason
from rig.wire.spelling import snake_case

Ending = Literal["stop", "length", "tool_calls", "content_filter", "failed", "unknown"]
"""What a server's word means. `failed`: the server says itself that the reply is none."""

MAX_WORD_CHARS: Final = 64
"""Characters of a word that are looked at; `finish_reason_model_armor_violation` has 35."""

FINISH_REASONS: Mapping[str, Ending] = MappingProxyType(
    {
        "stop": "stop",
        "stopped": "stop",
        "eos": "stop",
        "eos_token": "stop",  # TGI
        "eos_found": "stop",  # LM Studio's own API, as stop_string_found
        "eot": "stop",
        "endoftext": "stop",
        "end": "stop",
        "end_turn": "stop",  # Anthropic behind a proxy
        "end_of_turn": "stop",
        "stop_sequence": "stop",
        "stop_token": "stop",
        "stop_word": "stop",
        "stop_string_found": "stop",
        "complete": "stop",
        "completed": "stop",
        "done": "stop",
        "finish": "stop",
        "finished": "stop",
        "normal": "stop",
        "length": "length",
        "limit": "length",  # llama.cpp's own API
        "max_tokens": "length",
        "max_length": "length",
        "max_new_tokens": "length",
        "max_output_tokens": "length",
        "max_completion_tokens": "length",
        "max_predicted_tokens_reached": "length",  # LM Studio's own API, as the next
        "context_length_reached": "length",
        "token_limit": "length",
        "output_limit": "length",
        "model_length": "length",  # Mistral
        "model_context_window_exceeded": "length",
        "error_limit": "length",  # Cohere: the context is full
        "incomplete": "length",
        "repetition": "length",  # vLLM: cut, since the model repeated itself
        "tool_calls": "tool_calls",
        "tool_call": "tool_calls",
        "tool_use": "tool_calls",
        "function_call": "tool_calls",
        "function_calls": "tool_calls",
        "content_filter": "content_filter",
        "content_filtered": "content_filter",
        "refusal": "content_filter",
        "safety": "content_filter",  # Gemini behind a proxy, as the four below
        "recitation": "content_filter",
        "blocklist": "content_filter",
        "prohibited_content": "content_filter",
        "spii": "content_filter",
        "guardrail_intervened": "content_filter",  # Bedrock
        "sensitive": "content_filter",  # GLM
        "error_toxic": "content_filter",  # Cohere
        "error": "failed",
        "network_error": "failed",  # GLM
        "abort": "failed",  # vLLM, SGLang
        "user_cancel": "failed",  # Cohere
        "insufficient_system_resource": "failed",  # DeepSeek
        "malformed_function_call": "failed",  # Gemini: nothing of the call is in the reply
        "unexpected_tool_call": "failed",
        "timeout": "failed",
    }
)
"""What servers are known to write, in the form `finish_word` gives a word."""

_FAMILIES: Final[tuple[tuple[Ending, tuple[frozenset[str], ...]], ...]] = (
    (
        "length",
        (
            frozenset({"length"}),
            *(
                frozenset({bound, what})
                for bound in (
                    "max", "maximum", "limit", "exceeded", "budget", "full", "overflow", "out",
                )
                for what in ("token", "tokens", "output", "context", "window", "completion")
            ),
            frozenset({"truncated"}),
            frozenset({"truncation"}),
            frozenset({"time", "limit"}),  # cut as well, by the clock
            frozenset({"max", "time"}),
        ),
    ),
    (
        "content_filter",
        tuple(
            frozenset({word})
            for word in (
                "filter", "filtered", "safety", "unsafe", "sensitive", "moderation", "moderated",
                "policy", "guardrail", "guardrails", "toxic", "toxicity", "blocked", "blocklist",
                "prohibited", "flagged", "refusal", "refused", "recitation", "harmful", "violation",
                "inappropriate", "censored",
            )
        ),
    ),
    (
        "failed",
        tuple(
            frozenset({word})
            for word in (
                "error", "errored", "failed", "failure", "abort", "aborted", "cancel", "canceled",
                "cancelled", "timeout", "insufficient", "disconnect", "disconnected", "interrupted",
                "overloaded", "unavailable", "exception", "crashed", "malformed", "timed", "killed",
                "preempted",
            )
        ),
    ),
    (
        "tool_calls",
        (
            frozenset({"tool", "calls"}),
            frozenset({"tool", "call"}),
            frozenset({"tool", "use"}),
            frozenset({"function", "call"}),
            frozenset({"function", "calls"}),
        ),
    ),
    ("stop", (frozenset({"stop"}), frozenset({"eos"}), frozenset({"end", "turn"}))),
)  # fmt: skip
"""The same for words nobody listed: the first family that has all parts of a group. `ERROR_TOXIC` is a
filter's, so failures come behind filters."""

_DENIALS: Final = frozenset({"no", "non", "none", "not", "without", "in"})
"""Parts that turn a word round, or say that it is not over: `not_finished`, `in_progress`."""

_FIELDS: Final = (
    "finish_reason",
    "native_finish_reason",  # OpenRouter: the provider's own
    "finish_details",
    "finishReason",
    "stop_reason",
    "stopReason",
    "done_reason",
)
"""Where a choice says it. The first place with a word that is known wins: proxies write null, or a word
of their own, where they do not know the provider's."""

_INSIDE: Final = ("type", "reason", "name", "value")
_NOTHING: Final = frozenset({"", "null", "none", "unspecified"})
_PREFIXES: Final = ("finish_reason_", "stop_reason_")


def finish_word(choice: Mapping[str, object]) -> str:
    """The word that says why a reply ended, in lower case with underscores.

    Args:
        choice: the choice that ended.

    Returns:
        The first word whose meaning is known, else the first there is; "" where there is none.
    """
    word = choice.get("finish_reason")
    if isinstance(word, str) and word in FINISH_REASONS:
        return word
    first = ""
    for name in _FIELDS:
        word = normal_word(choice.get(name))
        if word and _meaning(word) != "unknown":
            return word
        first = first or word
    return first


def normal_word(value: object) -> str:
    """A word as the tables have it.

    Args:
        value: the wire's value: a word in any case, an enum's name (`FinishReason.STOP`), or an object
            that holds the word (SGLang's `{"type": "length", "length": 5}`).

    Returns:
        The word in lower case with underscores; "" for none, and for words that say there is none.
    """
    if value is None:
        return ""
    wire = as_object(value)
    if wire is not None:
        value = next((wire[key] for key in _INSIDE if isinstance(wire.get(key), str)), "")
    if not isinstance(value, str):
        return ""
    word = value[:MAX_WORD_CHARS].strip(" \t\r\n.").rpartition(".")[2]
    word = snake_case(word)
    for prefix in _PREFIXES:
        word = word.removeprefix(prefix)
    return "" if word in _NOTHING else word


def ending(value: object, *, has_calls: bool = False) -> Ending:
    """What a server's word for why a reply ended means.

    Args:
        value: the word, as `normal_word` takes it.
        has_calls: what a missing word means.

    Returns:
        Missing words are tool_calls with calls and unknown without; words nobody knows are unknown.
    """
    if isinstance(value, str) and (known := FINISH_REASONS.get(value)) is not None:
        return known
    word = normal_word(value)
    if not word:
        return "tool_calls" if has_calls else "unknown"
    return _meaning(word)


def finish_reason(value: object, *, has_calls: bool = False) -> FinishReason:
    """The same in the set that a `Reply` has: a reply that failed is none, so it is unknown there.

    Args:
        value: the word, as `normal_word` takes it.
        has_calls: what a missing word means.
    """
    means = ending(value, has_calls=has_calls)
    return "unknown" if means == "failed" else means


def _meaning(word: str) -> Ending:
    known = FINISH_REASONS.get(word)
    if known is not None:
        return known
    parts = frozenset(word.split("_"))
    if parts & _DENIALS:
        return "unknown"
    for means, groups in _FAMILIES:
        if any(group <= parts for group in groups):
            return means
    return "unknown"
