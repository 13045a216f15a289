"""HTTP statuses in text that people and programs wrote for people. No I/O.

A bare number says nothing: 503 may be a count, a line or a port. It is a status where a word in front
of it says so (`status code: 503`, `HTTP/1.1 502`), where it ends what was answered (`returned 503`,
`error 429 from ...`), or where its own name follows (`502 Bad Gateway`).
"""

import re
from collections.abc import Iterator
from typing import Final

CONTEXT_CHARS: Final = 24
"""Characters beside a number that are looked at. The longest words in front of one that were seen are
`unexpected status code: `, and the longest name of a status is `service temporarily unavailable`, of
which less is enough."""

# By itself: in no word, path, address, price, decimal, range or list of digits.
_NUMBER: Final = re.compile(r"(?<![\w.,/#$&%+-])[45][0-9]{2}(?![\w%/]|[.,][0-9]|-[0-9a-z])")

_NAMED_BEFORE: Final = re.compile(
    r"(?<![a-z])(?:status(?:[ _-]?code)?|http(?:/[0-9](?:\.[0-9])?)?|code)[\"']?[ :=(]{0,4}[\"']?$"
)
_ANSWERED_BEFORE: Final = re.compile(
    r"(?:^|(?<![a-z])(?:returned|returns|responded|response|answered|replied|received|got|gave"
    r"|(?:failed|responded|answered|replied) with|error|upstream|gateway|proxy))[ :=(]{0,4}[\"']?$"
)
_ENDED_AFTER: Final = re.compile(
    r"[\"')\]]{0,4}(?:$|[.;:,!)}\r\n]| [-(]"
    r"| (?:response|status|from|for|after|while|on|at|and|again)(?![a-z]))"
)
_NAMED_AFTER: Final = re.compile(
    r" ?(?:bad gateway|service (?:temporarily|unavailable)|gateway time|too many requests|backpressure"
    r"|bad request|unauthorized|forbidden|not found|unprocessable|internal server"
    r"|error(?:$|[.,:;!)\r\n]| (?:from|on|at|after|for|while)(?![a-z])))"
)


def statuses_in(text: str) -> Iterator[int]:
    """The 4xx and 5xx statuses a text tells of, in order; linear.

    Args:
        text: any text, in lower case.
    """
    for match in _NUMBER.finditer(text):
        start, end = match.span()
        first, last = max(0, start - CONTEXT_CHARS), end + CONTEXT_CHARS
        if (
            _NAMED_BEFORE.search(text, first, start)
            or _NAMED_AFTER.match(text, end, last)
            or (_ENDED_AFTER.match(text, end, last) and _ANSWERED_BEFORE.search(text, first, start))
        ):
            yield int(match[0])
