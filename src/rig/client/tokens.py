"""Counting tokens with the server's own tokenizer, wherever it has one."""

from collections.abc import Callable, Sequence

import anyio

from rig.client.findings import FOREVER_S, Finding, Findings
from rig.client.places import first_found
from rig.client.requester import Answer, Requester, ask
from rig.messages import Message
from rig.model import ToolSpec
from rig.wire.model_path import model_path
from rig.wire.token_routes import PROBE_TEXT, TOKEN_ROUTES, PromptRoute, TokenRoute
from rig.wire.tokens import PromptCount, decode_count, decode_prompt, plain_text

MAX_COUNT_BYTES = 8 << 20
"""Decoded bytes of an answer to a count: llama.cpp and vLLM list every token, some seven bytes each,
so a text of a million tokens passes."""

COUNT_TIMEOUT_S = 30.0
"""Seconds for one count. A megabyte is tokenized in well under a second; the rest is for a machine
whose cores are all generating. A count that takes longer is not worth the wait: estimate instead."""

FIND_TIMEOUT_S = 30.0
"""Seconds for finding out where a server counts, all its paths together."""

_PROBE = Message(role="user", content=PROBE_TEXT)


class TokenCounter:
    """Counts texts and prompts for one endpoint.

    Where it counts is found out with the first count, and then kept: a route that was found for ever,
    its absence for a minute (`rig.client.findings.ABSENT_S`), a failure not at all. Nothing is repeated, and no slot is taken:
    tokenizers work beside the model.

    Args:
        requester: who sends.
        clock: monotonic seconds.
    """

    def __init__(
        self, requester: Requester, *, clock: Callable[[], float] = anyio.current_time
    ) -> None:
        self._requester = requester
        self._routes = Findings(self._find_route, clock=clock)
        self._prompts = Findings(self._find_prompt_route, clock=clock)

    async def has_tokenizer(self, model: str) -> bool:
        """Whether texts can be counted.

        Args:
            model: its name, or "".

        Raises:
            RigError: the request can't be sent.
        """
        route = await self._routes.get(model)
        return route is not None and route.text is not None

    async def count_text(self, text: str, model: str) -> int | None:
        """The number of tokens of a text, None when it can't be had.

        Args:
            text: the text.
            model: its name, or "".

        Raises:
            RigError: the request can't be sent.
        """
        route = await self._routes.get(model)
        if route is None or route.text is None:
            return None
        return await self._count(route.path, model, route.text(model, text))

    async def count_prompt(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], model: str
    ) -> PromptCount | None:
        """The number of tokens of a prompt, None when it can't be had.

        Args:
            messages: the conversation as it would be sent.
            tools: what is offered.
            model: its name, or "".

        Raises:
            RigError: the request can't be sent.
        """
        route = await self._routes.get(model)
        if route is None:
            return None
        prompt = await self._prompts.get(model)
        if prompt is not None:
            count = await self._count_by(prompt, route, messages, tools, model)
            if count is not None:
                return PromptCount(count, exact=True)
        count = await self.count_text(plain_text(messages, tools), model)
        return None if count is None else PromptCount(count, exact=False)

    async def _find_route(self, model: str) -> Finding[TokenRoute]:
        return await first_found(
            [route for route in TOKEN_ROUTES if model or not route.needs_model],
            lambda route: self._post(route.path, model, _probe(route, model)),
            _read_route,
            timeout_s=FIND_TIMEOUT_S,
        )

    async def _find_prompt_route(self, model: str) -> Finding[PromptRoute]:
        route = await self._routes.get(model)
        if route is None:
            return Finding(None)
        return await first_found(
            route.prompts,
            lambda prompt: self._post(prompt.path, model, prompt.body(model, [_PROBE], ())),
            _read_prompt_route,
            timeout_s=FIND_TIMEOUT_S,
        )

    async def _count_by(
        self,
        prompt: PromptRoute,
        route: TokenRoute,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        model: str,
    ) -> int | None:
        body = prompt.body(model, messages, tools)
        if not prompt.renders or route.rendered is None:
            return await self._count(prompt.path, model, body)
        answer = Answer("unreachable")
        with anyio.move_on_after(COUNT_TIMEOUT_S):
            answer = await self._post(prompt.path, model, body)
        text = decode_prompt(answer.body)
        if text is None:
            return None
        return await self._count(route.path, model, route.rendered(model, text))

    async def _count(self, path: str, model: str, body: bytes) -> int | None:
        answer = Answer("unreachable")
        with anyio.move_on_after(COUNT_TIMEOUT_S):
            answer = await self._post(path, model, body)
        return decode_count(answer.body)

    async def _post(self, template: str, model: str, body: bytes) -> Answer:
        path = model_path(template, model)
        if path is None:
            return Answer("absent")
        return await ask(self._requester, "POST", path, body, max_bytes=MAX_COUNT_BYTES)


def _probe(route: TokenRoute, model: str) -> bytes:
    if route.text is not None:
        return route.text(model, PROBE_TEXT)
    return route.prompts[0].body(model, (), ())


def _read_route(route: TokenRoute, body: bytes) -> Finding[TokenRoute] | None:
    return None if decode_count(body) is None else Finding(route, FOREVER_S)


def _read_prompt_route(prompt: PromptRoute, body: bytes) -> Finding[PromptRoute] | None:
    said = decode_prompt(body) if prompt.renders else decode_count(body)
    return None if said is None else Finding(prompt, FOREVER_S)
