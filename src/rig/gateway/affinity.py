"""Which endpoint has a conversation in its cache: a bounded memory. No I/O.

A server that has read a prompt before reads only what is new of it, when the prompt begins the same. So
the next turn of a conversation belongs to where its last one was answered. A conversation is known
by how it begins: its messages up to the first one of the user. Those stay the same for as long as it lasts,
and agents that share a system prompt differ in them.
"""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Final

from rig.messages import Message

MAX_CONVERSATIONS: Final = 4096
"""Conversations that are remembered, the least recently asked is forgotten first: more than any server's
cache holds (llama.cpp keeps one a slot), in less than a megabyte."""

MAX_LEADING: Final = 8
"""Messages looked at for the first one of the user: system prompts come one or two at a time."""


def conversation(model: str, messages: Sequence[Message]) -> int:
    """What tells a conversation from others; texts are read once, since Python keeps their hashes.

    Args:
        model: the model's name.
        messages: the prompt.
    """
    return hash((model, *_leading(messages)))


def _leading(messages: Sequence[Message]) -> Iterator[object]:
    for message in messages[:MAX_LEADING]:
        yield message.role
        yield message.content
        if message.role == "user":
            return


class Affinity:
    """Conversations, and the endpoint that answered each last."""

    def __init__(self) -> None:
        self._places: OrderedDict[int, int] = OrderedDict()

    def __len__(self) -> int:
        return len(self._places)

    def find(self, key: int) -> int | None:
        """The endpoint that answered last, None where nothing is known.

        Args:
            key: the conversation.
        """
        return self._places.get(key)

    def learn(self, key: int, index: int) -> None:
        """An endpoint answered.

        Args:
            key: the conversation.
            index: the endpoint's place in the pool.
        """
        self._places[key] = index
        self._places.move_to_end(key)
        if len(self._places) > MAX_CONVERSATIONS:
            self._places.popitem(last=False)
