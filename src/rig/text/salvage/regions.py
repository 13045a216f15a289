"""The parts of a text that something stands around: elements, quotation marks, brackets, other turns. No I/O.

What stands inside of anything but a wrapper of calls is shown, not said, whatever that thing is called. So
this is no list of names: every element, environment or bracket that is opened before a call and closed behind
it makes the call a part of something else. Only what is left open has to be known by its name.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Final

from rig.late_dataclass import dataclass

MAX_OPEN: Final = 1 << 10
"""Things open inside each other that are kept; what is opened further in is not looked at."""

MAX_LOOKS: Final = 256
"""Things around one call that are looked at. One that has more of them before it is taken for a part of one."""

_TOKEN: Final = re.compile(
    r"(?P<blank>\n[ \t\r]*(?=\n))"
    r"|\{%-?[ \t]*(?P<jinjaend>end)?(?P<jinja>raw|verbatim|highlight|comment|filter)\b[^%\n]{0,40}%\}"
    r"|<<-?[ \t]*['\"]?(?P<here>[a-z_]{2,20})['\"]?[ \t\r]*$|^[ \t]*(?P<there>[a-z_]{2,20})[ \t\r]*$"
    r"|(?P<comment><!--|-->|<!\[cdata\[|\]\]>|/\*|\*/|\{#|#\}|\{%|%\})"
    r"|(?P<turn><\|(?:im_start|turn_start|start|from|role_start)\|>\s{0,4}(?P<role>[a-z]{2,16})"
    r"|<\|start_header_id\|>\s{0,4}(?P<header>[a-z]{2,16})|<(?:start_of_turn|turn)>\s{0,4}(?P<gemma>[a-z]{2,16})"
    r"|<[|\uff5c](?P<token>user|system|assistant|tool|tools|observation|ipython|environment|human|bot|model)[|\uff5c]>"
    r"|<\|(?P<command>user|system|chatbot)_token\|>"
    r"|^[ \t]*#{2,4}[ \t]*(?P<heading>user|human|system|instruction|input|assistant|response|tool)[ \t]*:"
    r"|^[ \t]*(?:\*\*)?(?P<label>user|human|system|assistant|ai|bot|model|q|a|tool result|tool output|tool response)(?:\*\*)?:)"
    r"|(?P<tag><(?P<slash>/?)(?P<name>[a-z][\w:.\-]{0,63})(?P<rest>[^<>]{0,400})>)"
    r"|\\(?P<env>begin|end)[ \t]*\{(?P<environment>[a-z]+\*?)\}"
    r"|(?P<bb>\[(?P<bbslash>/?)(?P<bbname>[a-z]{1,20})(?:=[^\[\]\n]{0,80})?\])"
    r"|^[ \t]*(?:#\+|[-=*~<\[]{2,16}[ \t]*)(?P<part>begin|start|end)(?:[_ ]of)?[ \t_](?P<partname>[a-z][\w \t]{0,40}?)[ \t]*[-=*~>\]:]{0,16}[ \t\r]*$"
    r"|(?P<triple>\"{3,}|'{3,})|(?P<ticks>`+)|(?P<rule>^[ \t]*(?:-{4,}|={3,}|\*{4,}|_{4,}|\.{4,}|:{3,}|\|{3,}|%{3,}|<{3,}|>{3,})[ \t]*(?:\w[\w \t./]{0,40}(?:[-=*_.:|%<>]{3,})?)?[ \t\r]*$"
    r"|^[ \t]*[\u2500-\u257f]{2,}[^\n\u2500-\u257f]{0,40}[\u2500-\u257f]{1,200}[ \t\r]*$"
    r"|^[ \t]*(?P<titled>-{3,}|\*{3,})[ \t]*\w[\w \t./]{0,40}(?P=titled)[ \t\r]*$)"
    r"|(?P<quote>\")|(?P<open>[{\[(\u201c\u201e\u00ab\u2039\u300c\u300e\u300a\u2018])"
    r"|(?P<close>[}\])\u201d\u00bb\u203a\u300d\u300f\u300b])",
    re.MULTILINE,
)
_PAIRS: Final = {
    "}": "{", "]": "[", ")": "(", "\u201d": "\u201c\u201e", "\u00bb": "\u00ab", "\u203a": "\u2039",
    "\u300d": "\u300c", "\u300f": "\u300e", "\u300b": "\u300a",
}  # fmt: skip
_ALSO_CLOSES: Final = {"\u201c": "\u201e"}
"""What opens in English and closes in German."""

_IN_A_PARAGRAPH: Final = frozenset('("`\u201c\u201e\u00ab\u2039\u300c\u300e\u300a\u2018')
"""What a paragraph's end closes, since prose holds lone ones."""

_COMMENTS: Final = {"-->": "<!--", "]]>": "<![cdata[", "*/": "/*", "#}": "{#", "%}": "{%"}
_WRAPPER: Final = re.compile(
    r"(?:[a-z]{1,16}:|[|\uff5c]dsml[|\uff5c])?(?:(?:tool|function|action)s?(?:[_\-]?(?:call|use|code|invocation|request|name|input|args|arguments|parameters)s?)?"
    r"|calls?|invoke|invocation|longcat_tool_call|parameters?|params?|args?|arguments|arg_key|arg_value|name|input|answer|assistant|escape)"
)
"""Elements that calls are wrapped in, or that are parts of one. What a result or an output is, is none."""

_VOID: Final = frozenset(
    {"br", "hr", "img", "input", "meta", "link", "area", "base", "col", "embed", "source", "track", "wbr"}
)  # fmt: skip
_FOREIGN: Final = re.compile(
    r"(?:\w+[_\-:])?(?:results?|responses?|outputs?|observations?|documents?|docs?|pages?|webpages?|articles?|files?|emails?|"
    r"messages?|users?|human|system|contexts?|examples?|quotes?|blockquote|pre|code|samp|textarea|details|content|"
    r"contents|search_results|website|site|html|body|log|logs|transcript|history|conversation|attachment|data|snippet|text)"
)
"""Elements that hold what somebody else wrote: to be obeyed least where their end is missing."""

_ASSIGNS: Final = re.compile(r"(?:[=(,]|[\"']:)\s{0,4}\Z")
"""What stands before a bracket that is a value of other data."""

_OWN_TURNS: Final = frozenset(
    {"assistant", "model", "bot", "chatbot", "ai", "gpt", "response", "a"}
)


@dataclass(frozen=True, slots=True)
class Region:
    """A part of the text: index of what opens it, index after that, and index of what closes it."""

    start: int
    begin: int
    end: int
    kind: str


class Regions:
    """The parts of a text that something stands around.

    Args:
        text: the text.
        holes: begin and end of what is to be passed over, in order: calls, code blocks, data.
        wrappers: names of elements that are wrappers of calls too.
    """

    def __init__(
        self, text: str, holes: Sequence[tuple[int, int]], wrappers: Sequence[str] = ()
    ) -> None:
        self._text = text
        found = sorted(_Finder(text, holes, frozenset(wrappers)).run(), key=lambda one: one.begin)
        self._found = found
        self._begins = [one.begin for one in found]
        self._furthest: list[int] = []
        for one in found:
            self._furthest.append(max(one.end, self._furthest[-1] if self._furthest else 0))

    def cover(self, start: int, end: int) -> bool:
        """Whether something stands around what is between two indexes."""
        index = bisect_right(self._begins, start) - 1
        for _ in range(MAX_LOOKS):
            if index < 0 or self._furthest[index] < end:
                return False
            one = self._found[index]
            if one.end >= end and not self._is_doubled(one, start, end):
                return True
            index -= 1
        return True

    def _is_doubled(self, region: Region, start: int, end: int) -> bool:
        """Whether it is a bracket with nothing else in it: models double them (`{{"name": ..}}`)."""
        text = self._text
        before = text[region.start - 1 : region.start]
        if region.kind not in {"{", "["} or before.isalnum() or before in {")", "]", "}", "_"}:
            return False
        if _ASSIGNS.search(text, max(0, region.start - 8), region.start):
            return False
        return not text[region.begin : start].strip("{[ \t\r\n") and not text[
            end : region.end
        ].strip("}] \t\r\n")


@dataclass(slots=True)
class _Finder:
    text: str
    holes: Sequence[tuple[int, int]]
    wrappers: frozenset[str]
    stack: list[tuple[str, int, int]] = field(default_factory=list[tuple[str, int, int]])
    counts: dict[str, int] = field(default_factory=dict[str, int])
    found: list[Region] = field(default_factory=list[Region])
    turn: tuple[int, int] | None = None
    answer: tuple[int, int] | None = None

    def run(self) -> list[Region]:
        lower = self.text.lower()
        if len(lower) != len(self.text):
            lower = self.text
        for match in self._tokens(lower):
            self._step(match)
        size = len(self.text)
        if self.turn is not None:
            self.found.append(Region(*self.turn, size, "turn"))
        for name, start, begin in self.stack:
            if _stays_open(name):
                self.found.append(Region(start, begin, size, name))
        return self.found

    def _tokens(self, lower: str) -> Iterator[re.Match[str]]:
        position = 0
        for start, end in (*self.holes, (len(lower), len(lower))):
            if start > position:
                yield from _TOKEN.finditer(lower, position, start)
            position = max(position, end)

    def _step(self, match: re.Match[str]) -> None:
        kind = match.lastgroup or ""
        token = match[0]
        if match["turn"]:
            self._speak(match)
        elif match["tag"]:
            self._tag(match)
        elif match["env"]:
            self._pair(f"\\{match['environment']}", match, opens=match["env"] == "begin")
        elif match["jinja"]:
            self._pair(f"%{match['jinja']}", match, opens=not match["jinjaend"])
        elif word := match["here"] or match["there"]:
            self._pair(f"here {word}", match, opens=not match["there"])
        elif match["bb"]:
            self._pair(f"[{match['bbname']}]", match, opens=not match["bbslash"])
        elif match["part"]:
            name = f"part {' '.join(match['partname'].split())}"
            self._pair(name, match, opens=match["part"] != "end")
        elif kind == "blank":
            self._end_paragraph()
        elif kind == "comment":
            self._pair(_COMMENTS.get(token, token), match, opens=token not in _COMMENTS)
        elif kind == "close":
            self._close_any(_PAIRS[token], match)
        elif kind == "open" and token in _ALSO_CLOSES and self.counts.get(_ALSO_CLOSES[token]):
            self._close_any(_ALSO_CLOSES[token], match)
        elif kind == "open":
            self._open(token, match)
        else:  # what opens and closes is the same
            name = token if kind in {"ticks", "quote"} else token[:3]
            name = f"rule {_rule(token)}" if kind == "rule" else name
            name = name.replace(">", "<")
            self._pair(name, match, opens=not self.counts.get(name))

    def _tag(self, match: re.Match[str]) -> None:
        name, rest = match["name"], match["rest"]
        if name in _VOID or rest.endswith("/") or (rest and rest[0] not in " \t\r\n/"):
            return
        if name in self.wrappers or _WRAPPER.fullmatch(name):
            return
        self._pair(f"<{name}", match, opens=not match["slash"])

    def _speak(self, match: re.Match[str]) -> None:
        """Whose words follow: what is said in any turn but the model's own is invented.

        A turn of the model's own between two of others is a part of a conversation that is told.
        """
        groups = ("role", "header", "gemma", "token", "command", "heading", "label")
        role = next(found for group in groups if (found := match[group]))
        begun = (match.start(), match.end())
        own = role in _OWN_TURNS
        told = self.turn or (None if own else self.answer)
        if told is not None:
            self.found.append(Region(*told, match.start(), "turn"))
        self.answer = begun if own and (self.turn or self.answer) else None
        self.turn = None if own else begun

    def _pair(self, name: str, match: re.Match[str], *, opens: bool) -> None:
        if opens:
            self._open(name, match)
        else:
            self._close_any((name,), match)

    def _open(self, name: str, match: re.Match[str]) -> None:
        if len(self.stack) < MAX_OPEN:
            self.stack.append((name, match.start(), match.end()))
            self.counts[name] = self.counts.get(name, 0) + 1

    def _close_any(self, names: Sequence[str], match: re.Match[str]) -> None:
        """Close the last one that is open; what was opened inside of it and left open is dropped."""
        if not any(self.counts.get(name) for name in names):
            return
        while self.stack:
            name, start, begin = self.stack.pop()
            self.counts[name] -= 1
            if name in names:
                self.found.append(Region(start, begin, match.start(), name))
                return

    def _end_paragraph(self) -> None:
        kept = [one for one in self.stack if one[0] not in _IN_A_PARAGRAPH and one[0] != "``"]
        if len(kept) < len(self.stack):
            self.stack = kept
            self.counts.clear()
            for name, _, _ in kept:
                self.counts[name] = self.counts.get(name, 0) + 1


def _rule(token: str) -> str:
    """What a line is drawn with: a box begins and ends with other corners."""
    return min(token.lstrip()[0], "\u2500")


def is_foreign(name: str) -> bool:
    """Whether an element holds what somebody else wrote, also where its end is missing.

    Args:
        name: of the element, in lower case.
    """
    return _FOREIGN.fullmatch(name) is not None


def is_wrapper(name: str) -> bool:
    """Whether an element is what calls are wrapped in, or a part of one.

    Args:
        name: of the element, in lower case.
    """
    return _WRAPPER.fullmatch(name) is not None


def _stays_open(name: str) -> bool:
    """Whether all that follows belongs to what was opened and never closed."""
    if name[0] == "<":
        return name in {"<!--", "<![cdata["} or is_foreign(name[1:])
    return name[0] == "\\" or name.startswith(("```", '"""', "'''", "part "))
