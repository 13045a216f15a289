"""Which endpoint has a conversation in its cache."""

import pytest

from rig import ImagePart, Message, TextPart
from rig.gateway import affinity
from rig.gateway.affinity import Affinity, conversation


def said(role: str, content: object) -> Message:
    return Message.model_validate({"role": role, "content": content})


SYSTEM = said("system", "be kind")
HELLO = said("user", "hello")


def test_a_conversation_keeps_its_key_while_it_grows() -> None:
    key = conversation("m", (SYSTEM, HELLO))
    grown = (SYSTEM, HELLO, said("assistant", "hi"), said("user", "and now?"))
    assert conversation("m", grown) == key
    assert conversation("m", (said("system", "be kind"), said("user", "hello"))) == key


OTHERS = {
    "another question": ("m", (SYSTEM, said("user", "hello?"))),
    "another system prompt": ("m", (said("system", "be brief"), HELLO)),
    "no system prompt": ("m", (HELLO,)),
    "another model": ("n", (SYSTEM, HELLO)),
    "an image beside it": (
        "m",
        (
            SYSTEM,
            Message(
                role="user",
                content=(TextPart(text="hello"), ImagePart.from_bytes("image/png", b"png")),
            ),
        ),
    ),
}


@pytest.mark.parametrize(("model", "messages"), OTHERS.values(), ids=OTHERS.keys())
def test_others_have_other_keys(model: str, messages: tuple[Message, ...]) -> None:
    assert conversation(model, messages) != conversation("m", (SYSTEM, HELLO))


def test_the_last_who_answered_is_remembered() -> None:
    memory = Affinity()
    assert memory.find(1) is None
    memory.learn(1, 0)
    memory.learn(1, 2)
    assert memory.find(1) == 2


def test_the_memory_is_bounded_and_forgets_who_was_not_heard_of_longest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(affinity, "MAX_CONVERSATIONS", 3)
    memory = Affinity()
    for key in (1, 2, 3, 1, 4):
        memory.learn(key, key)
    assert len(memory) == 3
    assert memory.find(2) is None
    assert memory.find(1) == 1


def test_only_leading_messages_are_looked_at() -> None:
    systems = tuple(said("system", f"rule {number}") for number in range(affinity.MAX_LEADING))
    assert conversation("m", (*systems, HELLO)) == conversation("m", systems)
