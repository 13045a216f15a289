"""Completions of the usual shape, read by a few tests of types, read the same as any other is read."""

from collections.abc import Iterable
from copy import deepcopy
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import to_json

from rig.errors import RigError
from rig.model import Reply
from rig.text.salvage import OfferedTool
from rig.wire.decode import parse_object, read_any_completion, read_completion
from rig.wire.finish import FINISH_REASONS
from rig.wire.payload import is_parsed_array, is_parsed_object
from rig.wire.plain_reply import read_plain_reply

CAPTURES = Path(__file__).parents[1] / "data" / "wire" / "captures"
TOOLS = (OfferedTool("add", {"type": "object", "properties": {"a": {"type": "integer"}}}),)
HERMES = '<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>'
USAGE = {"prompt_tokens": 63, "completion_tokens": 17, "total_tokens": 80}
TIMINGS = {"prompt_n": 63, "prompt_ms": 41.2, "predicted_n": 17, "predicted_ms": 211.9}


def call(**more: Any) -> dict[str, Any]:
    function = {"name": "add", "arguments": '{"a": 40, "b": 2}'}
    return {"id": "c1", "type": "function", "function": function, **more}


# What one server writes beside the text and the calls, in the message and in the choice.
EMPTY: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "llama.cpp": ({}, {}, {"usage": USAGE, "timings": TIMINGS}),
    "llama.cpp before b5000": (
        {}, {}, {"usage": {**USAGE, "prompt_tokens_details": {"cached_tokens": 3}}},
    ),
    "vLLM": (
        dict.fromkeys(("refusal", "annotations", "audio", "function_call", "reasoning")),
        {"logprobs": None, "stop_reason": None, "token_ids": None},
        {"usage": {**USAGE, "prompt_tokens_details": None}, "prompt_logprobs": None},
    ),
    "SGLang": (
        {"reasoning_content": None},
        {"logprobs": None, "matched_stop": 2},
        {"usage": {**USAGE, "prompt_tokens_details": None, "reasoning_tokens": 0}},
    ),
    "Ollama": ({}, {}, {"usage": USAGE, "system_fingerprint": "fp_ollama"}),
    "LM Studio": ({}, {"logprobs": None}, {"usage": USAGE, "stats": {}}),
    "OpenAI": (
        {"refusal": None, "annotations": []},
        {"logprobs": None},
        {"usage": {
            **USAGE,
            "prompt_tokens_details": {"cached_tokens": 9, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 5, "audio_tokens": 0},
        }},
    ),
}  # fmt: skip
TOLD: dict[str, tuple[dict[str, Any], str]] = {
    "a text": ({"content": "It is 42."}, "stop"),
    "a text that was cut": ({"content": "It is"}, "length"),
    "a text beside no calls": ({"content": " It is 42.\n", "tool_calls": []}, "stop"),
    "a text with an angle and brackets": ({"content": "a[0] < b"}, "stop"),
    "a call": ({"content": None, "tool_calls": [call()]}, "tool_calls"),
    "a call whose arguments are an object": (
        {"tool_calls": [call(function={"name": "add", "arguments": {"a": 40, "b": [2.5]}})]},
        "tool_calls",
    ),
    "a call beside an empty text": ({"content": "", "tool_calls": [call(index=0)]}, "tool_calls"),
    "two calls": ({"content": "Both:", "tool_calls": [call(), call(id="c2")]}, "stop"),
    "a thought and a text": ({"content": "42", "reasoning_content": "Hm.\n"}, "stop"),
    "a thought and a call": (
        {"content": None, "reasoning": "Hm.", "tool_calls": [call()]}, "tool_calls",
    ),
}  # fmt: skip


def completion(server: str, what: str) -> dict[str, Any]:
    fields, beside, more = EMPTY[server]
    message, finish = TOLD[what]
    choice = {"index": 0, "message": {"role": "assistant", **fields, **message}, **beside}
    return {"id": "r1", "model": "m", "choices": [{**choice, "finish_reason": finish}], **more}


def outcome(read: Any, payload: dict[str, Any], tools: tuple[OfferedTool, ...]) -> Any:
    try:
        return read(payload, to_json(payload, inf_nan_mode="constants"), latency_s=0.5, tools=tools)
    except RigError as error:
        facts = (error.reason, error.detail, str(error), error.text, error.tool_calls)
        return type(error), facts, getattr(error, "usage", None), getattr(error, "reasoning", None)


def told(found: Any) -> Any:
    """All of an outcome, with what equality leaves out: whether a count is whole, say."""
    return repr(found) if isinstance(found, Reply) else found


@pytest.mark.parametrize("what", TOLD)
@pytest.mark.parametrize("server", EMPTY)
def test_what_servers_answer_with_is_read_without_a_search(server: str, what: str) -> None:
    payload = completion(server, what)
    found = read_plain_reply(payload, payload["choices"][0], b"", latency_s=0.5)
    assert isinstance(found, Reply)
    general = read_any_completion(payload, b"", latency_s=0.5)
    assert found == general
    assert told(found) == told(general)


@pytest.mark.parametrize(
    "content",
    ["<think>a</think>b", "a</think>b", "[TOOL_CALLS]", "", " \n", "\u200b", "Here is my thought process: a"],
)  # fmt: skip
def test_a_text_that_may_be_more_is_left_to_be_read(content: str) -> None:
    payload = completion("llama.cpp", "a text")
    payload["choices"][0]["message"]["content"] = content
    found = read_plain_reply(payload, payload["choices"][0], b"", tools=TOOLS)
    assert found is None


@pytest.mark.parametrize("content", ["add(a=1)", "`42`", "**42**", "It is: 42", HERMES])
def test_calls_that_come_as_text_are_read_where_tools_were_offered(content: str) -> None:
    payload = completion("llama.cpp", "a text")
    choice = payload["choices"][0]
    choice["message"]["content"] = content
    for tools in ((), TOOLS):
        found = read_plain_reply(payload, choice, b"seed", tools=tools)
        assert found == read_any_completion(payload, b"seed", tools=tools)


@pytest.mark.parametrize("content", [HERMES[:30], HERMES.replace("add", "subtract")])
def test_a_text_that_is_a_call_nobody_can_make_is_left_to_be_read(content: str) -> None:
    payload = completion("llama.cpp", "a text")
    choice = payload["choices"][0]
    choice["message"]["content"] = content
    assert read_plain_reply(payload, choice, b"", tools=TOOLS) is None


ABSENT = "(absent)"
ODD: list[Any] = [
    ABSENT, None, "", " ", 0, 1, -1, True, False, 1.5, float("nan"), 1 << 60, [], {}, [None], "a", "null", {"a": 1},
    "\u200b", ["a", "b"], {"type": "length"}, [{}],
]  # fmt: skip
TEXTS: list[Any] = [
    "It is 42.", "<think>a</think>b", "a</think>b", "<think>a", "b<|im_end|>", "</s>", " ", "\u200b", "\u200b</s>",
    "Here is my thought process: a Here is my response: b", "Here", "here's my thought process: a", "Hm.", "a < b",
    "[THINK]a[/THINK]b", "\u25c1think\u25b7a\u25c1/think\u25b7b", "Hm.</think>b", "<think>Hm.</think>b", "a\u0130b",
    "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b", "\n\nb\n", "caf\u00e9",
    '<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>', "add(a=1)", '{"name": "add", "arguments": {}}',
    [{"type": "text", "text": "b"}], [{"type": "thinking", "thinking": "a"}, {"type": "refusal", "refusal": "no"}],
    [{"type": "tool_use", "id": "x", "name": "add", "input": {"a": 1}}], "\ufffd", "\x00",
]  # fmt: skip
ARGUMENTS: list[Any] = [
    '{"a": 1}', " {} ", "", "null", '""', '"{}"', '{"a": 1', '{"a": NaN}', "[1]", '{"a": 1} x', {"a": 1}, [1], 1,
    '{"a": "\\ud83d"}', "{'a': 1}", "{" * 300, '{"a": ' + "9" * 5000 + "}", '{"a":1,"a":2}', "\u00a0{}",
]  # fmt: skip
NAMES: list[Any] = [
    "add", "functions.add:0", " add", "a" * 64, "a" * 65, "null", "None", "add<|x|>", "\u200badd", "a.b", "", "\u00e9",
]  # fmt: skip
IDS: list[Any] = ["c1", "c2", " c1 ", "", "null", "None", "i" * 500, 7, "\u00e9"]
WORDS: list[Any] = [
    *FINISH_REASONS,
    "STOP",
    "FinishReason.LENGTH",
    "max-tokens",
    "unheard_of",
    "not_stopped",
    "none",
]
COUNTS: list[Any] = [
    1, 63, 0, -1, 1.0, 1.5, (1 << 53) + 1, "7", None, True, float("inf"), [1], {}, ABSENT,
    {"cached_tokens": 3}, {"cached_tokens": "x", "more": 1},
]  # fmt: skip

THOUGHT_FIELDS = ("reasoning", "reasoning_content", "reasoning_details", "thinking", "thought")
MESSAGE_FIELDS = (
    *THOUGHT_FIELDS, "refusal", "function_call", "tool_calls", "content", "audio", "role", "annotations",
)  # fmt: skip
CHOICE_FIELDS = (
    "index", "message", "delta", "text", "finish_reason", "native_finish_reason", "stop_reason", "tool_calls",
    "error", "usage", "content_filter_results", "logprobs",
)  # fmt: skip
FIELDS = (
    "choices", "usage", "timings", "model", "error", "object", "base_resp", "id", "detail", "usageMetadata", "x_groq",
)  # fmt: skip

CALLS: list[Any] = [
    [call(), call()], [call(), None], [call(), {"id": "x", "function": {"arguments": '{"a": 1}'}}], call(), {"0": call()},
]  # fmt: skip
Place = tuple[str, str]


def changes_of(where: str, names: Iterable[str], values: Iterable[Any]) -> list[tuple[Place, Any]]:
    return [((where, name), value) for name, value in product(names, values)]


CHANGES: list[tuple[Place, Any]] = [
    *changes_of("message", MESSAGE_FIELDS, ODD),
    *changes_of("choice", CHOICE_FIELDS, ODD),
    *changes_of("payload", FIELDS, ODD),
    *changes_of("message", ("content", "refusal", *THOUGHT_FIELDS), TEXTS),
    *changes_of("choice", ["finish_reason"], WORDS),
    *changes_of("call", ("id", "call_id"), [*IDS, *ODD]),
    *changes_of("call", ["type"], ["custom", "function"]),
    *changes_of("call", ("type", "function"), ODD),
    *changes_of("function", ["name"], [*NAMES, *ODD]),
    *changes_of("function", ("arguments", "parameters"), [*ARGUMENTS, *ODD]),
    *changes_of(
        "usage",
        [*USAGE, "reasoning_tokens", "cached_tokens", "prompt_tokens_details", "cost"],
        COUNTS,
    ),
    *changes_of("timings", [*TIMINGS, "cache_n"], COUNTS),
    *changes_of("message", ["tool_calls"], CALLS),
    (("choice", "tool_calls"), [call()]),
    (("message", "function_call"), {"name": "add", "arguments": "{}"}),
]


def member(entries: object, index: int) -> Any:
    return entries[index] if is_parsed_array(entries) and entries else None


def changed(payload: dict[str, Any], changes: list[tuple[Place, Any]]) -> dict[str, Any]:
    """The completion with each change made where its place still is."""
    payload = deepcopy(payload)
    for (where, name), value in changes:
        choice = member(payload.get("choices"), 0)
        message = choice.get("message") if is_parsed_object(choice) else None
        one = member(message.get("tool_calls"), -1) if is_parsed_object(message) else None
        scopes = {
            "payload": payload, "choice": choice, "message": message, "call": one, "usage": payload.get("usage"),
            "timings": payload.get("timings"), "function": one.get("function") if is_parsed_object(one) else None,
        }  # fmt: skip
        scope: dict[str, Any] | None = scopes[where]
        if is_parsed_object(scope):
            scope[name] = deepcopy(value)
            if value == ABSENT:
                del scope[name]
    return payload


def assert_same(payload: object, tools: tuple[OfferedTool, ...]) -> None:
    raw = to_json(payload, inf_nan_mode="constants")
    read: Any = parse_object(raw)
    found = outcome(read_completion, read, tools)
    assert told(found) == told(outcome(read_any_completion, read, tools))


@pytest.mark.parametrize("what", ["a text", "two calls", "a thought and a text"])
def test_a_completion_with_one_thing_odd_reads_the_same_however_it_is_read(what: str) -> None:
    for change in CHANGES:
        assert_same(changed(completion("llama.cpp", what), [change]), TOOLS)


@given(
    server=st.sampled_from([*EMPTY]),
    what=st.sampled_from([*TOLD]),
    changes=st.lists(st.sampled_from(CHANGES), max_size=4),
    text=st.none() | st.text(max_size=8),
    with_tools=st.booleans(),
)
def test_a_completion_reads_the_same_however_it_is_read(
    server: str, what: str, changes: list[tuple[Place, Any]], text: str | None, with_tools: bool
) -> None:
    if text is not None:
        changes = [(("message", "content"), text), *changes]
    assert_same(changed(completion(server, what), changes), TOOLS if with_tools else ())


@pytest.mark.parametrize(
    "path", sorted(CAPTURES.glob("*/*.txt")), ids=lambda path: f"{path.parent.name}/{path.stem}"
)
def test_answers_of_real_servers_read_the_same(path: Path) -> None:
    try:
        payload: Any = parse_object(path.read_bytes().partition(b"\r\n\r\n")[2])
    except RigError:
        return
    for tools in ((), TOOLS):
        assert told(outcome(read_completion, payload, tools)) == told(
            outcome(read_any_completion, payload, tools)
        )
