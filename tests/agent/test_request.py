import math
from collections.abc import Iterator
from dataclasses import MISSING, fields, replace
from typing import Any

import pytest

from rig.agent.budget import Budget
from rig.agent.request import (
    _DEFAULTS,
    _NAMES,
    _READERS,
    DEFAULT_ITERATIONS,
    MAX_ITERATIONS,
    RunRequest,
    request_of,
)
from rig.agent.toolbox import Toolbox
from rig.agent.tools import Tool
from rig.errors import InvalidRequestError
from rig.messages import ImagePart, Message, TextPart, ToolCall
from rig.model import ChatOptions

LOOK = Tool("look", "Look it up.", None, str)
CALLING = Message(role="assistant", tool_calls=(ToolCall(id="1", name="look"),))
RESULT = Message(role="tool", content="ok", tool_call_id="1")
USER = Message(role="user", content="a")


def request(prompt: Any = "a", **fields: Any) -> RunRequest[Any]:
    return RunRequest(prompt, **{"max_tokens": 10, **fields})


def tools() -> Iterator[Tool]:
    yield LOOK


GOOD = {
    "tools from a generator": {"tools": tools()},
    "tools in a box": {"tools": Toolbox([LOOK])},
    "zero temperature": {"temperature": 0},
    "the same temperature twice": {"temperature": 0.5, "options": ChatOptions(temperature=0.5)},
    "budget": {"budget": Budget(tokens=1)},
    "output": {"output": list[int]},
    "callbacks": {"on_event": print, "confirm": print},
    "the most rounds": {"max_iterations": MAX_ITERATIONS},
    "a blank prompt after a user turn": {"prompt": "", "history": [USER]},
    "a blank prompt after a result": {"prompt": " ", "history": [USER, CALLING, RESULT]},
    "a blank prompt declines waiting calls": {"prompt": "", "history": [USER, CALLING]},
    "approved calls": {"prompt": "", "history": [USER, CALLING], "approve": ["1"]},
    "approved calls and a prompt": {"history": [USER, CALLING], "approve": {"1"}},
}


@pytest.mark.parametrize("fields", GOOD.values(), ids=GOOD.keys())
def test_what_can_be_served_is_taken_and_stays_the_same_when_it_is_copied(
    fields: dict[str, Any],
) -> None:
    made = request(**fields)
    assert replace(made) == made


def test_what_nobody_sets_is_what_it_would_be_read_as() -> None:
    """Defaults are not read: they would not change."""
    for name, default in zip(_NAMES, _DEFAULTS, strict=True):
        if default is not MISSING:
            assert _READERS[name](default) is default


def test_all_that_is_given_is_read_but_what_may_be_anything() -> None:
    anything = {"tools", "temperature", "deps", "stream"}  # the first two in view of another
    assert {field.name for field in fields(RunRequest)} - {*_READERS} == anything


BAD = {
    "prompt of no kind": {"prompt": 3},
    "prompt of odd parts": {"prompt": [{"type": "video", "url": "secret"}]},
    "a blank prompt": {"prompt": " \n"},
    "no parts": {"prompt": []},
    "a blank prompt after an answer": {
        "prompt": "",
        "history": [USER, Message(role="assistant", content="b")],
    },
    "no tokens": {"max_tokens": 0},
    "negative tokens": {"max_tokens": -1},
    "tokens as text": {"max_tokens": "100"},
    "tokens as a flag": {"max_tokens": True},
    "half a token": {"max_tokens": 1.5},
    "no max_tokens": {"max_tokens": None},
    "model of no kind": {"model": None},
    "system of no kind": {"system": None},
    "instructions of no kind": {"instructions": None},
    "one round too many": {"max_iterations": MAX_ITERATIONS + 1},
    "negative rounds": {"max_iterations": -1},
    "rounds as a flag": {"max_iterations": True},
    "half a round": {"max_iterations": 1.5},
    "a temperature of no kind": {"temperature": "hot"},
    "a negative temperature": {"temperature": -0.1},
    "no temperature at all": {"temperature": math.nan},
    "two temperatures": {"temperature": 0.5, "options": ChatOptions(temperature=0.7)},
    "options of no kind": {"options": {"top_p": 1}},
    "a function that is no tool": {"tools": [print]},
    "one tool alone": {"tools": LOOK},
    "the same tool twice": {"tools": [LOOK, LOOK]},
    "history as text": {"history": "hello"},
    "history as one mapping": {"history": {"role": "user", "content": "a"}},
    "history of odd things": {"history": [USER, {"role": "robot"}]},
    "a budget of no kind": {"budget": 1000},
    "an output of no kind": {"output": object()},
    "an unknown limit": {"on_limit": "ignore"},
    "an event callback of no kind": {"on_event": 3},
    "a confirm callback of no kind": {"confirm": True},
    "approve as text": {"history": [USER, CALLING], "approve": "1"},
    "approve of odd things": {"history": [USER, CALLING], "approve": [1]},
    "approve without history": {"approve": ["1"]},
    "approve of a call that was answered": {
        "history": [USER, CALLING, RESULT],
        "approve": ["1"],
    },
    "approve of a call that is not there": {"history": [USER, CALLING], "approve": ["1", "2"]},
}


@pytest.mark.parametrize("fields", BAD.values(), ids=BAD.keys())
def test_what_can_not_be_served_is_refused_with_a_sentence(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        request(**fields)
    assert len(str(caught.value)) > 20
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("rounds", [-1, MAX_ITERATIONS + 1])
def test_the_cap_of_rounds_is_told(rounds: int) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        request(max_iterations=rounds)
    assert str(MAX_ITERATIONS) in str(caught.value)


def test_zero_rounds_mean_the_default() -> None:
    assert request(max_iterations=0).max_iterations == DEFAULT_ITERATIONS == 8


def test_temperature_becomes_an_option() -> None:
    made = request(temperature=0, options=ChatOptions(top_p=0.9))
    assert made.options == ChatOptions(temperature=0, top_p=0.9)


def test_a_temperature_in_the_options_stays_when_none_is_given() -> None:
    assert request(options=ChatOptions(temperature=1.0)).options.temperature == 1.0


def test_a_request_can_be_made_with_its_output_type_named() -> None:
    assert RunRequest[int]("a", max_tokens=1, output=int) == RunRequest(
        "a", max_tokens=1, output=int
    )


def test_history_is_read_into_messages() -> None:
    made = request(history=[{"role": "user", "content": None}])
    assert made.messages == (Message(role="user", content=""),)


def test_a_prompt_of_parts_is_read_into_parts() -> None:
    image = ImagePart.from_bytes("image/png", b"\x89PNG")
    made = request([{"type": "text", "text": "look"}, image])
    assert made.prompt == (TextPart(text="look"), image)


def test_what_tools_are_handed_is_not_shown() -> None:
    made = request(deps={"password": "hunter2"})
    assert "hunter2" not in repr(made)
    assert made.deps == {"password": "hunter2"}


@pytest.mark.parametrize("fields", GOOD.values(), ids=GOOD.keys())
def test_a_request_made_of_its_fields_at_once_is_the_same(fields: dict[str, Any]) -> None:
    given = {"prompt": "a", "max_tokens": 10, **fields}
    assert request_of(given) == replace(request_of(given))
    assert request_of(given) == RunRequest(**given)
