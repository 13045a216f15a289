"""What answers to counts tell, and the text that stands for a prompt."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import to_json

from rig import Message, Tool, ToolCall
from rig.wire.tokens import decode_count, decode_prompt, plain_text

DATA = Path(__file__).parents[1] / "data" / "tokens"

RECORDED: dict[str, int | None] = {
    "llama-server.tokenize": 4,
    "llama-server-b4747.tokenize": 4,
    "llama-server.count_tokens": 31,
    "llama-server.chat_input_tokens": 31,
    "vllm.count_tokens": 21,
    "vllm.tokenize": None,
    "llama-cpp-python.tokenize": None,
    "llama-server-b4747.chat_input_tokens": None,
    "llama-server.apply_template": None,
}


@pytest.mark.parametrize(("name", "count"), RECORDED.items(), ids=RECORDED)
def test_real_answers_tell_their_count_or_none(name: str, count: int | None) -> None:
    assert decode_count((DATA / f"{name}.json").read_bytes()) == count


COUNTS: dict[str, tuple[object, int | None]] = {
    "the tokens themselves": ({"tokens": [1, 2, 3, 4, 5]}, 5),
    "tokens with their pieces": ({"tokens": [{"id": 56, "piece": "H"}]}, 1),
    "no tokens of an empty text": ({"tokens": []}, 0),
    "a count before the tokens": ({"count": 11, "tokens": [1, 2], "max_model_len": 4096}, 11),
    "input_tokens before all": ({"input_tokens": 9, "count": 1, "tokens": [1]}, 9),
    "a count of nothing": ({"count": 0, "tokens": [1]}, 0),
    "a whole float": ({"count": 11.0}, 11),
    "a null count beside tokens": ({"count": None, "tokens": [1, 2]}, 2),
    "a negative count": ({"count": -1}, None),
    "a broken float": ({"count": 1.5}, None),
    "true": ({"count": True}, None),
    "text": ({"count": "11"}, None),
    "beyond exact numbers": ({"count": 1 << 60}, None),
    "tokens that are no list": ({"tokens": 5}, None),
    "an error": ({"error": {"message": "no"}}, None),
    "a list": ([1, 2, 3], None),
    "a number": (5, None),
}


@pytest.mark.parametrize(("answer", "count"), COUNTS.values(), ids=COUNTS.keys())
def test_a_count_is_read_in_the_order_of_trust(answer: object, count: int | None) -> None:
    assert decode_count(to_json(answer)) == count


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>200 OK</html>",
        b"\xff\xfe",
        b'{"tokens": [1, 2',
        b'{"count": NaN}',
        b'{"count": 1e400}',
        b'{"count": ' + b"1" * 5000 + b"}",
        b"[" * 100_000,
    ],
    ids=["empty", "html", "binary", "cut", "nan", "infinite", "5000 digits", "deep"],
)
def test_bodies_that_are_no_json_tell_nothing(body: bytes) -> None:
    assert decode_count(body) is None
    assert decode_prompt(body) is None


@given(st.binary())
def test_any_bytes_are_a_count_or_none(body: bytes) -> None:
    count = decode_count(body)
    assert count is None or count >= 0


def test_a_rendered_prompt_is_text() -> None:
    prompt = decode_prompt((DATA / "llama-server.apply_template.json").read_bytes())
    assert prompt is not None
    assert prompt.endswith("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n")
    assert decode_prompt(b'{"prompt": 3}') is None


def nothing(value: dict[str, object]) -> str:
    return ""


TOOL = Tool(name="t", description="Does it.", input_schema={"type": "object"}, run=nothing)
WIRE = (
    '{"type":"function","function":{"name":"t","description":"Does it.",'
    '"parameters":{"type":"object","properties":{}}}}'
)


def test_a_prompt_without_turns_is_system_text_and_the_json_of_each_tool() -> None:
    system = Message(role="system", content="Be brief.")
    assert plain_text([system], [TOOL, TOOL]) == "Be brief." + WIRE + WIRE
    assert plain_text([], []) == ""


def test_turns_add_their_texts_thoughts_and_calls() -> None:
    messages = [
        Message(role="system", content="S"),
        Message(role="user", content="U"),
        Message(
            role="assistant",
            content="A",
            reasoning="R",
            tool_calls=(ToolCall(id="1", name="t", arguments='{"a":1}'),),
        ),
        Message(role="tool", content="T", tool_call_id="1"),
    ]
    assert plain_text(messages, ()) == 'SURAt{"a":1}T'
