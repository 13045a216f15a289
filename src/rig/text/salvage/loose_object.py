"""Gemma's own calls: `call:NAME{key:<escape>text<escape>,n:3}`. No I/O.

FunctionGemma writes them between `<start_function_call>` and `<end_function_call>` with `<escape>`
around texts, Gemma 4 between `<|tool_call>` and `<tool_call|>` with `<|"|>`, or with parentheses around
the arguments (NousResearch/hermes-agent 7449).
"""

import re
from typing import Final, cast

from rig.text.duplicate_keys import duplicate_keys
from rig.text.json_builder import build_json
from rig.text.json_scanner import scan_json
from rig.text.salvage.blocks import Block, undecided
from rig.text.salvage.calls import Problem
from rig.text.salvage.json_values import MAX_DEPTH, arguments_json
from rig.text.salvage.objects import Found, Setting, keyed_call
from rig.text.salvage.source import Source

_NAME: Final = "gemma"
_HEAD: Final = re.compile(r"(?P<name>[\w.\-]{1,128})\s*(?=[{(])")
_QUOTES: Final = ("<escape>", '<|"|>')
_TOKEN: Final = re.compile(
    r'\s++|(?P<string>"(?:[^"\\\n]|\\.)*+")|(?P<key>[A-Za-z_$][\w\-]{0,127})\s*+(?=:)'
    r"|(?P<word>true|false|null|-?\d[\d.eE+\-]{0,40})(?=[\s,}\])])|(?P<mark>[{}\[\],:()])"
)


def read_loose_call(source: Source, start: int, setting: Setting) -> Block | None:
    """Read a call behind its `call:`.

    Args:
        source: the text.
        start: index of the name.
        setting: how it is looked at.
    """
    head = _HEAD.match(source.text, start)
    if head is None:
        cut = re.fullmatch(r"[\w.\-]{0,128}\s*", source.text[start : start + 200])
        at_end = len(source.text) - start <= 200
        return undecided(source) if cut and at_end else None
    name = source.offer.find(head["name"])
    end, text = _as_json(source, head.end())
    if not text:
        cut_off = end == len(source.text)
        problem: Problem = "truncated" if cut_off else "malformed"
        return Block(end=end, problem=problem, unfinished=cut_off)
    gemma = Setting(offer=setting.offer, dialect=_NAME, repairs=setting.repairs, certain=True)
    try:
        found = keyed_call(
            name, cast("dict[str, object]", build_json(text)), gemma, duplicate_keys(text)
        )
    except ValueError:  # more digits than this process converts
        found = Found(problem="malformed")
    return Block(end=end, calls=found.calls, problem=found.problem)


def _as_json(source: Source, start: int) -> tuple[int, str]:
    """The object at an index as strict JSON, "" when it is none; and where it ends."""
    parts: list[str] = []
    position, depth, size, closer = start, 0, len(source.text), ""
    while position < size:
        lexeme, position = _next(source, position)
        if lexeme == "(" and not parts:
            closer, lexeme = ")", "{"
        elif closer and lexeme == closer:
            closer, lexeme = "", "}" if depth == 1 else ""
        if not lexeme or lexeme in {"(", ")"}:
            break
        parts.append(lexeme)
        depth += (lexeme in {"{", "["}) - (lexeme in {"}", "]"})
        if depth == 0:
            break
        if depth > MAX_DEPTH:
            return position, ""
    text = "".join(parts)
    source.charge(position - start)
    scan = scan_json(text)
    complete = depth == 0 and scan.kind == "complete" and scan.end == len(text)
    return position, text if complete else ""


def _next(source: Source, position: int) -> tuple[str, int]:
    """The next token as JSON writes it, "" for none; and the index after it."""
    for quote in _QUOTES:
        if source.lower.startswith(quote, position):
            end = source.find(quote, position + len(quote))
            if end < 0:
                return "", len(source.text)
            inside = arguments_json({"": source.text[position + len(quote) : end]})
            return inside[len('{"": ') : -1], end + len(quote)
    token = _TOKEN.match(source.text, position)
    if token is None:
        rest = source.text[position : position + 64]
        cut = position + len(rest) == len(source.text) and not re.search(r"[\n}]", rest)
        return "", len(source.text) if cut else position
    written = f'"{token["key"]}"' if token["key"] else token[0]
    return written if written.strip() else " ", token.end()
