"""Which model is measured where none was named. Pure."""

import re
from collections.abc import Sequence
from typing import Final, Literal

from rig.extras.cli.clean import shown_name
from rig.late_dataclass import dataclass

Chosen = Literal["named", "only", "first", "asked"]
"""How a model was chosen: on the command line, because there is no other, as the first that can chat, or
by the person in front of the terminal."""

MAX_OFFERED: Final = 20
"""Models that are listed to choose from: a screen. Proxies offer hundreds, and have a search of their own."""

MAX_MODEL_CHARS: Final = 512
"""Characters of a name that is taken from a list. Paths of files have some 120; a longer one is no name."""

_NO_CHAT: Final = re.compile(r"embed|rerank|whisper|bge-|-tts|tts-", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """The models there are to choose from.

    Attributes:
        names: those that look as if they chat before the others, else in the endpoint's order.
    """

    names: tuple[str, ...]

    @classmethod
    def of(cls, names: Sequence[str]) -> "Offer":
        """The offer of an endpoint's list.

        Args:
            names: as the endpoint gave them; those too long to be names are left out.
        """
        usable = [name for name in names if name.strip() and len(name) <= MAX_MODEL_CHARS]
        return cls(names=tuple(sorted(usable, key=lambda name: bool(_NO_CHAT.search(name)))))

    def lines(self) -> tuple[str, ...]:
        """The offer as a numbered list for people."""
        listed = self.names[:MAX_OFFERED]
        lines = [f"{number:>3}  {shown_name(name)}" for number, name in enumerate(listed, 1)]
        more = len(self.names) - len(listed)
        return (*lines, f"     and {more} more") if more else tuple(lines)

    def pick(self, answer: str) -> str | None:
        """The model a person means; None where the answer names none of them.

        Args:
            answer: a number of the list, a name, or nothing for the first.
        """
        answer = answer.strip()
        if not answer:
            return self.names[0]
        if answer in self.names:
            return answer
        if not answer.isascii() or not answer.isdigit() or len(answer) > len(str(MAX_OFFERED)):
            return None
        number = int(answer)
        return self.names[number - 1] if 1 <= number <= min(len(self.names), MAX_OFFERED) else None
