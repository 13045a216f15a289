"""Names of models as they are compared."""

import pytest

from rig.gateway.model_names import lists, plain_name


@pytest.mark.parametrize(
    ("names", "model", "expected"),
    [
        (None, "qwen3", None),
        ((), "qwen3", False),
        (("qwen3",), "qwen3", True),
        (("qwen3:latest",), "qwen3", True),
        (("qwen3",), "qwen3:latest", True),
        (("qwen3:8b",), "qwen3", False),
        (("Qwen3",), "qwen3", False),
    ],
)
def test_a_list_has_a_model(
    names: tuple[str, ...] | None, model: str, expected: bool | None
) -> None:
    assert lists(names, model) is expected


def test_a_plain_name_keeps_every_other_tag() -> None:
    assert plain_name(" llama3:8b ") == "llama3:8b"
