"""What differs between servers and models, as data. No I/O.

Adding a server's spelling is adding a row here; the code that reads the rows knows no server.
"""

from collections.abc import Mapping
from types import MappingProxyType

from rig.messages import ReasoningField
from rig.model import FinishReason

FINISH_REASONS: Mapping[str, FinishReason] = MappingProxyType(
    {
        "stop": "stop",
        "eos": "stop",
        "eos_token": "stop",  # TGI
        "end": "stop",
        "end_turn": "stop",  # Anthropic behind a proxy
        "stop_sequence": "stop",
        "complete": "stop",
        "completed": "stop",
        "length": "length",
        "max_tokens": "length",
        "max_length": "length",
        "max_new_tokens": "length",
        "max_output_tokens": "length",
        "model_length": "length",  # Mistral
        "model_context_window_exceeded": "length",
        "tool_calls": "tool_calls",
        "tool_call": "tool_calls",
        "tool_use": "tool_calls",
        "function_call": "tool_calls",
        "function_calls": "tool_calls",
        "content_filter": "content_filter",
        "content_filtered": "content_filter",
        "refusal": "content_filter",
        "safety": "content_filter",  # Gemini behind a proxy, as the four below
        "recitation": "content_filter",
        "blocklist": "content_filter",
        "prohibited_content": "content_filter",
        "spii": "content_filter",
        "guardrail_intervened": "content_filter",  # Bedrock
    }
)
"""Why a reply ended, lower-case. The set is open (spring-ai 4900): a word that is not here is unknown."""

REASONING_FIELDS: tuple[tuple[str, ReasoningField | None], ...] = (
    ("reasoning_content", "reasoning_content"),  # llama.cpp, SGLang, DeepSeek, older vLLM
    ("reasoning", "reasoning"),  # vLLM, Ollama, OpenRouter
    ("reasoning_details", None),  # OpenRouter, a list of typed parts
    ("thinking", None),
)
"""Where a server puts thoughts, first match wins since they repeat each other (vercel/ai 8072), and
the field to send them back in; None where no server reads them back in that shape."""

ARGUMENT_KEYS = ("arguments", "parameters", "args", "input")
"""Names of a call's input (ollama/ollama 12738 and NousResearch/hermes-agent 5867 list the aliases)."""

NAME_PREFIXES = ("functions.", "function.")
"""Harmony and Kimi K2 write `functions.NAME`; no legal tool name holds a dot."""

_COMPLETION_TOKEN_FAMILY = "gpt-5"  # noqa: S105  a model's name, not a secret


def takes_completion_tokens(model: str) -> bool:
    """Whether a model refuses `max_tokens` and wants `max_completion_tokens`: gpt-5 and the o series.

    Args:
        model: the name as asked for; a vendor's prefix up to the last `/` is ignored.
    """
    name = model.rsplit("/", 1)[-1].strip().lower()
    if name.startswith(_COMPLETION_TOKEN_FAMILY):
        return True
    head = name.split("-", 1)[0]
    return head.startswith("o") and head[1:].isascii() and head[1:].isdigit()
