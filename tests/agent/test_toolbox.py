from typing import Any
from weakref import ref

import pytest

from rig.agent.toolbox import MAX_TOOLS, Toolbox, validate_tools
from rig.agent.tools import Tool, tool
from rig.errors import InvalidRequestError


def made(name: Any, *tags: Any) -> Any:
    return Tool(name, "Do it.", None, lambda given: "", tags=tags)


READ = made("read", "files", "safe")
WRITE = made("write", "files")
SEARCH = made("search", "web")
PLAIN = made("plain")
BOX = Toolbox([READ, WRITE, SEARCH, PLAIN])


def test_a_toolbox_is_a_sequence_in_the_order_given() -> None:
    assert list(BOX) == [READ, WRITE, SEARCH, PLAIN]
    assert len(BOX) == 4
    assert BOX[0] is READ
    assert list(BOX[1:3]) == [WRITE, SEARCH]
    assert BOX.names == ("read", "write", "search", "plain")
    assert not Toolbox()


def test_tools_are_found_by_name() -> None:
    assert BOX["write"] is WRITE
    assert BOX.get("write") is WRITE
    assert BOX.get("missing") is None
    name: object = "write"
    assert name in BOX
    assert WRITE in BOX
    missing: object = "missing"
    assert missing not in BOX
    with pytest.raises(KeyError):
        BOX["missing"]


FOUND = {
    "exactly": ("read", READ),
    "cut at a special token": ("read<|channel|>commentary", READ),
    "cut at a tag": ("read </tool_call>", READ),
    "another case is another name": ("Read", None),
    "markup first": ("<read", None),
    "blank": ("", None),
    "unknown head": ("red<|x|>", None),
}


@pytest.mark.parametrize(("name", "expected"), FOUND.values(), ids=FOUND.keys())
def test_what_a_model_means_by_a_name(name: str, expected: Any) -> None:
    assert BOX.find(name) is expected


def test_tools_are_selected_by_any_of_the_tags() -> None:
    assert BOX.select("files").names == ("read", "write")
    assert BOX.select("web", "safe").names == ("read", "search")
    assert BOX.select("unknown").names == ()
    assert BOX.select() is BOX


@pytest.mark.parametrize(
    ("tags", "match", "names"),
    [
        (("files",), "all", ["a", "b"]),
        (("files", "slow"), "all", ["b"]),
        (("files", "slow"), "any", ["a", "b", "c"]),
        (("files", "net"), "all", []),
        ((), "all", ["a", "b", "c"]),
    ],
)
def test_tools_are_selected_by_any_or_by_all_of_the_tags(
    tags: Any, match: Any, names: list[str]
) -> None:
    box = Toolbox([made("a", "files"), made("b", "files", "slow"), made("c", "slow")])
    assert list(box.select(*tags, match=match).names) == names
    assert box.tags == ("files", "slow")


def test_tags_are_matched_in_no_other_way() -> None:
    wrong: Any = "some"
    with pytest.raises(InvalidRequestError):
        Toolbox().select("files", match=wrong)


def test_a_brief_box_says_one_sentence_of_each_tool() -> None:
    @tool
    async def look(where: str) -> str:
        """Look it up. Slow for large pages, so ask for small ones.

        Args:
            where: the place.
        """
        return f"there: {where}"

    plain = made("a")
    box = Toolbox([look, plain])
    brief = box.brief()
    assert [one.description for one in brief] == ["Look it up.", plain.description]
    assert brief[1] is plain
    assert box["look"].description.endswith("small ones.")
    assert brief["look"].input_schema == look.input_schema
    assert brief["look"].check('{"where": "x"}').value == {"where": "x"}


def test_boxes_are_joined_and_never_change() -> None:
    joined = Toolbox([READ]) + Toolbox([WRITE])
    assert joined.names == ("read", "write")
    assert BOX.names == ("read", "write", "search", "plain")
    with pytest.raises(InvalidRequestError):
        BOX + Toolbox([READ])


def test_double_names_are_named() -> None:
    with pytest.raises(InvalidRequestError) as caught:
        Toolbox([READ, WRITE, made("read"), made("write"), PLAIN])
    assert '"read", "write"' in caught.value.message
    assert "plain" not in caught.value.message


@pytest.mark.parametrize(
    "tools",
    [[lambda: 1], ["read"], READ, None, 3, "read"],
    ids=["functions", "names", "one tool", "nothing", "a number", "a name"],
)
def test_what_is_no_tool_is_refused(tools: Any) -> None:
    with pytest.raises(InvalidRequestError):
        validate_tools(tools)


def test_validated_tools_are_a_box() -> None:
    assert validate_tools(BOX) is BOX
    assert validate_tools(iter([READ])).names == ("read",)
    assert validate_tools(()).names == ()


def test_a_list_of_tools_is_what_it_is_now() -> None:
    one, two = made("one"), made("two")
    given = [one, two]
    assert [*validate_tools(given)] == [*validate_tools((one, two))] == given
    given.reverse()
    for other in (given, [one], [one, two, made("three")], [one, made("two")], []):
        assert [*validate_tools(other)] == other


def test_a_tool_keeps_none_of_the_tools_it_was_used_with() -> None:
    """Tools of one request often hold what belongs to it, beside others that a program has all along."""

    class Connection:
        pass

    def asked_for_once() -> "ref[Connection]":
        connection = Connection()
        validate_tools([READ, Tool("ask", "Ask.", None, lambda _given: connection)])
        return ref(connection)

    assert asked_for_once()() is None


def test_a_tool_under_another_description_is_in_no_box_of_the_first() -> None:
    one = made("one")
    box = validate_tools([one])
    other = one.described("Do something else.")
    assert [*validate_tools([other])] == [other]
    assert [*box] == [one]


class Anything:
    """Equal to everything, as stand-ins in tests are."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = object.__hash__


def test_what_only_says_that_it_equals_a_tool_is_none() -> None:
    one = made("one")
    validate_tools([one, made("two")])
    with pytest.raises(InvalidRequestError):
        validate_tools([one, Anything()])  # type: ignore[list-item]


def test_a_box_may_hold_more_than_a_request_may_offer() -> None:
    box = Toolbox(made(f"t{i}") for i in range(MAX_TOOLS + 1))
    with pytest.raises(InvalidRequestError):
        validate_tools(box)
    assert len(validate_tools(box[:MAX_TOOLS])) == MAX_TOOLS


def test_the_tools_of_a_box_can_not_be_changed() -> None:
    box: Any = Toolbox([READ])
    with pytest.raises(AttributeError):
        box.tools = ()
    assert box.tools == (READ,)
