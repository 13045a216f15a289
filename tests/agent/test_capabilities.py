from rig.agent.capabilities import Capabilities, Profiled


def test_capabilities_are_what_has_capabilities() -> None:
    known = Capabilities(grammar=True)
    assert known.capabilities is known
    assert isinstance(known, Profiled)


def test_nothing_is_known_unless_it_is_said() -> None:
    known = Capabilities()
    assert (known.native_tools, known.grammar, known.json_schema) == (None, None, None)
