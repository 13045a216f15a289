"""What a client remembers of its models' templates."""

from rig.client.thinking import MAX_REMEMBERED, ThinkingModels, thinking_key
from rig.messages import Message
from rig.model import ChatOptions, ChatRequest

KEY = ("qwq", None)


def test_a_template_that_opens_a_thought_is_remembered_until_one_does_not() -> None:
    models = ThinkingModels()
    assert KEY not in models
    models.learn(KEY, True)
    models.learn(KEY, None)
    assert KEY in models
    models.learn(KEY, False)
    assert KEY not in models


def test_models_and_ways_to_ask_them_are_told_apart() -> None:
    request = ChatRequest(
        model="qwq",
        messages=(Message(role="user", content="hi"),),
        max_tokens=8,
        options=ChatOptions(enable_thinking=False),
    )
    models = ThinkingModels()
    models.learn(KEY, True)
    assert thinking_key(request) not in models
    assert ("other", None) not in models


def test_the_number_remembered_is_bounded() -> None:
    models = ThinkingModels()
    for number in range(MAX_REMEMBERED + 1):
        models.learn((f"m{number}", None), True)
    assert ("m0", None) not in models
    assert ("m1", None) in models
    assert (f"m{MAX_REMEMBERED}", None) in models
