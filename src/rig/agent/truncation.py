"""Whether a server cut a prompt without saying so. No I/O.

Ollama, and llama.cpp until 2025, answer 200 to a prompt that does not fit, having thrown away its
beginning: the system prompt, the tools, the task. The one trace is `usage.prompt_tokens`, which tells
what was read. It is compared with what was sent, in three ways, none of which may raise a false alarm:

- counted: an exact count is known, and clearly less was read.
- bound: no count is known, but the texts can't be as few tokens as were read. A word between blanks is
  a token at least; letters in sequence are at most ten to a token on average, Chinese and the like four.
- pinned: the number read is one at which servers cut, and the texts are likely more than that.

Only texts of messages count as sent. Tools, calls and thoughts may be left out by a chat template, and
the tokens of images and audio are anybody's guess; all of them make a prompt longer, never shorter.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from rig.events import ContextTruncated, TruncationEvidence
from rig.messages import Message, Usage

MIN_READ_TOKENS: Final = 512
"""Tokens of prompt below which a report is not believed at all: no server cuts to less, but several
proxies and fakes report a constant, and servers of 2024 left out what was cached."""

COUNTED_SHARE: Final = 0.9
"""Share of an exact count that may go unreported. Counts of one prompt by one server differ by the
few tokens of its template; cuts seen in reports take a third and more."""

BOUND_SHARE: Final = 0.75
"""The same for the lower bound. Tokenizers that join words need up to a third fewer tokens (SuperBPE,
arXiv 2503.13423), which is 0.87 a word."""

CHARS_PER_TOKEN: Final = 10
"""Characters of one token at most, on average over a prompt, blanks left out and runs of one character
counted once. Measured with a vocabulary of 49,000: English 3.8, Python 3.0, a page of ruled lines 4.4."""

WIDE_CHARS_PER_TOKEN: Final = 4
"""The same for Chinese, Japanese and Korean; Qwen's documentation gives 1.5 to 1.8 for Chinese."""

LIKELY_CHARS_PER_TOKEN: Final = 6
"""Characters of one token that are rarely reached, for prompts whose reported size is suspicious anyway."""

LIKELY_WIDE_CHARS_PER_TOKEN: Final = 3
"""The same for Chinese, Japanese and Korean."""

MIN_WINDOW_TOKENS: Final = 1024
"""Smallest window servers are known to have cut to, or to half of (ollama/ollama 6026)."""

PIN_SLACK: Final = 4
"""Tokens that a cut prompt may have above the number it was cut to: Ollama keeps half of the window
and two or three tokens (ollama/ollama 17427: 32,770 of 65,536; 3839: 16,387 of 32,768)."""

# One character three times and more: separators, indentation. Linear: each start is tried once.
_RUN: Final = re.compile(r"(.)\1{2,}", re.DOTALL)
_WIDE: Final = re.compile("[\u2e80-\uffff\U00010000-\U0010ffff]")


def truncated_prompt(
    messages: Sequence[Message],
    usage: Usage,
    *,
    counted_tokens: int | None = None,
    window_tokens: int | None = None,
) -> ContextTruncated | None:
    """What a reply's usage tells of a prompt that was cut.

    Args:
        messages: the conversation as it was sent.
        usage: what the server reported.
        counted_tokens: the exact number of tokens of the prompt, None when it is not known. An
            estimate must not be given here.
        window_tokens: the size of the context window, None when it is not known.

    Returns:
        What was read and sent, with the evidence; None where nothing is wrong or nothing can be told.
    """
    read = _read_tokens(usage)
    if not usage.reported or read < MIN_READ_TOKENS:
        return None
    pin = _pin(read, window_tokens)
    if counted_tokens is not None:
        if read >= COUNTED_SHARE * counted_tokens:
            return None
        return _event(read, counted_tokens, pin, "counted")
    texts = [message.text for message in messages]
    if sum(map(_at_most, texts)) <= read:
        return None
    least = sum(map(least_tokens, texts))
    if read < BOUND_SHARE * least:
        return _event(read, least, pin, "bound")
    likely = sum(map(likely_tokens, texts)) if pin is not None else 0
    return _event(read, likely, pin, "pinned") if likely > read + PIN_SLACK else None


def least_tokens(text: str) -> int:
    """A number of tokens that a text is not below with any ordinary tokenizer.

    Args:
        text: any text.
    """
    return _tokens(text, CHARS_PER_TOKEN, WIDE_CHARS_PER_TOKEN)


def likely_tokens(text: str) -> int:
    """A number of tokens that a text is rarely below.

    Args:
        text: any text.
    """
    return _tokens(text, LIKELY_CHARS_PER_TOKEN, LIKELY_WIDE_CHARS_PER_TOKEN)


def _at_most(text: str) -> int:
    """What the two counts above are not above: 20 times as fast, and enough for nearly every reply.

    Blanks of ASCII beyond these four do not occur in prompts.
    """
    if not text.isascii():
        return len(text)
    return max(sum(map(text.count, " \n\t\r")) + 1, len(text) // LIKELY_CHARS_PER_TOKEN)


def _tokens(text: str, chars_per_token: int, wide_chars_per_token: int) -> int:
    words = _RUN.sub(r"\1", text).split()
    chars = sum(map(len, words))
    wide = 0 if text.isascii() else _wide_chars(words)
    return max(len(words), (chars - wide) // chars_per_token + wide // wide_chars_per_token)


def _wide_chars(words: Iterable[str]) -> int:
    return sum(len(_WIDE.findall(word)) for word in words if not word.isascii())


def _read_tokens(usage: Usage) -> int:
    """Tokens of prompt the server read, cached ones included.

    Servers count cached tokens in. Anthropic does not, and is told by the tokens it writes into its
    cache, or by a cache larger than the prompt.
    """
    cached = usage.cached_tokens
    if usage.cache_creation_tokens or cached > usage.prompt_tokens:
        return usage.prompt_tokens + cached + usage.cache_creation_tokens
    return usage.prompt_tokens


def _pin(read: int, window_tokens: int | None) -> int | None:
    """The number the prompt was cut to, as far as the number read looks like one."""
    pins = [1 << (read.bit_length() - 1)]  # the power of two at or below it
    if window_tokens is not None:
        pins += [window_tokens, window_tokens // 2]
    return next((pin for pin in pins if MIN_WINDOW_TOKENS <= pin <= read <= pin + PIN_SLACK), None)


def _event(read: int, sent: int, pin: int | None, evidence: TruncationEvidence) -> ContextTruncated:
    return ContextTruncated(
        read_tokens=read, sent_tokens=sent, cut_to_tokens=pin, evidence=evidence
    )
