"""Tags that are a tool's name: calls, and all that looks like them."""

from collections.abc import Iterable
from typing import Any

import pytest
from pydantic_core import from_json

from rig.text.salvage import OfferedTool, SalvageGate, salvage
from rig.text.salvage.offer import Offer
from rig.text.salvage.scanner import scan_text
from rig.text.salvage.source import Source
from rig.text.salvage.table import MARKS

TEXT = {"type": "string"}
NUMBER = {"type": "integer"}
FLAG = {"type": "boolean"}


def offered(name: str, *required: str, **properties: object) -> OfferedTool:
    return OfferedTool(
        name, {"type": "object", "properties": properties, "required": list(required)}
    )


TOOLS = (
    offered("read_file", "path", path=TEXT, start_line=NUMBER),
    offered("write_to_file", "path", "content", path=TEXT, content=TEXT),
    offered("execute_command", "command", command=TEXT, requires_approval=FLAG),
    offered("replace_in_file", "path", "diff", path=TEXT, diff=TEXT),
    offered("get_weather", "city", city=TEXT, days=NUMBER, tags={"type": "array", "items": TEXT}),
    offered("search", "query", query=TEXT, limit=NUMBER),
    offered("code", "content", content=TEXT, language=TEXT),
    offered("summary", "text", text=TEXT),
    offered("title", "text", text=TEXT),
    offered("a", "href", href=TEXT, text=TEXT),
    offered("note", "title", "body", title=TEXT, body=TEXT),
    offered("email", "to", "body", to=TEXT, subject=TEXT, body=TEXT),
    offered("ping"),
    offered("listUsers", team=TEXT),
)

READ = "<read_file>\n<path>src/a.py</path>\n</read_file>"
PATH = ("read_file", {"path": "src/a.py"})
WEATHER = '<get_weather>{"city": "Rome"}</get_weather>'
ROME = ("get_weather", {"city": "Rome"})
HTML = '<!-- x -->\n<ul class="a">\n  <li><a href="#">if (a &lt; b) </a></li>\n</ul>'
DIFF = "<<<<<<< SEARCH\nx = 1\n=======\nx = 2\n>>>>>>> REPLACE"

CALLS: dict[str, tuple[str, list[tuple[str, dict[str, Any]]], str]] = {
    "on lines": (READ, [PATH], ""),
    "on one line": ("<read_file><path>src/a.py</path></read_file>", [PATH], ""),
    "with indents": ("<read_file>\n  <path>src/a.py</path>\n</read_file>", [PATH], ""),
    "with CR LF": (READ.replace("\n", "\r\n"), [PATH], ""),
    "behind blank lines": ("\n\n" + READ + "\n\n", [PATH], ""),
    "two": (f"{READ}\n{READ.replace('src/a', 'b')}", [PATH, ("read_file", {"path": "b.py"})], ""),
    "two without a line between": (READ + READ, [PATH, PATH], ""),
    "two with a paragraph between": (f"{READ}\n\n{WEATHER}", [PATH, ROME], ""),
    "behind a sentence": (f"I'll read the file first.\n\n{READ}", [PATH], "I'll read the file first."),
    "behind a sentence on its line": (f"I'll read it. {READ}", [PATH], "I'll read it."),
    "behind a colon": (f"Let me look at the file:\n{READ}", [PATH], "Let me look at the file:"),
    "behind a word of assent": (f"Sure!\n{READ}", [PATH], "Sure!"),
    "a word behind a sentence that says so": ("I'll look it up.\n<search><query>x</query></search>", [("search", {"query": "x"})], "I'll look it up."),
    "a word behind a sentence that asks": ("I need to search.\n\n<search><query>x</query></search>", [("search", {"query": "x"})], "I need to search."),
    "behind what was found": ("The bug seems to be in src/a.py.\n\n<read_file>\n<path>src/a.py</path>\n</read_file>", [("read_file", {"path": "src/a.py"})], "The bug seems to be in src/a.py."),
    "behind German": (f"Ich lese die Datei:\n\n{READ}", [PATH], "Ich lese die Datei:"),
    "behind Chinese": (f"\u6211\u6765\u8bfb\u53d6\u6587\u4ef6\uff1a\n{READ}", [PATH], "\u6211\u6765\u8bfb\u53d6\u6587\u4ef6\uff1a"),
    "behind French": (f"Je vais lire le fichier :\n{READ}", [PATH], "Je vais lire le fichier :"),
    "behind a thought": (f"<think>Which file?</think>\n{READ}", [PATH], ""),
    "behind Cline's thought": (f"<thinking>\nWhich file?\n</thinking>\n\n{READ}", [PATH], ""),
    "behind a plan": (f"<plan>\nRead it.\n</plan>\n{READ}", [PATH], "<plan>\nRead it.\n</plan>"),
    "before a sentence": (f"{READ}\n\nI wait for the result.", [PATH], "I wait for the result."),
    "before an invented result": (f"{READ}\n<tool_response>x = 1</tool_response>", [PATH], ""),
    "in a wrapper": (f"<tool_call>\n{READ}\n</tool_call>", [PATH], ""),
    "in a wrapper of several": (f"<function_calls>\n{READ}\n{WEATHER}\n</function_calls>", [PATH, ROME], ""),
    "in a code block that is all": (f"```xml\n{READ}\n```", [PATH], ""),
    "in two code blocks": (f"```xml\n{READ}\n```\n```\n{WEATHER}\n```", [PATH, ROME], ""),
    "upper case of a name": ("<listUsers>\n<team>Core</team>\n</listUsers>", [("listUsers", {"team": "Core"})], ""),
    "a number": ("<search>\n<query>x</query>\n<limit>3</limit>\n</search>", [("search", {"query": "x", "limit": 3})], ""),
    "a flag": (
        "<execute_command>\n<command>ls -la > x && cat <x</command>\n<requires_approval>false</requires_approval>\n</execute_command>",
        [("execute_command", {"command": "ls -la > x && cat <x", "requires_approval": False})], "",
    ),
    "an indented value": ("<search>\n  <query>\n    x y\n  </query>\n</search>", [("search", {"query": "x y"})], ""),
    "a value whose blanks are its own": ("<code>\n<content>\n    x = 1\n</content>\n</code>", [("code", {"content": "    x = 1"})], ""),
    "indented lines": ("<code>\n  <content>\n    x:\n      y\n  </content>\n</code>", [("code", {"content": "    x:\n      y\n  "})], ""),
    "a section of CDATA": ("<search><query><![CDATA[x y]]></query></search>", [("search", {"query": "x y"})], ""),
    "a section of CDATA on lines": ("<search>\n<query>\n<![CDATA[x y]]>\n</query>\n</search>", [("search", {"query": "x y"})], ""),
    "parameters in an element of their own": ("<search>\n<parameters>\n<query>x y</query>\n</parameters>\n</search>", [("search", {"query": "x y"})], ""),
    "arguments in an element of their own": ("<search><arguments><query>x y</query></arguments></search>", [("search", {"query": "x y"})], ""),
    "an object in an element of its own": ('<search>\n<arguments>\n{"query": "x y"}\n</arguments>\n</search>', [("search", {"query": "x y"})], ""),
    "a section of CDATA in it": ("<search><args><query><![CDATA[x y]]></query></args></search>", [("search", {"query": "x y"})], ""),
    "a list": ('<get_weather><city>Rome</city><tags>["a", "b"]</tags></get_weather>', [("get_weather", {"city": "Rome", "tags": ["a", "b"]})], ""),
    "parameters in another order": (
        "<write_to_file>\n<content>\nx\n</content>\n<path>a</path>\n</write_to_file>",
        [("write_to_file", {"content": "x", "path": "a"})], "",
    ),
    "a file of HTML": (
        f"<write_to_file>\n<path>a.html</path>\n<content>\n{HTML}\n</content>\n</write_to_file>",
        [("write_to_file", {"path": "a.html", "content": HTML})], "",
    ),
    "a file of code with blank lines": (
        "<write_to_file>\n<path>a.py</path>\n<content>\ndef f():\n    return '<b>'\n\n\nprint(f())\n</content>\n</write_to_file>",
        [("write_to_file", {"path": "a.py", "content": "def f():\n    return '<b>'\n\n\nprint(f())"})], "",
    ),
    "a file with a code block": (
        "<write_to_file>\n<path>a.md</path>\n<content>\n```py\nx\n```\n</content>\n</write_to_file>",
        [("write_to_file", {"path": "a.md", "content": "```py\nx\n```"})], "",
    ),
    "a file with its own closing tag": (
        "<write_to_file>\n<path>a</path>\n<content>\nThe tag </content> ends it.\n</content>\n</write_to_file>",
        [("write_to_file", {"path": "a", "content": "The tag </content> ends it."})], "",
    ),
    "a file that tells of such calls": (
        "<write_to_file>\n<path>a</path>\n<content>\n<write_to_file>\n<path>b</path>\n<content>y</content>\n</write_to_file>\n</content>\n</write_to_file>",
        [("write_to_file", {"path": "a", "content": "<write_to_file>\n<path>b</path>\n<content>y</content>\n</write_to_file>"})], "",
    ),
    "a file that opens its tag and never closes it": (
        f"<write_to_file>\n<path>a</path>\n<content>\nSee <content>.\n</content>\n</write_to_file>\n{READ}",
        [("write_to_file", {"path": "a", "content": "See <content>."}), PATH], "",
    ),
    "a file with a tag of a thought": (
        "<write_to_file><path>a</path><content><think>x</think></content></write_to_file>",
        [("write_to_file", {"path": "a", "content": "<think>x</think>"})], "",
    ),
    "a file with a call of another form": (
        '<write_to_file><path>a</path><content><tool_call>{"name":"ping"}</tool_call></content></write_to_file>',
        [("write_to_file", {"path": "a", "content": '<tool_call>{"name":"ping"}</tool_call>'})], "",
    ),
    "a difference": (
        f"<replace_in_file>\n<path>a</path>\n<diff>\n{DIFF}\n</diff>\n</replace_in_file>",
        [("replace_in_file", {"path": "a", "diff": DIFF})], "",
    ),
    "a parameter twice, with one value": ("<read_file><path>a</path><path>a</path></read_file>", [("read_file", {"path": "a"})], ""),
    "without a required parameter": ("<write_to_file>\n<path>a</path>\n</write_to_file>", [("write_to_file", {"path": "a"})], ""),
    "an empty value": ("<search><query></query></search>", [("search", {"query": ""})], ""),
    "an object": (WEATHER, [ROME], ""),
    "an object on lines": ('<get_weather>\n{\n  "city": "Rome"\n}\n</get_weather>', [ROME], ""),
    "an object behind a sentence": (f"I look it up.\n{WEATHER}", [ROME], "I look it up."),
    "two objects": (f"{WEATHER}\n{WEATHER.replace('Rome', 'Oslo')}", [ROME, ("get_weather", {"city": "Oslo"})], ""),
    "an object without its closing tag": ('<get_weather>{"city": "Rome"}', [ROME], ""),
    "an object with another closing tag": ('<get_weather>{"city": "Rome"}</tool_call>', [ROME], ""),
    "an object in single quotes": ("<get_weather>{'city': 'Rome'}</get_weather>", [ROME], ""),
    "an object with a comma too many": ('<get_weather>{"city": "Rome",}</get_weather>', [ROME], ""),
    "an object in a code block": ('<get_weather>\n```json\n{"city": "Rome"}\n```\n</get_weather>', [ROME], ""),
    "an object in arguments": ('<get_weather>{"arguments": {"city": "Rome"}}</get_weather>', [ROME], ""),
    "an object that is the whole call": ('<get_weather>{"name": "get_weather", "arguments": {"city": "Rome"}}</get_weather>', [ROME], ""),
    "an object with markup": ('<code>{"content": "</code> {"}</code>', [("code", {"content": "</code> {"})], ""),
    "nothing": ("<ping></ping>", [("ping", {})], ""),
    "nothing, on lines": ("I ping it.\n<ping>\n</ping>", [("ping", {})], "I ping it."),
    "an empty object": ("<ping>{}</ping>", [("ping", {})], ""),
    "a tool with a common name": ("<summary>\n<text>All is well.</text>\n</summary>", [("summary", {"text": "All is well."})], ""),
}  # fmt: skip

SHOWN: dict[str, str] = {
    # words about it
    "how to write it": f"To call it write {READ}",
    "how to write it, on lines": f"To read a file, write:\n\n{READ}",
    "an example": f"For example:\n{READ}",
    "an example in a sentence": f"For example, {READ} reads the file.",
    "the format": f"The format is:\n\n{READ}",
    "usage": f"Usage:\n{READ}",
    "somebody could": f"You could use\n{READ}",
    "negation": f"Never write {READ}",
    "a statement": f"The prompt of Cline has {READ}",
    "a title": f"# The element\n{READ}",
    "a name of a file": f"config.xml:\n{READ}",
    "what a page says": f"The page says:\n{READ}",
    "a question": f"What does this do?\n{READ}",
    "explained behind": f"{READ}\nThis is the format of such a call.",
    "a part of a sentence": f"The element {READ} is read by Cline.",
    "a verb behind": f"{READ} would read the file.",
    "an object in a sentence": f"The element {WEATHER} is one of ours.",
    "an object explained": f"The answer had this in it:\n{WEATHER}",
    "another language": f"Zum Beispiel:\n{READ}",
    "another language's lead": f"Die Datei hat diesen Inhalt:\n{READ}",
    # code and quotations
    "in code": "Use `<read_file><path>a</path></read_file>` for it.",
    "in quotation marks": 'It is "<read_file><path>a</path></read_file>" there.',
    "in a code block with prose": f"I saw this:\n```xml\n{READ}\n```\nThat is all.",
    "in a code block behind prose": f"The file is:\n\n```xml\n{READ}\n```",
    "quoted lines": "> " + READ.replace("\n", "\n> "),
    "a list": f"- {READ}",
    "a numbered list": f"1. {READ}",
    "an indented block": "It reads:\n\n    " + READ.replace("\n", "\n    "),
    "a comment": f"<!--\n{READ}\n-->",
    "a comment of code": "# <read_file><path>a</path></read_file>",
    "an assignment": 'x = "<read_file><path>a</path></read_file>"',
    "an assignment in backticks": "const x = `\n" + READ + "\n`;",
    "a function's argument": "parse('<read_file><path>a</path></read_file>')",
    "a triple quote": f'x = """\n{READ}\n"""',
    "a difference": "+" + READ.replace("\n", "\n+"),
    "a difference without its head": "@@ -1,3 +1,3 @@\n " + READ.replace("\n", "\n "),
    "a log": f"2024-05-01 12:00:00 INFO {READ}",
    "a table": "| call | <read_file><path>a</path></read_file> |",
    "a command": f"$ cat a.xml\n{READ}",
    "a mail": f"From: a@b.c\nSubject: x\n\n{READ}",
    "another turn": f"User: read it\nHuman: {READ}",
    "a turn in tokens": f"<|im_start|>user\n{READ}",
    "a few shots": f"User: read a\nAssistant: ok\nUser: {READ}",
    # documents
    "XML with a prolog": f'<?xml version="1.0"?>\n{READ}',
    "HTML with a type": f"<!DOCTYPE html>\n{READ}",
    "inside of an element": f"<config>\n{READ}\n</config>",
    "inside of a page": f"<html>\n<body>\n{READ}\n</body>\n</html>",
    "inside of a result": f"<tool_response>\n{READ}\n</tool_response>",
    "behind an element": f"<name>x</name>\n{READ}",
    "before an element": f"{READ}\n<author>x</author>",
    "among elements": "<title><text>x</text></title>\n<search><query>a</query></search>\n<foot>1</foot>",
    "with another child": "<read_file>\n<path>a</path>\n<encoding>x</encoding>\n</read_file>",
    "with text behind a child": "<search>\n<query>a</query>\nand more\n</search>",
    "with text": "<read_file>src/a.py</read_file>",
    "a title of a page": "<title>My page</title>",
    "a summary": "<summary>All tests pass.</summary>",
    "code": "<code>x = {1: 2}</code>",
    "code that is an object": '<code>{"x": 1}</code>',
    "code of CSS": "<code>{ color: red; }</code>",
    "a link": 'See <a href="https://x.org">this</a>.',
    "a link without anything": "<a>text</a>",
    "details": "<details>\n<summary>More</summary>\nThe text.\n</details>",
    "a search form": '<search>\n<form action="/s"><input name="q"></form>\n</search>',
    "SVG": "<svg><title>Icon</title><a><text>x</text></a></svg>",
    "an attribute": '<search limit="5"><query>a</query></search>',
    "a name space": "<x:search><query>a</query></x:search>",
    "an element of an offered name in an unknown case": "<Read_File><path>a</path></Read_File>",
    "another tool": "<delete_file><path>a</path></delete_file>",
    "a prefix of a tool": "<read><path>a</path></read>",
    "a list of names": "The tags are <read_file>, <search> and <ping>.",
    "one tag": "Use the <search> tag.",
    "one tag at the end": "The tag is <search>",
    "a tag at the begin": "<search> is a tag of HTML.",
    "a tag that is not closed": "<summary>\nThe text goes on and on.",
    "a closing tag": "</read_file> ends it, as it does in XML.",
    "an empty element of a tool that needs something": "<read_file></read_file>",
    "an empty element in a sentence": "The element <ping></ping> is empty.",
    "an empty element before a word": "<ping></ping> done",
    "JSX": "return (\n  <note>\n    <title>x</title>\n    <body>y</body>\n  </note>\n);",
    "a type": "Map<a, search> x = new Map<>();",
    "generics": "List<code> c; if (x <a && b> c) {}",
    "a comparison": "x <a and b> c",
    "an object with other keys": '<get_weather>{"temp": 20}</get_weather>',
    "an object with one other key": '<get_weather>{"city": "Rome", "temp": 20}</get_weather>',
    "an object with text behind": '<get_weather>{"city": "Rome"} is sunny</get_weather>',
    "an element of its own with another one": "<search>\n<parameters>\n<size>3</size>\n</parameters>\n</search>",
    "an element of its own and another one": "<search>\n<input><query>x</query></input>\n<result>1</result>\n</search>",
    "an object of other keys in an element of its own": '<search><arguments>{"size": 3}</arguments></search>',
    "a definition": '<search>{"type": "object", "properties": {"query": {"type": "string"}}}</search>',
    "placeholders": "This is the call.\n<read_file>\n<path>{path}</path>\n</read_file>",
    "Cline's own page": "## read_file\nDescription: Request to read a file.\nParameters:\n- path: (required)\nUsage:\n<read_file>\n<path>File path here</path>\n</read_file>",
    "a page of two tools": f"## A\nUsage:\n{READ}\n\n## B\nUsage:\n{WEATHER}",
    "a description behind the tags": f"{READ} -> the file's text",
    "handed over": "Sure! Here's the note you asked for.\n\n<note>\n<title>a</title>\n<body>b</body>\n</note>",
    "handed over below": "The generated XML is below.\n\n<note>\n<title>a</title>\n<body>b</body>\n</note>",
    "converted": "Converted to XML:\n<note>\n<title>a</title>\n<body>b</body>\n</note>",
    "a draft to be looked at": "I wrote a draft for you to review.\n\n<email>\n<to>bob@x.org</to>\n<body>Hello</body>\n</email>",
    "a draft to be asked about": "I've drafted it. Let me know if you want me to send it.\n\n<email>\n<to>bob@x.org</to>\n<body>Hello</body>\n</email>",
    "a draft in German": "Hier der Entwurf.\n\n<email>\n<to>bob@x.org</to>\n<body>Hallo</body>\n</email>",
    "a draft in Japanese": "\u30e1\u30fc\u30eb\u306e\u4e0b\u66f8\u304d\u3067\u3059\u3002\n\n<email>\n<to>bob@x.org</to>\n<body>x</body>\n</email>",
    "a word behind a sentence": "It is dangerous.\n\n<code><content>rm -rf /</content></code>\n\nIt removes everything.",
    "before another's closing tag": "<search><query>x</query></search>\n</searches>",
    "how tools are called": f"Each tool call is written as XML.\n\n{READ}",
    "how tools are called, in German": f"Werkzeuge werden mit ihrem Namen als Tag aufgerufen.\n\n{READ}",
    "what was done": f"I did this.\n\n{READ}",
    "a sentence around it": f"Step 2:\n{READ}\nis where it fails.",
    "a label of output": "Output:\n<note>\n<title>a</title>\n<body>b</body>\n</note>",
    "told behind": f"{READ}\n\nThat is how Cline reads a file.",
    "told behind, an example": f"{READ}\n\nIn this example the path is a.py.",
    "told behind, above": f"{READ}\n\nAbove is what you asked for.",
    "told behind, a parameter": f"{READ}\n\nHere, `path` is the path of the file.",
    "refused": f"I will not run this:\n{READ}",
    "injected": f"The file contains this instruction:\n{READ}",
    "a child of a result": "<search>\n<query>cats</query>\n<result>1</result>\n</search>",
    "steps": "Steps:\n1. Read:\n   " + READ.replace("\n", "\n   ") + "\n2. Write.",
    "two with titles": f"### Read\n{READ}\n\n### Weather\n{WEATHER}",
    "a TypeScript type": "type X = Promise<search>;\ntype Y = <query>(q: query) => void;",
}  # fmt: skip


def calls_of(text: str) -> list[tuple[str, dict[str, Any]]]:
    return [(call.name, from_json(call.arguments)) for call in salvage(text, TOOLS).calls]


@pytest.mark.parametrize(("text", "calls", "rest"), CALLS.values(), ids=CALLS.keys())
def test_a_tag_that_is_a_tool_is_a_call(
    text: str, calls: list[tuple[str, dict[str, Any]]], rest: str
) -> None:
    found = salvage(text, TOOLS)
    assert calls_of(text) == calls
    assert (found.text, found.problem) == (rest, "")
    assert {call.dialect for call in found.calls} == {"named"}


@pytest.mark.parametrize("text", SHOWN.values(), ids=SHOWN.keys())
def test_tags_of_documents_are_text(text: str) -> None:
    found = salvage(text, TOOLS)
    assert found.calls == ()
    assert "".join(found.text.split()) == "".join(text.split())
    assert found.problem == ""


def splits(text: str) -> Iterable[list[str]]:
    for size in (1, 3, 7, 10_000):
        yield [text[start : start + size] for start in range(0, len(text), size)]


@pytest.mark.parametrize("text", [*(row[0] for row in CALLS.values()), *SHOWN.values()], ids=[*CALLS, *SHOWN])  # fmt: skip
def test_no_part_of_a_call_is_shown_on_the_way(text: str) -> None:
    found = salvage(text, TOOLS, separated=True)
    end = "".join(found.text.split())
    for chunks in splits(text):
        gate = SalvageGate(TOOLS)
        shown = "".join(part for chunk in chunks for part in gate.feed(chunk))
        visible, held = gate.close()
        assert shown + visible + held == text
        assert end.startswith("".join((shown + visible).split()))


PASSES = (
    "<search> is a tag.",
    "<title>My page</title>\nThat is all.",
    "<summary>\nThe text goes on.",
    "<code>x = 1</code> so",
    '<a href="x">y</a>.',
    "<b>bold</b> and <ul><li>x</li></ul>",
    "a <reader> b",
    '<search>{"x": 1}</search> no',
    "<search><limits>",
)


@pytest.mark.parametrize("text", PASSES)
def test_other_tags_are_let_through(text: str) -> None:
    for chunks in splits(text):
        gate = SalvageGate(TOOLS)
        shown = "".join(part for chunk in chunks for part in gate.feed(chunk))
        assert (shown + gate.close()[0]) == text


def test_a_tag_is_held_no_longer_than_it_may_be_a_tool() -> None:
    gate = SalvageGate(TOOLS)
    assert gate.feed("So <re") == ["So "]
    assert gate.holding
    assert "".join(gate.feed("d>!")) == "<red>!"
    assert not gate.holding


CUT = ("<read_file>\n<path>src", "<read_file><path>a</path>", "<read_file><path>a</path></read", '<get_weather>{"city": "Ro', "I read it.\n<write_to_file>\n<path>a</path>\n<content>\nx\n</content>\n")  # fmt: skip


@pytest.mark.parametrize("text", CUT)
def test_what_is_cut_is_never_closed(text: str) -> None:
    found = salvage(text, TOOLS)
    assert (found.calls, found.problem) == ((), "truncated")


@pytest.mark.parametrize("text", [row[0] for row in CALLS.values()], ids=CALLS)
def test_no_beginning_of_a_call_is_completed(text: str) -> None:
    whole = calls_of(text)
    for end in range(len(text)):
        for call in calls_of(text[:end]):
            assert call in whole


def test_two_values_of_one_parameter_are_no_call() -> None:
    found = salvage("<read_file><path>a</path><path>b</path></read_file>", TOOLS)
    assert (found.calls, found.problem) == ((), "malformed")


SLOW = ("<read_file>", "<read_file><path>", "<read_file><path>x</path>", "<read_file><path></path>x", "<search><query><query></query>", "<a>", "<", "<re",
    '<search>{"query":', '<search>{"query":"x"}', "<ping></ping>", "<write_to_file><content></content><path>x</path>y")  # fmt: skip


@pytest.mark.parametrize("unit", SLOW)
def test_work_grows_with_the_text_and_no_faster(unit: str) -> None:
    def work(size: int) -> int:
        source = Source(unit * (size // len(unit)), Offer(TOOLS), MARKS)
        scan_text(source)
        return source.work

    small, large = work(4_000), work(16_000)
    assert large <= 4 * small + 20_000
    assert large <= 40 * 16_000


@pytest.mark.parametrize("unit", SLOW)
def test_streams_cost_what_reading_them_a_few_times_does(unit: str) -> None:
    def work(size: int) -> int:
        gate = SalvageGate(TOOLS)
        text = unit * (size // len(unit))
        for start in range(0, len(text), 3):
            gate.feed(text[start : start + 3])
        return gate.work

    assert work(8000) <= 5 * work(2000) + 4000
