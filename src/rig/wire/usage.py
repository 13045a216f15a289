"""What a server says of a reply's cost, to `Usage`. No I/O.

llama.cpp says it twice: in `usage`, as everybody does, and in `timings`, with the milliseconds of both
phases and the prompt tokens it really had to process. Its older builds tell only there of cached ones,
and a stream without `include_usage` has nothing else.
"""

from typing import Final

from rig.messages import MAX_COUNT, Usage, as_object

_OURS: Final = frozenset({
    "reported", "latency_s", "time_to_first_token_s", "prompt_s", "generation_s",
})  # fmt: skip


def read_usage(usage: object, timings: object = None, *, latency_s: float = 0.0) -> Usage:
    """The usage of one reply.

    Args:
        usage: the wire's `usage`, of any shape.
        timings: llama.cpp's `timings`, None where there are none.
        latency_s: seconds the answer took, as measured here.

    Returns:
        What was told; counters that nobody told are 0.
    """
    wire, told = as_object(usage) or {}, as_object(timings) or {}
    counters = {name: value for name, value in wire.items() if name not in _OURS}
    times: dict[str, object] = {
        "latency_s": latency_s,
        "prompt_s": _seconds(told.get("prompt_ms")),
        "generation_s": _seconds(told.get("predicted_ms")),
    }
    read = Usage.model_validate({**counters, **times})
    if not told:
        return read
    new = _count(told.get("prompt_n"))
    if not read.reported:
        cached = _count(told.get("cache_n"))
        counters = {
            "prompt_tokens": new + cached,
            "completion_tokens": told.get("predicted_n"),
            "cached_tokens": cached,
        }
        return Usage.model_validate({**counters, **times})
    if not read.cached_tokens and 0 < new < read.prompt_tokens:
        return read.model_copy(update={"cached_tokens": read.prompt_tokens - new})
    return read


def _count(value: object) -> int:
    return Usage.model_validate({"prompt_tokens": value}).prompt_tokens


def _seconds(milliseconds: object) -> float | None:
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float):
        return None
    return milliseconds / 1000 if 0 <= milliseconds <= MAX_COUNT else None
