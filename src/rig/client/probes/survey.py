"""The probes in a row: what each saw is known to the next.

It awaits; what is asked and what the answers mean are decided elsewhere.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import anyio

from rig.client.probes.facts import Facts
from rig.client.probes.identify import look_at_template, look_further
from rig.client.probes.judge import judge_profile
from rig.client.probes.known import Known
from rig.client.probes.limits import BUDGET_S
from rig.client.probes.line import Line, observe
from rig.client.probes.observed import Observed
from rig.client.probes.plan import ABORT, STEPS, SURFACE, Step, tokens_per_s
from rig.client.probes.profile import EndpointProfile
from rig.client.probes.running import COUNTERS, GONE_S, Busy, Counter, Departure
from rig.client.probes.tool_surface import ToolSurface, read_surface
from rig.client.requester import ask
from rig.errors import UnauthorizedError
from rig.model import ChatRequest

PROBE_TIMEOUT_S = 12.0
"""Seconds for one probe. The longest asks for 160 tokens, which a processor writes in four; a model that
thinks has room for 500 more on a graphics card."""

SURFACE_TIMEOUT_S = 60.0
"""The same where only the tool surface is probed, and no budget bounds the whole."""

MAX_COUNTER_BYTES = 4 << 20
"""Bytes that are read of a server's counters. vLLM's are 100 KB; llama.cpp's slots may hold prompts."""

OnProbe = Callable[[str, int, int], None]
"""Told before each probe: its name, its number from 1, and how many there are."""

FIRST = ("server",)
MORE = ("template", "window and tokenizer")
TOTAL = len(FIRST) + len(MORE) + len(STEPS)
"""Probes of a profile, those that generate nothing among them."""

_UNANSWERED = "a plain question is not answered"


async def survey_tools(line: Line, model: str) -> ToolSurface:
    """What an endpoint does with arguments and grammars: eight requests, one after the other.

    Args:
        line: reaches the endpoint.
        model: the model's name.
    """
    survey = Survey(line, model, Facts(), steps=SURFACE)
    for step in SURFACE:
        await survey.take(step, SURFACE_TIMEOUT_S)
    return read_surface(model, survey.seen)


class Survey:
    """One endpoint while it is probed.

    Args:
        line: reaches the endpoint.
        model: the model's name.
        facts: what the endpoint said of itself.
        steps: the probes that generate.
        started: when all of it was begun, on the event loop's clock.
        budget_s: seconds for all of it.
        on_probe: told before each probe.

    Attributes:
        seen: what the probes saw so far.
    """

    def __init__(
        self,
        line: Line,
        model: str,
        facts: Facts,
        *,
        steps: Sequence[Step] = STEPS,
        started: float = 0.0,
        budget_s: float = BUDGET_S,
        on_probe: OnProbe | None = None,
    ) -> None:
        self.seen: dict[str, Observed] = {}
        self._line = line
        self._model = model
        self._facts = facts
        self._steps = steps
        self._on_probe = on_probe
        self._budget_s = budget_s
        self._started = started
        self._index = len(FIRST)
        self._departure = Departure(why="it was not asked")

    @property
    def known(self) -> Known:
        """All that was found out so far."""
        spoken = self._line.dialect_for(self._model)
        return Known(model=self._model, spoken=spoken, facts=self._facts, seen=self.seen)

    async def run(self) -> EndpointProfile:
        """Take all steps and judge what they saw.

        Raises:
            UnauthorizedError: the endpoint wants another key.
        """
        self._tell("template")
        with anyio.move_on_after(self._left_s()):
            self._facts = await look_at_template(self._line, self._facts, self._model)
        for step in self._steps:
            self._tell(step.name)
            await self._take_in_time(step)
            if step.name == "plain":
                self._check_key()
                self._tell("window and tokenizer")
                await self._look_further()
        return judge_profile(
            self.known,
            self._departure,
            measured_at=datetime.now(UTC),
            took_s=anyio.current_time() - self._started,
        )

    async def take(self, step: Step, timeout_s: float) -> None:
        """Take one step: one request, or none where it has no sense.

        Args:
            step: which.
            timeout_s: seconds for it.
        """
        request = step.prepare(self.known)
        if isinstance(request, str):
            observed = Observed(skipped=request)
        elif step.name == ABORT:
            observed = await self._leave(step, request, timeout_s)
        else:
            observed = await observe(
                self._line,
                request,
                timeout_s=timeout_s,
                streamed=step.streamed,
                leave_after=step.leave_after,
            )
        self.seen[step.name] = observed
        if step.name == ABORT and observed.skipped:
            self._departure = Departure(why=observed.skipped)

    def _left_s(self) -> float:
        """Seconds left for everything, 0 when there are none."""
        return max(0.0, self._budget_s - (anyio.current_time() - self._started))

    async def _look_further(self) -> None:
        """Ask what is sure only once the model has answered."""
        if self.seen["plain"].reply is not None:
            with anyio.move_on_after(self._left_s()):
                self._facts = await look_further(self._line, self._facts, self._model)

    async def _take_in_time(self, step: Step) -> None:
        """Take a step, unless there is no time left, or no sense in asking this endpoint anything."""
        left_s = self._left_s()
        plain = self.seen.get("plain")
        why = ""
        if plain is not None and plain.reply is None:
            why = _UNANSWERED
        elif left_s <= 0:
            why = f"the {round(self._budget_s, 1):g} s of the profile were used up"
        if why:
            self.seen[step.name] = Observed(skipped=why)
            self._departure = Departure(why=why)
        else:
            await self.take(step, min(PROBE_TIMEOUT_S, left_s))

    async def _leave(self, step: Step, request: ChatRequest, timeout_s: float) -> Observed:
        """Leave a stream while the server's counters are watched."""
        counter = COUNTERS.get(self._facts.server)
        if counter is None:
            return Observed(skipped="the server has no counter of running requests that rig knows")
        during: Busy | None = None

        async def look() -> None:
            nonlocal during
            during = await self._count(counter)

        observed = await observe(
            self._line,
            request,
            timeout_s=timeout_s,
            streamed=True,
            leave_after=step.leave_after,
            leaving=look,
        )
        if not observed.left:
            return Observed(skipped=f"the stream could not be left: {observed.why}")
        if during is None:
            return Observed(skipped="the server does not show its counters")
        await anyio.sleep(GONE_S)
        after = await self._count(counter)
        if after is None:
            return Observed(skipped="the server does not show its counters")
        speed = tokens_per_s(self.known) or 0.0
        rest_s = (request.max_tokens - observed.pieces) / speed if speed else 0.0
        self._departure = Departure(during=during, after=after, rest_s=rest_s)
        return observed

    async def _count(self, counter: Counter) -> Busy | None:
        """What the server works on; None where it does not say."""
        answer = await ask(self._line.requester, "GET", counter.path, max_bytes=MAX_COUNTER_BYTES)
        return counter.read(answer.body) if answer.verdict == "ok" else None

    def _tell(self, name: str) -> None:
        self._index += 1
        if self._on_probe is not None:
            self._on_probe(name, self._index, TOTAL)

    def _check_key(self) -> None:
        """Stop where nothing can be learned without another key.

        Raises:
            UnauthorizedError: the plain question was refused for it.
        """
        failure = self.seen["plain"].failure
        if failure is not None and failure.code == UnauthorizedError.code:
            raise UnauthorizedError(
                "the endpoint refused the credentials; check api_key",
                status=failure.status,
                detail=failure.detail,
            )
