"""What earlier streams told of a model's template: whether it opens a thought itself. No I/O."""

from rig.model import ChatRequest

MAX_REMEMBERED = 256
"""Models whose template opens a thought that a client remembers; past that the oldest is forgotten. An
endpoint serves a few dozen; the names are the callers' and could be any number."""

Key = tuple[str, bool | None]
"""The model, and whether it was told to think: a template told not to opens no thought."""


class ThinkingModels:
    """The models whose next stream should begin inside a thought.

    Where a template writes `<think>` into the prompt and the server does not separate reasoning, a
    reply begins with the thought and only its closing tag tells: what was shown until then has to be
    taken back. That happens once for each model; from then on its streams begin inside a thought,
    until one ends that never closed it.
    """

    def __init__(self) -> None:
        self._keys: dict[Key, None] = {}

    def __contains__(self, key: Key) -> bool:
        return key in self._keys

    def learn(self, key: Key, thinks: bool | None) -> None:
        """Take in what a stream told.

        Args:
            key: whose stream it was.
            thinks: whether its template opens a thought; None when the stream did not tell.
        """
        if thinks:
            self._keys[key] = None
            if len(self._keys) > MAX_REMEMBERED:
                del self._keys[next(iter(self._keys))]
        elif thinks is False:
            self._keys.pop(key, None)


def thinking_key(request: ChatRequest) -> Key:
    """What a request's stream is remembered by.

    Args:
        request: the request, its model named.
    """
    return request.model, request.options.enable_thinking
