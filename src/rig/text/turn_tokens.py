"""Tokens with which chat templates begin and end turns, in text that must not begin one. No I/O."""

import re
from typing import Final

# Servers read them out of the text of a message as the real thing (llama.cpp parses special tokens of the
# whole prompt), so that a text could speak as the system. Quantifiers are bounded: the work is linear.
_TURN_TOKENS: Final = re.compile(
    r"<(?=[|\uff5c])"  # <|im_start|>, <|eot_id|>, and DeepSeek's with wide bars
    r"|<(?=(?:/?s|bos|eos|pad|start_of_turn|end_of_turn|turn\||\|turn)>)"  # Llama 2, Gemma
    r"|<(?=extra_id_\d{1,3}>)"  # Nemotron
    r"|<(?=</?SYS>>)"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|gMASK)\])",  # Mistral, GLM
    re.IGNORECASE,
)


def without_turn_tokens(text: str) -> str:
    """The text, unable to begin a turn of its own.

    A blank goes behind the first character of every token that chat templates put between turns; nothing
    else changes. Doing it twice is doing it once.

    Args:
        text: what anybody may have written.
    """
    return _TURN_TOKENS.sub(lambda found: found.group() + " ", text)
