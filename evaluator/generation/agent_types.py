"""What an agent is given, what it may use, and what comes of its work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self

from evaluator.providers.types import Message, ToolUse

if TYPE_CHECKING:
    from pathlib import Path

    from evaluator.providers.types import ModelReply, ModelRequest
    from submissions.trajectories.steps import Trajectory

MEBIBYTE = 1024 * 1024


class Ask(Protocol):
    """Asks the model for the turn ``step`` (from 1). Writing down, limits and retries are the caller's."""

    def __call__(self, request: ModelRequest, *, step: int) -> ModelReply:
        """The model's reply. What this raises passes through :func:`~evaluator.generation.agent.run_agent`."""


@dataclass(frozen=True, slots=True)
class AgentTask:
    """One task as an agent gets it.

    ``repository`` is the masked tree (only read; with ``unit_test_file``, which the box does not get, where it is one
    of upstream's). ``inputs`` is ``full``, ``paper_goal_file`` (of the repository only the goal file) or ``paper_only``
    (only the masked definition). ``environment`` names what the box is made of.
    """

    slug: str
    instruction: str
    goal_file: str
    goal_function: str
    class_name: str
    repository: Path
    paper_pdf: Path | None
    paper_text: str
    environment: str
    inputs: str
    unit_test_file: str = ""


@dataclass(frozen=True, slots=True)
class AgentLimits:
    """What one answer may use: turns of the model, seconds in all and of one command, characters of one observation.

    ``memory_bytes`` is what commands may use at once, ``disk_bytes`` what may be written beside the copies of
    repository and paper. The conversation is kept below ``context_tokens`` less ``max_output_tokens``.
    """

    steps: int = 40
    seconds: float = 3600.0
    command_seconds: float = 60.0
    observation_chars: int = 20_000
    memory_bytes: int = 1024 * MEBIBYTE
    disk_bytes: int = 256 * MEBIBYTE
    processes: int = 128
    context_tokens: int = 128_000
    max_output_tokens: int = 8192


@dataclass(frozen=True, slots=True)
class StoredStep:
    """One turn of the model that was carried out: what it said, what it asked for, and what came of each.

    ``opaque`` goes back to the provider with the turn. ``seconds`` are those of each tool use, ``asked_seconds`` those
    of the model.
    """

    number: int
    text: str
    uses: tuple[ToolUse, ...]
    observations: tuple[str, ...]
    opaque: tuple[Mapping[str, Any], ...] = ()
    seconds: tuple[float, ...] = ()
    asked_seconds: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    finish: str = ""

    @property
    def spent_seconds(self) -> float:
        """How long the turn took in all."""
        return self.asked_seconds + sum(self.seconds)

    @property
    def message(self) -> Message:
        """The model's turn as part of the conversation."""
        return Message(role="assistant", text=self.text, tool_uses=self.uses, opaque=self.opaque)

    def as_data(self) -> dict[str, Any]:
        """The same as plain data, for the database."""
        uses = [
            {"id": use.id, "name": use.name, "arguments": dict(use.arguments), "raw": use.raw, "wrong": use.wrong}
            for use in self.uses
        ]
        return {
            "number": self.number,
            "text": self.text,
            "uses": uses,
            "observations": list(self.observations),
            "opaque": [dict(part) for part in self.opaque],
            "seconds": list(self.seconds),
            "asked_seconds": self.asked_seconds,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "finish": self.finish,
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """The reverse."""
        lists = ("observations", "opaque", "seconds")
        given = {**data, **{name: tuple(data[name]) for name in lists}}
        return cls(**{**given, "uses": tuple(ToolUse(**use) for use in data["uses"])})


@dataclass(frozen=True, slots=True)
class AgentResult:
    """What an agent left: the files of its repository that differ (path to new content), and the paths that are gone.

    ``refused`` (path, why) are changes that are no part of an answer: links, large files. ``finished`` says that the
    model ended the work itself; ``ending`` says in words how it ended. ``is_definition`` means that the goal file in
    the box held nothing but the goal's definition, so that ``changed`` holds no file of the repository.
    """

    changed: Mapping[str, bytes]
    deleted: tuple[str, ...]
    trajectory: Trajectory
    finished: bool
    ending: str
    refused: tuple[tuple[str, str], ...] = ()
    is_definition: bool = False
