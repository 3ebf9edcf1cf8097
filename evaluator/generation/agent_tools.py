"""The five actions that an agent may take: how they are offered to the model, read from its reply, and carried out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from evaluator.generation.agent_box import ANSWER_SECONDS, ActionError
from evaluator.providers.types import Tool
from evaluator.testing.logs import clean_text
from submissions.trajectories.steps import Action

if TYPE_CHECKING:
    from evaluator.generation.agent_box import AgentBox
    from evaluator.generation.agent_types import AgentLimits
    from evaluator.providers.types import ToolUse

MAX_ARGUMENT_CHARACTERS: Final = 1024 * 1024
CHANGING: Final = frozenset({"run", "edit"})
"""The actions that may change files: those that are repeated to make a box as it was."""

_TEXT: Final = {"type": "string"}
_NUMBER: Final = {"type": "integer"}


def tools(limits: AgentLimits) -> tuple[Tool, ...]:
    """The actions as the model is offered them."""
    return (
        _tool(
            "run",
            "Run a shell command (sh) in the repository's folder. Every command starts there anew, has no input and no "
            f"network, and is stopped after `seconds` (at most {limits.command_seconds:g}); what it leaves running is "
            "stopped too. Returns the exit code and what was printed; the middle of a long output is left out.",
            command=_TEXT,
            seconds=_NUMBER,
        ),
        _tool(
            "read",
            "Show lines of a text file. The path is relative to the repository. Lines count from 1; 0 for both means "
            "the whole file. A long text is cut, and the first line then says where to read on.",
            path=_TEXT,
            first_line=_NUMBER,
            last_line=_NUMBER,
        ),
        _tool(
            "edit",
            "Replace `old`, which must occur exactly once in the file, by `new`. With an empty `old` the whole file "
            "is written: created, or overwritten.",
            path=_TEXT,
            old=_TEXT,
            new=_TEXT,
        ),
        _tool("think", "Write down a thought. Nothing is done.", thought=_TEXT),
        _tool("finish", "End the work. The repository as it is now is the answer.", summary=_TEXT),
    )


def _tool(name: str, description: str, **properties: Mapping[str, str]) -> Tool:
    schema = {
        "type": "object",
        "properties": {key: dict(value) for key, value in properties.items()},
        "required": list(properties),
        "additionalProperties": False,
    }
    return Tool(name=name, description=description, parameters=schema)


_ARGUMENTS: Final[Mapping[str, Mapping[str, type]]] = {
    "run": {"command": str, "seconds": int},
    "read": {"path": str, "first_line": int, "last_line": int},
    "edit": {"path": str, "old": str, "new": str},
    "think": {"thought": str},
    "finish": {"summary": str},
}
_ACTIONS: Final = {
    "run": Action.RUN,
    "read": Action.READ,
    "edit": Action.EDIT,
    "think": Action.MESSAGE,
    "finish": Action.FINISH,
}
_TYPE_NAMES: Final = {str: "a string", int: "an integer"}


@dataclass(frozen=True, slots=True)
class Carried:
    """What came of one tool use: the observation, and whether it ended the work."""

    observation: str
    finished: bool = False


def action_of(use: ToolUse) -> Action:
    """The kind of action; ``other`` for what is no action of ours, or was asked for wrongly."""
    return _ACTIONS[use.name] if not problem(use) else Action.OTHER


def input_of(use: ToolUse) -> str:
    """What the action was given, in short, for people."""
    if problem(use):
        return f"{use.name} {use.raw}"
    given = use.arguments
    if use.name == "edit":
        return f"{given['path']}\n--- old\n{given['old']}\n+++ new\n{given['new']}"
    if use.name == "read":
        lines = f" {given['first_line']}-{given['last_line']}" if given["first_line"] or given["last_line"] else ""
        return f"{given['path']}{lines}"
    return str(next(iter(given[name] for name in _ARGUMENTS[use.name])))


def problem(use: ToolUse) -> str:
    """What is wrong with a tool use, or an empty text."""
    if use.name not in _ARGUMENTS:
        return f"There is no tool {use.name[:100]!r}; there are {', '.join(_ARGUMENTS)}."
    if use.wrong:
        return f"The arguments of {use.name} cannot be read: {use.wrong}"
    wanted = _ARGUMENTS[use.name]
    for name, kind in wanted.items():
        if name not in use.arguments:
            return f"{use.name} needs the argument `{name}` ({_TYPE_NAMES[kind]})."
        value = use.arguments[name]
        if not isinstance(value, kind) or isinstance(value, bool):
            return f"The argument `{name}` of {use.name} must be {_TYPE_NAMES[kind]}."
        if isinstance(value, str) and (len(value) > MAX_ARGUMENT_CHARACTERS or "\0" in value):
            return f"The argument `{name}` of {use.name} holds a NUL or more than {MAX_ARGUMENT_CHARACTERS} characters."
    unknown = sorted(str(name)[:100] for name in use.arguments.keys() - wanted.keys())
    return f"{use.name} has no argument {unknown[0]!r}." if unknown else ""


def carry_out(use: ToolUse, agent_box: AgentBox, limits: AgentLimits, *, seconds_left: float) -> Carried:
    """Do it. Raises what :meth:`AgentBox.ask` raises, but for what could not be done, which the model is told."""
    wrong = problem(use)
    if wrong:
        return Carried(f"Error: {wrong}")
    given = use.arguments
    if use.name == "think":
        return Carried("Noted.")
    if use.name == "finish":
        return Carried("Finished.", finished=True)
    try:
        if use.name == "run":
            text = _run(given, agent_box, limits, seconds_left)
        elif use.name == "read":
            lines = {"first": _line(given["first_line"]), "last": _line(given["last_line"])}
            text = _text(agent_box.ask("read", path=given["path"], **lines))
        else:
            text = _text(agent_box.ask("edit", path=given["path"], old=given["old"], new=given["new"]))
    except ActionError as error:
        return Carried(f"Error: {error}")
    return Carried(_cut(text, limits.observation_chars))


def _run(given: Mapping[str, Any], agent_box: AgentBox, limits: AgentLimits, seconds_left: float) -> str:
    asked = given["seconds"] if given["seconds"] > 0 else limits.command_seconds
    seconds = max(1.0, min(float(asked), limits.command_seconds, seconds_left))
    ran = agent_box.ask("run", seconds=seconds + ANSWER_SECONDS, command=given["command"], limit=seconds)
    if ran.get("timed_out") is True:
        head = f"Stopped after {seconds:g} seconds."
    elif isinstance(ran.get("code"), int):
        head = f"Exit code {ran['code']}."
    else:
        head = f"Killed by signal {ran.get('signal')}."
    killed = ran.get("killed")
    if ran.get("timed_out") is not True and isinstance(killed, int) and killed > 0:
        head += f" Stopped what it left running ({killed})."
    output = ran.get("output")
    printed = clean_text(output).rstrip() if isinstance(output, str) else ""
    return f"{head}\n{printed}" if printed else f"{head} Nothing was printed."


def _line(number: int) -> int:
    """A line number that a frame can carry."""
    return max(0, min(number, 10**9))


def _text(answer: Mapping[str, Any]) -> str:
    text = answer.get("text")
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}") if isinstance(text, str) else ""


def _cut(text: str, limit: int) -> str:
    """At most about ``limit`` characters: the driver cuts by itself, unless somebody speaks in its place."""
    return text if len(text) <= limit + 500 else f"{text[:limit]}\n[... cut]"
