"""MiniMax M3: the elements of `minimax`, with a token of its own before each tag. No I/O.

`]<]minimax[>[<tool_call>]<]minimax[>[<invoke name="NAME">]<]minimax[>[<KEY>VALUE]<]minimax[>[</KEY>..`
(MiniMax-AI/MiniMax-M3 31).
"""

import re
from typing import Final

from rig.text.salvage import minimax
from rig.text.salvage.blocks import Block, Dialect, undecided
from rig.text.salvage.calls import Problem, SalvagedCall
from rig.text.salvage.source import Source

_MARK: Final = "]<]minimax[>["
_OPENERS: Final = ("<tool_call>", "<invoke")
_ENDS: Final = {"<tool_call>": f"{_MARK}</tool_call>", "<invoke": f"{_MARK}</invoke>"}
_INVOKE: Final = re.compile(r"(?:\s|<tool_call>)*+(?=<invoke)", re.IGNORECASE)


def _read(source: Source, start: int) -> Block | None:
    after = start + len(_MARK)
    opener = next((one for one in _OPENERS if source.lower.startswith(one, after)), "")
    if not opener:
        rest = source.lower[after : after + len(_OPENERS[0])]
        cut = after + len(rest) == len(source.text) and any(
            one.startswith(rest) for one in _OPENERS
        )
        return Block(end=len(source.text), unfinished=True) if cut else Block(end=after)
    closer = _ENDS[opener]
    stop = source.find(closer, after)
    if stop < 0:
        return undecided(source)
    end = stop + len(closer)
    source.charge(end - start)
    return _read_elements(source, after, end)


def _read_elements(source: Source, start: int, end: int) -> Block:
    """The calls between two indexes, read without the tokens."""
    body = "".join(re.split(re.escape(_MARK), source.text[start:end], flags=re.IGNORECASE))
    inside = Source(body, source.offer, source.marks)
    calls: list[SalvagedCall] = []
    problem: Problem = ""
    position = 0
    while (head := _INVOKE.match(body, position)) and not inside.exhausted:
        block = minimax.DIALECT.read(inside, head.end())
        if block is None:
            break
        calls += block.calls
        problem = problem or block.problem
        position = block.end
    source.charge(inside.work)
    if not calls or body[position:].strip().lower() not in {"", "</tool_call>"}:
        return Block(end=end, problem=problem or "malformed")
    return Block(end=end, calls=tuple(calls), problem=problem)


DIALECT: Final = Dialect(name=minimax.DIALECT.name, marks=(_MARK,), read=_read, native=True)
