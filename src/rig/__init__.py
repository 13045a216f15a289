"""rig: agent loops against self-hosted, OpenAI-compatible models, on asyncio and trio."""

from typing import TYPE_CHECKING

from rig.agent.budget import Budget, Left, Price, Prices
from rig.agent.capabilities import Capabilities
from rig.agent.compaction import Compaction
from rig.agent.ledger import SharedBudget
from rig.agent.reasoning_budget import with_reasoning_budget
from rig.agent.run import RunRequest
from rig.agent.run_stream import RunStream
from rig.agent.toolbox import Toolbox
from rig.agent.tools import Tool, ToolContext, tool
from rig.agent.truncation import truncated_prompt
from rig.client.client import Client
from rig.errors import (
    Backpressure,
    BudgetExceededError,
    EmptyReplyError,
    InputTooLargeError,
    InvalidJSONError,
    InvalidRequestError,
    IterationLimitError,
    ModelNotFoundError,
    NotConfiguredError,
    NotJSONError,
    NoToolCallingError,
    OutputLimitError,
    ProtocolError,
    RateLimitedError,
    RefusedError,
    RequestTimeoutError,
    ResponseTooLargeError,
    RigError,
    ServerError,
    SkillError,
    SkillsNotFoundError,
    StreamCutError,
    ToolError,
    TruncatedToolCallError,
    UnauthorizedError,
    UpstreamError,
)
from rig.events import (
    ConstraintRefused,
    ContextTruncated,
    EndpointChanged,
    EndpointWait,
    FailedOver,
    HistoryCompacted,
    OutputRejected,
    ReasoningDelta,
    RepetitionCut,
    ReplyReceived,
    RetryEvent,
    RoundStarted,
    RouteChosen,
    RouteFellBack,
    RunEvent,
    RunFinished,
    RunResult,
    SlotWait,
    Spent,
    Termination,
    TextDelta,
    TextRetracted,
    TierFellBack,
    ToolCallArguments,
    ToolCallFinished,
    ToolCallStarted,
    ToolFinished,
    ToolFormatChanged,
    ToolOutcome,
    ToolStarted,
    UsageReported,
)
from rig.lazy import lazy_names
from rig.messages import AudioPart, ImagePart, Message, SignedThought, TextPart, ToolCall, Usage
from rig.model import (
    CallDelta,
    ChatOptions,
    ChatRequest,
    Delta,
    Model,
    Reply,
    ReplyStream,
    StreamingModel,
    ToolSpec,
)
from rig.skills import Skill, advertise, load_skill_tool, load_skills, merge_skills, preloaded
from rig.text.repetition import Repetition, RepetitionGuard
from rig.transport.http import Timeouts
from rig.transport.retry import RetryPolicy
from rig.wire.dialect import Dialect
from rig.wire.dialects import DIALECTS
from rig.wire.sse_frames import to_sse
from rig.wire.transient import is_transient, transient_reason

if TYPE_CHECKING:  # loaded with their first use: the table below says the same
    from rig.client.probes.advice import Advice, advise
    from rig.client.probes.finding import Finding
    from rig.client.probes.profile import EndpointProfile
    from rig.client.probes.tool_surface import EchoResult, GrammarResult, ToolSurface
    from rig.client.session import Session
    from rig.gateway.categories import Category
    from rig.gateway.classify import ClassifierPolicy
    from rig.gateway.codes import GatewayFault, gateway_code, gateway_fault
    from rig.gateway.documents import DOCUMENTS_RULE, Document, context_block, with_documents
    from rig.gateway.endpoint import Endpoint, EndpointStatus
    from rig.gateway.gateway import Gateway
    from rig.gateway.policy import PoolPolicy
    from rig.gateway.pool import Pool
    from rig.gateway.route import Route
    from rig.gateway.router import Router
    from rig.gateway.streaming import stream_complete
    from rig.gateway.tiers import Tier, TierModel, parse_tier
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "rig.client.probes.advice": ("Advice", "advise"),
            "rig.client.probes.finding": ("Finding",),
            "rig.client.probes.profile": ("EndpointProfile",),
            "rig.client.probes.tool_surface": ("EchoResult", "GrammarResult", "ToolSurface"),
            "rig.client.session": ("Session",),
            "rig.gateway.categories": ("Category",),
            "rig.gateway.classify": ("ClassifierPolicy",),
            "rig.gateway.codes": ("GatewayFault", "gateway_code", "gateway_fault"),
            "rig.gateway.documents": (
                "DOCUMENTS_RULE",
                "Document",
                "context_block",
                "with_documents",
            ),
            "rig.gateway.endpoint": ("Endpoint", "EndpointStatus"),
            "rig.gateway.gateway": ("Gateway",),
            "rig.gateway.policy": ("PoolPolicy",),
            "rig.gateway.pool": ("Pool",),
            "rig.gateway.route": ("Route",),
            "rig.gateway.router": ("Router",),
            "rig.gateway.streaming": ("stream_complete",),
            "rig.gateway.tiers": ("Tier", "TierModel", "parse_tier"),
        },
    )

__all__ = [
    "DIALECTS",
    "DOCUMENTS_RULE",
    "Advice",
    "AudioPart",
    "Backpressure",
    "Budget",
    "BudgetExceededError",
    "CallDelta",
    "Capabilities",
    "Category",
    "ChatOptions",
    "ChatRequest",
    "ClassifierPolicy",
    "Client",
    "Compaction",
    "ConstraintRefused",
    "ContextTruncated",
    "Delta",
    "Dialect",
    "Document",
    "EchoResult",
    "EmptyReplyError",
    "Endpoint",
    "EndpointChanged",
    "EndpointProfile",
    "EndpointStatus",
    "EndpointWait",
    "FailedOver",
    "Finding",
    "Gateway",
    "GatewayFault",
    "GrammarResult",
    "HistoryCompacted",
    "ImagePart",
    "InputTooLargeError",
    "InvalidJSONError",
    "InvalidRequestError",
    "IterationLimitError",
    "Left",
    "Message",
    "Model",
    "ModelNotFoundError",
    "NoToolCallingError",
    "NotConfiguredError",
    "NotJSONError",
    "OutputLimitError",
    "OutputRejected",
    "Pool",
    "PoolPolicy",
    "Price",
    "Prices",
    "ProtocolError",
    "RateLimitedError",
    "ReasoningDelta",
    "RefusedError",
    "Repetition",
    "RepetitionCut",
    "RepetitionGuard",
    "Reply",
    "ReplyReceived",
    "ReplyStream",
    "RequestTimeoutError",
    "ResponseTooLargeError",
    "RetryEvent",
    "RetryPolicy",
    "RigError",
    "RoundStarted",
    "Route",
    "RouteChosen",
    "RouteFellBack",
    "Router",
    "RunEvent",
    "RunFinished",
    "RunRequest",
    "RunResult",
    "RunStream",
    "ServerError",
    "Session",
    "SharedBudget",
    "SignedThought",
    "Skill",
    "SkillError",
    "SkillsNotFoundError",
    "SlotWait",
    "Spent",
    "StreamCutError",
    "StreamingModel",
    "Termination",
    "TextDelta",
    "TextPart",
    "TextRetracted",
    "Tier",
    "TierFellBack",
    "TierModel",
    "Timeouts",
    "Tool",
    "ToolCall",
    "ToolCallArguments",
    "ToolCallFinished",
    "ToolCallStarted",
    "ToolContext",
    "ToolError",
    "ToolFinished",
    "ToolFormatChanged",
    "ToolOutcome",
    "ToolSpec",
    "ToolStarted",
    "ToolSurface",
    "Toolbox",
    "TruncatedToolCallError",
    "UnauthorizedError",
    "UpstreamError",
    "Usage",
    "UsageReported",
    "advertise",
    "advise",
    "context_block",
    "gateway_code",
    "gateway_fault",
    "is_transient",
    "load_skill_tool",
    "load_skills",
    "merge_skills",
    "parse_tier",
    "preloaded",
    "stream_complete",
    "to_sse",
    "tool",
    "transient_reason",
    "truncated_prompt",
    "with_documents",
    "with_reasoning_budget",
]
