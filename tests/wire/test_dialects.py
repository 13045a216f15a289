"""The tables of what differs between servers."""

import pytest

from rig.wire.dialects import FINISH_REASONS, takes_completion_tokens


@pytest.mark.parametrize(
    "model",
    [
        "o1",
        "o3-mini",
        "o4-mini-2025-04-16",
        "openai/o3",
        "GPT-5-mini",
        " o1 ",
        "gpt-5",
        "a/b/o1-preview",
        "o12",
    ],
)
def test_models_that_want_completion_tokens(model: str) -> None:
    assert takes_completion_tokens(model)


@pytest.mark.parametrize(
    "model",
    [
        "gpt-4o",
        "gpt-4o-mini",
        "gpt-3.5-turbo",
        "openhermes",
        "olmo-7b",
        "",
        "o",
        "o-1",
        "o1x",
        "o1/llama",
        "o\u0661",
        "qwen3",
    ],
)
def test_models_that_take_max_tokens(model: str) -> None:
    assert not takes_completion_tokens(model)


def test_finish_words_are_lower_case() -> None:
    assert all(word == word.lower() for word in FINISH_REASONS)
