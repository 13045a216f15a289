"""Calls in Python's spelling: `search(q="x")`, alone, in a list, or behind `print(` and `x =`. No I/O.

Nothing is evaluated: a call is cut out by tokens, parsed to a syntax tree, and read as literals. The
tokens are checked first, so that the parser is never given what makes it warn or recurse.
"""

import ast
import re
from collections.abc import Sequence
from dataclasses import field
from typing import Final, Literal, cast

from rig.late_dataclass import dataclass
from rig.text.salvage.blocks import Block
from rig.text.salvage.calls import Problem, SalvagedCall
from rig.text.salvage.objects import Found, Setting, named_call, positional_call
from rig.text.salvage.source import Source

MAX_CALL_CHARS: Final = 1 << 18
"""Characters of one call that are parsed; Python's syntax tree takes 100 times as many bytes."""

MAX_BRACKETS: Final = 32
"""Brackets inside each other in one call."""

_HEAD = re.compile(
    r"(?:(?P<variable>[A-Za-z_]\w{0,63})[ \t]*=[ \t]*)?(?P<print>print[ \t]*\([ \t]*)?"
    r"(?P<name>[A-Za-z_][\w.\-]{0,127})[ \t]*(?P<open>\()"
)
_HEAD_PREFIX = re.compile(
    r"(?:[A-Za-z_]\w{0,63}[ \t]*=[ \t]*)?(?:print[ \t]*\([ \t]*)?(?P<name>[A-Za-z_][\w.\-]{0,127})?[ \t]*"
)
_TOKEN = re.compile(
    r"(?P<space>\s++|#[^\n]*+)"
    r"|(?P<string>[rRuU]?(?:'''(?:[^'\\]|\\.|'(?!''))*+'''|\"\"\"(?:[^\"\\]|\\.|\"(?!\"\"))*+\"\"\""
    r"|'(?!'')(?:[^'\\\n]|\\.)*+'|\"(?!\"\")(?:[^\"\\\n]|\\.)*+\"))"
    r"|(?P<number>(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][-+]?[0-9]++)?(?![\w.]))"
    r"|(?P<word>[A-Za-z_]\w*+)|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<mark>[,:=+\-])",
    re.DOTALL,
)
_BAD_ESCAPE = re.compile(
    r"(\\(?:\\|[\n'\"abfnrtv]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U000[0-9a-fA-F]{5}|U0010[0-9a-fA-F]{4}"
    r"|0(?![0-7])))|\\"
)
_ARGUMENTS = re.compile(
    r"\s*(?:\Z|[A-Za-z_]\w{0,127}\s*=(?!=)|[rRuU]?[\"'{\[]|-?\d+\s*(?:[,)]|\Z))"
)
_CUT_KEY = re.compile(r"\s*([A-Za-z_]\w{0,127})\s*")
_BETWEEN = re.compile(r"(?:[\s;,]|print[ \t]*\([ \t]*[A-Za-z_]\w{0,63}[ \t]*\)|#[^\n]*+)*+")
_AFTER = re.compile(r"[ \t]*(?:\Z|[\n\r;,#\]<`])")
_CLOSERS: Final = {"(": ")", "[": "]", "{": "}"}
_WORDS: Final = {"true": True, "false": False, "null": None}


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonCall:
    """What stands at an index.

    Attributes:
        kind: complete; truncated: the text ended in what may be a call; none.
        end: index after a complete one.
        name: as it is written.
        certain: of a truncated one, that it is a call of an offered tool, and no word before a bracket.
        found: the call, or why it is none; for complete.
    """

    kind: Literal["complete", "truncated", "none"]
    end: int = 0
    name: str = ""
    certain: bool = False
    found: Found = field(default_factory=Found)


_NONE = PythonCall(kind="none")


def read_python_call(
    source: Source, start: int, setting: Setting, *, code: bool = False
) -> PythonCall:
    """Read the call that begins at an index.

    Args:
        source: the text.
        start: index of its name.
        setting: how its arguments are looked at.
        code: `x =` and `print(` may stand before it.

    Returns:
        A complete call whose tool is not offered has the problem unknown_tool.
    """
    head = _HEAD.match(source.text, start)
    source.charge(MAX_BRACKETS)
    prefix = _HEAD_PREFIX.fullmatch(source.text, start)
    if head is None or prefix is not None:
        cut = prefix is not None and len(source.text) > start
        maybe = cut and prefix is not None and (code or may_be_name(source, prefix["name"] or ""))
        return PythonCall(kind="truncated") if maybe else _NONE
    if not code and head.start("name") > start:
        return _NONE
    written = head["name"].removesuffix(".call")
    name = source.offer.find(written)
    kind, end, text = _cut_out(source, head.end("open") - 1)
    if kind != "complete":
        certain = bool(name) and _begins_arguments(source, name, head)
        return PythonCall(kind=kind, name=name, certain=certain) if name or code else _NONE
    if head["print"]:
        after = source.skip_blanks(end)
        if source.text[after : after + 1] != ")":
            return PythonCall(kind="truncated") if after == len(source.text) else _NONE
        end = after + 1
    found = _literals(name, text, setting) if name else Found(problem="unknown_tool")
    return PythonCall(kind="complete", end=end, name=written, found=found)


def read_python_calls(
    source: Source, start: int, setting: Setting, stop: str, *, code: bool = False
) -> Block | None:
    """Read calls one after another, each on a line of its own or behind `;` or `,`.

    Args:
        source: the text.
        start: index of the first one.
        setting: how their arguments are looked at.
        stop: what ends them, in lower case; "" for the end of the text.
        code: they stand in a program: `x =` and `print(` may stand before them.

    Returns:
        None when anything else stands among them. The end of a block is where its stop begins.
    """
    calls: list[SalvagedCall] = []
    problem: Problem = ""
    position, size = _between(source, start), len(source.text)
    while position < size and not (stop and source.lower.startswith(stop, position)):
        one = read_python_call(source, position, setting, code=code)
        if one.kind == "truncated":
            cut: Problem = "truncated" if one.certain or calls or code else ""
            return Block(end=size, problem=cut, unfinished=True)
        if one.kind == "none" or not _AFTER.match(source.text, one.end):
            return None
        calls += one.found.calls
        problem = problem or one.found.problem
        position = _between(source, one.end)
    unfinished = position == size and bool(stop)
    return Block(end=position, calls=tuple(calls), problem=problem, unfinished=unfinished)


def may_be_name(source: Source, begun: str) -> bool:
    """Whether more could make a tool's name of this, or of it with Llama's `.call` behind it.

    Args:
        source: the text, for its tools.
        begun: the beginning of a name.
    """
    head, dot, tail = begun.rpartition(".")
    method = bool(dot) and "call".startswith(tail) and bool(source.offer.find(head))
    return bool(begun) and (method or source.offer.may_begin(begun))


def _begins_arguments(source: Source, name: str, head: re.Match[str]) -> bool:
    """Whether what follows a bracket that the text does not close is no prose in brackets."""
    start = head.end("open")
    if _ARGUMENTS.match(source.text, start):
        return True
    word = _CUT_KEY.fullmatch(source.text, start)
    touching = head.end("name") == head.start("open")
    known = source.offer.properties(name)
    return word is not None and touching and any(key.startswith(word[1]) for key in known)


def _between(source: Source, start: int) -> int:
    match = _BETWEEN.match(source.text, start)
    end = match.end() if match else start
    source.charge(end - start)
    return end


def _cut_out(
    source: Source, start: int
) -> tuple[Literal["complete", "truncated", "none"], int, str]:
    """The brackets that open at an index, with what is in them, as Python that may be parsed."""
    text, position = source.text, start
    parts: list[str] = []
    expected: list[str] = []
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None or token.end() - start > MAX_CALL_CHARS:
            break
        position = token.end()
        lexeme = token[0]
        if token.lastgroup == "string" and lexeme[0] not in "rR":
            lexeme = _BAD_ESCAPE.sub(lambda escape: escape[1] or "\\\\", lexeme)
        elif token.lastgroup == "open":
            expected.append(_CLOSERS[lexeme])
        elif token.lastgroup == "close" and (not expected or expected.pop() != lexeme):
            break
        parts.append(" " if token.lastgroup == "space" else lexeme)
        if not expected or len(expected) > MAX_BRACKETS:
            break
    source.charge(position - start)
    if not expected and parts and text[position - 1] == ")":
        return "complete", position, "".join(parts)
    cut = position >= len(text) or _is_cut_string(text, position)
    return "truncated" if cut else "none", position, ""


def _is_cut_string(text: str, start: int) -> bool:
    """Whether a string begins here that the end of the text cut."""
    quote = text[start : start + 1]
    triple = text.startswith(quote * 3, start)
    return quote in {"'", '"'} and (triple or "\n" not in text[start:])


def _literals(name: str, text: str, setting: Setting) -> Found:
    try:
        tree = ast.parse(f"f{text}", mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return Found(problem="malformed")
    if not isinstance(tree, ast.Call):
        return Found(problem="malformed")
    try:
        named = {str(item.arg): _literal(item.value) for item in tree.keywords if item.arg}
        values = [_literal(item) for item in tree.args]
    except ValueError:
        return Found(problem="malformed")
    if len(named) < len(tree.keywords):
        return Found(problem="malformed")
    if not values:
        return named_call(name, named, setting)
    if named:
        return Found(problem="no_arguments")
    if len(values) == 1 and isinstance(values[0], dict):
        given = cast("dict[str, object]", values[0])
        if given.keys() <= setting.offer.properties(name).keys():
            return named_call(name, given, setting)
    return positional_call(name, values, setting)


def _literal(node: ast.expr) -> object:
    """The JSON value of a literal.

    Raises:
        ValueError: it is no literal, or none of JSON's.
    """
    match node:
        case ast.Constant(value=bool() | int() | float() | str() | None as value):
            return value
        case ast.Name(id=word) if word in _WORDS:
            return _WORDS[word]
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_literal(item) for item in items]
        case ast.Dict(keys=keys, values=values):
            names = [key.value for key in keys if isinstance(key, ast.Constant)]
            if len(names) == len(values) and all(isinstance(name, str) for name in names):
                return _unique(names, [_literal(one) for one in values])
        case _:
            pass
    raise ValueError


def _unique(names: Sequence[object], values: Sequence[object]) -> dict[object, object]:
    """A dict of pairs.

    Raises:
        ValueError: a name stands twice.
    """
    if len(set(names)) < len(names):
        raise ValueError
    return dict(zip(names, values, strict=True))
