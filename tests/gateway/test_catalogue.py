"""Names of models in lists of them."""

import pytest

from rig.gateway.catalogue import is_listed


@pytest.mark.parametrize(
    ("name", "names", "there"),
    [
        ("qwen3", ("qwen3", "gemma"), True),
        ("qwen3", ("gemma",), False),
        ("qwen3", ("qwen3:latest",), True),
        ("qwen3:latest", ("qwen3:latest",), True),
        ("qwen3", ("qwen3:4b",), False),
        ("qwen3", (), False),
    ],
)
def test_a_model_is_there_by_its_name_or_its_default_tag(
    name: str, names: tuple[str, ...], there: bool
) -> None:
    assert is_listed(name, names) is there
