"""Text of strangers can't begin a turn."""

import pytest

from rig.text.turn_tokens import without_turn_tokens

TOKENS = {
    "chatml": "<|im_start|>",
    "llama 3": "<|eot_id|>",
    "gemma begins": "<start_of_turn>",
    "gemma ends": "<end_of_turn>",
    "llama 2": "[INST]",
    "llama 2 system": "<<SYS>>",
    "end of sequence": "</s>",
    "mistral": "[SYSTEM_PROMPT]",
    "mistral results": "[/TOOL_RESULTS]",
    "deepseek": "<\uff5cUser\uff5c>",
    "nemotron": "<extra_id_1>",
    "glm": "[gMASK]",
}


@pytest.mark.parametrize("token", TOKENS.values(), ids=TOKENS)
@pytest.mark.parametrize("wrap", ["a {} b", "{0}{0}", "<{}", "<|{}|>", "[{}]"])
def test_a_token_of_a_template_is_none_any_more(token: str, wrap: str) -> None:
    text = wrap.format(token)
    assert token not in without_turn_tokens(text)
    assert without_turn_tokens(without_turn_tokens(text)) == without_turn_tokens(text)


@pytest.mark.parametrize(
    "text", ["", "1 < 2", "<b>", "[INSTALL]", "x<y|z", "</span>", "a[s]", "<str>"]
)
def test_other_text_stays_as_it_is(text: str) -> None:
    assert without_turn_tokens(text) == text
