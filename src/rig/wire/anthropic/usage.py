"""What a message cost, in Anthropic's counters. No I/O."""

from collections.abc import Mapping

from rig.messages import Usage, as_object


def merge_usage(known: Mapping[str, object], news: object) -> dict[str, object]:
    """The counters of a stream with those of a later event, which are cumulative.

    Args:
        known: the counters so far.
        news: the event's `usage`, of any shape.

    Returns:
        Counter by counter the later one, unless it says nothing.
    """
    later = {name: value for name, value in (as_object(news) or {}).items() if _says(value)}
    return {**known, **later}


def _says(value: object) -> bool:
    return as_object(value) is not None or (isinstance(value, int | float) and value > 0)


def completion_usage(value: object) -> dict[str, object]:
    """Anthropic's counters under the names of a chat completion.

    `input_tokens` leaves out what was read from the cache and written to it; rig's prompt tokens, as
    `Usage` reads them, are all that the model was sent, as OpenAI counts them.

    Args:
        value: the wire's `usage`, of any shape; the OpenAI names some proxies use are kept.

    Returns:
        The counters that say something; empty when none does.
    """
    wire = as_object(value) or {}
    usage = Usage.of(wire)
    if not usage.reported:
        return {}
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
        "cached_tokens": usage.cached_tokens,
        "cache_creation_tokens": usage.cache_creation_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
    }
