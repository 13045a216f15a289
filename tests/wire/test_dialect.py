"""What a dialect says when it can't say an option."""

from dataclasses import replace

import pytest
from pydantic_core import from_json

from rig.errors import InvalidRequestError
from rig.messages import Message
from rig.model import ChatOptions, ChatRequest
from rig.wire.dialect import Sent
from rig.wire.dialects import DIALECTS, GENERIC
from rig.wire.encode import encode_chat
from rig.wire.options import option_fields


def test_a_refusal_names_the_server_the_option_and_a_way_out() -> None:
    error = DIALECTS["lm-studio"].refusal("grammar", "describe the answer with a schema")
    assert isinstance(error, InvalidRequestError)
    assert error.reason == "grammar"
    assert "LM Studio" in error.message
    assert error.message.endswith("describe the answer with a schema")


def test_without_a_hint_there_is_still_a_way_out() -> None:
    assert "extra_body" in DIALECTS["openai"].refusal("min_p").message


def test_a_variant_is_made_by_replacing_a_field() -> None:
    mine = replace(GENERIC, options={**GENERIC.options, "min_p": Sent(path="sampling.min_p")})
    assert option_fields(ChatOptions(min_p=0.1), mine) == {"sampling": {"min_p": 0.1}}
    assert option_fields(ChatOptions(min_p=0.1)) == {"min_p": 0.1}


def test_an_option_a_dialect_says_nothing_of_is_refused() -> None:
    bare = replace(GENERIC, name="bare", options={})
    with pytest.raises(InvalidRequestError) as caught:
        option_fields(ChatOptions(seed=1), bare)
    assert caught.value.reason == "seed"


def test_dialects_are_values() -> None:
    assert replace(GENERIC) == GENERIC
    assert len({*DIALECTS.values()}) == len(DIALECTS)


def test_a_variant_names_the_system_and_the_limit_as_its_server_does() -> None:
    mine = replace(GENERIC, system_role="developer", max_tokens_field="max_len", stream_usage=False)
    messages = (Message(role="system", content="a"), Message(role="user", content="b"))
    request = ChatRequest(model="m", messages=messages, max_tokens=8)
    assert from_json(encode_chat(request, stream=True, dialect=mine)) == {
        "model": "m",
        "messages": [{"role": "developer", "content": "a"}, {"role": "user", "content": "b"}],
        "max_len": 8,
        "stream": True,
    }
