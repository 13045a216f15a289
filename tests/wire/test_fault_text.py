"""What an error body says, whatever its shape."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import to_json

from rig.wire.fault_text import (
    MAX_FAULT_BYTES,
    MAX_LINE_CHARS,
    SEARCHED_HEAD_CHARS,
    clean_line,
    fault_of,
    read_fault,
)

LINES: dict[str, tuple[bytes, str]] = {
    "OpenAI's object": (b'{"error": {"message": "no", "type": "t"}}', "no"),
    "Ollama's text": (b'{"error": "no"}', "no"),
    "FastAPI's detail": (b'{"detail": "Not Found"}', "Not Found"),
    "FastAPI's list": (
        b'{"detail": [{"loc": ["body", "messages", 1, "content"], "msg": "a string", "type": "x"}]}',
        "body.messages.1.content: a string",
    ),
    "two in FastAPI's list": (
        b'{"detail": [{"loc": ["a"], "msg": "x"}, {"msg": "y"}]}',
        "a: x; y",
    ),
    "a detail object": (b'{"detail": {"error": "no"}}', "no"),
    "top level": (b'{"object": "error", "message": "no", "code": 400}', "no"),
    "a short word and a message": (
        b'{"statusCode": 429, "error": "Too Many Requests", "message": "slow down"}',
        "slow down: Too Many Requests",
    ),
    "nested JSON": (b'{"error": "{\\"error\\": {\\"message\\": \\"no\\"}}"}', "no"),
    "a JSON string": (b'"no"', "no"),
    "JSON in a JSON string": (b'"{\\"error\\": \\"no\\"}"', "no"),
    "a list": (b'[{"error": {"code": 400, "message": "no"}}]', "no"),
    "a provider's own error": (
        b'{"error": {"message": "Provider returned error", "metadata": {"raw": "{\\"error\\": \\"no\\"}"}}}',
        "Provider returned error: no",
    ),
    "a page with a title": (
        b"<html>\r\n<head><title>502 Bad Gateway</title></head><body>x</body></html>",
        "502 Bad Gateway",
    ),
    "a page without": (b"<html><body><h1>no</h1> way</body></html>", "no way"),
    "a cut page": (b"<html><title>no", "no"),
    "plain text": (b"Internal Server Error", "Internal Server Error"),
    "plain text of braces": (b"{oops", "{oops"),
    "several lines": (b"one\r\n\ttwo\x00\x1b[31m three", "one two three"),
    "nothing": (b"", ""),
    "an empty object": (b"{}", "{}"),
    "no message, but a type": (b'{"error": {"type": "overloaded_error"}}', "overloaded_error"),
    "an empty message, a type": (b'{"error": {"message": "", "type": "t"}}', "t"),
    "no known field": (b'{"error parsing tool call": "no"}', '{"error parsing tool call": "no"}'),
    "true": (b"true", "true"),
    "a list of nothing": (b'{"detail": [null]}', '{"detail": [null]}'),
    "a flag": (b'{"error": true, "message": "no"}', "no"),
    "a number": (b"404", "404"),
    "null": (b"null", "null"),
    "not UTF-8": (b"caf\xe9", "caf\ufffd"),
}


@pytest.mark.parametrize(("body", "line"), LINES.values(), ids=LINES)
def test_the_line_is_the_endpoint_s_own_sentence(body: bytes, line: str) -> None:
    assert read_fault(body).line == line


STATUSES: dict[str, tuple[object, int | None]] = {
    "a number": ({"error": {"code": 429}}, 429),
    "its text": ({"error": {"code": "429"}}, 429),
    "at the top": ({"statusCode": 503, "error": "x"}, 503),
    "the inner one": ({"code": 400, "error": {"status": 502}}, 502),
    "a word": ({"error": {"code": "context_length_exceeded"}}, None),
    "no status": ({"error": {"code": 3280}}, None),
    "a flag": ({"error": {"code": True}}, None),
    "success": ({"code": 200, "message": "x"}, None),
}


@pytest.mark.parametrize(("value", "status"), STATUSES.values(), ids=STATUSES)
def test_the_status_a_body_names(value: object, status: int | None) -> None:
    assert fault_of(value).status == status


def test_codes_come_from_every_layer_in_lower_case() -> None:
    fault = fault_of(
        {
            "type": "Error",
            "error": {
                "code": "Content_Filter",
                "innererror": {"code": "ResponsibleAIPolicyViolation"},
            },
        }
    )
    assert fault.codes == {
        "error",
        "content_filter",
        "responsibleaipolicyviolation",
        "responsible_ai_policy_violation",
    }


CODES: dict[str, tuple[object, str]] = {
    "camel case": ({"code": "DataInspectionFailed"}, "data_inspection_failed"),
    "AWS": ({"__type": "com.amazon.coral.service#ThrottlingException"}, "throttling_exception"),
    "Google's reason": (
        {"error": {"details": [{}, {"reason": "API_KEY_INVALID"}]}},
        "api_key_invalid",
    ),
    "digits": ({"error": {"code": "1301"}}, "1301"),
    "a number": ({"error": {"code": 1301}}, "1301"),
    "Baidu's number": ({"error_code": 18, "error_msg": "x"}, "error_code:18"),
    "MiniMax's number": ({"status_code": 1002, "status_msg": "x"}, "status_code:1002"),
    "GLM's filter": ({"contentFilter": [{"level": 1}], "error": {"code": "9"}}, "content_filter"),
}


@pytest.mark.parametrize(("value", "code"), CODES.values(), ids=CODES)
def test_codes_are_found_in_one_spelling(value: object, code: str) -> None:
    assert code in fault_of(value).codes


@pytest.mark.parametrize("value", [{"code": 404}, {"code": True}, {"code": -1}, {"code": 10**30}])
def test_a_status_and_what_is_no_number_are_no_codes(value: object) -> None:
    assert not fault_of(value).codes


def test_inner_fields_win() -> None:
    assert fault_of({"retry_after": 1, "error": {"retry_after": 2}}).fields["retry_after"] == 2


def test_the_prompt_sent_back_is_not_searched() -> None:
    prompt = "x" * SEARCHED_HEAD_CHARS + " maximum context length " + "y" * SEARCHED_HEAD_CHARS
    fault = fault_of({"error": "Failed to parse messages: " + prompt + " end"})
    assert fault.says("failed to parse messages", "end")
    assert not fault.says("maximum context length")


def test_a_long_body_is_read_in_part() -> None:
    body = to_json({"error": {"message": "too long: " + "x" * 10 * MAX_FAULT_BYTES, "code": 400}})
    fault = read_fault(body)
    assert fault.line.startswith("too long: xxx")
    assert len(fault.line) == MAX_LINE_CHARS


def test_a_long_body_is_cut_inside_a_character() -> None:
    body = b'{"error": "' + "\u00e9".encode() * MAX_FAULT_BYTES + b'"}'
    assert read_fault(body).line.startswith("\u00e9")


def test_layers_are_bounded() -> None:
    text = "bottom"
    for _ in range(12):
        text = json.dumps({"error": text})
    assert "bottom" not in read_fault(text[:MAX_FAULT_BYTES].encode()).line[:20]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\u202eb\u200bc", "abc"),
        ("a\u2028b", "a b"),
        ("a\x7fb\x9b1m", "ab"),
        ("\ud800a", "a"),
        ("\u00e9\u4e2d", "\u00e9\u4e2d"),
    ],
)
def test_a_line_can_be_shown_in_a_terminal(text: str, line: str) -> None:
    assert clean_line(text) == line


@given(st.binary(max_size=400))
def test_any_bytes_are_read(body: bytes) -> None:
    assert "\n" not in read_fault(body).line


VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([
                "error", "message", "detail", "msg", "loc", "code", "type", "status", "metadata",
                "raw", "innererror", "errors",
            ]),
            inner,
        )
    ),
    max_leaves=12,
)  # fmt: skip


@given(VALUES)
def test_any_value_is_read(value: object) -> None:
    fault = fault_of(value)
    assert len(fault.line) <= MAX_LINE_CHARS
    assert fault.search == fault.search.lower()
