"""How users write code against rig, as type checkers see it. Read by mypy and pyright, never run."""

from typing import Annotated, Any, assert_type

from pydantic import BaseModel, Field

from rig import (
    Capabilities,
    Category,
    ChatRequest,
    Client,
    Delta,
    Endpoint,
    EndpointStatus,
    Gateway,
    GatewayFault,
    Message,
    Model,
    Pool,
    PoolPolicy,
    Reply,
    ReplyStream,
    RetryEvent,
    RigError,
    Route,
    Router,
    RunEvent,
    RunRequest,
    RunResult,
    RunStream,
    Session,
    StreamingModel,
    TextPart,
    Tier,
    TierModel,
    ToolCall,
    ToolContext,
    ToolFinished,
    gateway_fault,
    is_transient,
    load_skills,
    parse_tier,
    stream_complete,
    to_sse,
    tool,
    transient_reason,
    with_documents,
)
from rig.testing import ScriptedModel


class City(BaseModel):
    name: str


@tool
async def multiply(a: int, b: int) -> int:
    """Multiply two integers."""
    return a * b


@tool(effect="write", confirm=True, timeout_s=5)
def save(text: str, context: ToolContext) -> None:
    """Save a text."""


def watch(event: RunEvent) -> None:
    if isinstance(event, ToolFinished):
        print(event.outcome.content)


async def ask_person(call: ToolCall) -> bool:
    return call.name == "save"


def narrate(event: RetryEvent) -> None:
    print(event)


async def use(client: Client, scripted: ScriptedModel) -> None:
    plain = await client.run("hi", max_tokens=8)
    await client.run("hi", max_tokens=8, profile=await client.profile(), tool_format="json")
    await client.run("hi", max_tokens=8, profile=Capabilities(grammar=True))
    assert_type(plain, RunResult[None])
    typed = await client.run(
        "hi", output=City, max_tokens=8, tools=[multiply, save], on_event=watch
    )
    assert_type(typed, RunResult[City])
    assert_type(typed.output, City | None)
    request = RunRequest(prompt="hi", model="m", max_tokens=8, output=City)
    assert_type(await scripted.run(request), RunResult[City])
    again = await client.run("", history=typed.messages, max_tokens=8, confirm=ask_person)
    print(again.text, again.usage.total_tokens, [each.call.name for each in again.tool_calls])
    try:
        reply = await client.complete(
            ChatRequest(model="m", messages=[Message(role="user", content="hi")], max_tokens=8)
        )
        assert_type(reply, Reply)
        wire = ChatRequest(
            model="m", messages=[{"role": "user", "content": "hi"}], max_tokens=8, tools=[multiply]
        )
        assert_type(wire.messages[0], Message)
    except RigError as error:
        print(error.code, error.status, error.retryable, error.detail)
        if error.result is not None:
            print(error.result.messages)


def agree(call: ToolCall) -> bool:
    return call.name == "save"


async def use_what_checkers_are_strict_about(
    client: Client, session: Session, turns: list[dict[str, str]]
) -> None:
    assert_type(await client.run("hi", output=list[City], max_tokens=8), RunResult[list[City]])
    either: RunResult[Any] = await client.run("hi", output=City | None, max_tokens=8)
    bounded: RunResult[Any] = await client.run(
        "hi", output=Annotated[int, Field(gt=0)], max_tokens=8
    )
    print(either.output, bounded.output)
    await session.run(client, "hi", output=City | None, max_tokens=8)
    async with client.run_stream("hi", output=City | None, max_tokens=8) as run:
        print(run.result().output)
    await client.run([TextPart(text="hi")], max_tokens=8)
    await client.run(({"type": "text", "text": "hi"},), max_tokens=8)
    await client.run("hi", history=turns, confirm=agree, approve={"1"}, max_tokens=8)
    await client.run("hi", skills=iter(load_skills("skills")), max_tokens=8)
    options: dict[str, Any] = {"max_tokens": 8}
    await client.run("hi", **options)


async def stream(client: Client, scripted: ScriptedModel, request: ChatRequest) -> str:
    async with client.stream(request) as replies:
        assert_type(replies, ReplyStream)
        async for delta in replies:
            assert_type(delta, Delta)
        assert_type(replies.reply(), Reply)
    async with client.run_stream("hi", max_tokens=8, tools=[multiply], on_event=watch) as run:
        assert_type(run, RunStream[None])
        async for event in run:
            watch(event)
    async with scripted.run_stream("hi", output=City, max_tokens=8) as typed:
        assert_type(typed.result(), RunResult[City])
    await client.run("hi", max_tokens=8, stream=True)
    return replies.text


async def talk(client: Client, scripted: ScriptedModel, stored: bytes) -> str:
    session = Session.from_json(stored, tools=[multiply])
    assert_type(await session.run(client, "hi", max_tokens=8), RunResult[None])
    typed = await session.run(scripted, "hi", output=City, max_tokens=8, tools=[])
    assert_type(typed, RunResult[City])
    session.extend(typed)
    session.tools = (multiply, save)
    for call in session.pending:
        session.add_tool_result(call, "ok")
    assert_type(session.trim(max_messages=20), tuple[Message, ...])
    return session.to_json()


def tell(error: RigError | str, event: RunEvent | Delta) -> str:
    assert_type(to_sse(event), bytes)
    return transient_reason(error) if is_transient(error) else ""


def any_model_will_do(client: Client, scripted: ScriptedModel) -> list[Model]:
    return [client, scripted]


def any_model_that_streams(client: Client, scripted: ScriptedModel) -> list[StreamingModel]:
    return [client, scripted]


async def from_several(url: str, request: ChatRequest) -> list[Model]:
    second = Endpoint(url, "key", models={"qwen3": "org/Qwen3"}, slots=4, priority=1, tags=("a",))
    async with Pool([url, second], model="qwen3", policy=PoolPolicy(retries=0)) as pool:
        assert_type(await pool.run("hi", max_tokens=9, output=City), RunResult[City])
        assert_type(pool.endpoints, tuple[EndpointStatus, ...])
        assert_type(pool.has_model("qwen3"), bool | None)
        assert_type(pool.client("endpoint-1"), Client)
        async with pool.tagged("a").stream(request) as replies:
            assert_type(replies, ReplyStream)
        return [pool, Router(pool, categories={}, default="qwen3")]


async def by_worth(client: Client, request: ChatRequest) -> str:
    router = Router(client, categories={"code": Category(models=("coder",))}, default="big")
    assert_type(await router.route("hi"), Route)
    gateway = Gateway(router, tiers={Tier.FAST: "auto", Tier.DEEP: TierModel(model="big")})
    assert_type(await gateway.run("hi", model=Tier.DEEP, max_tokens=0), RunResult[None])
    assert_type(parse_tier("deep"), tuple[Tier, bool])
    assert_type(await stream_complete(gateway, request, print), Reply)
    models: list[Model] = [router, gateway]
    streaming: list[StreamingModel] = [router, gateway]
    try:
        await gateway.complete(gateway.request([with_documents("hi", ["text"])], tier="fast"))
    except RigError as error:
        assert_type(gateway_fault(error), GatewayFault)
    return f"{models}{streaming}"
