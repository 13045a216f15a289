"""Calls in text: reports, a table of spellings of our own, and what must hold for any text."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import from_json

from rig.text.reasoning import separate_reasoning
from rig.text.salvage import OfferedTool, Salvaged, salvage, salvage_thought
from rig.text.salvage.offer import Offer
from rig.text.salvage.scanner import scan_text
from rig.text.salvage.source import Source
from rig.text.salvage.table import MARKS

DATA = Path(__file__).parents[2] / "data" / "text"


def rows(name: str) -> list[dict[str, Any]]:
    return [from_json(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


def offered(listed: list[dict[str, Any]]) -> tuple[OfferedTool, ...]:
    return tuple(OfferedTool(tool["name"], tool["parameters"]) for tool in listed)


TOOLS = offered(from_json((DATA / "salvage-tools.json").read_text(encoding="utf-8")))
REPORTS = [row for row in rows("tool-calls.jsonl") if row["kind"] == "text_content"]
CASES = rows("salvage-cases.jsonl")


def calls_of(salvaged: Salvaged) -> list[dict[str, Any]]:
    return [{"name": call.name, "arguments": from_json(call.arguments)} for call in salvaged.calls]


@pytest.mark.parametrize("row", REPORTS, ids=lambda row: row["id"])
def test_reported_calls_are_found(row: dict[str, Any]) -> None:
    salvaged = salvage(row["input"], offered(row["tools"]))
    expect = row["expect"]
    assert calls_of(salvaged) == expect["tool_calls"]
    if "text" in expect:
        assert salvaged.text == expect["text"]
    assert salvaged.reasoning == expect.get("reasoning", "")


@pytest.mark.parametrize("row", CASES, ids=lambda row: row["id"])
def test_the_table_of_spellings(row: dict[str, Any]) -> None:
    salvaged = salvage(row["input"], TOOLS)
    assert calls_of(salvaged) == row["calls"]
    assert salvaged.problem == row.get("problem", "")
    assert salvaged.text == row.get("text", salvaged.text)
    assert {call.dialect for call in salvaged.calls} <= {row.get("dialect")}


@pytest.mark.parametrize("row", CASES, ids=lambda row: row["id"])
def test_without_tools_a_text_is_what_it_is(row: dict[str, Any]) -> None:
    salvaged, apart = salvage(row["input"], ()), separate_reasoning(row["input"])
    assert (salvaged.text, salvaged.reasoning) == (apart.text, apart.reasoning)
    assert (salvaged.calls, salvaged.problem) == ((), "")


@pytest.mark.parametrize("row", CASES, ids=lambda row: row["id"])
def test_a_text_without_calls_is_found_without_calls_again(row: dict[str, Any]) -> None:
    text = salvage(row["input"], TOOLS).text
    again = salvage(text, TOOLS)
    assert (again.text, again.problem) == (text, "") or again.calls == ()


# A line of ReAct's text has no end of its own; a draft is a call until its thought ends.
WITH_ENDS = [
    row for row in CASES if row["calls"] and row["dialect"] != "react" and "draft" not in row["id"]
]


@pytest.mark.parametrize("row", WITH_ENDS, ids=lambda row: row["id"])
def test_no_beginning_of_a_call_is_completed(row: dict[str, Any]) -> None:
    text = row["input"]
    whole = calls_of(salvage(text, TOOLS))
    for end in range(len(text)):
        for call in calls_of(salvage(text[:end], TOOLS)):
            assert call in whole


MENDED = {
    "quotes": (
        "<tool_call>{'name': 'search', 'arguments': {'q': 'x'}}</tool_call>",
        ("single_quotes",),
    ),
    "commas": ('{"name": "search", "arguments": {"q": "x",}}', ("trailing_comma",)),
    "beside": ('<tool_call>{"tool":"search","q":"x"}</tool_call>', ("flattened",)),
    "no name": ('search("x")', ("positional",)),
    "text": ("Action: search\nAction Input: x", ("positional",)),
    "nothing": ('{"name": "search", "arguments": {"q": "x"}}', ()),
}


@pytest.mark.parametrize(("text", "repairs"), MENDED.values(), ids=MENDED.keys())
def test_what_was_mended_is_told(text: str, repairs: tuple[str, ...]) -> None:
    [call] = salvage(text, TOOLS).calls
    assert call.repairs == repairs


def test_tags_are_text_where_the_server_sent_the_thoughts_apart() -> None:
    text = '<think> is a tag.\n<tool_call>{"name":"search","arguments":{"q":"x"}}</tool_call>'
    salvaged = salvage(text, TOOLS, separated=True)
    assert (salvaged.text, salvaged.reasoning) == ("<think> is a tag.", "")
    assert [call.name for call in salvaged.calls] == ["search"]


HERMES = '<tool_call>{"name":"search","arguments":{"q":"x"}}</tool_call>'
KIMI = (
    "<|tool_calls_section_begin|> <|tool_call_begin|> functions.search:0"
    ' <|tool_call_argument_begin|> {"q": "x"} <|tool_call_end|> <|tool_calls_section_end|>'
)
THOUGHTS = {
    "a section": (f"I look. {KIMI}", "I look.", 1),
    "two sections": (f"{KIMI}\n{KIMI}", "", 2),
    "hermes on a line": (f"I look.\n{HERMES}\n", "I look.", 1),
    "hermes in a line": (f"Maybe {HERMES}", None, 0),
    "elements": ("So:\n<tool_call>\n<function=search>\n<parameter=q>\nx\n</parameter>\n</function>\n</tool_call>", "So:", 1),
    "a draft, then the call": (f"Or {KIMI}? No.\n{KIMI}", f"Or {KIMI}? No.", 1),
    "a draft": (f"{KIMI} or not", None, 0),
    "another tool": (KIMI.replace("search", "find"), None, 0),
    "cut": (KIMI[:105], None, 0),
    "json": ('So:\n{"name":"search","arguments":{"q":"x"}}', None, 0),
    "what a page says": (f"The page says:\n{KIMI}", None, 0),
    "an example": (f"The format is, for example:\n{HERMES}", None, 0),
    "in an element": (f"<page>\n{KIMI}\n", None, 0),
    "another turn": (f"<|im_start|>user\n{KIMI}", None, 0),
    "nothing": ("", None, 0),
}  # fmt: skip


@pytest.mark.parametrize(("thought", "rest", "count"), THOUGHTS.values(), ids=THOUGHTS.keys())
def test_a_call_at_the_end_of_a_thought(thought: str, rest: str | None, count: int) -> None:
    salvaged = salvage_thought(thought, TOOLS)
    assert len(salvaged.calls) == count
    assert salvaged.reasoning == (thought if rest is None else rest)


TEXT = st.lists(
    st.sampled_from(
        [
            *(row["input"] for row in CASES),
            "<tool_call>", "</tool_call>", "<function=search>", "<parameter=q>", "</parameter>", "</function>",
            "<arg_key>q</arg_key>", "<arg_value>", "</arg_value>", "[TOOL_CALLS]", "[ARGS]", "search", "ping", "(", ")",
            '{"name":"search",', '"arguments":{"q":"x"}', "}", "{", "[", "]", '"', "'", "\n", " ", "```", "```json\n", "x",
            "<think>", "</think>", "<|channel|>analysis<|message|>", "<|end|>", "<|call|>", "> ", "`", "Action: search\n",
            "Action Input:", "<escape>", "call:search{q:", "<|tool_call_begin|>", "\ue000", "\udc00", "\\", "q=", "print(",
            '<invoke name="search">', ">>>search\n", "functools[", "to=functions.search ", "\u273fFUNCTION\u273f: ",
            "<search>", "<q>", "</q>", "</search>", "<limit>3</limit>", "<tool_call id='1'>", "[TOOL_REQUEST]", "Tool: search\nArguments: ",
            "call:search", "<tool_code>", "<name>search</name><arguments>", "</arguments>", '<xai:function_call name="search">', "<p>", "</p>",
        ]
    ),
    max_size=8,
).map("".join)  # fmt: skip


@given(TEXT | st.text(max_size=200), st.booleans())
def test_nothing_is_invented(text: str, separated: bool) -> None:
    salvaged = salvage(text, TOOLS, separated=separated)
    names = {tool.name for tool in TOOLS}
    for call in salvaged.calls:
        assert call.name in names
        arguments = from_json(call.arguments, allow_inf_nan=False)
        assert isinstance(arguments, dict)
        for value in strings(
            list(arguments.values()) if "positional" in call.repairs else arguments
        ):
            assert loosely(value) in loosely(text)


def strings(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for item in value.items() for part in item for text in strings(part)]
    if isinstance(value, list):
        return [text for item in value for text in strings(item)]
    return [value] if isinstance(value, str) else []


def loosely(text: str) -> str:
    """A text without what escapes and layout change."""
    return "".join(char for char in text if char.isalnum() and char not in "nrt")


@given(TEXT)
def test_the_visible_text_stands_in_the_text(text: str) -> None:
    rest = iter("".join(text.split()))
    for char in "".join(salvage(text, TOOLS).text.split()):
        assert char in rest  # consumes it: the visible text is the text with pieces left out


SLOW = {
    unit: unit
    for unit in (
        "<tool_call>", '<tool_call>{"name":"search","arguments":{"q":"', '{"name":"search","arguments":', '{"a":', "{", "[",
        "[TOOL_CALLS]search", "<function=search><parameter=q>", "<function=search><parameter=q></parameter>x", "```\n", "`",
        "<|tool_call_begin|>search", "<|channel|>commentary to=functions.search", "Action: search\n", "search(", "[search(",
        '<invoke name="search">', "<tool_call>search<arg_key>q</arg_key><arg_value>", "<example>", ">>>search\n{", "\n> ",
        "</tool_call> x", "<tool_call>call:search{q:<escape>", "functools[{", "{'name': 'search', ", '<tool_call>{"q":"\\',
        '{"name": "search", "arguments": {"q": 1}} ', '<tool_call>search(q="',
    )
}  # fmt: skip


@pytest.mark.parametrize("unit", SLOW.values(), ids=SLOW.keys())
def test_work_grows_with_the_text_and_no_faster(unit: str) -> None:
    def work(size: int) -> int:
        source = Source(unit * (size // len(unit)), Offer(TOOLS), MARKS)
        scan_text(source)
        return source.work

    small, large = work(4_000), work(16_000)
    assert large <= 4 * small + 20_000
    assert large <= 40 * 16_000


def test_no_text_is_looked_at_more_often_than_its_bound() -> None:
    source = Source('{"a":' * 50_000, Offer(TOOLS), MARKS)
    scan_text(source)
    assert source.work <= 40 * len(source.text)


def test_more_calls_than_any_run_takes_are_not_read() -> None:
    assert len(salvage(HERMES * 1000, TOOLS).calls) == 256


DEEP = {
    "brackets": '<tool_call>{"name":"search","arguments":{"q":' + "[" * 100_000,
    "python": "search(q=" + "[" * 100_000,
    "closed brackets": '{"name":"search","arguments":{"q":' + "[" * 5000 + "]" * 5000 + "}}",
    "digits": '{"name":"search","arguments":{"limit":' + "9" * 5000 + "}}",
    "digits in python": "search(limit=" + "9" * 5000 + ")",
    "lone surrogates": '{"name":"search","arguments":{"q":"\\ud800"}}',
    "lone surrogates in python": "search(q='\\ud800')",
    "infinity in python": "search(limit=1e999)",
    "zero bytes in python": "search(q='\x00')",
}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP.keys())
def test_what_no_parser_takes_is_no_call(text: str) -> None:
    assert salvage(text, TOOLS).calls == ()
