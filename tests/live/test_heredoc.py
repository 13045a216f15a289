"""The `@@call` dialect and prompted JSON on llama.cpp's own server, with a model of 135 million parameters."""

import os
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import pytest

from rig import ChatOptions, ChatRequest, Client, Message, Reply, Tool, ToolCall, tool
from rig.agent.calling import ReadyCall, admit
from rig.agent.formats import ToolFormat
from rig.agent.tool_formats import HEREDOC, JSON, heredoc_reply, heredoc_request
from rig.agent.toolbox import Toolbox
from rig.testing import LocalModel, example_exchanges
from rig.text import grammar_for, json_grammar, parse_heredoc, scan_json
from rig.text.gbnf import literal

SEEDS = range(int(os.environ.get("RIG_LIVE_SEEDS", "4")))
"""Few by default, so that the whole check stays short; measured with 20."""


@tool
async def get_weather(city: str) -> str:
    """Get the weather in a city."""
    return "18 degrees and sunny"


@tool
async def get_price(item: str) -> str:
    """Get the price of an item."""
    return "3 dollars"


TOOLS = (get_weather, get_price)
SYSTEM = Message(role="system", content="You are a helpful assistant.")


def ask(
    question: str,
    *more: Message,
    temperature: float = 0.0,
    seed: int = 1,
    tools: Sequence[Tool] = TOOLS,
    **options: Any,
) -> ChatRequest:
    return ChatRequest(
        model=LocalModel.model,
        messages=(SYSTEM, *example_exchanges(), Message(role="user", content=question), *more),
        max_tokens=120,
        tools=tools,
        options=ChatOptions(temperature=temperature, seed=seed, **options),
    )


# The grammar


@dataclass(frozen=True)
class Offered:
    name: str
    input_schema: Mapping[str, Any]


TEXT = {"type": "string"}
SCHEMAS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "texts": {"properties": {"path": TEXT, "content": TEXT}, "required": ["path", "content"]},
    "odd keys": {"properties": {"max-results": {"type": "integer"}, 'q"\\': TEXT, "\u00e9": TEXT}},
    "enum": {"properties": {"e": {"enum": ["a", 'b\n"', 1, None, {"x": [1]}]}}, "required": ["e"]},
    "bounds": {
        "properties": {
            "i": {"type": "integer", "minimum": -17, "maximum": 305},
            "s": {"type": "string", "minLength": 2, "maxLength": 5},
        },
        "required": ["i", "s"],
    },
    "large bounds": {
        "properties": {
            "a": {
                "type": "array",
                "maxItems": 500,
                "items": {
                    "type": "array",
                    "maxItems": 500,
                    "items": {"type": "string", "maxLength": 500},
                },
            }
        },
        "required": ["a"],
    },
    "nested": {
        "properties": {
            "o": {"type": "object", "properties": {"x": TEXT, "y": {"type": "boolean"}}},
            "any": True,
        },
        "required": ["o"],
    },
    "unions": {"properties": {"v": {"anyOf": [TEXT, {"type": "null"}, {"type": "array"}]}}},
    "additional": {
        "properties": {"ab": TEXT, "": TEXT},
        "additionalProperties": {"type": "number"},
    },
    "formats": {
        "properties": {
            name: {"type": "string", "format": name}
            for name in ("date", "time", "date-time", "uuid")
        },
        "required": ["date", "time", "date-time", "uuid"],
    },
    "recursive": {
        "properties": {"t": {"$ref": "#/$defs/T"}},
        "required": ["t"],
        "$defs": {
            "T": {
                "type": "object",
                "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/T"}}},
            }
        },
    },
    "only references": {
        "properties": {"t": {"$ref": "#/$defs/A"}},
        "$defs": {"A": {"anyOf": [{"$ref": "#/$defs/A"}, {"type": "integer"}]}},
    },
}


@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
async def test_the_server_takes_every_grammar_and_writes_nothing_else(client: Client) -> None:
    """A grammar it can't read is answered with an error, so an answer is proof."""

    async def written(grammar: str, seed: int) -> Reply:
        options = ChatOptions(temperature=1.0, seed=seed, grammar=grammar)
        messages = (Message(role="user", content="Call the tool."),)
        return await client.complete(
            ChatRequest(model=LocalModel.model, messages=messages, max_tokens=40, options=options)
        )

    for seed, (name, schema) in enumerate(SCHEMAS.items()):
        offered = Offered("the_tool", schema)
        reply = await written(grammar_for([offered], text="none"), seed)
        read = parse_heredoc(reply.text, names=["the_tool"])
        assert read.problem in {"", "truncated"}, name
        assert read.text == "", name
        await written(grammar_for([offered]), seed)
        json_text = (await written(json_grammar({"type": "object", **schema}), seed)).text
        assert scan_json(json_text).kind in {"complete", "truncated"}, name
    many = [Offered(f"tool_{n}", SCHEMAS["bounds"]) for n in range(128)]
    assert parse_heredoc((await written(grammar_for(many, text="none"), 1)).text).written


# Calls


@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
@pytest.mark.parametrize("temperature", [0.0, 0.7])
async def test_a_tiny_model_makes_a_valid_call_every_time(
    client: Client, temperature: float
) -> None:
    """Held to a call, with any seed; untold examples of other calls in its history."""
    for seed in SEEDS if temperature else SEEDS[:3]:
        question = random.Random(seed).choice(
            ["What is the weather in Paris?", "How much does an apple cost?"]
        )
        asked = ask(question, temperature=temperature, seed=seed, tool_choice="required")
        reply = heredoc_reply(await client.complete(heredoc_request(asked)), TOOLS)
        assert reply.tool_calls, seed
        for call in reply.tool_calls:
            assert isinstance(admit(Toolbox(TOOLS), call), ReadyCall), seed


async def trip(client: Client, form: ToolFormat, question: str, *, seed: int) -> tuple[str, str]:
    """Question, call, result, answer: the tool that was called, and the answer."""
    asked = ask(question, temperature=0.2, seed=seed)
    reply = form.reply(await client.complete(form.request(asked)), TOOLS)
    if not reply.tool_calls:
        return "", reply.text
    call = reply.tool_calls[0]
    ready = admit(Toolbox(TOOLS), call)
    assert isinstance(ready, ReadyCall)
    result = "18 degrees and sunny" if call.name == "get_weather" else "3 dollars"
    turns = (
        Message(role="assistant", tool_calls=(call,)),
        Message(role="tool", content=result, tool_call_id=call.id, name=call.name),
    )
    asked = ask(question, *turns, temperature=0.2, seed=seed)
    answer = form.reply(await client.complete(form.request(asked)), TOOLS)
    return call.name, "" if answer.tool_calls else answer.text


@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
@pytest.mark.parametrize("form", [HEREDOC, JSON], ids=lambda form: form.name)
@pytest.mark.parametrize(
    ("question", "name", "said"),
    [
        ("What is the weather in Paris?", "get_weather", "18 degrees"),
        ("How much does an apple cost?", "get_price", "3 dollars"),
    ],
)
async def test_a_question_goes_through_a_call_to_an_answer(
    client: Client, form: ToolFormat, question: str, name: str, said: str
) -> None:
    """Nothing forces the call here. Measured 20 of 20; one in ten may go astray on other machines."""
    good = 0
    for seed in SEEDS:
        called, answer = await trip(client, form, question, seed=seed)
        good += called == name and said in answer
    print(f"{form.name}: {good} of {len(SEEDS)}")
    assert good >= len(SEEDS) - max(1, len(SEEDS) // 10)


# Bodies


BODIES = {
    "quotes": "say \"hi\" and 'hi', it's",
    "backslashes": "C:\\new\\table \\\\ \\u0041 \\",
    "escapes": 'printf("%s\\n\\t\\"x\\"\\0");',
    "code": 'class A {\n  int[] x = {1, 2,};\n\tString s = "don\'t";\n}',
    "code fence": "```python\nprint(1)\n```\n````",
    "tilde run": "~~~\n~~~~ x\n~~~java\n~~~m",
    "marks": "@@end\n@@call w\n{a: 1}\n@@end",
    "native delimiters": "<tool_call>\n</parameter>\n<function=x>\n[TOOL_CALLS]",
    "JSON": '{"a": [1, 2,], "b": "c\\n"}',
    "unicode": "caf\u00e9 \U0001f600 \u4e16\u754c \u0645\u0631\u062d\u0628\u0627",
    "blanks": "\n\n  x \t\n\n",
    "empty": "",
}


@tool
async def write_file(path: str, content: str) -> str:
    """Write a file."""
    return path


@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
@pytest.mark.parametrize("content", BODIES.values(), ids=BODIES)
async def test_a_body_arrives_byte_for_byte(client: Client, content: str) -> None:
    """The model writes it, token by token; the grammar only leaves it no other choice."""
    wanted = f'@@call write_file\n{{path: "a.md", content: ~~~md\n{content}\n~~~md\n}}\n@@end\n'
    asked = ChatRequest(
        model=LocalModel.model,
        messages=(Message(role="user", content="Write the file."),),
        max_tokens=300,
        options=ChatOptions(temperature=0.7, seed=1, grammar=f"root ::= {literal(wanted)}\n"),
    )
    reply = heredoc_reply(await client.complete(asked), (write_file,))
    (call,) = reply.tool_calls
    assert call.input == {"path": "a.md", "content": content}
    assert reply.text == ""
    # And back, as the history of the next request, through the server's template.
    turns = (
        Message(role="user", content="Write the file."),
        Message(
            role="assistant",
            tool_calls=(ToolCall(id="1", name=call.name, arguments=call.arguments),),
        ),
        Message(role="tool", content=content, tool_call_id="1", name=call.name),
    )
    again = ChatRequest(
        model=LocalModel.model,
        messages=turns,
        max_tokens=5,
        tools=(write_file,),
        options=ChatOptions(temperature=0),
    )
    assert (await client.complete(heredoc_request(again))).finish_reason in {"stop", "length"}


@dataclass(frozen=True)
class Chosen:
    """A tool whose content is one of the bodies."""

    name = "write_file"
    description = "Write a file."
    input_schema = MappingProxyType(
        {
            "type": "object",
            "properties": {"content": {"enum": [text for text in BODIES.values() if text]}},
            "required": ["content"],
        }
    )


@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
async def test_every_seed_makes_a_valid_call_with_one_of_the_bodies(client: Client) -> None:
    """The model chooses the text, and whether it writes it as a body or as a quoted string."""
    example = f"@@call write_file\n{{content: ~~~txt\n{BODIES['code fence']}\n~~~txt\n}}\n@@end"
    bodies = 0
    for seed in SEEDS:
        asked = ChatRequest(
            model=LocalModel.model,
            messages=(
                Message(role="user", content="Write a file."),
                Message(role="assistant", content=example),
                Message(role="user", content="Write another file."),
            ),
            max_tokens=300,
            tools=(Chosen(),),
            options=ChatOptions(
                temperature=0.7, seed=seed, tool_choice="required", parallel_tool_calls=False
            ),
        )
        raw = await client.complete(heredoc_request(asked))
        (call,) = heredoc_reply(raw, (Chosen(),)).tool_calls
        assert call.input["content"] in BODIES.values()
        bodies += "~~~" in raw.text
    print(f"bodies: {bodies} of {len(SEEDS)}")
    assert bodies > 0
