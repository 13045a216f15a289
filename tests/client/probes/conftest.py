"""A fake of each kind of server, as far as the probes can tell them apart."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from rig import Client
from rig.testing import (
    Answer,
    FakeBackend,
    Hang,
    ReceivedRequest,
    answer,
    call_deltas,
    completion,
    repeat,
    sse,
)

REFUSALS = {
    "parser": '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
    "jinja": "tools param requires --jinja flag",
    "ollama": "registry.ollama.ai/library/x does not support tools",
    "grammar": "Cannot use custom grammar constraints with tools.",
    "parse": "Failed to initialize samplers: failed to parse grammar",
    "long": "request (6145 tokens) exceeds the available context size (4096 tokens), try increasing it",
}


@dataclass
class Kind:
    """What a fake does; every choice but the first is a fault."""

    owner: str = "fake"
    paths: dict[str, Any] = field(default_factory=dict)
    tools: str = "native"  # or dropped, text, auto_refused, or a key of REFUSALS
    required: bool = True
    named: bool = True
    lossy: bool = False
    grammar: str = "enforced"  # or ignored
    grammar_tools: str = "refused"  # or enforced, ignored
    malformed: str = "refused"  # or ignored
    schema: str = "enforced"  # or ignored
    json_object: str = "enforced"
    thinks: str = "none"  # or field, tags, orphan
    switch: bool = True
    system: bool = True
    usage: bool = True
    timings: bool = False
    stream_usage: str = "when_asked"  # or never, always
    stop: bool = True
    limits: tuple[str, ...] = ("max_tokens", "max_completion_tokens")
    long: str = "refused"  # or cut
    window: int = 4096
    stops: bool = True
    grammar_field: str = "grammar"


class Served:
    """One fake server. `asked` holds the bodies of all chat requests, in order."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.asked: list[dict[str, Any]] = []
        self.stories: list[ReceivedRequest] = []
        self.backend = FakeBackend(repeat(self.respond))

    def respond(self, request: ReceivedRequest) -> Answer:
        if request.path.endswith("/chat/completions"):
            self.asked.append(request.json)
            return self.chat(request, request.json)
        if request.path == "/v1/models":
            entry = {"id": "m", "object": "model", "owned_by": self.kind.owner}
            return answer(body={"object": "list", "data": [entry]})
        if request.path == "/slots" and "/slots" in self.kind.paths:
            return answer(body=self.slots())
        told = self.kind.paths.get(request.path)
        if told is None:
            return answer(404, {"detail": "Not Found"})
        return told if isinstance(told, Answer) else answer(body=told)

    def slots(self) -> list[dict[str, Any]]:
        running = [
            story for story in self.stories if not (self.kind.stops and story.disconnected.is_set())
        ]
        return [{"id": n, "id_task": n, "is_processing": True} for n, _ in enumerate(running)]

    def chat(self, request: ReceivedRequest, body: dict[str, Any]) -> Answer:
        kind = self.kind
        tools = [tool["function"]["name"] for tool in body.get("tools", ())]
        refused = self.refusal(body, tools)
        if refused:
            return answer(400, {"error": {"message": refused, "type": "invalid_request_error"}})
        asked = str(body["messages"][-1]["content"])
        if "long story" in asked:
            self.stories.append(request)
            return self.streamed(body, ["once ", "upon ", "a "], "stop", more=[Hang()])
        calls = self.calls(body, tools, asked)
        if calls:
            return self.called(body, calls)
        text = self.text(body, tools, asked)
        finish = "stop"
        for word in (body.get("stop") or ()) if kind.stop else ():
            text = text.split(word)[0]
        limits = [body[name] for name in kind.limits if body.get(name) is not None]
        words = text.split(" ")
        if limits and len(words) > min(limits):
            text, finish = " ".join(words[: min(limits)]), "length"
        return self.said(body, text, finish)

    def refusal(self, body: dict[str, Any], tools: list[str]) -> str:
        kind = self.kind
        if tools and kind.tools in REFUSALS:
            return REFUSALS[kind.tools]
        if tools and kind.tools == "auto_refused" and body.get("tool_choice") is None:
            return REFUSALS["parser"]
        if self.grammar(body) and tools and kind.grammar_tools == "refused":
            return REFUSALS["grammar"]
        if "(" in self.grammar(body) and kind.malformed == "refused":
            return REFUSALS["parse"]
        if self.prompt_tokens(body) > kind.window and kind.long == "refused":
            return REFUSALS["long"]
        return ""

    def grammar(self, body: dict[str, Any]) -> str:
        """The grammar, where this server reads it."""
        value: Any = body
        for name in self.kind.grammar_field.split("."):
            value = (value or {}).get(name)
        return value or ""

    def prompt_tokens(self, body: dict[str, Any]) -> int:
        shown = self.kind.tools != "dropped"
        texts = [
            str(message.get("content"))
            for message in body["messages"]
            if self.kind.system or message["role"] != "system"
        ]
        return sum(len(text.split()) for text in texts) + 30 * len(body.get("tools", ())) * shown

    def calls(self, body: dict[str, Any], tools: list[str], asked: str) -> list[tuple[str, Any]]:
        kind, choice = self.kind, body.get("tool_choice")
        if not tools or kind.tools in {"dropped", "text"}:
            return []
        if isinstance(choice, dict) and kind.named:
            return [(choice["function"]["name"], {"text": "x"})]
        if "JSON string" in asked:
            literal = asked[asked.index('"') :]
            text = literal if kind.lossy else httpx.Response(200, content=literal).json()
            return [("echo", {"text": text})]
        if "Call echo" in asked:
            return [("echo", {"text": "x"})] * asked.count("the text")
        if "Call reverse" in asked:
            return [("reverse", {"text": "x"})]
        return [("echo", {"text": "x"})] if choice == "required" and kind.required else []

    def text(self, body: dict[str, Any], tools: list[str], asked: str) -> str:
        kind = self.kind
        form = (body.get("response_format") or {}).get("type")
        if form == "json_schema" and kind.schema == "enforced":
            return '{"fruit": "kiwi"}'
        if form == "json_object" and kind.json_object == "enforced":
            return '{"answer": "hello"}'
        obeyed = kind.grammar_tools if tools else kind.grammar
        if self.grammar(body) and "(" not in self.grammar(body) and obeyed == "enforced":
            return "yes"
        if body["messages"][0]["role"] == "system" and kind.system:
            return "kiwi"
        if "Count from" in asked:
            return " ".join(map(str, range(1, 31)))
        if tools and kind.tools == "text":
            return '<tool_call>\n{"name": "echo", "arguments": {"text": "x"}}\n</tool_call>'
        return "4" if "2 + 2" in asked else "hello"

    def thinking(self, body: dict[str, Any]) -> bool:
        told = (body.get("chat_template_kwargs") or {}).get("enable_thinking")
        return self.kind.thinks != "none" and (told is not False or not self.kind.switch)

    def said(self, body: dict[str, Any], text: str, finish: str) -> Answer:
        message: dict[str, Any] = {"role": "assistant", "content": text}
        if self.thinking(body):
            opening = {"field": "", "tags": "<think>", "orphan": ""}[self.kind.thinks]
            if self.kind.thinks == "field":
                message["reasoning_content"] = "hm"
            else:
                message["content"] = f"{opening}hm</think>{text}"
        if not body.get("stream"):
            return answer(
                body=self.priced(body, completion(message, finish_reason=finish, usage=None))
            )
        thought = message.get("reasoning_content")
        first: list[Any] = [{"reasoning_content": thought}] if thought else []
        pieces = message["content"].split(" ")
        words = [piece + " " for piece in pieces[:-1]] + pieces[-1:]
        return self.streamed(body, [*first, *words], finish)

    def called(self, body: dict[str, Any], calls: list[tuple[str, Any]]) -> Answer:
        if body.get("stream"):
            return self.streamed(body, call_deltas(*calls), "tool_calls")
        made = call_deltas(*calls, piece_chars=10_000)
        whole: list[dict[str, Any]] = []
        for delta in made:
            (one,) = delta["tool_calls"]
            if "id" in one:
                whole.append({**one, "function": {**one["function"]}})
            else:
                whole[-1]["function"]["arguments"] = one["function"]["arguments"]
        message = {"role": "assistant", "content": None, "tool_calls": whole}
        return answer(
            body=self.priced(body, completion(message, finish_reason="tool_calls", usage=None))
        )

    def streamed(
        self, body: dict[str, Any], deltas: list[Any], finish: str, more: Any = ()
    ) -> Answer:
        def chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
            choice = {"index": 0, "delta": delta, "finish_reason": reason}
            return {"object": "chat.completion.chunk", "choices": [choice]}

        events: list[Any] = [
            chunk({"content": delta} if isinstance(delta, str) else delta) for delta in deltas
        ]
        events += [*more, chunk({}, finish)]
        wanted = body.get("stream_options") is not None and self.kind.stream_usage != "never"
        if wanted or self.kind.stream_usage == "always":
            events.append(self.priced(body, {"choices": []}, len(deltas)))
        return sse(*events)

    def priced(
        self, body: dict[str, Any], payload: dict[str, Any], tokens: int = 5
    ) -> dict[str, Any]:
        if not self.kind.usage:
            return payload
        prompt = self.prompt_tokens(body)
        if self.kind.long == "cut":
            prompt = min(prompt, self.kind.window)
        payload["usage"] = {"prompt_tokens": prompt, "completion_tokens": tokens}
        if self.kind.timings:
            payload["timings"] = {
                "prompt_n": prompt,
                "predicted_n": tokens,
                "predicted_ms": 20 * tokens,
            }
        return payload

    @asynccontextmanager
    async def client(self, **options: Any) -> AsyncGenerator[Client]:
        async with (
            httpx.AsyncClient(transport=self.backend.transport) as door,
            Client(self.backend.url, model="m", http_client=door, **options) as client,
        ):
            yield client


PROPS = {
    "default_generation_settings": {"n_ctx": 4096},
    "build_info": "b1-7e4c0a9",
    "chat_template_caps": {"supports_tools": True, "supports_tool_calls": True},
}
TEMPLATES = {"tokens": [1, 2, 3], "prompt": "<|im_start|>assistant\n"}
LLAMA: dict[str, Any] = {
    "/props": PROPS,
    "/slots": [],
    "/health": {"status": "ok"},
    "/tokenize": TEMPLATES,
    "/apply-template": TEMPLATES,
}
NO_TOOLS = {"supports_tools": False, "supports_tool_calls": False}
THINKS = {**TEMPLATES, "prompt": "<|im_start|>assistant\n<think>\n"}

KINDS: dict[str, Callable[[], Kind]] = {
    "llama.cpp": lambda: Kind(owner="llamacpp", paths=LLAMA, timings=True, stream_usage="always"),
    "llama.cpp with a template without tools": lambda: Kind(
        owner="llamacpp",
        paths={**LLAMA, "/props": {**PROPS, "chat_template_caps": NO_TOOLS}},
        tools="dropped",
        timings=True,
        stream_usage="always",
    ),
    "llama.cpp of 2025": lambda: Kind(
        owner="llamacpp",
        paths={
            **LLAMA,
            "/props": {**PROPS, "build_info": "b4748-c392e5094", "chat_template_caps": {}},
        },
        malformed="ignored",
        limits=("max_tokens",),
        long="cut",
        stops=False,
        timings=True,
    ),
    "llama.cpp without jinja": lambda: Kind(owner="llamacpp", paths=LLAMA, tools="jinja"),
    "llama.cpp that eats the tag": lambda: Kind(
        owner="llamacpp", paths={**LLAMA, "/apply-template": THINKS}, thinks="orphan", switch=False
    ),
    "vLLM": lambda: Kind(
        owner="vllm",
        paths={"/version": {"version": "0.32.0"}},
        grammar_field="structured_outputs.grammar",
        grammar_tools="enforced",
        thinks="field",
    ),
    "vLLM without a parser": lambda: Kind(
        owner="vllm",
        paths={"/version": {"version": "0.32.0"}},
        grammar_field="structured_outputs.grammar",
        grammar_tools="enforced",
        tools="auto_refused",
        thinks="tags",
    ),
    "SGLang without a parser": lambda: Kind(
        owner="sglang",
        paths={"/get_server_info": {"version": "0.5.1", "context_length": 4096}},
        grammar_field="ebnf",
        tools="text",
    ),
    "Ollama": lambda: Kind(
        owner="library",
        paths={
            "/api/version": {"version": "0.12.0"},
            "/api/ps": {"models": [{"name": "m", "model": "m", "context_length": 4096}]},
            "/api/show": {"capabilities": ["completion"]},
        },
        tools="ollama",
        long="cut",
    ),
    "LM Studio": lambda: Kind(
        owner="organization_owner",
        paths={"/api/v0/models": {"data": [{"id": "m", "loaded_context_length": 4096}]}},
        required=False,
        named=False,
    ),
    "hopeless": lambda: Kind(
        owner="me",
        tools="dropped",
        grammar="ignored",
        grammar_tools="ignored",
        malformed="ignored",
        schema="ignored",
        json_object="ignored",
        system=False,
        stream_usage="never",
        stop=False,
        limits=(),
    ),
}

Serve = Callable[[str], Served]


@pytest.fixture
def serve() -> Serve:
    """Makes the fake of a kind, by its name."""
    return lambda name: Served(KINDS[name]())


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """No wait between closing a stream and looking whether the server stopped."""
    monkeypatch.setattr("rig.client.probes.survey.GONE_S", 0.0)
