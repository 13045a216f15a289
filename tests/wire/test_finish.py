"""A server's word for why a reply ended, whatever it is spelled like and wherever it stands."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.wire.finish import FINISH_REASONS, Ending, ending, finish_reason, finish_word, normal_word

WORDS: dict[Ending, list[object]] = {
    "stop": [
        "STOP", "Stop ", "FinishReason.STOP", "FINISH_REASON_STOP", "end-turn", "END_TURN", "EndTurn",
        "eosFound", "stopStringFound", "STOP_SEQUENCE", "stop.", "endoftext", "eos_token_found",
        {"type": "stop", "matched": 151645}, {"reason": "stop"}, {"name": "EOS"},
    ],
    "length": [
        " Length ", "FinishReason.MAX_TOKENS", "FINISH_REASON_MAX_TOKENS", "max-tokens", "maxTokens",
        "max tokens", "MaxTokens", "max_tokens_reached", "maxPredictedTokensReached",
        "contextLengthReached", "context_length", "context_length_exceeded", "token_limit",
        "TOKEN_LIMIT_REACHED", "output_limit", "length_limit", "max_completion_tokens",
        "maximum_tokens", "token-budget-exceeded", "context_window_full_limit", "truncated",
        "ERROR_LIMIT", "contextFull", "out_of_tokens", "time_limit", {"type": "length", "length": 5}, {"type": "MAX_TOKENS"},
    ],
    "tool_calls": ["tool-calls", "toolCalls", "TOOL_USE", "FINISH_REASON_TOOL_CALL", "function-call"],
    "content_filter": [
        "content-filter", "contentFilter", "ContentFiltered", "SAFETY", "IMAGE_SAFETY",
        "image_prohibited_content", "FINISH_REASON_SAFETY", "sensitive", "ERROR_TOXIC", "guardrails",
        "content_policy", "content_policy_violation", "flagged", "moderation", "blocked",
        "MODEL_ARMOR_VIOLATION", "refused",
    ],
    "failed": [
        "error", "ERROR", "network_error", "networkError", "abort", "aborted", "cancelled",
        "USER_CANCEL", "insufficient_system_resource", "server-error", "internal_error", "failed",
        "TIMEOUT", "timed_out", "preempted", "upstream_disconnected", "MALFORMED_FUNCTION_CALL", {"type": "abort"},
    ],
    "unknown": [
        "", None, 7, {}, [], ["stop"], True, {"type": 7}, "null", "None", "banana", "other", "OTHER",
        "FINISH_REASON_UNSPECIFIED", "tool_code", "language", "not_finished", "in_progress", "no_error",
        "unstoppable", "x" * 10_000, "...", "max_turns", "lengthy", "terror", "restop",
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("word", "means"),
    [
        *FINISH_REASONS.items(),
        *((word, means) for means, words in WORDS.items() for word in words),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_word_means_the_same_in_every_spelling(word: object, means: Ending) -> None:
    assert ending(word) == means
    assert finish_reason(word) == ("unknown" if means == "failed" else means)


@pytest.mark.parametrize("word", FINISH_REASONS)
def test_the_table_holds_words_in_their_normal_form(word: str) -> None:
    assert normal_word(word) == word


@pytest.mark.parametrize("word", ["", None, 7, "null"])
def test_a_missing_word_with_calls_means_calls(word: object) -> None:
    assert finish_reason(word, has_calls=True) == "tool_calls"


CHOICES: dict[str, tuple[dict[str, object], str]] = {
    "nothing": ({}, ""),
    "the usual place": ({"finish_reason": "STOP"}, "stop"),
    "null, and the provider's own": (
        {"finish_reason": None, "native_finish_reason": "MAX_TOKENS"},
        "max_tokens",
    ),
    "the usual place wins": (
        {"finish_reason": "stop", "native_finish_reason": "length"},
        "stop",
    ),
    "a word nobody knows, and one that is known": (
        {"finish_reason": "banana", "native_finish_reason": "length"},
        "length",
    ),
    "two words nobody knows": ({"finish_reason": "a", "native_finish_reason": "b"}, "a"),
    "details": ({"finish_details": {"type": "max_tokens"}}, "max_tokens"),
    "Anthropic's place": ({"finish_reason": "", "stop_reason": "max_tokens"}, "max_tokens"),
    "vLLM's token": ({"finish_reason": "stop", "stop_reason": 151643}, "stop"),
    "camel case": ({"finishReason": "MAX_TOKENS"}, "max_tokens"),
}


@pytest.mark.parametrize(("choice", "word"), CHOICES.values(), ids=CHOICES)
def test_the_first_place_with_a_known_word_wins(choice: dict[str, object], word: str) -> None:
    assert finish_word(choice) == word


@given(st.text() | st.none() | st.integers() | st.dictionaries(st.text(), st.text()))
def test_any_value_is_read(value: object) -> None:
    word = normal_word(value)
    assert normal_word(word) == word
    assert ending(value) == ending(word)
