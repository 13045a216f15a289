"""Tool calls that a model wrote as text. No I/O, stdlib only."""

from typing import TYPE_CHECKING

from rig.lazy import lazy_names
from rig.text.salvage.calls import OfferedTool, Problem, Salvaged, SalvagedCall

if TYPE_CHECKING:  # loaded with their first use, some forty modules with them
    from rig.text.salvage.gate import SalvageGate, ThoughtGate
    from rig.text.salvage.text import salvage, salvage_thought
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "rig.text.salvage.gate": ("SalvageGate", "ThoughtGate"),
            "rig.text.salvage.text": ("salvage", "salvage_thought"),
        },
    )

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
