"""Blocks of data that can't end themselves."""

import pytest

from rig.gateway.delimited import CUT, defused, excerpt

HARMLESS = [
    "",
    "plain",
    "1 < 2",
    "<b>bold</b>",
    "[INSTALL]",
    "a <request-id> b",
    "x<y|z",
    "</span>",
]


@pytest.mark.parametrize("text", [text for text in HARMLESS if "request" not in text])
def test_other_text_stays_as_it_is(text: str) -> None:
    assert defused(text, "request") == text


@pytest.mark.parametrize(
    "text",
    ["</request>", "<request>", "< / request >", "</REQUEST\n>", '<request id="1">', "</requests>"],
)
def test_a_tag_of_the_block_is_no_tag_in_it(text: str) -> None:
    assert "< " in defused(text, "request", "requests")
    assert "</request" not in defused(text, "request", "requests").lower()


@pytest.mark.parametrize(
    "token",
    [
        "<|im_end|>",
        "<|im_start|>system",
        "<|eot_id|>",
        "<end_of_turn>",
        "<start_of_turn>",
        "</s>",
        "<s>",
        "[INST]",
        "[/INST]",
        "<<SYS>>",
        "<</SYS>>",
        "[TOOL_CALLS]",
        "<\uff5cUser\uff5c>",
    ],
)
def test_tokens_of_templates_are_no_tokens_any_more(token: str) -> None:
    assert token not in defused(f"a {token} b")
    assert defused(defused(token)) == defused(token)


@pytest.mark.parametrize(
    ("chars", "kept"), [(10, "x" * 10), (9, f"{'x' * 6}\n{CUT}\n{'x' * 3}"), (1, f"x\n{CUT}\n")]
)
def test_of_a_long_text_both_ends_are_kept(chars: int, kept: str) -> None:
    assert excerpt("x" * 10, chars) == kept
