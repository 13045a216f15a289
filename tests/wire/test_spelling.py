"""Words in several spellings."""

import pytest

from rig.wire.spelling import snake_case

WORDS = {
    "max_tokens": "max_tokens",
    "maxTokens": "max_tokens",
    "MaxTokens": "max_tokens",
    "MAX_TOKENS": "max_tokens",
    "max-tokens": "max_tokens",
    "max tokens": "max_tokens",
    "ResponsibleAIPolicyViolation": "responsible_ai_policy_violation",
    "EOSFound": "eos_found",
    "_x__y_": "x_y",
    "http2Error": "http2_error",
    "": "",
}


@pytest.mark.parametrize(("word", "snake"), WORDS.items())
def test_a_word_has_one_spelling(word: str, snake: str) -> None:
    assert snake_case(word) == snake
