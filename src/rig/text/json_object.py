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
from dataclasses import dataclass
from json import JSONDecoder
from typing import Any, Final, cast

from rig.errors import InvalidJSONError, NotJSONError
from rig.text.json_builder import build_json
from rig.text.json_scanner import MAX_NUMBER_CHARS, JSONScanner
from rig.text.reasoning import strip_reasoning

SCAN_FACTOR: Final = 4
"""Characters scanned per character of text before the search stops with what it has. Never reached
as far as is known (see the module's text; the worst text found takes 2); a net under a proof."""

# A brace that what follows does not rule out at once; possessive, so it never looks back.
_BRACE = re.compile(r'\{[ \t\n\r]*+["}]')
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


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the objects in a text, longest first."""
    whole = _decode_whole(text)
    if whole is not None:
        yield whole
        return
    candidates = _Search(text).run()
    for candidate in sorted(candidates, key=lambda one: -one.size_bytes):
        try:
            value = build_json(text[candidate.start : candidate.end])
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    start: int
    end: int
    size_bytes: int


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
        position = 0
        while (brace := _BRACE.search(text, position)) and self.scanned <= SCAN_FACTOR * len(text):
            start = brace.start()
            end = self._end_of(start)
            if end is None:
                break
            if end > start:
                found.append(_candidate(text, start, end))
            position = max(end, start + 1)
        return found

    def _end_of(self, start: int) -> int | None:
        """Return the end of the object at an index, `start` if there is none, None to give up."""
        if start in self._failed:
            return start
        if start in self._ends:
            return self._ends[start]
        scanner = JSONScanner(self._text, start)
        scan = scanner.run()
        self.scanned += scan.end - start
        if scan.kind == "complete":
            return scan.end
        self._ends.update(scanner.objects)
        self._failed.update(scanner.open, (start,))
        return None if scan.too_deep else start


def _candidate(text: str, start: int, end: int) -> _Candidate:
    return _Candidate(start=start, end=end, size_bytes=len(text[start:end].encode()))
