"""Pieces of GBNF, the grammars llama.cpp samples by. No I/O, stdlib only.

The notation: https://github.com/ggml-org/llama.cpp/blob/master/grammars/README.md. Only what every
version since early 2024 reads is written: literals, classes, groups, alternatives and repetitions.
"""

from typing import Final

from rig.errors import InvalidRequestError

MAX_GRAMMAR_CHARS: Final = 100_000
"""Characters of one grammar. 128 tools of five parameters take half of it; llama.cpp reads it anew for
every request, measured 12 ms for such a one and 1 ms for one tool."""

_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}


def literal(text: str) -> str:
    """The expression that matches exactly this text; "" for none.

    Args:
        text: any text.
    """
    return f'"{"".join(_ESCAPES.get(char) or _plain(char) for char in text)}"' if text else ""


def outside(chars: str) -> str:
    """The class of all characters but these.

    Args:
        chars: what is left out, at least one character.
    """
    return f"[^{''.join(map(_in_class, dict.fromkeys(chars)))}]"


def either(options: list[str]) -> str:
    """A group that matches one of the expressions; each of them once, in order.

    Args:
        options: at least one expression.
    """
    once = list(dict.fromkeys(options))
    return once[0] if len(once) == 1 else f"({' | '.join(once)})"


def other_than(words: list[str], *, stop: str, rest: str, after: str) -> str:
    """Text that is none of the words; it may begin with one and go on.

    Args:
        words: what the text may not be.
        stop: characters the text does not hold.
        rest: the expression for any text, without `stop`.
        after: characters that may not follow a whole word, beside `stop`.

    Returns:
        An expression that matches the empty text too, unless that is one of the words.
    """
    heads: dict[str, list[str]] = {}
    for word in words:
        if word:
            heads.setdefault(word[0], []).append(word[1:])
    is_word = "" in words
    free = f"{outside(stop + ''.join(heads) + (after if is_word else ''))} {rest}"
    branches = [
        f"{literal(head)} {other_than(tails, stop=stop, rest=rest, after=after)}"
        for head, tails in heads.items()
    ]
    group = either([free, *branches])
    if is_word:
        return group
    return f"{group}?" if branches else f"({group})?"


class Rules:
    """The rules of one grammar; equal rules are written once.

    Args:
        owner: what messages call the grammar's owner.
    """

    def __init__(self, owner: str) -> None:
        self._owner = owner
        self._bodies: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._count = 0
        self._chars = 0

    def add(self, body: str) -> str:
        """The name of the rule with this body.

        Args:
            body: the right side of the rule.

        Raises:
            InvalidRequestError: the grammar becomes too large.
        """
        name = self._names.get(body)
        if name is None:
            name = self._names[body] = self.reserve()
            self.define(name, body)
        return name

    def reserve(self) -> str:
        """A name for a rule that is defined later, because it holds itself."""
        self._count += 1
        return f"r{self._count}"

    def __contains__(self, name: str) -> bool:
        return name in self._bodies

    def define(self, name: str, body: str) -> str:
        """Write a rule under a name of its own, once.

        Args:
            name: letters, digits and `-`.
            body: the right side of the rule.

        Raises:
            InvalidRequestError: the grammar becomes too large.
        """
        if name not in self._bodies:
            self._chars += len(name) + len(body)
            if self._chars > MAX_GRAMMAR_CHARS:
                raise InvalidRequestError(
                    f"the grammar of {self._owner} has more than {MAX_GRAMMAR_CHARS} characters:"
                    " offer fewer tools, or make their schemas simpler"
                )
            self._bodies[name] = body
        return name

    def text(self, root: str) -> str:
        """The grammar.

        Args:
            root: the body of the rule everything begins with.

        Raises:
            InvalidRequestError: the grammar becomes too large.
        """
        self.define("root", root)
        rules = {"root": root, **self._bodies}
        return "".join(f"{name} ::= {body}\n" for name, body in rules.items())


def _plain(char: str) -> str:
    return char if char.isprintable() else _code(char)


def _in_class(char: str) -> str:
    return char if char.isascii() and char.isalnum() else _ESCAPES.get(char) or _code(char)


def _code(char: str) -> str:
    point = ord(char)
    if point < 0x100:
        return f"\\x{point:02X}"
    return f"\\u{point:04X}" if point < 0x10000 else f"\\U{point:08X}"
