"""Messages, calls and usage read what servers and clients really write."""

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from rig.errors import InvalidJSONError, InvalidRequestError
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
    plain_message,
    read_messages,
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
    "parts of the Responses API": (
        [{"type": "input_text", "text": "a"}, {"type": "output_text", "text": "b"}],
        "ab",
    ),
    "a part without a type": ([{"text": "a"}], "a"),
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


UNSENDABLE_CONTENT: dict[str, tuple[object, str]] = {
    "a number": (5, "content must be text or a list of parts, not int"),
    "one part alone": ({"type": "text", "text": "SECRET"}, "content must be text"),
    "a file": (
        [{"type": "file", "file": {"file_id": "SECRET"}}],
        'content[0]: parts of type "file"',
    ),
    "a video": (["a", {"type": "video_url", "video_url": {"url": "SECRET"}}], "content[1]: "),
    "a refusal of nobody": ([{"type": "refusal", "refusal": "SECRET"}], '"refusal"'),
    "a thought of nobody": ([{"type": "thinking", "thinking": "SECRET"}], '"thinking"'),
    "a part of no kind": ([{"type": None, "SECRET": 1}], "content[0]: such parts"),
    "a part of an odd kind": ([{"type": ["SECRET"]}], "content[0]: such parts"),
    "a kind like a sentence": ([{"type": "<|SE CRET|>" * 99}], "content[0]: such parts"),
    "a number as a part": ([7], "content[0]: such parts"),
    "text that is none": ([{"type": "text", "text": 5}], "content[0]: the text"),
    "text under another name": ([{"type": "text", "content": "SECRET"}], "content[0]: the text"),
    "an image without its URL": (
        ["a", {"type": "image_url", "image_url": {"uri": "SECRET"}}],
        "content[1].image_url.url: ",
    ),
    "audio of no format": (
        [{"type": "input_audio", "input_audio": {"data": "SECRET"}}],
        "content[0].input_audio.format: ",
    ),
}


@pytest.mark.parametrize(
    ("content", "told"), UNSENDABLE_CONTENT.values(), ids=UNSENDABLE_CONTENT.keys()
)
def test_content_that_can_not_be_sent_is_refused_and_named(content: object, told: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Message.model_validate({"role": "user", "content": content})
    assert told in caught.value.errors()[0]["msg"]
    assert "SECRET" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_an_image_is_read_from_its_bare_url() -> None:
    part = {"type": "image_url", "image_url": "https://x/y.png"}
    message = Message.model_validate({"role": "user", "content": ["look", part]})
    assert message.content == (
        TextPart(text="look"),
        ImagePart.model_validate({"image_url": {"url": "https://x/y.png"}}),
    )


REFUSALS: dict[str, tuple[dict[str, object], object]] = {
    "in its field": ({"content": None, "refusal": "no"}, "no"),
    "beside a text": ({"content": "Hm.", "refusal": "no"}, "Hm.\n\nno"),
    "as a part": ({"content": [{"type": "refusal", "refusal": "no"}]}, "no"),
    "null": ({"content": "yes", "refusal": None}, "yes"),
    "blank": ({"content": "yes", "refusal": " "}, "yes"),
}


@pytest.mark.parametrize(("wire", "content"), REFUSALS.values(), ids=REFUSALS.keys())
def test_a_refusal_is_what_the_assistant_said(wire: dict[str, object], content: object) -> None:
    assert Message.model_validate({"role": "assistant", **wire}).content == content


def test_a_refusal_beside_parts_is_one_more() -> None:
    image = ImagePart.from_bytes("image/png", b"x")
    message = Message.model_validate({"role": "assistant", "content": [image], "refusal": "no"})
    assert message.content == (image, TextPart(text="no"))


def test_a_legacy_function_call_is_a_call() -> None:
    call = {"name": "f", "arguments": '{"a": 1}'}
    message = Message.model_validate({"role": "assistant", "content": None, "function_call": call})
    assert [(one.name, one.input) for one in message.tool_calls] == [("f", {"a": 1})]
    newer = {"tool_calls": [{"id": "1", "name": "g"}], "function_call": call}
    message = Message.model_validate({"role": "assistant", **newer})
    assert [one.name for one in message.tool_calls] == ["g"]
    assert Message.model_validate({"role": "user", "function_call": call}).tool_calls == ()


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


# --- Made without validation ---


@pytest.mark.parametrize(
    ("made", "validated"),
    [
        (Message.made(role="user", content="a"), Message(role="user", content="a")),
        (ToolCall.made(id="1", name="f"), ToolCall(id="1", name="f")),
        (Usage.made(), Usage()),
        (TextPart.made(text="a"), TextPart(text="a")),
    ],
    ids=["message", "call", "usage", "part"],
)
def test_a_value_that_is_made_is_like_one_that_is_validated(
    made: BaseModel, validated: BaseModel
) -> None:
    assert made == validated
    assert made.model_dump() == validated.model_dump()
    assert made.model_dump(exclude_unset=True).keys() <= type(made).model_fields.keys()
    assert made.model_copy(update={}) == validated
    assert repr(made) == repr(validated)
    with pytest.raises(ValidationError):
        made.anything = 1  # type: ignore[attr-defined] # frozen, as all of them


COUNTERS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)


@given(
    st.dictionaries(
        st.sampled_from(
            [
                *Usage.model_fields,
                "input_tokens",
                "prompt_tokens_details",
                "completion_tokens_details",
                "unknown",
            ]
        ),
        COUNTERS
        | st.dictionaries(st.sampled_from(["cached_tokens", "reasoning_tokens"]), COUNTERS),
    )
)
def test_usage_is_read_from_a_wire_as_it_is_validated(wire: dict[str, object]) -> None:
    assert Usage.of(wire) == Usage.model_validate(wire)


TOTALS: dict[str, tuple[dict[str, Any], int]] = {
    "input and output": ({"prompt_tokens": 10, "completion_tokens": 5}, 15),
    "OpenAI's cached tokens are in the prompt": (
        {
            "prompt_tokens": 100,
            "completion_tokens": 5,
            "total_tokens": 105,
            "prompt_tokens_details": {"cached_tokens": 90},
        },
        105,
    ),
    "Anthropic's are beside the input": (
        {
            "input_tokens": 3,
            "output_tokens": 4,
            "cache_read_input_tokens": 20,
            "cache_creation_input_tokens": 10,
        },
        37,
    ),
    "also where they are fewer than the input": (
        {"input_tokens": 500, "output_tokens": 4, "cache_read_input_tokens": 20},
        524,
    ),
    "the Responses API's are in the input": (
        {
            "input_tokens": 100,
            "output_tokens": 4,
            "input_tokens_details": {"cached_tokens": 90},
        },
        104,
    ),
    "more cached than prompt can't be in it": (
        {"prompt_tokens": 3, "completion_tokens": 4, "cached_tokens": 20},
        27,
    ),
    "thoughts that are in the server's total alone": (
        {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 40},
        40,
    ),
    "nothing": ({}, 0),
}


@pytest.mark.parametrize(("wire", "total"), TOTALS.values(), ids=TOTALS)
def test_the_total_is_every_billed_token_counted_once(wire: dict[str, Any], total: int) -> None:
    usage = Usage.model_validate(wire)
    assert usage.total == total
    assert Usage.model_validate(usage.model_dump()).total == total


NAMES = st.sampled_from(["a", "", " b ", "null", "\ud800"]) | st.none() | st.just(7)
WIRE_CALLS = st.fixed_dictionaries(
    {"id": NAMES},
    optional={
        "type": st.just("function"),
        "index": st.just(0),
        "function": st.just({})
        | st.just("f")
        | st.fixed_dictionaries(
            {"name": NAMES},
            optional={"arguments": st.sampled_from(["{}", "", '{"a": 1}', None, {"a": 1}, [1]])},
        ),
        "origin": st.just("json"),
        "name": NAMES,
    },
)
WIRES = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "user", "assistant", "tool", "developer", "", None, 1])},
    optional={
        "content": st.sampled_from(["", "a", " \ud800", None, 7, [{"type": "text", "text": "a"}]]),
        "name": NAMES,
        "tool_call_id": NAMES,
        "tool_calls": st.none() | st.just(7) | st.lists(WIRE_CALLS, max_size=2),
        "reasoning": st.just("hm"),
        "refusal": st.just("no"),
        "tool_name": st.just("t"),
    },
)


@given(WIRES)
def test_a_dict_is_read_as_it_is_validated(wire: dict[str, Any]) -> None:
    try:
        validated = Message.model_validate(wire)
    except ValidationError:
        with pytest.raises(InvalidRequestError):
            read_messages([wire])
        return
    (read,) = read_messages([wire])
    assert read == validated
    assert repr(read) == repr(validated)
    assert read.model_fields_set == validated.model_fields_set
    assert [call.model_fields_set for call in read.tool_calls] == [
        call.model_fields_set for call in validated.tool_calls
    ]
    assert read.model_dump() == validated.model_dump()


CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}


@pytest.mark.parametrize(
    ("wire", "is_plain"),
    [
        ({"role": "user", "content": "a"}, True),
        ({"role": "system", "content": "a", "name": "b"}, True),
        ({"role": "assistant", "content": None, "tool_calls": [CALL]}, True),
        ({"role": "tool", "content": "a", "tool_call_id": "c"}, True),
        ({"role": "developer", "content": "a"}, False),
        ({"role": "user", "content": [{"type": "text", "text": "a"}]}, False),
        ({"role": "assistant", "content": "a", "reasoning": "b"}, False),
        ({"role": "assistant", "tool_calls": [CALL | {"origin": "json"}]}, False),
        ({"role": ["user"], "content": "a"}, False),
    ],
)
def test_what_most_clients_keep_is_read_without_validation(
    wire: dict[str, object], is_plain: bool
) -> None:
    assert (plain_message(wire) is not None) is is_plain
