"""Messages, tool calls and usage: what a conversation is made of. No I/O.

The models accept what servers and other clients really write (null content, typed parts,
`arguments` as an object, counters that are not numbers) and hold one normal form.
"""

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, NoReturn, Self, cast

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError, from_json, to_json

from rig.errors import InvalidJSONError, InvalidRequestError
from rig.kept import KEPT

Role = Literal["system", "user", "assistant", "tool"]
"""Who speaks. `developer` is read as system, `function` as tool."""

ReasoningField = Literal["reasoning_content", "reasoning"]
"""The two names servers use (llama.cpp, SGLang, DeepSeek; vLLM, Ollama)."""

_ROLE_ALIASES = {"developer": "system", "function": "tool", "model": "assistant", "ai": "assistant"}

# Symfony AI 2220 and vercel/ai 19091: servers send these where they mean "no id" and "no name".
NOT_A_NAME = frozenset({"", "null", "None"})
"""What is no id and no name, whatever the field that holds it."""

_QUOTED_NOTHING = frozenset({'""', '"null"', '"None"'})

UNSENDABLE = "unsendable"
"""The type of a ValidationError's entry whose sentence is complete: it names the part itself."""

# The Responses API says input_text and output_text.
_TEXT_TYPES = frozenset({"text", "input_text", "output_text"})
_MEDIA_TYPES = frozenset({"image_url", "input_audio"})
_SENDABLE = "text, image_url, input_audio"
_KIND = re.compile(r"[\w./-]{1,40}")

_THOUGHT_WORDS = ("think", "thought", "reason")


def is_thought_type(kind: object) -> bool:
    """Whether a part's type says that it is a thought: thinking, reasoning_text, reasoning.summary, ..."""
    return isinstance(kind, str) and any(word in kind.lower() for word in _THOUGHT_WORDS)


_ASKED_FOR = frozenset({"native", "heredoc", "json"})

CallFlaw = Literal["", "place", "form", "keys", "surplus"]
"""What speaks against running a call as text that the model was told to write: nothing; it does not stand
alone; it had to be mended; it names a key twice with different values; it is one too many."""


_NO_OBJECTS = frozenset({type(None), str, int, float, bool, list})


def as_object(value: object) -> Mapping[str, object] | None:
    """The value as a JSON object, None when it is something else."""
    kind = type(value)
    if kind is dict:  # what parsers give; the abstract check costs 0.3 us, measured
        return cast("Mapping[str, object]", value)
    if kind in _NO_OBJECTS:
        return None
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else None


def as_array(value: object) -> Sequence[object] | None:
    """The value as a JSON array, None when it is something else."""
    return cast("Sequence[object]", value) if isinstance(value, list | tuple) else None


def cleaned_name(value: object) -> str:
    """The text of an id or a name; "" for what is not one."""
    text = value.strip() if isinstance(value, str) else ""
    return "" if text in NOT_A_NAME else text


def arguments_text(value: object) -> str:
    """Tool-call arguments as the text of one JSON object, where they are one; else the text as it came.

    Objects are written out, nothing becomes `{}`, and a JSON string that holds the text of an
    object is unwrapped once (vllm-project/vllm 25729, sigoden/aichat 1217).
    """
    if value is None:
        return "{}"
    if not isinstance(value, str):
        try:
            return to_json(value, inf_nan_mode="constants").decode()
        except ValueError:
            return "{"  # a value that can't be written as JSON is cut, never a call
    text = value.strip()
    if text in NOT_A_NAME or text in _QUOTED_NOTHING:
        return "{}"
    if text.startswith('"'):
        try:
            inner = from_json(text, allow_inf_nan=False)
            if (
                isinstance(inner, str)
                and as_object(from_json(inner, allow_inf_nan=False)) is not None
            ):
                return inner.strip()
        except (ValueError, TypeError):  # TypeError: lone surrogates in the text
            return text
    return text


@cache
def _named(fields: tuple[str, ...]) -> set[str]:
    """The set of some names, one for all values made of them: frozen ones never change theirs."""
    return set(fields)


# The slots of a model, each written by its own descriptor: `object.__setattr__` looks for it first, 0.3 us for four.
_set_dict, _set_names, _set_extra, _set_private = (
    BaseModel.__dict__[name].__set__
    for name in (
        "__dict__",
        "__pydantic_fields_set__",
        "__pydantic_extra__",
        "__pydantic_private__",
    )
)


class _Value(BaseModel):
    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        hide_input_in_errors=True,
        defer_build=True,  # with the first one that is validated: 9 ms, measured
    )

    _defaults: ClassVar[dict[str, object]] = {}

    @classmethod
    def __pydantic_init_subclass__(cls, **_: object) -> None:
        # Required ones hold their place, so that a repr has the order of the class.
        cls._defaults = {
            name: None if field.is_required() else field.default
            for name, field in cls.model_fields.items()
        }

    @classmethod
    def made(cls, **fields: object) -> Self:
        """A value of fields that are right already: `model_construct` without its search, 1 us for 4.

        Args:
            fields: by name, all that are required among them; others have their default.
        """
        value = object.__new__(cls)
        _set_dict(value, cls._defaults | fields)
        _set_names(value, _named(tuple(fields)))
        _set_extra(value, None)
        _set_private(value, None)
        return value


class TextPart(_Value):
    """A piece of text in a message of several parts."""

    type: Literal["text"] = "text"
    text: str


class ImageURL(_Value):
    """Where an image is: an http(s) URL, or a data URL."""

    url: str
    detail: str | None = None


class ImagePart(_Value):
    """An image, by URL or inline."""

    type: Literal["image_url"] = "image_url"
    image_url: ImageURL

    @field_validator("image_url", mode="before")
    @classmethod
    def _from_text(cls, value: object) -> object:
        """The bare URL that many clients write where the object belongs."""
        return {"url": value} if isinstance(value, str) else value

    @classmethod
    def from_bytes(cls, media_type: str, data: bytes) -> Self:
        """An inline image.

        Args:
            media_type: for example image/png.
            data: the file's bytes.
        """
        encoded = base64.b64encode(data).decode("ascii")
        return cls(image_url=ImageURL(url=f"data:{media_type};base64,{encoded}"))


class InputAudio(_Value):
    """Audio, base64 encoded, and its format (wav, mp3)."""

    data: str
    format: str


class AudioPart(_Value):
    """A piece of audio, for the servers that take it."""

    type: Literal["input_audio"] = "input_audio"
    input_audio: InputAudio


ContentPart = Annotated[TextPart | ImagePart | AudioPart, Field(discriminator="type")]
Content = str | tuple[ContentPart, ...]


class ToolCall(_Value):
    """A model's request to run a tool.

    Reads the wire's nested shape (`{"id", "function": {"name", "arguments"}}`) and its own.

    Attributes:
        id: pairs the call with its result; "" when the server sent none.
        name: the tool's name; "" when the server sent none.
        arguments: JSON text, one object where the model wrote one; blank input becomes `{}`.
        origin: native; heredoc or json where the model was told to write calls so; or the dialect of a
            text the call was salvaged from, see `rig.text.salvage`.
        repairs: what was mended in the arguments, in order; empty when nothing was.
        flaw: with the origins heredoc and json, where no grammar held the reply: place, form, keys or
            surplus, see `rig.agent.tool_formats`; "" for a call that is the model's own.
    """

    id: str = ""
    name: str = ""
    arguments: str = "{}"
    origin: str = "native"
    repairs: tuple[str, ...] = ()
    flaw: CallFlaw = ""

    @model_validator(mode="before")
    @classmethod
    def _from_wire(cls, value: object) -> object:
        wire = as_object(value)
        if wire is None:
            return value
        source = as_object(wire.get("function")) or wire
        return {
            "id": cleaned_name(wire.get("id")),
            "name": cleaned_name(source.get("name")),
            "arguments": arguments_text(source.get("arguments")),
            **{key: wire[key] for key in ("origin", "repairs", "flaw") if key in wire},
        }

    @property
    def salvaged(self) -> bool:
        """True when the call was found in the model's text, where nobody had asked for it.

        So where it was asked for, and stands in prose or had to be mended: nobody can tell for sure that
        the model meant it.
        """
        return self.origin not in _ASKED_FOR or self.flaw in {"place", "form"}

    @property
    def input(self) -> dict[str, Any]:
        """The arguments, parsed.

        Raises:
            InvalidJSONError: they are not one JSON object.
        """
        try:
            value: object = from_json(self.arguments, allow_inf_nan=False)
        except (ValueError, TypeError):  # TypeError: lone surrogates in the text
            value = None
        if not isinstance(value, dict):
            raise InvalidJSONError("the arguments of the tool call are not a JSON object")
        return cast("dict[str, Any]", value)


class SignedThought(_Value):
    """A thought as a server signed it, to be sent back as it is inside a tool loop; never shown.

    Attributes:
        type: thinking, or redacted_thinking: one that only its maker can read.
        thinking: the thought; may be empty where the server keeps it to itself.
        signature: by which the server knows it again; empty where it does not look.
        data: the redacted one.
    """

    type: Literal["thinking", "redacted_thinking"] = "thinking"
    thinking: str = ""
    signature: str = ""
    data: str = ""


class Message(_Value):
    """One turn of a conversation.

    Reads what the wire and other clients hold too: a legacy `function_call` is a call, a `refusal` is
    text of the turn. What could not be sent again is refused, never dropped.

    Attributes:
        role: system, user, assistant or tool.
        content: text, or parts of text, images and audio.
        tool_calls: what an assistant turn asked for.
        tool_call_id: on a tool turn, the call it answers.
        name: on a tool turn, the tool's name.
        reasoning: thoughts the server sent in a field of their own; they go back inside a tool loop.
        reasoning_field: the name of that field.
        thoughts: the same, signed, from servers that want it back so (Anthropic's Messages API).
    """

    __slots__ = (KEPT,)  # pydantic's copies, dumps and comparisons know fields alone

    role: Role
    content: Content = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    name: str | None = None
    reasoning: str | None = None
    reasoning_field: ReasoningField = "reasoning_content"
    thoughts: tuple[SignedThought, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _from_wire(cls, value: object) -> object:
        wire = as_object(value)
        if wire is None:
            return value
        known = {key: wire[key] for key in cls.model_fields if wire.get(key) is not None}
        role = wire.get("role")
        known["role"] = _ROLE_ALIASES.get(role, role) if isinstance(role, str) else role
        known["content"], thoughts = split_content(wire.get("content"), known["role"])
        if known["role"] == "assistant":
            _read_legacy(wire, known)
        elif known["role"] == "tool":
            known.setdefault("name", wire.get("tool_name"))  # Ollama's word
        if not isinstance(known.get("reasoning"), str):
            known.pop("reasoning", None)
        field, thought = split_reasoning_field(wire)
        if field and "reasoning_field" not in wire:
            known["reasoning"], known["reasoning_field"] = thought, field
        elif thoughts and "reasoning" not in known:
            known["reasoning"] = thoughts
        known.setdefault("thoughts", signed_thoughts(wire.get("content")))
        return known

    @property
    def text(self) -> str:
        """The text of the content, parts joined."""
        if isinstance(self.content, str):
            return self.content
        return "".join(part.text for part in self.content if isinstance(part, TextPart))


def read_messages(items: Iterable[object], *, name: str = "messages") -> tuple[Message, ...]:
    """Given messages, read.

    Args:
        items: `Message` values, or mappings in the shape of the wire.
        name: what the caller calls them.

    Raises:
        InvalidRequestError: an item is neither; the sentence names its index, and never quotes it.
    """
    messages: list[Message] = []
    for index, item in enumerate(items):
        problem = _read_into(messages, item)
        if problem:
            raise InvalidRequestError(f"{name}[{index}] is not a message: {problem}")
    return tuple(messages)


def message_problem(error: ValidationError) -> str:
    """What is wrong with a message, without its text: the first problem and where it is.

    Args:
        error: what reading the message raised.
    """
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    if first["type"] == UNSENDABLE:
        return first["msg"]
    return f"{'.'.join(map(str, first['loc'])) or 'item'}: {first['msg']}"


def _read_into(messages: list[Message], item: object) -> str:
    """Add the item; what is wrong with it, "" when nothing is."""
    if isinstance(item, Message):
        messages.append(item)
        return ""
    wire = as_object(item)
    if wire is None:
        return f"give a Message or a mapping, not a {type(item).__name__}"
    if type(item) is dict and (plain := plain_message(wire)) is not None:
        messages.append(plain)
        return ""
    try:
        messages.append(Message.model_validate(item))
    except ValidationError as error:
        return message_problem(error)
    return ""


_PLAIN_KEYS = {
    "system": frozenset({"role", "content", "name"}),
    "user": frozenset({"role", "content", "name"}),
    "assistant": frozenset({"role", "content", "name", "tool_calls"}),
    "tool": frozenset({"role", "content", "name", "tool_call_id"}),
}
_OWN_CALL_KEYS = ("origin", "repairs", "flaw")


def plain_message(wire: Mapping[str, object]) -> Message | None:
    """A message as nearly every client keeps it, read without validation: in a quarter of the time (measured).

    Args:
        wire: a dict in the shape of the wire.

    Returns:
        What validating it gives; None where it is more than texts, and calls, under their usual names.
    """
    role, content, name = wire.get("role"), wire.get("content"), wire.get("name")
    keys = _PLAIN_KEYS.get(role) if isinstance(role, str) else None
    if keys is None or not wire.keys() <= keys:
        return None
    fields: dict[str, object] = {"role": role, "content": "" if content is None else content}
    if name is not None or role == "tool":
        fields["name"] = name
    if (identity := wire.get("tool_call_id")) is not None:
        fields["tool_call_id"] = identity
    for text in fields.values():
        if type(text) is not str and text is not None:
            return None
    fields["thoughts"] = ()
    if (calls := wire.get("tool_calls")) is not None:
        fields["tool_calls"] = read = _plain_calls(calls)
        if read is None:
            return None
    return Message.made(**fields)


def _plain_calls(calls: object) -> tuple[ToolCall, ...] | None:
    """A list of calls in the wire's nested shape; None where it is something else."""
    if type(calls) is not list:
        return None
    read: list[ToolCall] = []
    for call in cast("list[object]", calls):
        wire = as_object(call)
        source = None if wire is None else as_object(wire.get("function"))
        if wire is None or not source or any(name in wire for name in _OWN_CALL_KEYS):
            return None
        read.append(
            ToolCall.made(
                id=cleaned_name(wire.get("id")),
                name=cleaned_name(source.get("name")),
                arguments=arguments_text(source.get("arguments")),
            )
        )
    return tuple(read)


def split_content(content: object, role: object = "assistant") -> tuple[str | list[object], str]:
    """Content as clients and servers write it, as (text or parts, thoughts).

    Null is no text; a list of nothing but text is one text; thinking parts of an assistant, whose thought
    may be a string or a list of text parts, are taken out (Mistral and Anthropic shapes).

    Args:
        content: the wire's value, of any shape.
        role: who speaks.

    Raises:
        PydanticCustomError: something in it can't be sent; the sentence names the part, not its text.
    """
    if content is None or isinstance(content, str):
        return content or "", ""
    if not isinstance(content, list | tuple):
        kind = type(content).__name__
        _refuse(f"content must be text or a list of parts, not {kind}")
    parts: list[object] = []
    thoughts: list[str] = []
    for index, part in enumerate(cast("Sequence[object]", content)):
        wire = as_object(part)
        if role == "assistant" and wire is not None and is_thought_type(wire.get("type")):
            thoughts.append(_thought_text(wire.get("thinking", wire.get("text"))))
        else:
            parts.append(_read_part(part, index, role))
    if all(isinstance(part, str) for part in parts):
        return "".join(cast("list[str]", parts)), "".join(thoughts)
    mixed = [{"type": "text", "text": part} if isinstance(part, str) else part for part in parts]
    return mixed, "".join(thoughts)


def _read_part(part: object, index: int, role: object) -> object:
    """A part: its text where it is text, else as it is.

    Raises:
        PydanticCustomError: it can't be sent.
    """
    if isinstance(part, str):
        return part
    if isinstance(part, TextPart):
        return part.text
    wire = as_object(part)
    given = wire.get("type", "text") if wire is not None else getattr(part, "type", None)
    kind = given if isinstance(given, str) else ""
    if wire is not None and (kind in _TEXT_TYPES or (kind == "refusal" and role == "assistant")):
        text = wire.get("refusal" if kind == "refusal" else "text")
        if not isinstance(text, str):
            _refuse(f"content[{index}]: the {kind} of a part must be text")
        return text
    if kind not in _MEDIA_TYPES:
        what = f'parts of type "{kind}"' if _KIND.fullmatch(kind) else "such parts"
        _refuse(f"content[{index}]: {what} can't be sent; use {_SENDABLE}")
    return _read_media(part, kind, index)


def _read_media(part: object, kind: str, index: int) -> object:
    """An image or a piece of audio.

    Raises:
        PydanticCustomError: a field of it is missing, or is not what it must be.
    """
    try:
        return (ImagePart if kind == "image_url" else AudioPart).model_validate(part)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    problem = f"content[{index}].{'.'.join(map(str, first['loc']))}: {first['msg']}"
    raise PydanticCustomError(UNSENDABLE, "{problem}", {"problem": problem})


def _refuse(problem: str) -> NoReturn:
    """Refuse content with a sentence.

    Raises:
        PydanticCustomError: always.
    """
    raise PydanticCustomError(UNSENDABLE, "{problem}", {"problem": problem})


def _read_legacy(wire: Mapping[str, object], known: dict[str, Any]) -> None:
    """Take over what an assistant turn says in OpenAI's older fields, or beside its content."""
    call = as_object(wire.get("function_call"))
    if call is not None and not known.get("tool_calls"):
        known["tool_calls"] = (call,)
    refusal = wire.get("refusal")
    if isinstance(refusal, str) and refusal.strip():
        known["content"] = _with_text(known["content"], refusal)


def _with_text(content: str | list[object], text: str) -> str | list[object]:
    if isinstance(content, str):
        return f"{content}\n\n{text}" if content.strip() else text
    return [*content, {"type": "text", "text": text}]


def signed_thoughts(content: object) -> tuple[SignedThought, ...]:
    """The thoughts among the parts of a content that are signed or redacted.

    Args:
        content: the wire's value, of any shape.

    Returns:
        Those that go back as they are, in order.
    """
    parts = as_array(content) or ()
    wires = (as_object(part) or {} for part in parts)
    thoughts = (_signed_thought(wire) for wire in wires)
    return tuple(thought for thought in thoughts if thought is not None)


def _signed_thought(wire: Mapping[str, object]) -> SignedThought | None:
    signature, data = wire.get("signature"), wire.get("data")
    if wire.get("type") == "thinking" and isinstance(signature, str):
        thinking = _thought_text(wire.get("thinking"))
        return SignedThought.made(type="thinking", thinking=thinking, signature=signature, data="")
    if wire.get("type") == "redacted_thinking" and isinstance(data, str) and data:
        return SignedThought.made(type="redacted_thinking", thinking="", signature="", data=data)
    return None


def split_reasoning_field(wire: Mapping[str, object]) -> tuple[ReasoningField | None, str]:
    """The first non-empty reasoning field of a message, as (its name, its text).

    The fields repeat each other (vercel/ai 8072), so exactly one is taken.
    """
    names: tuple[ReasoningField, ...] = ("reasoning_content", "reasoning")
    for name in names:
        text = wire.get(name)
        if isinstance(text, str) and text:
            return name, text
    return None, ""


def _thought_text(thought: object) -> str:
    if isinstance(thought, str):
        return thought
    if not isinstance(thought, list | tuple):
        return ""
    return "".join(_part_text(part) or "" for part in cast("Sequence[object]", thought))


def _part_text(part: object) -> str | None:
    if isinstance(part, TextPart):
        return part.text
    wire = as_object(part)
    if wire is not None and wire.get("type", "text") in {"text", "output_text"}:
        text = wire.get("text")
        return text if isinstance(text, str) else ""
    return None


class Usage(_Value):
    """What one reply, or a run, cost. A counter of 0 that was not reported reads 0 too: see `reported`.

    Attributes:
        prompt_tokens: tokens of the prompt, cached ones included.
        completion_tokens: tokens generated, reasoning included.
        total_tokens: their sum, or what the server called the total.
        cached_tokens: prompt tokens served from the server's cache.
        cache_creation_tokens: prompt tokens written to it.
        reasoning_tokens: generated tokens that were thoughts.
        latency_s: seconds from sending the request, retries included, to the whole reply.
        reported: False when the server sent no usage, or nothing but zeros.
        time_to_first_token_s: seconds from sending the request to the first delta of a stream; None for
            a reply that was not streamed. Of a sum: the first part's.
        prompt_s: seconds the server spent on the prompt tokens that were not cached, None where it
            did not say (llama.cpp does). Of a sum: None unless all parts say so.
        generation_s: seconds the server spent on generating; the same holds for it.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0
    cached_tokens: int = 0
    cache_creation_tokens: int = 0
    reasoning_tokens: int = 0
    latency_s: float = 0.0
    reported: bool = False
    time_to_first_token_s: float | None = None
    prompt_s: float | None = None
    generation_s: float | None = None

    @property
    def new_prompt_tokens(self) -> int:
        """Prompt tokens the server had to process: those it did not have in its cache."""
        return max(0, self.prompt_tokens - self.cached_tokens)

    @property
    def total(self) -> int:
        """Every token that is billed: fresh input, cache reads, cache writes and output.

        Cache reads are cheaper than fresh input, not free. OpenAI's counters have them in `prompt_tokens`,
        and rig reads Anthropic's so that they do; where cached tokens are more than the prompt they can't
        be in it, and are added. Nothing is counted twice.
        """
        cached = self.cached_tokens + self.cache_creation_tokens
        outside = cached if cached > self.prompt_tokens else 0
        return max(self.total_tokens, self.prompt_tokens + outside + self.completion_tokens)

    @property
    def prompt_tokens_per_s(self) -> float | None:
        """How fast the server read the new part of the prompt; None where it did not say."""
        return self.new_prompt_tokens / self.prompt_s if self.prompt_s else None

    @property
    def completion_tokens_per_s(self) -> float | None:
        """How fast the server generated; None where it did not say."""
        return self.completion_tokens / self.generation_s if self.generation_s else None

    @model_validator(mode="before")
    @classmethod
    def _from_wire(cls, value: object) -> object:
        """Read every known shape; a field that is no count is dropped alone (letta-ai/letta-code 3508)."""
        wire = as_object(value)
        if wire is None:
            return value if isinstance(value, cls) else {}
        return cls._fields_of(wire)

    @classmethod
    def of(cls, wire: Mapping[str, object]) -> Self:
        """What a server says, of any shape; the same as validating it, in a fifth of the time.

        Args:
            wire: the object that holds the counters.
        """
        return cls.made(**cls._fields_of(wire))

    @classmethod
    def _fields_of(cls, wire: Mapping[str, object]) -> dict[str, object]:
        prompt = _count(wire, "prompt_tokens", "input_tokens")
        completion = _count(wire, "completion_tokens", "output_tokens")
        if not any(name in wire for name in _HOLDS_CACHED):
            prompt += _count(wire, "cache_read_input_tokens")
            prompt += _count(wire, "cache_creation_input_tokens")
        counts = {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": _count(wire, "total_tokens") or prompt + completion,
            "cached_tokens": _count(wire.get("prompt_tokens_details"), "cached_tokens")
            or _count(wire.get("input_tokens_details"), "cached_tokens")
            or _count(wire, "cached_tokens", "prompt_cache_hit_tokens", "cache_read_input_tokens"),
            "cache_creation_tokens": _count(
                wire, "cache_creation_tokens", "cache_creation_input_tokens"
            )
            or _count(wire.get("prompt_tokens_details"), "cache_write_tokens"),
            "reasoning_tokens": _count(wire.get("completion_tokens_details"), "reasoning_tokens")
            or _count(wire.get("output_tokens_details"), "reasoning_tokens", "thinking_tokens")
            or _count(wire, "reasoning_tokens"),
        }
        latency = wire.get("latency_s")
        reported = wire.get("reported")
        return {
            **counts,
            "latency_s": _seconds(latency) or 0.0,
            "reported": reported if isinstance(reported, bool) else any(counts.values()),
            **{name: _seconds(wire.get(name)) for name in _TIMES},
        }

    def __add__(self, other: "Usage") -> "Usage":
        """The sum; reported only where both parts were."""
        return Usage.made(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            total_tokens=self.total_tokens + other.total_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            cache_creation_tokens=self.cache_creation_tokens + other.cache_creation_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
            latency_s=self.latency_s + other.latency_s,
            reported=self.reported and other.reported,
            time_to_first_token_s=self.time_to_first_token_s,
            prompt_s=_sum(self.prompt_s, other.prompt_s),
            generation_s=_sum(self.generation_s, other.generation_s),
        )


MAX_COUNT = 1 << 53
"""Largest counter believed: beyond it JSON numbers are no longer exact (RFC 8259, section 6)."""


# Counters whose server counts cached tokens as part of the prompt. Anthropic's `input_tokens` beside its
# own names for the cache leaves them out: docs.claude.com, prompt caching, "Tracking cache performance".
_HOLDS_CACHED = ("prompt_tokens", "prompt_tokens_details", "input_tokens_details")

_TIMES = ("time_to_first_token_s", "prompt_s", "generation_s")


def _seconds(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= MAX_COUNT else None


def _sum(left: float | None, right: float | None) -> float | None:
    return None if left is None or right is None else left + right


def read_count(value: object) -> int:
    """A count as the wire has it; 0 for what is none."""
    if value is None or isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(value) if 0 < value <= MAX_COUNT and value == int(value) else 0


def _count(source: object, *names: str) -> int:
    """The first of the named fields that is a count; 0 when none is."""
    wire = as_object(source)
    if wire is None:
        return 0
    for name in names:
        count = read_count(wire.get(name))
        if count:
            return count
    return 0
