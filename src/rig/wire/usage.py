"""What a server says of a reply's cost, to `Usage`. No I/O.

llama.cpp says it twice: in `usage`, as everybody does, and in `timings`, with the milliseconds of both
phases and the prompt tokens it really had to process. Its older builds tell only there of cached ones,
and a stream without `include_usage` has nothing else.
"""

from collections.abc import Mapping
from typing import Any, Final

from rig.messages import MAX_COUNT, Usage, as_object, read_count
from rig.wire.payload import OBJECT
from rig.wire.spelling import snake_case

_OURS: Final = frozenset({
    "reported", "latency_s", "time_to_first_token_s", "prompt_s", "generation_s",
})  # fmt: skip

_PLACES: Final = ("usage", "usageMetadata", "usage_metadata")
_NESTING: Final = ("x_groq",)  # Groq's streams, https://console.groq.com/docs/api-reference
USAGE_FIELDS: Final = frozenset({*_PLACES[1:], *_NESTING})
"""Where an answer has it that has no `usage`; for code that runs once a token."""

_ALIASES: Final[Mapping[str, str]] = {
    "prompt_token_count": "prompt_tokens",  # Google's own API, as the next four
    "candidates_token_count": "completion_tokens",
    "total_token_count": "total_tokens",
    "cached_content_token_count": "cached_tokens",
    "thoughts_token_count": "reasoning_tokens",
    "input_token_count": "prompt_tokens",  # watsonx
    "generated_token_count": "completion_tokens",
    "output_token_count": "completion_tokens",
}


_PLAIN: Final = frozenset({
    "prompt_tokens", "completion_tokens", "total_tokens", "prompt_tokens_details",
    "completion_tokens_details",
    "reasoning_tokens",  # SGLang
    "cached_tokens", "cache_creation_tokens",  # as messages are read into completions
})  # fmt: skip
_PLAIN_DETAILS: Final = frozenset({
    "accepted_prediction_tokens", "audio_tokens", "cached_tokens", "reasoning_tokens",
    "rejected_prediction_tokens",
})  # fmt: skip
"""The fields of OpenAI's own usage, which most servers write and nearly no more: nothing has to be searched for."""


def usage_in(*wires: Mapping[str, object]) -> object:
    """The `usage` of an answer, wherever it is; None where there is none.

    Args:
        wires: the objects that may hold it, the likeliest first: the answer, its choice.
    """
    if usage := wires[0].get("usage"):
        return usage
    for wire in wires:
        nested = (as_object(wire.get(name)) for name in _NESTING)
        for holder in (wire, *(one for one in nested if one is not None)):
            for name in _PLACES:
                if holder.get(name):
                    return holder[name]
    return None


def _counters(wire: Mapping[str, object]) -> dict[str, object]:
    """The counters under the names of a chat completion; details in objects too."""
    found: dict[str, object] = {}
    for name, value in wire.items():
        inner = as_object(value)
        plain = snake_case(name)
        known = _ALIASES.get(plain, plain)
        if known in _OURS:
            continue
        kept = (
            value if inner is None else {**inner, **{snake_case(key): inner[key] for key in inner}}
        )
        if known == name:
            found[known] = kept
        else:
            found.setdefault(known, kept)
    return found


def read_usage(usage: object, timings: object = None, *, latency_s: float = 0.0) -> Usage:
    """The usage of one reply.

    Args:
        usage: the wire's `usage`, of any shape.
        timings: llama.cpp's `timings`, None where there are none.
        latency_s: seconds the answer took, as measured here.

    Returns:
        What was told; counters that nobody told are 0.
    """
    read = _read_plain(usage, timings, latency_s)
    if read is not None:
        return read
    if usage is None and timings is None:
        return Usage.made(latency_s=latency_s)
    return read_any_usage(usage, timings, latency_s=latency_s)


def _read_plain(usage: Any, timings: Any, latency_s: float) -> Usage | None:  # noqa: ANN401 JSON is any value
    """A usage as OpenAI defines it, an eighth of the work of `read_any_usage`; None for any other."""
    if type(usage) is not OBJECT:
        return None
    prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
    total = usage.get("total_tokens")
    if not (
        type(prompt) is int
        and type(completion) is int
        and type(total) is int
        and _PLAIN.issuperset(usage)
        and 0 < prompt <= MAX_COUNT
        and 0 < completion <= MAX_COUNT
        and 0 < total <= MAX_COUNT
    ):
        return None
    cached = thought = 0
    if details := usage.get("prompt_tokens_details"):
        if type(details) is not OBJECT or not _PLAIN_DETAILS.issuperset(details):
            return None
        cached = read_count(details.get("cached_tokens"))
    if details := usage.get("completion_tokens_details"):
        if type(details) is not OBJECT or not _PLAIN_DETAILS.issuperset(details):
            return None
        thought = read_count(details.get("reasoning_tokens"))
    if not thought and "reasoning_tokens" in usage:
        thought = read_count(usage["reasoning_tokens"])
    if not cached and "cached_tokens" in usage:
        cached = read_count(usage["cached_tokens"])
    written = read_count(usage["cache_creation_tokens"]) if "cache_creation_tokens" in usage else 0
    prompt_s = generation_s = None
    if timings:
        if type(timings) is not OBJECT:
            return None
        prompt_s, generation_s = timings.get("prompt_ms"), timings.get("predicted_ms")
        new = timings.get("prompt_n")
        if not (type(prompt_s) is float and type(generation_s) is float and type(new) is int):
            return None
        if not (0 <= prompt_s <= MAX_COUNT and 0 <= generation_s <= MAX_COUNT):
            return None
        prompt_s, generation_s = prompt_s / 1000, generation_s / 1000
        if not cached and 0 < new < prompt:
            cached = prompt - new
    return Usage.made(
        prompt_tokens=prompt,
        completion_tokens=completion,
        total_tokens=total,
        cached_tokens=cached,
        cache_creation_tokens=written,
        reasoning_tokens=thought,
        reported=True,
        latency_s=latency_s,
        prompt_s=prompt_s,
        generation_s=generation_s,
    )


def read_any_usage(usage: object, timings: object = None, *, latency_s: float = 0.0) -> Usage:
    """The same as `read_usage`, whatever the shape, without looking for the plain one first.

    Args:
        usage: the wire's `usage`, of any shape.
        timings: llama.cpp's `timings`, None where there are none.
        latency_s: seconds the answer took, as measured here.
    """
    wire, told = as_object(usage) or {}, as_object(timings) or {}
    times: dict[str, object] = {
        "latency_s": latency_s,
        "prompt_s": _seconds(told.get("prompt_ms")),
        "generation_s": _seconds(told.get("predicted_ms")),
    }
    read = Usage.of({**_counters(wire), **times})
    if not told:
        return read
    new = read_count(told.get("prompt_n"))
    if not read.reported:
        cached = read_count(told.get("cache_n"))
        counters = {
            "prompt_tokens": new + cached,
            "completion_tokens": told.get("predicted_n"),
            "cached_tokens": cached,
        }
        return Usage.of({**counters, **times})
    if not read.cached_tokens and 0 < new < read.prompt_tokens:
        return read.model_copy(update={"cached_tokens": read.prompt_tokens - new})
    return read


def _seconds(milliseconds: object) -> float | None:
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float):
        return None
    return milliseconds / 1000 if 0 <= milliseconds <= MAX_COUNT else None
