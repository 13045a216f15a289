r"""The arguments of an `@@call`, to strict JSON. No I/O, stdlib only.

Ordinary JSON, and beside it: bare keys, single quotes, Python's literals, a trailing comma, and bodies,
strings that need no escapes:

    content: ~~~java                a line `~~~java`, alone or with a comma, closes it; nothing else does
    int x = 1;                      every character between the two lines is content, backslashes too
    ~~~java

Backtick fences are bodies too; there the tag is only a label, and a line that begins with as many
backticks closes. What is open at the end of the text is never closed.

Byte-exact means: of a body nothing is changed, dropped or read as an escape, but for the one line break
before its closing line. Where the line that opens it ends in CR LF, so do all lines of that transport, and
each CR LF of the body is read as the LF it was; behind a line that ends in LF, every CR is content.
"""

import json
import re
from collections.abc import Callable
from typing import Final

from rig.late_dataclass import dataclass
from rig.text.duplicate_keys import DUPLICATE_KEY, duplicate_keys, without_duplicates
from rig.text.grammar_values import RESERVED_WORDS
from rig.text.json_scanner import ScanKind, scan_json

_PLAIN = re.compile(r"[\s\d:.+\-]+")
_DOUBLE = re.compile(r'"(?:[^"\\\n]|\\[^\n])*+')
_SINGLE = re.compile(r"'(?:[^'\\\n]|\\[^\n])*+")
_SINGLE_PIECE = re.compile(r"\\'|\\.|\"")
_WORD = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*+")
_KEY_END = re.compile(r"\s*+(?::|\Z)")
_FENCE = re.compile(r"`{3,}")
_LABEL = re.compile(r"[\w+#.\-]*[ \t\r]*\Z")
_LITERALS: Final = {"True": "true", "False": "false", "None": "null"}
_BLANKS: Final = " \t\r"


@dataclass(frozen=True, slots=True, kw_only=True)
class HeredocValue:
    """What stands where arguments have to.

    Attributes:
        kind: complete; truncated (only the end of the text is missing); malformed (neither).
        end: index after it; for malformed where reading stopped, for truncated the text's length.
        text: for complete the strict JSON of one object; for truncated the beginning of one, open
            where the text ends; for malformed nothing of use, but where keys are what is wrong, the
            strict JSON with all of them.
        repairs: duplicate_key, where a key is written again with an equal value.
    """

    kind: ScanKind
    end: int
    text: str
    repairs: tuple[str, ...] = ()


def read_heredoc_value(text: str, start: int, *, may_go_on: Callable[[int], bool]) -> HeredocValue:
    """Read the object that begins at an index.

    Args:
        text: any text.
        start: index of its `{`.
        may_go_on: tells whether other calls follow an index. Then a quoted string that is open at the
            end of its line is wrong; else it is cut.

    Returns:
        What stands there. An object that names a key twice with different values is malformed: nobody
        can tell which one was meant.
    """
    return _Reader(text, start, may_go_on).run()


class _Reader:
    """Copies the text to JSON token by token; whether that is any, the strict scanner says.

    Everything is read once: a token never reaches behind the end of the value that is told.
    """

    def __init__(self, text: str, start: int, may_go_on: Callable[[int], bool]) -> None:
        self._text = text
        self._position = start
        self._may_go_on = may_go_on
        self._parts: list[str] = []
        self._depth = 0
        self._comma = -1  # index in parts of a comma nothing has followed yet
        self._before = ""  # the last token's first character

    def run(self) -> HeredocValue:
        text = self._text
        is_open = True
        while is_open and self._position < len(text):
            char = text[self._position]
            if char in "\"'":
                is_open = self._quoted(char)
            elif char == "~" and text.startswith("~~~", self._position):
                is_open = self._body()
            elif char == "`" and (fence := _FENCE.match(text, self._position)):
                is_open = self._fenced(fence[0])
            elif word := _WORD.match(text, self._position):
                self._word(word)
            elif char in "{}[],":
                is_open = self._bracket(char)
            elif plain := _PLAIN.match(text, self._position):
                self._take(plain.end(), plain[0], "" if plain[0].isspace() else ":")
            else:
                return self._malformed()
        return self._result()

    def _result(self) -> HeredocValue:
        written = "".join(self._parts)
        scan = scan_json(written)
        if scan.kind == "complete" and scan.end == len(written):
            return self._whole(written)
        if scan.kind == "truncated" and self._position == len(self._text):
            return HeredocValue(kind="truncated", end=self._position, text=written)
        return self._malformed()

    def _whole(self, written: str) -> HeredocValue:
        twice = duplicate_keys(written)
        if twice == "none":
            return HeredocValue(kind="complete", end=self._position, text=written)
        if twice == "different":
            return HeredocValue(kind="malformed", end=self._position, text=written)
        text = without_duplicates(written)
        return HeredocValue(
            kind="complete", end=self._position, text=text, repairs=(DUPLICATE_KEY,)
        )

    def _malformed(self) -> HeredocValue:
        return HeredocValue(kind="malformed", end=self._position, text="")

    def _take(self, end: int, written: str, token: str) -> None:
        """Move on, and write what the text up to there means; `token` is "" for blanks."""
        self._position = end
        self._parts.append(written)
        if token:
            self._before = token
            self._comma = -1

    def _bracket(self, char: str) -> bool:
        """Take a bracket or a comma; return False when the value has ended."""
        if char in "}]" and self._comma >= 0:
            self._parts[self._comma] = ""
        self._take(self._position + 1, char, char)
        if char == ",":
            self._comma = len(self._parts) - 1
        self._depth += (char in "{[") - (char in "}]")
        return self._depth > 0

    def _word(self, match: re.Match[str]) -> None:
        word, end = match[0], match.end()
        is_key = self._before in {"{", ","} and _KEY_END.match(self._text, end) is not None
        if is_key and word not in RESERVED_WORDS:
            is_cut = end == len(self._text)
            self._take(end, f'"{word}' if is_cut else f'"{word}"', "k")
        elif end == len(self._text):
            whole = next((known for known in _LITERALS if known.startswith(word)), "")
            self._take(end, _LITERALS[whole][: len(word)] if whole else word, "w")
        else:
            self._take(end, _LITERALS.get(word, word), "w")

    def _quoted(self, quote: str) -> bool:
        """Take a quoted string; return False when it is not closed on its line."""
        text, begin = self._text, self._position
        match = (_DOUBLE if quote == '"' else _SINGLE).match(text, begin)
        end = match.end() if match else begin + 1
        body = text[begin + 1 : end]
        if quote == "'":
            body = _SINGLE_PIECE.sub(_requoted, body)
        if text[end : end + 1] == quote:
            self._take(end + 1, f'"{body}"', quote)
            return True
        # A backslash may be the last character, and line ends may follow it.
        if self._may_go_on(end) or text.find(quote, end) >= 0:
            self._take(end, f'"{body}\n', quote)
        else:
            self._take(len(text), f'"{body}{text[end : end + 1].strip()}', quote)
        return False

    # Bodies

    def _body(self) -> bool:
        """Take a `~~~` body; return False when nothing closes it."""
        text = self._text
        line_end = text.find("\n", self._position)
        if line_end < 0:
            return self._unclosed("")
        opener = text[self._position : line_end].rstrip(_BLANKS)
        start, position = line_end + 1, line_end
        while found := text.find(f"\n{opener}", position) + 1:
            position = _line_end(text, found)
            if text[found + len(opener) : position].strip(_BLANKS) in {"", ","}:
                self._close(_lines(text, line_end, start, found), found + len(opener))
                return True
        return self._unclosed(text[start:])

    def _fenced(self, fence: str) -> bool:
        """Take a body between backticks; return False when nothing closes it."""
        text = self._text
        start = self._position + len(fence)
        line_end = _line_end(text, start)
        same_line = text.find(fence, start, line_end)
        if same_line >= 0:
            self._close(text[start:same_line], same_line + len(fence))
            return True
        opened = line_end
        if _LABEL.match(text[start:line_end]):
            start = line_end + 1
        closing = re.compile(rf"^{fence}(?=[ \t\r]*(?:[,}}\]\n]|\Z))", re.MULTILINE)
        found = closing.search(text, line_end)
        if found is None:
            return self._unclosed(text[start:])
        self._close(_lines(text, opened, start, found.start()), found.end())
        return True

    def _close(self, content: str, end: int) -> None:
        self._take(end, _as_string(content), '"')

    def _unclosed(self, content: str) -> bool:
        self._take(len(self._text), _as_string(content)[:-1], '"')
        return False


def _lines(text: str, opened: int, start: int, closing: int) -> str:
    """The lines of a body, from an index to that of its closing line.

    Args:
        text: the text.
        opened: index of the end of the line that opened it.
        start: index of the first character.
        closing: index of the closing line.
    """
    if text[opened - 1 : opened + 1] != "\r\n":
        return text[start : max(start, closing - 1)]
    return text[start:closing].replace("\r\n", "\n").removesuffix("\n")


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def _as_string(content: str) -> str:
    return json.dumps(content, ensure_ascii=False)


def _requoted(match: re.Match[str]) -> str:
    piece = match[0]
    if piece == '"':
        return '\\"'
    return "'" if piece == "\\'" else piece
