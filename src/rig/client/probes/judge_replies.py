"""What the probes say of ordinary replies: the state, thoughts, the system prompt, repetition. Pure."""

from typing import Literal

from rig.client.probes.finding import Finding, Honoured
from rig.client.probes.known import Known
from rig.client.probes.observed import Observed
from rig.client.probes.questions import SYSTEM_WORD
from rig.text.reasoning import separate_reasoning
from rig.text.reasoning_tags import find_tag

State = Literal["ready", "loading", "model_not_found", "failing"]
"""Whether an ordinary question is answered."""

Reasoning = Literal["field", "tags", "orphan_closer", "none"]
"""Where thoughts are: in a field of their own; in the text between tags; in the text with the closing tag
alone, since the template writes the opening one into the prompt; or there are none."""

SystemRole = Literal["obeyed", "shown", "dropped", "refused"]
"""What becomes of a system prompt; shown: the model reads it, and did not do as it says."""


def judge_state(known: Known) -> Finding[State]:
    """Whether an ordinary question is answered.

    Args:
        known: what was found out.
    """
    plain = known["plain"]
    if plain.reply is not None:
        return Finding[State](
            value="ready", evidence=f"a plain question was answered in {plain.elapsed_s:.1f} s"
        )
    failure = plain.failure
    if known.facts.loading or (failure is not None and failure.reason == "loading"):
        return Finding[State](
            value="loading",
            evidence="the server says that it is loading its model",
            detail=plain.detail,
        )
    if failure is None:
        return Finding[State].unmeasured(plain.why)
    if failure.code == "model_not_found":
        return Finding[State](
            value="model_not_found",
            evidence="the endpoint says that it has no model of this name",
            detail=plain.detail,
        )
    return Finding[State](
        value="failing", evidence=f"to a plain question {plain.why}", detail=plain.detail
    )


def judge_reasoning(known: Known) -> Finding[Reasoning]:
    """Where the model's thoughts are.

    Args:
        known: what was found out.
    """
    asked = [observed for observed in known.seen.values() if observed.reply is not None]
    if not asked:
        return Finding[Reasoning].unmeasured(known["plain"].why)
    kinds = [kind for observed in asked if (kind := _kind(observed))]
    if "field" in kinds:
        return Finding[Reasoning](value="field", evidence="thoughts came in a field of their own")
    if "orphan_closer" in kinds:
        return Finding[Reasoning](
            value="orphan_closer",
            evidence="the text begins with a thought and holds only its closing tag",
        )
    if "tags" in kinds:
        return Finding[Reasoning](value="tags", evidence="thoughts stand in the text between tags")
    if known.facts.opens_thought:
        return Finding[Reasoning](
            value="orphan_closer",
            evidence="the template ends the prompt with the opening tag of a thought",
        )
    return Finding[Reasoning](value="none", evidence=f"{len(asked)} replies held no thought")


def judge_thinking(known: Known) -> Finding[Honoured]:
    """Whether `enable_thinking` switches thoughts on or off.

    Args:
        known: what was found out.
    """
    told = known["thinking"]
    if told.refused:
        return Finding[Honoured](value="refused", evidence=told.why, detail=told.detail)
    if told.reply is None:
        return Finding[Honoured].unmeasured(told.why, told.detail)
    thought = bool(told.reply.reasoning)
    if known.thinks and not known.thought:
        return _template_switch(known)
    if known.thinks:
        return Finding[Honoured](
            value="ignored" if thought else "honoured",
            evidence="the model thinks, and went on when it was told not to"
            if thought
            else "the model thinks, and did not when it was told not to",
        )
    if thought:
        return Finding[Honoured](
            value="honoured", evidence="the model thought when it was told to, and only then"
        )
    return Finding[Honoured].unmeasured("the model thought neither by itself nor when told to")


def _template_switch(known: Known) -> Finding[Honoured]:
    """The switch of a template that opens a thought for a model that was not seen to have one."""
    opens = known.facts.opens_hushed
    if opens is None:
        return Finding[Honoured].unmeasured("the template opens a thought, and the model had none")
    return Finding[Honoured](
        value="ignored" if opens else "honoured",
        evidence="the template opens a thought, told not to or not"
        if opens
        else "the template opens a thought, and does not when it is told not to",
    )


def judge_system(known: Known) -> Finding[SystemRole]:
    """What becomes of a system prompt.

    Args:
        known: what was found out.
    """
    observed = known["system"]
    if observed.refused:
        return Finding[SystemRole](value="refused", evidence=observed.why, detail=observed.detail)
    if observed.reply is None:
        return Finding[SystemRole].unmeasured(observed.why, observed.detail)
    if SYSTEM_WORD in observed.text.lower():
        return Finding[SystemRole](
            value="obeyed", evidence="the answer is what the system prompt demands"
        )
    with_it, bare = observed.prompt_tokens, known["plain"].prompt_tokens
    if with_it is None or bare is None:
        return Finding[SystemRole].unmeasured(
            "the answer did not obey, and without counts nobody can tell who is to blame"
        )
    if with_it == bare:
        return Finding[SystemRole](
            value="dropped", evidence=f"the prompt has {bare} tokens with it and without"
        )
    return Finding[SystemRole](
        value="shown",
        evidence=f"the prompt has {with_it} tokens with it and {bare} without, and the model did not obey",
    )


def judge_repeatable(known: Known) -> Finding[bool]:
    """Whether the same question at temperature 0, with the same seed, gets the same answer.

    Args:
        known: what was found out.
    """
    first, second = known["plain"].reply, known["repeat"].reply
    if first is None or second is None:
        missing = known["repeat"] if first else known["plain"]
        return Finding[bool].unmeasured(missing.why, missing.detail)
    same = (first.text, first.reasoning) == (second.text, second.reasoning)
    return Finding[bool](
        value=same,
        evidence="two answers at temperature 0 with one seed were "
        + ("the same" if same else "not the same"),
    )


def _kind(observed: Observed) -> Reasoning | None:
    """Where the thoughts of one reply were, None when it holds none."""
    if observed.retracted:
        return "orphan_closer"
    reply = observed.reply
    if reply is None or not reply.reasoning:
        return None
    if reply.reasoning_field or (
        observed.content and not separate_reasoning(observed.content).reasoning
    ):
        return "field"
    tag = find_tag(observed.content)
    return "orphan_closer" if tag is not None and tag.kind == "close" else "tags"
