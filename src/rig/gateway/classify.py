"""Asking a small model for a category, and reading what it says. No I/O.

Small models do not do as they are told: they think aloud, wrap the answer in a fence, explain it, echo the
schema. Whatever names exactly one category is its answer; anything else is none.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from rig.errors import InvalidRequestError
from rig.gateway.delimited import defused, excerpt
from rig.late_dataclass import dataclass
from rig.messages import Message, as_object
from rig.model import ChatOptions, ChatRequest, Reply
from rig.text.json_object import find_json_objects
from rig.text.json_repair import repair_objects
from rig.text.reasoning import separate_reasoning

FIELD: Final = "category"
"""The field a category is asked for in."""

MAX_OBJECTS: Final = 8
"""Objects of an answer that are looked at, the longest first. One is asked for, beside it may stand an
echo of the schema and of an example."""

MAX_ANSWER_CHARS: Final = 4096
"""Characters of an answer that are read for a bare word. A category is a word; whatever comes after so
much text is no answer to the question."""

MAX_REPLY_CHARS: Final = 65_536
"""Characters of an answer that are looked at for it behind a thought: as many as a server writes that ignores
the limit of tokens for a minute."""

_TAG: Final = "request"
_SYSTEM: Final = (
    "Sort the user's request into one category. Do not answer the request. "
    'Reply with JSON and nothing else: {{"{field}": "<name>"}}\n\nThe categories:\n{categories}'
)
_USER: Final = "<{tag}>\n{text}\n</{tag}>\n\nWhich category is this request? One of: {names}."


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassifierPolicy:
    """How a router asks its small model.

    Attributes:
        timeout_s: seconds until the router goes on without it.
        max_tokens: limit of its answer, in tokens. One of a model that thinks first is never complete;
            switch thinking off in `options`.
        max_chars: characters of the request it is shown, from its beginning and end.
        cache_size: answers that are remembered, the last ones used; 0 for none.
        pause_after: failures in a row after which it is left alone for `pause_s`.
        pause_s: seconds until it is asked again then.
        options: sampling and everything else of the question; tenant, priority and trace id come from the
            request that is sorted.

    Raises:
        InvalidRequestError: a field is out of its range.
    """

    timeout_s: float = 10.0
    max_tokens: int = 64
    max_chars: int = 2000
    cache_size: int = 1024
    pause_after: int = 3
    pause_s: float = 30.0
    options: ChatOptions = ChatOptions(temperature=0)

    def __post_init__(self) -> None:
        for name in ("timeout_s", "pause_s"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                raise InvalidRequestError(f"ClassifierPolicy({name}=...) must be seconds above 0")
        for name, least in (
            ("max_tokens", 1), ("max_chars", 1), ("cache_size", 0), ("pause_after", 1),
        ):  # fmt: skip
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise InvalidRequestError(
                    f"ClassifierPolicy({name}=...) must be a whole number, at least {least}"
                )
        if not isinstance(self.options, ChatOptions):  # pyright: ignore[reportUnnecessaryIsInstance] callers without a type checker
            raise InvalidRequestError("options must be a ChatOptions(...) value")


def classify_request(
    text: str,
    *,
    model: str,
    descriptions: Mapping[str, str],
    policy: ClassifierPolicy,
    asked_with: ChatOptions = ChatOptions(),
    in_words: bool = False,
) -> ChatRequest:
    """The question which category a text is of.

    Args:
        text: what the user says.
        model: the small model.
        descriptions: what each category is, "" where its name says it.
        policy: how to ask.
        asked_with: the options of the request that is sorted.
        in_words: leave the schema out, for servers that refuse it.
    """
    lines = (f"- {name}: {what}" if what else f"- {name}" for name, what in descriptions.items())
    shown = defused(excerpt(text, policy.max_chars), _TAG)
    options = replace(
        policy.options,
        tenant=asked_with.tenant,
        priority=asked_with.priority,
        trace_id=asked_with.trace_id,
    )
    if not in_words and options.response_format is None and options.grammar is None:
        options = replace(options, response_format=_format(descriptions))
    system = _SYSTEM.format(field=FIELD, categories="\n".join(lines))
    user = _USER.format(tag=_TAG, text=shown, names=", ".join(descriptions))
    return ChatRequest(
        model=model,
        messages=(Message(role="system", content=system), Message(role="user", content=user)),
        max_tokens=policy.max_tokens,
        options=options,
    )


def _format(names: Iterable[str]) -> dict[str, Any]:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {FIELD: {"type": "string", "enum": [*names]}},
        "required": [FIELD],
        "additionalProperties": False,
    }
    wanted = {"name": FIELD, "strict": True, "schema": schema}
    return {"type": "json_schema", "json_schema": wanted}


def read_category(reply: Reply, names: Iterable[str]) -> str:
    """The category an answer names.

    Args:
        reply: what the small model answered.
        names: the categories there are.

    Returns:
        One of the names; "" where the answer names none, or several.
    """
    known = {name.casefold(): name for name in names}
    text = separate_reasoning(reply.text[:MAX_REPLY_CHARS]).text[:MAX_ANSWER_CHARS]
    answers = [answer for answer in map(_answer, _objects(text)) if answer is not None]
    if answers:
        named = {known.get(_word(answer)) or _only_named(answer, known) for answer in answers}
        named.discard("")
        return named.pop() if len(named) == 1 else ""
    is_cut = reply.finish_reason == "length"
    alone = "" if is_cut else known.get(_word(text), "")
    return alone or _only_named(text, known, is_cut=is_cut)


def _objects(text: str) -> Iterator[Mapping[str, object]]:
    """The objects of an answer: strict ones, then what is nearly JSON."""
    if "{" not in text:
        return
    yield from islice(find_json_objects(text), MAX_OBJECTS)
    for repair in repair_objects(text).found[:MAX_OBJECTS]:
        if repair.repairs:
            yield from islice(find_json_objects(repair.text), 1)


def _answer(found: Mapping[str, object]) -> str | None:
    """The text that was asked for; of an object with one text alone that text, whatever it is called."""
    fields = {name.strip().casefold(): value for name, value in found.items()}
    value = fields.get(FIELD)
    if FIELD not in fields and len(fields) == 1:
        value = next(iter(fields.values()))
    inner = as_object(value)
    if inner is not None:
        value = inner.get("name", inner.get("value"))
    return value if isinstance(value, str) else None


def _word(value: str) -> str:
    return value.strip(" \t\r\n\"'`*_.,:;!()[]<>").casefold()


def _only_named(text: str, known: Mapping[str, str], *, is_cut: bool = False) -> str:
    """The one name that stands in the text, as a whole word; of a longer name no part counts."""
    body = re.sub(r"[\w-]{1,64}\Z", "", text) if is_cut else text
    longest_first = sorted(known, key=len, reverse=True)
    sign = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, longest_first))})(?![\w-])")
    found = {known[match] for match in sign.findall(body.casefold())}
    return found.pop() if len(found) == 1 else ""
