"""How endpoints word the faults that have many wordings: too long, declined, no such model. No I/O.

Rules for whoever edits this file: a fault that is taken for another is worse than one that is taken for
nothing, so a wording is as long as it takes to be unlike any other fault, and what a wording must not
match stands in the tests. All is lower-case. Patterns look at the searched text, which is short, and repeat
nothing without a bound.
"""

import re
from typing import Final

# --- Too many tokens ---

TOO_LARGE_CODES: Final = frozenset(
    {
        "exceed_context_size_error",
        "context_length_exceeded",
        "context_window_exceeded",
        "contextwindowexceedederror",
        "model_max_prompt_tokens_exceeded",  # GitHub Copilot
        "prompt_too_long",
        "input_too_long",
        "1261",  # GLM
    }
)

TOO_LARGE_PHRASES: Final = (
    ("too large to process",),  # llama.cpp, physical batch
    ("physical batch size",),
    ("exceeds the available context",),  # llama.cpp
    ("exceed_context_size",),
    ("maximum context length",),  # OpenAI, vLLM, llama-cpp-python
    ("context_length_exceeded",),
    ("context length exceeded",),
    ("exceeds the context",),  # Ollama
    ("exceeds context",),
    ("exceed context limit",),  # Anthropic
    ("exceeds the model's", "context"),
    ("does not fit in context",),
    ("context shift is disabled",),
    ("context the overflows",),  # LM Studio's own words
    ("context overflows",),
    ("context size has been exceeded",),
    ("reached context length",),
    ("tokens to keep from the initial prompt", "greater than the context length"),  # LM Studio
    ("contextwindowexceeded",),  # litellm
    ("prompt is too long",),
    ("prompt too long",),
    ("prompt is too large",),
    ("conversation is too long",),
    ("messages are too long",),
    ("input is too long",),
    ("input too long",),
    ("too long to fit into the model",),  # vLLM
    ("longer than the maximum model length",),  # vLLM
    ("model's context length", "longer than"),  # SGLang
    ("model's context length", "reduce the length"),  # vLLM
    ("maximum prompt length",),  # xAI
    ("reduce the length of the messages",),
    ("reduce the length of the prompt",),
    ("reduce the length of the input",),
    ("reduce the length of either",),  # OpenRouter
    ("too many input tokens",),  # Bedrock
    ("number of tokens in the prompt cannot exceed",),  # Cohere
    ("exceeded model token limit",),  # Kimi
    ("range of input length should be",),  # DashScope
    ("prompt exceeds max length",),  # GLM
    ("greater than max_seq_len",),  # TabbyAPI
    ("prompt length", "exceed max_num_tokens"),  # TensorRT-LLM
    ("prompt tokens", "exceed the maximum sequence length"),  # SambaNova
    ("input token count", "exceeds the maximum number of tokens"),  # Gemini
    ("inputs", "max_new_tokens", "must be <="),  # TGI
    ("inputs", "must have less than", "tokens"),
    *(
        ("context window", sign)
        for sign in ("exceed", "too long", "too large", "larger than", "longer than", "greater than",
                     "does not fit", "doesn't fit")
    ),
)  # fmt: skip
"""How servers say that the prompt is too long (earendil-works/pi 5930 and the servers themselves)."""

_AMOUNT: Final = (
    r"(?:prompts?|inputs?|contexts?|input (?:prompt|text|sequence))[ _(]{1,2}(?:total )?"
    r"(?:tokens?|length|size)\b"
    r"|tokens? (?:in|of|from|for) (?:the |your |this )?(?:\w{1,16} )?"
    r"(?:prompt|inputs?|messages?|context|conversation)\b"
)
_TOO_MUCH: Final = (
    r"\bexceed(?:s|ed|ing)?\b|\btoo (?:long|large|many|big)\b|\bcannot exceed\b"
    r"|(?<!must be )(?<!should be )\b(?:longer|larger|greater) than (?!0\b|1\b|zero\b|or equal)"
)
TOO_LARGE_PATTERNS: Final = (
    re.compile(rf"(?:{_AMOUNT})[^\n]{{0,160}}?(?:{_TOO_MUCH})"),
    # A text of a message that is too long, not that of a name or description.
    re.compile(r"'(?:messages|input|prompt)[^'\n]{0,40}'[^\n]{0,24}string too long"),
)
"""The same in words nobody listed: an amount of tokens of the prompt, then that it is too much. For
statuses that say the request was wrong."""

PAYLOAD_PHRASES: Final = (
    ("request payload size exceeds",),  # Google
    ("payload too large",),
    ("request entity too large",),
)

RATE_TOO_LARGE_PHRASES: Final = (
    ("request too large for", "token"),  # OpenAI, Groq: more than a minute's tokens in one request
    ("tokens must be reduced in order to run",),
)

OVERFLOW_HINTS: Final = (
    "context length", "context window", "maximum context", "context_length_exceeded", "n_ctx",
    "too long", "exceeds", "longer than", "reduce the length", "maximum number of tokens",
    "maximum prompt", "too large to process", "physical batch size",
)  # fmt: skip
"""Loose signs of the same, for a probe that grows a prompt on purpose until it is refused."""

# --- Declined ---

REFUSAL_CODES: Final = frozenset(
    {
        "content_filter",
        "content_policy_violation",
        "content_policy_error",
        "responsibleaipolicyviolation",
        "responsible_ai_policy_violation",
        "contentpolicyviolationerror",
        "content_blocked",
        "moderation_blocked",
        "prompt_blocked",
        "safety_violation",
        "guardrail_violation",
        "guardrail_intervened",
        "sensitive_words_detected",
        "data_inspection_failed",
        "invalid_prompt",  # OpenAI: the prompt breaks its usage policy
        "cyber_policy",
        "1301",  # GLM
        "status_code:1026",  # MiniMax, the input
        "status_code:1027",  # and the output
        "error_code:336104",  # Baidu
    }
)
"""What content filters call themselves; one of them becomes `RefusedError.category`."""

REFUSAL_PHRASES: Final = (
    ("content_policy_violation",),
    ("responsibleaipolicyviolation",),
    ("content management policy",),
    ("content policy violation",),
    ("violates our content policy",),
    ("violates the content policy",),
    ("rejected", "safety system"),  # OpenAI
    ("prompt", "blocked due to"),  # Gemini
    ("response", "blocked due to"),
    ("content contains sensitive",),
    ("contentpolicyviolationerror",),
    ("content exists risk",),  # DeepSeek
    ("content filtering policy",),  # Anthropic
    ("blocked by content filter",),
    ("blocked by the content filter",),
    ("violating our usage policy",),  # OpenAI
    ("violates our usage polic",),
    ("violates usage guidelines",),  # xAI
    ("violates our usage guidelines",),
    ("violates usage polic",),
    ("violated guardrail policy",),  # litellm
    ("blocked by guardrail",),
    ("requires moderation", "flagged"),  # OpenRouter
    ("input was flagged",),
    ("prompt was flagged",),
    ("content was flagged",),
    ("may contain inappropriate content",),  # DashScope
    ("considered high risk",),  # Kimi
)

# --- No such model ---

MODEL_CODES: Final = frozenset(
    {
        "model_not_found",
        "model_not_found_error",
        "model_not_exist",
        "model_not_available",  # Together
        "model_not_supported",  # Hugging Face's router
        "model_decommissioned",  # Groq
        "model_deprecated",
        "invalid_model",
        "unknown_model",
        "unsupported_model",
        "deployment_not_found",  # Azure
        "deploymentnotfound",
        "1211",  # GLM
    }
)

MODEL_PHRASES: Final = (
    ("invalid model name",),
    ("not a valid model",),
    ("unknown model",),
    ("unsupported model",),  # Bedrock's gateway
    ("no such model",),
    ("model not exist",),  # DeepSeek
    ("model not found in",),  # Xinference
    ("no models loaded",),
    ("could not find real modelid",),  # llama-swap
    ("no router for requested model",),
    ("no endpoints found for",),  # OpenRouter
    ("no healthy deployments for this model",),  # litellm
    ("model identifier is invalid",),  # Bedrock
    ("invalid model identifier",),  # LM Studio
    ("not supported by provider",),  # Hugging Face's router
    ("has been decommissioned",),
    ("try pulling it first",),
)

MODEL_PATTERNS: Final = (
    # Nothing but the name between the word and the verdict.
    re.compile(
        r"(?<![/\w.-])model[ :]{1,2}[`'\"]?[\w./:@-]{0,80}[`'\"]?,? ?"
        r"(?:is |was |does |could )?(?:not found|not exist)\b"
    ),
    re.compile(r"\binvalid model[ :]{1,2}[`'\"]"),
    re.compile(
        r"\b(?:no|could not find|cannot find|can't find) model (?:named|called|with name)\b"
    ),
)

MODEL_404_PATTERNS: Final = (
    # The word is its own, or leads Google's models/NAME, and the verdict is in the same sentence.
    re.compile(
        r"(?<![/\w.-])models?(?![\w-])(?:(?!\. )[^\n]){0,160}?"
        r"\b(?:not found|not exist|unknown|not available|not loaded|not supported|is not served)\b"
    ),
    re.compile(
        r"\b(?:not found|not find|no such|unable to access|cannot find|can't find)"
        r" (?:the |this |a |any )?(?:requested )?model(?![\w/-])"
    ),
    re.compile(r"^(?:\w{1,24}: )?model: \S"),  # Anthropic names the model and nothing else
)
PATH_WORDS: Final = (
    "chat/completions", "invalid url", "cannot post", "unexpected endpoint", "no route ", "path not found",
)  # fmt: skip
"""Words that say of a 404 that the path was wrong, whatever else is in it."""

# --- No tools ---

_TOOLS: Final = (
    r"(?:tools?(?![_\w-]| choice)(?: (?:calls?|calling|use|usage))?|tool[_-](?:calls?|calling|use)"
    r"|function[ _-]call(?:s|ing)?)"
)
_NEGATED: Final = r"(?:does not|doesn't|do not|don't|doesnt|did not|cannot|can't|can not)"
TOOLS_OFF_PATTERNS: Final = (
    re.compile(rf"\b{_NEGATED} (?:currently |yet )?support (?:the use of |native )?{_TOOLS}"),
    re.compile(rf"(?<!with )(?<!and )(?<!or ){_TOOLS}[`'\"]{{0,2}} (?:(?:is|are) )?(?:currently )?"
               r"(?:not (?:yet )?(?:supported|enabled|available)|unsupported|disabled)"),
    re.compile(r"does not support parameters: \[[^\]\n]{0,80}'tools'"),  # litellm
    re.compile(rf"no endpoints found that support {_TOOLS}"),  # OpenRouter
)  # fmt: skip
"""How servers and models say that they know no tools; of one option of them, such as tool_choice, and of
what can't be sent together with tools they are silent."""
