"""A profile of llama.cpp's own server: what it finds is what the server then does."""

import pytest

from rig import Client
from rig.client.probes.advice import advise
from rig.testing import LocalModel

# The template SmolLM2 comes with: it knows no tools.
OWN_TEMPLATE = (
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content']"
    " + '<|im_end|>' + '\\n'}}{% endfor %}{% if add_generation_prompt %}"
    "{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
THINKING_TEMPLATE = OWN_TEMPLATE.replace("assistant\\n' }}", "assistant\\n<think>\\n' }}")

SAME_FOR_BOTH = {
    "state": "ready",
    "server": "llama.cpp",
    "models": ("smollm2",),
    "window_tokens": 4096,
    "tokenizer": "prompts",
    "json_schema": "enforced",
    "grammar": "enforced",
    "grammar_with_tools": "refused",
    "malformed_grammar": "refused",
    "stop": "honoured",
    "repeatable": True,
    "max_tokens": "honoured",
    "max_completion_tokens": "honoured",
    "long_prompts": "refused",
    "abort_on_close": True,
}


@pytest.mark.parametrize(
    ("template", "found"),
    [
        (None, {"tools": "native", "streamed_calls": True, "parallel_calls": True}),
        (OWN_TEMPLATE, {"tools": "dropped", "streamed_calls": None}),
    ],
    ids=["a template that knows tools", "the model's own template"],
)
async def test_a_profile_of_a_real_server_is_right(
    template: str | None, found: dict[str, object]
) -> None:
    async with (
        LocalModel(chat_template=template, slots=1) as local,
        Client(local.url, model=local.model, dialect="llama.cpp") as client,
    ):
        profile = await client.profile()
        assert await local.health() == "ok"
    values = {name: finding.value for name, finding in profile.findings().items()}
    wanted = {**SAME_FOR_BOTH, **found}
    assert {name: values[name] for name in wanted} == wanted
    assert profile.took_s < 60
    assert profile.build.value
    advice = {one.topic for one in advise(profile)}
    assert ("tools" in advice) is (template is not None)


async def test_a_template_that_eats_the_tag_is_found_out() -> None:
    async with (
        LocalModel(chat_template=THINKING_TEMPLATE, slots=1) as local,
        Client(local.url, model=local.model, dialect="llama.cpp") as client,
    ):
        profile = await client.profile(budget_s=20)
    assert profile.reasoning.value in {"field", "orphan_closer"}


async def test_a_tool_surface_of_a_real_server_has_all_its_rows(client: Client) -> None:
    surface = await client.probe_tool_surface()
    assert len(surface.echoes) == 6
    assert surface.grammar.accepted
    assert surface.grammar.obeyed
    assert not surface.grammar_with_tools.accepted
