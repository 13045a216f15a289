"""What the probes say of limits, counts and speed. Pure."""

from typing import Literal

from rig.agent.truncation import truncated_prompt
from rig.client.probes.finding import Finding, Honoured
from rig.client.probes.known import Known
from rig.client.probes.observed import Observed
from rig.client.probes.plan import OVERRUN, stop_word, tokens_per_s
from rig.client.probes.questions import MAX_TOKENS_HELD, SHORT_PIECES, SHORT_TOKENS, long_prompt

StreamUsage = Literal["always", "when_asked", "never"]
"""When a stream tells what it cost."""

LongPrompts = Literal["refused", "cut", "taken"]
"""What becomes of a prompt longer than the window: an error; its beginning is thrown away without a word;
or it is read whole, so that the window is larger than the endpoint says."""

_PIECES_PER_TOKEN = 2


def judge_stream_usage(known: Known) -> Finding[StreamUsage]:
    """When a stream tells what it cost.

    Args:
        known: what was found out.
    """
    asked, unasked = known["stream"], known["short stream"]
    if asked.reply is None:
        return Finding[StreamUsage].unmeasured(asked.why, asked.detail)
    if not asked.reply.usage.reported:
        return Finding[StreamUsage](
            value="never", evidence="a stream told no usage, although it was asked for"
        )
    if unasked.reply is not None and not unasked.left and unasked.reply.usage.reported:
        return Finding[StreamUsage](value="always", evidence="a stream told its usage unasked")
    return Finding[StreamUsage](
        value="when_asked", evidence="a stream told its usage when include_usage was sent"
    )


def judge_stop(known: Known) -> Finding[Honoured]:
    """Whether a stop string ends the reply; it is a word the model wrote to the same question before.

    Args:
        known: what was found out.
    """
    observed = known["stop"]
    if observed.refused:
        return Finding[Honoured](value="refused", evidence=observed.why, detail=observed.detail)
    if observed.reply is None:
        return Finding[Honoured].unmeasured(observed.why, observed.detail)
    full = known["stream"].text
    word = stop_word(full)
    if word in observed.text:
        return Finding[Honoured](
            value="ignored", evidence="the reply holds the word it should have stopped at"
        )
    if full.startswith(observed.text.strip()):
        return Finding[Honoured](
            value="honoured", evidence="the same reply ended before the word it should stop at"
        )
    return Finding[Honoured].unmeasured("the second reply to the same question was another one")


def judge_max_tokens(known: Known) -> Finding[Honoured]:
    """Whether max_tokens ends the reply.

    Args:
        known: what was found out.
    """
    return _limit(known["short stream"], "max_tokens", SHORT_TOKENS)


def judge_max_completion_tokens(known: Known) -> Finding[Honoured]:
    """Whether max_completion_tokens ends the reply.

    Args:
        known: what was found out.
    """
    return _limit(known["max_completion_tokens"], "max_completion_tokens", MAX_TOKENS_HELD)


def judge_long_prompts(known: Known) -> Finding[LongPrompts]:
    """What becomes of a prompt that is longer than the window.

    Args:
        known: what was found out.
    """
    observed, window = known["long prompt"], known.facts.window_tokens
    if observed.failure is not None and observed.failure.code == "input_too_large":
        return Finding[LongPrompts](
            value="refused",
            evidence=f"a prompt of 1.5 times the {window} tokens was refused as too long",
            detail=observed.detail,
        )
    if observed.reply is None or window is None:
        return Finding[LongPrompts].unmeasured(observed.why, observed.detail)
    words = int(OVERRUN * window) + 1
    cut = truncated_prompt(long_prompt(words), observed.reply.usage, window_tokens=window)
    read = observed.prompt_tokens
    if cut is not None:
        return Finding[LongPrompts](
            value="cut",
            evidence=f"of {words} words the server says it read {read} tokens, and answered all the same",
        )
    if read is not None and read > window:
        return Finding[LongPrompts](
            value="taken",
            evidence=f"the server read {read} tokens, more than its window of {window}",
        )
    return Finding[LongPrompts].unmeasured(
        "a prompt longer than the window was answered, and the server did not say how much it read"
    )


def judge_latency(known: Known) -> Finding[float]:
    """Seconds to the whole answer to a short question.

    Args:
        known: what was found out.
    """
    plain = known["repeat"] if known["repeat"].reply else known["plain"]
    if plain.reply is None:
        return Finding[float].unmeasured(plain.why)
    tokens = plain.reply.usage.completion_tokens
    return Finding[float](
        value=round(plain.elapsed_s, 3), evidence=f"one plain question, {tokens} tokens of answer"
    )


def judge_first_token(known: Known) -> Finding[float]:
    """Seconds to the first piece of a stream.

    Args:
        known: what was found out.
    """
    reply = known["stream"].reply
    seconds = reply.usage.time_to_first_token_s if reply else None
    if seconds is None:
        return Finding[float].unmeasured(known["stream"].why if not reply else "it was no stream")
    return Finding[float](value=round(seconds, 3), evidence="one stream of a short question")


def judge_speed(known: Known) -> Finding[float]:
    """Tokens the endpoint generates in a second, for one request alone.

    Args:
        known: what was found out.
    """
    speed = tokens_per_s(known)
    reply = known["stream"].reply
    if speed is None or reply is None:
        why = known["stream"].why if reply is None else "the stream was too short"
        return Finding[float].unmeasured(why)
    clock = (
        "the server's own clock"
        if reply.usage.completion_tokens_per_s
        else "the time of its pieces"
    )
    return Finding[float](value=round(speed, 1), evidence=f"one stream, by {clock}")


def _limit(observed: Observed, name: str, tokens: int) -> Finding[Honoured]:
    """Whether a limit of a few tokens ended a stream."""
    if observed.refused:
        return Finding[Honoured](value="refused", evidence=observed.why, detail=observed.detail)
    if observed.left:
        return Finding[Honoured](
            value="ignored",
            evidence=f"{name} was {tokens}, and more than {SHORT_PIECES} pieces came",
        )
    if observed.reply is None:
        return Finding[Honoured].unmeasured(observed.why, observed.detail)
    written = observed.reply.usage.completion_tokens or observed.pieces
    if written > _PIECES_PER_TOKEN * tokens:
        return Finding[Honoured](
            value="ignored", evidence=f"{name} was {tokens}, and {written} tokens came"
        )
    if observed.reply.finish_reason != "length":
        return Finding[Honoured].unmeasured("the reply ended by itself")
    return Finding[Honoured](
        value="honoured", evidence=f"{name} was {tokens}, and the reply ended there"
    )
