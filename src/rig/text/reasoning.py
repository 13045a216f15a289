"""Reasoning that a server left in the text of a reply, in whole replies. No I/O.

`strip_reasoning` has a fixed contract and knows `<think>` only: do not improve it. Every other
spelling is a row of `rig.text.reasoning_tags` and is read by `separate_reasoning`. Neither looks at
JSON or code: a tag inside of a string is a tag.
"""

from rig.late_dataclass import dataclass
from rig.text.headed_thought import may_begin_heading
from rig.text.orphan_closer import without_closers
from rig.text.reasoning_tags import holds_tag, match_tag

OPENER = "<think>"
CLOSER = "</think>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Separated:
    """A reply in two parts, both without surrounding whitespace.

    Attributes:
        text: what the reader sees.
        reasoning: the thoughts in the order in which they became known, a blank line between them.
    """

    text: str
    reasoning: str = ""


def strip_reasoning(text: str) -> str:
    """Return the text without `<think>` reasoning.

    In this order: complete `<think>..</think>` spans go, the shortest ones, from the left; if a
    closer remains, only what follows the last one stays; if an opener remains, only what precedes
    the first one stays. Tags count in exactly this spelling. The result is trimmed, and stripping
    it again changes nothing. The work is linear: a regular expression that looks for the span
    starts over at every opener (measured: 16,000 unclosed ones took 16 s in CPython).

    Args:
        text: content of a reply.

    Returns:
        The answer, "" when there is none.
    """
    rest = _without_spans(text)
    _, _, rest = rest.rpartition(CLOSER)
    rest, _, _ = rest.partition(OPENER)
    return rest.strip()


def _without_spans(text: str) -> str:
    kept: list[str] = []
    position = 0
    while (opener := text.find(OPENER, position)) >= 0:
        closer = text.find(CLOSER, opener + len(OPENER))
        if closer < 0:
            break
        kept.append(text[position:opener])
        position = closer + len(CLOSER)
    kept.append(text[position:])
    return "".join(kept)


def may_hold_thought(text: str) -> bool:
    """Return False where `separate_reasoning` would do no more than trim the text: nearly every reply.

    Args:
        text: content of a reply whose reasoning did not come in a field of its own.
    """
    return holds_tag(text) or may_begin_heading(text)


def separate_reasoning(text: str) -> Separated:
    """Separate text and reasoning, in every spelling of `rig.text.reasoning_tags`.

    For texts that hold no other tags than `<think>` and `</think>` the text is exactly that of
    `strip_reasoning`. Beyond that: letter case does not count; a pair never crosses families; a
    family other than `think` may be closed by a second opener when no closer follows; an element that
    wraps the answer goes where it stands directly behind a thought; a thought under a heading in words
    goes where it begins the reply and the second heading follows; of harmony messages, analysis is reasoning, and a message to a recipient (a tool call) stays in the text
    as it is, markers included, with any tags in its arguments.

    Args:
        text: content of a reply whose reasoning did not come in a field of its own.

    Returns:
        Both parts. When `text` is empty, the reasoning tells what the model wrote instead.
    """
    if not text or not may_hold_thought(text):
        return Separated(text=text.strip())
    from rig.text.reasoning_filter import ReasoningFilter  # noqa: PLC0415 most replies end above

    reader = ReasoningFilter()
    shown: list[str] = []
    thoughts: list[str] = []
    for piece in (*reader.feed(text), *reader.close()):
        if piece.kind == "retract":
            shown.clear()
        else:
            (shown if piece.kind == "text" else thoughts).append(piece.text)
    return Separated(text="".join(shown), reasoning="".join(thoughts))


def strip_orphan_closer(text: str) -> Separated:
    """Drop closing tags at the head of a text, and nothing else.

    For servers that separate reasoning themselves but leave the closer behind (aula-id/koma#63):
    any other tag in the text is then meant as text.

    Args:
        text: content of a reply whose reasoning came in a field of its own.

    Returns:
        The trimmed text; `reasoning` is always "".
    """
    return Separated(text=without_closers(text).strip())


def strip_repeated_thought(text: str, thought: str) -> str:
    """Drop the first thought of a text where it is one that is known already.

    Args:
        text: content of a reply whose reasoning came in a field of its own.
        thought: that reasoning.

    Returns:
        What follows the thought; the text as it is when it begins with anything else.
    """
    known = thought.strip()
    rest = text.lstrip()
    opener = match_tag(rest)
    if opener is not None and opener.kind == "open":
        rest = rest[opener.end :].lstrip()
    if not known or not rest.startswith(known):
        return text
    rest = rest[len(known) :].lstrip()
    closer = match_tag(rest)
    if closer is None or closer.kind != "close":
        return text
    same = opener is None or opener.kind != "open" or opener.family == closer.family
    return rest[closer.end :] if same else text
