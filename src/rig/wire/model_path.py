"""Paths that hold a model's name. No I/O."""

from urllib.parse import quote

_STEPS = frozenset({".", ".."})
"""Names that would lead to another path: quoting leaves dots alone (RFC 3986, 5.2.4)."""


def model_path(template: str, model: str) -> str | None:
    """A path for a model.

    Args:
        template: a path below the server's root; `{model}` stands for the name.
        model: the name, any text.

    Returns:
        The path, ASCII and quoted; None where it needs a name and there is none it could hold.
    """
    if "{model}" not in template:
        return template
    if not model or model in _STEPS:
        return None
    return template.replace("{model}", quote(model, safe="", errors="replace"))
