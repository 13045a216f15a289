"""Advice: what to change, by what was measured and which server it is."""

from datetime import UTC, datetime
from typing import Any

import pytest

from rig.client.probes.advice import RULES, Advice, advise
from rig.client.probes.facts import Facts
from rig.client.probes.finding import Finding
from rig.client.probes.judge import judge_profile
from rig.client.probes.known import Known
from rig.client.probes.profile import EndpointProfile
from rig.client.probes.running import Departure


def profile(server: str = "generic", **values: Any) -> EndpointProfile:
    """A profile of an endpoint that does everything, but for some values."""
    known = Known(model="m", facts=Facts(server=server))
    made = judge_profile(known, Departure(), measured_at=datetime.now(UTC), took_s=1)
    perfect: dict[str, Any] = {
        "state": "ready",
        "tools": "native",
        "tool_choice_required": "honoured",
        "streamed_calls": True,
        "arguments_lossless": True,
        "json_schema": "enforced",
        "grammar": "enforced",
        "malformed_grammar": "refused",
        "system_role": "obeyed",
        "reasoning": "none",
        "stop": "honoured",
        "max_tokens": "honoured",
        "long_prompts": "refused",
        "stream_usage": "always",
        "abort_on_close": True,
        "window_tokens": 32_768,
        "tokens_per_s": 50.0,
        "time_to_first_token_s": 0.1,
        "models": ("m",),
    }
    fields = {
        name: Finding[Any](value=value, evidence="x") for name, value in (perfect | values).items()
    }
    return made.model_copy(update={"spoken": server, **fields})


def about(topic: str, made: EndpointProfile) -> Advice:
    return next(advice for advice in advise(made) if advice.topic == topic)


@pytest.mark.parametrize(
    "server", ["generic", "llama.cpp", "vllm", "ollama", "sglang", "lm-studio"]
)
def test_an_endpoint_that_does_everything_needs_no_advice(server: str) -> None:
    assert advise(profile(server)) == ()


def test_an_endpoint_nothing_is_known_of_gets_none_either() -> None:
    known = Known(model="m")
    made = judge_profile(known, Departure(why="x"), measured_at=datetime.now(UTC), took_s=1)
    assert advise(made) == ()


CASES: dict[str, tuple[str, dict[str, Any], str, str, str]] = {
    # server, what was measured, topic, severity, words of the advice
    "loading": ("llama.cpp", {"state": "loading"}, "state", "error", "loading"),
    "no such model": ("ollama", {"state": "model_not_found"}, "state", "error", "named m"),
    "failing": ("generic", {"state": "failing"}, "state", "error", "log"),
    "a name that is not listed": ("vllm", {"models": ("other",)}, "model name", "hint", "lists"),
    "vLLM without a parser": (
        "vllm",
        {"tools": "auto_refused"},
        "tools",
        "error",
        "--enable-auto-tool-choice --tool-call-parser",
    ),
    "vLLM with another model's parser": (
        "vllm",
        {"tools": "text"},
        "tools",
        "error",
        "--tool-call-parser",
    ),
    "SGLang without a parser": (
        "sglang",
        {"tools": "text"},
        "tools",
        "error",
        "--tool-call-parser",
    ),
    "llama.cpp without jinja": ("llama.cpp", {"tools": "refused"}, "tools", "error", "--jinja"),
    "llama.cpp with a template without tools": (
        "llama.cpp",
        {"tools": "dropped"},
        "tools",
        "error",
        "--chat-template-file",
    ),
    "llama.cpp with a call in text": ("llama.cpp", {"tools": "text"}, "tools", "error", "--jinja"),
    "Ollama with a model without tools": (
        "ollama",
        {"tools": "refused"},
        "tools",
        "error",
        "library",
    ),
    "a server nobody knows with calls in text": (
        "generic",
        {"tools": "text"},
        "tools",
        "error",
        "parser",
    ),
    "a server nobody knows that drops tools": (
        "generic",
        {"tools": "dropped"},
        "tools",
        "error",
        "template",
    ),
    "a weak model": ("vllm", {"tools": "none"}, "tools", "warning", "trained for tool calls"),
    "a model that must be forced": ("vllm", {"tools": "forced"}, "tools", "warning", "tool_choice"),
    "arguments that change": (
        "vllm",
        {"arguments_lossless": False},
        "arguments",
        "warning",
        "parser",
    ),
    "required ignored": (
        "llama.cpp",
        {"tool_choice_required": "ignored"},
        "tool choice",
        "warning",
        "max_tokens",
    ),
    "calls lost in streams": (
        "generic",
        {"streamed_calls": False},
        "streamed calls",
        "warning",
        "stream=True",
    ),
    "Ollama cuts": (
        "ollama",
        {"long_prompts": "cut", "window_tokens": 4096},
        "long prompts",
        "error",
        "OLLAMA_CONTEXT_LENGTH",
    ),
    "old llama.cpp cuts": (
        "llama.cpp",
        {"long_prompts": "cut", "window_tokens": 2048},
        "long prompts",
        "error",
        "Update",
    ),
    "somebody cuts": (
        "generic",
        {"long_prompts": "cut", "window_tokens": 2048},
        "long prompts",
        "error",
        "context",
    ),
    "a small window": ("llama.cpp", {"window_tokens": 2048}, "window", "hint", "-c"),
    "a small window of Ollama": ("ollama", {"window_tokens": 4096}, "window", "hint", "num_ctx"),
    "no system prompt": (
        "generic",
        {"system_role": "dropped"},
        "system prompt",
        "error",
        "template",
    ),
    "a template that eats the tag": (
        "llama.cpp",
        {"reasoning": "orphan_closer"},
        "reasoning",
        "warning",
        "--reasoning-format",
    ),
    "vLLM without a reasoning parser": (
        "vllm",
        {"reasoning": "tags"},
        "reasoning",
        "warning",
        "--reasoning-parser",
    ),
    "SGLang without a reasoning parser": (
        "sglang",
        {"reasoning": "orphan_closer"},
        "reasoning",
        "warning",
        "--reasoning-parser",
    ),
    "a template that eats the tag somewhere": (
        "generic",
        {"reasoning": "orphan_closer"},
        "reasoning",
        "warning",
        "reasoning",
    ),
    "thoughts that can't be switched off": (
        "generic",
        {"thinking_switch": "ignored"},
        "thinking switch",
        "hint",
        "max_tokens",
    ),
    "a schema that is not enforced": (
        "generic",
        {"json_schema": "ignored"},
        "schema",
        "warning",
        "asks again",
    ),
    "a schema llama.cpp does not enforce": (
        "llama.cpp",
        {"json_schema": "refused"},
        "schema",
        "warning",
        "Update",
    ),
    "thoughts between tags in llama.cpp": (
        "llama.cpp",
        {"reasoning": "tags"},
        "reasoning",
        "hint",
        "--reasoning-format",
    ),
    "a server nobody knows that refuses tools": (
        "generic",
        {"tools": "refused"},
        "tools",
        "error",
        "Switch tool calling on",
    ),
    "a malformed grammar ignored": (
        "llama.cpp",
        {"malformed_grammar": "ignored"},
        "grammar",
        "warning",
        "Update",
    ),
    "stop ignored": ("generic", {"stop": "ignored"}, "stop", "warning", "max_tokens"),
    "max_tokens ignored": ("generic", {"max_tokens": "ignored"}, "max_tokens", "error", "Budget"),
    "goes on without a client": (
        "vllm",
        {"abort_on_close": False},
        "abort",
        "warning",
        "max_tokens",
    ),
    "no usage in streams": ("generic", {"stream_usage": "never"}, "usage", "hint", "estimated"),
    "unknown": ("generic", {"tools": None}, "unknown", "warning", "--timeout"),
    "slow": ("generic", {"tokens_per_s": 2.5}, "speed", "warning", "smaller model"),
    "slow to begin": ("generic", {"time_to_first_token_s": 30.0}, "first token", "hint", "queue"),
}


@pytest.mark.parametrize(
    ("server", "values", "topic", "severity", "words"), CASES.values(), ids=CASES
)
def test_each_fault_gets_its_advice(
    server: str, values: dict[str, Any], topic: str, severity: str, words: str
) -> None:
    advice = about(topic, profile(server, **values))
    assert advice.severity == severity
    assert words in advice.title + advice.what_to_change
    assert "{" not in advice.title + advice.what_to_change


def test_numbers_are_those_of_the_profile() -> None:
    assert (
        "4,096"
        in about("long prompts", profile("ollama", long_prompts="cut", window_tokens=4096)).title
    )
    assert "2.5" in about("speed", profile(tokens_per_s=2.5)).title


def test_a_client_that_speaks_to_a_known_server_as_to_any_is_told_its_dialect() -> None:
    made = profile("vllm", grammar="ignored").model_copy(update={"spoken": "generic"})
    assert 'dialect="vllm"' in about("dialect", made).what_to_change
    assert "structured_outputs" in about("grammar", made).what_to_change


def test_a_schema_that_is_ignored_over_another_api_is_no_reason_to_update() -> None:
    made = profile("llama.cpp", json_schema="ignored")
    assert "Update" in about("schema", made).what_to_change
    spoken = made.model_copy(update={"spoken": "anthropic"})
    assert "Update" not in about("schema", spoken).what_to_change


def test_the_worst_comes_first_and_no_topic_twice() -> None:
    made = profile(
        "ollama", tools="refused", long_prompts="cut", window_tokens=2048, stop="ignored"
    )
    advice = advise(made)
    assert [one.severity for one in advice] == ["error", "error", "warning", "hint"]
    assert len({one.topic for one in advice}) == len(advice)


def test_every_rule_can_be_given() -> None:
    """Each row is the first of its topic for some measurement of the cases above."""
    given = {
        (server, about(topic, profile(server, **values)).title)
        for server, values, topic, _, _ in CASES.values()
    }
    titles = {title for _, title in given}
    rules = [rule for rule in RULES if "{" not in rule.title]
    missing = [rule.title for rule in rules if rule.title not in titles]
    assert missing == ["vLLM ignores the field grammar without a word."]  # see above
