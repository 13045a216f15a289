"""The probes, in order: what each one sends, or why it has no sense any more. Values and functions, no I/O.

Adding a probe is adding a row. The most useful come first, for a slow server may use up the time. A row
sees what earlier ones saw, and exactly one request is sent for each.
"""

from collections.abc import Callable
from typing import Any, Final

from rig.client.probes.known import Known
from rig.client.probes.questions import (
    CALL,
    CALL_TOKENS,
    COUNT,
    COUNT_TOKENS,
    ECHO,
    ECHO_TOOL,
    FORM_TOKENS,
    GRAMMAR,
    HELLO,
    JSON_OBJECT,
    MALFORMED_GRAMMAR,
    MAX_TOKENS_HELD,
    OTHER_CALL,
    PAYLOADS,
    PLAIN,
    PLAIN_TOKENS,
    REVERSE_TOOL,
    SCHEMA,
    SHORT_PIECES,
    SHORT_TOKENS,
    STORY,
    SYSTEM,
    THOUGHT_TOKENS,
    TWO_CALLS,
    UNWANTED_CALL,
    ProbeTool,
    echo_messages,
    long_prompt,
)
from rig.late_dataclass import dataclass
from rig.messages import Message
from rig.model import ChatOptions, ChatRequest

SEED: Final = 1
"""The seed of all probes, so that a second profile can be compared with the first."""

MAX_LONG_TOKENS: Final = 8_192
"""Largest window that is overrun where the server might read the whole prompt: 10 s on a processor that
reads 800 tokens a second."""

MAX_REFUSED_TOKENS: Final = 65_536
"""The same for servers known to refuse before they read. The prompt is half a megabyte then."""

OVERRUN: Final = 1.5
"""How much longer than the window the overlong prompt is: a server that cuts it then reads less than
the least its words can be (`rig.agent.truncation.BOUND_SHARE`)."""

LEFT_S: Final = 8.0
"""Seconds of generating that are ahead when a stream is left, by the speed seen before: more than twice
what it takes to see whether the server stopped, and what it costs when it does not."""

MIN_LEFT_TOKENS: Final = 64
"""Least tokens of that request, for servers whose speed could not be measured."""

MAX_LEFT_TOKENS: Final = 4_096
"""Most tokens of it: one that generates faster is not seen to stop."""

FEW_ROWS: Final = 2
"""Payloads without any call after which the others are not sent: they would tell nothing new."""

ABORT: Final = "abort on close"
_REFUSE_UNREAD: Final = frozenset({"vllm", "sglang", "openai", "anthropic"})
_KNOW_IGNORE_EOS: Final = frozenset({"llama.cpp", "vllm", "sglang"})
_SURVIVE_GRAMMARS: Final = frozenset({"llama.cpp", "vllm", "sglang"})

Prepared = ChatRequest | str
"""A request, or why none is sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One probe.

    Attributes:
        name: what it is called where progress is shown, and in `Known.seen`.
        prepare: its request, or why there is none.
        streamed: whether the reply is streamed.
        leave_after: pieces after which the stream is left; None for never.
    """

    name: str
    prepare: Callable[[Known], Prepared]
    streamed: bool = False
    leave_after: int | None = None


def probe(
    known: Known,
    messages: tuple[Message, ...],
    max_tokens: int,
    *,
    tools: tuple[ProbeTool, ...] = (),
    exact: bool = False,
    **options: Any,  # noqa: ANN401 fields of ChatOptions
) -> ChatRequest:
    """A request at temperature 0, with room for a model that thinks and can't be told not to.

    Args:
        known: what was found out.
        messages: the conversation.
        max_tokens: tokens of the answer itself.
        tools: what is offered.
        exact: send max_tokens as it is, because it is what is tested.
        options: more options of the request.
    """
    if known.hushed:
        options = {"enable_thinking": False, **options}
    elif known.thinks and not exact:
        max_tokens += THOUGHT_TOKENS
    return ChatRequest(
        model=known.model,
        messages=messages,
        max_tokens=max_tokens,
        tools=tools,
        options=ChatOptions(temperature=0, seed=SEED, **options),
    )


def _plain(known: Known) -> Prepared:
    return ChatRequest(
        model=known.model,
        messages=PLAIN,
        max_tokens=PLAIN_TOKENS + (THOUGHT_TOKENS if known.facts.opens_thought else 0),
        options=ChatOptions(temperature=0, seed=SEED),
    )


def _thinking(known: Known) -> Prepared:
    """The plain question again, with thinking switched to what it was not."""
    options = ChatOptions(temperature=0, seed=SEED, enable_thinking=not known.thinks)
    return ChatRequest(model=known.model, messages=PLAIN, max_tokens=PLAIN_TOKENS, options=options)


def echo(name: str) -> Step:
    """The step that sends a payload through an argument.

    Args:
        name: which payload.
    """

    def prepare(known: Known) -> Prepared:
        return probe(
            known,
            echo_messages(PAYLOADS[name]),
            CALL_TOKENS,
            tools=(ECHO_TOOL,),
            tool_choice=_choice(known, "required"),
        )

    return Step(name=echo_name(name), prepare=prepare, streamed=True)


def echo_name(payload: str) -> str:
    """The name of the step of a payload."""
    return f"echo: {payload}"


def _choice(known: Known, mode: str) -> str | None:
    """The tool choice, where the dialect can say it; some servers know only auto."""
    return mode if known.spoken.tool_choices.get(mode) == "sent" else None


def _told_only_once(step: Step) -> Step:
    """A payload's step that is left out once it is known to tell nothing."""

    def prepare(known: Known) -> Prepared:
        rows = [known[echo_name(name)] for name in PAYLOADS]
        sent = [row for row in rows if row.reply or row.failure]
        if sent and sent[0].refused:
            return "the first request with a tool was refused"
        if len(sent) >= FEW_ROWS and not any(row.calls for row in sent):
            return f"{len(sent)} requests with a tool brought no call"
        return step.prepare(known)

    return Step(name=step.name, prepare=prepare, streamed=step.streamed)


def _untooled(known: Known) -> Prepared:
    """The same as `_required` without its tool: the difference in tokens is the tool.

    It is not a payload's, for those are streamed, and streams of some servers tell no usage.
    """
    return probe(known, UNWANTED_CALL, 1, exact=True)


def _tools(known: Known) -> Prepared:
    return probe(known, CALL, CALL_TOKENS, tools=(ECHO_TOOL, REVERSE_TOOL))


def _tools_streamed(known: Known) -> Prepared:
    """The same request as a stream: only this shows whether a stream loses the call."""
    if not known["tools"].calls:
        return "no call came whole either"
    return _tools(known)


def _required(known: Known) -> Prepared:
    tools = (ECHO_TOOL,)
    return probe(known, UNWANTED_CALL, CALL_TOKENS, tools=tools, tool_choice="required")


def _named(known: Known) -> Prepared:
    tools = (ECHO_TOOL, REVERSE_TOOL)
    return probe(known, OTHER_CALL, CALL_TOKENS, tools=tools, tool_choice=ECHO)


def _parallel(known: Known) -> Prepared:
    tools = (ECHO_TOOL, REVERSE_TOOL)
    asked = known.spoken.options.get("parallel_tool_calls")
    options = {"parallel_tool_calls": True} if asked is not None else {}
    return probe(known, TWO_CALLS, CALL_TOKENS, tools=tools, **options)


def _schema(known: Known) -> Prepared:
    return probe(known, HELLO, FORM_TOKENS, response_format=SCHEMA)


def _json_object(known: Known) -> Prepared:
    return probe(known, HELLO, FORM_TOKENS, response_format=JSON_OBJECT)


def _grammar(known: Known) -> Prepared:
    return probe(known, HELLO, FORM_TOKENS, grammar=GRAMMAR)


def _grammar_with_tools(known: Known) -> Prepared:
    return probe(known, HELLO, FORM_TOKENS, grammar=GRAMMAR, tools=(ECHO_TOOL,))


def _malformed_grammar(known: Known) -> Prepared:
    # llama-cpp-python 0.3.36 dies of one (measured), as did llama.cpp until 2024 (ggml-org/llama.cpp
    # 4492, 5435), which told no build yet.
    if known.facts.server not in _SURVIVE_GRAMMARS or not known.facts.build:
        return "some servers die of a malformed grammar, and this one may be of them"
    if known["grammar"].reply is None:
        return "it takes no grammar at all"
    return probe(known, HELLO, FORM_TOKENS, grammar=MALFORMED_GRAMMAR)


def _system(known: Known) -> Prepared:
    return probe(known, SYSTEM, FORM_TOKENS)


def _stop(known: Known) -> Prepared:
    word = stop_word(known["stream"].text)
    if not word:
        return "the stream brought no text that could be stopped at"
    return probe(known, COUNT, COUNT_TOKENS, stop=[word])


def stop_word(text: str) -> str:
    """A word in the last half of a text that does not occur before, "" when there is none.

    Args:
        text: what the model answers to the same question at temperature 0.
    """
    words = text.split()
    for word in words[len(words) // 2 :]:
        if 1 <= len(word) <= 20 and len(words) >= 4 and text.index(word) >= len(text) // 3:
            return word
    return ""


def _short(known: Known) -> Prepared:
    silent = {"stream_options": None}
    return probe(known, COUNT, SHORT_TOKENS, exact=True, extra_body=silent)


def _completion_tokens(known: Known) -> Prepared:
    """A limit that some servers ignore, on a request that ends soon all the same.

    llama.cpp until 2025, transformers and llama-cpp-python ignore it and generate until the client
    leaves; the last two go on even then (measured).
    """
    if known.spoken.wire != "chat_completions":
        return "the API that is spoken has no such limit"
    if known.spoken.max_tokens_field == "max_completion_tokens":
        return "the dialect sends no other limit; see max_tokens"
    stopped = known["stop"]
    word = stop_word(known["stream"].text)
    if stopped.reply is None or not word or word in stopped.text:
        return "without a working stop the request might never end"
    body = {"max_tokens": None, "max_completion_tokens": MAX_TOKENS_HELD}
    return probe(known, COUNT, COUNT_TOKENS, stop=[word], extra_body=body)


def _repeat(known: Known) -> Prepared:
    return _plain(known)


def _abort(known: Known) -> Prepared:
    speed = known["stream"].reply
    if speed is None:
        return "streaming does not work"
    per_second = tokens_per_s(known) or 0.0
    tokens = int(min(max(MIN_LEFT_TOKENS, LEFT_S * per_second), MAX_LEFT_TOKENS))
    window = known.facts.window_tokens
    tokens = min(tokens, window // 2) if window else tokens
    more = known.facts.server in _KNOW_IGNORE_EOS
    body = {"ignore_eos": True} if more else {}
    return probe(known, STORY, max(tokens, 1), exact=True, extra_body=body)


def tokens_per_s(known: Known) -> float | None:
    """How fast the endpoint generated in the timed stream; by its own clock where it has one.

    Args:
        known: what was found out.
    """
    observed = known["stream"]
    usage = observed.reply.usage if observed.reply else None
    if usage is None:
        return None
    if usage.completion_tokens_per_s:
        return usage.completion_tokens_per_s
    tokens = usage.completion_tokens or observed.pieces
    took_s = observed.elapsed_s - (usage.time_to_first_token_s or 0.0)
    return (tokens - 1) / took_s if tokens > 1 and took_s >= MIN_TIMED_S else None


def _overrun(known: Known) -> Prepared:
    window = known.facts.window_tokens
    if window is None:
        return "the endpoint does not say how large its window is"
    # llama.cpp that tells its template's capabilities (2026) refuses too; b4747 cut the prompt (measured).
    modern = known.facts.server == "llama.cpp" and bool(known.facts.caps)
    refuses = modern or known.facts.server in _REFUSE_UNREAD
    limit = MAX_REFUSED_TOKENS if refuses else MAX_LONG_TOKENS
    if window > limit:
        return f"a prompt longer than its {window} tokens would take too long to read"
    return ChatRequest(
        model=known.model,
        messages=long_prompt(int(OVERRUN * window) + 1),
        max_tokens=1,
        options=ChatOptions(temperature=0),
    )


SURFACE: Final = (
    *(echo(name) for name in PAYLOADS),
    Step(name="grammar", prepare=_grammar),
    Step(name="grammar with tools", prepare=_grammar_with_tools),
)
"""The steps of `probe_tool_surface`: all of them, whatever the first ones bring."""

STEPS: Final = (
    Step(name="plain", prepare=_plain),
    Step(name="thinking", prepare=_thinking),
    Step(name="stream", prepare=lambda known: probe(known, COUNT, COUNT_TOKENS), streamed=True),
    *(_told_only_once(step) for step in SURFACE[: len(PAYLOADS)]),
    Step(name="without tools", prepare=_untooled),
    Step(name="tools", prepare=_tools),
    Step(name="tools, streamed", prepare=_tools_streamed, streamed=True),
    Step(name="tool_choice required", prepare=_required),
    Step(name="json_schema", prepare=_schema),
    *SURFACE[len(PAYLOADS) :],
    Step(name="malformed grammar", prepare=_malformed_grammar),
    Step(name="json_object", prepare=_json_object),
    Step(name="system", prepare=_system),
    Step(name="tool_choice by name", prepare=_named),
    Step(name="parallel calls", prepare=_parallel),
    Step(name="stop", prepare=_stop),
    Step(name="short stream", prepare=_short, streamed=True, leave_after=SHORT_PIECES),
    Step(name="repeat", prepare=_repeat),
    Step(name="long prompt", prepare=_overrun),
    Step(
        name="max_completion_tokens",
        prepare=_completion_tokens,
        streamed=True,
        leave_after=SHORT_PIECES,
    ),
    Step(name=ABORT, prepare=_abort, streamed=True, leave_after=2),
)
"""All steps of a profile that make the model generate."""

MIN_TIMED_S: Final = 0.05
"""Seconds between the first piece of a stream and its end below which no speed is told: pieces that a proxy
or the server held back come at once, and would make thousands of tokens a second."""
