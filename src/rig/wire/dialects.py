"""What differs between servers and models, as data. No I/O.

Adding a server's spelling is adding a row here; the code that reads the rows knows no server. What
a server can't be told is refused before anything is sent: most servers ignore fields they do not know,
so nobody would notice that an option was lost.
"""

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from rig.errors import InvalidRequestError
from rig.messages import ReasoningField
from rig.wire.dialect import Dialect, Refused, Sent, Spelling, ToolChoice, Unsent

REASONING_FIELDS: tuple[tuple[str, ReasoningField | None], ...] = (
    ("reasoning_content", "reasoning_content"),  # llama.cpp, SGLang, DeepSeek, older vLLM
    ("reasoning", "reasoning"),  # vLLM, Ollama, OpenRouter
    ("reasoning_details", None),  # OpenRouter, a list of typed parts
    ("thinking", None),
    ("thinking_blocks", None),  # LiteLLM
    ("reasoning_text", None),  # GitHub Copilot
    ("thought", None),
    ("thoughts", None),
)
"""Where a server puts thoughts, first match wins since they repeat each other (vercel/ai 8072), and
the field to send them back in; None where no server reads them back in that shape."""

ARGUMENT_KEYS = ("arguments", "parameters", "args", "input")
"""Names of a call's input (ollama/ollama 12738 and NousResearch/hermes-agent 5867 list the aliases)."""

NAME_PREFIXES = ("functions.", "function.")
"""Harmony and Kimi K2 write `functions.NAME`; no legal tool name holds a dot."""

_COMPLETION_TOKEN_FAMILY = "gpt-5"  # noqa: S105  a model's name, not a secret


@lru_cache(maxsize=64)
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


_EVERY_CHOICE: Final[Mapping[str, ToolChoice]] = MappingProxyType(
    {"auto": "sent", "none": "sent", "required": "sent", "named": "sent"}
)
_NOT_BY_NAME: Final[Mapping[str, ToolChoice]] = MappingProxyType(
    {"auto": "sent", "none": "sent", "required": "sent"}
)

# The fields that every OpenAI-compatible server reads (OpenAI's API reference, chat/create).
_COMMON: Final[Mapping[str, Spelling]] = MappingProxyType(
    {
        "temperature": Sent(path="temperature"),
        "top_p": Sent(path="top_p"),
        "seed": Sent(path="seed"),
        "stop": Sent(path="stop"),
        "frequency_penalty": Sent(path="frequency_penalty"),
        "presence_penalty": Sent(path="presence_penalty"),
        "response_format": Sent(path="response_format"),
        "logprobs": Sent(path="logprobs"),
        "top_logprobs": Sent(path="top_logprobs"),
        "parallel_tool_calls": Sent(path="parallel_tool_calls"),
        "tool_choice": Sent(path="tool_choice"),
    }
)
_THINKING_KWARG: Final = Sent(path="chat_template_kwargs.enable_thinking")
_OFF_IS_MINUS_ONE: Final = ((0, -1),)
_NO_MESSAGE: Final = Unsent(why="the budget ends the thought without a word")
_NO_GRAMMAR: Final = "describe the answer with response_format and a JSON schema"
_ONE_CALL: Final = Refused(
    hint="more than one call can't be ruled out; run the first", unless=(True,)
)

# Server by server; sources stand beside what is not common.
_ROWS: Final = (
    # What is sent when nobody says who is asked: all of llama.cpp's own fields beside the common ones.
    # Servers that know a field not ignore it or say so, both measured.
    Dialect(
        name="generic",
        title="the server",
        options={
            **_COMMON,
            "min_p": Sent(path="min_p"),
            "top_k": Sent(path="top_k"),
            "repeat_penalty": Sent(path="repeat_penalty"),
            "grammar": Sent(path="grammar"),
            "reasoning_budget_tokens": Sent(path="reasoning_budget_tokens"),
            "reasoning_budget_message": Sent(path="reasoning_budget_message"),
            "enable_thinking": _THINKING_KWARG,
            "reasoning_effort": Sent(path="reasoning_effort"),
        },
        tool_choices=_EVERY_CHOICE,
        max_tokens_field=None,
    ),
    # tools/server/README.md and measured on b10434 and b11549. An object as tool_choice is read as
    # auto, also when it names a tool that is not offered; max_completion_tokens is ignored by older
    # builds, which then generate without end. reasoning_effort as a field is read since b10434
    # (ggml-org/llama.cpp 26941), among the arguments of the template by all.
    Dialect(
        name="llama.cpp",
        title="llama.cpp",
        options={
            **_COMMON,
            "min_p": Sent(path="min_p"),
            "top_k": Sent(path="top_k"),
            "repeat_penalty": Sent(path="repeat_penalty"),
            "grammar": Sent(path="grammar"),
            "reasoning_budget_tokens": Sent(path="reasoning_budget_tokens"),
            "reasoning_budget_message": Sent(path="reasoning_budget_message"),
            "enable_thinking": _THINKING_KWARG,
            "reasoning_effort": Sent(path="chat_template_kwargs.reasoning_effort"),
        },
        tool_choices=_NOT_BY_NAME,
    ),
    # vllm/entrypoints/openai/chat_completion/protocol.py, class ChatCompletionRequest. Measured on
    # 0.32: unknown fields (grammar, json_schema) are ignored with a 200, structured_outputs.grammar is
    # obeyed. thinking_token_budget needs the server's --reasoning-config; -1 is no limit. Older
    # releases refuse 0 as top_k.
    Dialect(
        name="vllm",
        title="vLLM",
        options={
            **_COMMON,
            "min_p": Sent(path="min_p"),
            "top_k": Sent(path="top_k", rewrite=_OFF_IS_MINUS_ONE),
            "repeat_penalty": Sent(path="repetition_penalty"),
            "grammar": Sent(path="structured_outputs.grammar"),
            "reasoning_budget_tokens": Sent(path="thinking_token_budget"),
            "reasoning_budget_message": _NO_MESSAGE,
            "enable_thinking": _THINKING_KWARG,
            "reasoning_effort": Sent(path="reasoning_effort"),
        },
        tool_choices=_EVERY_CHOICE,
    ),
    # openai/openai.go, ChatCompletionRequest and FromChatRequest: fields that are not there are ignored,
    # max_completion_tokens and tool_choice too. reasoning_effort "none" switches thinking off, any other
    # of its levels on.
    Dialect(
        name="ollama",
        title="Ollama",
        options={
            **_COMMON,
            "min_p": Refused(
                hint="its OpenAI API does not read it; set PARAMETER min_p in a Modelfile"
            ),
            "top_k": Refused(
                hint="its OpenAI API does not read it; set PARAMETER top_k in a Modelfile"
            ),
            "repeat_penalty": Refused(
                hint="its OpenAI API does not read it; set PARAMETER repeat_penalty in a Modelfile"
            ),
            "grammar": Refused(hint=_NO_GRAMMAR),
            "parallel_tool_calls": _ONE_CALL,
            "reasoning_budget_tokens": Refused(
                hint="it has no budget of tokens; set reasoning_effort"
            ),
            "reasoning_budget_message": _NO_MESSAGE,
            "enable_thinking": Sent(
                path="reasoning_effort",
                rewrite=((True, "medium"), (False, "none")),
            ),
            "reasoning_effort": Sent(path="reasoning_effort"),
        },
        tool_choices={"auto": "default", "none": "without_tools"},
    ),
    # python/sglang/srt/entrypoints/openai/protocol.py, class ChatCompletionRequest; a thinking budget is
    # made by server flags and custom_params (docs.sglang.io, thinking_budget).
    Dialect(
        name="sglang",
        title="SGLang",
        options={
            **_COMMON,
            "min_p": Sent(path="min_p"),
            "top_k": Sent(path="top_k", rewrite=_OFF_IS_MINUS_ONE),
            "repeat_penalty": Sent(path="repetition_penalty"),
            "grammar": Sent(path="ebnf"),
            "reasoning_budget_tokens": Refused(
                hint="start it with strict thinking and send the field it documents in extra_body"
            ),
            "reasoning_budget_message": _NO_MESSAGE,
            "enable_thinking": _THINKING_KWARG,
            "reasoning_effort": Sent(path="reasoning_effort"),
        },
        tool_choices=_EVERY_CHOICE,
    ),
    # lmstudio.ai/docs, chat completions: supported payload parameters. An object as tool_choice and
    # json_object are refused with 400 (lmstudio-ai/lmstudio-bug-tracker 670 and 189), chat_template_kwargs
    # are ignored (632); reasoning_effort reaches the templates of few models (2195).
    Dialect(
        name="lm-studio",
        title="LM Studio",
        options={
            **_COMMON,
            "min_p": Refused(hint="set it in the model's own settings"),
            "top_k": Sent(path="top_k"),
            "repeat_penalty": Sent(path="repeat_penalty"),
            "grammar": Refused(hint=_NO_GRAMMAR),
            "logprobs": Refused(unless=(False,)),
            "top_logprobs": Refused(unless=(0,)),
            "parallel_tool_calls": _ONE_CALL,
            "reasoning_budget_tokens": Refused(),
            "reasoning_budget_message": _NO_MESSAGE,
            "enable_thinking": Refused(
                hint="switch it in the model's settings; newer versions read reasoning_effort,"
                " which extra_body can hold"
            ),
            "reasoning_effort": Refused(
                hint="it reads it for few models; set it in the model's settings, or send"
                " reasoning_effort in extra_body"
            ),
        },
        tool_choices=_NOT_BY_NAME,
        response_formats=frozenset({"text", "json_schema"}),
    ),
    # OpenAI's API reference: a field it does not know is a 400; max_tokens is deprecated and refused by
    # the models that reason.
    Dialect(
        name="openai",
        title="OpenAI",
        options={
            **_COMMON,
            "min_p": Refused(unless=(0, 0.0)),
            "top_k": Refused(unless=(0, -1)),
            "repeat_penalty": Refused(
                hint="use frequency_penalty or presence_penalty", unless=(1, 1.0)
            ),
            "grammar": Refused(hint=_NO_GRAMMAR),
            "reasoning_budget_tokens": Refused(
                hint="it has no budget of tokens; set reasoning_effort"
            ),
            "reasoning_budget_message": _NO_MESSAGE,
            "enable_thinking": Refused(hint="set reasoning_effort"),
            "reasoning_effort": Sent(path="reasoning_effort"),
        },
        tool_choices=_EVERY_CHOICE,
        max_tokens_field="max_completion_tokens",
    ),
    # anthropic-sdk-python, types/message_create_params.py, thinking_config_enabled_param.py and
    # output_config_param.py. A thinking budget is itself the switch: without one there is no thought.
    Dialect(
        name="anthropic",
        title="Anthropic's Messages API",
        options={
            "temperature": Sent(path="temperature"),
            "top_p": Sent(path="top_p"),
            "top_k": Sent(path="top_k"),
            "stop": Sent(path="stop_sequences", form="texts"),
            "response_format": Sent(path="output_config.format", form="schema"),
            "tool_choice": Sent(path="tool_choice"),
            "parallel_tool_calls": Sent(path="tool_choice.disable_parallel_tool_use"),
            "reasoning_budget_tokens": Sent(path="thinking", form="thinking"),
            "reasoning_budget_message": _NO_MESSAGE,
            "enable_thinking": Unsent(why="a budget above 0 is the switch, none is off"),
            "reasoning_effort": Sent(path="output_config.effort"),
            "seed": Unsent(why="nothing here can be made repeatable"),
            "min_p": Refused(unless=(0, 0.0)),
            "frequency_penalty": Refused(unless=(0, 0.0)),
            "presence_penalty": Refused(unless=(0, 0.0)),
            "repeat_penalty": Refused(unless=(1, 1.0)),
            "grammar": Refused(hint=_NO_GRAMMAR),
            "logprobs": Refused(unless=(False,)),
            "top_logprobs": Refused(unless=(0,)),
        },
        tool_choices=_EVERY_CHOICE,
        response_formats=frozenset({"text", "json_schema"}),
        wire="messages",
        key_header="x-api-key",
    ),
)

DIALECTS: Final[Mapping[str, Dialect]] = MappingProxyType({row.name: row for row in _ROWS})
"""The dialects by name. `generic` is what is spoken when nobody says otherwise."""

GENERIC: Final = DIALECTS["generic"]
ANTHROPIC: Final = DIALECTS["anthropic"]

_ANTHROPIC_HOST = "api.anthropic.com"
_ANTHROPIC_MODELS = "claude-"


def dialect_named(name: object) -> Dialect:
    """The dialect of a name; case, dots, blanks and hyphens do not matter.

    Args:
        name: for example vllm or llama.cpp.

    Raises:
        InvalidRequestError: there is none of that name; the sentence lists them.
    """
    wanted = _letters(name) if isinstance(name, str) else ""
    for row in _ROWS:
        if _letters(row.name) == wanted:
            return row
    raise InvalidRequestError(
        f"dialect must be one of {', '.join(DIALECTS)}; or None, to tell by host and model",
        reason="dialect",
    )


def dialect_of(host: str, model: str) -> Dialect:
    """The dialect to speak when the caller names none.

    Args:
        host: the endpoint's host name.
        model: the model asked for.

    Returns:
        Anthropic's for its own host and for models whose name starts with `claude-`, else generic.
    """
    spoken = host.lower().rstrip(".") == _ANTHROPIC_HOST or model.startswith(_ANTHROPIC_MODELS)
    return ANTHROPIC if spoken else GENERIC


def _letters(name: str) -> str:
    return "".join(char for char in name.lower() if char.isalnum())
