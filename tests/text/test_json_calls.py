from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.text.arguments import read_arguments
from rig.text.heredoc import HeredocCall
from rig.text.json_calls import parse_json_calls, render_json_call

A = '{"name": "a", "arguments": {"x": 1}}'
B = '{"name": "b", "arguments": {}}'
CALL_A = HeredocCall(name="a", arguments='{"x": 1}')
CALL_B = HeredocCall(name="b", arguments="{}")


@pytest.mark.parametrize(
    ("text", "written", "prose"),
    [
        (A, [CALL_A], ""),
        (f"  {A}\n", [CALL_A], ""),
        (f"Let me look.\n```json\n{A}\n```\n", [CALL_A], "Let me look."),
        (f"[{A}, {B}]", [CALL_A, CALL_B], ""),
        (f"[\n  {A},\n  {B}\n]", [CALL_A, CALL_B], ""),
        (f"{A}{B}", [CALL_A, CALL_B], ""),
        (f"{A}\n{B}\nDone", [CALL_A, CALL_B], "Done"),
        (f"{A}}}", [replace(CALL_A, repairs=("stray_closer",))], ""),
        (f"[{A} }}}}, {B}]", [replace(CALL_A, repairs=("stray_closer",)), CALL_B], ""),
        ('{"name":"b","arguments":null}', [CALL_B], ""),
        (
            "{'name': 'a', 'arguments': {x: True}}",
            [
                HeredocCall(
                    name="a",
                    arguments='{"x": true}',
                    repairs=("single_quotes", "bare_key", "python_literal"),
                )
            ],
            "",
        ),
        (
            '{"name": "a", "arguments": {"x": 1, "x": 1}}',
            [HeredocCall(name="a", arguments='{"x": 1}', repairs=("duplicate_key",))],
            "",
        ),
        *[
            (text, [HeredocCall(name="a", arguments=arguments or text, kind="malformed")], "")
            for text, arguments in (
                ('{"name": "a", "arguments": {"x": 1, "x": 2}}', '{"x": 1, "x": 2}'),
                ('{"arguments": {"x": 1, "x": 2}, "name": "a"}', ""),
                ('{"name": "a", "arguments": {"x": 1}, "arguments": {"x": 2}}', ""),
                ('{"name": "b", "name": "a", "arguments": {}}', ""),
            )
        ],
        (f"So:\n```python\nx\n```\n{A}\n", [CALL_A], "So:\n```python\nx\n```"),
        (f"{A}\n```", [CALL_A], ""),
        # An answer may be JSON.
        ('{"city": "Rome"}', [], '{"city": "Rome"}'),
        ('{"name": "a"}', [], '{"name": "a"}'),
        (
            '{"name": "a", "arguments": {}, "more": 1}',
            [],
            '{"name": "a", "arguments": {}, "more": 1}',
        ),
        ('{"name": "Bob", "arguments": {}}', [], '{"name": "Bob", "arguments": {}}'),
        (f"I would send {A} now", [], f"I would send {A} now"),
        ("{ not json", [], "{ not json"),
        ("```\nx\n```", [], "```\nx\n```"),
        ("", [], ""),
        (f"code {{ x\n{A}", [CALL_A], "code { x"),
        # What is cut or wrong comes as it is, to be refused with the reason.
        (A[:-1], [HeredocCall(name="a", arguments=A[:-1], kind="truncated")], ""),
        (A[:-9], [HeredocCall(name="a", arguments=A[:-9], kind="truncated")], ""),
        (A[:8], [], ""),
        (
            f'{A}\n{{"name": "b", "arguments": {{"y": oops}}}}',
            [
                CALL_A,
                HeredocCall(
                    name="b", arguments='{"name": "b", "arguments": {"y": oops}}', kind="malformed"
                ),
            ],
            "",
        ),
    ],
    ids=repr,
)
def test_calls_are_told_from_answers(text: str, written: list[HeredocCall], prose: Any) -> None:
    reply = parse_json_calls(text, names=("a", "b"))
    assert list(reply.written) == written
    if text != A[:8]:
        assert reply.text == prose


def test_without_names_every_tool_counts() -> None:
    assert parse_json_calls('{"name": "zz", "arguments": {}}').calls[0].name == "zz"


def test_a_rendered_call_is_read_back() -> None:
    assert render_json_call("a", ' {"x": 1} ') == A
    assert render_json_call("b", "") == B


@given(st.integers(1, len(A) - 1))
def test_a_cut_call_is_never_whole(cut: int) -> None:
    for call in parse_json_calls(A[:cut], names=("a",)).written:
        assert call.kind == "truncated"
        assert read_arguments(call.arguments).kind == "truncated"


PIECES = [*'{}[],:"\n ', A, '"name"', '"a"', '"arguments"', "```", "x"]


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_any_text_is_read(text: str) -> None:
    for call in parse_json_calls(text, names=("a",)).calls:
        assert read_arguments(call.arguments).kind in {"object", "malformed"}
