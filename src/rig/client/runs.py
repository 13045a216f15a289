"""What a run is asked for, made of the keywords of `run`. Loaded with the first run, and the loop with it. No I/O."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rig.agent.request import Prompt, RunRequest, request_of
from rig.agent.run import run
from rig.agent.run_stream import stream_run
from rig.agent.toolbox import validate_tools
from rig.client.running import DEFAULTS, RunMixin
from rig.errors import InvalidRequestError

__all__ = ["run", "run_request", "stream_run"]


def run_request(
    model: RunMixin, prompt: Prompt | RunRequest[Any], given: Mapping[str, Any]
) -> RunRequest[Any]:
    """The request that the keywords make.

    Args:
        model: what is asked: it names the model where nobody does, and may know a limit of replies.
        prompt: the user's message, or the request itself.
        given: the keywords, those of a call.

    Raises:
        InvalidRequestError: an argument can't be used.
    """
    if isinstance(prompt, RunRequest):
        _check_alone(given)
        return replace(prompt, model=model.named_model(prompt.model))
    fields: dict[str, Any] = {
        "prompt": prompt,
        **given,
        "model": model.named_model(given.get("model")),
    }
    if not fields.get("max_tokens"):
        fields["max_tokens"] = model.default_max_tokens(fields["model"]) or given.get("max_tokens")
    if fields["max_tokens"] is None:
        raise InvalidRequestError("max_tokens is missing: say how long a reply may be, e.g. 1024")
    given_skills, preload = fields.pop("skills", ()), fields.pop("preload", ())
    if given_skills != () or preload != ():
        fields |= _with_skills(given_skills, preload, fields.get("tools", ()))
    return request_of(fields)


def _with_skills(given: Any, preload: Any, tools: Any) -> dict[str, object]:  # noqa: ANN401 checked here
    """What skills add to a run: instructions, and a tool that loads more of them.

    Raises:
        InvalidRequestError: they are none, or names are not among them.
    """
    from rig import skills as known  # noqa: PLC0415 of runs that have any

    skills, names = known.checked_skills(given), known.checked_names(preload)
    fields: dict[str, object] = {}
    if skills or names:
        bodies = known.preloaded(skills, names)
        skills = tuple(skill for skill in skills if skill.name not in names)
        fields["instructions"] = "\n\n".join(filter(None, (known.advertise(skills), bodies)))
    if skills:
        fields["tools"] = (*validate_tools(tools), known.load_skill_tool(skills))
    return fields


def _check_alone(given: Mapping[str, Any]) -> None:
    """Nothing stands beside a request that already holds everything.

    Raises:
        InvalidRequestError: something does.
    """
    named = [name for name, value in given.items() if not _is_default(name, value)]
    if named:
        raise InvalidRequestError(
            f"a RunRequest was given, and beside it {', '.join(named)}: say that in the request,"
            " for example with dataclasses.replace"
        )


def _is_default(name: str, value: object) -> bool:
    default = DEFAULTS[name]
    return value is default or (type(value) is type(default) and value == default)
