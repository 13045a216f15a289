"""Answers at status 200 of APIs that are no chat completions, to a sentence that says so. No I/O."""

from collections.abc import Callable, Mapping
from typing import Final

from rig.messages import as_array

_Payload = Mapping[str, object]

_APIS: Final[tuple[tuple[Callable[[_Payload], bool], str], ...]] = (
    (
        lambda payload: "done" in payload and ("message" in payload or "response" in payload),
        "the answer is one of Ollama's own API: let base_url end in /v1, where its OpenAI API is",
    ),
    (
        lambda payload: payload.get("type") == "message" and "content" in payload,
        "the answer is one of Anthropic's Messages API: ask for it with dialect='anthropic'",
    ),
    (
        lambda payload: (
            payload.get("object") == "response" or as_array(payload.get("output")) is not None
        ),
        "the answer is one of OpenAI's Responses API: let base_url end in /v1, with no path behind",
    ),
    (
        lambda payload: as_array(payload.get("candidates")) is not None,
        "the answer is one of Google's own API: let base_url lead to its OpenAI API",
    ),
    (
        lambda payload: isinstance(payload.get("content"), str) and "stop" in payload,
        "the answer is one of llama.cpp's own completions: let base_url end in /v1",
    ),
    (
        lambda payload: isinstance(payload.get("generated_text"), str),
        "the answer is one of TGI's own API: let base_url end in /v1",
    ),
)


def other_api(payload: _Payload) -> str:
    """What an answer without choices is, and what to change.

    Args:
        payload: the parsed JSON object.

    Returns:
        A sentence; "" for what is not known, and for errors.
    """
    return next((says for fits, says in _APIS if fits(payload)), "")
