"""What a probe saw: failures as values, finished replies without an answer, raw contents."""

import pytest

from rig.client.probes.observed import (
    PROBE_TIMEOUT,
    Failure,
    Observed,
    empty_reply,
    failure_of,
    raw_content,
)
from rig.errors import EmptyReplyError, InvalidRequestError, RequestTimeoutError, ServerError
from rig.messages import ToolCall, Usage
from rig.model import Reply

FAILURES = {
    "refused": (Failure(code="invalid_request", status=400), True, False),
    "refused as a fault of the server": (Failure(code="server_error", status=500), True, False),
    "told at status 200": (Failure(code="upstream", reason="error_in_reply"), True, False),
    "no field for it": (Failure(code="invalid_request", reason="grammar"), False, True),
    "busy": (Failure(code="rate_limited", status=429), False, False),
    "behind a proxy that gave up": (Failure(code="server_error", status=504), False, False),
    "Cloudflare's": (Failure(code="server_error", status=522), False, False),
    "too late": (Failure(code=PROBE_TIMEOUT), False, False),
    "cut off": (Failure(code="upstream", reason="reset"), False, False),
}


@pytest.mark.parametrize(("failure", "refused", "unsendable"), FAILURES.values(), ids=FAILURES)
def test_a_refusal_is_told_from_trouble(failure: Failure, refused: bool, unsendable: bool) -> None:
    assert failure.refused is refused
    assert failure.unsendable is unsendable
    assert Observed(failure=failure).refused is (refused or unsendable)
    assert failure.sentence
    assert Observed(failure=failure).why == failure.sentence


@pytest.mark.parametrize(
    "error",
    [
        ServerError("x", status=500, detail="secret"),
        InvalidRequestError("x", reason="grammar"),
        RequestTimeoutError("x", reason="idle"),
    ],
    ids=lambda error: error.code,
)
def test_a_failure_keeps_what_the_error_tells_and_shows_nothing_of_the_endpoint(
    error: ServerError,
) -> None:
    failure = failure_of(error)
    assert (failure.code, failure.status, failure.reason, failure.detail) == (
        error.code,
        error.status,
        error.reason,
        error.detail,
    )
    assert "secret" not in repr(failure) + failure.sentence


def test_a_reply_of_nothing_but_thoughts_is_a_reply() -> None:
    error = EmptyReplyError("x", reason="no_answer")
    error.reasoning, error.usage = "hm", Usage(prompt_tokens=3, reported=True)
    body = b'{"choices": [{"message": {"content": null, "reasoning": "hm"}}]}'
    reply = empty_reply(error, body)
    assert reply is not None
    assert (reply.text, reply.reasoning, reply.reasoning_field) == ("", "hm", "reasoning")
    assert Observed(reply=reply).prompt_tokens is None or reply.usage.reported


def test_a_reply_without_any_choice_is_none() -> None:
    assert empty_reply(EmptyReplyError("x", reason="no_choices"), b"{}") is None


BODIES = {
    "content": (
        b'{"choices": [{"message": {"content": "<think>a</think>b"}}]}',
        "<think>a</think>b",
    ),
    "null": (b'{"choices": [{"message": {"content": null}}]}', ""),
    "parts": (b'{"choices": [{"message": {"content": [{"type": "text", "text": "a"}]}}]}', ""),
    "no choice": (b'{"choices": []}', ""),
    "no object": (b"[1]", ""),
    "no json": (b"<html>", ""),
    "nothing": (b"", ""),
}


@pytest.mark.parametrize(("body", "content"), BODIES.values(), ids=BODIES)
def test_the_content_is_read_as_the_server_wrote_it(body: bytes, content: str) -> None:
    assert raw_content(body) == content


def test_only_calls_that_came_as_calls_count() -> None:
    calls = (ToolCall(name="echo"), ToolCall.model_construct(name="echo", origin="hermes"))
    assert Observed(reply=Reply(tool_calls=calls)).calls == 1
    assert Observed().calls == 0
    assert Observed(skipped="why not").why == "why not"
