"""What the line of a call says of it: logs, diffs, lists, tables, comments, requests, indented code. No I/O."""

import re
from typing import Final

MAX_LINE_CHARS: Final = 400
"""Characters of a line that are looked at, from its begin: what tells a log from prose stands there."""

_INSTANT: Final = r"\d{4}-\d\d-\d\d|\d\d/\d\d/\d{4}|\d{1,2}:\d\d:\d\d|\d{4}/\d\d/\d\d|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d"
_LEVELS: Final = (
    r"TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|ERR|FATAL|CRITICAL|CRIT|SEVERE|VERBOSE"
)
_LOG: Final = re.compile(
    rf"[ \t]*[\[(<]?(?:(?:{_INSTANT})|(?:{_LEVELS})\b|\d{{10,13}}\b)"
    rf"|[^\n]{{0,80}}[ \t\[(<|](?:{_LEVELS})[\])>|:]?[ \t]|[ \t]*\[?(?:{_LEVELS.lower()})[\]:]|[ \t]*\[[\w.\-]{{1,40}}\][ \t]"
)
_MARK: Final = re.compile(
    r"[+\-](?![ \t\-]*\Z)|[+\-][ \t]*\Z|[ \t]*(?:[*+\-\u2022\u2023\u25e6\u25aa\u2013]|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)])[ \t]+"
    r"|[ \t]*(?:[*+\-\u2022]|\d{1,3}[.)])?[ \t]*[>|\u2502\u2503\uff5c]"
    r"|[ \t]*(?://|#|--[ \t]|;[ \t;]|%|/\*\*|\*[ \t]|\*\*(?!(?i:tool|function)[ _\-]?(?i:calls?)\b)|(?:rem|REM)[ \t]|<!--|::|\.\.[ \t]|\$[ \t]|\u276f|>>>|In ?\[\d*\]|Out ?\[\d*\])"
)
_KEY: Final = re.compile(
    r"^[ \t]*[\"']?(?P<key>[a-z][\w\-.\[\]]{0,60})[\"']?[ \t]*(?::|=>|->)[ \t]*\Z|[\w\]).][ \t]*(?:=|=>|\+=|<-|:=|->|<<<?)[ \t]*[\[{(]{0,4}[ \t]*\Z"
    r"|\b(?:return|await|yield|echo|print|printf|cat|curl|assert|throw|raise|export|const|let|var|case|if|while)\b[^.!?:\n]{0,80}\Z"
    r"|[\w\]]\([ \t]*\Z"
    r"|^[ \t]*(?:GET|POST|PUT|PATCH|DELETE|HTTP/\d)\b"
)
_OWN_KEYS: Final = re.compile(
    r"(?:assistant|answer|tool[_\- ]?calls?|calls?|function[_\- ]?calls?|tools?|functions?|action|next|now|json|so|then|here|sure|ok|okay)"
)
_HTTP: Final = re.compile(
    r"[<>*]?[ \t]?(?:(?:[A-Z]{3,7})[ \t]\S+[ \t]HTTP/\d|HTTP/\d\S*[ \t]\d{3})"
)
_HEADER: Final = re.compile(r"[<>*]?[ \t]?[A-Za-z][A-Za-z0-9\-]{1,60}:[ \t]|[<>*]?[ \t\r]*\Z")
_DIFF: Final = re.compile(
    r"@@ -\d|diff --git |--- (?:a/|\S+\.\w)|\+\+\+ (?:b/|\S+\.\w)|index [0-9a-f]{6}"
)
_INDENTED: Final = re.compile(r"(?: {4}| {0,3}\t)[ \t]*\Z")
_INDENTED_LINE: Final = re.compile(r"(?: {4}| {0,3}\t)[ \t]*\S")
_ITEM: Final = re.compile(r"[ \t]{0,12}(?:[*+\-\u2022]|\d{1,3}[.)])[ \t]+")
_YAML_KEY: Final = re.compile(
    r"(?:[ \t]+(?:-[ \t]+)?|-[ \t]+)[\"']?[\w.\-]{1,60}[\"']?:[ \t]*(?:[|>][+\-]?\d?)?[ \t\r]*\Z"
    r"|[\"']?[\w.\-]{1,60}[\"']?:[ \t]*[|>][+\-]?\d?[ \t\r]*\Z"
)
_PROMPT: Final = re.compile(
    r"[ \t]*(?:[$%][ \t]+\S|\u276f[ \t]|>>>[ \t]|PS [A-Za-z]:[^>\n]{0,80}>|[A-Za-z]:\\[^>\n]{0,80}>|[\w.\-]{1,32}@[\w.\-]{1,64}[:~ \t][^$#\n]{0,80}[$#][ \t]|In ?\[\d*\]:)"
)
_FILE: Final = re.compile(
    r"[ \t]*(?:(?:file(?:name)?|path|source|title|name)[ \t]*:[ \t]*)?[`*_\"']{0,3}[\w./\\\-]{1,80}\.(?:txt|md|rst|jsonl?|json5|ya?ml|toml|ini|cfg|conf|env|py|ipynb|"
    r"[jt]sx?|html?|xml|csv|tsv|log|sh|bat|ps1|sql|tex|c|h|cpp|cs|rs|go|java|kt|rb|php|lua|r|eml|pdf|docx?)[`*_\"']{0,3}[ \t]*:?[`*_]{0,3}[ \t\r]*",
    re.IGNORECASE,
)
_GOES_ON: Final = re.compile(
    r"(?:[\w)\]][ \t]*(?:==?|:=|<-|\+=)|[\w)\]][ \t]*(?:==?|:=)?[ \t]*\\)[ \t\r]*\Z"
)
_MAIL: Final = re.compile(
    r"^(?:From|To|Subject|Date|Cc|Reply-To|Sent):[ \t]\S[^\n]{0,200}\n(?:(?:From|To|Subject|Date|Cc|Reply-To|Sent|Message-ID):[ \t]\S[^\n]{0,200}\n){1,8}",
    re.MULTILINE,
)

MAX_MAIL_CHARS: Final = 2_000
"""Characters above a call among which the head of a mail is looked for."""


def is_marked(line: str) -> bool:
    """Whether what stands before a call on its line makes the line one of a log, a list, a program.

    Args:
        line: the line up to the call.
    """
    if not line.strip():
        return False
    line = line[:MAX_LINE_CHARS] if len(line) > MAX_LINE_CHARS else line
    if _LOG.match(line) or _MARK.match(line):
        return True
    key = _KEY.search(line)
    if key is None:
        return False
    name = key["key"]
    return not (name and _OWN_KEYS.fullmatch(name))


def is_indented(text: str, start: int) -> bool:
    """Whether a call stands in code that is indented: as Markdown has it, or as a value of YAML.

    Markdown has it behind prose and a blank line. In YAML it is deeper than the line of its key, which is
    indented itself, an item of a list, or says that a block follows.

    Args:
        text: the text.
        start: index of the call.
    """
    line = text.rfind("\n", 0, start) + 1
    blank = text[line:start]
    if start - line > MAX_LINE_CHARS or not blank or blank.strip():
        return False
    above = text[max(0, line - MAX_LINE_CHARS) : line]
    lines = above.split("\n")[:-1]
    while lines and _INDENTED.match(blank) and _INDENTED_LINE.match(lines[-1]):
        lines.pop()
    if _INDENTED.match(blank) and lines and not lines[-1].strip(" \t\r") and above.strip():
        return True
    parent = next((one for one in reversed(lines) if one.strip()), "")
    item = _ITEM.match(parent)
    if item is not None and len(blank) >= item.end() > 0 and lines[-1].strip():
        return True
    depth = len(parent) - len(parent.lstrip())
    return len(blank) > depth and _YAML_KEY.match(parent) is not None


def is_printed(text: str, start: int) -> bool:
    """Whether the line above makes a call the content of a file, the output of a command, or code.

    Args:
        text: the text.
        start: index of the call.
    """
    line = text.rfind("\n", 0, start) + 1
    if text[line:start].strip() or not line:
        return False
    above = text[max(0, line - MAX_LINE_CHARS) : line - 1]
    last = above[above.rfind("\n") + 1 :]
    return (
        _PROMPT.match(last) is not None
        or _FILE.fullmatch(last) is not None
        or _GOES_ON.search(last) is not None
    )


def is_mailed(text: str, start: int) -> bool:
    """Whether the head of a mail stands above a call.

    Args:
        text: the text.
        start: index of the call.
    """
    return _MAIL.search(text, max(0, start - MAX_MAIL_CHARS), start) is not None


def is_lazily_quoted(text: str, start: int) -> bool:
    """Whether the line above is one of a quotation: Markdown has a quotation go on without its mark.

    Args:
        text: the text.
        start: index of the call.
    """
    line = text.rfind("\n", 0, start) + 1
    above = text[max(0, line - MAX_LINE_CHARS) : line].rstrip("\r\n") if line else ""
    if text[max(0, line - 2) : line] == "\n\n":
        return False
    last = above[above.rfind("\n") + 1 :].lstrip()
    return last[:1] == ">" and not last.startswith(">>>")


class Dumps:
    """The lines that belong to a request as it goes over the wire, or to a difference of files.

    Args:
        text: the text.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._ends: list[tuple[int, int]] = []
        if "HTTP/" in text or "@@ -" in text or "diff --git" in text or "\n+++ " in text:
            self._find()

    def hold(self, start: int) -> bool:
        """Whether the line of an index belongs to one.

        Args:
            start: the index.
        """
        if not self._ends:
            return False
        line = self._text.rfind("\n", 0, start) + 1
        return any(begin <= line <= end for begin, end in self._ends)

    def _find(self) -> None:
        state, begin, position = "", 0, 0
        for line in self._text.splitlines(keepends=True):
            head = line[:MAX_LINE_CHARS].rstrip("\n")
            if _HTTP.match(head):
                state, begin = "http", position if state != "http" else begin
            elif _DIFF.match(head):
                state, begin = "diff", position if state != "diff" else begin
            elif state and not (_HEADER.match(head) if state == "http" else head[:1] in " +-\\"):
                self._ends.append((begin, position))
                state = ""
            position += len(line)
            if len(self._ends) >= MAX_DUMPS:
                return
        if state:
            self._ends.append((begin, position))


MAX_DUMPS: Final = 64
"""Requests and differences of one text that are told apart. More than one is rare beside a call."""
