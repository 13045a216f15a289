"""Where servers count tokens, as a table. No I/O.

Adding a server is adding a row. The order is the order in which they are tried: llama.cpp and what
stands before it first, since their answers are the cheapest; Anthropic's last, since vLLM, SGLang and
llama.cpp have it too, and a tokenizer for plain text is worth more.
"""

from collections.abc import Callable, Sequence
from typing import Final

from rig.late_dataclass import dataclass
from rig.messages import Message
from rig.model import ToolSpec
from rig.wire.anthropic.encode import encode_count_tokens
from rig.wire.encode import encode_message, encode_tool, to_body

TextBody = Callable[[str, str], bytes]
"""The request that counts a text: (model, text) to its body."""
PromptBody = Callable[[str, Sequence[Message], Sequence[ToolSpec]], bytes]
"""The request that counts a prompt: (model, messages, tools) to its body."""

PROBE_TEXT: Final = "probe"
"""What a path is asked to count to find out whether it counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptRoute:
    """One way in which a server says how long a prompt is, its chat template included.

    Attributes:
        path: below the server's root.
        body: the request.
        renders: whether the answer is the prompt's text, which is then counted itself.
    """

    path: str
    body: PromptBody
    renders: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRoute:
    """One place where a server counts tokens.

    Attributes:
        name: whose it is.
        path: below the server's root; `{model}` stands for the model's name.
        text: the request that counts a text; None where only whole prompts are counted.
        rendered: the same for a text that is a whole prompt already, with the tokens a prompt begins
            with.
        prompts: exact ways to count a prompt, the best first.
        needs_model: whether it can't be asked without a model's name.
    """

    name: str
    path: str
    text: TextBody | None
    rendered: TextBody | None = None
    prompts: tuple[PromptRoute, ...] = ()
    needs_model: bool = False


def _llama_text(_model: str, text: str) -> bytes:
    return to_body({"content": text, "add_special": False})


def _llama_rendered(_model: str, text: str) -> bytes:
    return to_body({"content": text, "add_special": True})


def _router_text(model: str, text: str) -> bytes:
    return to_body({"model": model, "content": text, "add_special": False})


def _router_rendered(model: str, text: str) -> bytes:
    return to_body({"model": model, "content": text, "add_special": True})


def _vllm_text(model: str, text: str) -> bytes:
    return to_body(_named(model) | {"prompt": text})


def _chat(model: str, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> bytes:
    fields = _named(model) | {"messages": [encode_message(message) for message in messages]}
    return to_body(fields | {"tools": [encode_tool(tool) for tool in tools]} if tools else fields)


def _named(model: str) -> dict[str, object]:
    return {"model": model} if model else {}


def _llama_prompts(prefix: str = "") -> tuple[PromptRoute, ...]:
    """llama.cpp's own count (from 2026), else its template and its tokenizer (from 2025)."""
    return (
        PromptRoute(path=prefix + "v1/chat/completions/input_tokens", body=_chat),
        PromptRoute(path=prefix + "apply-template", body=_chat, renders=True),
    )


def _vllm(name: str, path: str) -> TokenRoute:
    return TokenRoute(
        name=name, path=path, text=_vllm_text, prompts=(PromptRoute(path=path, body=_chat),)
    )


TOKEN_ROUTES: Final[tuple[TokenRoute, ...]] = (
    TokenRoute(
        name="llama.cpp",
        path="tokenize",
        text=_llama_text,
        rendered=_llama_rendered,
        prompts=_llama_prompts(),
    ),
    TokenRoute(
        name="llama-swap",  # passes everything below /upstream/MODEL on to that model's server
        path="upstream/{model}/tokenize",
        text=_llama_text,
        rendered=_llama_rendered,
        prompts=_llama_prompts("upstream/{model}/"),
        needs_model=True,
    ),
    _vllm("vLLM below /v1", "v1/tokenize"),
    TokenRoute(
        name="llama.cpp's router",  # serves several models, and wants to be told which
        path="tokenize",
        text=_router_text,
        rendered=_router_rendered,
        prompts=_llama_prompts(),
        needs_model=True,
    ),
    _vllm("vLLM, SGLang", "tokenize"),
    TokenRoute(
        name="Anthropic",
        path="v1/messages/count_tokens",
        text=None,
        prompts=(PromptRoute(path="v1/messages/count_tokens", body=encode_count_tokens),),
        needs_model=True,
    ),
)
"""First that answers with a count wins."""
