"""GBNF grammars for exactly the tools that are offered, from their JSON schemas. No I/O, stdlib only.

With one of them llama.cpp can sample nothing but what the parsers beside this file read: the name of
an offered tool, all keys it requires, none of them twice, values of the right type. It must not be sent
together with `tools` (ggml-org/llama.cpp answers 400, `Cannot use custom grammar constraints with
tools.`).
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, Protocol

from rig.errors import InvalidRequestError
from rig.text.gbnf import Rules, literal
from rig.text.grammar_values import LINE_REST, ValueRules

MAX_BATCH: Final = 4
"""Calls of one reply as text: those the prompt asks for, the grammar has room for, and a run executes where no
grammar held; later ones are refused. It must have an end: once a call is complete another one is as legal,
and models that may go on for ever do. Four files read at once is a wide fan-out, a fifth is another round."""

Text = Literal["any", "instead", "none"]
"""What may stand beside calls: text before them or in place of them, text only in place of them, none."""


class GrammarTool(Protocol):
    """What a grammar has to know of a tool; `rig.Tool` is one."""

    @property
    def name(self) -> str:
        """1 to 64 letters, digits, `_` and `-`."""
        ...

    @property
    def input_schema(self) -> Mapping[str, Any]:
        """JSON schema of the input, an object."""
        ...


def grammar_for(
    tools: Iterable[GrammarTool],
    *,
    max_calls: int = MAX_BATCH,
    text: Text = "any",
    bodies: bool = True,
) -> str:
    """The grammar of the `@@call` dialect that `rig.text.heredoc` reads.

    Keys come in the order of the schema: required ones always, optional ones or not, each at most once.
    Strings without bounds may be bodies. Keywords that can't be told are left out, which allows more
    than the schema does: check the arguments afterwards.

    Args:
        tools: what the model may call; a tool without a name is left out.
        max_calls: calls of one reply, at least 1.
        text: what may stand beside calls. `any` is right for models that think before they act,
            `instead` for the smallest ones, `none` forces a call.
        bodies: False leaves only quoted strings. The smallest models forget to close a body (SmolLM2-135M
            ended 25 of 100 calls with bodies before its token limit, 92 of 100 with quoted strings).

    Returns:
        The grammar, the same for the same tools in any order.

    Raises:
        InvalidRequestError: there is no tool, max_calls is below 1, or the grammar is too large.
    """
    rules = Rules("these tools")
    calls = f"({' | '.join(_heredoc_calls(rules, tools, bodies=bodies))})"
    if max_calls < 1:
        raise InvalidRequestError("max_calls must be at least 1")
    batch = rules.define("calls", f"{rules.define('call', calls)}{{1,{max_calls}}}")
    if text == "none":
        return rules.text(batch)
    prose = rules.define("text", _prose(rules))
    return rules.text(
        f'{batch} | {prose} ("\\n" {batch})?' if text == "any" else f"{batch} | {prose}"
    )


def json_grammar(schema: Mapping[str, Any]) -> str:
    """The grammar of one JSON value, for servers that know grammars and no `json_schema`.

    Args:
        schema: a JSON schema; references into itself are followed.

    Returns:
        The grammar. Keys come in the order of the schema, each at most once.

    Raises:
        InvalidRequestError: the grammar is too large.
    """
    rules = Rules("this schema")
    return rules.text(ValueRules(rules, style="json", root=schema).value(schema))


def json_call_grammar(
    tools: Iterable[GrammarTool], *, text: bool = True, answer: Mapping[str, Any] | None = None
) -> str:
    """The grammar of one call as a JSON object: `{"name": ..., "arguments": {...}}`.

    Args:
        tools: what the model may call; a tool without a name is left out.
        text: whether the model may answer with text, which then does not begin with a brace.
        answer: the JSON schema of an object the model may answer with instead.

    Returns:
        The grammar, the same for the same tools in any order.

    Raises:
        InvalidRequestError: there is no tool, or the grammar is too large.
    """
    rules = Rules("these tools")
    options: list[str] = []
    for tool in _named(tools):
        values = ValueRules(rules, style="json", root=tool.input_schema)
        head = literal('{"name": "' + tool.name + '", "arguments": ')
        options.append(rules.add(f'{head} {values.value(_input(tool))} "}}"'))
    if answer is not None:
        options.append(ValueRules(rules, style="json", root=answer).value(answer))
    if text:
        rules.define("rest", LINE_REST)
        options.append(r'[^{[ \t\r\n] rest ("\n" rest)*')
    return rules.text(" | ".join(options))


def _heredoc_calls(rules: Rules, tools: Iterable[GrammarTool], *, bodies: bool) -> list[str]:
    calls: list[str] = []
    for tool in _named(tools):
        values = ValueRules(rules, style="heredoc", root=tool.input_schema, bodies=bodies)
        head, end = literal(f"@@call {tool.name}\n"), literal("\n@@end\n")
        # The newline behind the end is what makes room for another call.
        calls.append(rules.add(f"{head} {values.value(_input(tool))} {end}"))
    return calls


def _named(tools: Iterable[GrammarTool]) -> list[GrammarTool]:
    """The tools by name, so that a server's cache of the prompt does not depend on their order.

    Raises:
        InvalidRequestError: there is none.
    """
    named: dict[str, GrammarTool] = {}
    for tool in tools:
        if tool.name:
            named.setdefault(tool.name, tool)
    if not named:
        raise InvalidRequestError("a grammar for calls needs at least one tool with a name")
    return [named[name] for name in sorted(named)]


def _input(tool: GrammarTool) -> Mapping[str, Any]:
    """The schema of a tool's input; one that names no parameters takes none."""
    schema = {"type": "object", **tool.input_schema}
    schema.setdefault("additionalProperties", False)
    return schema


def _prose(rules: Rules) -> str:
    """Text in which no line begins like a call, or the end of one."""
    rules.define("rest", LINE_REST)
    rules.define("line", r'[ \t]* ([^@ \t\n] rest | "@" ([^@\n] rest)?)?')
    rules.define("first", r'[^@ \t\n] rest | "@" [^@\n] rest')
    return r'first ("\n" line)*'
