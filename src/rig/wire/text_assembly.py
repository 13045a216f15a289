"""Text and reasoning out of the fragments a stream sends them in. No I/O.

As in a whole reply, tags count only where the server sent no reasoning of its own. In a stream that
may turn out late: then what has been shown is taken back, and the text is read again without tags.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from rig.model import Delta
from rig.text.pieces import Piece, Trimmed
from rig.text.reasoning_tags import may_hold_tag
from rig.text.salvage import OfferedTool
from rig.text.short_ways import ShortOrphanCloserFilter, ShortReasoningFilter
from rig.text.stop_tokens import StopTokenFilter
from rig.wire.text_delta import text_delta, thought_delta

if TYPE_CHECKING:  # loaded where tools are offered
    from rig.text.salvage import SalvageGate, ThoughtGate
    from rig.text.salvage.gate import Place

PARTS: Final = "content"
"""Source of thoughts that came as parts of the content (Mistral's shape)."""

HALVED_TEXTS: Final = 4
"""Fragments of which some are odd that are looked at one by one; more are halved until those stand alone."""

_OPENER: Final = "<think>"


class TextAssembler:
    """Collects the text and the reasoning of one reply.

    Args:
        thinking: begin inside a thought, see `ReasoningFilter`.
        tools: what was offered: what may be a call of them is held back until the reply settles it.

    Attributes:
        size: bytes of text and reasoning kept.
        blank: characters of whitespace the content ends with so far. They are held back, so that no
            delta tells of a model that writes nothing else any more.
        blank_thought: the same of the reasoning.
        retracted: a closing tag came whose opener the template had eaten: text had to be taken back.
    """

    def __init__(self, *, thinking: bool = False, tools: Sequence[OfferedTool] = ()) -> None:
        self.size = 0
        self.blank = 0
        self.blank_thought = 0
        self.retracted = False
        self._content: list[str] = []
        self._thoughts: list[str] = []
        self._source = ""
        self._thought = Trimmed()
        self._leaks: ShortReasoningFilter | None = ShortReasoningFilter(thinking=thinking)
        self._filter: ShortReasoningFilter | ShortOrphanCloserFilter = self._leaks
        self._end = StopTokenFilter()
        self._settled = False  # see `_settles`; no word changes that
        self._shown: list[str] = []
        self._told: list[str] = []
        self._held = ""
        self._unseen: list[str] = []
        self._gate: SalvageGate | None = None
        self._thought_gate: ThoughtGate | None = None
        if tools:
            from rig.text import salvage  # noqa: PLC0415 some forty modules come with its gates

            self._gate = salvage.SalvageGate(
                tools, place=self._place, shown=lambda: bool(self._shown)
            )
            self._thought_gate = salvage.ThoughtGate()

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
        self._settled = False
        self.size += len(text) if text.isascii() else byte_size(text)
        self._content.append(text)
        self.blank = blank_end(text, self.blank) if text[-1].isspace() else 0
        if self._gate is not None:
            self._pass(text, self._gate, deltas)
            return
        shown = self._filter.pass_plain(text)
        if shown is None:
            self._show(self._filter.feed(text), deltas)
        elif shown:
            self._show_text(self._end.feed(shown), deltas)

    def add_word(self, text: str, size: int) -> Delta | None:
        """Add a fragment of the content that is a word in the middle of text: nearly each one.

        No filter has anything to hold, and nothing to look at but the text's own characters.

        Args:
            text: the fragment, not empty.
            size: its bytes.

        Returns:
            The delta that is all `add_text` would have told; None where only that can tell. Nothing was
            added then.
        """
        if (
            not (self._settled or self._settles())
            or text[-2:].isspace()
            or may_hold_tag(text)
            or (self._gate is not None and not self._gate.passes_word(text))
        ):
            return None
        self.size += size
        self._content.append(text)
        self.blank = 1 if text[-1].isspace() else 0
        shown = self._filter.pieces.pass_text(text)
        self._shown.append(shown)
        return text_delta(shown)

    def _settles(self) -> bool:
        """Whether nothing is held back that a word could end, or be held back with."""
        gate = self._thought_gate
        self._settled = (
            self._filter.is_plain and not self._end.held and (gate is None or not gate.holding)
        )
        return self._settled

    def add_texts(self, texts: list[str], deltas: list[Delta]) -> None:
        """Add fragments of the content that came together.

        Args:
            texts: the fragments.
            deltas: what is new is appended here: the same as if they were added one by one.
        """
        shown = self._passed(texts)
        if shown is not None:
            if shown and self._thought_gate is not None:
                self._tell_held(self._thought_gate, deltas)
            self._shown.extend(shown)
            deltas.extend(map(text_delta, shown))
        elif len(texts) > HALVED_TEXTS:
            half = len(texts) // 2
            self.add_texts(texts[:half], deltas)
            self.add_texts(texts[half:], deltas)
        else:
            for text in texts:
                if text:
                    self.add_text(text, deltas)

    def _passed(self, texts: list[str]) -> list[str] | None:
        """Add fragments that are nothing but text in the middle of text: nearly all of a stream.

        Returns:
            What is to be shown of them; None when they have to be looked at one by one.
        """
        gate = self._gate
        whole = "".join(texts)
        if self._end.held or "<" in whole or (gate is not None and not gate.passes_all(whole)):
            return None
        shown = self._filter.pass_plain_all(texts, whole)
        if shown is not None and whole:
            self.size += byte_size(whole)
            self._content.append(whole)
            self.blank = blank_end(whole, self.blank)
            if gate is not None:
                gate.passed(whole)
        return shown

    def take_held(self) -> str:
        """What was held back since the last time this was asked, as it came."""
        held = "".join(self._unseen)
        self._unseen.clear()
        return held

    def add_thought(self, text: str, source: str, deltas: list[Delta]) -> None:
        """Add a fragment of the reasoning the server sent apart from the content.

        Args:
            text: the fragment, not empty.
            source: the field it came in, or `PARTS`.
            deltas: what is new is appended here.
        """
        self._settled = False
        self.size += byte_size(text)
        self._thoughts.append(text)
        self.blank_thought = blank_end(text, self.blank_thought) if text[-1].isspace() else 0
        self._source = self._source or source
        if ready := self._thought.add(text):
            if self._leaks is not None:
                self._separate(deltas)
            self._tell(ready, deltas)

    def add_thinking(self, text: str, size: int) -> Delta | None:
        """Add a fragment of that reasoning that is a word of it, and comes where the last one did.

        Args:
            text: the fragment, not empty.
            size: its bytes.

        Returns:
            The delta that is all `add_thought` would have told; None where only that can tell. Nothing was
            added then.
        """
        gate = self._thought_gate
        if (
            self._leaks is not None
            or text[-2:].isspace()
            or (gate is not None and not gate.passes_all(text))
        ):
            return None
        self.size += size
        self._thoughts.append(text)
        self.blank_thought = 1 if text[-1].isspace() else 0
        ready = self._thought.add(text)
        if gate is not None:
            self._told.append(ready)
        return thought_delta(ready)

    def add_thoughts(self, texts: list[str], source: str, deltas: list[Delta]) -> None:
        """Add fragments of that reasoning that came together.

        Args:
            texts: the fragments.
            source: the field they came in.
            deltas: what is new is appended here: the same as if they were added one by one.
        """
        whole = "".join(texts)
        if not whole:
            return
        self._settled = False
        self.size += byte_size(whole)
        self._thoughts.append(whole)
        self.blank_thought = blank_end(whole, self.blank_thought)
        self._source = self._source or source
        ready = self._thought.add_all(texts)
        if ready and self._leaks is not None:
            self._separate(deltas)
        gate = self._thought_gate
        if gate is None or gate.passes_all("".join(ready)):
            self._told.extend(ready if gate is not None else ())
            deltas.extend(map(thought_delta, ready))
        else:
            for thought in ready:
                self._tell(thought, deltas)

    def close(self, deltas: list[Delta]) -> None:
        """Hand out what had been held back, but for what may be a call: nothing follows."""
        self._settled = False
        if self._gate is not None:
            visible, self._held = self._gate.close()
            self._show(self._filter.feed(visible), deltas)
        if not self._held:
            self._show(self._filter.close(), deltas)
            self._show_text(self._end.close(), deltas)

    def settle(
        self, text: str, reasoning: str, deltas: list[Delta], *, salvaged: bool = False
    ) -> None:
        """Make what was told what it is in the finished reply.

        Args:
            text: the reply's visible text.
            reasoning: its thoughts.
            deltas: what is new is appended here.
            salvaged: there are calls that came as text.
        """
        self._settled = False
        if self._held and not salvaged:
            self._read_held(deltas)
        if self._thought_gate is not None:
            self._settle_thoughts(reasoning, deltas, salvaged=salvaged)
        self._settle_text(text, deltas)

    def _settle_text(self, text: str, deltas: list[Delta]) -> None:
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
                self._tell(piece.text, deltas)
            else:
                self.retracted = True
                self._retract(deltas)

    def _pass(self, text: str, gate: "SalvageGate", deltas: list[Delta]) -> None:
        """Let through what is no part of a call; where that ends in a thought, calls are drafts."""
        for part in gate.steps(text):
            self._show(self._filter.feed(part), deltas)
        if gate.holding:
            self._unseen.append(text)

    def _place(self) -> "Place":
        if self._leaks is None or not self._leaks.thinking:
            return "text"
        return "assumed" if self._leaks.assumed else "thought"

    def _read_held(self, deltas: list[Delta]) -> None:
        """What was held back is no call: tell of the thoughts in it. Its text is told as a whole."""
        standing = self.text
        pieces = [*self._filter.feed(self._held), *self._filter.close()]
        if any(piece.kind == "retract" for piece in pieces):
            self.retracted = True
            self._retract(deltas)
            standing = ""
        for piece in pieces:
            if piece.kind == "reasoning":
                self._tell(piece.text, deltas)
        self._shown = [standing]

    def _tell(self, thought: str, deltas: list[Delta]) -> None:
        if self._thought_gate is not None:
            thought = self._thought_gate.feed(thought)
            if thought:
                self._told.append(thought)
        if thought:
            deltas.append(thought_delta(thought))

    def _settle_thoughts(self, reasoning: str, deltas: list[Delta], *, salvaged: bool) -> None:
        """Tell of the thoughts that were held back, without the calls in them."""
        told = "".join(self._told)
        if salvaged or not self._thought_gate:
            rest = reasoning[len(told) :] if reasoning.startswith(told) else ""
        else:
            rest = "".join(self._thought_gate.close())
        if rest:
            self._told.append(rest)
            deltas.append(Delta(reasoning=rest))

    def _show_text(self, text: str, deltas: list[Delta]) -> None:
        if text and self._thought_gate is not None:
            self._tell_held(self._thought_gate, deltas)
        if text:
            self._shown.append(text)
            deltas.append(text_delta(text))

    def _tell_held(self, gate: "ThoughtGate", deltas: list[Delta]) -> None:
        """Tell what was held back of a thought: an answer follows, so it is no call."""
        if held := "".join(gate.close()):
            self._told.append(held)
            deltas.append(Delta(reasoning=held))

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
        self._filter = ShortOrphanCloserFilter()
        content = "".join(self._content)
        if self._gate is not None:
            content = content[: len(content) - self._gate.waiting]
        pieces = self._filter.feed(content) if content else []
        self._end = StopTokenFilter()
        self._settle_text(self._end.feed("".join(piece.text for piece in pieces)), deltas)


def blank_end(text: str, before: int) -> int:
    """Characters of whitespace at the end of a text behind so many others."""
    body = len(text.rstrip())
    return len(text) - body + (0 if body else before)


def byte_size(text: str) -> int:
    """Bytes of a text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
