"""LM Studio, for models without a template of their own: `[TOOL_REQUEST]{..}[END_TOOL_REQUEST]`. No I/O."""

from typing import Final

from rig.text.salvage.tagged import tagged

CLOSERS: Final = ("[end_tool_request]",)

DIALECT: Final = tagged("lmstudio", ("[tool_request]",), CLOSERS)
