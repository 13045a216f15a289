"""What says that the server went away, and what only sounds like it."""

import errno
import socket
import ssl

import anyio
import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.errors import (
    BudgetExceededError,
    EmptyReplyError,
    InputTooLargeError,
    InvalidRequestError,
    ModelNotFoundError,
    ProtocolError,
    RateLimitedError,
    RequestTimeoutError,
    RigError,
    ServerError,
    StreamCutError,
    ToolError,
    TruncatedToolCallError,
    UnauthorizedError,
    UpstreamError,
)
from rig.transport.retry_rules import TRANSPORT_REASONS
from rig.wire import transient
from rig.wire.transient import (
    BUSY,
    CANCELLED,
    ENDED,
    GOAWAY,
    MAX_GROUP_DEPTH,
    NO_BACKEND,
    REFUSED,
    RESET,
    TRANSPORT,
    UNAVAILABLE,
    is_transient,
    transient_reason,
)

TEXTS: dict[str, str] = {
    "agent: chat: stream error: stream ID 49; CANCEL; received from peer": CANCELLED,
    "http2: server sent GOAWAY and closed the connection": GOAWAY,
    '{"error":{"message":"no backend available"}}': NO_BACKEND,
    '{"error":{"code":503,"message":"No backend available for model x"}}': NO_BACKEND,
    "read tcp 10.0.0.1:443: connection reset by peer": RESET,
    "write: broken pipe": RESET,
    "('Connection aborted.', RemoteDisconnected('Remote end closed connection'))": RESET,
    "dial tcp 127.0.0.1:8080: connect: connection refused": REFUSED,
    "status 500: litellm.APIConnectionError: connection refused": REFUSED,
    "unexpected EOF": ENDED,
    "error decoding response body: unexpected EOF": ENDED,
    "Server disconnected without sending a response.": ENDED,
    "peer closed connection without sending complete message body": ENDED,
    "llm: upstream returned 503": UNAVAILABLE,
    "<html><head><title>502 Bad Gateway</title></head>": UNAVAILABLE,
    "Service Unavailable": UNAVAILABLE,
    "error code: 529": UNAVAILABLE,
    "agent: chat: llm: retry budget 5m0s exhausted after 5m40s of 429 backpressure": BUSY,
    "provider returned 429": BUSY,
    "rate limit exceeded": BUSY,
    "you are being rate-limited": BUSY,
    "RateLimitError": BUSY,
    "Too Many Requests": BUSY,
    "retry budget exhausted": BUSY,
    "stream error: stream ID 3; INTERNAL_ERROR": TRANSPORT,
    "http: server closed idle connection": TRANSPORT,
}


@pytest.mark.parametrize(("text", "reason"), TEXTS.items())
def test_a_text_that_says_the_server_went_away(text: str, reason: str) -> None:
    assert transient_reason(text) == reason
    assert is_transient(text)
    assert transient_reason(RuntimeError(text)) == reason


LASTING_TEXTS = [
    "",
    "llm: TRUNCATED TOOL CALL",
    "Failed to parse tool call arguments as JSON: missing closing quote",
    "Failed to parse tool call arguments as JSON: unexpected EOF",
    "failed to parse tool_calls: unexpected eof",
    "agent: max turns (40) exceeded",
    "llm: provider returned 400",
    "llm: provider returned 400: rate limit must be a number",
    "error 404: no such path, and no backend available",
    "status 401: connection refused by policy",
    "input (15023 tokens) is too large to process",
    "the answer is 503",
    "prompt of 429 tokens",
    "server failed at line 502",
    "upstream error: the prompt is not valid",
    "corporate limits apply",
    "context deadline exceeded",
    "SyntaxError: unexpected EOF while parsing",
    "the server failed (http 500)",
]


@pytest.mark.parametrize("text", LASTING_TEXTS)
def test_a_text_that_says_nothing_of_the_kind(text: str) -> None:
    assert transient_reason(text) == ""
    assert not is_transient(text)


def test_nothing_is_not_transient() -> None:
    assert not is_transient(None)


def test_a_restart_is_named_as_one() -> None:
    reason = transient_reason("stream error: stream ID 1; CANCEL; received from peer")
    assert "restarted" in reason
    assert "stream" in reason


PRECEDENCE = [
    "cancel; received from peer",
    "goaway",
    "no backend available",
    "connection refused",
    "connection reset",
    "unexpected eof",
    "status 503",
    "status 429",
    "server closed",
]


@pytest.mark.parametrize("rank", range(len(PRECEDENCE) - 1))
def test_the_most_telling_words_win_wherever_they_stand(rank: int) -> None:
    first, *others = PRECEDENCE[rank:]
    assert transient_reason("; ".join([*others, first])) == transient_reason(first)


def server(status: int, detail: str = "", **more: object) -> RigError:
    return ServerError("the server failed", status=status, detail=detail, **more)  # type: ignore[arg-type]  # keywords


def cut(reason: str, text: str = "") -> RigError:
    error = StreamCutError("the stream ended", reason=reason)
    error.text = text
    return error


RIG: dict[str, tuple[RigError, str]] = {
    "busy": (RateLimitedError("busy", status=429), BUSY),
    "a reply that the server calls failed": (cut("failed", "half"), UNAVAILABLE),
    "busy on another status": (RateLimitedError("busy", status=503), BUSY),
    "refused": (UpstreamError("no", reason="connect_refused"), REFUSED),
    "nobody of a pool": (UpstreamError("no", reason="no_endpoint"), UNAVAILABLE),
    "no name": (UpstreamError("no", reason="dns"), TRANSPORT),
    "reset": (UpstreamError("no", reason="reset"), RESET),
    "ended": (UpstreamError("no", reason="eof"), ENDED),
    "no way to connect in time": (RequestTimeoutError("late", reason="connect"), TRANSPORT),
    "no descriptor in time": (RequestTimeoutError("late", reason="too_many_files"), TRANSPORT),
    "502": (server(502), UNAVAILABLE),
    "524": (server(524), UNAVAILABLE),
    "502 that names its cause": (server(502, "dial tcp: connection refused"), REFUSED),
    "503 that quotes a number": (server(503, "400"), UNAVAILABLE),
    "loading": (server(500, "Loading model", reason="loading"), UNAVAILABLE),
    "500 of a proxy": (server(500, "litellm: Connection refused"), REFUSED),
    "cut": (cut("unfinished"), ENDED),
    "cut after text": (cut("eof", "Hel"), ENDED),
    "cut by a reset": (cut("reset"), RESET),
    "told at status 200": (
        UpstreamError("an error", reason="error_in_reply", detail="stream error: 7"),
        TRANSPORT,
    ),
}


@pytest.mark.parametrize(("error", "reason"), RIG.values(), ids=RIG)
def test_an_error_of_rig_s_that_is_transient(error: RigError, reason: str) -> None:
    assert transient_reason(error) == reason
    wrapped = RuntimeError("the task failed")
    wrapped.__cause__ = error
    assert transient_reason(wrapped) == reason


GONE = "connection refused, status 503"
LASTING_RIG: dict[str, RigError] = {
    "a quota": RateLimitedError("spent", status=429, reason="quota", detail=GONE),
    "a rate limit said to be final": RateLimitedError("busy", status=429, retryable=False),
    "500": server(500, "Internal Server Error"),
    "500 that will fail again": server(500, GONE, retryable=False),
    "not supported": server(501, retryable=False),
    "tls": UpstreamError("no", reason="tls"),
    "first byte": RequestTimeoutError("late", reason="first_byte"),
    "idle": RequestTimeoutError("late", reason="idle"),
    "total": RequestTimeoutError("late", reason="total"),
    "an odd status": UpstreamError("odd", status=418, detail=GONE),
    "no such model": ModelNotFoundError("no", status=404, detail=GONE),
    "empty": EmptyReplyError("empty", detail=GONE),
    "not a chat server": ProtocolError("odd", reason="status_line", detail=GONE),
    "bad request": InvalidRequestError("no", status=400, detail=GONE),
    "unauthorized": UnauthorizedError("no", status=401, detail=GONE),
    "too large": InputTooLargeError("long", status=500, detail=GONE),
    "truncated": TruncatedToolCallError("cut", status=500, detail=GONE),
    "budget": BudgetExceededError("over", reason="seconds"),
    "a tool": ToolError("connection refused"),
}


@pytest.mark.parametrize("error", LASTING_RIG.values(), ids=LASTING_RIG)
def test_an_error_of_rig_s_that_is_not(error: RigError) -> None:
    assert transient_reason(error) == ""
    error.__cause__ = ConnectionResetError()
    assert transient_reason(error) == ""


@pytest.mark.parametrize("reason", sorted(TRANSPORT_REASONS))
def test_every_fault_that_is_retried_without_an_answer_is_transient(reason: str) -> None:
    assert is_transient(UpstreamError("no", reason=reason))


def caused(error: Exception, cause: BaseException) -> Exception:
    error.__cause__ = cause
    return error


def circle() -> Exception:
    first, second = ValueError("a"), ValueError("b")
    first.__cause__, second.__cause__ = second, first
    return first


def nested(depth: int) -> BaseException:
    error: Exception = ConnectionResetError()
    for _ in range(depth):
        error = ExceptionGroup("tasks", [error])
    return error


FOREIGN: dict[str, tuple[BaseException, str]] = {
    "refused": (ConnectionRefusedError(errno.ECONNREFUSED, "x"), REFUSED),
    "refused by number": (OSError(errno.ECONNREFUSED, "x"), REFUSED),
    "reset": (ConnectionResetError(), RESET),
    "broken pipe": (OSError(errno.EPIPE, "x"), RESET),
    "unreachable": (OSError(errno.EHOSTUNREACH, "x"), TRANSPORT),
    "the kernel's time-out": (OSError(errno.ETIMEDOUT, "x"), TRANSPORT),
    "a name": (socket.gaierror(-3, "Temporary failure in name resolution"), TRANSPORT),
    "eof": (EOFError(), ENDED),
    "a kind of eof": (type("IncompleteReadError", (EOFError,), {})(), ENDED),
    "eof in tls": (ssl.SSLEOFError(8, "EOF occurred in violation of protocol"), ENDED),
    "anyio": (anyio.BrokenResourceError(), RESET),
    "anyio's eof": (anyio.EndOfStream(), ENDED),
    "httpx": (httpx.ReadError(""), RESET),
    "httpx, refused": (caused(httpx.ConnectError("no"), ConnectionRefusedError()), REFUSED),
    "httpx, no connection": (httpx.ConnectError("All connection attempts failed"), TRANSPORT),
    "httpx, connecting late": (httpx.ConnectTimeout(""), TRANSPORT),
    "httpx, by its text": (httpx.RemoteProtocolError("Server disconnected"), ENDED),
    "wrapped": (caused(ValueError("x"), caused(KeyError("y"), ConnectionResetError())), RESET),
    "wrapped, all addresses": (
        caused(
            OSError("x"), ExceptionGroup("", [ConnectionRefusedError(), OSError(errno.EPIPE, "")])
        ),
        REFUSED,
    ),
    "a group": (ExceptionGroup("tasks", [ConnectionResetError(), EOFError()]), RESET),
    "a nested group": (nested(MAX_GROUP_DEPTH), RESET),
    # Not transient.
    "a deadline": (TimeoutError(), ""),
    "a deadline that says more": (TimeoutError("connection reset"), ""),
    "httpx, reading late": (httpx.ReadTimeout("connection reset"), ""),
    "a certificate": (
        caused(
            httpx.ConnectError("x"), ssl.SSLCertVerificationError(1, "certificate verify failed")
        ),
        "",
    ),
    "no file": (FileNotFoundError(2, "x"), ""),
    "cancelled": (GeneratorExit("connection reset"), ""),
    "interrupted": (KeyboardInterrupt("connection reset"), ""),
    "a bug": (KeyError("x"), ""),
    "a class of the same name": (type("ReadError", (Exception,), {})("bad tar"), ""),
    "a group with a bug in it": (ExceptionGroup("tasks", [ConnectionResetError(), KeyError()]), ""),
    "a group with a cancellation in it": (
        BaseExceptionGroup("tasks", [EOFError(), GeneratorExit()]),
        "",
    ),
    "a group nested too deep": (nested(MAX_GROUP_DEPTH + 1), ""),
    "a circle": (circle(), ""),
}


@pytest.mark.parametrize(("error", "reason"), FOREIGN.values(), ids=FOREIGN)
def test_an_exception_of_others(error: BaseException, reason: str) -> None:
    assert transient_reason(error) == reason


def test_an_implicit_context_is_not_a_cause() -> None:
    error = ValueError("x")
    error.__context__ = ConnectionResetError()
    assert not is_transient(error)


REASONS = {
    value for name, value in vars(transient).items() if name.isupper() and type(value) is str
}


@given(
    st.one_of(
        st.text(), st.sampled_from([*TEXTS, *LASTING_TEXTS]).flatmap(lambda t: st.just(t * 3))
    )
)
def test_any_text_gives_one_of_the_sentences(text: str) -> None:
    assert transient_reason(text) in {"", *REASONS}
