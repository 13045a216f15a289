"""The dialects in which models write calls as text, one row each. No I/O.

A new spelling of a model is a row here and a file beside it. Rows that begin with the same characters
are asked in order. A dialect's reader decides by what follows its mark; see `rig.text.salvage.blocks`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from rig.text.salvage import (
    apertus,
    bare_json,
    command,
    deepseek,
    functionary,
    gemma,
    granite,
    harmony,
    hermes,
    internlm,
    kimi,
    lfm,
    llama,
    lmstudio,
    minimax,
    minimax_m3,
    mistral,
    named,
    phi,
    quoting,
    qwen_agent,
    qwen_coder,
    react,
    remains,
    transcript,
    wrapper,
)
from rig.text.salvage.blocks import Dialect

DIALECTS: Final = (
    hermes.DIALECT,
    qwen_coder.DIALECT,
    qwen_coder.ODD,
    hermes.ASIDES,
    minimax.DIALECT,
    minimax_m3.DIALECT,
    llama.DIALECT,
    mistral.DIALECT,
    kimi.DIALECT,
    deepseek.DIALECT,
    harmony.MESSAGE,
    harmony.BARE,
    granite.DIALECT,
    gemma.TOKENS,
    gemma.CODE,
    gemma.TAG,
    gemma.BARE,
    lfm.DIALECT,
    apertus.DIALECT,
    command.DIALECT,
    internlm.DIALECT,
    functionary.TOKENS,
    functionary.ARROWS,
    lmstudio.DIALECT,
    qwen_agent.DIALECT,
    phi.DIALECT,
    react.DIALECT,
    react.LABELS,
    transcript.DIALECT,
    named.DIALECT,
    bare_json.OBJECT,
    bare_json.LIST,
)
"""Every dialect that a call can be salvaged from."""

OTHERS: Final = (
    wrapper.DIALECT,
    remains.INVENTED,
    remains.CLOSER,
    quoting.FENCE,
    quoting.INLINE,
    quoting.QUOTE,
)
"""What is looked for beside calls: remains of them, and what is only shown."""


def pattern_of(dialects: tuple[Dialect, ...]) -> re.Pattern[str]:
    """What the calls of some dialects begin with, in a text in lower case."""
    marks = {mark for dialect in dialects for mark in dialect.marks}
    longest = sorted(marks, key=len, reverse=True)
    # By their first characters, so that most places of a text are told by one of them.
    firsts = sorted({mark[0] for mark in marks})
    return re.compile("|".join(_begun_by(first, longest) for first in firsts))


def _begun_by(first: str, marks: Sequence[str]) -> str:
    rests = [re.escape(mark[1:]) for mark in marks if mark[0] == first]
    return f"{re.escape(first)}(?:{'|'.join(rests)})"


def _by_mark(dialects: tuple[Dialect, ...]) -> Mapping[str, tuple[Dialect, ...]]:
    """The dialects to ask at each mark: also those with a shorter one."""
    marks = {mark for dialect in dialects for mark in dialect.marks}
    return {mark: tuple(one for one in dialects if mark.startswith(one.marks)) for mark in marks}


ALL: Final = (*DIALECTS, *OTHERS)
MARKS: Final = pattern_of(ALL)
BY_MARK: Final = _by_mark(ALL)
NATIVE: Final = tuple(dialect for dialect in DIALECTS if dialect.native)
NATIVE_MARKS: Final = pattern_of(NATIVE)


def _prefixes(dialects: Iterable[Dialect]) -> frozenset[str]:
    marks = (mark for dialect in dialects for mark in dialect.marks)
    return frozenset(mark[:length] for mark in marks for length in range(1, len(mark)))


PREFIXES: Final = _prefixes(ALL)
"""What a text may end in that becomes a mark with more of it."""

NATIVE_PREFIXES: Final = _prefixes(NATIVE)
"""The same of the marks that are a model's own tokens; all of them begin with no letter."""

MAX_MARK_CHARS: Final = 40
"""Characters of the longest mark. A row with a longer one raises it; a test compares."""
