"""What each probe sends, and when it has no sense any more."""

from dataclasses import replace

import pytest

from rig.client.probes.facts import Facts
from rig.client.probes.known import Known
from rig.client.probes.observed import Failure, Observed
from rig.client.probes.plan import (
    ABORT,
    MAX_LEFT_TOKENS,
    STEPS,
    SURFACE,
    Prepared,
    Step,
    echo_name,
    stop_word,
    tokens_per_s,
)
from rig.client.probes.questions import PAYLOADS, SHORT_TOKENS, THOUGHT_TOKENS
from rig.messages import ToolCall, Usage
from rig.model import ChatRequest, Reply
from rig.wire.dialects import DIALECTS
from rig.wire.encode import encode_chat

BY_NAME = {step.name: step for step in STEPS}
COUNTED = Observed(
    reply=Reply(
        text="1 2 3 4 5 6 7 8 9 10",
        usage=Usage(completion_tokens=41, reported=True, time_to_first_token_s=0.5),
    ),
    elapsed_s=1.5,
)
THOUGHT = Observed(reply=Reply(text="4", reasoning="hm"))
PLAIN = Observed(reply=Reply(text="4"))
CALLED = Observed(reply=Reply(tool_calls=(ToolCall(name="echo", arguments='{"text": "x"}'),)))
SILENT = Observed(reply=Reply(text="no"))
REFUSED = Observed(failure=Failure(code="invalid_request", status=400))


def known(*, server: str = "llama.cpp", spoken: str = "generic", **seen: Observed) -> Known:
    facts = Facts(server=server, build="b1", caps={"supports_tools": True}, window_tokens=4096)
    return Known(model="m", spoken=DIALECTS[spoken], facts=facts, seen={"stream": COUNTED, **seen})


def request(name: str, of: Known) -> ChatRequest:
    prepared: Prepared = BY_NAME[name].prepare(of)
    assert isinstance(prepared, ChatRequest), prepared
    return prepared


def why(name: str, of: Known) -> str:
    prepared = BY_NAME[name].prepare(of)
    assert isinstance(prepared, str)
    return prepared


def test_names_tell_steps_apart() -> None:
    assert len(BY_NAME) == len(STEPS)


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
@pytest.mark.parametrize("dialect", ["generic", "llama.cpp", "vllm", "sglang"])
def test_every_request_is_greedy_bounded_and_can_be_encoded(step: Step, dialect: str) -> None:
    seen = {"stop": PLAIN, "grammar": PLAIN, "tools": CALLED}
    prepared = step.prepare(known(server="llama.cpp", spoken=dialect, **seen))
    assert isinstance(prepared, ChatRequest)
    assert prepared.options.temperature == 0
    assert prepared.max_tokens <= MAX_LEFT_TOKENS
    if (dialect, step.name) == ("llama.cpp", "tool_choice by name"):
        return  # the dialect refuses it before anything is sent
    assert encode_chat(prepared, stream=True, dialect=DIALECTS[dialect])


def test_a_model_that_can_be_told_not_to_think_is_told_so() -> None:
    of = known(plain=THOUGHT, thinking=PLAIN)
    asked = request("system", of)
    assert asked.options.enable_thinking is False
    assert asked.max_tokens == request("system", known(plain=PLAIN)).max_tokens


def test_a_model_that_thinks_on_has_room_for_it_unless_the_limit_is_what_is_tested() -> None:
    of = known(plain=THOUGHT, thinking=THOUGHT)
    quiet = known(plain=PLAIN)
    assert request("system", of).max_tokens == request("system", quiet).max_tokens + THOUGHT_TOKENS
    assert request("short stream", of).max_tokens == SHORT_TOKENS


def test_the_switch_is_turned_to_what_it_was_not() -> None:
    assert request("thinking", known(plain=THOUGHT)).options.enable_thinking is False
    assert request("thinking", known(plain=PLAIN)).options.enable_thinking is True


def test_calls_are_required_where_the_dialect_can_say_so() -> None:
    name = echo_name("plain")
    assert request(name, known()).options.tool_choice == "required"
    assert request(name, known(spoken="ollama")).options.tool_choice is None


ROWS: dict[str, tuple[list[Observed], bool]] = {
    "the first": ([], True),
    "one brought no call": ([SILENT], True),
    "two brought no call": ([SILENT, SILENT], False),
    "the second brought one": ([SILENT, CALLED], True),
    "the first was refused": ([REFUSED], False),
}


@pytest.mark.parametrize(("rows", "sent"), ROWS.values(), ids=ROWS)
def test_payloads_are_sent_while_they_tell_something(rows: list[Observed], sent: bool) -> None:
    names = [echo_name(name) for name in PAYLOADS]
    of = replace(known(), seen=dict(zip(names, rows, strict=False)))
    assert isinstance(BY_NAME[names[-1]].prepare(of), ChatRequest) is sent


def test_the_tool_surface_sends_all_of_them_whatever_comes() -> None:
    of = replace(known(), seen={echo_name(name): SILENT for name in PAYLOADS})
    assert len(SURFACE) == 8
    assert all(isinstance(step.prepare(of), ChatRequest) for step in SURFACE)


WORDS = {
    "numbers": ("1 2 3 4 5 6 7 8 9 10", "6"),
    "a word that came before": ("a b c a b c d e", "d"),
    "too short": ("one two three", ""),
    "nothing": ("", ""),
    "one long line": ("x" * 1000, ""),
    "the same again and again": ("la la la la la la", ""),
}


@pytest.mark.parametrize(("text", "word"), WORDS.values(), ids=WORDS)
def test_the_stop_is_a_word_the_model_is_known_to_write(text: str, word: str) -> None:
    assert stop_word(text) == word


def test_a_malformed_grammar_is_not_sent_to_a_server_that_may_die_of_it() -> None:
    assert why("malformed grammar", known(server="generic", grammar=PLAIN))
    unknown_build = known(grammar=PLAIN)
    unknown_build = replace(unknown_build, facts=replace(unknown_build.facts, build=""))
    assert why("malformed grammar", unknown_build)
    assert why("malformed grammar", known(grammar=REFUSED))
    assert request("malformed grammar", known(grammar=PLAIN)).options.grammar


def test_max_completion_tokens_is_not_tried_without_another_end() -> None:
    name = "max_completion_tokens"
    assert why(name, known())
    assert why(name, known(stop=Observed(reply=Reply(text="1 2 3 4 5 6 7 8 9 10"))))
    sent = request(name, known(stop=Observed(reply=Reply(text="1 2 3 4 5 "))))
    assert sent.options.stop == ["6"]
    assert b'"max_tokens"' not in encode_chat(sent)


WINDOWS = {
    "llama.cpp of 2025": ("llama.cpp", False, 8_192, True),
    "a larger one": ("llama.cpp", False, 8_193, False),
    "llama.cpp that refuses": ("llama.cpp", True, 32_768, True),
    "vLLM refuses": ("vllm", False, 65_536, True),
    "too large for anybody": ("vllm", False, 131_072, False),
    "Ollama": ("ollama", False, 4_096, True),
}


@pytest.mark.parametrize(("server", "caps", "window", "sent"), WINDOWS.values(), ids=WINDOWS)
def test_a_window_is_overrun_where_that_is_cheap(
    server: str, caps: bool, window: int, sent: bool
) -> None:
    facts = Facts(server=server, caps={"x": True} if caps else {}, window_tokens=window)
    prepared = BY_NAME["long prompt"].prepare(Known(model="m", facts=facts))
    assert isinstance(prepared, ChatRequest) is sent


def test_an_unknown_window_is_not_overrun() -> None:
    assert isinstance(BY_NAME["long prompt"].prepare(Known(model="m")), str)


def test_a_stream_is_left_while_seconds_of_it_are_ahead() -> None:
    asked = request(ABORT, known())
    assert asked.max_tokens == 8 * 40
    assert asked.options.extra_body == {"ignore_eos": True}
    assert request(ABORT, known(server="generic")).options.extra_body == {}


BURST = Observed(
    reply=Reply(usage=Usage(completion_tokens=30, time_to_first_token_s=2.0, reported=True)),
    pieces=30,
    elapsed_s=2.001,
)
"""A stream that something on the way held back: it comes at once."""


def test_the_speed_is_the_servers_own_or_that_of_its_pieces() -> None:
    assert tokens_per_s(known()) == pytest.approx(40.0)
    own = Observed(reply=Reply(usage=Usage(completion_tokens=30, generation_s=0.5, reported=True)))
    assert tokens_per_s(known(stream=own)) == pytest.approx(60.0)
    assert tokens_per_s(known(stream=SILENT)) is None
    assert tokens_per_s(known(stream=BURST)) is None
    assert tokens_per_s(Known(model="m")) is None
