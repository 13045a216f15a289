"""What is left of calls, and what models invent behind them. No I/O."""

from typing import Final

from rig.text.salvage import deepseek, hermes, kimi, lmstudio, mistral
from rig.text.salvage.blocks import Block, Dialect
from rig.text.salvage.source import Source

_CLOSERS: Final = (
    *hermes.CLOSERS,
    *mistral.CLOSERS,
    *kimi.CLOSERS,
    *deepseek.CLOSERS,
    *lmstudio.CLOSERS,
    "<|/tool_call|>",
    "<|tool_call_end|>",
    "<tool_call|>",
    "<end_function_call>",
    "</tool_code>",
    "<|tools_suffix|>",
    "<|end_action|>",
    "<|action_end|>",
    "<|python_end|>",
    "<|eom_id|>",
    "<|call|>",
)

_INVENTED_LINES: Final = ("observation:", "**observation:**", "final answer:", "tool output:")
_INVENTED_TAGS: Final = (
    "<tool_response>",
    "<tool_result>",
    "<tool_results>",
    "<function_results>",
    "<function_result>",
    "<function_response>",
    "<|tool_response>",
    "<|observation|>",
    "<start_function_response>",
    "[tool_results]",
    "[tool_result]",
    "<|im_start|>",
    "<|start_header_id|>",
    "<start_of_turn>",
    "<|start|>functions.",
    "<\uff5ctool\u2581outputs\u2581begin\uff5c>",
    "<\uff5cuser\uff5c>",
    "\u273fresult\u273f",
)


def _read_closer(source: Source, start: int) -> Block | None:
    """A closing tag at the edge of a line. Inside of one it is a word of a text about calls."""
    closer = next(one for one in BY_LENGTH if source.lower.startswith(one, start))
    end = start + len(closer)
    line = source.line_end(end)
    source.charge(line - end)
    blank_behind = not source.text[end:line].strip()
    if blank_behind or source.is_line_start(start):
        return Block(end=end, unfinished=line == len(source.text))
    return None


def _read_invented(source: Source, start: int) -> Block | None:
    """What follows a call that the model did not wait for (eosphoros-ai/DB-GPT 3074)."""
    tag = source.text[start] in "<[\u273f"
    return Block(end=len(source.text), last=True) if tag or source.is_line_start(start) else None


BY_LENGTH: Final = tuple(sorted(_CLOSERS, key=len, reverse=True))
CLOSER: Final = Dialect(name="closer", marks=BY_LENGTH, read=_read_closer)
INVENTED: Final = Dialect(
    name="invented", marks=(*_INVENTED_LINES, *_INVENTED_TAGS), read=_read_invented
)
