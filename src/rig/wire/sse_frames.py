r"""Deltas, events of a run and errors to server-sent events, for a browser that shows a reply. No I/O.

| what | frame |
|---|---|
| text | `data: {"text":"hi","type":"content"}` |
| a call: finished in a stream, started in a run | `data: {"call":"{\"id\":...}","type":"tool_call"}`, the call as JSON in a JSON text |
| the end | `data: [DONE]` |
| an error | `data: {"text":"...","type":"error"}`, rig's own sentence |
| text to take back | `data: {"text":"...","type":"retract"}`, all text that was shown so far |

The first four are, byte for byte, what consumers of such relays expect: keys sorted, and `<`, `>`, `&`,
U+2028 and U+2029 escaped, so that a frame may stand inside HTML or a script as it is. Thoughts, usage,
unfinished calls and all other events are not shown and give nothing.
"""

import json
from typing import Final

from rig.errors import RigError
from rig.events import RunEvent, RunFinished, TextDelta, TextRetracted, ToolStarted
from rig.model import CallDelta, Delta
from rig.wire.payload import without_surrogates

_ESCAPES: Final = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"})
_DONE: Final = b"data: [DONE]\n\n"


def to_sse(item: Delta | CallDelta | RunEvent | RigError) -> bytes:
    """The frames of one delta, one event of a run, or one error.

    Args:
        item: a delta of a stream or news of one of its calls, an event of a run, or what ended either.

    Returns:
        The frames in the order of the table, but for `retract`, which comes first; empty when there is
        nothing to show.
    """
    match item:
        case Delta():
            return _delta_frames(item)
        case CallDelta() if item.stage == "finished":
            return _call(item.id, item.name, item.arguments)
        case TextDelta():
            return _text("content", item.text)
        case TextRetracted():
            return _text("retract", item.text)
        case ToolStarted():
            return _call(item.call.id, item.call.name, item.call.arguments)
        case RunFinished():
            return _DONE
        case RigError():
            return _text("error", str(item))
        case _:
            return b""


def _delta_frames(delta: Delta) -> bytes:
    frames = [_text("retract", delta.retracted)] if delta.retracted else []
    if delta.text:
        frames.append(_text("content", delta.text))
    if delta.tool_call is not None:
        frames.append(to_sse(delta.tool_call))
    if delta.finish_reason is not None:
        frames.append(_DONE)
    return b"".join(frames)


def _text(kind: str, text: str) -> bytes:
    return _frame({"text": text, "type": kind})


def _call(identity: str, name: str, arguments: str) -> bytes:
    function = {"name": name, "arguments": arguments}
    wire = {"id": identity, "type": "function", "function": function}
    return _frame({"call": _json(wire), "type": "tool_call"})


def _frame(fields: dict[str, str]) -> bytes:
    return f"data: {_json(fields)}\n\n".encode()


def _json(value: object) -> str:
    """Compact JSON, keys in the order given; a lone surrogate becomes U+FFFD."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return without_surrogates(text).translate(_ESCAPES)
