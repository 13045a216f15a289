"""Every fault by name. No I/O."""

from collections.abc import Callable, Mapping

from rig.late_dataclass import dataclass
from rig.testing.answers import Answer, Repeat, Responder
from rig.testing.faults.bombs import endless_body, endless_head, gzip_bomb, large_reply
from rig.testing.faults.connection import (
    close_before_headers,
    cut_body,
    cut_chunked_body,
    dripping_body,
    hang,
    not_http,
    reset_before_headers,
    stalled_body,
)
from rig.testing.faults.said import (
    corrupt_gzip,
    cut_gzip,
    cut_json,
    echoing_401,
    empty_body,
    error_in_200,
    html_502,
    html_page,
    loading,
    model_not_found,
    no_choices,
    prompt_too_long,
    rate_limited,
    redirect,
    server_error,
    unknown_encoding,
    wrong_content_type,
)
from rig.testing.faults.written import (
    THOUGHT,
    arguments_as_object,
    broken_arguments,
    calls_without_ids,
    cut_arguments,
    cut_arguments_finished,
    cut_stream,
    cut_text,
    empty_reply,
    endless_calls,
    leaked_call,
    leaked_reasoning,
    many_calls,
    reasoning_field,
    unknown_tool,
)


@dataclass(frozen=True, slots=True)
class Fault:
    """One row of `FAULTS`.

    Attributes:
        sentence: what goes wrong.
        make: makes the answer.
    """

    sentence: str
    make: Callable[[], Answer | Responder | Repeat]


FAULTS: Mapping[str, Fault] = {
    "closed-thought": Fault("reasoning between tags in the text", leaked_reasoning),
    "orphan-closer": Fault(
        "reasoning in the text, only its closing tag is left",
        lambda: leaked_reasoning(kind="orphan"),
    ),
    "unclosed-thought": Fault(
        "a thought that never ends and nothing else", lambda: leaked_reasoning(kind="unclosed")
    ),
    "reasoning-content": Fault("reasoning in reasoning_content", reasoning_field),
    "reasoning": Fault("reasoning in reasoning", lambda: reasoning_field(field="reasoning")),
    "hermes-call": Fault("a tool call as text, Hermes markup", leaked_call),
    "qwen-coder-call": Fault(
        "a tool call as text, Qwen-Coder markup", lambda: leaked_call(dialect="qwen_coder")
    ),
    "fenced-call": Fault(
        "a tool call as text, fenced JSON", lambda: leaked_call(dialect="fenced_json")
    ),
    "broken-arguments": Fault("arguments with a trailing comma", broken_arguments),
    "arguments-as-object": Fault("arguments as an object, not as text", arguments_as_object),
    "cut-arguments": Fault("arguments cut at max_tokens", cut_arguments),
    "cut-arguments-finished": Fault(
        "arguments cut, and a finish reason that says they are not", cut_arguments_finished
    ),
    "unknown-tool": Fault("a call of a tool nobody offered", unknown_tool),
    "calls-without-ids": Fault("two calls with the id ''", calls_without_ids),
    "cut-text": Fault("text cut at max_tokens", cut_text),
    "empty-reply": Fault("a reply without text and calls", empty_reply),
    "only-reasoning": Fault(
        "a reply that is only a thought", lambda: empty_reply(reasoning=THOUGHT)
    ),
    "many-calls": Fault("500 calls in one reply", many_calls),
    "endless-calls": Fault("a model that never stops calling", endless_calls),
    "cut-stream": Fault("a stream without an end", cut_stream),
    "loading": Fault("503 while the model loads", loading),
    "rate-limited": Fault("429 with Retry-After: 1", rate_limited),
    "server-error": Fault("500", server_error),
    "prompt-too-long": Fault("400, the prompt does not fit", prompt_too_long),
    "model-not-found": Fault("404, no such model", model_not_found),
    "echoing-401": Fault("401 whose body holds key and URL", echoing_401),
    "html-502": Fault("a proxy's page with 502", html_502),
    "html-200": Fault("a login page with 200", lambda: html_page(200, "Sign in")),
    "redirect": Fault("a redirect to another host", redirect),
    "wrong-content-type": Fault("a completion that claims to be HTML", wrong_content_type),
    "error-in-200": Fault("an error with status 200", error_in_200),
    "no-choices": Fault("a completion without choices", no_choices),
    "cut-json": Fault("half a JSON document", cut_json),
    "empty-body": Fault("200 without a body", empty_body),
    "large-reply": Fault("a reply of 60 MB", large_reply),
    "endless-body": Fault("a body without an end", endless_body),
    "endless-head": Fault("headers without an end", endless_head),
    "gzip-bomb": Fault("200 MiB of zeros in 200 KB of gzip", gzip_bomb),
    "unknown-encoding": Fault("a coding nobody asked for", unknown_encoding),
    "corrupt-gzip": Fault("a body that says gzip and is not", corrupt_gzip),
    "cut-gzip": Fault("a gzip body that stops early", cut_gzip),
    "reset-before-headers": Fault("the connection is reset", reset_before_headers),
    "close-before-headers": Fault("the connection is closed", close_before_headers),
    "cut-body": Fault("the body is shorter than its content-length", cut_body),
    "reset-in-body": Fault("the connection is reset in the body", lambda: cut_body(reset=True)),
    "cut-chunked-body": Fault("a chunked body without its last chunk", cut_chunked_body),
    "hang": Fault("no answer ever", hang),
    "stalled-body": Fault("half a body, then silence", stalled_body),
    "dripping-body": Fault("a byte a second, for ever", dripping_body),
    "not-http": Fault("something that is not HTTP", not_http),
}
"""Every preset by name, with a sentence that says what goes wrong."""
