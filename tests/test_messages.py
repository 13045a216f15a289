"""Messages, calls and usage read what servers and clients really write."""

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from rig.errors import InvalidJSONError
from rig.messages import (
    MAX_COUNT,
    AudioPart,
    ImagePart,
    Message,
    SignedThought,
    TextPart,
    ToolCall,
    Usage,
    as_array,
    as_object,
)


def test_an_image_is_sent_inline() -> None:
    assert ImagePart.from_bytes("image/jpeg", b"hi").image_url.url == "data:image/jpeg;base64,aGk="
    png = ImagePart.from_bytes("image/png", bytes.fromhex("89504e47"))
    assert png.image_url.url.endswith("base64,iVBORw==")


ARGUMENTS: dict[str, tuple[object, str]] = {
    "a text": ('{"a": 1}', '{"a": 1}'),
    "blanks around": (' {"a": 1}\n', '{"a": 1}'),
    "an object": ({"a": [1, None]}, '{"a":[1,null]}'),
    "a list": ([1], "[1]"),
    "a number": (7, "7"),
    "a flag": (True, "true"),
    "missing": (None, "{}"),
    "empty": ("", "{}"),
    "blank": (" \n\t", "{}"),
    "the word null": ("  null ", "{}"),
    "encoded twice": ('"{\\"a\\": 1}"', '{"a": 1}'),
    "a JSON string that holds no object": ('"hello"', '"hello"'),
    "a JSON string that holds a list": ('"[1]"', '"[1]"'),
    "a cut JSON string": ('"{\\"a', '"{\\"a'),
    "cut": ('{"a":', '{"a":'),
    "NaN": ({"a": float("nan")}, '{"a":NaN}'),
    "what can't be written": ({"a": object()}, "{"),
    "a JSON string with a lone surrogate": ('"\ud800"', '"\ud800"'),
}


@pytest.mark.parametrize(("raw", "text"), ARGUMENTS.values(), ids=ARGUMENTS)
def test_arguments_have_one_form(raw: object, text: str) -> None:
    assert ToolCall.model_validate({"name": "f", "arguments": raw}).arguments == text


@pytest.mark.parametrize(
    "wire",
    [
        {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}},
        {"id": "c", "function": {"name": " f ", "arguments": {"a": 1}}},
        {"id": "c", "name": "f", "arguments": {"a": 1}},
    ],
)
def test_a_call_is_read_nested_and_flat(wire: dict[str, object]) -> None:
    call = ToolCall.model_validate(wire)
    assert (call.id, call.name, call.input) == ("c", "f", {"a": 1})


@pytest.mark.parametrize("word", ["", "null", "None", " ", None, 7])
def test_what_is_no_id_and_no_name_is_empty(word: object) -> None:
    call = ToolCall.model_validate({"id": word, "name": word})
    assert (call.id, call.name) == ("", "")


@pytest.mark.parametrize(
    "arguments", ["{", "[1]", "null", "7", '{"a": NaN}', '{"a": 1} x', '{"a": "\ud800"}', "x"]
)
def test_only_an_object_is_an_input(arguments: str) -> None:
    call = ToolCall.model_construct(arguments=arguments)
    with pytest.raises(InvalidJSONError) as caught:
        _ = call.input
    assert caught.value.__context__ is None


def test_a_deep_input_is_an_ordinary_failure() -> None:
    with pytest.raises(InvalidJSONError):
        _ = ToolCall(arguments='{"a":' * 100_000).input


@pytest.mark.parametrize(
    ("role", "read"), [("developer", "system"), ("function", "tool"), ("model", "assistant")]
)
def test_other_words_for_a_role(role: str, read: str) -> None:
    assert Message.model_validate({"role": role, "content": "x"}).role == read


def test_an_unknown_role_is_refused_without_its_text() -> None:
    with pytest.raises(ValidationError) as caught:
        Message.model_validate({"role": "SECRET", "content": "x"})
    assert "SECRET" not in str(caught.value)


CONTENT: dict[str, tuple[object, object]] = {
    "a text": ("hi", "hi"),
    "null": (None, ""),
    "text parts": ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "ab"),
    "parts of our own": ((TextPart(text="a"), TextPart(text="b")), "ab"),
    "bare texts": (["a", "b"], "ab"),
    "an empty list": ([], ""),
}


@pytest.mark.parametrize(("raw", "content"), CONTENT.values(), ids=CONTENT)
def test_text_has_one_form(raw: object, content: object) -> None:
    assert Message.model_validate({"role": "user", "content": raw}).content == content


def test_parts_that_are_no_text_stay_parts() -> None:
    message = Message.model_validate(
        {
            "role": "user",
            "content": [
                "look: ",
                {"type": "image_url", "image_url": {"url": "https://x/y.png"}},
                {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "wav"}},
            ],
        }
    )
    assert isinstance(message.content, tuple)
    text, image, audio = message.content
    assert isinstance(text, TextPart)
    assert isinstance(image, ImagePart)
    assert isinstance(audio, AudioPart)
    assert message.text == "look: "


REASONING: dict[str, tuple[dict[str, object], str | None, str]] = {
    "none": ({}, None, "reasoning_content"),
    "llama.cpp's": ({"reasoning_content": "hm"}, "hm", "reasoning_content"),
    "vLLM's": ({"reasoning": "hm"}, "hm", "reasoning"),
    "both": ({"reasoning": "b", "reasoning_content": "a"}, "a", "reasoning_content"),
    "null": ({"reasoning": None}, None, "reasoning_content"),
    "no text": ({"reasoning": {"x": 1}}, None, "reasoning_content"),
    "a thinking part": (
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]},
        "hm",
        "reasoning_content",
    ),
}


@pytest.mark.parametrize(("wire", "reasoning", "field"), REASONING.values(), ids=REASONING)
def test_reasoning_is_read_from_its_field(
    wire: dict[str, object], reasoning: str | None, field: str
) -> None:
    message = Message.model_validate({"role": "assistant", **wire})
    assert (message.reasoning, message.reasoning_field) == (reasoning, field)


def test_a_message_survives_its_own_json() -> None:
    message = Message(
        role="assistant",
        content="x",
        tool_calls=(ToolCall(id="c", name="f", arguments='{"a": 1}', repairs=("comma",)),),
        reasoning="hm",
        reasoning_field="reasoning",
    )
    assert Message.model_validate_json(message.model_dump_json()) == message
    assert pickle.loads(pickle.dumps(message)) == message


def test_values_are_frozen() -> None:
    message: Any = Message(role="user", content="x")
    with pytest.raises(ValidationError):
        message.role = "tool"


USAGES: dict[str, tuple[object, dict[str, int], bool]] = {
    "none": (None, {}, False),
    "OpenAI's": (
        {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7},
        {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7},
        True,
    ),
    "no total": ({"prompt_tokens": 5, "completion_tokens": 2}, {"total_tokens": 7}, True),
    "Anthropic's": ({"input_tokens": 5, "output_tokens": 2}, {"total_tokens": 7}, True),
    "all zeros": ({"prompt_tokens": 0, "completion_tokens": 0}, {"total_tokens": 0}, False),
    "nulls": ({"prompt_tokens": None, "total_tokens": None}, {}, False),
    "one bad field": (
        {"prompt_tokens": "many", "completion_tokens": 2},
        {"prompt_tokens": 0, "completion_tokens": 2},
        True,
    ),
    "negative, fractional, flag": (
        {"prompt_tokens": -1, "completion_tokens": 1.5, "total_tokens": True},
        {"total_tokens": 0},
        False,
    ),
    "whole floats": ({"prompt_tokens": 5.0}, {"prompt_tokens": 5}, True),
    "not finite": ({"prompt_tokens": float("nan"), "total_tokens": float("inf")}, {}, False),
    "beyond belief": ({"prompt_tokens": MAX_COUNT + 1}, {}, False),
    "nested cache": (
        {"prompt_tokens": 83, "prompt_tokens_details": {"cached_tokens": 79}},
        {"cached_tokens": 79},
        True,
    ),
    "nested cache first": (
        {"prompt_tokens_details": {"cached_tokens": 79}, "cache_read_input_tokens": 5},
        {"cached_tokens": 79},
        True,
    ),
    "DeepSeek's cache": ({"prompt_cache_hit_tokens": 9}, {"cached_tokens": 9}, True),
    "Anthropic's cache": (
        {"cache_read_input_tokens": 900, "cache_creation_input_tokens": 20},
        {"cached_tokens": 900, "cache_creation_tokens": 20},
        True,
    ),
    "no details": (
        {"prompt_tokens": 50, "prompt_tokens_details": None},
        {"cached_tokens": 0},
        True,
    ),
    "reasoning": (
        {"completion_tokens_details": {"reasoning_tokens": 4}},
        {"reasoning_tokens": 4},
        True,
    ),
}


@pytest.mark.parametrize(("wire", "counts", "reported"), USAGES.values(), ids=USAGES)
def test_usage_keeps_what_is_a_count(wire: object, counts: dict[str, int], reported: bool) -> None:
    usage = Usage.model_validate(wire)
    assert {name: getattr(usage, name) for name in counts} == counts
    assert usage.reported is reported


def test_usage_adds_up() -> None:
    one = Usage(prompt_tokens=5, completion_tokens=2, cached_tokens=1, latency_s=0.5)
    two = Usage(prompt_tokens=7, reasoning_tokens=3, latency_s=0.25)
    both = one + two
    assert (both.prompt_tokens, both.completion_tokens, both.total_tokens) == (12, 2, 14)
    assert (both.cached_tokens, both.reasoning_tokens, both.latency_s) == (1, 3, 0.75)
    assert both.reported
    assert not (one + Usage()).reported


def test_usage_survives_its_own_json() -> None:
    usage = Usage(prompt_tokens=5, latency_s=0.5)
    assert Usage.model_validate_json(usage.model_dump_json()) == usage


@pytest.mark.parametrize("value", [None, 7, "x", [1], ()])
def test_only_an_object_is_an_object(value: object) -> None:
    assert as_object(value) is None


@pytest.mark.parametrize("value", [None, 7, "x", {}, b"x"])
def test_only_an_array_is_an_array(value: object) -> None:
    assert as_array(value) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=8,
)


@given(JSON)
def test_any_usage_is_read(value: Any) -> None:
    usage = Usage.model_validate({"prompt_tokens": value, "prompt_tokens_details": value})
    assert 0 <= usage.prompt_tokens <= MAX_COUNT


@given(JSON)
def test_any_arguments_are_a_text(value: Any) -> None:
    assert isinstance(ToolCall.model_validate({"arguments": value}).arguments, str)


SIGNED: dict[str, tuple[object, tuple[SignedThought, ...], str]] = {
    "signed": (
        [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "a"}],
        (SignedThought(thinking="hm", signature="s"),),
        "hm",
    ),
    "signed with nothing": (
        [{"type": "thinking", "thinking": "hm", "signature": ""}],
        (SignedThought(thinking="hm"),),
        "hm",
    ),
    "kept to itself": (
        [{"type": "thinking", "thinking": "", "signature": "s"}],
        (SignedThought(signature="s"),),
        "",
    ),
    "redacted": (
        [{"type": "redacted_thinking", "data": "x"}, {"type": "text", "text": "a"}],
        (SignedThought(type="redacted_thinking", data="x"),),
        "",
    ),
    "not signed": ([{"type": "thinking", "thinking": "hm"}], (), "hm"),
    "redacted to nothing": ([{"type": "redacted_thinking", "data": ""}], (), ""),
    "a signature that is no text": (
        [{"type": "thinking", "thinking": "hm", "signature": 1}],
        (),
        "hm",
    ),
    "a text": ("a", (), ""),
    "null": (None, (), ""),
}


@pytest.mark.parametrize(("content", "thoughts", "reasoning"), SIGNED.values(), ids=SIGNED.keys())
def test_signed_thoughts_are_kept_as_they_are(
    content: object, thoughts: tuple[SignedThought, ...], reasoning: str
) -> None:
    message = Message.model_validate({"role": "assistant", "content": content})
    assert message.thoughts == thoughts
    assert (message.reasoning or "") == reasoning
    assert message.text in {"", "a"}
    assert Message.model_validate(message.model_dump()) == message
    assert Message.model_validate_json(message.model_dump_json()) == message


SLOW = Usage(prompt_tokens=10, cached_tokens=4, completion_tokens=6, prompt_s=2, generation_s=3)
QUICK = Usage(prompt_tokens=5, completion_tokens=2, prompt_s=1, generation_s=0.5)


def test_times_of_a_sum_are_known_where_all_are() -> None:
    both = SLOW + QUICK
    assert (both.prompt_s, both.generation_s) == (3, 3.5)
    assert both.new_prompt_tokens == 11
    assert both.prompt_tokens_per_s == pytest.approx(11 / 3)
    for other in (Usage(prompt_tokens=1), Usage()):
        assert (SLOW + other).prompt_s is None
        assert (other + SLOW).completion_tokens_per_s is None


def test_the_first_token_of_a_sum_is_that_of_its_first_part() -> None:
    first, second = Usage(time_to_first_token_s=0.25), Usage(time_to_first_token_s=0.5)
    assert (first + second).time_to_first_token_s == 0.25
    assert (first + Usage()).time_to_first_token_s == 0.25
    assert (Usage() + second).time_to_first_token_s is None


@pytest.mark.parametrize(
    ("prompt", "cached", "new"), [(10, 4, 6), (10, 10, 0), (3, 10, 0), (0, 0, 0)]
)
def test_new_prompt_tokens_are_those_that_were_not_cached(
    prompt: int, cached: int, new: int
) -> None:
    assert Usage(prompt_tokens=prompt, cached_tokens=cached).new_prompt_tokens == new
