"""What can be done with a reply's text alone: reasoning, JSON, arguments and calls. No I/O, stdlib only."""

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
from rig.text.heredoc_prompt import heredoc_prompt
from rig.text.json_calls import json_calls_prompt, parse_json_calls, render_json_call
from rig.text.json_object import decode_json_object
from rig.text.json_repair import Repair, is_truncation, repair_json
from rig.text.json_scanner import Scan, scan_json
from rig.text.reasoning import (
    OrphanCloserFilter,
    Piece,
    ReasoningFilter,
    Separated,
    separate_reasoning,
    strip_orphan_closer,
    strip_reasoning,
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
