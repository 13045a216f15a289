"""Whether a text holds code, and in which language. No I/O.

Only what prose does not hold counts: a fence, or a line that could be nothing else. Every pattern
begins at the start of a line or with a fixed word, and has no repetition without a bound, so that the
work is linear in the text; a test reads the tables for that.
"""

import re
from collections.abc import Mapping
from typing import Final

UNKNOWN: Final = ""
"""The language of code that says nothing of it."""

_ALIASES: Final[Mapping[str, str]] = {
    "py": "python", "python3": "python", "py3": "python", "ipython": "python", "pycon": "python",
    "js": "javascript", "jsx": "javascript", "node": "javascript", "mjs": "javascript",
    "ts": "typescript", "tsx": "typescript",
    "sh": "shell", "bash": "shell", "zsh": "shell", "fish": "shell", "console": "shell",
    "shellsession": "shell", "powershell": "shell", "ps1": "shell", "bat": "shell",
    "c++": "cpp", "cxx": "cpp", "cc": "cpp", "hpp": "cpp", "h": "c",
    "c#": "csharp", "cs": "csharp", "golang": "go", "rs": "rust", "rb": "ruby", "kt": "kotlin",
    "postgres": "sql", "postgresql": "sql", "mysql": "sql", "sqlite": "sql", "plsql": "sql",
    "htm": "html", "xhtml": "html", "vue": "html", "svelte": "html", "patch": "diff",
    "ex": "elixir", "hs": "haskell", "pl": "perl", "scss": "css", "less": "css", "yml": "yaml",
    "docker": "dockerfile", "make": "makefile", "tf": "terraform", "hcl": "terraform",
}  # fmt: skip
_PLAIN_FENCES: Final = frozenset({"text", "txt", "plain", "plaintext", "markdown", "md", "quote"})

# Behind the language may stand what tools write there: attributes, the name of a file. Words are prose.
_FENCE: Final = re.compile(
    r"^[ \t]{0,3}(?:```|~~~)[ \t]{0,4}([\w+#.-]{0,20})"
    r"(?=[ \t]{0,4}(?:$|[{:,(]|[\w-]{1,20}=|[\w/-]{0,80}[./][\w./-]{0,80}[ \t]{0,4}$))",
    re.MULTILINE,
)

_LINES: Final[tuple[tuple[str, str], ...]] = (
    ("python", r"^[ \t]{0,40}(?:async )?def \w{1,80}\([^\n]{0,400}\)(?: ?-> ?[^\n]{1,120})?:"),
    ("python", r"^[ \t]{0,40}class [A-Z]\w{0,80}(?:\([^\n]{0,200}\))?:[ \t]{0,4}$"),
    ("python", r"^from [\w.]{1,80} import (?:\(|\*|\w{1,80}(?: as \w{1,80})?[ \t]{0,4}(?:,|#|$))"),
    ("python", r"^import [\w.]{1,80} as \w{1,40}[ \t]{0,4}$"),
    ("python", r"^import \w{1,40}(?:\.\w{1,40}){1,4}[ \t]{0,4}$"),
    ("python", (r"^import (?:os|sys|re|io|json|time|math|random|asyncio|logging|typing|pathlib|datetime|itertools"
        r"|functools|collections|subprocess|numpy|pandas|torch|requests|pytest)[ \t]{0,4}$")),
    ("python", r"^import \w{1,40}[ \t]{0,4}\n(?:import|from) \w"),
    ("python", r"^Traceback \(most recent call last\):"),
    ("typescript", r"^(?:export )?(?:interface|enum) [A-Z]\w{0,80} \{"),
    ("typescript", r"^(?:export )?type [A-Z]\w{0,80} = "),
    ("javascript", (r"^[ \t]{0,40}(?:export )?(?:const|var) (?:\w{1,80}|[{\[][^=\n]{0,80}[}\]])"
        r"(?:: ?[\w<>\[\]|. ]{1,80})? ?= ?[^\s=]")),
    ("javascript", r"^[ \t]{0,40}let [\w{\[][^=\n]{0,80}= ?[^\n]{1,200};[ \t]{0,4}$"),
    ("javascript", r"^[ \t]{0,40}(?:export )?(?:async )?function \w{0,80} ?\("),
    ("javascript", r"^import [^\n]{1,120} from ['\"]"),
    ("javascript", r"\bconsole\.log\("),
    ("rust", r"^[ \t]{0,40}(?:pub )?fn \w{1,80}[<(]"),
    ("rust", r"^use (?:std|crate|super|self)::"),
    ("rust", r"^[ \t]{0,40}let mut \w"),
    ("go", r"^func (?:\(\w{1,40} \*?\w{1,80}\) )?\w{1,80}\("),
    ("go", r"^package \w{1,40}[ \t]{0,4}\n\s{0,8}(?:import|func|type|var|const|//)\b"),
    ("go", r"^package main[ \t]{0,4}$"),
    ("java", (r"^[ \t]{0,40}public (?:(?:static|final|abstract|sealed) ){0,3}(?:class|interface|enum|record)"
        r" [A-Z]\w{0,80}(?:<[^\n]{1,80}>)?[ \t]{0,4}(?:\{|\(|extends|implements|$)")),
    ("java", (r"^[ \t]{0,40}public (?:(?:static|final|abstract|synchronized) ){0,3}"
        r"[\w<>\[\]]{1,80} \w{1,80}\([^\n]{0,200}\)[ \t]{0,4}(?:\{|throws|;|$)")),
    ("java", r"^import (?:java|javax|org|com)\.[\w.]{1,120};"),
    ("java", r"^[ \t]{1,40}at [\w.$]{3,200}\([\w.]{1,80}:\d{1,6}\)"),
    ("csharp", r"^using System(?:\.[\w.]{1,80})?;"),
    ("csharp", r"^namespace [A-Z][\w.]{0,80}(?:;|[ \t]{0,4}\{?$)"),
    ("cpp", r"\bstd::\w"),
    ("cpp", r"^#include <(?:iostream|vector|string|map|memory|algorithm)>"),
    ("c", r"^#include [<\"][\w./]{1,80}[>\"]"),
    ("c", r"^#define [A-Z]\w{0,80}"),
    ("sql", r"^[ \t]{0,40}SELECT [^\n]{1,400} FROM \w"),
    ("sql", r"^[ \t]{0,40}CREATE (?:TEMP |TEMPORARY )?TABLE (?:IF NOT EXISTS )?[\w.\"`]{1,80} {0,4}(?:\(|AS\b|LIKE\b|$)"),
    ("sql", r"^[ \t]{0,40}ALTER TABLE [\w.\"`]{1,80} (?:ADD|DROP|ALTER|RENAME|MODIFY)\b"),
    ("sql", r"^[ \t]{0,40}INSERT INTO [\w.\"`]{1,80} {0,4}(?:\(|VALUES\b|SELECT\b|$)"),
    ("sql", r"^[ \t]{0,40}(?:DELETE FROM|DROP TABLE(?: IF EXISTS)?) [\w.\"`]{1,80}[ \t]{0,4}(?:;|WHERE\b|CASCADE\b|$)"),
    ("sql", r"(?i:\bselect \* from \w)"),
    ("shell", r"^#!/(?:usr/)?bin/"),
    ("shell", (r"^\$ (?:sudo |[A-Z_]{1,40}=\S{0,80} ){0,3}(?:\.{0,2}/[\w.-]|(?:awk|apt|apt-get|bash|brew|cargo|cat|cd|chmod|chown"
        r"|conda|cp|curl|df|diff|docker|du|echo|export|find|gcc|git|go|grep|head|helm|java|jq|kill|kubectl|less|ls|make"
        r"|mkdir|mv|nano|node|npm|npx|ollama|perl|pip3?|poetry|ps|psql|pwd|pytest|python3?|rm|rsync|ruby|scp|sed|sh|ssh"
        r"|systemctl|tail|tar|touch|uv|vim|wget|which|xargs|yarn)(?![\w-]))")),
    ("html", r"(?i:<!doctype html|<(?:html|head|body|div|script|style)(?: [^<>\n]{0,200})?>)"),
    ("php", r"<\?php\b"),
    ("ruby", r"^require ['\"]\w"),
    ("diff", r"^diff --git a/"),
    ("diff", r"^@@ -\d{1,7}(?:,\d{1,7})? \+\d{1,7}(?:,\d{1,7})? @@"),
    ("dockerfile", (r"^FROM [\w./:-]{1,120}(?<=[\w])(?: AS \w{1,40})?[ \t]{0,4}\n\s{0,8}"
        r"(?:RUN|COPY|ADD|WORKDIR|ENV|ARG|CMD|ENTRYPOINT|EXPOSE|USER|LABEL|FROM)\b")),
    ("dockerfile", r"^FROM [\w./-]{1,80}:[\w.-]{1,40}(?: AS \w{1,40})?[ \t]{0,4}$"),
    ("css", r"^[ \t]{0,8}[.#][a-z][\w-]{0,60} \{[ \t]{0,4}$"),
)  # fmt: skip
"""A line that is code and no prose, and its language; the first that is found decides."""

_SIGNS: Final = tuple((name, re.compile(pattern, re.MULTILINE)) for name, pattern in _LINES)

LANGUAGES: Final = frozenset({*(name for name, _ in _LINES), *_ALIASES.values()})
"""Every language that can be told."""


def code_language(text: str) -> str | None:
    """The language of the code in a text.

    Args:
        text: any text.

    Returns:
        Its name in lower case, one of `LANGUAGES` or whatever a fence calls it; `UNKNOWN` for a fence
        without a name and without a telling line; None where no code is found.
    """
    text = text.replace("\r\n", "\n")
    fence = _fence_language(text)
    if fence:
        return fence
    line = next((name for name, sign in _SIGNS if sign.search(text)), None)
    return fence if line is None else line


def language_named(name: str) -> str:
    """The usual name of a language.

    Args:
        name: any of its names, such as py or c++.
    """
    plain = name.strip().lower()
    return _ALIASES.get(plain, plain)


def _fence_language(text: str) -> str | None:
    """What the opening fences say: the first name, else that there is one; every second one closes."""
    found: str | None = None
    for number, fence in enumerate(_FENCE.finditer(text)):
        if number % 2:
            continue
        name = language_named(fence.group(1))
        if name and name not in _PLAIN_FENCES:
            return name
        if not name:
            found = UNKNOWN
    return found
