"""Tool calls that a model wrote as text. No I/O, stdlib only."""

from rig.text.salvage.calls import OfferedTool, Problem, Salvaged, SalvagedCall
from rig.text.salvage.gate import SalvageGate, ThoughtGate
from rig.text.salvage.text import salvage, salvage_thought

__all__ = [
    "OfferedTool",
    "Problem",
    "SalvageGate",
    "Salvaged",
    "SalvagedCall",
    "ThoughtGate",
    "salvage",
    "salvage_thought",
]
