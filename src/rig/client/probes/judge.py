"""All that the probes saw, to a profile. Pure."""

from datetime import datetime

from rig.client.probes.facts import Tokenizer, lists
from rig.client.probes.finding import Finding
from rig.client.probes.judge_formats import (
    judge_grammar_alone,
    judge_grammar_with_tools,
    judge_json_object,
    judge_malformed,
    judge_schema,
)
from rig.client.probes.judge_limits import (
    judge_first_token,
    judge_latency,
    judge_long_prompts,
    judge_max_completion_tokens,
    judge_max_tokens,
    judge_speed,
    judge_stop,
    judge_stream_usage,
)
from rig.client.probes.judge_replies import (
    judge_reasoning,
    judge_repeatable,
    judge_state,
    judge_system,
    judge_thinking,
)
from rig.client.probes.judge_tools import (
    judge_lossless,
    judge_named,
    judge_parallel,
    judge_required,
    judge_streamed,
    judge_tools,
)
from rig.client.probes.known import Known
from rig.client.probes.profile import EndpointProfile
from rig.client.probes.running import Departure, judge_departure
from rig.client.probes.tool_surface import read_surface


def judge_profile(
    known: Known, departure: Departure, *, measured_at: datetime, took_s: float
) -> EndpointProfile:
    """The profile of an endpoint.

    Args:
        known: what was found out.
        departure: what the server did when a stream was left.
        measured_at: now.
        took_s: seconds it took.
    """
    surface = read_surface(known.model, known.seen)
    return EndpointProfile(
        model=known.model,
        spoken=known.spoken.name,
        measured_at=measured_at,
        took_s=round(took_s, 3),
        state=judge_state(known),
        server=_server(known),
        build=_build(known),
        models=_models(known),
        window_tokens=_window(known),
        tokenizer=_tokenizer(known),
        tools=judge_tools(known),
        tool_choice_required=judge_required(known),
        tool_choice_named=judge_named(known),
        parallel_calls=judge_parallel(known),
        streamed_calls=judge_streamed(known),
        arguments_lossless=judge_lossless(surface),
        json_schema=judge_schema(known),
        json_object=judge_json_object(known),
        grammar=judge_grammar_alone(known),
        grammar_with_tools=judge_grammar_with_tools(known),
        malformed_grammar=judge_malformed(known),
        system_role=judge_system(known),
        reasoning=judge_reasoning(known),
        thinking_switch=judge_thinking(known),
        stream_usage=judge_stream_usage(known),
        stop=judge_stop(known),
        repeatable=judge_repeatable(known),
        max_tokens=judge_max_tokens(known),
        max_completion_tokens=judge_max_completion_tokens(known),
        long_prompts=judge_long_prompts(known),
        abort_on_close=judge_departure(departure),
        latency_s=judge_latency(known),
        time_to_first_token_s=judge_first_token(known),
        tokens_per_s=judge_speed(known),
        tool_surface=surface,
    )


def _server(known: Known) -> Finding[str]:
    if known.facts.server == "generic":
        return Finding[str](
            value="generic", evidence="no place that only one server has gave an answer"
        )
    return Finding[str](
        value=known.facts.server, evidence="told by its list of models, or a place only it has"
    )


def _build(known: Known) -> Finding[str]:
    if not known.facts.build:
        return Finding[str].unmeasured("the server tells no version where rig knows to look")
    return Finding[str](value=known.facts.build, evidence="told by the server")


def _models(known: Known) -> Finding[tuple[str, ...]]:
    models = known.facts.models
    if models is None:
        return Finding[tuple[str, ...]].unmeasured("there is no list of models")
    named = (
        "the model is one of them" if lists(models, known.model) else "the model is not one of them"
    )
    return Finding[tuple[str, ...]](value=models, evidence=f"{len(models)} listed, {named}")


def _window(known: Known) -> Finding[int]:
    window = known.facts.window_tokens
    if window is None:
        return Finding[int].unmeasured("the endpoint does not say it anywhere")
    return Finding[int](value=window, evidence="told by the server, after the model had answered")


def _tokenizer(known: Known) -> Finding[Tokenizer]:
    tokenizer = known.facts.tokenizer
    if tokenizer is None:
        return Finding[Tokenizer].unmeasured("it was not looked for")
    evidence = {
        "prompts": "it counts whole prompts, its template included",
        "texts": "it counts texts, and prompts only piece by piece",
        "none": "no place where servers count gave a count",
    }
    return Finding[Tokenizer](value=tokenizer, evidence=evidence[tokenizer])
