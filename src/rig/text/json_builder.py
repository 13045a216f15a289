"""The value of a JSON text that has been scanned, at any depth. No I/O.

Does not validate: it relies on `rig.text.json_scanner` having called the text complete. The C
decoder builds what it can; it recurses and gives up at some 1,000 levels, fewer when the caller's
own stack is full, so deeper values are built here, without recursion.
"""

import re
from json import JSONDecoder

_DECODER = JSONDecoder()
_TOKEN = re.compile(r'[{}\[\]]|"[^"\\]*+(?:\\.[^"\\]*+)*+"|[^\s{}\[\],:"]++', re.DOTALL)


def build_json(text: str) -> object:
    """Return the value of a complete JSON text.

    Args:
        text: what the scanner called complete, from its first to its last character.

    Returns:
        The value.

    Raises:
        ValueError: an integer has more digits than this process converts
            (`sys.set_int_max_str_digits`).
    """
    try:
        value: object = _DECODER.decode(text)
    except RecursionError:
        return _Builder().build(text)
    return value


class _Builder:
    def __init__(self) -> None:
        self._root: object = None
        self._open: list[dict[str, object] | list[object]] = []
        self._key: str | None = None

    def build(self, text: str) -> object:
        for match in _TOKEN.finditer(text):
            self._add(match[0])
        return self._root

    def _add(self, lexeme: str) -> None:
        if lexeme in "}]":
            self._open.pop()
        elif lexeme in "{[":
            container: dict[str, object] | list[object] = {} if lexeme == "{" else []
            self._put(container)
            self._open.append(container)
        else:
            self._put(_DECODER.decode(lexeme))

    def _put(self, value: object) -> None:
        top = self._open[-1] if self._open else None
        if top is None:
            self._root = value
        elif isinstance(top, list):
            top.append(value)
        elif self._key is None:
            self._key = str(value)
        else:
            top[self._key] = value
            self._key = None
