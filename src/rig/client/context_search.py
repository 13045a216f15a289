"""Finding out how long a prompt a server takes by sending longer and longer ones."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Self

from rig.errors import (
    EmptyReplyError,
    InputTooLargeError,
    InvalidRequestError,
    RigError,
    UpstreamError,
)
from rig.late_dataclass import dataclass
from rig.messages import Message
from rig.model import ChatRequest
from rig.wire.faults import hints_overflow

FIRST_WORDS = 512
"""Words of the first prompt, about one token each. No server of use has less."""

MAX_WORDS = 32_768
"""Words of the longest prompt that is sent. Some proxies take prompts of any size, so there must be an
end; a model on a CPU already needs minutes for this one."""

STEP_WORDS = 256
"""Words between the longest prompt that is known to fit and the shortest that does not, at which the
search ends: a tenth of the smallest window in use."""


@dataclass(frozen=True, slots=True)
class ContextSearch:
    """The state of the search: doubling until a prompt is refused, then halving what is between.

    Attributes:
        fits: words of the longest prompt that was taken.
        refused: words of the shortest that was refused, None while there is none.
    """

    fits: int = 0
    refused: int | None = None

    @property
    def words(self) -> int | None:
        """The length to try next; None when the search is over and `fits` the answer."""
        if self.refused is None:
            return (
                min(max(2 * self.fits, FIRST_WORDS), MAX_WORDS) if self.fits < MAX_WORDS else None
            )
        if self.refused - self.fits <= STEP_WORDS:
            return None
        return (self.fits + self.refused) // 2

    def after(self, words: int, *, taken: bool) -> Self:
        """The state once a length was tried.

        Args:
            words: the length.
            taken: whether the server took it.
        """
        return replace(self, fits=words) if taken else replace(self, refused=words)


def search_request(model: str, words: int) -> ChatRequest:
    """The request that tries a length.

    Args:
        model: the model's name.
        words: how many words.
    """
    return ChatRequest(
        model=model, messages=(Message(role="user", content="word " * words),), max_tokens=1
    )


def is_refusal(error: RigError) -> bool:
    """Whether an error says that the prompt was too long, be it in ever so loose words.

    Args:
        error: what the server answered. Faults of the caller's rights, the rate or the connection are
            no refusals, whatever they say.
    """
    if isinstance(error, InputTooLargeError):
        return True
    if not isinstance(error, InvalidRequestError | UpstreamError) or error.status in {None, 200}:
        return False
    return hints_overflow(error.detail)


async def discover_context(ask: Callable[[ChatRequest], Awaitable[object]], model: str) -> int:
    """The length of the longest prompt that is taken, to within `STEP_WORDS` below it.

    At most 13 requests are sent, each for a single token; the last ones are as long as the window.

    Args:
        ask: sends a request.
        model: the model's name.

    Returns:
        Words, about a token each: a lower bound. `MAX_WORDS` where even those are taken.

    Raises:
        RigError: a request failed for another reason.
    """
    search = ContextSearch()
    while (words := search.words) is not None:
        search = search.after(words, taken=await _is_taken(ask(search_request(model, words))))
    return search.fits


async def _is_taken(asking: Awaitable[object]) -> bool:
    try:
        await asking
    except EmptyReplyError as error:
        if error.reason != "no_answer":
            raise
        return True  # a single token is often a thought, or the end
    except RigError as error:
        if not is_refusal(error):
            raise
        return False
    return True
