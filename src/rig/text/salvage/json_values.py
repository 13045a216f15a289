"""JSON values at an index of a text, and arguments as JSON text. No I/O."""

import json
from collections.abc import Mapping
from typing import Final

from rig.late_dataclass import dataclass
from rig.text.duplicate_keys import DUPLICATE_KEY, duplicate_keys
from rig.text.json_builder import build_json
from rig.text.json_loose import scan_loose
from rig.text.json_scanner import ScanKind, scan_json
from rig.text.salvage.source import Source

MAX_DEPTH: Final = 64
"""Containers inside each other in a call. Arguments of tools have three or four; what is deeper could
not be written out again without recursion."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """What stands at an index.

    Attributes:
        kind: complete, truncated (only the end of the text is missing), or malformed.
        end: index after it; for malformed where it stops being JSON.
        value: the value of a complete one.
        repairs: what was mended.
        doubled: it is malformed because it names a key twice, with different values.
    """

    kind: ScanKind
    end: int
    value: object = None
    repairs: tuple[str, ...] = ()
    doubled: bool = False


def read_value(source: Source, start: int, *, loose: bool) -> Value:
    """Read the object or array that begins at an index.

    Args:
        source: the text.
        start: index of its `{` or `[`.
        loose: mend it where it is nearly JSON.
    """
    scan = scan_json(source.text, start, max_depth=MAX_DEPTH)
    source.charge(scan.end - start)
    if scan.kind == "complete":
        return _built(source.text[start : scan.end], scan.end, ())
    if scan.kind == "truncated" or not loose or scan.too_deep:
        return Value(kind=scan.kind, end=scan.end)
    mended = scan_loose(source.text, start, max_depth=MAX_DEPTH)
    source.charge(mended.end - start)
    if mended.kind == "complete":
        return _built(mended.text, mended.end, mended.repairs)
    return Value(kind=mended.kind, end=mended.end)


def arguments_json(arguments: Mapping[str, object]) -> str:
    """Arguments as the text of one JSON object, "" when they can't be written as one."""
    try:
        text = json.dumps(dict(arguments), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return ""
    return text if scan_json(text).kind == "complete" else ""


def _built(text: str, end: int, repairs: tuple[str, ...]) -> Value:
    doubled = duplicate_keys(text)
    if doubled == "different":
        return Value(kind="malformed", end=end, doubled=True)
    try:
        value = build_json(text)
    except ValueError:  # more digits than this process converts
        return Value(kind="malformed", end=end)
    more = (DUPLICATE_KEY,) if doubled == "equal" else ()
    return Value(kind="complete", end=end, value=value, repairs=(*repairs, *more))
