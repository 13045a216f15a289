"""Frozen values that keep what was once made of them: a message its bytes, options their fields. No I/O.

What is kept follows from the value alone, is no part of it (it is not compared, hashed, shown, copied or
pickled), and dies with it. So it needs no bound of its own and no look-up. It can't be out of date where nothing
in the value can be changed; whoever keeps something looks at that. One thing is taken on trust: a tool's schema
is a dict, and who changes one that was sent changes nothing.
"""

from typing import Final

KEPT: Final = "_kept"
"""The slot: set by `object.__setattr__`, read by `getattr(value, KEPT, None)`. One reader each: whoever makes
something of a kind of value keeps it there."""


class Keeps:
    """A frozen value with such a slot."""

    __slots__ = (KEPT,)
