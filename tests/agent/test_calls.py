from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import from_json

from rig.agent.calls import (
    MALFORMED,
    REPLACED,
    TAIL_CHARS,
    TRUNCATED,
    UNNAMED_TOOL,
    give_ids,
    sendable,
)
from rig.messages import Message, ToolCall


def call(arguments: str = "{}", *, identity: str = "c1", name: str = "f") -> ToolCall:
    return ToolCall.model_construct(id=identity, name=name, arguments=arguments)


@pytest.mark.parametrize("arguments", ["{}", '{"a": 1}', ' {"a": {"b": [1, 2]}} '])
def test_a_call_that_can_be_sent_is_left_alone(arguments: str) -> None:
    original = call(arguments)
    assert sendable(original) is original


@pytest.mark.parametrize(
    "arguments",
    ["", " \n\t", '{"a": 1}</tool_call>', '```json\n{"a": 1}\n```', '"{\\"a\\": 1}"'],
    ids=["blank", "whitespace", "closer", "fence", "doubly encoded"],
)
def test_debris_around_an_object_goes(arguments: str) -> None:
    sent = sendable(call(arguments))
    assert from_json(sent.arguments) in ({}, {"a": 1})
    assert REPLACED not in sent.repairs


@pytest.mark.parametrize("arguments", ['{"a": 1,}', "{'a': 1}", "{a: 1} // one"])
def test_near_json_goes_out_repaired(arguments: str) -> None:
    sent = sendable(call(arguments))
    assert from_json(sent.arguments) == {"a": 1}
    assert sent.repairs
    assert REPLACED not in sent.repairs


UNUSABLE = {
    "near-json, cut": ("{path: 'a.java', content: 'public class", TRUNCATED),
    "near-json of several readings": ("{'a': 'it's'}", MALFORMED),
    "cut in a string": ('{"path": "a.java", "content": "public class', TRUNCATED),
    "cut after a colon": ('{"a":', TRUNCATED),
    "only a brace": ("{", TRUNCATED),
    "no json": ("not json at all", MALFORMED),
    "two objects": ('{"a": 1}{"b": 2}', MALFORMED),
    "trailing text": ('{"a": 1} trailing', MALFORMED),
    "array": ("[1, 2]", MALFORMED),
    "number": ("42", MALFORMED),
    "null": ("null", MALFORMED),
    "nan": ('{"a": NaN}', MALFORMED),
    "lone surrogate": ('{"a": "\ud800"}', MALFORMED),
}


@pytest.mark.parametrize(("arguments", "told"), UNUSABLE.values(), ids=UNUSABLE.keys())
def test_unusable_arguments_are_replaced_by_an_object_that_tells_of_them(
    arguments: str, told: str
) -> None:
    sent = sendable(call(arguments))
    stand_in = from_json(sent.arguments)
    assert stand_in["_error"] == told
    assert stand_in["_raw_chars"] == len(arguments)
    assert stand_in["_tail"] == arguments.encode("utf-8", "replace").decode()
    assert sent.repairs[-1] == REPLACED
    assert (sent.id, sent.name) == ("c1", "f")


def test_a_stand_in_keeps_only_the_tail_and_the_words_the_model_was_told() -> None:
    arguments = '{"text": "' + "x" * 100_000
    stand_in = from_json(sendable(call(arguments), "error: too long").arguments)
    assert stand_in == {
        "_error": "error: too long",
        "_raw_chars": len(arguments),
        "_tail": "x" * TAIL_CHARS,
    }


def test_a_name_left_out_gets_one_that_servers_take() -> None:
    assert sendable(call(name="")).name == UNNAMED_TOOL


@given(st.text())
def test_whatever_stood_there_an_object_is_sent_and_stays_as_it_is(text: str) -> None:
    sent = sendable(call(text))
    assert isinstance(from_json(sent.arguments, allow_inf_nan=False), dict)
    assert sendable(sent) is sent


IDS = {
    "kept": (["a", "b"], ["a", "b"]),
    "empty": (["", ""], ["rig000001", "rig000002"]),
    "first of a duplicate keeps it": (["dup", "dup"], ["dup", "rig000001"]),
    "no collision with a later one": (["", "rig000001"], ["rig000002", "rig000001"]),
    "taken by the conversation": (["old"], ["rig000001"]),
    "all at once": (
        ["", "dup", "dup", "rig000001"],
        ["rig000002", "dup", "rig000003", "rig000001"],
    ),
}


@pytest.mark.parametrize(("given_ids", "expected"), IDS.values(), ids=IDS.keys())
def test_every_call_gets_an_id_of_its_own(given_ids: list[str], expected: Any) -> None:
    before = [Message(role="assistant", tool_calls=(call(identity="old"),))]
    named = give_ids([call(identity=identity) for identity in given_ids], before)
    assert [one.id for one in named] == expected


@given(st.lists(st.sampled_from(["", "a", "b", "rig000001", "rig000002"]), max_size=40))
def test_ids_are_unique_and_unique_ids_stay(ids: list[str]) -> None:
    named = give_ids([call(identity=identity) for identity in ids], [])
    found = [one.id for one in named]
    assert all(found)
    assert len(set(found)) == len(found)
    assert give_ids(named, []) == named
    assert all(left != right for left, right in pairwise(sorted(found)))
