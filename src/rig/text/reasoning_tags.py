"""The spellings in which models mark their thoughts inside a reply, as one token table. No I/O.

A tag belongs to a family; an opener is closed only by a closer of its own family. Every tag starts
with a character that occurs in no tag again, so the last such character of a text is the only
place where an unfinished tag can begin. Keep that when adding rows: `unfinished_from` relies on it.

Letter case is ignored in ASCII only: `re.IGNORECASE` alone would also take the Kelvin sign for a k.
"""

import re
from typing import Final, Literal

from rig.late_dataclass import dataclass

THINK: Final = "think"
"""Family of `<think>`, the only one `strip_reasoning` knows."""

HARMONY: Final = "harmony"
"""Family of the channels of gpt-oss, see https://cookbook.openai.com/articles/openai-harmony."""

FIXED_TAGS: Final = (
    # family, opener, closer
    ("bracket", "[think]", "[/think]"),  # Mistral (RooCodeInc/Roo-Code#8522)
    ("triangle", "\u25c1think\u25b7", "\u25c1/think\u25b7"),  # Kimi (open-webui/open-webui#16856)
    ("open-thinker", "<|begin_of_thought|>", "<|end_of_thought|>"),
    ("command", "<|start_thinking|>", "<|end_thinking|>"),  # Cohere Command A Reasoning
    ("gemma", "<|channel>thought", "<channel|>"),  # Gemma 4 (lmstudio-bug-tracker#2013)
    ("medgemma", "<unused94>thought", "<unused95>"),
    ("pipe-think", "<|think|>", "<|/think|>"),
    ("pipe-thinking", "<|thinking|>", "<|/thinking|>"),
    ("begin-of-think", "<|begin_of_think|>", "<|end_of_think|>"),
    (
        "deepseek",
        "<\uff5cbegin\u2581of\u2581thought\uff5c>",
        "<\uff5cend\u2581of\u2581thought\uff5c>",
    ),
)
"""Openers and closers that are one literal, in lower case."""

ANSWER_TAGS: Final = (
    "<|begin_of_solution|>",
    "<|end_of_solution|>",
    "<|start_response|>",
    "<|end_response|>",
)
"""Wrappers of the answer in the same dialects, in lower case; they are dropped, not closed."""

WRAPPERS: Final = ("answer", "response", "output")
"""Elements in which models trained to think put their answer (Hunyuan, Ernie, Granite, Reflection).
Directly behind a thought they are dropped; anywhere else they are text."""

HARMONY_ENDS: Final = ("<|end|>", "<|return|>", "<|call|>")
HARMONY_STARTS: Final = ("<|start|>", "<|channel|>")

# think, thinking, thought, reasoning, also with a namespace (seed:, mm:) and as LongCat spells it; what
# prompts taught models before they thought by themselves (Claude 3's antthinking, scratchpad, Reflection).
# Spaces, among them NBSP, occur around the name; more than two are not a tag any more.
_SPACE = r"[\s\u00a0]{0,2}"
_NAME = (
    r"(?:[a-z][a-z0-9]{0,15}:)?(?:(?:longcat_)?(?:thinking|think|thoughts?|reasoning)|antthinking"
    r"|scratchpad|reflection|inner_(?:monologue|thoughts?))"
)
_WRAPPER = rf"<(?P<end>/?)(?P<wrapper>{'|'.join(WRAPPERS)})>"
_ELEMENT = rf"<{_SPACE}(?P<slash>/?){_SPACE}(?P<name>{_NAME}){_SPACE}>"
_ELEMENT_PREFIX = re.compile(
    rf"<{_SPACE}/?{_SPACE}(?:[a-z][a-z0-9:_]{{0,39}})?{_SPACE}", re.IGNORECASE | re.ASCII
)

_OPENERS = {opener: family for family, opener, _ in FIXED_TAGS}
_CLOSERS = {closer: family for family, _, closer in FIXED_TAGS}
_LITERALS = (*_OPENERS, *_CLOSERS, *ANSWER_TAGS, *HARMONY_ENDS, *HARMONY_STARTS)
_LITERAL_PREFIXES = frozenset(tag[:length] for tag in _LITERALS for length in range(1, len(tag)))
_STARTS = tuple(sorted({tag[0] for tag in _LITERALS}))
_TOKEN = re.compile(
    "|".join((_ELEMENT, _WRAPPER, *map(re.escape, sorted(_LITERALS, key=len, reverse=True)))),
    re.IGNORECASE | re.ASCII,
)

MAX_TAG_CHARS: Final = 64
"""Characters of the longest tag: a namespaced element with all its spaces has 51."""

TagKind = Literal["open", "close", "drop", "wrap", "unwrap", "harmony_end", "harmony_start"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tag:
    """One tag found in a text.

    Attributes:
        kind: what it does.
        family: which tags it pairs with, "" for tags that pair with none; of a wrapper its name.
        start: index of its first character.
        end: index after its last one.
    """

    kind: TagKind
    family: str
    start: int
    end: int


def may_hold_tag(text: str) -> bool:
    """Return False when the text holds no character a tag begins with: most texts, told in 0.1 us.

    A pattern of the characters takes 3 us for each thousand of the text.
    """
    for start in _STARTS:  # noqa: SIM110  a generator would be four calls more, once a token
        if start in text:
            return True
    return False


def holds_tag(text: str) -> bool:
    """Return whether there is a whole tag in a text."""
    return may_hold_tag(text) and _TOKEN.search(text) is not None


def find_tag(text: str, start: int = 0) -> Tag | None:
    """Return the first tag of any family at or after an index.

    Args:
        text: what to search.
        start: index to begin at, in characters.

    Returns:
        The tag, None when there is none.
    """
    match = _TOKEN.search(text, start)
    return None if match is None else _tag(match)


def match_tag(text: str, start: int = 0) -> Tag | None:
    """Return the tag that begins exactly at an index, None when none does."""
    match = _TOKEN.match(text, start)
    return None if match is None else _tag(match)


def unfinished_from(text: str, start: int = 0) -> int:
    """Return the index from which on the text may be the beginning of a tag.

    Args:
        text: what to search; complete tags before `start` are the caller's.
        start: index to begin at, in characters.

    Returns:
        An index, `len(text)` when the end can't be part of any tag.
    """
    if start >= len(text):
        return len(text)
    floor = max(start, len(text) - MAX_TAG_CHARS)
    first = max(text.rfind(mark, floor) for mark in _STARTS)
    if first < 0:
        return len(text)
    tail = text[first:]
    possible = tail.lower() in _LITERAL_PREFIXES or _ELEMENT_PREFIX.fullmatch(tail) is not None
    return first if possible else len(text)


def _tag(match: re.Match[str]) -> Tag:
    kind, family = _classify(match)
    return Tag(kind=kind, family=family, start=match.start(), end=match.end())


def _classify(match: re.Match[str]) -> tuple[TagKind, str]:
    name: str | None = match["name"]
    if name is not None:
        return "close" if match["slash"] else "open", name.lower()
    wrapper: str | None = match["wrapper"]
    if wrapper is not None:
        return "unwrap" if match["end"] else "wrap", wrapper.lower()
    literal = match[0].lower()
    if literal in _OPENERS:
        return "open", _OPENERS[literal]
    if literal in _CLOSERS:
        return "close", _CLOSERS[literal]
    if literal in ANSWER_TAGS:
        return "drop", ""
    return "harmony_end" if literal in HARMONY_ENDS else "harmony_start", HARMONY
