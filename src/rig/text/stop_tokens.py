"""The token a model ends a turn with, where a server leaves it at the end of the text. No I/O.

Only one, and only at the very end: anywhere else it is what somebody wrote about tokens.
"""

import re
from typing import Final

STOP_TOKENS: Final = (
    "<|im_end|>",  # ChatML: Qwen, Yi, SmolLM
    "</s>",  # Llama 2, Mistral
    "<|eot_id|>",  # Llama 3
    "<|eom_id|>",
    "<|end_of_text|>",
    "<|eot|>",  # Llama 4
    "<end_of_turn>",  # Gemma
    "<turn|>",
    "<eos>",
    "<|endoftext|>",  # GPT, Qwen, Falcon
    "<|end|>",  # Phi
    "<|return|>",  # gpt-oss
    "<\uff5cend\u2581of\u2581sentence\uff5c>",  # DeepSeek
    "<|end_of_sentence|>",
    "<|end_of_turn|>",  # OpenChat
    "<|end_of_turn_token|>",  # Cohere
    "<|endofturn|>",
    "<|role_end|>",
    "<|assistant_end|>",
    "<|user|>",  # GLM ends a turn with the next one's role
    "<|observation|>",
    "<|eos|>",
    "<|stop|>",
)
"""In lower case; letter case does not count."""

_START: Final = "<"  # of all of them
_MAX_CHARS: Final = max(map(len, STOP_TOKENS))
_TOKENS: Final = frozenset(STOP_TOKENS)
_BEGINNINGS: Final = frozenset(
    token[:length] for token in STOP_TOKENS for length in range(1, len(token) + 1)
)
_INVISIBLE: Final = re.compile(r"[\s\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff]*")


def strip_stop_token(text: str) -> str:
    """Return the text without one stop token at its end, and without blanks before and behind it.

    Args:
        text: visible text of a whole reply.

    Returns:
        The text as it is when it ends with none; "" when nothing else can be seen.
    """
    rest = text
    if _START in text:
        body = text.rstrip()
        tail = body[-_MAX_CHARS:].lower()
        if tail.endswith(STOP_TOKENS):
            token = next(token for token in STOP_TOKENS if tail.endswith(token))
            rest = body[: len(body) - len(token)].rstrip()
    return "" if _INVISIBLE.fullmatch(rest) else rest


class StopTokenFilter:
    """The stream's form of `strip_stop_token`: holds back an end that may be a stop token.

    Attributes:
        held: what is held back. While that is nothing, text without a `<` passes as it is.
    """

    def __init__(self) -> None:
        self.held = ""

    def feed(self, chunk: str) -> str:
        """Add text and return what is certain not to be a stop token at the end."""
        if not self.held and _START not in chunk:
            return chunk
        buffer = self.held + chunk
        keep = _unfinished_from(buffer)
        self.held = buffer[keep:]
        return buffer[:keep]

    def close(self) -> str:
        """End the reply and return what had been held back, unless it is a stop token."""
        held, self.held = self.held, ""
        return "" if held.strip().lower() in _TOKENS else held


def _unfinished_from(text: str) -> int:
    """Where an end that may be a stop token begins, with the blanks before it."""
    body = text.rstrip()
    start = body.rfind(_START, -_MAX_CHARS)  # no token holds a second one
    if start < 0 or body[start:].lower() not in _BEGINNINGS:
        return len(text)
    return len(body[:start].rstrip())
