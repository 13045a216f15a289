"""The client over both wires: which one it takes, what it sends, and what comes back."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import httpx
import pytest

from rig import ChatOptions, ChatRequest, Client, InvalidRequestError, Message, RetryPolicy, tool
from rig.errors import OutputLimitError, RateLimitedError, ServerError, StreamCutError
from rig.testing import Answer, FakeBackend, ReceivedRequest, answer, repeat, reply, sse
from rig.wire.dialects import ANTHROPIC, DIALECTS

CLAUDE = "claude-sonnet-4-5"


def asked(model: str = CLAUDE, **options: Any) -> ChatRequest:
    hello = Message(role="user", content="hi")
    return ChatRequest(model=model, messages=(hello,), max_tokens=8, options=ChatOptions(**options))


def message(*content: dict[str, Any], stop: str = "end_turn", **fields: Any) -> dict[str, Any]:
    usage = {"input_tokens": 2, "cache_read_input_tokens": 10, "output_tokens": 3}
    return {
        "id": "msg_1",
        "type": "message",
        "model": "claude",
        "content": list(content),
        "stop_reason": stop,
        "usage": usage,
        **fields,
    }


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def use(identity: str = "toolu_1", name: str = "look", **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": identity, "name": name, "input": given}


THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "sig"}


def pieces_of(block: dict[str, Any]) -> list[dict[str, Any]]:
    if block["type"] == "text":
        return [{"type": "text_delta", "text": block["text"]}]
    if block["type"] == "tool_use":
        return [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
    return [
        {"type": "thinking_delta", "thinking": block["thinking"]},
        {"type": "signature_delta", "signature": block["signature"]},
    ]


def events(content: list[dict[str, Any]], stop: str = "end_turn") -> list[dict[str, Any]]:
    """A message as the events of a stream, one piece a block."""
    start = message(usage={"input_tokens": 2, "cache_read_input_tokens": 10, "output_tokens": 1})
    out: list[dict[str, Any]] = [
        {"type": "message_start", "message": start | {"stop_reason": None}}
    ]
    for index, block in enumerate(content):
        begun = {name: block[name] for name in ("type", "id", "name") if name in block}
        out.append({"type": "content_block_start", "index": index, "content_block": begun})
        deltas = ({"type": "content_block_delta", "delta": piece} for piece in pieces_of(block))
        out.extend({**delta, "index": index} for delta in deltas)
        out.append({"type": "content_block_stop", "index": index})
    usage = {"output_tokens": 3}
    out.append({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": usage})
    return [*out, {"type": "message_stop"}]


def streamed(*content: dict[str, Any], stop: str = "end_turn") -> Answer:
    return sse(*events(list(content), stop), done=False)


@asynccontextmanager
async def asking(*answers: Any, **options: Any) -> AsyncGenerator[tuple[Client, FakeBackend]]:
    backend = FakeBackend(*answers)
    key = options.pop("api_key", "sk-mine")
    async with backend.serve(), Client(backend.url, key, **options) as client:
        yield client, backend


def headers(request: ReceivedRequest) -> dict[str, str]:
    return {name.lower(): value for name, value in request.headers}


def by_path(request: ReceivedRequest) -> Answer:
    if request.target.endswith("messages"):
        return answer(body=message(text("messages")))
    return reply("completions")


@pytest.mark.parametrize(
    ("model", "dialect", "path"),
    [
        ("qwen3", None, "/v1/chat/completions"),
        ("qwen3", "auto", "/v1/chat/completions"),
        (CLAUDE, None, "/v1/messages"),
        (CLAUDE, "generic", "/v1/chat/completions"),
        ("qwen3", "anthropic", "/v1/messages"),
        ("qwen3", ANTHROPIC, "/v1/messages"),
        (CLAUDE, DIALECTS["vllm"], "/v1/chat/completions"),
    ],
)
async def test_the_wire_follows_the_dialect_else_the_model(
    model: str, dialect: Any, path: str
) -> None:
    async with asking(repeat(by_path), dialect=dialect) as (client, backend):
        assert (await client.complete(asked(model))).text == path.rpartition("/")[2]
    assert backend.requests[0].target == path


async def test_one_client_speaks_both() -> None:
    async with asking(repeat(by_path)) as (client, backend):
        assert (await client.complete(asked(CLAUDE))).text == "messages"
        assert (await client.complete(asked("qwen3"))).text == "completions"
        assert (await client.complete(asked(CLAUDE))).text == "messages"
    first, second, _ = map(headers, backend.requests)
    assert first["x-api-key"] == "sk-mine"
    assert first["anthropic-version"] == "2023-06-01"
    assert "authorization" not in first
    assert second["authorization"] == "Bearer sk-mine"
    assert not {"x-api-key", "anthropic-version"} & second.keys()


async def test_an_empty_key_is_no_header_on_either_wire() -> None:
    async with asking(answer(body=message(text("ok"))), api_key="") as (client, backend):
        await client.complete(asked())
    assert not {"x-api-key", "authorization"} & headers(backend.requests[0]).keys()


async def test_the_key_goes_in_the_header_a_variant_names() -> None:
    bearer = replace(ANTHROPIC, key_header="Authorization")
    async with asking(answer(body=message(text("ok"))), dialect=bearer) as (client, backend):
        await client.complete(asked())
    assert headers(backend.requests[0])["authorization"] == "Bearer sk-mine"


async def test_a_trace_id_is_a_header_on_either_wire() -> None:
    async with asking(answer(body=message(text("ok")))) as (client, backend):
        await client.complete(asked(trace_id="t-1"))
    assert headers(backend.requests[0])["x-trace-id"] == "t-1"


@pytest.mark.parametrize("dialect", ["claude", "", "open ai 2", 7])
def test_a_dialect_that_is_none_is_refused_at_once(dialect: Any) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        Client("http://127.0.0.1:9", dialect=dialect)
    assert caught.value.reason == "dialect"
    assert "vllm" in caught.value.message


async def test_an_option_the_server_can_not_be_told_of_is_refused_before_sending() -> None:
    async with asking(dialect="ollama") as (client, backend):
        with pytest.raises(InvalidRequestError) as caught:
            await client.complete(asked("qwen3", grammar='root ::= "a"'))
        assert caught.value.reason == "grammar"
    assert backend.requests == []


async def test_a_message_costs_what_was_sent_cache_included() -> None:
    async with asking(answer(body=message(text("ok")))) as (client, _):
        usage = (await client.complete(asked())).usage
    assert (usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens) == (12, 10, 3)
    assert usage.latency_s > 0


async def test_an_answer_in_the_other_shape_is_read_all_the_same() -> None:
    async with asking(reply("ok")) as (client, _):
        assert (await client.complete(asked())).text == "ok"


async def test_a_stream_of_events_is_the_same_reply() -> None:
    content = [THOUGHT, text("look"), use(x=1)]
    async with asking(
        answer(body=message(*content, stop="tool_use")), streamed(*content, stop="tool_use")
    ) as (client, backend):
        whole = await client.complete(asked())
        async with client.stream(asked()) as replies:
            deltas = [delta async for delta in replies]
            assert replies.text == "look"
        assert replace(replies.reply(), usage=whole.usage) == replace(
            whole, tool_calls=replies.reply().tool_calls
        )
    assert [delta.reasoning for delta in deltas if delta.reasoning] == ["hm"]
    assert [one.tool_call.stage for one in deltas if one.tool_call][-1] == "finished"
    assert [one.arguments for one in whole.tool_calls] == ['{"x":1}']
    assert [one.arguments for one in replies.reply().tool_calls] == ['{"x": 1}']
    assert backend.requests[1].json["stream"] is True


async def test_a_stream_that_breaks_tells_what_had_come() -> None:
    begun = events([text("Hel")])[:3]
    async with asking(sse(*begun, done=False)) as (client, _):
        with pytest.raises(StreamCutError) as caught:
            async with client.stream(asked()) as replies:
                async for _ in replies:
                    pass
    assert caught.value.text == "Hel"


async def test_an_overloaded_api_is_asked_again() -> None:
    overloaded = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    async with asking(
        answer(529, body=overloaded),
        sse({"type": "error", **overloaded}, done=False),
        streamed(text("ok")),
        retry=RetryPolicy(initial_s=0.001),
    ) as (client, backend):
        async with client.stream(asked()) as replies:
            assert [delta.text async for delta in replies if delta.text] == ["ok"]
    assert len(backend.requests) == 3


@pytest.mark.parametrize(
    ("status", "kind", "error"),
    [(429, "rate_limit_error", RateLimitedError), (529, "overloaded_error", ServerError)],
)
async def test_a_fault_is_ours(status: int, kind: str, error: type[Exception]) -> None:
    body = {"type": "error", "error": {"type": kind, "message": "no"}}
    async with asking(repeat(answer(status, body=body)), retry=RetryPolicy.off()) as (
        client,
        _,
    ):
        with pytest.raises(error):
            await client.complete(asked())


@tool
async def look(x: int) -> str:
    """Look at x."""
    return f"seen {x}"


async def test_a_run_sends_thoughts_and_results_back_as_the_api_wants_them() -> None:
    redacted = {"type": "redacted_thinking", "data": "xyz"}
    first = message(
        THOUGHT, redacted, text("I look."), use(x=1), use("toolu_2", x=2), stop="tool_use"
    )
    async with asking(answer(body=first), answer(body=message(text("Both seen.")))) as (
        client,
        backend,
    ):
        result = await client.run(
            "Look at 1 and 2.",
            model=CLAUDE,
            tools=[look],
            max_tokens=100,
            options=ChatOptions(reasoning_budget_tokens=1024),
        )
    assert result.text == "Both seen."
    second = backend.requests[1].json
    assert second["messages"] == [
        {"role": "user", "content": "Look at 1 and 2."},
        {
            "role": "assistant",
            "content": [
                THOUGHT,
                redacted,
                text("I look."),
                use(x=1),
                use("toolu_2", x=2),
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "seen 1"},
                {"type": "tool_result", "tool_use_id": "toolu_2", "content": "seen 2"},
            ],
        },
    ]
    assert second["thinking"] == {"type": "enabled", "budget_tokens": 1024}
    assert second["max_tokens"] == 1124
    assert result.usage.prompt_tokens == 24


async def test_thoughts_of_a_finished_run_stay_behind_in_the_next() -> None:
    first = message(THOUGHT, use(x=1), stop="tool_use")
    async with asking(answer(body=first), repeat(answer(body=message(text("ok"))))) as (
        client,
        backend,
    ):
        result = await client.run("a", model=CLAUDE, tools=[look], max_tokens=100)
        await client.run("b", model=CLAUDE, tools=[look], max_tokens=100, history=result.messages)
    assert "signature" in json.dumps(backend.requests[1].json)
    assert "signature" not in json.dumps(backend.requests[2].json)


async def test_the_last_call_of_a_limited_run_declares_the_tools_it_may_not_call() -> None:
    calls = answer(body=message(use(x=1), stop="tool_use"))
    async with asking(calls, answer(body=message(text("so far")))) as (client, backend):
        result = await client.run(
            "a", model=CLAUDE, tools=[look], max_tokens=100, max_iterations=1, on_limit="answer"
        )
    assert result.text == "so far"
    last = backend.requests[1].json
    assert [one["name"] for one in last["tools"]] == ["look"]
    assert last["tool_choice"] == {"type": "none"}


async def test_a_call_that_was_cut_is_not_run() -> None:
    async with asking(answer(body=message(use(), stop="max_tokens"))) as (client, backend):
        with pytest.raises(OutputLimitError):
            await client.run("a", model=CLAUDE, tools=[look], max_tokens=100)
    assert len(backend.requests) == 1


async def test_a_refusal_ends_a_run_as_an_outcome() -> None:
    refused = message(text("I can't."), stop="refusal", stop_details={"category": "bio"})
    async with asking(answer(body=refused)) as (client, _):
        result = await client.run("a", model=CLAUDE, max_tokens=100)
    assert result.termination == "refused"


async def test_a_prompt_is_counted_with_the_headers_of_the_dialect() -> None:
    def count(request: ReceivedRequest) -> Answer:
        if request.target.endswith("count_tokens"):
            return answer(body={"input_tokens": 30})
        return answer(404, body={"error": "no"})

    async with asking(repeat(count), dialect="anthropic", model="m") as (client, backend):
        assert await client.count_prompt([{"role": "user", "content": "hi"}]) == 30
    counted = [one for one in backend.requests if one.target.endswith("count_tokens")]
    assert {headers(one)["x-api-key"] for one in counted} == {"sk-mine"}
    assert {headers(one)["anthropic-version"] for one in counted} == {"2023-06-01"}


async def test_models_are_listed_with_the_headers_of_the_dialect() -> None:
    listed = {"data": [{"type": "model", "id": CLAUDE, "display_name": "Claude"}]}
    async with asking(answer(body=listed), dialect="anthropic") as (client, backend):
        assert await client.models() == (CLAUDE,)
    assert headers(backend.requests[0])["x-api-key"] == "sk-mine"


async def test_a_dialect_is_found_out_only_when_asked_for_and_given_on() -> None:
    def serve(request: ReceivedRequest) -> Answer:
        owned = {"data": [{"id": "m", "owned_by": "vllm"}]}
        return answer(body=owned) if request.method == "GET" else reply("ok")

    async with asking(repeat(serve), model="m") as (client, backend):
        await client.complete(asked("m"))
        assert [one.method for one in backend.requests] == ["POST"]
        found = await client.detect_dialect()
        assert [one.target for one in backend.requests[1:]] == ["/v1/models"]
        async with Client(backend.url, model="m", dialect=found) as other:
            await other.complete(asked("m", repeat_penalty=1.1))
    assert found is DIALECTS["vllm"]
    assert backend.requests[-1].json["repetition_penalty"] == 1.1


async def test_a_callers_client_has_its_own_headers_beside_ours() -> None:
    backend = FakeBackend(answer(body=message(text("ok"))))
    async with httpx.AsyncClient(
        transport=backend.transport, headers={"anthropic-beta": "x"}
    ) as http_client:
        async with Client("http://host", "sk-mine", http_client=http_client) as client:
            assert (await client.complete(asked())).text == "ok"
    sent = headers(backend.requests[0])
    assert (sent["anthropic-beta"], sent["x-api-key"]) == ("x", "sk-mine")


async def test_a_failure_shows_neither_key_nor_what_the_api_said() -> None:
    planted = {
        "type": "error",
        "error": {"type": "planted-kind", "message": "planted-text sk-mine"},
    }
    async with asking(answer(400, body=planted)) as (client, _):
        with pytest.raises(InvalidRequestError) as caught:
            await client.complete(asked())
        shown = f"{caught.value!r} {caught.value} {client!r}"
    assert not {word for word in ("sk-mine", "planted") if word in shown}
    assert "planted-text" in caught.value.detail
    assert caught.value.__context__ is None
