"""What to change at an endpoint, from its profile: a table of rules. Pure.

Adding advice is adding a row. A rule speaks only of what was measured; one for a kind of server comes
before the one for all of them, and of the rules of one topic the first that holds is given.
"""

from collections.abc import Callable
from typing import Final, Literal

from rig.client.probes.facts import lists
from rig.client.probes.profile import EndpointProfile
from rig.late_dataclass import dataclass
from rig.wire.dialects import DIALECTS

Severity = Literal["error", "warning", "hint"]
"""error: agents don't work. warning: something fails without a word. hint: it could be better."""

SMALL_WINDOW_TOKENS: Final = 8_192
"""Context below which a window is called small: a few tools and their results fill it."""

SLOW_TOKENS_PER_S: Final = 5.0
"""Tokens a second below which a reply of 1,000 tokens takes longer than three minutes, and most clients
give up."""

SLOW_FIRST_TOKEN_S: Final = 10.0
"""Seconds to the first token of a short prompt that point at a queue or a model that is loaded each time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """One thing to change.

    Attributes:
        severity: how much it matters.
        topic: what it is about, a word or two that stay the same.
        title: what is the matter, a sentence.
        what_to_change: what to do, a sentence or two.
        source: where that is documented or reported; "" where it follows from what was measured.
    """

    severity: Severity
    topic: str
    title: str
    what_to_change: str
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """When which advice is given.

    Attributes:
        topic: of the rules of one topic, the first that holds is given.
        severity: of the advice.
        holds: whether the profile shows it.
        title: of the advice; `{window}`, `{server}`, `{model}` and `{speed}` stand for the profile's.
        change: of the advice, with the same words.
        server: the dialect it is for; "" for all.
        source: of the advice.
    """

    topic: str
    severity: Severity
    holds: Callable[[EndpointProfile], bool]
    title: str
    change: str
    server: str = ""
    source: str = ""


def _state(value: str) -> Callable[[EndpointProfile], bool]:
    return lambda profile: profile.state.value == value


def _tools(*values: str) -> Callable[[EndpointProfile], bool]:
    return lambda profile: profile.tools.value in values


def _reasoning(*values: str) -> Callable[[EndpointProfile], bool]:
    return lambda profile: profile.reasoning.value in values


def _mislisted(profile: EndpointProfile) -> bool:
    models = profile.models.value or ()
    return profile.state.value == "ready" and bool(models) and not lists(models, profile.model)


def _speaks_another(profile: EndpointProfile) -> bool:
    server = profile.server.value
    return server not in {None, "generic", profile.spoken} and profile.spoken == "generic"


def _fails_required(profile: EndpointProfile) -> bool:
    return profile.tools.value in {
        "native",
        "forced",
        "auto_refused",
    } and profile.tool_choice_required.value in {
        "ignored",
        "refused",
    }


_VLLM_TOOLS: Final = "https://docs.vllm.ai/en/latest/features/tool_calling/"
_LLAMA_TOOLS: Final = "https://github.com/ggml-org/llama.cpp/blob/master/docs/function-calling.md"
_PROMPTED: Final = "ask for calls in a form of your own, held by a grammar or a JSON schema"

RULES: Final = (
    # whether it answers at all
    Rule(
        topic="state",
        severity="error",
        holds=_state("loading"),
        title="The server is loading its model.",
        change="Wait until it has loaded, and measure again; rig's retries wait for it by themselves.",
    ),
    Rule(
        topic="state",
        severity="error",
        holds=_state("model_not_found"),
        title="The endpoint has no model named {model}.",
        change="Use one of the names it lists, or load the model.",
    ),
    Rule(
        topic="state",
        severity="error",
        holds=_state("failing"),
        title="The endpoint does not answer a plain question.",
        change="Look at the server's log; nothing else was measured.",
    ),
    Rule(
        topic="model name",
        severity="hint",
        holds=_mislisted,
        title="The endpoint answers for {model}, which it does not list.",
        change="Name a model it lists: some servers answer any name with the model they have loaded.",
    ),
    # tools
    Rule(
        topic="tools",
        severity="error",
        server="vllm",
        holds=_tools("refused", "auto_refused", "text"),
        title="vLLM was started without a parser for tool calls, or with another model's.",
        change="Start it with --enable-auto-tool-choice --tool-call-parser and the parser of your model"
        " (hermes for Qwen 2.5, qwen3_coder, llama3_json, mistral, ...).",
        source=_VLLM_TOOLS,
    ),
    Rule(
        topic="tools",
        severity="error",
        server="sglang",
        holds=_tools("text", "refused", "auto_refused"),
        title="SGLang was started without a parser for tool calls, or with another model's.",
        change="Start it with --tool-call-parser and the parser of your model (qwen25, llama3, ...).",
        source="https://docs.sglang.io/advanced_features/tool_parser.html",
    ),
    Rule(
        topic="tools",
        severity="error",
        server="llama.cpp",
        holds=_tools("refused"),
        title="llama.cpp was started without its template engine, or its template refuses tools.",
        change="Start it with --jinja, and with --chat-template-file where the model's own template knows"
        " no tools.",
        source=_LLAMA_TOOLS,
    ),
    Rule(
        topic="tools",
        severity="error",
        server="llama.cpp",
        holds=_tools("dropped"),
        title="The chat template knows no tools, so llama.cpp drops them without a word.",
        change="Start it with --jinja --chat-template-file and a template that knows tools; the models"
        f" folder of llama.cpp holds some. Or {_PROMPTED}.",
        source=_LLAMA_TOOLS,
    ),
    Rule(
        topic="tools",
        severity="error",
        server="llama.cpp",
        holds=_tools("text"),
        title="The model writes its calls in a form that llama.cpp does not take for calls.",
        change="Start it with --jinja --chat-template-file and the template made for this model;"
        f" or {_PROMPTED}.",
        source=_LLAMA_TOOLS,
    ),
    Rule(
        topic="tools",
        severity="error",
        server="ollama",
        holds=_tools("refused", "dropped"),
        title="The template of this model in Ollama knows no tools.",
        change="Take a model from its library that is marked with tools, or write a TEMPLATE with .Tools"
        " into a Modelfile.",
        source="https://ollama.com/search?c=tools",
    ),
    Rule(
        topic="tools",
        severity="error",
        holds=_tools("refused"),
        title="The endpoint refuses requests with tools.",
        change=f"Switch tool calling on where the server is started; or {_PROMPTED}.",
    ),
    Rule(
        topic="tools",
        severity="error",
        holds=_tools("dropped"),
        title="The endpoint does not show the tools to the model.",
        change=f"Use a chat template that knows tools; or {_PROMPTED}.",
    ),
    Rule(
        topic="tools",
        severity="error",
        holds=_tools("text"),
        title="Calls arrive as text: nothing on the server reads them.",
        change=f"Switch on the server's parser for this model; or {_PROMPTED}.",
    ),
    Rule(
        topic="tools",
        severity="warning",
        holds=_tools("none"),
        title="The model was shown tools and called none, even with examples.",
        change=f"Take a model trained for tool calls; or {_PROMPTED}.",
    ),
    Rule(
        topic="tools",
        severity="warning",
        holds=_tools("forced", "auto_refused"),
        title="Calls come only where one is required.",
        change="Require calls with tool_choice, or take a model that makes them by itself.",
    ),
    Rule(
        topic="arguments",
        severity="warning",
        holds=lambda profile: profile.arguments_lossless.value is False,
        title="Texts come back changed through the arguments of calls.",
        change="Look at the tool surface of the profile. Where a delimiter or a special token is lost, the"
        " server's parser or template is to blame: update it, or pass such texts in another way.",
    ),
    Rule(
        topic="tool choice",
        severity="warning",
        holds=_fails_required,
        title="A required call is not guaranteed.",
        change="Check that a call came instead of relying on tool_choice, and always send max_tokens.",
    ),
    Rule(
        topic="streamed calls",
        severity="warning",
        holds=lambda profile: profile.streamed_calls.value is False,
        title="Calls get lost in streams.",
        change="Run agents without stream=True on this endpoint, or update the server.",
    ),
    # prompts
    Rule(
        topic="long prompts",
        severity="error",
        server="ollama",
        holds=lambda profile: profile.long_prompts.value == "cut",
        title="Ollama cuts prompts at {window} tokens without a word: the system prompt goes first.",
        change="Set OLLAMA_CONTEXT_LENGTH where it is started, or make a model with PARAMETER num_ctx; its"
        " OpenAI-compatible API can't be asked for more.",
        source="https://docs.ollama.com/faq, ollama/ollama 5902",
    ),
    Rule(
        topic="long prompts",
        severity="error",
        server="llama.cpp",
        holds=lambda profile: profile.long_prompts.value == "cut",
        title="This llama.cpp cuts prompts at {window} tokens without a word.",
        change="Update it (builds since 2025 refuse such prompts), and start it with a larger -c.",
    ),
    Rule(
        topic="long prompts",
        severity="error",
        holds=lambda profile: profile.long_prompts.value == "cut",
        title="Prompts are cut at {window} tokens without a word.",
        change="Give the model a larger context where the server is started, and keep prompts below it.",
    ),
    Rule(
        topic="window",
        severity="hint",
        server="ollama",
        holds=lambda profile: (
            (profile.window_tokens.value or SMALL_WINDOW_TOKENS) < SMALL_WINDOW_TOKENS
        ),
        title="The window has {window} tokens: tools and their results fill it soon.",
        change="Set OLLAMA_CONTEXT_LENGTH where it is started, or PARAMETER num_ctx in a Modelfile.",
        source="https://docs.ollama.com/faq",
    ),
    Rule(
        topic="window",
        severity="hint",
        server="llama.cpp",
        holds=lambda profile: (
            (profile.window_tokens.value or SMALL_WINDOW_TOKENS) < SMALL_WINDOW_TOKENS
        ),
        title="A request has {window} tokens of context: tools and their results fill it soon.",
        change="Start it with a larger -c; it is shared by the slots (-np) unless they are unified.",
        source="https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md",
    ),
    Rule(
        topic="window",
        severity="hint",
        holds=lambda profile: (
            (profile.window_tokens.value or SMALL_WINDOW_TOKENS) < SMALL_WINDOW_TOKENS
        ),
        title="The window has {window} tokens: tools and their results fill it soon.",
        change="Give the model a larger context where the server is started.",
    ),
    Rule(
        topic="system prompt",
        severity="error",
        holds=lambda profile: profile.system_role.value in {"dropped", "refused"},
        title="The system prompt does not reach the model.",
        change="Use a chat template with a system role, or put the instructions into the first message.",
    ),
    # thoughts
    Rule(
        topic="reasoning",
        severity="warning",
        server="vllm",
        holds=_reasoning("orphan_closer", "tags"),
        title="Thoughts stand in the text: vLLM was started without a reasoning parser.",
        change="Start it with --reasoning-parser and the parser of your model (qwen3, deepseek_r1, ...). rig"
        " takes the thoughts out all the same; other clients show them.",
        source="https://docs.vllm.ai/en/latest/features/reasoning_outputs/",
    ),
    Rule(
        topic="reasoning",
        severity="warning",
        server="sglang",
        holds=_reasoning("orphan_closer", "tags"),
        title="Thoughts stand in the text: SGLang was started without a reasoning parser.",
        change="Start it with --reasoning-parser and the parser of your model (qwen3, deepseek-r1, ...).",
        source="https://docs.sglang.io/advanced_features/separate_reasoning.html",
    ),
    Rule(
        topic="reasoning",
        severity="warning",
        server="llama.cpp",
        holds=_reasoning("orphan_closer"),
        title="The template eats <think>: it writes the tag into the prompt, and only </think> comes back.",
        change="Start it with --jinja --reasoning-format deepseek (or auto), so that thoughts get a field of"
        " their own. rig takes them out all the same; other clients show them.",
        source="ggml-org/llama.cpp 11861",
    ),
    Rule(
        topic="reasoning",
        severity="hint",
        server="llama.cpp",
        holds=_reasoning("tags"),
        title="Thoughts stand in the text, between tags.",
        change="Start it with --jinja --reasoning-format deepseek (or auto).",
        source="https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md",
    ),
    Rule(
        topic="reasoning",
        severity="warning",
        holds=_reasoning("orphan_closer"),
        title="The template eats <think>: it writes the tag into the prompt, and only </think> comes back.",
        change="Switch on the server's separation of reasoning. rig takes the thoughts out all the same;"
        " other clients show them.",
    ),
    Rule(
        topic="thinking switch",
        severity="hint",
        holds=lambda profile: profile.thinking_switch.value == "ignored",
        title="The model thinks even when it is told not to.",
        change="Give replies enough max_tokens for the thoughts, or switch thinking off where the server is"
        " started.",
    ),
    # forms of answers
    Rule(
        topic="schema",
        severity="warning",
        server="llama.cpp",
        holds=lambda profile: (
            profile.spoken != "anthropic" and profile.json_schema.value in {"ignored", "refused"}
        ),
        title="A JSON schema is not enforced.",
        change="Update llama.cpp; until then typed output is checked and asked for again.",
    ),
    Rule(
        topic="schema",
        severity="warning",
        holds=lambda profile: profile.json_schema.value == "ignored",
        title="A JSON schema is taken and not enforced.",
        change="Rely on rig's check of typed output, which asks again; or use a server that enforces it.",
    ),
    Rule(
        topic="grammar",
        severity="hint",
        server="vllm",
        holds=lambda profile: profile.spoken != "vllm" and profile.grammar.value == "ignored",
        title="vLLM ignores the field grammar without a word.",
        change='Make the client with dialect="vllm": it is then sent as structured_outputs.',
        source="https://docs.vllm.ai/en/latest/features/structured_outputs/",
    ),
    Rule(
        topic="grammar",
        severity="warning",
        holds=lambda profile: profile.malformed_grammar.value == "ignored",
        title="A grammar that can't be parsed is ignored: the answer then has no form at all.",
        change="Update the server, and check every answer that should obey a grammar.",
    ),
    # limits
    Rule(
        topic="stop",
        severity="warning",
        holds=lambda profile: profile.stop.value in {"ignored", "refused"},
        title="Stop strings don't stop the reply.",
        change="Don't rely on them: cut the text yourself, and bound it with max_tokens.",
    ),
    Rule(
        topic="max_tokens",
        severity="error",
        holds=lambda profile: profile.max_tokens.value == "ignored",
        title="max_tokens is ignored: a reply may go on for ever.",
        change="Bound runs with Budget(seconds=...), and replies where the server is started.",
    ),
    Rule(
        topic="abort",
        severity="warning",
        holds=lambda profile: profile.abort_on_close.value is False,
        title="The server goes on with a request whose client has left.",
        change="Keep max_tokens low: cancelled requests cost as much as others. Update the server, or look"
        " whether a proxy in front of it keeps the connection.",
    ),
    Rule(
        topic="usage",
        severity="hint",
        holds=lambda profile: profile.stream_usage.value == "never",
        title="Streams do not tell what they cost.",
        change="Token budgets of streamed runs are estimated; run without stream=True to have counts.",
    ),
    Rule(
        topic="unknown",
        severity="warning",
        holds=lambda profile: profile.state.value == "ready" and profile.tools.value is None,
        title="Whether tool calls work is not known: it was not measured.",
        change="See why in the table. Where time ran out, measure longer (--timeout, or budget_s), and see"
        " why a short answer takes so long.",
    ),
    Rule(
        topic="speed",
        severity="warning",
        holds=lambda profile: (profile.tokens_per_s.value or SLOW_TOKENS_PER_S) < SLOW_TOKENS_PER_S,
        title="The model writes {speed} tokens a second.",
        change="Take a smaller model or quantization, or see that it is on the graphics card; on a"
        " processor, that it has as many threads as there are free cores, not more.",
    ),
    Rule(
        topic="first token",
        severity="hint",
        holds=lambda profile: (profile.time_to_first_token_s.value or 0.0) > SLOW_FIRST_TOKEN_S,
        title="The first token of a short prompt takes longer than ten seconds.",
        change="Look whether requests queue, or the model is loaded anew for each (keep-alive).",
    ),
    Rule(
        topic="dialect",
        severity="hint",
        holds=_speaks_another,
        title="The server is {server}, and the client speaks to it as to any.",
        change='Make the client with dialect="{server}": options are then spelled as it reads them.',
    ),
)
"""All rules, by topic, the more special first."""

_ORDER: Final = {"error": 0, "warning": 1, "hint": 2}


def advise(profile: EndpointProfile) -> tuple[Advice, ...]:
    """What to change at an endpoint, the most important first.

    Args:
        profile: what was measured.

    Returns:
        At most one piece of advice for each topic; none at all for an endpoint that does everything.
    """
    chosen: dict[str, Rule] = {}
    for rule in RULES:
        if (
            rule.topic not in chosen
            and rule.server in {"", profile.server.value}
            and rule.holds(profile)
        ):
            chosen[rule.topic] = rule
    ordered = sorted(chosen.values(), key=lambda rule: _ORDER[rule.severity])
    return tuple(_advice(rule, profile) for rule in ordered)


def _advice(rule: Rule, profile: EndpointProfile) -> Advice:
    server = profile.server.value or "generic"
    words = {
        "window": f"{profile.window_tokens.value or 0:,}",
        "server": server if server in DIALECTS else "generic",
        "model": profile.model,
        "speed": f"{profile.tokens_per_s.value or 0.0:g}",
    }
    return Advice(
        severity=rule.severity,
        topic=rule.topic,
        title=rule.title.format_map(words),
        what_to_change=rule.change.format_map(words),
        source=rule.source,
    )
