"""What a probe saw: the reply or the failure of one request, as a value. No I/O, no judgement."""

from collections.abc import Mapping
from dataclasses import field
from typing import Final

from rig.errors import EmptyReplyError, RigError
from rig.late_dataclass import dataclass
from rig.messages import Usage, as_array, as_object, split_reasoning_field
from rig.model import Reply
from rig.wire.payload import parse_json

PROBE_TIMEOUT: Final = "probe_timeout"
"""Code of a failure that is none of the endpoint's: the time of a probe was over."""

MAX_CONTENT_CHARS: Final = 20_000
"""Characters of a reply's own content that are looked at. A probe asks for 600 tokens at most."""

_PASSING: Final = frozenset({408, 425, 429, 502, 503, 504, 529})


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why there is no reply.

    Attributes:
        code: the error's code, or `PROBE_TIMEOUT`.
        status: HTTP status, None when there was none.
        reason: the error's reason.
        detail: what the endpoint said.
    """

    code: str
    status: int | None = None
    reason: str = ""
    detail: str = field(default="", repr=False)

    @property
    def refused(self) -> bool:
        """Whether the endpoint answered that it won't: neither busy nor out of reach.

        A 500 counts, since llama.cpp until 2025 and llama-cpp-python answer it to requests they don't
        take; so does a fault told at status 200.
        """
        if self.status is None:
            return self.reason == "error_in_reply"
        return 400 <= self.status < 520 and self.status not in _PASSING

    @property
    def unsendable(self) -> bool:
        """Whether nothing was sent, because the dialect has no way to say it."""
        return self.code == "invalid_request" and self.status is None

    @property
    def sentence(self) -> str:
        """What happened, without any text of the endpoint."""
        if self.code == PROBE_TIMEOUT:
            return "there was no answer in the time of a probe"
        if self.unsendable:
            return f"the dialect has no way to send the option {self.reason}"
        if self.status is None:
            return f"no usable answer came ({self.code}{f', {self.reason}' if self.reason else ''})"
        return f"the endpoint answered with http {self.status} ({self.code})"


def failure_of(error: RigError) -> Failure:
    """An error as a value, which holds no traceback.

    Args:
        error: what a request raised.
    """
    return Failure(code=error.code, status=error.status, reason=error.reason, detail=error.detail)


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """What came of one probe.

    Attributes:
        reply: the reply; a finished one without any answer counts, unlike everywhere else in rig.
        content: the content as the server wrote it, thoughts not taken out; "" for streams.
        failure: why there is no reply.
        skipped: why nothing was sent, "" when something was.
        pieces: deltas of a stream that carried text, thoughts or arguments.
        retracted: a stream took back what it had shown, because it was a thought.
        left: the stream was closed by the probe before its end.
        elapsed_s: seconds from the request to its end.
    """

    reply: Reply | None = field(default=None, repr=False)
    content: str = field(default="", repr=False)
    failure: Failure | None = None
    skipped: str = ""
    pieces: int = 0
    retracted: bool = False
    left: bool = False
    elapsed_s: float = 0.0

    @property
    def refused(self) -> bool:
        """Whether the endpoint, or its dialect, won't have the request."""
        failure = self.failure
        return failure is not None and (failure.refused or failure.unsendable)

    @property
    def detail(self) -> str:
        """What the endpoint said to it, "" when it did not fail."""
        return self.failure.detail if self.failure else ""

    @property
    def why(self) -> str:
        """Why there is no reply, as half a sentence."""
        if self.skipped:
            return self.skipped
        return self.failure.sentence if self.failure else "no reply came"

    @property
    def calls(self) -> int:
        """How many calls came as calls."""
        calls = self.reply.tool_calls if self.reply else ()
        return sum(call.origin == "native" for call in calls)

    @property
    def text(self) -> str:
        """The visible text."""
        return self.reply.text if self.reply else ""

    @property
    def prompt_tokens(self) -> int | None:
        """Tokens of the prompt as the server counted them."""
        usage = self.reply.usage if self.reply else None
        return usage.prompt_tokens or None if usage and usage.reported else None


NOT_SENT: Final = Observed(skipped="the probe was not reached")
"""What is known of a probe that did not run."""


def empty_reply(error: EmptyReplyError, body: bytes) -> Reply | None:
    """The reply behind an error that says it holds no answer; None for one without any choice.

    Args:
        error: what decoding raised.
        body: the answer, b"" for a stream.
    """
    if error.reason != "no_answer":
        return None
    message = _message(body)
    named, _ = split_reasoning_field(message)
    return Reply(reasoning=error.reasoning, reasoning_field=named, usage=error.usage or Usage())


def raw_content(body: bytes) -> str:
    """The content of a chat completion as the server wrote it.

    Args:
        body: an answer at status 200.
    """
    content = _message(body).get("content")
    return content[:MAX_CONTENT_CHARS] if isinstance(content, str) else ""


def _message(body: bytes) -> Mapping[str, object]:
    try:
        value: object = parse_json(body)
    except ValueError:
        return {}
    choices = as_array((as_object(value) or {}).get("choices"))
    choice = as_object(choices[0]) if choices else None
    return as_object((choice or {}).get("message")) or {}
