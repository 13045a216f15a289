"""What can be done with a reply's text alone: reasoning, JSON and arguments. No I/O, stdlib only."""

from rig.text.arguments import Arguments, read_arguments
from rig.text.coerce import coerce_text
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
    "Arguments",
    "OrphanCloserFilter",
    "Piece",
    "ReasoningFilter",
    "Repair",
    "Scan",
    "Separated",
    "coerce_text",
    "decode_json_object",
    "is_truncation",
    "read_arguments",
    "repair_json",
    "scan_json",
    "separate_reasoning",
    "strip_orphan_closer",
    "strip_reasoning",
]
