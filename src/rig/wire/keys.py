"""The header that says who asks. No I/O."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from rig.wire.dialect import Dialect

_KEY_FORMS: Final[Mapping[str, str]] = MappingProxyType({"authorization": "Bearer "})


def key_headers(dialect: Dialect, api_key: str) -> tuple[tuple[str, str], ...]:
    """The header that says who asks.

    Args:
        dialect: who is asked.
        api_key: the key; "" sends none.
    """
    if not api_key:
        return ()
    form = _KEY_FORMS.get(dialect.key_header.lower(), "")
    return ((dialect.key_header, form + api_key),)
