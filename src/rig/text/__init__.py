"""What can be done with a reply's text alone: reasoning, JSON, arguments and calls. No I/O, stdlib only."""

from typing import TYPE_CHECKING

from rig.lazy import lazy_names

if TYPE_CHECKING:  # loaded with their first use: the table below says the same
    from rig.text.arguments import Arguments, read_arguments
    from rig.text.coerce import coerce_text
    from rig.text.grammar import grammar_for, json_call_grammar, json_grammar
    from rig.text.heredoc import (
        HEREDOC_STOP,
        HeredocCall,
        HeredocReply,
        close_heredoc,
        parse_heredoc,
        render_call,
    )
    from rig.text.heredoc_instructions import heredoc_prompt
    from rig.text.json_calls import json_calls_prompt, parse_json_calls, render_json_call
    from rig.text.json_object import decode_json_object
    from rig.text.json_repair import Repair, is_truncation, repair_json
    from rig.text.json_scanner import Scan, scan_json
    from rig.text.orphan_closer import OrphanCloserFilter
    from rig.text.pieces import Piece
    from rig.text.reasoning import (
        Separated,
        separate_reasoning,
        strip_orphan_closer,
        strip_reasoning,
    )
    from rig.text.reasoning_filter import ReasoningFilter
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "rig.text.arguments": ("Arguments", "read_arguments"),
            "rig.text.coerce": ("coerce_text",),
            "rig.text.grammar": ("grammar_for", "json_call_grammar", "json_grammar"),
            "rig.text.heredoc": (
                "HEREDOC_STOP",
                "HeredocCall",
                "HeredocReply",
                "close_heredoc",
                "parse_heredoc",
                "render_call",
            ),
            "rig.text.heredoc_instructions": ("heredoc_prompt",),
            "rig.text.json_calls": ("json_calls_prompt", "parse_json_calls", "render_json_call"),
            "rig.text.json_object": ("decode_json_object",),
            "rig.text.json_repair": ("Repair", "is_truncation", "repair_json"),
            "rig.text.json_scanner": ("Scan", "scan_json"),
            "rig.text.orphan_closer": ("OrphanCloserFilter",),
            "rig.text.pieces": ("Piece",),
            "rig.text.reasoning": (
                "Separated",
                "separate_reasoning",
                "strip_orphan_closer",
                "strip_reasoning",
            ),
            "rig.text.reasoning_filter": ("ReasoningFilter",),
        },
    )

__all__ = [
    "HEREDOC_STOP",
    "Arguments",
    "HeredocCall",
    "HeredocReply",
    "OrphanCloserFilter",
    "Piece",
    "ReasoningFilter",
    "Repair",
    "Scan",
    "Separated",
    "close_heredoc",
    "coerce_text",
    "decode_json_object",
    "grammar_for",
    "heredoc_prompt",
    "is_truncation",
    "json_call_grammar",
    "json_calls_prompt",
    "json_grammar",
    "parse_heredoc",
    "parse_json_calls",
    "read_arguments",
    "render_call",
    "render_json_call",
    "repair_json",
    "scan_json",
    "separate_reasoning",
    "strip_orphan_closer",
    "strip_reasoning",
]
