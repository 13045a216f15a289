"""The JSON object in the text of a reply, wherever the model put it. No I/O.

Repairs nothing and guesses nothing: an object is taken exactly as it stands, or not at all. Two
consequences of the contract are deliberate. Of a reply that was cut, the longest complete object
inside is returned: callers look at the finish reason first. And a `</think>` inside a JSON string
ends a thought like any other: it destroys the reply.

The cost is linear although every brace may begin an object. When a scan fails, everything still
open inside of it fails too and every object inside that was complete is known, so none of these is
scanned again. What remains are braces in strings; read from there, strings and the text between
them swap places, and no third reading exists. The scanned total is below three times the text.
"""

import math
import re
from collections.abc import Callable, Iterator
from json import JSONDecoder
from typing import Any, Final, cast

from rig.errors import InvalidJSONError, NotJSONError
from rig.text.json_builder import build_json
from rig.text.json_scanner import MAX_NUMBER_CHARS, JSONScanner, scan_json
from rig.text.reasoning import strip_reasoning

SCAN_FACTOR: Final = 4
"""Characters scanned per character of text before the search stops with what it has. Never reached
as far as is known (see the module's text; the worst text found takes 2); a net under a proof."""

MAX_CANDIDATES: Final = 10_000
"""Objects of one reply that are kept to choose from, the longest ones. One is meant; a flood of `{}` fills
1 MiB with half a million."""

_SPACE = r"[ \t\n\r]*+"
_TEXT = r'"[^"\\\x00-\x1f\ud800-\udfff]*+"'
_SCALAR = rf"(?:{_TEXT}|-?(?:0|[1-9][0-9]{{0,14}}+)(?:\.[0-9]{{1,15}}+)?|true|false|null)"
_MEMBER = rf"{_SPACE}{_TEXT}{_SPACE}:{_SPACE}{_SCALAR}{_SPACE}"
# A brace that may begin an object: what follows is the end, or a key and its colon. Possessive, and a key ends
# at or before the next place where this may match: no character is looked at more than three times.
_BRACE = re.compile(rf'\{{{_SPACE}(?:\}}|"(?:[^"\\]++|\\.)*+"{_SPACE}:)', re.DOTALL)
# A whole object of plain members, told in C. It ends before the next brace outside of its texts, so there are
# two readings of every character again: as text, or between texts.
_PLAIN = re.compile(rf"\{{(?:{_MEMBER}(?:,{_MEMBER})*+|{_SPACE})\}}")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")


def decode_json_object(
    text: str, *, validate: Callable[[dict[str, Any]], bool] | None = None
) -> dict[str, Any]:
    """Return the JSON object in a reply, without the reasoning and the prose around it.

    `strip_reasoning` comes first. Then every `{` may begin an object; one that parses is passed
    over as a whole, one that does not is retried at the next `{`. The longest object wins, measured
    in bytes of UTF-8, the earliest of equals. An empty object is an object.

    An object fails as a whole when it is not strict JSON (NaN, Infinity, a number that is no finite
    float or has more than 4,300 digits, an unpaired surrogate, which can't be encoded again), or is
    nested deeper than 10,000 levels; the search ends at one that is too deep. Every other depth
    is returned, but from about 1,000 levels on Python's own json and `==` can't handle the result.

    Args:
        text: content of a reply.
        validate: tells whether an object is the one asked for. Objects are offered longest first,
            and the first accepted one is returned: models echo the schema, and the echo can be
            longer than the answer (getzep/graphiti#868).

    Returns:
        The object. Every string in it can be encoded as UTF-8.

    Raises:
        NotJSONError: there is no `{` outside of the reasoning.
        InvalidJSONError: there is one, but no object that parses; or, with `reason` "rejected",
            none that `validate` accepts.
    """
    answer = strip_reasoning(text)
    if "{" not in answer:
        raise NotJSONError("reply is not JSON", detail=answer)
    decoded = False
    for found in _objects(answer):
        decoded = True
        if validate is None or validate(found):
            return found
    reason = "rejected" if decoded else ""
    raise InvalidJSONError("reply is not valid JSON", detail=answer, reason=reason)


def find_json_objects(text: str) -> Iterator[dict[str, Any]]:
    """The JSON objects in a reply, as `decode_json_object` looks for them: longest first, each built when asked for.

    Args:
        text: content of a reply.
    """
    yield from _objects(strip_reasoning(text))


def strict_end(text: str, start: int) -> int | None:
    """Where the strict JSON object or array that begins at an index ends; None when there is none.

    Args:
        text: any text.
        start: index of its opening bracket.
    """
    plain = _PLAIN.match(text, start)
    if plain is not None:
        return plain.end()
    scan = scan_json(text, start)
    return scan.end if scan.kind == "complete" else None


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the objects in a text, longest first."""
    whole = _decode_whole(text)
    if whole is not None:
        yield whole
        return
    for _, start, end in _longest_first(_Search(text).run()):
        try:
            value = build_json(text[start:end])
        except ValueError:  # more digits than this process converts
            continue
        yield cast("dict[str, Any]", value)


def _decode_whole(text: str) -> dict[str, Any] | None:
    """Decode a text that is one object, in C: 25 times as fast as scanning it (1 MiB: 8 ms).

    Returns:
        The object, None when the text is anything else or any doubt is left.
    """
    if not (text.startswith("{") and text.endswith("}")) or _SURROGATE.search(text):
        return None
    try:
        value = _STRICT.decode(text)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _finite(number: str) -> float:
    value = float(number)
    if len(number) > MAX_NUMBER_CHARS or not math.isfinite(value):
        raise ValueError
    return value


def _no_constant(_name: str) -> float:
    raise ValueError


_STRICT = JSONDecoder(parse_float=_finite, parse_constant=_no_constant)


_Candidate = tuple[int, int, int]  # bytes, start and end: a flood makes half a million of them


def _longest_first(candidates: list[_Candidate]) -> list[_Candidate]:
    """Sort by size, the earliest of equals first."""
    return sorted(candidates, key=lambda one: -one[0])


class _Search:
    """Finds the objects that are not part of another one.

    Attributes:
        scanned: characters scanned so far.
    """

    def __init__(self, text: str) -> None:
        self.scanned = 0
        self._text = text
        self._ends: dict[int, int] = {}
        self._failed: set[int] = set()

    def run(self) -> list[_Candidate]:
        text, found = self._text, list[_Candidate]()
        ascii_only, most = text.isascii(), SCAN_FACTOR * len(text)
        position = 0
        while (brace := _BRACE.search(text, position)) and self.scanned <= most:
            start = brace.start()
            end = self._end_of(start)
            if end is None:
                break
            if end > start:
                size = end - start if ascii_only else len(text[start:end].encode())
                found.append((size, start, end))
                if len(found) >= 2 * MAX_CANDIDATES:
                    found = sorted(_longest_first(found)[:MAX_CANDIDATES], key=lambda one: one[1])
            position = max(end, start + 1)
        return found

    def _end_of(self, start: int) -> int | None:
        """Return the end of the object at an index, `start` if there is none, None to give up."""
        if start in self._failed:
            return start
        if start in self._ends:
            return self._ends[start]
        plain = _PLAIN.match(self._text, start)
        if plain is not None:
            self.scanned += plain.end() - start
            return plain.end()
        scanner = JSONScanner(self._text, start)
        scan = scanner.run()
        self.scanned += scan.end - start
        if scan.kind == "complete":
            return scan.end
        self._ends.update(scanner.objects)
        self._failed.update(scanner.open, (start,))
        return None if scan.too_deep else start
