"""What stands between the tags of a call: objects, a name with arguments, Python, or nothing. No I/O."""

import re
from dataclasses import replace
from typing import Final

from rig.text.salvage.blocks import Block, undecided
from rig.text.salvage.calls import Problem, SalvagedCall
from rig.text.salvage.children import Frame, read_children
from rig.text.salvage.glm import is_pair_at, read_pairs
from rig.text.salvage.json_values import read_value
from rig.text.salvage.loose_object import read_loose_call
from rig.text.salvage.objects import Found, Setting, bare_call, find_calls, named_call, with_repairs
from rig.text.salvage.pythonic import read_python_calls
from rig.text.salvage.source import Source

_MAX_CUT_CHARS: Final = 40
_SEPARATOR: Final = "]<]minimax[>["
_DEBRIS: Final = re.compile(r"(?:\s|```[a-z_]{0,16}|json(?=\s{0,8}[{\[]))*+", re.IGNORECASE)
_BETWEEN: Final = re.compile(r"[\s,;]*+")
_STRAY: Final = re.compile(r"(?:\s*+[}\]])++")
_NAME: Final = re.compile(r"[A-Za-z_][\w.\-]{0,127}(?::\d{1,4})?")
_ELEMENT: Final = re.compile(
    r"<(?:tool_|function_)?name>\s{0,8}(?P<name>[\w.\-]{1,128})\s{0,8}</(?:tool_|function_)?name>\s{0,8}"
    r"(?:<(?P<inside>(?:tool_)?(?:arguments|parameters|args|input))>\s{0,8}(?=[{<])|(?=<))",
    re.IGNORECASE,
)
_ELEMENT_PREFIX: Final = re.compile(
    r"<[a-z_]{0,16}(?:>\s{0,8}[\w.\-]{0,128}\s{0,8}(?:</?[a-z_]{0,16}(?:>\s{0,8}(?:<[a-z_]{0,16}(?:>\s{0,8})?)?)?)?)?",
    re.IGNORECASE,
)
_FENCE: Final = re.compile(r"`{3,8}(?:json)?[ \t\r]*\n?\s{0,8}(?=\{)", re.IGNORECASE)
_FENCE_PREFIX: Final = re.compile(r"`{1,8}(?:j(?:s(?:on?)?)?)?\s{0,8}", re.IGNORECASE)
_FENCE_END: Final = re.compile(r"\s{0,8}`{3,8}[ \t\r]*(?=\n|\Z)")
_DOUBLED: Final = re.compile(r"(?:\{\s{0,8}){1,3}(?=\{\s{0,8}[\"'])")
_COLON: Final = re.compile(r"(?::|,|->|=>|=)\s{0,8}(?=\{)")
_COLON_PREFIX: Final = re.compile(r"(?::|,|->?|=>?)\s{0,8}")
_LABELLED: Final = re.compile(
    r"(?:tool_|function_)?name\s{0,4}[:=]\s{0,4}[\"']?(?P<name>[\w.\-]{1,128})[\"']?[\s,;]{1,8}"
    r"(?:arguments|parameters|params|args|input)\s{0,4}[:=]\s{0,8}(?=\{)",
    re.IGNORECASE,
)
_LABELLED_PREFIX: Final = re.compile(
    r"(?:tool_|function_)?name\s{0,4}(?:[:=][\w.\-\s\"',;]{0,160}(?:[:=]\s{0,8})?)?", re.IGNORECASE
)
_KEYWORD: Final = re.compile(r"[\w.\-]{1,128}\(\s{0,8}(?:\)|\w{1,128}\s{0,4}=)")
_CALL: Final = re.compile(r"call:(?=[\w.\-]{0,128}\{?)", re.IGNORECASE)


def read_payload(
    source: Source, start: int, setting: Setting, closers: tuple[str, ...]
) -> Block | None:
    """Read what follows an opening tag.

    Args:
        source: the text.
        start: index after the tag.
        setting: how it is looked at.
        closers: what ends it, in lower case; may be missing.

    Returns:
        None when it is no call: then the tag is a word of a text about calls. A tag before another
        one is a wrapper: its block ends there, without calls.
    """
    debris = _DEBRIS.match(source.text, start)
    at = debris.end() if debris else start
    source.charge(at - start)
    char = source.text[at : at + 1]
    if not char:
        return Block(end=at, unfinished=True)
    if closer := closer_at(source, at, closers):
        return Block(end=at + len(closer))
    if _is_cut_mark(source, at, closers):
        return Block(end=len(source.text), unfinished=True)
    if char == "[" and not re.match(r"\[\s*[{\]\[]", source.text[at : at + 64]):
        return _python_list(source, at, setting, closers)
    if char in "{[":
        return read_objects(source, at, setting, closers)
    if source.mark_at(at) and not _CALL.match(source.text, at):
        return Block(end=at)
    if char == "<":
        rest = source.text[at : at + 64]
        cut = at + len(rest) == len(source.text) and ">" not in rest
        if cut or _ELEMENT_PREFIX.fullmatch(source.text, at):
            return Block(end=len(source.text), unfinished=True)
        element = _ELEMENT.match(source.text, at)
        return _element(source, element, setting, closers) if element else None
    return _named(source, at, setting, closers)


def _is_cut_mark(source: Source, start: int, closers: tuple[str, ...]) -> bool:
    """Whether the text ends in what may become a closing tag, or the token of MiniMax M3."""
    rest = source.lower[start : start + _MAX_CUT_CHARS]
    if rest in {"", "<", "["} or start + len(rest) < len(source.text):
        return False
    return any(one.startswith(rest) for one in (*closers, _SEPARATOR))


def read_objects(source: Source, start: int, setting: Setting, closers: tuple[str, ...]) -> Block:
    """Read objects one after another; what follows the last one up to the closing tag is junk.

    Args:
        source: the text.
        start: index of the first one.
        setting: how they are looked at.
        closers: what ends them, in lower case; may be missing.
    """
    calls: list[SalvagedCall] = []
    problem: Problem = ""
    doubled = _DOUBLED.match(source.text, start)
    if doubled:  # models that were shown a template with doubled braces write them
        setting = with_repairs(setting, "doubled_brace")
    position = end = doubled.end() if doubled else start
    while source.text[position : position + 1] in {"{", "["} and not source.exhausted:
        value = read_value(source, position, loose=True)
        if value.kind != "complete":
            if not calls:
                problem = problem or value.kind
            break
        found = find_calls(value.value, with_repairs(setting, *value.repairs))
        calls += found.calls
        nothing: Problem = "" if found.calls else "no_arguments"
        problem = problem or found.problem or nothing
        end = value.end
        between = _BETWEEN.match(source.text, end)
        position = between.end() if between else end
    cut = problem == "truncated" or position == len(source.text)
    end = _end_of_junk(source, end, closers)
    if problem == "truncated":
        end = len(source.text)
    return Block(end=end, calls=tuple(calls), problem=problem, unfinished=cut)


def closer_at(source: Source, position: int, closers: tuple[str, ...]) -> str:
    """The closing tag that stands at an index, "" when none does."""
    return next((one for one in closers if source.lower.startswith(one, position)), "")


def _end_of_junk(source: Source, start: int, closers: tuple[str, ...]) -> int:
    """Where the block ends: after its closing tag, if it comes before another block begins."""
    stray = _STRAY.match(source.text, start)
    position = stray.end() if stray else start
    after = source.skip_blanks(position)
    if closer := closer_at(source, after, closers):
        return after + len(closer)
    at, closer = source.first_of(closers, position) if closers else (-1, "")
    if at < 0:
        return position
    opener = source.find(closers[0].replace("/", "", 1), position)
    return position if -1 < opener < at else at + len(closer)


def _python_list(
    source: Source, start: int, setting: Setting, closers: tuple[str, ...]
) -> Block | None:
    block = read_python_calls(source, start + 1, setting, "]")
    if block is None or block.unfinished or not (block.calls or block.problem):
        return block
    end = _end_of_junk(source, block.end + 1, closers)
    return Block(end=end, calls=block.calls, problem=block.problem)


def _element(
    source: Source, element: re.Match[str], setting: Setting, closers: tuple[str, ...]
) -> Block | None:
    """A name and arguments in elements of their own: an object, or an element for each."""
    name = source.offer.find(element["name"])
    if source.text[element.end()] == "{":
        return read_named_object(source, element.end(), name, setting, closers)
    if not name:
        return None
    if element["inside"] is None:
        opener = closers[0].replace("/", "", 1)
        frame = Frame(source=source, name=name, opener=opener, ends=closers)
        return read_children(frame, element.end(), setting)
    inside = element["inside"].lower()
    frame = Frame(source=source, name=name, opener=f"<{inside}>", ends=(f"</{inside}>",))
    block = read_children(frame, element.end(), setting)
    if block is None or block.unfinished:
        return block
    return replace(block, end=_end_of_junk(source, block.end, closers))


def _named(source: Source, start: int, setting: Setting, closers: tuple[str, ...]) -> Block | None:
    """A name, and the arguments in one of the ways they follow it."""
    if prefix := _CALL.match(source.text, start):
        if _KEYWORD.match(source.text, prefix.end()):
            return _python(source, prefix.end(), setting, closers)
        return _loose(source, prefix.end(), setting, closers)
    if labelled := _LABELLED.match(source.text, start):
        name = source.offer.find(labelled["name"])
        return read_named_object(source, labelled.end(), name, setting, closers) if name else None
    if _LABELLED_PREFIX.fullmatch(source.text, start):
        return undecided(source, certain=False)
    match = _NAME.match(source.text, start)
    if match is None:
        return None
    name = source.offer.find(match[0])
    after = source.skip_blanks(match.end())
    char = source.text[after : after + 1]
    if not char:
        return undecided(source, certain=bool(name))
    if is_pair_at(source, after):
        return read_pairs(source, after, name, setting, closers)
    if closer := closer_at(source, after, closers):
        found = bare_call(name, setting) if name else Found(problem="unknown_tool")
        return Block(end=after + len(closer), calls=found.calls, problem=found.problem)
    if char == "{":
        return read_named_object(source, after, name, setting, closers)
    if name and (colon := _COLON.match(source.text, after)):
        return read_named_object(source, colon.end(), name, setting, closers)
    if name and _COLON_PREFIX.fullmatch(source.text, after):
        return undecided(source)
    if fence := _FENCE.match(source.text, after):
        fenced = with_repairs(setting, "fence")
        block = read_named_object(source, fence.end(), name, fenced, closers)
        behind = _FENCE_END.match(source.text, block.end)
        return replace(block, end=behind.end()) if behind else block
    if name and _FENCE_PREFIX.fullmatch(source.text, after):
        return undecided(source)
    if char in "(=":
        return _python(source, start, setting, closers)
    rest = source.text[after : after + 64]
    cut = char == "<" and ">" not in rest and after + len(rest) == len(source.text)
    return undecided(source, certain=bool(name)) if cut else None


def read_named_object(
    source: Source, start: int, name: str, setting: Setting, closers: tuple[str, ...]
) -> Block:
    """Read the arguments of a call whose name stands before them.

    Args:
        source: the text.
        start: index of the object.
        name: the tool, "" when it is not offered.
        setting: how they are looked at.
        closers: what ends the call, in lower case; may be missing.
    """
    value = read_value(source, start, loose=True)
    if value.kind == "truncated":
        return undecided(source)
    end = _end_of_junk(source, value.end, closers)
    if value.kind == "malformed":
        at, closer = source.first_of(closers, value.end) if closers else (-1, "")
        return Block(end=len(source.text) if at < 0 else at + len(closer), problem="malformed")
    if not name:
        return Block(end=end, problem="unknown_tool")
    found = named_call(name, value.value, with_repairs(setting, *value.repairs))
    return Block(end=end, calls=found.calls, problem=found.problem)


def _python(source: Source, start: int, setting: Setting, closers: tuple[str, ...]) -> Block | None:
    at, stop = source.first_of(closers, start) if closers else (-1, "")
    if at < 0:
        at, stop = _cut_closer(source, start, closers)
    block = read_python_calls(source, start, setting, stop if at >= 0 else "", code=True)
    if block is None or block.unfinished or not (block.calls or block.problem):
        return block
    return Block(
        end=_end_of_junk(source, block.end, closers), calls=block.calls, problem=block.problem
    )


def _cut_closer(source: Source, start: int, closers: tuple[str, ...]) -> tuple[int, str]:
    """Where the text ends in the beginning of a closing tag, and which beginning; (-1, "") if not."""
    at = source.lower.rfind("<", start)
    rest = source.lower[at:] if at >= 0 else ""
    cut = bool(rest) and any(closer.startswith(rest) for closer in closers)
    return (at, rest) if cut else (-1, "")


def _loose(source: Source, start: int, setting: Setting, closers: tuple[str, ...]) -> Block | None:
    block = read_loose_call(source, start, setting)
    if block is None or block.unfinished:
        return block
    end = _end_of_junk(source, block.end, closers)
    return Block(end=end, calls=block.calls, problem=block.problem)
