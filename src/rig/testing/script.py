"""Which answer a request gets. No I/O."""

from collections import deque
from collections.abc import Mapping
from inspect import isawaitable

from rig.testing.answers import Answer, Repeat, Responder, answer
from rig.testing.completions import reply
from rig.testing.received import ReceivedRequest


class Script:
    """Answers in order; routes by path come first.

    Args:
        answers: one a request; text is a reply of that text.
        routes: path -> the answer every request to it gets.

    Raises:
        ValueError: a repeated answer is not the last one.
    """

    def __init__(
        self,
        answers: tuple[Answer | Responder | Repeat | str, ...],
        routes: Mapping[str, Answer | Responder | str],
    ) -> None:
        if any(isinstance(item, Repeat) for item in answers[:-1]):
            raise ValueError("repeat(...) never ends, so it must be the last answer")
        self._forever = answers[-1].answer if answers and isinstance(answers[-1], Repeat) else None
        self._waiting = deque(item for item in answers if not isinstance(item, Repeat))
        self._routes = dict(routes)
        self.unexpected = 0

    @property
    def unused(self) -> int:
        """How many answers no request has asked for."""
        return len(self._waiting)

    async def choose(self, request: ReceivedRequest) -> Answer:
        """The answer for this request."""
        chosen = self._next(request)
        if callable(chosen):
            made = chosen(request)
            chosen = await made if isawaitable(made) else made
        return reply(chosen) if isinstance(chosen, str) else chosen

    def _next(self, request: ReceivedRequest) -> Answer | Responder | str:
        if request.path in self._routes:
            return self._routes[request.path]
        if self._waiting:
            return self._waiting.popleft()
        if self._forever is not None:
            return self._forever
        self.unexpected += 1
        return _OUT_OF_ANSWERS


# A 400, which is final: a 5xx would be sent again, and a test would wait out the retries of its client.
_OUT_OF_ANSWERS = answer(
    400,
    {
        "error": {
            "code": 400,
            "message": "FakeBackend has no answer left for this request: give it more answers, or repeat(...)",
            "type": "fake_backend_exhausted",
        }
    },
)
