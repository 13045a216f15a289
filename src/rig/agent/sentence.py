"""The first sentence of a text: what a small model is told of a tool. No I/O."""

import re
from typing import Final

# An end of a sentence: its mark, closing quotes and brackets, then a blank. Wide marks need no blank.
_END: Final = re.compile("[.!?][\"')\\]]*(?=\\s)|[\u3002\uff01\uff1f]")

_ABBREVIATIONS: Final = frozenset(
    {
        "e.g.",
        "i.e.",
        "etc.",
        "vs.",
        "cf.",
        "ca.",
        "approx.",
        "no.",
        "nr.",
        "dr.",
        "mr.",
        "mrs.",
        "st.",
    }
    | {"max.", "min.", "incl.", "resp.", "z.b.", "d.h.", "fig.", "sec.", "vol."}
)


def first_sentence(text: str) -> str:
    """The first sentence on one line; the whole text where it has only one.

    A full stop ends a sentence unless the word it belongs to is an abbreviation, a single letter, or what
    follows begins in lower case.

    Args:
        text: for example the description of a tool.
    """
    line = " ".join(text.split())
    for end in _END.finditer(line):
        if _ends(line, end.start(), end.end()):
            return line[: end.end()]
    return line


def _ends(line: str, mark: int, end: int) -> bool:
    if line[mark] != ".":
        return True
    word = line[:mark].rpartition(" ")[2].lstrip("(\"'[") + "."
    following = line[end:].lstrip()[:1]
    initial = len(word) == 2 and word[0].isalpha()
    return not (word.lower() in _ABBREVIATIONS or initial or following.islower())
