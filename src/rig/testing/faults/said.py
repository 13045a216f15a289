"""Answers that servers and proxies give instead of a reply. No I/O."""

from collections.abc import Mapping

from rig.testing.answers import Answer, Responder, answer, encode_body, gzipped
from rig.testing.completions import completion
from rig.testing.faults.written import ANSWER
from rig.testing.received import ReceivedRequest

_PAGE = (
    "<html>\r\n<head><title>{0}</title></head>\r\n<body>\r\n"
    "<center><h1>{0}</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
)


def error(
    status: int,
    message: str,
    kind: str = "server_error",
    headers: Mapping[str, str] | None = None,
    **fields: object,
) -> Answer:
    """An error body as llama.cpp's server writes it.

    Args:
        status: HTTP status, also the body's code.
        message: the text.
        kind: the body's type.
        headers: further headers.
        fields: further fields of the error object.
    """
    body = {"error": {"code": status, "message": message, "type": kind, **fields}}
    return answer(status, body, headers or {})


def loading() -> Answer:
    """503 while the model is being loaded."""
    return error(503, "Loading model", "unavailable_error")


def rate_limited(retry_after: str | float | None = 1) -> Answer:
    """429.

    Args:
        retry_after: the Retry-After header, in seconds or any text; None sends none.
    """
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return error(429, "Too many requests", "rate_limit_exceeded", headers)


def server_error(status: int = 500, message: str = "Internal server error") -> Answer:
    """Any 5xx.

    Args:
        status: HTTP status.
        message: the text.
    """
    return error(status, message)


def prompt_too_long(prompt_tokens: int = 9031, context_tokens: int = 2048) -> Answer:
    """400 since the prompt does not fit the context window.

    Args:
        prompt_tokens: what the server counted.
        context_tokens: the size of its window.
    """
    return error(
        400,
        f"request ({prompt_tokens} tokens) exceeds the available context size "
        f"({context_tokens} tokens), try increasing it",
        "exceed_context_size_error",
        n_prompt_tokens=prompt_tokens,
        n_ctx=context_tokens,
    )


def model_not_found(model: str = "no-such-model") -> Answer:
    """404 for a model nobody serves.

    Args:
        model: the name.
    """
    return error(404, f"The model `{model}` does not exist.", "NotFoundError", param="model")


def echoing_401() -> Responder:
    """401 whose body repeats the caller's key and the whole request line."""

    def respond(request: ReceivedRequest) -> Answer:
        key = request.header("authorization")
        address = f"{request.header('host')}{request.target}"
        return error(401, f"Bad credentials {key} for {address}", "authentication_error")

    return respond


def html_page(status: int = 502, title: str = "Bad Gateway") -> Answer:
    """A proxy's page instead of the endpoint's answer.

    Args:
        status: HTTP status; 200 is a login page.
        title: its title.
    """
    return answer(status, _PAGE.format(f"{status} {title}"), content_type="text/html")


def html_502() -> Answer:
    """Nginx's page for an upstream that is down."""
    return html_page(502, "Bad Gateway")


def redirect(location: str = "http://127.0.0.1:9/v1/elsewhere", status: int = 307) -> Answer:
    """A redirect, which would carry prompt and key to another host.

    Args:
        location: where to.
        status: HTTP status.
    """
    return answer(status, b"", {"Location": location})


def wrong_content_type(content_type: str = "text/html") -> Answer:
    """A proper chat completion under a wrong name.

    Args:
        content_type: what it claims to be.
    """
    body = completion({"role": "assistant", "content": ANSWER})
    return answer(body=body, content_type=content_type)


def error_in_200(message: str = "model runner has unexpectedly stopped") -> Answer:
    """An error with a status that says success.

    Args:
        message: its text.
    """
    return answer(200, {"error": {"message": message, "type": "api_error", "code": 500}})


def no_choices() -> Answer:
    """A chat completion without any choice."""
    return answer(body={**completion({}), "choices": []})


def cut_json() -> Answer:
    """Half of a chat completion, as if it were all: its content-length is true."""
    body = encode_body(completion({"role": "assistant", "content": ANSWER}))
    return answer(body=body[: len(body) // 2])


def empty_body(status: int = 200) -> Answer:
    """No body at all.

    Args:
        status: HTTP status.
    """
    return answer(status)


def unknown_encoding(encoding: str = "br") -> Answer:
    """A body in a coding nobody asked for.

    Args:
        encoding: its name.
    """
    return answer(200, b"\x0b\x02\x80{}\x03", {"Content-Encoding": encoding})


def corrupt_gzip() -> Answer:
    """A body that says gzip and is not."""
    return answer(200, b'{"choices": []}', {"Content-Encoding": "gzip"})


def cut_gzip() -> Answer:
    """A gzip body that stops before its end, with a true content-length."""
    body = gzipped(encode_body(completion({"role": "assistant", "content": ANSWER})))
    return answer(200, body[:-12], {"Content-Encoding": "gzip"})
