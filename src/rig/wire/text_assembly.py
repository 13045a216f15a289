"""Text and reasoning out of the fragments a stream sends them in. No I/O.

As in a whole reply, tags count only where the server sent no reasoning of its own. In a stream that
may turn out late: then what has been shown is taken back, and the text is read again without tags.
"""

from typing import Final

from rig.model import Delta
from rig.text.pieces import Trimmed
from rig.text.reasoning import OrphanCloserFilter, Piece, ReasoningFilter
from rig.text.stop_tokens import StopTokenFilter

PARTS: Final = "content"
"""Source of thoughts that came as parts of the content (Mistral's shape)."""

_OPENER: Final = "<think>"


class TextAssembler:
    """Collects the text and the reasoning of one reply.

    Args:
        thinking: begin inside a thought, see `ReasoningFilter`.

    Attributes:
        size: bytes of text and reasoning kept.
        blank: characters of whitespace the content ends with so far. They are held back, so that no
            delta tells of a model that writes nothing else any more.
        retracted: a closing tag came whose opener the template had eaten: text had to be taken back.
    """

    def __init__(self, *, thinking: bool = False) -> None:
        self.size = 0
        self.blank = 0
        self.retracted = False
        self._content: list[str] = []
        self._thoughts: list[str] = []
        self._source = ""
        self._thought = Trimmed()
        self._leaks: ReasoningFilter | None = ReasoningFilter(thinking=thinking)
        self._filter: ReasoningFilter | OrphanCloserFilter = self._leaks
        self._end = StopTokenFilter()
        self._shown: list[str] = []

    @property
    def text(self) -> str:
        """The visible text that stands."""
        return "".join(self._shown)

    @property
    def assumed(self) -> bool:
        """True while all the content has been is the thought that `thinking=True` assumed."""
        return self._leaks is not None and self._leaks.assumed and bool(self._content)

    def add_text(self, text: str, deltas: list[Delta]) -> None:
        """Add a fragment of the content.

        Args:
            text: the fragment, not empty.
            deltas: what is new is appended here.
        """
        self.size += len(text) if text.isascii() else byte_size(text)
        self._content.append(text)
        self.blank = _blank_end(text, self.blank) if text[-1].isspace() else 0
        pieces = self._filter.feed(text)
        if pieces:
            self._show(pieces, deltas)

    def add_thought(self, text: str, source: str, deltas: list[Delta]) -> None:
        """Add a fragment of the reasoning the server sent apart from the content.

        Args:
            text: the fragment, not empty.
            source: the field it came in, or `PARTS`.
            deltas: what is new is appended here.
        """
        self.size += byte_size(text)
        self._thoughts.append(text)
        self._source = self._source or source
        if ready := self._thought.add(text):
            if self._leaks is not None:
                self._separate(deltas)
            deltas.append(Delta(reasoning=ready))

    def close(self, deltas: list[Delta]) -> None:
        """Hand out what had been held back: nothing follows."""
        self._show(self._filter.close(), deltas)
        self._show_text(self._end.close(), deltas)

    def settle(self, text: str, deltas: list[Delta]) -> None:
        """Make the visible text what it is in the finished reply."""
        shown = self.text
        if text == shown:
            return
        if text.startswith(shown):
            deltas.append(Delta(text=text[len(shown) :]))
        else:
            deltas.append(Delta(retracted=shown, text=text))
        self._shown = [text]

    def wire(self, *, cut: bool) -> dict[str, object]:
        """The fields of a message that was not streamed.

        Args:
            cut: the reply was cut. Then an assumed thought that was never closed is a cut thought;
                in a complete reply it is the answer of a model that did not think this time.
        """
        content = "".join(self._content)
        if cut and self._leaks is not None and self._leaks.assumed:
            content = _OPENER + content
        thoughts = "".join(self._thoughts)
        if self._source != PARTS:
            return {"content": content, self._source or "reasoning": thoughts}
        thinking = {"type": "thinking", "thinking": thoughts}
        return {"content": [thinking, {"type": "text", "text": content}]}

    def _show(self, pieces: list[Piece], deltas: list[Delta]) -> None:
        for piece in pieces:
            if piece.kind == "text":
                self._show_text(self._end.feed(piece.text), deltas)
            elif piece.kind == "reasoning":
                deltas.append(Delta(reasoning=piece.text))
            else:
                self.retracted = True
                self._retract(deltas)

    def _show_text(self, text: str, deltas: list[Delta]) -> None:
        if text:
            self._shown.append(text)
            deltas.append(Delta(text=text))

    def _retract(self, deltas: list[Delta]) -> None:
        """Take back all that was shown; what was held back of it is not shown any more."""
        shown = self.text
        self._end = StopTokenFilter()
        self._shown.clear()
        if shown:
            deltas.append(Delta(retracted=shown))

    def _separate(self, deltas: list[Delta]) -> None:
        """From here on the server separates: the content is read again as nothing but text."""
        self._leaks = None
        self._filter = OrphanCloserFilter()
        pieces = self._filter.feed("".join(self._content)) if self._content else []
        self._end = StopTokenFilter()
        self.settle(self._end.feed("".join(piece.text for piece in pieces)), deltas)


def _blank_end(text: str, before: int) -> int:
    """Characters of whitespace at the end of a text behind so many others."""
    body = len(text.rstrip())
    return len(text) - body + (0 if body else before)


def byte_size(text: str) -> int:
    """Bytes of a text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
