"""Why nothing could be measured, in sentences that say what to do. Pure."""

from types import MappingProxyType
from typing import Final

from rig.errors import RigError
from rig.extras.cli.clean import hidden, shown
from rig.late_dataclass import dataclass

NOT_AN_ENDPOINT: Final = frozenset({"not_configured", "protocol_error"})
"""Codes of answers that no OpenAI-compatible server gives at the paths asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why nothing could be measured.

    Attributes:
        code: the code of rig's error, or timeout, usage or no_models.
        sentence: what is wrong and what to do.
        reason: a word that tells cases of one code apart, "" for none.
        status: the HTTP status of the answer, None where there was none.
        detail: what the endpoint said; shown only to who asks for it.
    """

    code: str
    sentence: str
    reason: str = ""
    status: int | None = None
    detail: str = ""


_BROKEN_OFF: Final = (
    "The server broke the connection off. Check the port, and whether it wants https instead of http,"
    " or the other way round."
)
_SENTENCES: Final = MappingProxyType(
    {
        ("upstream", "connect_refused"): "Nothing accepts connections there."
        " Start the server, or check host and port.",
        ("upstream", "dns"): "The host's name can't be resolved."
        " Check how it is written, and the network.",
        ("upstream", "connect_failed"): "The host can't be reached."
        " Check host and port, a firewall, or the published ports of a container.",
        ("upstream", "tls"): "The TLS handshake failed."
        " Check the certificate, and whether the server speaks https at all.",
        ("upstream", "reset"): _BROKEN_OFF,
        ("upstream", "eof"): _BROKEN_OFF,
        ("upstream", "write_failed"): _BROKEN_OFF,
        ("upstream", "too_many_files"): "This process has as many files open as it may."
        " Raise the limit with ulimit -n.",
        ("timeout", "too_many_files"): "This process has as many files open as it may."
        " Raise the limit with ulimit -n.",
        ("stream_cut", ""): _BROKEN_OFF,
        ("timeout", "connect"): "No connection came about in time."
        " Check host and port, a firewall, or the network.",
        ("timeout", ""): "The server was reached and did not answer in time."
        " It may be busy or still starting: try again, or give it longer with --timeout.",
        ("not_configured", ""): "It answers, but not as an OpenAI-compatible server does."
        " Check the URL: it leads to the server, most often with /v1 at its end.",
        ("protocol_error", ""): "It answers, but not as an OpenAI-compatible server does."
        " Check the URL: it leads to the server, most often with /v1 at its end.",
        ("server_error", "loading"): "The server is loading its model. Wait, and try again.",
        ("server_error", ""): "The server fails. Look at its log.",
        ("rate_limited", ""): "The server is busy and turns requests away. Try again later.",
        ("response_too_large", ""): "The answer is larger than any list of models."
        " Check that the URL leads to an OpenAI-compatible server.",
    }
)
"""By code and reason of the error; the reason "" stands for all others of its code."""

_WANTS_KEY: Final = "The endpoint wants a key. Put it into an environment variable, and name that with --api-key-env."
_REFUSES_KEY: Final = (
    "The endpoint refuses the key. Check what the variable named with --api-key-env holds."
)
NO_LIST: Final = " Where it is right, the server has no list of models: name one with --model."
"""What is added where only the list of models was asked for."""


def explain(error: RigError, *, secret: str = "", listing: bool = False) -> Failure:
    """What an error means to the person who gave the URL.

    Args:
        error: what came instead of an answer.
        secret: the key that was sent, "" for none; it is taken out of what the endpoint said.
        listing: whether the list of models was asked for, because none was named.
    """
    if error.code == "unauthorized":
        sentence = _REFUSES_KEY if secret else _WANTS_KEY
    else:
        known = _SENTENCES.get((error.code, error.reason)) or _SENTENCES.get((error.code, ""))
        sentence = known or in_options(error.message)
    if listing and error.code in NOT_AN_ENDPOINT:
        sentence += NO_LIST
    return Failure(
        code=error.code,
        sentence=sentence,
        reason=error.reason,
        status=error.status,
        detail=shown(hidden(error.detail, secret)),
    )


def in_options(message: str) -> str:
    """A sentence of the library in the words of the command line.

    Args:
        message: it names parameters of `Client`.
    """
    for parameter, option in (
        ("base_url holds credentials; pass the key as api_key instead",
         "the URL holds credentials; put the key into a variable, named with --api-key-env"),
        ("base_url", "the URL"),
        ("api_key", "the key of --api-key-env"),
        ("dialect must", "--dialect must"),
        ("; or None, to tell", "; leave it out to tell"),
    ):  # fmt: skip
        message = message.replace(parameter, option)
    message = message[:1].upper() + message[1:]
    return message if message.endswith(".") else message + "."


def usage(sentence: str) -> Failure:
    """Wrong use of the command.

    Args:
        sentence: what is wrong and what to give.
    """
    return Failure(code="usage", sentence=sentence)


NO_MODELS: Final = Failure(
    code="no_models",
    sentence="The server lists no model. Load one, or name one with --model.",
)
"""An empty list, and no model named."""


def out_of_time(timeout_s: float) -> Failure:
    """The bound of the whole ended the wait.

    Args:
        timeout_s: that bound, in seconds.
    """
    return Failure(
        code="timeout",
        reason="total",
        sentence=f"It took longer than {timeout_s:g} s to ask what the server is."
        " Try again when it is less busy, or give it longer with --timeout.",
    )
