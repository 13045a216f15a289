"""Asking the small model: once for each text, in time, and never at the cost of the run."""

import anyio
import anyio.lowlevel
import pytest

from rig import (
    Budget,
    ChatOptions,
    ChatRequest,
    InvalidRequestError,
    Message,
    Reply,
    ServerError,
    SharedBudget,
    Usage,
)
from rig.events import RunEvent, event_listener, run_memory
from rig.gateway.classifier import Classifier, Verdict
from rig.gateway.classify import ClassifierPolicy
from rig.testing import ScriptedModel

AUTOJUMP = pytest.mark.parametrize("anyio_backend", ["trio-autojump"], indirect=True)
NAMES = {"code": "programs", "chat": ""}
CODE = '{"category": "code"}'


class Slow:
    """Answers after a while, and counts."""

    def __init__(self, seconds: float, text: str = CODE) -> None:
        self.seconds, self.text = seconds, text
        self.asked = self.answered = 0

    async def complete(self, request: ChatRequest, /) -> Reply:
        self.asked += 1
        await anyio.sleep(self.seconds)
        self.answered += 1
        return Reply(text=self.text)


async def sort(made: Classifier, text: str) -> Verdict:
    return await made.sort(text, ChatOptions())


async def test_a_text_is_asked_about_once() -> None:
    model = ScriptedModel(Reply(text=CODE, usage=Usage(prompt_tokens=40, completion_tokens=5)))
    made = Classifier(model, "tiny", NAMES, ClassifierPolicy())
    first, second = await sort(made, "x"), await sort(made, "x")
    assert (first.category, first.cached) == ("code", False)
    assert first.usage is not None
    assert (second.category, second.cached, second.usage) == ("code", True, None)
    assert [request.model for request in model.requests] == ["tiny"]


async def test_the_last_used_answers_are_kept() -> None:
    model = ScriptedModel(*[CODE] * 4)
    made = Classifier(model, "tiny", NAMES, ClassifierPolicy(cache_size=2))
    for text in ("a", "b", "a", "c", "a", "b"):
        await sort(made, text)
    assert len(model.requests) == 4


async def test_no_memory_is_a_choice() -> None:
    model = ScriptedModel(CODE, CODE)
    made = Classifier(model, "tiny", NAMES, ClassifierPolicy(cache_size=0))
    await sort(made, "a")
    assert not (await sort(made, "a")).cached


async def test_an_answer_that_names_nothing_is_told_and_not_kept() -> None:
    model = ScriptedModel("poetry", CODE)
    made = Classifier(model, "tiny", NAMES, ClassifierPolicy())
    assert await sort(made, "a") == Verdict(problem="unreadable")
    assert (await sort(made, "a")).category == "code"


async def test_a_failure_is_a_verdict_too() -> None:
    model = ScriptedModel(ServerError("down", status=500))
    made = Classifier(model, "tiny", NAMES, ClassifierPolicy())
    assert (await sort(made, "a")).problem == "classifier_failed"


async def test_a_server_that_refuses_the_schema_is_asked_in_words() -> None:
    model = ScriptedModel(InvalidRequestError("no response_format", status=400), CODE, CODE)
    made = Classifier(model, "tiny", NAMES, ClassifierPolicy())
    assert (await sort(made, "a")).category == "code"
    assert (await sort(made, "b")).category == "code"
    formats = [request.options.response_format is not None for request in model.requests]
    assert formats == [True, False, False]


async def test_a_text_of_lone_surrogates_has_a_key() -> None:
    made = Classifier(ScriptedModel(CODE), "tiny", NAMES, ClassifierPolicy())
    assert (await sort(made, "\ud800")).category == "code"


async def test_the_question_is_no_part_of_the_run() -> None:
    seen: list[object] = []

    def answer(_request: ChatRequest) -> str:
        seen.extend((event_listener.get(), run_memory.get()))
        return CODE

    async def listen(_event: RunEvent) -> None: ...

    made = Classifier(ScriptedModel(answer), "tiny", NAMES, ClassifierPolicy())
    memory: dict[object, object] = {}
    tokens = event_listener.set(listen), run_memory.set(memory)
    await sort(made, "a")
    assert seen == [None, None]
    assert event_listener.get() is listen
    assert run_memory.get() is memory
    event_listener.reset(tokens[0])
    run_memory.reset(tokens[1])


@AUTOJUMP
async def test_nobody_waits_longer_than_agreed() -> None:
    model = Slow(1000)
    made = Classifier(model, "tiny", NAMES, ClassifierPolicy(timeout_s=3))
    started = anyio.current_time()
    assert (await sort(made, "a")).problem == "classifier_timeout"
    assert anyio.current_time() - started == 3
    assert model.answered == 0


@AUTOJUMP
async def test_those_who_come_with_the_same_text_wait_for_one_answer() -> None:
    model = Slow(1)
    made = Classifier(model, "tiny", NAMES, ClassifierPolicy())
    verdicts: list[Verdict] = []

    async def ask(text: str) -> None:
        verdicts.append(await sort(made, text))

    async with anyio.create_task_group() as tasks:
        for text in ("a", "a", "a", "b"):
            tasks.start_soon(ask, text)
    assert model.asked == 2
    assert [verdict.category for verdict in verdicts] == ["code"] * 4
    assert sorted(verdict.cached for verdict in verdicts) == [False, False, True, True]


@AUTOJUMP
async def test_when_who_asks_is_cancelled_one_of_the_others_asks() -> None:
    model = Slow(2)
    made = Classifier(model, "tiny", NAMES, ClassifierPolicy())
    verdicts: list[Verdict] = []

    async def ask(patience_s: float) -> None:
        with anyio.move_on_after(patience_s):
            verdicts.append(await sort(made, "a"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask, 1)
        await anyio.sleep(0.1)
        tasks.start_soon(ask, 100)
        tasks.start_soon(ask, 100)
    assert [verdict.category for verdict in verdicts] == ["code", "code"]
    assert (model.asked, model.answered) == (2, 1)


@AUTOJUMP
async def test_who_waits_for_another_is_in_time_too() -> None:
    model = Slow(1000)
    made = Classifier(model, "tiny", NAMES, ClassifierPolicy(timeout_s=3))
    problems: list[object] = []
    ended: list[float] = []
    started = anyio.current_time()

    async def ask() -> None:
        problems.append((await sort(made, "a")).problem)
        ended.append(anyio.current_time() - started)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        await anyio.sleep(1)
        tasks.start_soon(ask)
    assert problems == ["classifier_timeout"] * 2
    assert max(ended) <= 4


@AUTOJUMP
async def test_a_model_that_keeps_failing_is_left_alone_for_a_while() -> None:
    model = Slow(1000)
    policy = ClassifierPolicy(timeout_s=1, pause_after=2, pause_s=60)
    made = Classifier(model, "tiny", NAMES, policy)
    problems = [(await sort(made, text)).problem for text in "abcd"]
    assert problems == ["classifier_timeout"] * 2 + ["classifier_paused"] * 2
    await anyio.sleep(60)
    model.seconds = 0
    assert (await sort(made, "e")).category == "code"
    assert model.asked == 3


async def test_one_success_forgets_earlier_failures() -> None:
    down = ServerError("down", status=500)
    model = ScriptedModel(down, CODE, down, CODE)
    made = Classifier(model, "tiny", NAMES, ClassifierPolicy(pause_after=2))
    problems = [(await sort(made, text)).problem for text in "abcd"]
    assert problems == ["classifier_failed", None, "classifier_failed", None]


@pytest.mark.parametrize("anyio_backend", ["trio-autojump"], indirect=True)
async def test_a_cancelled_question_leaves_nothing_behind() -> None:
    model = Slow(5)
    made = Classifier(model, "tiny", NAMES, ClassifierPolicy())
    with anyio.move_on_after(1) as scope:
        await sort(made, "a")
    assert scope.cancelled_caught
    assert made._here.get().flights == {}
    assert (await sort(made, "a")).category == "code"


async def test_a_refusal_in_words_too_says_nothing_of_the_schema() -> None:
    refused = InvalidRequestError("not this text", status=400)
    model = ScriptedModel(refused, refused, CODE)
    made = Classifier(model, "tiny", NAMES, ClassifierPolicy())
    assert (await sort(made, "a")).problem == "classifier_failed"
    assert (await sort(made, "b")).category == "code"
    formats = [request.options.response_format is not None for request in model.requests]
    assert formats == [True, False, True]


class Poor:
    """Sorts on the way of a request whose budget is spent by that request itself."""

    def __init__(self, made: Classifier, text: str) -> None:
        self.made, self.text = made, text
        self.verdict = Verdict()

    async def complete(self, request: ChatRequest, /) -> Reply:
        await anyio.lowlevel.checkpoint()
        self.verdict = await sort(self.made, self.text)
        return Reply(text="done")


async def ask_poorly(poor: Poor) -> None:
    request = ChatRequest(model="m", messages=[Message(role="user", content="q")], max_tokens=9)
    await SharedBudget(Budget(calls=1)).complete(poor, request)


async def test_runs_that_cannot_pay_do_not_silence_the_small_model_for_others() -> None:
    made = Classifier(ScriptedModel(CODE), "tiny", NAMES, ClassifierPolicy(pause_after=1))
    for text in "abc":
        poor = Poor(made, text)
        await ask_poorly(poor)
        assert (poor.verdict.problem, poor.verdict.unpaid) == ("classifier_failed", True)
    assert (await sort(made, "a")).category == "code"


async def test_who_waits_for_one_that_cannot_pay_asks_itself() -> None:
    model = ScriptedModel(CODE)
    made = Classifier(model, "tiny", NAMES, ClassifierPolicy())
    verdicts: list[Verdict] = []
    arrived = anyio.Event()

    async def unpaid() -> Verdict:
        arrived.set()
        await anyio.sleep(0.01)
        return Verdict(problem="classifier_failed", unpaid=True)

    key = made._key("a")

    async def lead() -> None:
        verdicts.append(await made._lead(made._here.get(), key, unpaid))

    async def follow() -> None:
        await arrived.wait()
        verdicts.append(await sort(made, "a"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lead)
        tasks.start_soon(follow)
    assert [verdict.problem for verdict in verdicts] == ["classifier_failed", None]
