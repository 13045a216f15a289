"""Finding out what an endpoint says of itself: small requests that make nobody generate."""

from collections.abc import Mapping
from dataclasses import replace

import anyio

from rig.client.probes.facts import (
    MAX_FACT_BYTES,
    PLACES,
    Facts,
    Place,
    Tokenizer,
    listed_models,
    opens_thought,
    read_place,
    says_loading,
)
from rig.client.probes.line import Line
from rig.client.probes.questions import ECHO_TOOL, PLAIN
from rig.client.requester import ask
from rig.client.tokens import MAX_COUNT_BYTES
from rig.errors import ProtocolError, ResponseTooLargeError, RigError, StreamCutError
from rig.wire.decode import decode_models
from rig.wire.encode import encode_message, to_body
from rig.wire.tokens import decode_prompt

IDENTIFY_TIMEOUT_S = 10.0
"""Seconds for finding out which server answers and what it says of itself: a dozen GETs of some
milliseconds each. A server that keeps them waiting is probed as one that nobody knows."""

_TEMPLATE_PATHS = {"llama.cpp": "apply-template"}


async def identify(line: Line, model: str, *, timeout_s: float = IDENTIFY_TIMEOUT_S) -> Facts:
    """What the endpoint says of itself before anything is generated.

    Args:
        line: reaches the endpoint.
        model: the model's name.
        timeout_s: seconds for all of it; what was told until then counts.

    Raises:
        UnauthorizedError: it tells nothing without the right key.
        RigError: it could not be reached.
    """
    facts = Facts()
    with anyio.move_on_after(timeout_s):
        facts = replace(facts, loading=await _is_loading(line))
        if not facts.loading:
            facts = replace(facts, server=(await line.detect()).name)
        for place in PLACES.get(facts.server, ()):
            facts = await _asked(line, facts, place, model)
        return replace(facts, models=await _models(line))
    return facts


async def look_further(line: Line, facts: Facts, model: str) -> Facts:
    """The facts that are sure only once the model has answered: window, tokenizer, template.

    Args:
        line: reaches the endpoint.
        facts: what was known before.
        model: the model's name.
    """
    with anyio.move_on_after(IDENTIFY_TIMEOUT_S):
        facts = replace(facts, window_tokens=await line.window(model))
        return replace(facts, tokenizer=await _tokenizer(line, model))
    return facts


async def look_at_template(line: Line, facts: Facts, model: str) -> Facts:
    """The facts with whether the chat template opens a thought, where the server shows what it writes.

    Args:
        line: reaches the endpoint.
        facts: what was known before.
        model: the model's name.
    """
    path = _TEMPLATE_PATHS.get(facts.server)
    if path is None:
        return facts
    with anyio.move_on_after(IDENTIFY_TIMEOUT_S):
        facts = replace(facts, opens_thought=await _opens(line, path, model, {}))
        if facts.opens_thought:
            told = {"chat_template_kwargs": {"enable_thinking": False}}
            return replace(facts, opens_hushed=await _opens(line, path, model, told))
    return facts


async def _opens(line: Line, path: str, model: str, options: Mapping[str, object]) -> bool | None:
    """Whether the template ends a prompt inside a thought; None where it is not shown."""
    messages = [encode_message(turn) for turn in PLAIN]
    body = to_body({"model": model, "messages": messages, **options})
    answer = await ask(line.requester, "POST", path, body, max_bytes=MAX_COUNT_BYTES)
    prompt = decode_prompt(answer.body)
    return None if prompt is None else opens_thought(prompt)


async def _is_loading(line: Line) -> bool:
    """Whether /health says so; the only path llama.cpp answers with more than a 503 then.

    Raises:
        RigError: the endpoint could not be reached.
    """
    try:
        response = await line.requester.request("GET", "health", max_bytes=MAX_FACT_BYTES)
    except (ProtocolError, ResponseTooLargeError, StreamCutError):
        return False
    return says_loading(response.status, response.body)


async def _asked(line: Line, facts: Facts, place: Place, model: str) -> Facts:
    body = to_body({"model": model}) if place.method == "POST" else b""
    answer = await ask(line.requester, place.method, place.path, body, max_bytes=MAX_FACT_BYTES)
    return read_place(facts, place, answer.body) if answer.verdict == "ok" else facts


async def _models(line: Line) -> tuple[str, ...] | None:
    answer = await ask(line.requester, "GET", "v1/models", max_bytes=MAX_FACT_BYTES)
    try:
        return listed_models(decode_models(answer.body)) if answer.verdict == "ok" else None
    except RigError:
        return None


async def _tokenizer(line: Line, model: str) -> Tokenizer:
    count = await line.tokens.count_prompt(PLAIN, (ECHO_TOOL,), model)
    if count is None:
        return "none"
    return "prompts" if count.exact else "texts"
