"""Numbers as GBNF. No I/O, stdlib only."""

import math
from collections.abc import Mapping
from typing import Final

from rig.text.gbnf import either, literal

MAX_DIGITS: Final = 20
"""Digits of an integer: all of 64 bits, which ids are made of. Without a bound a model that repeats
itself writes digits up to its token limit."""

MAX_FRACTION_DIGITS: Final = 16
"""Digits behind the point of a number, as many as a double holds."""

_LARGEST = 10**MAX_DIGITS - 1
_UNSIGNED = (
    f'("0" | [1-9] [0-9]{{0,{MAX_DIGITS - 1}}}) ("." [0-9]{{1,{MAX_FRACTION_DIGITS}}})?'
    " ([eE] [-+]? [0-9]{1,2})?"
)


def number(schema: Mapping[str, object]) -> str:
    """Any JSON number; without a sign where the schema allows no negative ones.

    Other bounds are left to whoever checks the value.

    Args:
        schema: with `minimum` and `exclusiveMinimum`, if any.
    """
    bounds = [_bound(schema, key) for key in ("minimum", "exclusiveMinimum")]
    is_positive = any(bound is not None and bound >= 0 for bound in bounds)
    return _UNSIGNED if is_positive else f'"-"? {_UNSIGNED}'


def integer(schema: Mapping[str, object]) -> str:
    """An integer within the bounds of a schema; any integer where nothing lies within them.

    Args:
        schema: with `minimum`, `maximum` and their exclusive forms, if any.
    """
    lowest = _edge(schema, "minimum", "exclusiveMinimum", default=-_LARGEST)
    highest = -_edge(_negated(schema), "maximum", "exclusiveMaximum", default=-_LARGEST)
    if lowest > highest:
        lowest, highest = -_LARGEST, _LARGEST
    options: list[str] = []
    if lowest < 0:
        negative = _between(max(1, -highest), -lowest)
        options.append(f'"-" {either(negative)}')
    if highest >= 0:
        options.extend(_between(max(0, lowest), highest))
    return either(options)


def _bound(schema: Mapping[str, object], key: str) -> float | None:
    value = schema.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if math.isfinite(value) else None


def _edge(schema: Mapping[str, object], inclusive: str, exclusive: str, *, default: int) -> int:
    """The least integer that two lower bounds allow."""
    edge = default
    bound = _bound(schema, inclusive)
    if bound is not None:
        edge = max(edge, math.ceil(bound))
    bound = _bound(schema, exclusive)
    if bound is not None:
        edge = max(edge, math.floor(bound) + 1)
    return edge


def _negated(schema: Mapping[str, object]) -> dict[str, object]:
    bounds = {key: _bound(schema, key) for key in ("maximum", "exclusiveMaximum")}
    return {key: -bound for key, bound in bounds.items() if bound is not None}


def _between(lowest: int, highest: int) -> list[str]:
    """Expressions for the integers of a range that is not negative, one for each number of digits."""
    options: list[str] = []
    for size in range(len(str(lowest)), len(str(highest)) + 1):
        first = 10 ** (size - 1) if size > 1 else 0
        low, high = max(lowest, first), min(highest, 10**size - 1)
        options.append(_same_size(str(low), str(high)))
    return options


def _same_size(low: str, high: str) -> str:
    if low == high:
        return literal(low)
    if low[0] == high[0]:
        return f"{literal(low[0])} {_same_size(low[1:], high[1:])}"
    if not low.strip("0") and not high.strip("9"):
        return _digit_run("0", "9", len(low))
    if set(low[1:]) <= {"0"} and set(high[1:]) <= {"9"}:
        return f"{_digit_run(low[0], high[0], 1)} {_digit_run('0', '9', len(low) - 1)}".rstrip()
    size = len(low) - 1
    options = [f"{literal(low[0])} {_same_size(low[1:], '9' * size)}"]
    if int(high[0]) - int(low[0]) > 1:
        inner = _digit_run(str(int(low[0]) + 1), str(int(high[0]) - 1), 1)
        options.append(f"{inner} {_digit_run('0', '9', size)}")
    options.append(f"{literal(high[0])} {_same_size('0' * size, high[1:])}")
    return either(options)


def _digit_run(first: str, last: str, size: int) -> str:
    if not size:
        return ""
    digits = literal(first) if first == last else f"[{first}-{last}]"
    return digits if size == 1 else f"{digits}{{{size}}}"
