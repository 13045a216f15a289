r"""Recognises events that differ from the one before in nothing but a piece of text. No I/O.

Nearly all of a stream are such events: name, id, model and all else stay the same, the token changes. So what
stands around it is learned from one event that was read in full, and the next ones are only compared with
that, which costs a tenth of reading them.

Why that can't give anything else than reading them: the beginning that was learned ends inside of a JSON
string, which reading it with another text proved. A piece that is the inside of a JSON string as it stands
(no quote or control character of its own, no backslash without the character it escapes) leaves the reader
at the same place it began, in front of the same rest.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, NamedTuple

from pydantic_core import from_json

from rig.wire.dialects import REASONING_FIELDS

MAX_LESSONS: Final = 8
"""Times in a row that are learned from without any use. `created` may change every second; servers that
change something else in each event, as the padding OpenAI sends, are left alone after so many."""


class TextPlace(NamedTuple):
    """Where events hold a text that is read at once.

    Attributes:
        path: the keys that lead to the object it is in.
        field: its name there.
        pattern: a field of that name, in an event's bytes.
        kind: what it is a piece of: the text, the thoughts, or the arguments of a call.
        source: where thoughts are told to come from.
    """

    path: tuple[str | int, ...]
    field: str
    pattern: re.Pattern[bytes]
    kind: Literal["text", "thought", "arguments"] = "text"
    source: str = ""


def text_place(*path: str | int) -> TextPlace:
    """A place of texts.

    Args:
        path: the keys that lead to them, the field's name behind the others.
    """
    *outer, field = path
    name = str(field)
    pattern = rb'"%b"[ \t]*:[ \t]*"((?:[^"\\]++|\\.)*+)"' % name.encode()
    return TextPlace(tuple(outer), name, re.compile(pattern))


NOWHERE: Final = text_place("")
CONTENT: Final = text_place("choices", 0, "delta", "content")
CALL_PATH: Final = ("choices", 0, "delta", "tool_calls", 0)
ARGUMENTS: Final = text_place(*CALL_PATH, "function", "arguments")._replace(kind="arguments")
CHUNK_TEXTS: Final = {
    "content": CONTENT,
    **{
        name: text_place("choices", 0, "delta", name)._replace(kind="thought", source=name)
        for name, _ in REASONING_FIELDS
    },
}
"""The texts of a chat completion's chunks, by the field of a delta."""

_PROOF: Final = "rig's own"
_PROOF_BYTES: Final = _PROOF.encode()
# Insides of JSON strings, one a line. Possessive: nothing is ever tried twice.
_INSIDES: Final = re.compile(rb'(?:[^"\\\x00-\x09\x0b-\x1f]++|\\[^\x00-\x1f])*+')
# The inside of one JSON string in which every character stands for itself.
_WORD: Final = re.compile(rb'[^"\\\x00-\x1f]++')
_NAMELESS: Final = "message"
_FIELD: Final = b"data: "
_END: Final = b"\n\n"
_CRLF_END: Final = b"\r\n\r\n"  # of sse-starlette, and so of many servers written in Python


class PlainEvents:
    """What stands around the text of one stream's events.

    Attributes:
        place: where it is.
        event: what was learned from.
        size: bytes of the last `text`.
    """

    def __init__(self) -> None:
        self.place = CONTENT
        self.event: Mapping[str, Any] = {}
        self.size = 0
        self._before = b""
        self._after = b""
        self._after_crlf = b""
        self._between = b""
        self._lessons = 0

    @property
    def curious(self) -> bool:
        """Whether it is worth learning once more."""
        return self._lessons < MAX_LESSONS

    def learn(
        self,
        data: bytes,
        event: Mapping[str, Any],
        place: TextPlace = CONTENT,
        kind: str = _NAMELESS,
    ) -> None:
        """Learn from an event that was read.

        Args:
            data: the event's data.
            event: what it was read as. The caller knows that the same with another text in that place tells
                that text and nothing else.
            place: where the text is.
            kind: the event's name.
        """
        self._lessons += 1
        self._before = b""
        places = [*place.pattern.finditer(data)]
        if len(places) != 1 or b"\n" in data:  # data of several lines is not what it was sent as
            return
        start, end = places[0].span(1)
        before, after = data[:start], data[end:]
        if _differ_in_text(event, before + _PROOF_BYTES + after, place):
            self.place, self.event = place, event
            name = b"" if kind == _NAMELESS else b"event: %b\n" % kind.encode()
            self._before = name + _FIELD + before
            self._after = after + _END
            self._between = self._after + self._before
            self._after_crlf = after + _CRLF_END

    def text(self, block: bytes) -> str | None:
        """The text of one event, as `texts` would return it.

        Args:
            block: bytes of a stream between two events of which nothing is held, their line ends as they came.

        Returns:
            Its text, each byte of which stood in the event; None where it is more than one event, an odd one,
            or its text is empty or has an escape: ask `texts`.
        """
        before, after = self._before, self._after
        if not before or not block.startswith(before):
            return None
        if not block.endswith(after):
            after = self._after_crlf
            if not block.endswith(after):
                return None
        piece = block[len(before) : -len(after)]  # nothing where both share bytes
        if _WORD.fullmatch(piece) is None:
            return None
        try:
            text = piece.decode()
        except UnicodeDecodeError:
            return None
        self._lessons = 0
        self.size = len(piece)
        return text

    def texts(self, block: bytes) -> list[str] | None:
        """The texts of events, in order.

        Args:
            block: whole events, each with the blank line that ends it.

        Returns:
            A text for each, None when any of them is not like the one that was learned from.
        """
        before, after = self._before, self._after
        if not before or not (block.startswith(before) and block.endswith(after)):
            return None
        if len(block) < len(before) + len(after):
            return None
        start, end = len(before), -len(after) + len(_END)
        *events, _ = block.split(_END)
        if len(events) == 1:
            pieces = [block[start : -len(after)]]
        else:
            pieces = [event[start:end] for event in events]
            if before + self._between.join(pieces) + after != block:
                return None
        if _INSIDES.fullmatch(joined := b"\n".join(pieces)) is None:
            return None
        try:
            texts: list[str] = from_json(b'["' + joined.replace(b"\n", b'","') + b'"]')
        except ValueError:  # half characters
            return None
        if len(texts) != len(pieces):  # a line end of their own
            return None
        self._lessons = 0
        return texts


def _differ_in_text(event: Mapping[str, Any], data: bytes, place: TextPlace) -> bool:
    """Whether data is the event with the proof as the text in that place."""
    field = place.field
    try:
        other = from_json(data)
        holder, told = value_at(other, place.path), value_at(event, place.path)
        proof, holder[field] = holder[field], told[field]
    except (ValueError, TypeError, LookupError):
        return False
    return bool(proof == _PROOF and other == event)


def value_at(event: Mapping[str, Any], path: Iterable[str | int]) -> Any:  # noqa: ANN401 JSON is any value
    """What stands in an event.

    Args:
        event: the event.
        path: the keys that lead there.

    Raises:
        LookupError: nothing does.
        TypeError: something on the way is no object and no list.
    """
    value: Any = event
    for key in path:
        value = value[key]
    return value
