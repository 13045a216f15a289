"""What a system prompt says of the `@@call` dialect. No I/O, stdlib only.

The order is part of it, small models go by what they read first and last: how to call, at once the batch,
then values, then bodies, and the tools at the end.
"""

from collections.abc import Iterable
from typing import Final

from rig.text.grammar import MAX_BATCH
from rig.text.tool_list import PromptTool, tool_list

_ONE: Final = """\
Use the tools below by writing calls. A call stands on lines of its own, in exactly this form:

@@call read_file
{path: "notes.txt"}
@@end
"""
_BATCH: Final = """
Write up to {max_calls} calls in one reply when they are independent of each other:

@@call read_file
{{path: "a.txt"}}
@@end
@@call read_file
{{path: "b.txt"}}
@@end

When a call needs the result of another one, write the first, stop, and wait for its result.
"""
_VALUES: Final = """
Arguments are one ordinary JSON object.
"""
_BODIES: Final = """\
A long or multi-line string stands as a body:

@@call write_file
{path: "Main.java", content: ~~~java
class Main {
    String home = "C:\\\\temp";
}
~~~java
}
@@end

A body is raw text: nothing in it is escaped. It begins behind the line ~~~ with a tag, always with a tag, \
and ends at a line that repeats ~~~ with the same tag. Short strings stay in double quotes.
"""
_ANSWER: Final = """\
Without a call, your reply is the answer.
"""
_TOOLS: Final = "\nTools:\n"


def heredoc_prompt(
    tools: Iterable[PromptTool], *, max_calls: int = MAX_BATCH, bodies: bool = True
) -> str:
    """The part of a system prompt that explains calls and lists the tools.

    Args:
        tools: what the model may call, in the order it is shown them.
        max_calls: calls of one reply; with 1 nothing is said of several.
        bodies: False says nothing of bodies.
    """
    batch = _BATCH.format(max_calls=max_calls) if max_calls > 1 else ""
    values = _VALUES + _BODIES if bodies else _VALUES
    return f"{_ONE}{batch}{values}{_ANSWER}{_TOOLS}{tool_list(tools)}"
