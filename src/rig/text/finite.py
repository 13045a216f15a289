"""Whether a value is a number to count with. No I/O."""

import sys
from typing import TypeGuard


def is_finite(value: object) -> TypeGuard[float]:
    """Whether a value is a number that is neither a truth value, NaN nor infinite, nor beyond what floats hold.

    `math.isfinite` raises on whole numbers beyond that.

    Args:
        value: anything.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= sys.float_info.max
