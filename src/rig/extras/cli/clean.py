"""Text of strangers made fit for a terminal, and secrets kept out of it. Pure."""

from typing import Final
from urllib.parse import urlsplit

from rig.messages import as_array, as_object
from rig.text.escapes import without_escapes
from rig.wire.fault_text import clean_line

MAX_NAME_CHARS: Final = 80
"""Characters of a model's name that are shown; the longest on the hub with their quantization have 70."""

MAX_SAID_CHARS: Final = 300
"""Characters that are shown of what the endpoint said: its sentence, as in `Finding.detail`."""

MIN_SECRET_CHARS: Final = 4
"""Characters from which a key is looked for in what the endpoint said. Shorter ones (`x`, `no`) are
placeholders for servers without keys, and parts of ordinary words."""

HIDDEN: Final = "[key]"
"""What stands where the key stood."""

_MAX_READ_CHARS: Final = 8_192


def shown(text: str, max_chars: int = MAX_SAID_CHARS) -> str:
    """One line that can't do anything to a terminal: printable characters only, bounded.

    Args:
        text: anybody's text.
        max_chars: characters that are kept; a longer one ends in `...`.
    """
    line = clean_line(without_escapes(text[:_MAX_READ_CHARS]))
    cut = len(line) > max_chars or len(text) > _MAX_READ_CHARS
    return line[: max_chars - 3] + "..." if cut else line


def shown_name(name: str) -> str:
    """A model's name as people see it.

    Args:
        name: as the endpoint or the command line gave it.
    """
    return shown(name, MAX_NAME_CHARS) or "(a name that can't be shown)"


def shown_url(url: str) -> str:
    """A URL without user, password, query and fragment; "" where it is none.

    Args:
        url: as it was given.
    """
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return ""
    host = parts.netloc.rpartition("@")[2]
    return shown(f"{parts.scheme}://{host}{parts.path}") if parts.scheme and host else ""


def without_secret(value: object, secret: str) -> object:
    """A JSON value with the key taken out of every text; the names of fields are ours and stay.

    Args:
        value: as `model_dump(mode="json")` gives it, so no deeper than the models are.
        secret: the key.
    """
    if isinstance(value, str):
        return hidden(value, secret)
    wire = as_object(value)
    if wire is not None:
        return {name: without_secret(item, secret) for name, item in wire.items()}
    entries = as_array(value)
    return value if entries is None else [without_secret(item, secret) for item in entries]


def hidden(text: str, secret: str) -> str:
    """A text without the key, and without the part of it that a cut text may end in.

    Args:
        text: what the endpoint said.
        secret: the key; one shorter than `MIN_SECRET_CHARS` is not looked for.
    """
    if len(secret) < MIN_SECRET_CHARS:
        return text
    text = text.replace(secret, HIDDEN)
    for length in range(len(secret) - 1, MIN_SECRET_CHARS - 1, -1):
        if text.endswith(secret[:length]):
            return text[:-length] + HIDDEN
    return text
