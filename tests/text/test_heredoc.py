"""The `@@call` dialect: the rows of the system it was first used in, and what was wrong there.

Where a row says "differs", the first system did something else, and why it is not kept stands beside it.
"""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import from_json

from rig.text.arguments import read_arguments
from rig.text.heredoc import (
    CALL_END,
    CALL_PREFIX,
    HEREDOC_STOP,
    HeredocCall,
    HeredocReply,
    close_heredoc,
    parse_heredoc,
    render_call,
)

Call = tuple[str, dict[str, Any]]


def calls_of(reply: HeredocReply) -> list[Call]:
    return [(call.name, from_json(call.arguments)) for call in reply.calls]


def test_the_marks_are_those_prompts_and_grammars_were_measured_with() -> None:
    assert (CALL_PREFIX, CALL_END, HEREDOC_STOP) == ("@@call ", "@@end", ("@@end",))


WHOLE: list[Any] = [
    pytest.param(
        '@@call configure\n{name: "prod", retries: 3, deep: true, tags: ["a","b"], opts: {mode: "fast"}}\n',
        [
            (
                "configure",
                {
                    "name": "prod",
                    "retries": 3,
                    "deep": True,
                    "tags": ["a", "b"],
                    "opts": {"mode": "fast"},
                },
            )
        ],
        "",
        id="values keep their types",
    ),
    pytest.param(
        '@@call write_file\n{path: "notes.md", content: ~~~md\nbefore\n</parameter>\n<parameter=path>\n'
        'quote " and \\backslash\\\nafter\n~~~md\n}\n',
        [
            (
                "write_file",
                {
                    "path": "notes.md",
                    "content": "before\n</parameter>\n<parameter=path>\n"
                    'quote " and \\backslash\\\nafter',
                },
            )
        ],
        "",
        id="a body is byte-exact",
    ),
    pytest.param(
        "@@call write_file\n{content: ````\nhere is code:\n```java\nint x = 1;\n```\ndone\n````}\n",
        [("write_file", {"content": "here is code:\n```java\nint x = 1;\n```\ndone"})],
        "",
        id="four backticks hold three",
    ),
    pytest.param(
        "@@call w\n{path: 'a.java', force: True, n: 2,}\n",
        [("w", {"path": "a.java", "force": True, "n": 2})],
        "",
        id="loose json",
    ),
    pytest.param(
        "I will do two things.\n@@call a\n{x: 1}\n@@call b\n{y: 2}\nDone.\n",
        [("a", {"x": 1}), ("b", {"y": 2})],
        "I will do two things.\nDone.",
        id="prose around two calls",
    ),
    pytest.param(
        "@@call w\n{content: ~~~java\nclass A {\n  int[] x = {1, 2,};\n}\n~~~java\n"
        ', path: "A.java"}\n',
        [("w", {"content": "class A {\n  int[] x = {1, 2,};\n}", "path": "A.java"})],
        "",
        id="loose-looking text in a body is left alone",
    ),
    *[
        pytest.param(
            f'@@call write_file\n{{\n  content: ~~~json\n{{"k": [1, 2]}}\n{closer}\n}}\n',
            [("write_file", {"content": '{"k": [1, 2]}', **more})],
            "",
            id=f"closer {closer!r}",
        )
        for closer, more in (
            ('~~~json,\n  path: "c.json"', {"path": "c.json"}),
            ('~~~json ,\n  path: "c.json"', {"path": "c.json"}),
            ('~~~json\n,  path: "c.json"', {"path": "c.json"}),
            ('~~~json\n  , path: "c.json"', {"path": "c.json"}),
            ("~~~json", {}),
        )
    ],
    pytest.param(
        '@@call read_file\n{path: "a.txt"}\n@@end\n@@call read_file\n{path: "b.txt"}\n@@end\n'
        '@@call list_dir\n{path: ".", recursive: true}\n@@end\n',
        [
            ("read_file", {"path": "a.txt"}),
            ("read_file", {"path": "b.txt"}),
            ("list_dir", {"path": ".", "recursive": True}),
        ],
        "",
        id="a batch",
    ),
    pytest.param("@@call w\n{c: ~~~x\n~~~x\n}", [("w", {"c": ""})], "", id="an empty body"),
    pytest.param("@@call w\n{c: ~~~x\n\n\n~~~x\n}", [("w", {"c": "\n"})], "", id="blank lines"),
    pytest.param(
        "@@call w\r\n{c: ~~~x\r\ny\r\nz\r\n~~~x\r\n}\r\n@@end\r\n",
        [("w", {"c": "y\nz"})],
        "",
        id="differs: the CR of a transport that ends lines in CR LF is no content of a body",
    ),
    pytest.param(
        "@@call w\r\n{c: ~~~x\r\n~~~x\r\n, d: ~~~x\r\n\r\n\ry\r\r\n~~~x,\r\n e: 1}\r\n",
        [("w", {"c": "", "d": "\n\ry\r", "e": 1})],
        "",
        id="nor of one without lines, and a CR alone is content there too",
    ),
    pytest.param(
        "@@call w\r\n{c: ```java\r\ny\r\nz\r\n```\r\n, d: ```\r\n\r\n```}\r\n",
        [("w", {"c": "y\nz", "d": ""})],
        "",
        id="nor of one between backticks",
    ),
    pytest.param(
        "@@call w\n{c: ~~~x\ny\r\nz\r\n~~~x\n}\n",
        [("w", {"c": "y\r\nz\r"})],
        "",
        id="behind a line that ends in LF it is",
    ),
    *[
        pytest.param(
            f"@@call w\n{fence}\n{{c: 1}}\n{end}",
            [("w", {"c": 1})],
            "",
            id=f"differs: arguments in a code block {fence!r} {end!r}",
        )
        for fence, end in (
            ("```json", "```\n@@end\n"),
            ("```", "```"),
            ("~~~", "~~~\r\n@@end"),
            ("```json\n", "\n```\n"),
            ("```json", "@@end"),
        )
    ],
    pytest.param(
        "@@call w\n```json\n{c: 1}\n```\n@@end\n@@call v\n{}\n@@end",
        [("w", {"c": 1}), ("v", {})],
        "",
        id="and another call behind them",
    ),
    pytest.param(
        "@@call w\n{c: ~~~x\n@@call inner\n{}\n@@end\n~~~x\n}\n@@end",
        [("w", {"c": "@@call inner\n{}\n@@end"})],
        "",
        id="a call in a body is content",
    ),
    pytest.param(
        "@@call w\n{c: ~~~md\n~~~java\nx\n~~~java\n~~~mdx\n~~~md x\n ~~~md\n~~~md\n}",
        [("w", {"c": "~~~java\nx\n~~~java\n~~~mdx\n~~~md x\n ~~~md"})],
        "",
        id="only its own closing line closes a body",
    ),
    pytest.param(
        '@@call w\n{c: "~~~x\\n", d: \'```\', e: ["@@end"]}',
        [("w", {"c": "~~~x\n", "d": "```", "e": ["@@end"]})],
        "",
        id="marks in quoted strings",
    ),
    pytest.param(
        '@@call w\n{"a": 1e3, "b": -0.5, "c": null, "d": None, e: False}',
        [("w", {"a": 1e3, "b": -0.5, "c": None, "d": None, "e": False})],
        "",
        id="literals and numbers",
    ),
    # What the first system got wrong.
    pytest.param(
        "@@call r\n{}\n@@end",
        [("r", {})],
        "",
        id="differs: the end mark does not stay in the prose",
    ),
    pytest.param(
        "Done.\n@@end\n",
        [],
        "Done.",
        id="differs: nor one without a call",
    ),
    pytest.param(
        "One: @@call a\n@@call b\n{y: 2}\n@@end\nI would use @@call foo to do it.\nOk",
        [("b", {"y": 2})],
        "One: @@call a\nI would use @@call foo to do it.\nOk",
        id="differs: speaking of calls loses no other call",
    ),
    pytest.param(
        "@@call w\n{c: ```java\nuse ``` here\nint x;\n```\n}",
        [("w", {"c": "use ``` here\nint x;"})],
        "",
        id="differs: a label is no content, and a fence closes at a line's beginning",
    ),
    pytest.param(
        "@@call w\n{c: ```x = 1```, d: ```\nplain text\nmore\n```}",
        [("w", {"c": "x = 1", "d": "plain text\nmore"})],
        "",
        id="a fence on one line",
    ),
    pytest.param(
        "@@call a\n{x: 1}@@end@@call b\n{y: 2} @@end more",
        [("a", {"x": 1}), ("b", {"y": 2})],
        "more",
        id="calls without line ends between",
    ),
    pytest.param("  @@call a\n  {x: 1}\n  @@end\n", [("a", {"x": 1})], "", id="indented marks"),
    *[
        pytest.param(f"@@call a\n{{}}\n{cut}", [("a", {})], "", id=f"a mark cut to {cut!r}")
        for cut in ("@@", "@@c", "@@call", "@@e", "@@en", "@@end")
    ],
    pytest.param("No calls here.", [], "No calls here.", id="prose only"),
    pytest.param("", [], "", id="nothing"),
]


@pytest.mark.parametrize(("text", "calls", "prose"), WHOLE)
def test_calls_and_prose_are_read(text: str, calls: list[Call], prose: str) -> None:
    reply = parse_heredoc(text)
    assert calls_of(reply) == calls
    assert (reply.text, reply.problem) == (prose, "")


CUT = [
    "@@call w\n{content: ~~~x\npublic class A {\n",
    '@@call w\n{path: "a.java",\n',
    '@@call w\n{path: "a.jav\n',
    "@@call w\n{content: ```\nbody\n",
    "@@call w\n{content: ~~~x",
    "@@call w\n{content: ```",
    "@@call w\n{c: ~~~md\nx\n  ~~~md\n}\n",
    "@@call w\n{c: ~~~md\nx\n~~~md }\n",
    "@@call a",
    "@@call a\n",
    "@@call w\n{pa",
    "@@call w\n{path ",
    "@@call w\n{a: tr",
    "@@call w\n{a: Non",
    "@@call w\n{a: -",
    "@@call w\n{a: 1e",
    "@@call w\n{a: [1, {b: 'it\\",
    '@@call w\n{a: "\\u12',
]


@pytest.mark.parametrize("text", CUT, ids=repr)
def test_a_cut_call_is_told_and_can_not_be_run(text: str) -> None:
    reply = parse_heredoc(text)
    assert (reply.problem, reply.calls, len(reply.written)) == ("truncated", (), 1)
    assert read_arguments(reply.written[0].arguments).kind == "truncated"


MALFORMED = [
    "@@call \n{}",
    "@@call a\n[1]",
    "@@call a\n@@end",
    "@@call a {x: 1}\n",
    "@@call w\n{c: ~~~\nx\n~~~\ny\n~~~\n}",
    "@@call w\n{a-b: 1}",
    "@@call w\n{a: hello}",
    "@@call w\n{true: 1}",
    '@@call w\n{a: "x\ny"}',
    "@@call w\n{a: 1 /* no */}",
    "@@call w\n{c: ~~~x\ny\n~~~x\nd: 1}",
    "@@call w\n{a: 01}",
    "@@call w\n{a: 1]",
    "@@call w\n{a: 1, , b: 2}",
    '@@call w\n{a: "\\ud800"}',
    "@@call w\n```json\n[1]\n```\n@@end",
    "@@call w\n```json\n{a: 1}\nand more\n```\n@@end",
    '@@call w\n{"a": 1, "a": 2}\n@@end',
    '@@call w\n{"b": [{"a": 1, "a": "1"}]}\n@@end',
]


@pytest.mark.parametrize("text", MALFORMED, ids=repr)
def test_a_wrong_call_is_told_with_what_was_written(text: str) -> None:
    reply = parse_heredoc(text)
    assert (reply.problem, reply.calls, len(reply.written)) == ("malformed", (), 1)
    assert reply.written[0].arguments in text


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("@@call a\n{x: 1}\n@@end\n@@call b\n{y: oops}\n@@end\n@@call c\n{z: 3}\n@@end\n", "omo"),
        ("@@call a\n{x: 1}\n@@end\n@@call b\n{y: 'open\n@@end\n@@call c\n{z: 3}\n@@end", "omo"),
        ("@@call a\n{x: 1}\n@@end\n@@call b\n{y: 2\n@@end\n@@call c\n{z: 3}", "omo"),
        ("@@call a\n{x: 1}\n@@end\n@@call b\n{y: ~~~t\nz\n@@end\n", "ot"),
        ("@@call a\n{x: 1}\n@@end\n@@call", "o"),
    ],
    ids=repr,
)
def test_one_error_loses_no_other_call(text: str, kinds: str) -> None:
    """Differs: the first system gave back no calls at all."""
    assert "".join(call.kind[0] for call in parse_heredoc(text).written) == kinds


def test_keys_with_two_values_are_handed_on_both() -> None:
    reply = parse_heredoc("@@call w\n{a: ~~~md\nx\n~~~md\n, a: 'y'}\n@@end\n@@call v\n{}\n@@end")
    assert [(call.name, call.kind) for call in reply.written] == [
        ("w", "malformed"),
        ("v", "object"),
    ]
    assert reply.written[0].arguments.replace("\n", "") == '{"a": "x", "a": "y"}'


def test_a_key_that_is_named_again_with_its_value_is_a_repair() -> None:
    (call,) = parse_heredoc("@@call w\n{a: {x: 1}, b: 2, a: {x:1}}\n@@end").calls
    assert (from_json(call.arguments), call.repairs) == (
        {"a": {"x": 1}, "b": 2},
        ("duplicate_key",),
    )
    assert call.arguments.count('"a"') == 1


def test_arguments_in_a_code_block_are_a_repair() -> None:
    (call,) = parse_heredoc("@@call w\n```json\n{a: 1}\n```\n@@end").calls
    assert call.repairs == ("fence",)


NAMES = ("read_file", "a")


@pytest.mark.parametrize(
    ("text", "written", "prose"),
    [
        ("@@call a\n{}", [("a", "object")], ""),
        ("@@call other\n{}", [("other", "object")], ""),
        ("@@call other\nis what I would write", [], "@@call other\nis what I would write"),
        ("@@call a\nis wrong", [("a", "malformed")], ""),
        ("@@call read_f", [("read_f", "truncated")], ""),
        ("@@call nothing", [], "@@call nothing"),
        ("@@call a {x: 1}", [("a", "malformed")], ""),
        ("@@call other\n```json\n{}\n```\n@@end", [("other", "object")], ""),
        ("@@call a is for this\n@@call a\n{}", [("a", "object")], "@@call a is for this"),
    ],
    ids=repr,
)
def test_offered_names_tell_calls_from_words(
    text: str, written: list[tuple[str, str]], prose: str
) -> None:
    """A made-up tool with arguments is a call, so that the loop can say that there is no such tool."""
    reply = parse_heredoc(text, names=NAMES)
    assert [(call.name, call.kind) for call in reply.written] == written
    assert reply.text == prose


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ("done", "done"),
        ("I could not find the file.", "I could not find the file."),
        ("", ""),
        ("@@call w\n{a: 1}", "@@call w\n{a: 1}\n@@end\n"),
        ("@@call w\n{a: 1}\n", "@@call w\n{a: 1}\n@@end\n"),
        ("@@call w\n{a: 1}\n@@end\n", "@@call w\n{a: 1}\n@@end\n"),
        ("a @@end b", "a @@end b"),
        ("I speak of @@call w here", "I speak of @@call w here"),
    ],
)
def test_the_end_mark_a_stop_sequence_took_is_put_back(text: str, closed: str) -> None:
    assert close_heredoc(text) == closed


def test_putting_the_end_mark_back_closes_no_cut() -> None:
    reply = parse_heredoc(close_heredoc('@@call w\n{a: "x'))
    assert (reply.problem, reply.calls) == ("malformed", ())


def test_a_call_is_rendered_as_plain_json() -> None:
    assert render_call("w", ' {"a": 1}\n') == '@@call w\n{"a": 1}\n@@end'
    assert render_call("w", "  ") == "@@call w\n{}\n@@end"


BODIES = {
    "quotes": "say \"hi\" and 'hi'",
    "backslashes": "C:\\new\\table \\\\ \\u0041 \\",
    "code fence": "```python\nprint(1)\n```",
    "tilde run": "~~~\n~~~~ x\n~~~java\n~~~jav",
    "markers": "@@end\n@@call w\n{a: 1}\n@@end",
    "native delimiters": "<tool_call>\n</parameter>\n<|im_end|>\n[/TOOL_CALLS]",
    "JSON": '{"a": [1, 2,], "b": "c\\n"}',
    "unicode": "caf\u00e9 \U0001f600 \u4e16\u754c\u2028x\u0085y",
    "blank ends": "\n\n x \t\n\n",
    "CR": "a\r\nb\r",
    "empty": "",
}


@pytest.mark.parametrize("content", BODIES.values(), ids=BODIES)
def test_whatever_a_body_holds_arrives_as_it_is(content: str) -> None:
    text = f'@@call w\n{{path: "x", content: ~~~md\n{content}\n~~~md\n}}\n@@end\n'
    reply = parse_heredoc(text)
    assert calls_of(reply) == [("w", {"path": "x", "content": content})]
    assert reply.text == ""


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_any_body_without_its_closing_line_arrives(content: str) -> None:
    text = f"@@call w\n{{c: ~~~tag\n{content}\n~~~tag\n}}\n@@end"
    if not any(line.strip(" \t\r,") == "~~~tag" for line in content.split("\n")):
        assert calls_of(parse_heredoc(text)) == [("w", {"c": content})]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("ab\n~`@", max_size=3), inner)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.text("ab-\"'", max_size=3), JSON, max_size=4), st.booleans())
def test_what_was_rendered_is_read_back(arguments: dict[str, Any], indented: bool) -> None:
    import json

    written = json.dumps(arguments, ensure_ascii=False, indent=2 if indented else None)
    reply = parse_heredoc(
        f"Before.\n{render_call('w', written)}\n{render_call('v', written)}\nAfter."
    )
    assert reply.written == (
        HeredocCall(name="w", arguments=written),
        HeredocCall(name="v", arguments=written),
    )
    assert reply.text == "Before.\nAfter."


PIECES = [
    "@@call ",
    "@@end",
    "w",
    "\n",
    "{",
    "}",
    "[",
    "]",
    '"',
    "'",
    "~~~x",
    "~~~",
    "```",
    ",",
    ":",
]
PIECES += ["a", " ", "\\", "1", "-", "true", "Non", "\t", "\r", "\u00e9", "/", "."]


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_any_text_is_read_and_only_whole_json_is_called_whole(text: str) -> None:
    for names in (None, ("w", "a1")):
        for call in parse_heredoc(text, names=names).written:
            read = read_arguments(call.arguments).kind
            assert call.kind == "malformed" or read == call.kind


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join), st.data())
def test_a_call_that_is_cut_anywhere_is_never_whole(inner: str, data: st.DataObject) -> None:
    whole = parse_heredoc(f"@@call w\n{{a: {inner}}}")
    if len(whole.calls) != 1 or len(whole.written) != 1 or whole.text:
        return
    text = f"@@call w\n{{a: {inner}}}".rstrip()
    cut = data.draw(st.integers(len("@@call w"), len(text) - 1))
    reply = parse_heredoc(text[:cut])
    assert (reply.problem, reply.calls) == ("truncated", ())


HOSTILE = {
    "unclosed bodies": "".join(f"@@call w\n{{a b: ~~~{n}\n" for n in range(400)),
    "nested bodies": "".join(f"@@call w\n{{a b: ~~~{n}\n" for n in range(200))
    + "".join(f"~~~{n}\n" for n in reversed(range(200))),
    "open strings": "@@call w\n{a: \"x\n@@call w\n{a: 'x\n" * 400,
    "heads": "@@call w\n" * 1000,
    "heads on one line": "@@call w @@call w" * 1000,
    "ends": "@@end\n" * 1000,
    "braces": "@@call w\n" + "{" * 5000,
    "commas": "@@call w\n{a: [" + "," * 5000,
    "blanks": "@@call w\n" + " " * 5000,
    "near closers": "@@call w\n{a: ~~~x\n" + "~~~x y\n" * 1000,
    "fences": "@@call w\n{a: ```\n" + "```x\n" * 1000,
    "backslashes": '@@call w\n{a: "' + "\\" * 5001,
}


def traced_calls(text: str) -> int:
    """Calls and returns, of C functions too, while a text is read."""
    import sys

    count = 0

    def note(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += 1

    sys.setprofile(note)
    try:
        parse_heredoc(text, names=("w",))
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_costs_linear_work(text: str) -> None:
    small, large = traced_calls(text), traced_calls(text * 4)
    assert large <= 5 * small + 200
