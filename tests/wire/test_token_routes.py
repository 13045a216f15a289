"""The table of tokenizers: order and requests."""

import pytest
from pydantic_core import from_json

from rig import Message, Tool
from rig.wire.token_routes import TOKEN_ROUTES, TokenRoute

BY_NAME = {route.name: route for route in TOKEN_ROUTES}
HI = [Message(role="user", content="Hi")]
TOOL = Tool(name="t", description="Does it.", input_schema={"type": "object"}, run=lambda _: "")

TEXTS: list[tuple[str, str, dict[str, object] | None]] = [
    ("llama.cpp", "tokenize", {"content": "T", "add_special": False}),
    ("llama-swap", "upstream/{model}/tokenize", {"content": "T", "add_special": False}),
    ("vLLM below /v1", "v1/tokenize", {"model": "M", "prompt": "T"}),
    ("llama.cpp's router", "tokenize", {"model": "M", "content": "T", "add_special": False}),
    ("vLLM, SGLang", "tokenize", {"model": "M", "prompt": "T"}),
    ("Anthropic", "v1/messages/count_tokens", None),
]


def test_the_order_is_the_cheapest_first_and_whole_prompts_last() -> None:
    assert [(route.name, route.path) for route in TOKEN_ROUTES] == [row[:2] for row in TEXTS]


@pytest.mark.parametrize(("name", "path", "fields"), TEXTS, ids=[row[0] for row in TEXTS])
def test_a_text_is_asked_for_in_the_servers_words(
    name: str, path: str, fields: dict[str, object] | None
) -> None:
    text = BY_NAME[name].text
    assert (from_json(text("M", "T")) if text else None) == fields


def test_a_model_that_is_not_named_is_not_sent() -> None:
    route = BY_NAME["vLLM, SGLang"]
    assert route.text is not None
    assert from_json(route.text("", "T")) == {"prompt": "T"}


@pytest.mark.parametrize("route", TOKEN_ROUTES[:-1], ids=lambda route: route.name)
def test_a_prompt_is_asked_for_as_a_chat_and_without_empty_tools(route: TokenRoute) -> None:
    for prompt in route.prompts:
        assert from_json(prompt.body("M", HI, ())) == {
            "model": "M",
            "messages": [{"role": "user", "content": "Hi"}],
        }
        tools = from_json(prompt.body("M", HI, [TOOL]))["tools"]
        assert tools[0]["function"]["name"] == "t"


@pytest.mark.parametrize("route", TOKEN_ROUTES, ids=lambda route: route.name)
def test_a_route_that_renders_prompts_can_count_them(route: TokenRoute) -> None:
    assert any(prompt.renders for prompt in route.prompts) == (route.rendered is not None)
    if route.rendered is not None:
        assert from_json(route.rendered("M", "T"))["add_special"] is True


def test_anthropic_counts_a_dot_where_there_are_no_turns() -> None:
    [prompt] = BY_NAME["Anthropic"].prompts
    assert from_json(prompt.body("M", (), ())) == {
        "model": "M",
        "messages": [{"role": "user", "content": "."}],
    }
