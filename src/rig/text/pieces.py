"""What a stream filter hands out, trimmed as a whole reply would be. No I/O."""

from collections.abc import Sequence
from typing import Literal

from rig.late_dataclass import dataclass

PARAGRAPH = "\n\n"
"""What stands between two thoughts, and between two harmony messages of one reply."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """What a filter has to say about the stream.

    Attributes:
        kind: text (show it), reasoning (a thought), or retract (withdraw all text shown so far:
            it was a thought whose opening tag the server's template had eaten).
        text: the characters; for retract exactly the text withdrawn, which is always everything
            that stood. The same characters follow as reasoning.
    """

    kind: Literal["text", "reasoning", "retract"]
    text: str


class Pieces:
    """Collects pieces, without the whitespace around the text and around each thought."""

    def __init__(self) -> None:
        self._pieces: list[Piece] = []
        self._text = Trimmed()
        self._thought = Trimmed()
        self._shown: list[str] = []
        self._separator = ""

    @property
    def thinking(self) -> bool:
        """True when the thought in progress has more than whitespace."""
        return self._thought.begun

    @property
    def showing(self) -> bool:
        """True when visible text stands."""
        return bool(self._shown)

    def take(self) -> list[Piece]:
        """Return the pieces since the last call."""
        taken, self._pieces = self._pieces, []
        return taken

    def show(self, text: str) -> None:
        """Add visible text."""
        if ready := self.pass_text(text):
            self._pieces.append(Piece(kind="text", text=ready))

    def pass_text(self, text: str) -> str:
        """Add visible text, and return what may be shown of it instead of making a piece of that."""
        if ready := self._text.add(text):
            self._shown.append(ready)
        return ready

    def pass_texts(self, texts: Sequence[str]) -> list[str]:
        """Add visible texts, and return what may be shown of each, where that is anything."""
        ready = self._text.add_all(texts)
        self._shown.extend(ready)
        return ready

    def begin_thought(self) -> None:
        """What follows is another thought than before."""
        if self._thought.begun:
            self._separator = PARAGRAPH
        self._thought = Trimmed()

    def think(self, text: str) -> None:
        """Add to the thought in progress."""
        if ready := self._thought.add(text):
            self._pieces.append(Piece(kind="reasoning", text=self._separator + ready))
            self._separator = ""

    def retract(self) -> None:
        """Withdraw all visible text: it becomes a thought of its own."""
        shown = "".join(self._shown)
        self._shown.clear()
        self._text = Trimmed()
        if shown:
            self._pieces.append(Piece(kind="retract", text=shown))
            self.begin_thought()
            self.think(shown)


class Trimmed:
    """Incremental `str.strip`: leading whitespace is dropped, trailing whitespace held back."""

    def __init__(self) -> None:
        self.begun = False
        self._held: list[str] = []

    def add(self, text: str) -> str:
        """Return what is certain to be inside of the trimmed text."""
        body = text.rstrip()
        if not body:
            if self.begun:
                self._held.append(text)
            return ""
        inside = "".join(self._held) + body if self.begun else body.lstrip()
        self._held = [text[len(body) :]]
        self.begun = True
        return inside

    def add_all(self, texts: Sequence[str]) -> list[str]:
        """What `add` returns for each text, where that is not empty."""
        inside: list[str] = []
        held, begun = self._held, self.begun
        for text in texts:
            body = text.rstrip()
            if body:
                inside.append("".join(held) + body if begun else body.lstrip())
                held = [text[len(body) :]]
                begun = True
            elif begun:
                held.append(text)
        self._held, self.begun = held, begun
        return inside
