"""Tags of no dialect around calls without any markup of their own: `<tools>{"name": ..}</tools>`. No I/O.

Qwen 2.5 repeats the tag its template lists tools in. What stands between such tags is a tool's definition
as often as a call, so that they make no call of anything: they only go with one.
"""

from typing import Final

from rig.text.salvage.bare_json import LIST, OBJECT
from rig.text.salvage.blocks import Block, Dialect
from rig.text.salvage.source import Source

_NAMES: Final = (
    "tools",
    "tool",
    "functions",
    "function",
    "function-call",
    "tool-call",
    "actions",
    "action",
)
_READERS: Final = {"{": OBJECT.read, "[": LIST.read}


def _read(source: Source, start: int) -> Block | None:
    end = source.find(">", start) + 1
    at = source.skip_blanks(end)
    if at == len(source.text):
        return Block(end=at, plain=True, unfinished=True)
    reader = _READERS.get(source.text[at])
    block = reader(source, at) if reader else None
    if block is None:
        return None
    if not block.calls and not block.problem:
        return Block(end=end, plain=True, unfinished=True) if block.unfinished else None
    closer = source.lower[start:end].replace("<", "</", 1)
    behind = source.skip_blanks(block.end)
    closed = source.lower.startswith(closer, behind)
    return Block(
        end=behind + len(closer) if closed else block.end,
        calls=block.calls,
        problem=block.problem,
        unfinished=block.unfinished or (not closed and closer.startswith(source.lower[behind:])),
    )


DIALECT: Final = Dialect(name="wrapper", marks=tuple(f"<{name}>" for name in _NAMES), read=_read)
