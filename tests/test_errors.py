"""The tree of exceptions: complete, told apart by code, safe to print, pickle and copy."""

import copy
import inspect
import pickle
from typing import Any

import pytest

import rig.errors
from rig.errors import (
    MAX_DETAIL_CHARS,
    Backpressure,
    EmptyReplyError,
    InputTooLargeError,
    InvalidJSONError,
    InvalidRequestError,
    NotConfiguredError,
    NotJSONError,
    OutputLimitError,
    ProtocolError,
    RateLimitedError,
    RefusedError,
    RequestTimeoutError,
    RigError,
    ServerError,
    StreamCutError,
    ToolError,
    UnauthorizedError,
    UpstreamError,
)
from rig.events import RunResult
from rig.messages import ToolCall, Usage


def _tree(kind: type[RigError] = RigError) -> list[type[RigError]]:
    return [kind, *(found for sub in kind.__subclasses__() for found in _tree(sub))]


ALL = [kind for kind in _tree() if kind.__module__ == "rig.errors"]


@pytest.mark.parametrize("kind", ALL)
def test_every_class_is_documented_and_drawn(kind: type[RigError]) -> None:
    assert inspect.getdoc(kind)
    assert "code" in vars(kind)
    assert kind.__name__ in (rig.errors.__doc__ or "")


def test_every_exception_of_the_module_is_in_the_tree() -> None:
    defined = {
        value
        for value in vars(rig.errors).values()
        if isinstance(value, type) and issubclass(value, BaseException)
    }
    assert defined == set(ALL)


def test_codes_tell_classes_apart() -> None:
    codes = [kind.code for kind in ALL]
    assert len(set(codes)) == len(codes)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("not_configured", NotConfiguredError),
        ("invalid_request", InvalidRequestError),
        ("unauthorized", UnauthorizedError),
        ("rate_limited", RateLimitedError),
        ("timeout", RequestTimeoutError),
        ("refused", RefusedError),
        ("upstream", UpstreamError),
    ],
)
def test_the_gateway_s_codes(code: str, kind: type[RigError]) -> None:
    assert kind.code == code


@pytest.mark.parametrize("status", [None, 400, 404, 429, 499, 500, 503, 529])
@pytest.mark.parametrize("kind", [kind for kind in ALL if kind is not ToolError])
def test_what_is_worth_repeating(kind: type[RigError], status: int | None) -> None:
    """Rate limits and time-outs always, the endpoint's failures on a 5xx alone, the rest never."""
    error = kind("x", status=status)
    if issubclass(kind, RateLimitedError | RequestTimeoutError):
        assert error.retryable
    elif issubclass(kind, UpstreamError):
        by_class = kind is ServerError and status is None
        assert error.retryable is (by_class or (status is not None and status >= 500))
    else:
        assert not error.retryable


def test_a_deterministic_server_fault_is_not_repeated() -> None:
    assert not ServerError("x", status=500, retryable=False).retryable
    assert ServerError.retryable


def test_the_text_is_our_sentence_and_the_status() -> None:
    assert str(ServerError("the server failed", status=502)) == "the server failed (http 502)"
    assert str(UpstreamError("no connection")) == "no connection"
    assert UpstreamError("no connection", status=502).message == "no connection"


@pytest.mark.parametrize("kind", ALL)
def test_the_endpoint_s_text_is_on_detail_alone(kind: Any) -> None:
    error = kind("x") if kind is ToolError else kind("x", detail="MARKER")
    error.detail = "MARKER"
    assert "MARKER" not in str(error) + repr(error) + error.message


def test_the_detail_is_bounded() -> None:
    assert len(RigError("x", detail="y" * 10 * MAX_DETAIL_CHARS).detail) == MAX_DETAIL_CHARS


def _filled() -> list[RigError]:
    state = Backpressure(capacity=4, in_flight=4, waiting=2, reason="spill", retry_after_s=3.0)
    limited = RateLimitedError("slow", status=429, detail="d", reason="quota")
    limited.retry_after_s, limited.backpressure = 3.0, state
    server = ServerError("down", status=500, detail="d", retryable=False)
    server.backpressure = state
    empty = EmptyReplyError("nothing", reason="no_answer")
    empty.reasoning, empty.usage = "hm", Usage(prompt_tokens=3)
    cut = StreamCutError("cut")
    cut.text, cut.tool_calls = "so far", (ToolCall(id="c", name="f", arguments="{"),)
    large = InputTooLargeError("long", status=400)
    large.prompt_tokens, large.context_tokens = 9, 8
    refused = RefusedError("no", status=400)
    refused.category = "violence"
    output = OutputLimitError("cut")
    output.text, output.result = "so far", RunResult(text="so far", iterations=2)
    tool = ToolError("broken", fatal=True)
    plain = [kind("x", detail="d") for kind in ALL if kind is not ToolError]
    return [limited, server, empty, cut, large, refused, output, tool, *plain]


@pytest.mark.parametrize("error", _filled(), ids=lambda error: type(error).__name__)
@pytest.mark.parametrize(
    "again",
    [lambda error: pickle.loads(pickle.dumps(error)), copy.copy, copy.deepcopy],
    ids=["pickle", "copy", "deepcopy"],
)
def test_a_copy_keeps_every_field(error: RigError, again: Any) -> None:
    twin = again(error)
    assert type(twin) is type(error)
    assert vars(twin) == vars(error)
    assert (str(twin), repr(twin), twin.retryable) == (str(error), repr(error), error.retryable)


@pytest.mark.parametrize("kind", [NotJSONError, InvalidJSONError])
def test_json_errors_are_value_errors(kind: type[RigError]) -> None:
    assert issubclass(kind, ValueError)


def test_a_fatal_tool_error_says_so() -> None:
    assert ToolError("x", fatal=True).fatal
    assert not ToolError("x").fatal


def test_a_protocol_error_is_the_endpoint_s() -> None:
    assert issubclass(ProtocolError, UpstreamError)


@pytest.mark.parametrize(
    ("state", "text"),
    [
        (Backpressure(), ""),
        (
            Backpressure(capacity=4, in_flight=4, waiting=2, reason="queue-timeout"),
            "4/4 slots busy, 2 waiting ahead, queue-timeout",
        ),
        (Backpressure(waiting=2), "2 waiting ahead"),
        (Backpressure(reason="spill"), "spill"),
        (Backpressure(in_flight=3), ""),
        (Backpressure(retry_after_s=3), ""),
    ],
)
def test_backpressure_in_words(state: Backpressure, text: str) -> None:
    assert str(state) == text


@pytest.mark.parametrize(
    ("state", "queued"),
    [
        (Backpressure(), False),
        (Backpressure(in_flight=1, reason="spill"), False),
        (Backpressure(capacity=1), True),
        (Backpressure(waiting=1), True),
    ],
)
def test_a_wait_can_be_explained_when_slots_or_a_queue_were_told(
    state: Backpressure, queued: bool
) -> None:
    assert state.queued is queued
