"""What an endpoint really does: the probes, what they mean, and what to change."""

from rig.client.probes.advice import Advice, advise
from rig.client.probes.finding import Finding
from rig.client.probes.profile import EndpointProfile
from rig.client.probes.tool_surface import EchoResult, GrammarResult, ToolSurface

__all__ = [
    "Advice",
    "EchoResult",
    "EndpointProfile",
    "Finding",
    "GrammarResult",
    "ToolSurface",
    "advise",
]
