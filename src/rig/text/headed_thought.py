"""A thought under a heading in plain words, as Granite writes it, at the head of a reply. No I/O.

Source: the chat template of ibm-granite/granite-3.2-8b-instruct, and vLLM's reasoning parser of that name. The
headings are words anybody may write, so they count only at the very beginning, and only both together:
until the second one has come, nothing is told.
"""

import re
from typing import Final

from rig.late_dataclass import dataclass

OPENERS: Final = ("here is my thought process:", "here's my thought process:")
CLOSERS: Final = ("here is my response:", "here's my response:")
"""The two headings, in lower case; letter case does not count."""

_STARTS: Final = frozenset({"", *(one[0] for one in OPENERS), *(one[0].upper() for one in OPENERS)})
_CLOSER: Final = re.compile("|".join(map(re.escape, CLOSERS)), re.IGNORECASE | re.ASCII)
_OVERLAP: Final = max(map(len, CLOSERS)) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Headed:
    """What the head of a reply is.

    Attributes:
        thought: the thought under its heading, None when there is none.
        rest: what follows it, or all there was.
    """

    thought: str | None
    rest: str


def may_begin_heading(text: str) -> bool:
    """Whether a text begins with the first heading, or with a part of it."""
    head = text.lstrip()
    if head[:1] not in _STARTS:  # as nearly every reply's
        return False
    head = head[: len(OPENERS[0])].lower()
    if len(head) == len(OPENERS[0]):  # the longest
        return head.startswith(OPENERS)
    return any(opener.startswith(head) or head.startswith(opener) for opener in OPENERS)


class HeadedThoughtReader:
    """Tells whether a reply begins with such a thought.

    Attributes:
        scanned: characters examined so far.
    """

    def __init__(self) -> None:
        self.scanned = 0
        self._head = ""
        self._opened = False
        self._body: list[str] = []
        self._end = ""

    def feed(self, chunk: str) -> Headed | None:
        """Add text.

        Args:
            chunk: any part of the reply.

        Returns:
            What the head is, None while that is not known. Nothing may be fed behind an answer.
        """
        if self._opened:
            return self._look(chunk)
        head = self._head = (self._head + chunk).lstrip()
        self.scanned += len(head)
        opener = next((one for one in OPENERS if head[: len(one)].lower() == one), "")
        if opener:
            self._opened = True
            return self._look(head[len(opener) :])
        if not head or any(one.startswith(head.lower()) for one in OPENERS):
            return None
        return Headed(thought=None, rest=head)

    def close(self) -> str:
        """End the reply: what was held back is no thought under a heading."""
        if not self._opened:
            return self._head
        return self._head + "".join(self._body)

    def _look(self, chunk: str) -> Headed | None:
        """Look for the second heading where the new text may have completed it."""
        if not self._body:
            self._head = self._head[: len(self._head) - len(chunk)]
        self._body.append(chunk)
        seen = self._end + chunk
        self.scanned += len(seen)
        closer = _CLOSER.search(seen)
        if closer is None:
            self._end = seen[-_OVERLAP:]
            return None
        body, behind = "".join(self._body), len(seen) - closer.end()
        end = len(body) - behind
        return Headed(thought=body[: end - len(closer[0])], rest=body[end:])
