"""What users test their agents with: fakes on the wire, a scripted model, a real local model."""

from rig.testing import faults
from rig.testing.answers import (
    Answer,
    Framing,
    Repeat,
    Responder,
    answer,
    chunk,
    chunked,
    deflated,
    gzipped,
    head,
    raw,
    repeat,
)
from rig.testing.backend import FakeBackend
from rig.testing.completions import (
    Call,
    call_deltas,
    completion,
    encode_event,
    models,
    reply,
    sse,
    stream,
)
from rig.testing.connections import Connections
from rig.testing.examples import example_exchanges
from rig.testing.local import LocalModel
from rig.testing.received import ReceivedRequest
from rig.testing.scripted import ScriptedModel, ScriptedReply
from rig.testing.sockets import refused_url
from rig.testing.steps import Close, Hang, Pause, Reset, Step, Until

__all__ = [
    "Answer",
    "Call",
    "Close",
    "Connections",
    "FakeBackend",
    "Framing",
    "Hang",
    "LocalModel",
    "Pause",
    "ReceivedRequest",
    "Repeat",
    "Reset",
    "Responder",
    "ScriptedModel",
    "ScriptedReply",
    "Step",
    "Until",
    "answer",
    "call_deltas",
    "chunk",
    "chunked",
    "completion",
    "deflated",
    "encode_event",
    "example_exchanges",
    "faults",
    "gzipped",
    "head",
    "models",
    "raw",
    "refused_url",
    "repeat",
    "reply",
    "sse",
    "stream",
]
