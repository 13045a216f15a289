r"""Deltas and errors to server-sent events, for a browser that shows a reply while it comes. No I/O.

| what | frame |
|---|---|
| text | `data: {"text":"hi","type":"content"}` |
| a finished call | `data: {"call":"{\"id\":...}","type":"tool_call"}`, the call as JSON in a JSON text |
| the end | `data: [DONE]` |
| an error | `data: {"text":"...","type":"error"}`, rig's own sentence |
| text to take back | `data: {"text":"...","type":"retract"}`, all text that was shown so far |

The first four are, byte for byte, what consumers of such relays expect: keys sorted, and `<`, `>`, `&`,
U+2028 and U+2029 escaped, so that a frame may stand inside HTML or a script as it is. Thoughts, usage
and unfinished calls are not shown and give nothing.
"""

import json
from typing import Final

from rig.errors import RigError
from rig.model import CallDelta, Delta
from rig.wire.payload import without_surrogates

_ESCAPES: Final = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"})
_DONE: Final = b"data: [DONE]\n\n"


def to_sse(item: Delta | CallDelta | RigError) -> bytes:
    """The frames of one delta, one call, or one error.

    Args:
        item: a delta of a stream, news of one of its calls, or what ended it.

    Returns:
        The frames in the order of the table, but for `retract`, which comes first; empty when there is
        nothing to show.
    """
    if isinstance(item, RigError):
        return _frame({"text": str(item), "type": "error"})
    if isinstance(item, CallDelta):
        return _call_frame(item)
    frames = [_frame({"text": item.retracted, "type": "retract"})] if item.retracted else []
    if item.text:
        frames.append(_frame({"text": item.text, "type": "content"}))
    if item.tool_call is not None:
        frames.append(_call_frame(item.tool_call))
    if item.finish_reason is not None:
        frames.append(_DONE)
    return b"".join(frames)


def _call_frame(call: CallDelta) -> bytes:
    if call.stage != "finished":
        return b""
    function = {"name": call.name, "arguments": call.arguments}
    wire = {"id": call.id, "type": "function", "function": function}
    return _frame({"call": _json(wire), "type": "tool_call"})


def _frame(fields: dict[str, str]) -> bytes:
    return f"data: {_json(fields)}\n\n".encode()


def _json(value: object) -> str:
    """Compact JSON, keys in the order given; a lone surrogate becomes U+FFFD."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return without_surrogates(text).translate(_ESCAPES)
