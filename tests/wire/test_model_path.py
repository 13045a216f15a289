"""Paths with a model's name in them."""

import pytest

from rig.wire.model_path import model_path


@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("qwen3", "upstream/qwen3/props"),
        ("qwen3:8b", "upstream/qwen3%3A8b/props"),
        ("org/model v2", "upstream/org%2Fmodel%20v2/props"),
        ("a?b#c", "upstream/a%3Fb%23c/props"),
        ("..%2f", "upstream/..%252f/props"),
        ("mod\u00e8le", "upstream/mod%C3%A8le/props"),
        ("lone \ud83d", "upstream/lone%20%3F/props"),
        ("{model}", "upstream/%7Bmodel%7D/props"),
        ("", None),
        (".", None),
        ("..", None),
    ],
)
def test_a_name_is_quoted_into_one_segment(model: str, path: str | None) -> None:
    assert model_path("upstream/{model}/props", model) == path


def test_a_path_without_a_name_needs_none() -> None:
    assert model_path("props", "") == "props"
