"""Every exception rig raises, in one tree. No I/O.

    RigError
    |-- InvalidRequestError       the request can't be served as it stands; change it
    |-- NotConfiguredError        the client or the server lacks something; change the set-up
    |-- UnauthorizedError         the endpoint refused the credentials (401, 403)
    |-- RateLimitedError          429: come back later
    |-- RequestTimeoutError       a time-out of rig's own ended the wait
    |-- RefusedError              the model or a content filter declined
    |-- UpstreamError             the endpoint failed
    |   |-- ServerError               a 5xx status
    |   |-- ModelNotFoundError        it has no such model
    |   |-- EmptyReplyError           a reply without text and without calls
    |   |-- StreamCutError            a stream that ended before it was finished
    |   `-- ProtocolError             an answer that is not what the protocol says
    |-- ResponseTooLargeError     an answer over the configured cap
    |-- InputTooLargeError        the prompt does not fit the context window
    |-- OutputLimitError          the reply was cut at max_tokens
    |-- IterationLimitError       rounds, or calls in one reply, ran out
    |-- BudgetExceededError       a limit of the run's budget ran out
    |-- NoToolCallingError        the probed model made no tool call
    |-- TruncatedToolCallError    a tool call whose arguments were cut
    |-- NotJSONError              text without any JSON object
    |-- InvalidJSONError          text whose JSON can't be parsed
    |-- SkillError                broken skill files
    |   `-- SkillsNotFoundError       there is no such directory of skills
    `-- ToolError                 a tool that can't be used, or that failed for good

Rules for whoever edits this file: a message is a sentence of ours and holds no URL, key, header or
text of an endpoint; what the endpoint said goes to `detail`, which `str()` and `repr()` never show.
What had come of a streamed reply goes to `text` and `tool_calls`, whichever error ended the stream.
Subclasses take one positional argument, the message, so that pickling and copying keep every field.
"""

from typing import TYPE_CHECKING, Any, ClassVar

from rig.late_dataclass import dataclass

if TYPE_CHECKING:
    from rig.events import RunResult
    from rig.messages import ToolCall, Usage

MAX_DETAIL_CHARS = 2000
"""Characters of endpoint text kept on `RigError.detail`. The longest useful server message seen in
the collected reports is about 600; a stack trace in HTML is not worth more."""


_FIRST_SERVER_FAULT = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Backpressure:
    """What a busy server said about its queue; 0 and "" mean not reported.

    Attributes:
        capacity: requests it serves at a time.
        in_flight: requests it is serving now.
        waiting: requests queued before this one.
        reason: its word for the state, one of rejected, queue-timeout, spill, exhausted, or "".
        retry_after_s: seconds it asked to wait, None when it did not ask.
    """

    capacity: int = 0
    in_flight: int = 0
    waiting: int = 0
    reason: str = ""
    retry_after_s: float | None = None

    @property
    def queued(self) -> bool:
        """True when the server reported slots or a queue, so that a wait can be explained."""
        return self.capacity > 0 or self.waiting > 0

    def __str__(self) -> str:
        parts: list[str] = []
        if self.capacity:
            parts.append(f"{self.in_flight}/{self.capacity} slots busy")
        if self.waiting:
            parts.append(f"{self.waiting} waiting ahead")
        if self.reason:
            parts.append(self.reason)
        return ", ".join(parts)


class RigError(Exception):
    """Base of everything rig raises.

    Args:
        message: one sentence of ours that says what is wrong and what to change.
        status: HTTP status of the answer, None when there was none.
        detail: text of the endpoint, cut at `MAX_DETAIL_CHARS`; never part of `str()` or `repr()`.
        reason: a word of rig's own vocabulary that tells cases of one class apart.
        retryable: overrides the class's answer to "could the same request succeed if sent again?".

    Attributes:
        code: the class's name on the wire and in logs, stable.
        result: the partial `RunResult` when the error ended a run, else None.
        attempts: requests that were sent before it was raised, retries included.
        text: the visible text of the reply that had arrived when it ended a stream, else "".
        tool_calls: the calls that had begun in it; their arguments may be cut: never run them.
    """

    code: ClassVar[str] = "error"
    retryable: bool = False
    attempts: int = 1
    text: str = ""
    tool_calls: "tuple[ToolCall, ...]" = ()

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        detail: str = "",
        reason: str = "",
        retryable: bool | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.detail = detail[:MAX_DETAIL_CHARS]
        self.reason = reason
        self.result: RunResult[Any] | None = None
        if retryable is not None:
            self.retryable = retryable

    @property
    def message(self) -> str:
        """The sentence alone, without code and status."""
        return str(self.args[0]) if self.args else ""

    def __str__(self) -> str:
        return self.message if self.status is None else f"{self.message} (http {self.status})"


class InvalidRequestError(RigError):
    """The request can't be served as it stands: found here before sending, or a 400/422 of the endpoint."""

    code = "invalid_request"


class NotConfiguredError(RigError):
    """Something the call needs is not set up: a base URL, a model, an extra, a path of the server."""

    code = "not_configured"


class UnauthorizedError(RigError):
    """The endpoint refused the credentials (401 or 403)."""

    code = "unauthorized"


class RateLimitedError(RigError):
    """The endpoint said 429 for longer than the retry budget, or retries are off.

    Attributes:
        retry_after_s: seconds the server asked to wait, None when it did not ask.
        backpressure: what it said about its queue, None when nothing.
    """

    code = "rate_limited"
    retryable = True
    retry_after_s: float | None = None
    backpressure: Backpressure | None = None


class RequestTimeoutError(RigError):
    """One of the time-outs ended the wait; `reason` is connect, write, first_byte, idle or total.

    Or the request was not sent: since none of the slots was free within the retry budget (queue), or no
    descriptor for a connection in time (too_many_files).
    """

    code = "timeout"
    retryable = True


class RefusedError(RigError):
    """The model or a content filter declined; sending the same again is no use.

    Attributes:
        category: the endpoint's word for it, an open set, "" when none was given.
    """

    code = "refused"
    category: str = ""


class UpstreamError(RigError):
    """The endpoint failed: no connection (`status` None), or an answer that is no use.

    Without an answer, `reason` tells the transport fault: connect_refused, connect_failed, dns, tls,
    reset, eof, write_failed, closed (on this side, while in use). `retryable` stays False there (the outcome is unknown); the retry policy
    knows these reasons and repeats them itself. With a status, `retryable` is whether it is 5xx. With
    too_many_files it is True: it was this process that could open no connection.
    """

    code = "upstream"

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        detail: str = "",
        reason: str = "",
        retryable: bool | None = None,
    ) -> None:
        if retryable is None and status is not None:
            retryable = status >= _FIRST_SERVER_FAULT
        super().__init__(message, status=status, detail=detail, reason=reason, retryable=retryable)


class ServerError(UpstreamError):
    """The endpoint answered with a 5xx; `reason` is loading while it loads the model.

    It is deterministic, and `retryable` False, where a request at temperature 0 got the same 500 twice.

    Attributes:
        retry_after_s: seconds the server asked to wait, None when it did not ask.
        backpressure: what it said about its queue, None when nothing.
    """

    code = "server_error"
    retryable = True
    retry_after_s: float | None = None
    backpressure: Backpressure | None = None


class ModelNotFoundError(UpstreamError):
    """The endpoint has no model of that name."""

    code = "model_not_found"


class EmptyReplyError(UpstreamError):
    """A finished reply holds neither text nor tool calls, or no choice at all.

    Attributes:
        reasoning: the thoughts the model wrote instead of an answer.
        usage: what the reply cost all the same, None when no choice came.
    """

    code = "empty_reply"
    reasoning: str = ""
    usage: "Usage | None" = None


class StreamCutError(UpstreamError):
    """A stream or body ended before it was finished.

    With `reason` failed it was the server that ended the reply, whole or streamed, with a word that says
    so (finish_reason error, network_error, abort); then `retryable` is True.

    Attributes:
        text: the visible text that had arrived.
        tool_calls: the calls that had begun; their arguments may be cut: never run them.
    """

    code = "stream_cut"
    text: str = ""
    tool_calls: "tuple[ToolCall, ...]" = ()


class ProtocolError(UpstreamError):
    """The answer is not HTTP, not JSON, or not a chat completion."""

    code = "protocol_error"


class ResponseTooLargeError(RigError):
    """The decoded answer is larger than the cap; reading stopped there."""

    code = "response_too_large"


class InputTooLargeError(RigError):
    """The prompt does not fit the server's context window or batch.

    Attributes:
        prompt_tokens: size the server counted, in tokens, None when it did not say.
        context_tokens: size of its window, in tokens, None when it did not say.
    """

    code = "input_too_large"
    prompt_tokens: int | None = None
    context_tokens: int | None = None


class OutputLimitError(RigError):
    """The reply was cut at max_tokens, or (reason repetition) for a model that only repeated itself.

    Attributes:
        text: the visible text of the cut reply.
    """

    code = "output_limit"
    text: str = ""


class IterationLimitError(RigError):
    """The model was still calling tools at the last round, or asked for too many calls at once."""

    code = "iteration_limit"


class BudgetExceededError(RigError):
    """The run's budget ran out; `reason` is tokens, seconds, calls, tool_calls or cost."""

    code = "budget_exceeded"


class NoToolCallingError(RigError):
    """A probe offered a tool, and the reply did not call it."""

    code = "no_tool_calling"


class TruncatedToolCallError(RigError):
    """A tool call was cut before its arguments were complete; the same context cuts it again."""

    code = "truncated_tool_call"


class NotJSONError(RigError, ValueError):
    """The text holds no JSON object at all."""

    code = "not_json"


class InvalidJSONError(RigError, ValueError):
    """The text holds an opening brace, but no JSON object that parses."""

    code = "invalid_json"


class SkillError(RigError):
    """One or more skill files are broken; the message lists all of them.

    Attributes:
        problems: one `file: what is wrong` for each, in the order of the files.
    """

    code = "skill"
    problems: tuple[str, ...] = ()


class SkillsNotFoundError(SkillError, FileNotFoundError):
    """The directory of skills does not exist; where it need not, catch `FileNotFoundError`."""

    code = "skills_not_found"


class ToolError(RigError):
    """What a tool raises to answer the model with an error of its own wording.

    Args:
        message: what the model is told after `error: `.
        fatal: end the run (termination tool_failure) instead of telling the model.
    """

    code = "tool"

    def __init__(self, message: str, *, fatal: bool = False) -> None:
        super().__init__(message)
        self.fatal = fatal
