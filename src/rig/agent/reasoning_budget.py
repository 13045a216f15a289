"""How long a model may think: arithmetic over what is left of its window. No I/O."""

from dataclasses import replace
from typing import Final

from rig.errors import InvalidRequestError
from rig.model import ChatOptions

DEFAULT_BUDGET_MESSAGE: Final = (
    "The thinking budget is used up. Stop thinking and give the final answer now."
)
"""What a model is told when its budget ends and the caller has no words of his own. It is put into the
middle of a thought, so it is short and an order."""


def reasoning_budget(*, window: int | None, prompt_tokens: int | None, reserve: int) -> int | None:
    """Two thirds of what prompt and reserve leave of the window, in tokens.

    Args:
        window: tokens of the context window, None when unknown.
        prompt_tokens: tokens of the prompt, None when unknown.
        reserve: tokens to keep for everything that was not counted: the answer, results of tools still
            to come, turns of the conversation.

    Returns:
        The budget, at least 1. None when nothing is left, or a size is unknown: then send none at
        all, since a guess can only cut thoughts that had room.

    Raises:
        InvalidRequestError: reserve is not a whole number from 0 up.
    """
    if type(reserve) is not int or reserve < 0:
        raise InvalidRequestError("reserve must be a whole number of tokens, 0 or more")
    if window is None or prompt_tokens is None:
        return None
    free = window - prompt_tokens - reserve
    return max(free, 0) * 2 // 3 or None


def with_reasoning_budget(options: ChatOptions, budget: int | None) -> ChatOptions:
    """Options with a budget for thinking, unless they have one already.

    Args:
        options: the options; a budget in them stays as it is, 0 and -1 too, and nothing is added to it.
        budget: tokens, as `reasoning_budget` gives them; None changes nothing.

    Returns:
        The options with the budget and, where they have no message of their own,
        `DEFAULT_BUDGET_MESSAGE`. Whether the model thinks at all is left to `enable_thinking`.
    """
    if budget is None or options.reasoning_budget_tokens is not None:
        return options
    return replace(
        options,
        reasoning_budget_tokens=budget,
        reasoning_budget_message=options.reasoning_budget_message or DEFAULT_BUDGET_MESSAGE,
    )
