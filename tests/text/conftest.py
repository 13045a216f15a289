"""A small interpreter of GBNF, written against llama.cpp's grammars/README.md, not against our writer.

It reads the text of a grammar, makes random texts of it, and says whether a text fits.
"""

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

TOKEN = re.compile(
    r"""\s*(?: (?P<rule>[a-zA-Z0-9-]+)\s*::= | (?P<name>[a-zA-Z0-9-]+)
    | "(?P<text>(?:[^"\\]|\\.)*)" | \[(?P<chars>(?:[^\]\\]|\\.)*)\]
    | (?P<repeat>[?*+]|\{\d+(?:,\d*)?\}) | (?P<mark>[()|]) )""",
    re.VERBOSE | re.DOTALL,
)
ESCAPE = re.compile(r"\\(?:x(..)|u(....)|U(........)|(.))", re.DOTALL)
NAMED = {"n": "\n", "r": "\r", "t": "\t"}
UNBOUNDED = 1 << 30
OTHERS = "aZ09 ~`\"'\\{}[]:,@#/<>|.-_\n\t\u00e9\u4e16\U0001f600"
"""What is drawn where a class only says what is left out: everything with a meaning somewhere."""


def unescaped(text: str) -> list[tuple[str, bool]]:
    """The characters of a literal or class, and whether each was escaped."""
    found: list[tuple[str, bool]] = []
    position = 0
    while position < len(text):
        match = ESCAPE.match(text, position)
        if match:
            code = match[1] or match[2] or match[3]
            char = chr(int(code, 16)) if code else NAMED.get(match[4], match[4])
            found.append((char, True))
            position = match.end()
        else:
            found.append((text[position], False))
            position += 1
    return found


@dataclass(frozen=True)
class Text:
    text: str


@dataclass(frozen=True)
class Chars:
    ranges: tuple[tuple[str, str], ...]
    negated: bool

    def fits(self, char: str) -> bool:
        return any(low <= char <= high for low, high in self.ranges) is not self.negated


@dataclass(frozen=True)
class Name:
    name: str


@dataclass(frozen=True)
class Repeat:
    item: "Node"
    least: int
    most: int


@dataclass(frozen=True)
class Sequence:
    items: tuple["Node", ...]


@dataclass(frozen=True)
class Options:
    items: tuple["Node", ...]


Node = Text | Chars | Name | Repeat | Sequence | Options


def read_class(body: str) -> Chars:
    chars = unescaped(body)
    negated = chars[0] == ("^", False)
    chars = chars[1:] if negated else chars
    ranges: list[tuple[str, str]] = []
    while chars:
        if len(chars) > 2 and chars[1] == ("-", False):
            ranges.append((chars[0][0], chars[2][0]))
            chars = chars[3:]
        else:
            ranges.append((chars[0][0], chars[0][0]))
            chars = chars[1:]
    return Chars(tuple(ranges), negated)


@dataclass
class Grammar:
    """One grammar.

    Attributes:
        steps: nodes looked at while matching.
    """

    source: str
    rules: dict[str, Node] = field(default_factory=dict)
    steps: int = 0

    def __post_init__(self) -> None:
        for line in self.source.splitlines():
            tokens = list(self._tokens(line))
            name = tokens[0]["rule"]
            assert name, line
            assert name not in self.rules, f"{name} is defined twice"
            rest = tokens[1:]
            self.rules[name] = self._options(rest)
            assert not rest, f"unread: {line}"
        for node in self.rules.values():
            for name in names_in(node):
                assert name in self.rules, f"{name} is not defined"

    @staticmethod
    def _tokens(line: str) -> Iterator[re.Match[str]]:
        position = 0
        while position < len(line):
            match = TOKEN.match(line, position)
            assert match, f"no token at {line[position : position + 40]!r}"
            yield match
            position = match.end()

    def _options(self, tokens: list[re.Match[str]]) -> Node:
        options = [self._sequence(tokens)]
        while tokens and tokens[0]["mark"] == "|":
            tokens.pop(0)
            options.append(self._sequence(tokens))
        return options[0] if len(options) == 1 else Options(tuple(options))

    def _sequence(self, tokens: list[re.Match[str]]) -> Node:
        items: list[Node] = []
        while tokens and tokens[0]["mark"] not in {"|", ")"}:
            token = tokens.pop(0)
            if token["repeat"]:
                items.append(repeated(items.pop(), token["repeat"]))
            elif token["mark"] == "(":
                items.append(self._options(tokens))
                assert tokens.pop(0)["mark"] == ")"
            elif token["text"] is not None:
                items.append(Text("".join(char for char, _ in unescaped(token["text"]))))
            elif token["chars"] is not None:
                items.append(read_class(token["chars"]))
            else:
                items.append(Name(token["name"]))
        return Sequence(tuple(items))

    def fits(self, text: str) -> bool:
        """Whether the grammar makes exactly this text."""
        self.steps = 0
        return len(text) in self._ends(self.rules["root"], text, frozenset({0}), {})

    def _ends(
        self,
        node: Node,
        text: str,
        starts: frozenset[int],
        known: dict[tuple[int, int], frozenset[int]],
    ) -> frozenset[int]:
        """Where matches of the node can end that begin at one of the starts."""
        self.steps += len(starts)
        match node:
            case Text(wanted):
                return frozenset(at + len(wanted) for at in starts if text.startswith(wanted, at))
            case Chars():
                return frozenset(at + 1 for at in starts if at < len(text) and node.fits(text[at]))
            case Name(name):
                found: set[int] = set()
                for at in starts:
                    key = (id(self.rules[name]), at)
                    if key not in known:
                        known[key] = frozenset()
                        known[key] = self._ends(self.rules[name], text, frozenset({at}), known)
                    found |= known[key]
                return frozenset(found)
            case Sequence(items):
                for item in items:
                    starts = self._ends(item, text, starts, known) if starts else starts
                return starts
            case Options(items):
                return frozenset().union(*(self._ends(item, text, starts, known) for item in items))
            case Repeat(item, least, most):
                return self._repeats(item, least, most, text, starts, known)

    def _repeats(
        self,
        item: Node,
        least: int,
        most: int,
        text: str,
        starts: frozenset[int],
        known: dict[tuple[int, int], frozenset[int]],
    ) -> frozenset[int]:
        ends = starts if least == 0 else frozenset[int]()
        fresh, count = starts, 0
        while fresh and count < most:
            fresh = self._ends(item, text, fresh, known)
            count += 1
            if count >= least:
                fresh -= ends
                ends |= fresh
        return ends

    def sample(self, rng: random.Random, *, budget: int = 60) -> str:
        """A random text of the grammar; past the budget of choices it takes the shortest way out."""
        costs = self._costs()
        made: list[str] = []
        left = [budget]

        def make(node: Node) -> None:
            left[0] -= 1
            match node:
                case Text(text):
                    made.append(text)
                case Chars():
                    made.append(drawn(node, rng))
                case Name(name):
                    make(self.rules[name])
                case Sequence(items):
                    for item in items:
                        make(item)
                case Options(items):
                    known = [item for item in items if cost(item, costs) < UNBOUNDED]
                    cheap = min(known, key=lambda item: cost(item, costs))
                    make(cheap if left[0] < 0 else rng.choice(known))
                case Repeat(item, least, most):
                    count = least
                    if left[0] > 0:
                        count = rng.randint(least, min(most, least + 4))
                    for _ in range(count):
                        make(item)

        make(self.rules["root"])
        return "".join(made)

    def _costs(self) -> dict[str, int]:
        """For each rule the least number of characters it takes; a grammar without end has none."""
        costs = dict.fromkeys(self.rules, UNBOUNDED)
        changed = True
        while changed:
            changed = False
            for name, node in self.rules.items():
                found = cost(node, costs)
                if found < costs[name]:
                    costs[name] = found
                    changed = True
        assert costs["root"] < UNBOUNDED, "the grammar makes no finite text"
        return costs


def repeated(item: Node, mark: str) -> Repeat:
    if mark in "?*+":
        return Repeat(item, int(mark == "+"), 1 if mark == "?" else UNBOUNDED)
    least, comma, most = mark[1:-1].partition(",")
    return Repeat(item, int(least), int(most) if most else UNBOUNDED if comma else int(least))


def names_in(node: Node) -> Iterator[str]:
    match node:
        case Name(name):
            yield name
        case Sequence(items) | Options(items):
            for item in items:
                yield from names_in(item)
        case Repeat(item, _, _):
            yield from names_in(item)
        case _:
            pass


def cost(node: Node, costs: dict[str, int]) -> int:
    match node:
        case Text(text):
            return len(text)
        case Chars():
            return 1
        case Name(name):
            return costs[name]
        case Sequence(items):
            return min(UNBOUNDED, sum(cost(item, costs) for item in items))
        case Options(items):
            return min(cost(item, costs) for item in items)
        case Repeat(item, least, _):
            return min(UNBOUNDED, least * cost(item, costs)) if least else 0


def drawn(chars: Chars, rng: random.Random) -> str:
    if chars.negated:
        return rng.choice([char for char in OTHERS if chars.fits(char)])
    low, high = rng.choice(chars.ranges)
    return chr(rng.randint(ord(low), ord(high)))


@pytest.fixture
def read_grammar() -> Callable[[str], Grammar]:
    return Grammar
