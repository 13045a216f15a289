"""Keys that a JSON text names twice in one object. No I/O, stdlib only.

JSON leaves open what such an object means (RFC 8259, 4), and who wrote it may have meant either value.
Does not validate: it relies on `rig.text.json_scanner` having called the text complete.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Final, Literal

from rig.text.json_builder import build_json

DUPLICATE_KEY: Final = "duplicate_key"
"""What `repairs` says where a key was named again with an equal value."""

DuplicateKind = Literal["none", "equal", "different"]
"""Whether a key is named twice in one object of a text: never, always with an equal value, or not."""

_TOKEN = re.compile(r'[{}\[\],:]|"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[^\s{}\[\],:"]++', re.DOTALL)


def duplicate_keys(text: str) -> DuplicateKind:
    """Tell whether a key is named twice in one object, at any depth.

    Args:
        text: what the scanner called complete.

    Returns:
        different where two values of one key differ in more than blanks and escapes.
    """
    tokens = [_plain(match[0]) for match in _TOKEN.finditer(text)]
    open_ones: list[_Container] = []
    found: DuplicateKind = "none"
    for index, lexeme in enumerate(tokens):
        top = open_ones[-1] if open_ones else None
        if lexeme == ":" and top is not None:
            top.key, top.begin = tokens[index - 1], index + 1
        elif lexeme in {",", "}", "]"} and top is not None:
            kind = top.end_value(tokens, index)
            if kind == "different":
                return kind
            found = kind if kind != "none" else found
            if lexeme != ",":
                open_ones.pop()
        elif lexeme in {"{", "["}:
            open_ones.append(_Container())
    return found


def without_duplicates(text: str) -> str:
    """The text with each key once, the last one; the text as it is where that can't be written.

    Args:
        text: a complete one whose duplicates are equal.
    """
    try:
        return json.dumps(build_json(text), ensure_ascii=False)
    except (ValueError, RecursionError):  # digits without end, depth without end
        return text


@dataclass(slots=True)
class _Container:
    """An object that is open, or an array, which has no keys."""

    key: str = ""
    begin: int = 0
    values: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])

    def end_value(self, tokens: list[str], end: int) -> DuplicateKind:
        key, self.key = self.key, ""
        if not key:
            return "none"
        begin, before = self.begin, self.values.setdefault(key, (self.begin, end))
        if before == (begin, end):
            return "none"
        is_equal = before[1] - before[0] == end - begin and (
            tokens[before[0] : before[1]] == tokens[begin:end]
        )
        return "equal" if is_equal else "different"


def _plain(lexeme: str) -> str:
    """The lexeme in one spelling: a string without needless escapes."""
    if lexeme[0] != '"' or "\\" not in lexeme:
        return lexeme
    try:
        return json.dumps(build_json(lexeme))
    except ValueError:  # of a text the scanner was not asked about
        return lexeme
