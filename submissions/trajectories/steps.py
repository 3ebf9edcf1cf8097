"""Represent an agent's run as steps, in one form for all agents."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any, Final, Self

MAX_STEPS: Final = 1000
MAX_TEXT: Final = 20_000
MAX_TOTAL: Final = 3_000_000
SHORT_TEXT: Final = 500
MAX_ENDING: Final = 200
LARGEST_COUNT: Final = 10**15
LARGEST_AMOUNT: Final = 999_999.0

# PostgreSQL cannot store these characters in text.
_NOT_STORABLE = re.compile("[\x00\ud800-\udfff]")


class TrajectoryError(ValueError):
    """A file cannot be parsed as a trajectory. The message is shown to the submitter."""


class Action(StrEnum):
    """Kinds of agent actions (paper, Appendix F). Thinking counts as ``message``.

    ``other`` is for kinds that the paper does not have, such as browsing.
    """

    RUN = "run"
    READ = "read"
    EDIT = "edit"
    MESSAGE = "message"
    FINISH = "finish"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Step:
    """One action: its input, its observation, and the agent's thought.

    ``seconds`` is the duration of the action. Tokens and dollars are those of the model's reply that called it, None if
    unknown or counted with another step. Texts are bounded by :func:`bounded`.
    """

    action: Action
    input: str = ""
    observation: str = ""
    thought: str = ""
    seconds: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    dollars: float | None = None

    def __post_init__(self) -> None:
        self._bound(MAX_TEXT)

    def _bound(self, limit: int) -> None:
        for name in ("input", "observation", "thought"):
            object.__setattr__(self, name, bounded(getattr(self, name), limit))

    def shortened(self) -> Step:
        """Return a copy with texts of at most ``SHORT_TEXT`` characters."""
        step = replace(self)
        step._bound(SHORT_TEXT)  # noqa: SLF001 - its own class
        return step

    @property
    def length(self) -> int:
        """Return the total number of characters of its texts."""
        return len(self.input) + len(self.observation) + len(self.thought)


@dataclass(frozen=True, slots=True)
class AgentRun:
    """A whole run. ``source`` is one of ``evaluator.enums.TrajectorySource``; ``ending`` is how the run ended.

    At most ``MAX_STEPS`` steps are kept (``left_out`` counts the others); steps after ``MAX_TOTAL`` characters are
    shortened. ``unread`` is the reason if a file's steps are not known, and no step is kept then; ``remarks`` are about
    parts of the file that were not understood.
    """

    source: str
    steps: tuple[Step, ...] = ()
    ending: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    dollars: float | None = None
    left_out: int = 0
    unread: str = ""
    remarks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        total, kept = 0, []
        steps = () if self.unread else self.steps
        for step in steps[:MAX_STEPS]:
            kept.append(step if total < MAX_TOTAL else step.shortened())
            total += kept[-1].length
        object.__setattr__(self, "left_out", self.left_out + max(0, len(steps) - MAX_STEPS))
        object.__setattr__(self, "steps", tuple(kept))
        object.__setattr__(self, "ending", bounded(self.ending, MAX_ENDING))

    def counts(self) -> dict[str, int]:
        """Count the kept steps by action, with zeros; empty if the steps are not known."""
        if self.unread:
            return {}
        counts = {action.value: 0 for action in Action}
        for step in self.steps:
            counts[step.action.value] += 1
        return counts

    def as_data(self) -> dict[str, Any]:
        """Return the run as plain data for the database. ``steps`` is None if they are not known."""
        steps = [asdict(step) | {"action": step.action.value} for step in self.steps]
        return asdict(self) | {"steps": None if self.unread else steps, "remarks": list(self.remarks)}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """Create a run from :meth:`as_data`. Raises TrajectoryError for data that an older version stored."""
        try:
            steps = [Step(**{**step, "action": Action(step["action"])}) for step in data["steps"] or ()]
            return cls(**{**data, "steps": tuple(steps), "remarks": tuple(data.get("remarks", ()))})
        except (KeyError, TypeError, ValueError):
            raise TrajectoryError("The stored steps are in a format that this version does not read.") from None


def bounded(text: str, limit: int = MAX_TEXT) -> str:
    """Shorten ``text`` to at most ``limit`` characters by replacing its middle with a note."""
    text = _NOT_STORABLE.sub("\N{REPLACEMENT CHARACTER}", text)
    if len(text) <= limit:
        return text
    # The note's number has at most as many digits as the whole length.
    room = max(0, limit - len(_mark(len(text))))
    head = room - room // 3
    tail = room - head
    return text[:head] + _mark(len(text) - room) + (text[-tail:] if tail else "")


def tokens(value: object) -> int | None:
    """Return a token count from untrusted data, or None if it is not one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float) and (not math.isfinite(value) or value != int(value)):
        return None
    return int(value) if 0 <= value <= LARGEST_COUNT else None


def amount(value: object) -> float | None:
    """Return dollars or seconds from untrusted data, or None if it is not a number from 0 to ``LARGEST_AMOUNT``."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LARGEST_AMOUNT:
        return None
    return float(value)


def _mark(characters: int) -> str:
    return f"\n[… {characters} characters left out …]\n"
