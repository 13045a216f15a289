"""The tables of what differs between servers."""

import json
from dataclasses import dataclass, field, fields
from typing import Any

import pytest

from rig.errors import InvalidRequestError
from rig.messages import Message
from rig.model import ChatOptions, ChatRequest
from rig.wire.dialects import (
    ANTHROPIC,
    DIALECTS,
    GENERIC,
    dialect_named,
    dialect_of,
    takes_completion_tokens,
)
from rig.wire.wires import wire_of

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
FORMAT = {"type": "json_schema", "json_schema": {"name": "city", "schema": SCHEMA}}
JSON = {"type": "json_object"}
NAMED = {"type": "function", "function": {"name": "look"}}
HI = Message(role="user", content="hi")
REFUSED = "refused"
NOTHING: dict[str, Any] = {}


@dataclass
class Spec:
    name: str
    description: str = "Look."
    input_schema: Any = field(default_factory=lambda: {"type": "object", "properties": {}})


TOOLS = (Spec("look"), Spec("listen"))


def these(value: Any, *names: str) -> dict[str, Any]:
    """The same fragment for some dialects."""
    return dict.fromkeys(names, value)


def same(value: Any) -> dict[str, Any]:
    """The same fragment for every dialect."""
    return these(value, *DIALECTS)


ROWS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "temperature": ({"temperature": 0}, same({"temperature": 0})),
    "top_p": ({"top_p": 0.5}, same({"top_p": 0.5})),
    "min_p": (
        {"min_p": 0.1},
        {
            **same({"min_p": 0.1}),
            **these(REFUSED, "ollama", "lm-studio", "openai", "anthropic"),
        },
    ),
    "min_p off": (
        {"min_p": 0},
        {
            **same({"min_p": 0}),
            "ollama": REFUSED,
            "lm-studio": REFUSED,
            "openai": NOTHING,
            "anthropic": NOTHING,
        },
    ),
    "top_k": (
        {"top_k": 40},
        {**same({"top_k": 40}), "ollama": REFUSED, "openai": REFUSED},
    ),
    "top_k off": (
        {"top_k": 0},
        {
            **same({"top_k": 0}),
            "vllm": {"top_k": -1},
            "sglang": {"top_k": -1},
            "ollama": REFUSED,
            "openai": NOTHING,
        },
    ),
    "seed": ({"seed": 0}, {**same({"seed": 0}), "anthropic": NOTHING}),
    "stop text": ({"stop": "a"}, {**same({"stop": "a"}), "anthropic": {"stop_sequences": ["a"]}}),
    "stop texts": (
        {"stop": ("a", "b")},
        {**same({"stop": ["a", "b"]}), "anthropic": {"stop_sequences": ["a", "b"]}},
    ),
    "frequency_penalty": (
        {"frequency_penalty": 0.5},
        {**same({"frequency_penalty": 0.5}), "anthropic": REFUSED},
    ),
    "frequency_penalty off": (
        {"frequency_penalty": 0},
        {**same({"frequency_penalty": 0}), "anthropic": NOTHING},
    ),
    "presence_penalty": (
        {"presence_penalty": -1},
        {**same({"presence_penalty": -1}), "anthropic": REFUSED},
    ),
    "repeat_penalty": (
        {"repeat_penalty": 1.1},
        {
            **same({"repeat_penalty": 1.1}),
            **these({"repetition_penalty": 1.1}, "vllm", "sglang"),
            **these(REFUSED, "ollama", "openai", "anthropic"),
        },
    ),
    "repeat_penalty off": (
        {"repeat_penalty": 1.0},
        {
            **same({"repeat_penalty": 1.0}),
            **these({"repetition_penalty": 1.0}, "vllm", "sglang"),
            "ollama": REFUSED,
            "openai": NOTHING,
            "anthropic": NOTHING,
        },
    ),
    "response_format schema": (
        {"response_format": FORMAT},
        {
            **same({"response_format": FORMAT}),
            "anthropic": {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}},
        },
    ),
    "response_format object": (
        {"response_format": JSON},
        {**same({"response_format": JSON}), "lm-studio": REFUSED, "anthropic": REFUSED},
    ),
    "response_format text": (
        {"response_format": {"type": "text"}},
        {**same({"response_format": {"type": "text"}}), "anthropic": NOTHING},
    ),
    "grammar": (
        {"grammar": 'root ::= "a"'},
        {
            **same(REFUSED),
            **these({"grammar": 'root ::= "a"'}, "generic", "llama.cpp"),
            "vllm": {"structured_outputs": {"grammar": 'root ::= "a"'}},
            "sglang": {"ebnf": 'root ::= "a"'},
        },
    ),
    "logprobs": (
        {"logprobs": True, "top_logprobs": 2},
        {
            **same({"logprobs": True, "top_logprobs": 2}),
            "lm-studio": REFUSED,
            "anthropic": REFUSED,
        },
    ),
    "logprobs off": (
        {"logprobs": False},
        {**same({"logprobs": False}), "lm-studio": NOTHING, "anthropic": NOTHING},
    ),
    "top_logprobs": (
        {"top_logprobs": 1},
        {**same({"top_logprobs": 1}), "lm-studio": REFUSED, "anthropic": REFUSED},
    ),
    "reasoning_budget_tokens": (
        {"reasoning_budget_tokens": 32},
        {
            **same(REFUSED),
            **these({"reasoning_budget_tokens": 32}, "generic", "llama.cpp"),
            "vllm": {"thinking_token_budget": 32},
            "anthropic": {"thinking": {"type": "enabled", "budget_tokens": 32}},
        },
    ),
    "no thought": (
        {"reasoning_budget_tokens": 0},
        {
            **same(REFUSED),
            **these({"reasoning_budget_tokens": 0}, "generic", "llama.cpp"),
            "vllm": {"thinking_token_budget": 0},
            "anthropic": NOTHING,
        },
    ),
    "no limit to thought": (
        {"reasoning_budget_tokens": -1},
        {
            **same(REFUSED),
            **these({"reasoning_budget_tokens": -1}, "generic", "llama.cpp"),
            "vllm": {"thinking_token_budget": -1},
            "anthropic": NOTHING,
        },
    ),
    "reasoning_budget_message": (
        {"reasoning_budget_tokens": 32, "reasoning_budget_message": "Stop."},
        {
            **same(REFUSED),
            **these(
                {"reasoning_budget_tokens": 32, "reasoning_budget_message": "Stop."},
                "generic",
                "llama.cpp",
            ),
            "vllm": {"thinking_token_budget": 32},
            "anthropic": {"thinking": {"type": "enabled", "budget_tokens": 32}},
        },
    ),
    "a message without a budget": ({"reasoning_budget_message": "Stop."}, same(NOTHING)),
    "enable_thinking": (
        {"enable_thinking": True},
        {
            **same({"chat_template_kwargs": {"enable_thinking": True}}),
            "ollama": {"reasoning_effort": "medium"},
            **these(REFUSED, "lm-studio", "openai", "anthropic"),
        },
    ),
    "thinking off": (
        {"enable_thinking": False},
        {
            **same({"chat_template_kwargs": {"enable_thinking": False}}),
            "ollama": {"reasoning_effort": "none"},
            **these(REFUSED, "lm-studio", "openai"),
            "anthropic": NOTHING,
        },
    ),
    "reasoning_effort": (
        {"reasoning_effort": "high"},
        {
            **same({"reasoning_effort": "high"}),
            "llama.cpp": {"chat_template_kwargs": {"reasoning_effort": "high"}},
            "lm-studio": REFUSED,
            "anthropic": {"output_config": {"effort": "high"}},
        },
    ),
    "effort says more than a switch": (
        {"reasoning_effort": "high", "enable_thinking": True},
        {
            **same(
                {
                    "reasoning_effort": "high",
                    "chat_template_kwargs": {"enable_thinking": True},
                }
            ),
            "llama.cpp": {
                "chat_template_kwargs": {"enable_thinking": True, "reasoning_effort": "high"}
            },
            "ollama": {"reasoning_effort": "high"},
            **these(REFUSED, "lm-studio", "openai", "anthropic"),
        },
    ),
    "tenant and priority": ({"tenant": "acme", "priority": "batch"}, same(NOTHING)),
    "trace_id": ({"trace_id": "t"}, same(NOTHING)),
    "extra_body": ({"extra_body": {"mine": {"a": 1}}}, same({"mine": {"a": 1}})),
}
"""Option by option: what is set, and what each dialect's body holds of it."""

TOOL_ROWS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "auto": (
        {"tool_choice": "auto"},
        {
            **same({"tool_choice": "auto"}),
            "ollama": NOTHING,
            "anthropic": {"tool_choice": {"type": "auto"}},
        },
    ),
    "none": (
        {"tool_choice": "none"},
        {
            **same({"tool_choice": "none"}),
            "ollama": NOTHING,
            "anthropic": {"tool_choice": {"type": "none"}},
        },
    ),
    "required": (
        {"tool_choice": "required"},
        {
            **same({"tool_choice": "required"}),
            "ollama": REFUSED,
            "anthropic": {"tool_choice": {"type": "any"}},
        },
    ),
    "named": (
        {"tool_choice": "look"},
        {
            **same({"tool_choice": NAMED}),
            **these(REFUSED, "llama.cpp", "ollama", "lm-studio"),
            "anthropic": {"tool_choice": {"type": "tool", "name": "look"}},
        },
    ),
    "one call": (
        {"parallel_tool_calls": False},
        {
            **same({"parallel_tool_calls": False}),
            **these(REFUSED, "ollama", "lm-studio"),
            "anthropic": {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
        },
    ),
    "many calls": (
        {"parallel_tool_calls": True},
        {
            **same({"parallel_tool_calls": True}),
            **these(NOTHING, "ollama", "lm-studio"),
            "anthropic": {"tool_choice": {"type": "auto", "disable_parallel_tool_use": False}},
        },
    ),
    "one call, required": (
        {"tool_choice": "required", "parallel_tool_calls": False},
        {
            **same({"tool_choice": "required", "parallel_tool_calls": False}),
            **these(REFUSED, "ollama", "lm-studio"),
            "anthropic": {"tool_choice": {"type": "any", "disable_parallel_tool_use": True}},
        },
    ),
}

CASES = [
    pytest.param(options, expected[name], name, tools, id=f"{name}: {row}")
    for table, tools in ((ROWS, ()), (TOOL_ROWS, TOOLS))
    for row, (options, expected) in table.items()
    for name in DIALECTS
]


def body(
    options: dict[str, Any], name: str, tools: tuple[Spec, ...] = (), *, stream: bool = False
) -> Any:
    dialect = DIALECTS[name]
    request = ChatRequest(
        model="m", messages=(HI,), max_tokens=64, tools=tools, options=ChatOptions(**options)
    )
    return json.loads(wire_of(dialect).encode(request, stream=stream, dialect=dialect))  # noqa: TID251  an independent reader


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(("options", "expected", "name", "tools"), CASES)
def test_an_option_is_sent_as_the_server_reads_it_or_refused(
    options: dict[str, Any], expected: Any, name: str, tools: tuple[Spec, ...], stream: bool
) -> None:
    if expected == REFUSED:
        with pytest.raises(InvalidRequestError) as caught:
            body(options, name, tools, stream=stream)
        assert caught.value.reason in options
        assert DIALECTS[name].title in caught.value.message
        return
    sent = body(options, name, tools, stream=stream)
    bare = body({}, name, tools, stream=stream)
    added = {key: value for key, value in sent.items() if bare.get(key) != value}
    added.pop("max_tokens", None)  # raised above a thinking budget, tested with the wire
    assert added == expected


def test_every_option_has_rows_in_the_table() -> None:
    set_in_rows = {key for table in (ROWS, TOOL_ROWS) for row in table.values() for key in row[0]}
    assert {option.name for option in fields(ChatOptions)} == set_in_rows


@pytest.mark.parametrize("name", DIALECTS)
def test_every_dialect_says_something_of_every_option(name: str) -> None:
    everywhere = {"trace_id", "extra_body", "tenant", "priority"}
    options = {option.name for option in fields(ChatOptions)} - everywhere
    assert set(DIALECTS[name].options) == options


FRAMES: dict[str, tuple[str, dict[str, Any]]] = {
    "generic": ("max_tokens", {"stream": True, "stream_options": {"include_usage": True}}),
    "llama.cpp": ("max_tokens", {"stream": True, "stream_options": {"include_usage": True}}),
    "vllm": ("max_tokens", {"stream": True, "stream_options": {"include_usage": True}}),
    "ollama": ("max_tokens", {"stream": True, "stream_options": {"include_usage": True}}),
    "sglang": ("max_tokens", {"stream": True, "stream_options": {"include_usage": True}}),
    "lm-studio": ("max_tokens", {"stream": True, "stream_options": {"include_usage": True}}),
    "openai": (
        "max_completion_tokens",
        {"stream": True, "stream_options": {"include_usage": True}},
    ),
    "anthropic": ("max_tokens", {"stream": True}),
}


@pytest.mark.parametrize("name", DIALECTS)
def test_a_bare_request_holds_nothing_else(name: str) -> None:
    limit, streaming = FRAMES[name]
    plain: dict[str, Any] = {
        "model": "m",
        "messages": [{"role": "user", "content": "hi"}],
        limit: 64,
    }
    assert body({}, name) == plain
    assert body({}, name, stream=True) == plain | streaming


@pytest.mark.parametrize("name", ["llama.cpp", "lm-studio"])
def test_a_tool_offered_alone_is_named_by_requiring_a_call(name: str) -> None:
    assert body({"tool_choice": "look"}, name, TOOLS[:1])["tool_choice"] == "required"


def test_ollama_is_told_to_call_nothing_by_offering_nothing() -> None:
    assert "tools" not in body({"tool_choice": "none"}, "ollama", TOOLS)
    assert len(body({"tool_choice": "auto"}, "ollama", TOOLS)["tools"]) == 2


@pytest.mark.parametrize("name", ["llama.cpp", "ollama", "lm-studio", "vllm", "sglang"])
def test_a_server_that_reads_max_tokens_gets_it_whatever_the_model_is_called(name: str) -> None:
    request = ChatRequest(model="o1", messages=(HI,), max_tokens=64)
    dialect = DIALECTS[name]
    sent = json.loads(wire_of(dialect).encode(request, dialect=dialect))  # noqa: TID251  an independent reader
    assert sent["max_tokens"] == 64
    assert "max_completion_tokens" not in sent


def test_further_structured_outputs_stand_beside_the_grammar() -> None:
    options = {"grammar": "g", "extra_body": {"structured_outputs": {"disable_fallback": True}}}
    assert body(options, "vllm")["structured_outputs"] == {"grammar": "g", "disable_fallback": True}


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("generic", "generic"),
        ("vllm", "vllm"),
        ("vLLM", "vllm"),
        ("llama.cpp", "llama.cpp"),
        ("llamacpp", "llama.cpp"),
        ("llama-cpp", "llama.cpp"),
        ("LM Studio", "lm-studio"),
        ("lmstudio", "lm-studio"),
        ("Anthropic", "anthropic"),
    ],
)
def test_a_dialect_is_found_by_its_name(given: str, name: str) -> None:
    assert dialect_named(given) is DIALECTS[name]


@pytest.mark.parametrize("given", ["", "vllm2", "gpt", "\u00e9"])
def test_an_unknown_name_is_answered_with_the_known_ones(given: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        dialect_named(given)
    assert caught.value.reason == "dialect"
    assert all(name in caught.value.message for name in DIALECTS)


@pytest.mark.parametrize(
    ("host", "model", "expected"),
    [
        ("127.0.0.1", "qwen3", GENERIC),
        ("127.0.0.1", "claude-sonnet-4", ANTHROPIC),
        ("127.0.0.1", "anthropic/claude-sonnet-4", GENERIC),
        ("127.0.0.1", "Claude-3", GENERIC),
        ("127.0.0.1", "claude", GENERIC),
        ("api.anthropic.com", "anything", ANTHROPIC),
        ("API.Anthropic.com.", "anything", ANTHROPIC),
        ("api.anthropic.com.evil.example", "m", GENERIC),
        ("notapi.anthropic.com", "m", GENERIC),
    ],
)
def test_host_and_model_tell_the_dialect(host: str, model: str, expected: object) -> None:
    assert dialect_of(host, model) is expected


@pytest.mark.parametrize(
    "model",
    [
        "o1",
        "o3-mini",
        "o4-mini-2025-04-16",
        "openai/o3",
        "GPT-5-mini",
        " o1 ",
        "gpt-5",
        "a/b/o1-preview",
        "o12",
    ],
)
def test_models_that_want_completion_tokens(model: str) -> None:
    assert takes_completion_tokens(model)


@pytest.mark.parametrize(
    "model",
    [
        "gpt-4o",
        "gpt-4o-mini",
        "gpt-3.5-turbo",
        "openhermes",
        "olmo-7b",
        "",
        "o",
        "o-1",
        "o1x",
        "o1/llama",
        "o\u0661",
        "qwen3",
    ],
)
def test_models_that_take_max_tokens(model: str) -> None:
    assert not takes_completion_tokens(model)
