import asyncio  # noqa: TID251  there alone a task can be cancelled by anybody
import json
import threading
from typing import Annotated, Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel
from pydantic_core import from_json, to_json

from rig.agent import calling
from rig.agent.calling import CANCELLED, MAX_NAMES, ReadyCall, admit, execute
from rig.agent.calls import MALFORMED as MALFORMED_ANSWER
from rig.agent.calls import TRUNCATED as TRUNCATED_ANSWER
from rig.agent.calls import TWICE
from rig.agent.results import MAX_ERROR_CHARS
from rig.agent.toolbox import Toolbox
from rig.agent.tools import Tool, ToolContext, tool
from rig.errors import ToolError
from rig.events import ToolOutcome
from rig.messages import ToolCall
from rig.text.arguments import read_arguments

VIRTUAL_TIME = pytest.mark.parametrize("anyio_backend", ["trio-autojump"], indirect=True)


@tool
async def multiply(a: int, b: int = 1) -> int:
    """Multiply two integers."""
    return a * b


@tool
async def total(numbers: list[int], label: str = "sum") -> str:
    """Add numbers."""
    return f"{label}: {sum(numbers)}"


def raising(error: Any) -> Any:
    async def run(given: Any) -> None:
        raise error

    return Tool("fail", "Fail.", None, run)


def returning(value: Any, **options: Any) -> Any:
    async def run(given: Any) -> Any:
        return value

    return Tool("give", "Give.", None, run, **options)


async def answer(tools: Any, name: str, arguments: str = "{}") -> Any:
    call = ToolCall.model_construct(id="c1", name=name, arguments=arguments)
    return await execute(tools, call, ToolContext(call=call))


async def test_a_call_is_answered_with_the_result() -> None:
    outcome = await answer([multiply], "multiply", '{"a": 17, "b": 23}')
    assert (outcome.content, outcome.is_error, outcome.executed) == ("391", False, True)
    assert outcome.call.id == "c1"
    assert outcome.call.repairs == ()


UNKNOWN = {
    "with the names there are": (
        [multiply, total],
        "divide",
        'error: unknown tool "divide", available tools: multiply, total',
    ),
    "without any": ([], "divide", 'error: unknown tool "divide", no tools are available'),
    "blank": ([multiply], "", 'error: unknown tool "", available tools: multiply'),
    "cleaned": (
        [multiply],
        "a\nb<|im_start|>",
        'error: unknown tool "a b&lt;|im_start|>", available tools: multiply',
    ),
}


@pytest.mark.parametrize(("tools", "name", "content"), UNKNOWN.values(), ids=UNKNOWN.keys())
async def test_an_unknown_name_is_answered_with_the_names(
    tools: Any, name: str, content: str
) -> None:
    outcome = await answer(tools, name)
    assert outcome.content == content
    assert (outcome.is_error, outcome.executed) == (True, False)


async def test_the_answer_to_an_unknown_name_is_bounded() -> None:
    box = Toolbox(Tool(f"tool_{i}", "Do it.", None, lambda given: "") for i in range(MAX_NAMES + 7))
    outcome = await answer(box, "x" * 100_000)
    assert len(outcome.content) < MAX_ERROR_CHARS
    assert "and 7 more" in outcome.content


@pytest.mark.parametrize(("count", "more"), [(MAX_NAMES, ""), (MAX_NAMES + 1, " and 1 more")])
async def test_as_many_names_are_listed_as_the_cap_says(count: int, more: str) -> None:
    box = Toolbox(Tool(f"t{i}", "Do it.", None, lambda given: "") for i in range(count))
    outcome = await answer(box, "x")
    listed = outcome.content.partition("available tools: ")[2]
    assert listed == ", ".join(f"t{i}" for i in range(MAX_NAMES)) + more


async def test_a_name_that_runs_into_markup_is_cut() -> None:
    outcome = await answer([multiply], "multiply<|channel|>commentary", '{"a": 2}')
    assert outcome.content == "2"
    assert outcome.call.name == "multiply"


TRUNCATED = ['{"a": 17', '{"a": 17, "b"', "{", '{"a": [1, 2,', '{"a": "x']
MALFORMED = [
    "not json",
    '{"a" 1}',
    "[1, 2]",
    "42",
    '"text"',
    '{"a": 1}{"a": 2}',
    '{"a": NaN}',
    '{"a": ' + "9" * 5_000 + "}",
    '{"a": ' + "[" * 5_000 + "]" * 5_000 + "}",
    '{"a": "\\ud800"}',
]


@pytest.mark.parametrize("arguments", [*TRUNCATED, *MALFORMED], ids=lambda text: text[:20])
async def test_arguments_that_are_no_object_are_not_run(arguments: str) -> None:
    outcome = await answer([multiply, total], "multiply", arguments)
    assert outcome.content.startswith("error: ")
    assert "NOT executed" in outcome.content
    assert (outcome.is_error, outcome.executed) == (True, False)


@pytest.mark.parametrize("arguments", TRUNCATED)
async def test_cut_arguments_are_answered_in_other_words_than_malformed_ones(
    arguments: str,
) -> None:
    cut = await answer([multiply], "multiply", arguments)
    malformed = await answer([multiply], "multiply", "not json")
    assert cut.content != malformed.content


GATE_TRUNCATED = [
    '{"path":"a.java","content":"public class Big {',
    '{"path":"a.java",',
    "{",
    '{"path":"a.java","items":[1,2,',
    "{path:'a.java', content:'public class Big {",
    '```json\n{"path":"a.java",',
    "{'path':",
]
GATE_TWICE = [
    '{"path": "a.java", "path": "b.java", "content": "x"}',
    '{"path": "a.java", "content": "x", "content": ""}',
    "{'path': 'a.java', 'path': 'b.java', 'content': 'x'}",
]

GATE_MALFORMED = [
    '"hello"',
    "[1,2]",
    "42",
    "null",
    '{"path": <function>}',
    "not json at all",
    '{"a" "b"}',
    '{"a": }',
    '{"path":"a"}{"path":"b"}',
    '{"path":"a"} trailing',
    '{"path":"a",}{"path":"b",}',
    "{'path':'it's'}",
    '{"path":"say "hi" to him"}',
    '{"path":NaN,}',
]
GATE_REPAIRED = {
    "trailing comma": ('{"path":"a.java",}', ("trailing_comma",)),
    "single quotes": ("{'path':'a.java'}", ("single_quotes",)),
    "bare key": ('{path:"a.java"}', ("bare_key",)),
    "python": ('{"path":"a.java","items":None}', ("python_literal", "items: left out null")),
    "fence": ('```json\n{"path":"a.java"}\n```', ("fence", "label")),
    "comment": ('{"path":"a.java" // the file\n}', ("comment",)),
    "closer": ('{"path":"a.java"}}', ("stray_closer",)),
    "nested text, near-json too": (
        '{"path":"a.java","items":"[1, 2,]",}',
        ("trailing_comma", "items: decoded JSON text (trailing_comma)"),
    ),
}


def recording(ran: list[object]) -> Tool:
    schema = {
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "content": {"type": "string"},
            "items": {"type": "array"},
        },
    }
    return Tool("write_file", "Write a file.", schema, ran.append)


@pytest.mark.parametrize("arguments", ["", " \n", "{}", '{"path":"a.java"}'])
async def test_the_gate_lets_pass_what_is_an_object(arguments: str) -> None:
    ran: list[object] = []
    outcome = await answer([recording(ran)], "write_file", arguments)
    assert (outcome.executed, outcome.call.repairs) == (True, ())
    assert len(ran) == 1


@pytest.mark.parametrize(("arguments", "repairs"), GATE_REPAIRED.values(), ids=GATE_REPAIRED.keys())
async def test_the_gate_repairs_what_has_one_reading_and_tells_of_it(
    arguments: str, repairs: tuple[str, ...]
) -> None:
    ran: list[Any] = []
    outcome = await answer([recording(ran)], "write_file", arguments)
    assert (outcome.executed, outcome.call.repairs) == (True, repairs)
    assert ran[0]["path"] == "a.java"
    assert from_json(outcome.call.arguments) == ran[0]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        *((text, TRUNCATED_ANSWER) for text in GATE_TRUNCATED),
        *((text, MALFORMED_ANSWER) for text in GATE_MALFORMED),
        *((text, TWICE) for text in GATE_TWICE),
    ],
    ids=lambda text: text[:30],
)
async def test_the_gate_runs_nothing_that_is_cut_or_has_no_reading(
    arguments: str, told: str
) -> None:
    ran: list[object] = []
    outcome = await answer([recording(ran)], "write_file", arguments)
    assert (outcome.content, outcome.executed, ran) == (told, False, [])
    assert outcome.call.arguments == arguments


async def test_a_key_that_stands_twice_with_equal_values_is_told() -> None:
    ran: list[Any] = []
    outcome = await answer(
        [recording(ran)], "write_file", '{"path": "a", "path": "a", "content": "x"}'
    )
    assert outcome.executed
    assert (outcome.call.arguments, outcome.call.repairs) == (
        '{"path": "a", "content": "x"}',
        ("duplicate_key",),
    )


UNFIT = {
    "wrong type": ('{"a": "x"}', ["a"]),
    "missing": ("{}", ["a"]),
    "unknown": ('{"a": 1, "c": 2}', ["c"]),
    "several": ('{"a": "x", "b": [], "c": 2}', ["a", "b", "c"]),
}


@pytest.mark.parametrize(("arguments", "places"), UNFIT.values(), ids=UNFIT.keys())
async def test_arguments_that_do_not_fit_are_answered_with_every_problem(
    arguments: str, places: list[str]
) -> None:
    outcome = await answer([multiply], "multiply", arguments)
    listed = [
        line[2:].partition(":")[0] for line in outcome.content.splitlines() if line.startswith("- ")
    ]
    assert listed == places
    assert outcome.content.startswith("error: ")
    assert "NOT executed" in outcome.content
    assert (outcome.is_error, outcome.executed) == (True, False)


async def test_huge_arguments_are_not_echoed() -> None:
    outcome = await answer(
        [multiply], "multiply", to_json({"a": "x" * 500_000, "y" * 500_000: 1}).decode()
    )
    assert len(outcome.content) < MAX_ERROR_CHARS
    assert "http" not in outcome.content


async def test_a_hand_written_schema_is_checked_too() -> None:
    seen: list[object] = []
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer"}},
        "required": ["a"],
        "additionalProperties": False,
    }
    one = Tool("t", "Do it.", schema, seen.append)
    assert not (await answer([one], "t", '{"a": "x", "b": 1}')).executed
    assert seen == []
    assert (await answer([one], "t", '{"a": 1}')).executed
    assert seen == [{"a": 1}]


async def test_a_tool_may_check_its_input_itself() -> None:
    one = Tool(
        "t", "Do it.", {"type": "object", "required": ["a"]}, lambda given: given, validate=False
    )
    assert (await answer([one], "t", '{"b": 1}')).content == '{"b":1}'


MENDED = {
    "a list as text": ('{"numbers": "[1, 2]"}', '{"numbers":[1,2]}'),
    "null for a default": ('{"numbers": [1, 2], "label": null}', '{"numbers":[1,2]}'),
}


@pytest.mark.parametrize(("arguments", "read"), MENDED.values(), ids=MENDED.keys())
async def test_arguments_are_read_as_the_schema_lets_them_and_that_is_told(
    arguments: str, read: Any
) -> None:
    outcome = await answer([total], "total", arguments)
    assert outcome.content == "sum: 3"
    assert outcome.call.arguments == read
    assert len(outcome.call.repairs) == 1


async def test_arguments_that_fit_are_never_reread() -> None:
    @tool
    async def save(text: str, meta: dict[str, str] | str | None = None) -> str:
        """Save it."""
        return f"{text!r} {meta!r}"

    outcome = await answer([save], "save", '{"text": "[1, 2]", "meta": "{}"}')
    assert outcome.content == "'[1, 2]' '{}'"
    assert outcome.call.repairs == ()


ERRORS = {
    "tool error": (ToolError("no such file"), "error: no such file"),
    "any other": (ValueError("bad value"), "error: bad value"),
    "without message": (RuntimeError(), "error: RuntimeError"),
    "a time-out of its own": (TimeoutError(), "error: TimeoutError"),
    "a group": (ExceptionGroup("two", [ValueError("a"), KeyError("b")]), "error: a; 'b'"),
    "stop iteration": (StopAsyncIteration("over"), "error: over"),
    "recursion": (RecursionError("too deep"), "error: too deep"),
}


@pytest.mark.parametrize(("error", "content"), ERRORS.values(), ids=ERRORS.keys())
async def test_what_a_tool_raises_is_told(error: Any, content: str) -> None:
    outcome = await answer([raising(error)], "fail")
    assert outcome.content == content
    assert (outcome.is_error, outcome.executed) == (True, True)


async def test_what_a_thread_raises_is_told() -> None:
    def run(given: Any) -> None:
        raise StopIteration

    outcome = await answer([Tool("t", "Do it.", None, run)], "t")
    assert (outcome.is_error, outcome.executed) == (True, True)


FATAL = ToolError("disk gone", fatal=True)


@pytest.mark.parametrize(
    "error",
    [FATAL, ExceptionGroup("g", [ValueError("a"), ExceptionGroup("h", [FATAL])])],
    ids=["alone", "in a group"],
)
async def test_a_fatal_error_is_raised(error: Any) -> None:
    with pytest.raises(ToolError) as caught:
        await answer([raising(error)], "fail")
    assert caught.value is FATAL
    assert not isinstance(caught.value.__context__, ExceptionGroup)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit()], ids=type)
async def test_what_is_no_failure_of_the_tool_passes(error: Any) -> None:
    call = ToolCall(id="c", name="fail")
    ready = admit([raising(error)], call)
    assert isinstance(ready, ReadyCall)
    coroutine = ready.tool.invoke(ready.value, ToolContext(call=call))
    with pytest.raises(type(error)):
        coroutine.send(None)


async def test_a_result_without_text_is_told_as_an_error_of_an_executed_tool() -> None:
    outcome = await answer([returning(b"\xff")], "give")
    assert (outcome.is_error, outcome.executed) == (True, True)
    assert outcome.content.startswith("error: ")


async def test_a_result_is_cut_and_made_harmless_as_its_tool_says() -> None:
    assert len((await answer([returning("x" * 50_000)], "give")).content) == 20_000
    assert (
        len((await answer([returning("x" * 50_000, max_result_chars=100)], "give")).content) <= 100
    )
    assert (await answer([returning("<|end|>")], "give")).content == "&lt;|end|>"
    assert (
        await answer([returning("<|end|>", keep_special_tokens=True)], "give")
    ).content == "<|end|>"


@VIRTUAL_TIME
async def test_a_tool_whose_time_is_up_is_cancelled() -> None:
    unwound = []

    async def run(given: Any) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            unwound.append(True)

    outcome = await answer([Tool("t", "Do it.", None, run, timeout_s=2.5)], "t")
    assert outcome.content == "error: the tool timed out after 2.5 s"
    assert (outcome.is_error, outcome.executed, outcome.duration_s) == (True, True, 2.5)
    assert unwound == [True]


@VIRTUAL_TIME
async def test_a_tool_that_turns_its_cancellation_into_an_error_timed_out_all_the_same() -> None:
    async def run(given: Any) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            raise ValueError("connection lost")

    outcome = await answer([Tool("t", "Do it.", None, run, timeout_s=1)], "t")
    assert outcome.content == "error: the tool timed out after 1 s"


@VIRTUAL_TIME
async def test_a_result_that_came_in_the_end_counts() -> None:
    async def run(given: Any) -> Any:
        with anyio.CancelScope(shield=True):
            await anyio.sleep(5)
        return "late"

    outcome = await answer([Tool("t", "Do it.", None, run, timeout_s=1)], "t")
    assert (outcome.content, outcome.is_error) == ("late", False)


@VIRTUAL_TIME
async def test_a_time_out_inside_of_the_tool_is_its_own_affair() -> None:
    async def run(given: Any) -> None:
        with anyio.fail_after(1):
            await anyio.sleep_forever()

    outcome = await answer([Tool("t", "Do it.", None, run, timeout_s=10)], "t")
    assert outcome.content == "error: TimeoutError"


async def test_a_thread_that_hangs_is_left_behind() -> None:
    release = threading.Event()

    def run(given: Any) -> None:
        release.wait(30)

    try:
        with anyio.fail_after(5):
            outcome = await answer([Tool("t", "Do it.", None, run, timeout_s=0.01)], "t")
    finally:
        release.set()
    assert outcome.is_error
    assert "may still take effect" in outcome.content


@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
@pytest.mark.parametrize("timeout_s", [None, 60])
async def test_a_tool_that_waits_for_what_somebody_cancelled_fails_alone(
    timeout_s: float | None,
) -> None:
    async def run(given: Any) -> None:
        other = asyncio.ensure_future(asyncio.sleep(30))
        other.cancel()
        await other

    outcome = await answer([Tool("t", "Do it.", None, run, timeout_s=timeout_s)], "t")
    assert (outcome.content, outcome.is_error, outcome.executed) == (CANCELLED, True, True)


async def test_cancellation_passes_and_reaches_the_tool() -> None:
    unwound = []
    started = anyio.Event()

    async def run(given: Any) -> None:
        started.set()
        try:
            await anyio.sleep_forever()
        finally:
            unwound.append(True)

    async with anyio.create_task_group() as group:
        group.start_soon(answer, [Tool("t", "Do it.", None, run, timeout_s=60)], "t")
        await started.wait()
        group.cancel_scope.cancel()
    assert unwound == [True]


async def test_a_validator_that_fails_is_an_error_before_anything_ran() -> None:
    def broken(value: int) -> int:
        raise RuntimeError("no database")

    @tool
    async def one(a: Annotated[int, AfterValidator(broken)]) -> None:
        """Do it."""

    outcome = await answer([one], "one", '{"a": 1}')
    assert outcome.content == "error: no database"
    assert not outcome.executed


async def test_problems_found_inside_of_a_tool_are_told_without_input_and_links() -> None:
    class Answer(BaseModel):
        count: int

    @tool
    async def one() -> None:
        """Do it."""
        Answer.model_validate({"count": "secret-input"})

    outcome = await answer([one], "one")
    assert outcome.content.startswith("error: count: ")
    assert "secret-input" not in outcome.content
    assert "http" not in outcome.content


def test_whether_a_call_may_run_is_known_before_it_does() -> None:
    call = ToolCall(id="c", name="multiply", arguments='{"a": 2}')
    ready = admit([multiply], call)
    assert isinstance(ready, ReadyCall)
    assert (ready.tool, ready.call, ready.value) == (multiply, call, {"a": 2})
    refused = admit([multiply], ToolCall(id="c", name="multiply", arguments="{}"))
    assert isinstance(refused, ToolOutcome)


@pytest.mark.parametrize(
    ("options", "origin", "runs"),
    [
        ({}, "hermes", True),
        ({"effect": "write"}, "native", True),
        ({"effect": "write"}, "heredoc", True),
        ({"effect": "write"}, "json", True),
        ({"effect": "write"}, "hermes", False),
        ({"effect": "write"}, "bare_json", False),
        ({"effect": "write", "accept_salvaged": True}, "hermes", True),
        ({"accept_salvaged": False}, "hermes", False),
        ({"accept_salvaged": False}, "native", True),
    ],
    ids=str,
)
async def test_a_call_that_came_as_text_runs_where_its_tool_takes_such(
    options: Any, origin: str, runs: bool
) -> None:
    given = returning("done", **options)
    call = ToolCall.model_construct(id="c1", name="give", arguments="{}", origin=origin)
    outcome = await execute([given], call, ToolContext(call=call))
    assert (outcome.executed, outcome.is_error, outcome.call.origin) == (runs, not runs, origin)
    if not runs:
        assert outcome.content.startswith("error: ")
        assert "NOT executed" in outcome.content
        assert "proper tool call" in outcome.content


# --- Plain arguments, without the scanner ---

ARGUMENTS = st.dictionaries(
    st.text(max_size=5),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=5), inner),
        max_leaves=5,
    ),
)


@given(ARGUMENTS, st.booleans(), st.sampled_from(["", "\n", " "]))
def test_arguments_that_need_no_mending_are_those_the_scanner_leaves_alone(
    value: dict[str, object], escaped: bool, around: str
) -> None:
    text = around + json.dumps(value, ensure_ascii=escaped) + around
    if calling._is_object(text):
        read = read_arguments(text)
        assert (read.kind, read.text, read.repairs) == ("object", text, ())


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1e999}',
        '{"a": -1E+400}',
        '{"a": ' + "1" * 400 + ".0}",
        '{"a": ' + "1" * 5000 + "}",
        '{"a": "\\ud800"}',
        '{"a": NaN}',
        '{"a": 1',
        "[1]",
        "",
    ],
    ids=lambda text: text[:16],
)
def test_arguments_that_are_not_plain_go_through_the_scanner(text: str) -> None:
    assert not calling._is_object(text)
