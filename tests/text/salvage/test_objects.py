"""What makes an object a call, and what makes it data. No repair goes untold."""

from typing import Any

import pytest
from pydantic_core import from_json

from rig.text.salvage import OfferedTool, salvage

TEXT = {"type": "string"}


def offered(name: str, *required: str, **properties: object) -> OfferedTool:
    return OfferedTool(
        name, {"type": "object", "properties": properties, "required": list(required)}
    )


TOOLS = (
    offered("now"),
    offered("other"),
    offered("search", "query", query=TEXT, limit={"type": "integer"}),
    offered("list_files", path=TEXT),
    offered("write_file", "path", "content", path=TEXT, content=TEXT),
)

DATA = (
    '{"name":"now","age":3}',
    '{"name":"now","description":"Tells the time","parameters":{"type":"object","properties":{}}}',
    '{"name":"now","description":"Tells the time","parameters":{"type":"object"}}',
    '{"name":"now","description":"Tells the time","parameters":{}}',
    '{"name":"now","inputSchema":{"type":"object"}}',
    '{"name":"now","input_schema":{"type":"object","properties":{}}}',
    '{"type":"function","function":{"name":"now","description":"x","parameters":{"type":"object","properties":{}}}}',
    '{"type":"function","function":{"name":"now","description":"x"}}',
    '{"type":"function","function":{"name":"now","parameters":{}}}',
    '{"type":"function","name":"now","parameters":{"type":"object","properties":{}},"strict":true}',
    '[{"type":"function","function":{"name":"now","parameters":{"type":"object"}}}]',
    '<tools>{"name":"now","description":"x","parameters":{"type":"object","properties":{}}}</tools>',
    '[{"name":"now"}, {"name":"other"}]',
    '[{"name":"now"}]',
    '{"name":"now"}\n{"name":"other"}',
    '```json\n{"name":"now","age":3}\n```',
    '```json\n[{"name":"now"},{"name":"other"}]\n```',
    '{"name":"now"} is the JSON in the log file',
    '{"name":"now","arguments":{}} is the JSON in the log file',
    '{"name":"now","type":"user"}',
    '{"name":"now","id":3}',
    '{"role":"user","name":"now","content":"hi"}',
    '{"role":"tool","name":"now","content":"12:00"}',
    '{"name":"now","arguments":{},"age":3}',
    '{"name":"now","arguments":{},"result":"12:00"}',
    '{"name":"now","args":[]}',
    '{"name":"search","arguments":{"query":"x"},"age":3}',
    '{"name":"search","arguments":""}',
    '{"name":"list_files","path":"/x"}',
    '{"name":"list_files","size":1}',
    '[{"name":"search","query":"x"},{"name":"search","query":"y"}]',
    '{"now":{"hour":3}}',
    '{"now":{},"other":{}}',
    '{"now":"12:00"}',
    '{"search":{"hits":3}}',
    '{"list_files":{"size":1}}',
    '{"calls":[{"name":"now","arguments":{}}],"total":1}',
    '{"users":[{"name":"now"}]}',
    'I see {"name":"search","input":"x"}',
    '{"action":"now","status":"done"}',
    '{"function":"now","returns":"str"}',
    '{"name":"search","name":"now","arguments":{"query":"a"}}',
    '{"name":"search","arguments":{"query":"a"},"parameters":{"query":"b"}}',
    '{"name": "search", "arguments": {"query": "..."}}',
    '{"name": "search", "arguments": {"query": "<query>"}}',
    '{"name": "search", "arguments": {"query": "your_query"}}',
    'search(query="...")',
    'To look: <tool_call>{"name": "search", "arguments": {"query": "{city}"}}</tool_call>',
    "[foo(x=1)]",
    "[foo(x=1)",
    'foo(x="1',
)  # fmt: skip


@pytest.mark.parametrize("text", DATA, ids=ascii)
def test_data_is_no_call(text: str) -> None:
    found = salvage(text, TOOLS)
    assert (found.calls, found.problem, found.text) == ((), "", text)


SEARCH: dict[str, Any] = {"query": "x"}
CALLS: tuple[tuple[str, str, dict[str, Any], tuple[str, ...]], ...] = (
    ('{"name":"now"}', "now", {}, ()),
    ('{"tool":"now"}', "now", {}, ()),
    ('{"name":"now","type":"function"}', "now", {}, ()),
    ('{"id":"call_1","name":"now"}', "now", {}, ()),
    ('{"name":"now","arguments":{}}', "now", {}, ()),
    ('{"name":"now","parameters":{}}', "now", {}, ()),
    ('{"now":{}}', "now", {}, ()),
    ('{"tool_calls":[{"name":"now"}]}', "now", {}, ()),
    ('{"search":{"query":"x"}}', "search", SEARCH, ()),
    ('{"name":"search","query":"x"}', "search", SEARCH, ("flattened",)),
    ('{"name":"search","input":"x"}', "search", SEARCH, ("positional",)),
    ('{"name":"search","arguments":{"query":"x"},"thought":"hm"}', "search", SEARCH, ("dropped_keys",)),
    ('{"content":"I look.","tool_calls":[{"name":"search","arguments":{"query":"x"}}]}', "search", SEARCH, ("dropped_keys",)),
    ('<tool_call>{"name":"search","arguments":{"query":"x"},"reason":"r"}</tool_call>', "search", SEARCH, ("dropped_keys",)),
    ('<tool_call>{"name":"search","arguments":{"query":"x","query":"x"}}</tool_call>', "search", SEARCH, ("duplicate_key",)),
    ('{"name":"search","arguments":{"query":"x"},"parameters":{"query":"x"}}', "search", SEARCH, ("duplicate_key",)),
    ("<function=search><parameter=query>x</parameter><parameter=query>x</parameter></function>", "search", SEARCH, ("duplicate_key",)),
    ('{"name":"search","arguments":"{\\"query\\":\\"x\\",\\"query\\":\\"x\\"}"}', "search", SEARCH, ("duplicate_key",)),
    ('<tool_call>{"name": "search", "arguments": {"query": "<div>"}}</tool_call>', "search", {"query": "<div>"}, ()),
    ('<tool_call>{"name":"write_file","arguments":{"path":"a","content":"..."}}</tool_call>', "write_file", {"path": "a", "content": "..."}, ()),
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "name", "arguments", "repairs"), CALLS, ids=lambda value: ascii(value)[:60]
)
def test_a_call_is_one_and_tells_what_was_mended(
    text: str, name: str, arguments: dict[str, Any], repairs: tuple[str, ...]
) -> None:
    [call] = salvage(text, TOOLS).calls
    assert (call.name, from_json(call.arguments), call.repairs) == (name, arguments, repairs)


PROBLEMS = {
    '<tool_call>{"name":"now","age":3}</tool_call>': "no_arguments",
    '<tool_call>{"name":"search","arguments":{"query":"x"},"limit":2}</tool_call>': "malformed",
    '<tool_call>{"name":"now","description":"x","parameters":{"type":"object"}}</tool_call>': "malformed",
    '<tool_call>{"name": "search", "arguments": {"query": "your_query"}}</tool_call>': "no_arguments",
    '<tool_call>{"name":"search","arguments":{"query":"a","query":"b"}}</tool_call>': "malformed",
    '<tool_call>{"name":"search","arguments":"{\\"query\\":\\"a\\",\\"query\\":\\"b\\"}"}</tool_call>': "malformed",
    '{"name":"search","arguments":{"query":"a","query":"b"}}': "malformed",
    '{"name":"search","arguments":{"query":"a"},"arguments":{"query":"b"}}': "malformed",
    "{'name':'search','arguments':{'query':'a','query':'b'}}": "malformed",
    "<function=search><parameter=query>a</parameter><parameter=query>b</parameter></function>": "malformed",
    '<invoke name="search"><parameter name="query">a</parameter><parameter name="query">b</parameter></invoke>': "malformed",
    "<tool_call>search<arg_key>query</arg_key><arg_value>a</arg_value><arg_key>query</arg_key><arg_value>b</arg_value></tool_call>": "malformed",
    "<start_function_call>call:search{query:<escape>a<escape>,query:<escape>b<escape>}<end_function_call>": "malformed",
    '[TOOL_CALLS]search[ARGS]{"query":"a","query":"b"}': "malformed",
    '[search(query="x")': "truncated",
    '[search(query="x"), search(query="y"': "truncated",
    '[search(query="x': "truncated",
    'search(query="x': "truncated",
    'search(query="x"': "truncated",
    "search(query": "truncated",
    "search(": "truncated",
    'search(query="a")\nsearch(query="b': "truncated",
    'write_file("a': "truncated",
    "[now()": "truncated",
    'I look.\n[search(query="x")': "truncated",
    '```python\nsearch(query="x': "truncated",
    'Let me look. {"name": "search", "arguments": {"query": "x': "truncated",
    '{"tool_calls": [{"function": {"name":"search","arguments":"{': "truncated",
    '{"type":"function","function":{"name":"search","arguments":{"query"': "truncated",
    '[{"name":"search","arguments":{"query":"x"}}, {"name":"search","argu': "truncated",
    '<function(search)>{"query": "c': "truncated",
}  # fmt: skip


@pytest.mark.parametrize(("text", "problem"), PROBLEMS.items(), ids=ascii)
def test_a_call_nobody_can_make_is_a_problem_and_no_answer(text: str, problem: str) -> None:
    found = salvage(text, TOOLS)
    assert (found.calls, found.problem) == ((), problem)


WORDS = ("search", "[search", "search (see below", "search (the web", 'I look.\nsearch(query="x')


@pytest.mark.parametrize("text", WORDS)
def test_a_word_before_a_bracket_is_no_cut_call(text: str) -> None:
    found = salvage(text, TOOLS)
    assert (found.calls, found.problem, found.text) == ((), "", text)


SPELLINGS = (
    "<function(search)>@</function>",
    "<function (search)>@</function>",
    "<function:search>@</function>",
    "<function:search>@</function:search>",
    "<function search>@</function>",
    '<function="search">@</function>',
    '<function name="search">@</function>',
    '<function_call name="search">@</function_call>',
    "<tool:search>@</tool>",
    '<tool name="search">@</tool>',
    '<tool_call name="search">@</tool_call>',
    "<tool_call:search>@</tool_call>",
    '<tool_use name="search">@</tool_use>',
    '<call name="search">@</call>',
    '<action name="search">@</action>',
    '<invoke name="search">@</invoke>',
    "<tool_call>\n<function(search)>@</function>\n</tool_call>",
    "<function(search)>@",
    "<function(search)><parameter=query>x</parameter></function>",
    '<tool name="search"><parameter name="query">x</parameter></tool>',
    '<tools>{"name":"search","arguments":@}</tools>',
    '<function-call>{"name":"search","arguments":@}</function-call>',
    '<tool>[{"name":"search","arguments":@}]</tool>',
)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_the_tag_of_a_call_is_spelled_in_many_ways(spelling: str) -> None:
    text = spelling.replace("@", '{"query": "x"}')
    found = salvage(text, TOOLS)
    assert [(call.name, call.arguments) for call in found.calls] == [("search", '{"query": "x"}')]
    assert found.text == ""
    elsewhere = text.replace("search", "elsewhere")
    assert salvage(elsewhere, TOOLS).calls == ()
