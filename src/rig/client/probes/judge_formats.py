"""What the probes say of answers in a given form: JSON schemas, JSON, grammars. Pure."""

from collections.abc import Callable
from typing import Literal

from rig.client.probes.finding import Enforcement, Finding
from rig.client.probes.known import Known
from rig.client.probes.observed import Observed
from rig.client.probes.questions import SCHEMA_ANSWER
from rig.client.probes.tool_surface import obeys_grammar
from rig.messages import as_object
from rig.wire.payload import parse_json

Malformed = Literal["refused", "ignored"]
"""What becomes of a grammar that can't be parsed."""


def judge_schema(known: Known) -> Finding[Enforcement]:
    """Whether a JSON schema is enforced against the prompt's wish.

    Args:
        known: what was found out.
    """
    return _enforced(known["json_schema"], _obeys_schema, "the schema")


def judge_json_object(known: Known) -> Finding[Enforcement]:
    """Whether `json_object` is enforced against the prompt's wish.

    Args:
        known: what was found out.
    """
    return _enforced(known["json_object"], _begins_object, "a JSON object")


def judge_grammar_alone(known: Known) -> Finding[Enforcement]:
    """Whether a grammar is enforced.

    Args:
        known: what was found out.
    """
    return _enforced(known["grammar"], obeys_grammar, "the grammar")


def judge_grammar_with_tools(known: Known) -> Finding[Enforcement]:
    """Whether a grammar is enforced beside a tool.

    Args:
        known: what was found out.
    """
    return _enforced(known["grammar with tools"], obeys_grammar, "the grammar")


def judge_malformed(known: Known) -> Finding[Malformed]:
    """What becomes of a grammar that can't be parsed.

    Args:
        known: what was found out.
    """
    observed = known["malformed grammar"]
    if observed.refused:
        return Finding[Malformed](value="refused", evidence=observed.why, detail=observed.detail)
    if observed.reply is None:
        return Finding[Malformed].unmeasured(observed.why, observed.detail)
    return Finding[Malformed](
        value="ignored", evidence="a grammar that can't be parsed was answered without a word of it"
    )


def _enforced(
    observed: Observed, obeys: Callable[[Observed], bool], form: str
) -> Finding[Enforcement]:
    if observed.refused:
        return Finding[Enforcement](value="refused", evidence=observed.why, detail=observed.detail)
    if observed.reply is None:
        return Finding[Enforcement].unmeasured(observed.why, observed.detail)
    if obeys(observed):
        return Finding[Enforcement](
            value="enforced",
            evidence=f"the answer is {form}, though the prompt asked for other words",
        )
    if not observed.text and observed.reply.reasoning:
        return Finding[Enforcement].unmeasured("the model only thought, and was cut")
    return Finding[Enforcement](
        value="ignored", evidence=f"the request was taken, and the answer is not {form}"
    )


def _value(text: str, *, partial: bool = False) -> object:
    try:
        return parse_json(text, partial=partial)
    except ValueError:
        return None


def _obeys_schema(observed: Observed) -> bool:
    return as_object(_value(observed.text)) == SCHEMA_ANSWER


def _begins_object(observed: Observed) -> bool:
    """Whether the answer is an object, or was cut inside of one that it consists of."""
    cut = observed.reply is not None and observed.reply.finish_reason in {"length", "repetition"}
    return as_object(_value(observed.text, partial=cut)) is not None
