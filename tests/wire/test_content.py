"""Content and thoughts in every shape servers give them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.wire.content import Content, read_content, read_thoughts

CONTENT: dict[str, tuple[object, Content]] = {
    "text": ("hi", Content(text="hi")),
    "null": (None, Content()),
    "a number": (7, Content()),
    "an empty list": ([], Content()),
    "text parts": (
        [{"type": "text", "text": "a"}, {"type": "output_text", "text": "b"}],
        Content(text="ab"),
    ),
    "bare texts": (["a", "b"], Content(text="ab")),
    "one part alone": ({"type": "text", "text": "a"}, Content(text="a")),
    "a part without a type": ([{"text": "a"}], Content(text="a")),
    "an image is skipped": (
        [{"type": "image_url", "image_url": {"url": "x"}}, {"type": "text", "text": "a"}],
        Content(text="a"),
    ),
    "null among the parts": ([None, "a", 3], Content(text="a")),
    "thinking as a list": (
        [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, "a"],
        Content(text="a", thoughts="hm"),
    ),
    "thinking as a text": (
        [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "a"}],
        Content(text="a", thoughts="hm"),
    ),
    "reasoning parts": ([{"type": "reasoning", "text": "hm"}], Content(thoughts="hm")),
    "a reasoning part of another kind": (
        [{"type": "reasoning_text", "text": "hm"}, {"type": "Reasoning.Summary", "summary": "so"}],
        Content(thoughts="hmso"),
    ),
    "a redacted thought": (
        [{"type": "redacted_thinking", "data": "xyz"}, {"type": "text", "text": "a"}],
        Content(text="a"),
    ),
    "a flag": (
        [{"thought": True, "text": "hm"}, {"thought": False, "text": "a"}],
        Content(text="a", thoughts="hm"),
    ),
    "a text object": (
        [{"type": "text", "text": {"value": "a", "annotations": []}}],
        Content(text="a"),
    ),
    "a value that is no text": ([{"type": "image", "value": "x"}], Content()),
    "a call": (
        [{"type": "tool_use", "name": "f", "input": {}}, "a"],
        Content(text="a", calls=({"type": "tool_use", "name": "f", "input": {}},)),
    ),
    "a refusal part": ([{"type": "refusal", "refusal": "no"}], Content(refusal="no")),
}


@pytest.mark.parametrize(("content", "read"), CONTENT.values(), ids=CONTENT)
def test_content_is_read(content: object, read: Content) -> None:
    assert read_content(content) == read


THOUGHTS: dict[str, tuple[dict[str, object], tuple[str | None, str]]] = {
    "none": ({}, (None, "")),
    "nulls": ({"reasoning_content": None, "reasoning": None}, (None, "")),
    "llama.cpp and DeepSeek": ({"reasoning_content": "hm"}, ("reasoning_content", "hm")),
    "vLLM": ({"reasoning": "hm"}, ("reasoning", "hm")),
    "both say the same": (
        {"reasoning": "hm", "reasoning_content": "hm"},
        ("reasoning_content", "hm"),
    ),
    "a blank one is none": ({"reasoning_content": " \n", "reasoning": "hm"}, ("reasoning", "hm")),
    "OpenRouter repeats itself": (
        {"reasoning": "hm", "reasoning_details": [{"type": "reasoning.text", "text": "hm"}]},
        ("reasoning", "hm"),
    ),
    "details alone": (
        {
            "reasoning_details": [
                {"type": "reasoning.summary", "summary": "a"},
                {"type": "reasoning.encrypted", "data": "xyz"},
                {"type": "reasoning.text", "text": "b"},
            ]
        },
        (None, "ab"),
    ),
    "an object": ({"reasoning": {"content": "hm"}}, ("reasoning", "hm")),
    "Ollama's own": ({"thinking": "hm"}, (None, "hm")),
    "LiteLLM's blocks": (
        {"thinking_blocks": [{"type": "thinking", "thinking": "hm"}]},
        (None, "hm"),
    ),
    "Copilot's": ({"reasoning_text": "hm"}, (None, "hm")),
    "a thought": ({"thought": "hm"}, (None, "hm")),
    "a flag named thought": ({"thought": True}, (None, "")),
    "nonsense": ({"reasoning_content": 7, "reasoning": [1, None]}, (None, "")),
}


@pytest.mark.parametrize(("message", "read"), THOUGHTS.values(), ids=THOUGHTS)
def test_thoughts_are_read_once(message: dict[str, object], read: tuple[str | None, str]) -> None:
    assert read_thoughts(message) == read


def test_parts_inside_parts_are_read_to_a_fixed_depth() -> None:
    deep: Any = "x"
    for _ in range(100_000):
        deep = [{"type": "thinking", "thinking": deep}]
    assert read_content(deep).thoughts == ""


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["type", "text", "thinking", "content"]), inner)
    ),
    max_leaves=10,
)


@given(JSON)
def test_any_value_is_read(value: object) -> None:
    read = read_content(value)
    assert isinstance(read.text + read.thoughts + read.refusal, str)
    field, text = read_thoughts({"reasoning": value, "thinking": value})
    assert isinstance(text, str)
    assert field in {None, "reasoning"}
