"""What the page of a trajectory shows: an agent's steps in order, as plain typed values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from submissions.highlighting import with_visible_marks
from submissions.trajectories.steps import Action, Step, Trajectory, TrajectoryError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evaluator.models import Trajectory as StoredTrajectory

LONG_TEXT: Final = 600
LONG_LINES: Final = 12
FIRST_LINE: Final = 100

ACTION_TEXTS: Final[Mapping[Action, str]] = {
    Action.RUN: "run",
    Action.READ: "read",
    Action.EDIT: "edit",
    Action.MESSAGE: "message",
    Action.FINISH: "finish",
    Action.OTHER: "other",
}


@dataclass(frozen=True, slots=True)
class ShownText:
    """A text of a step; a long one is ``folded`` behind its first line."""

    text: str
    folded: bool
    headline: str


@dataclass(frozen=True, slots=True)
class ShownStep:
    """One step, numbered from 1 among all steps, whatever the filter shows."""

    number: int
    step: Step
    thought: ShownText | None
    input: ShownText | None
    observation: ShownText | None

    @property
    def action(self) -> str:
        """The action in words, which is its CSS class too."""
        return ACTION_TEXTS[self.step.action]

    @property
    def tokens(self) -> int | None:
        """Input and output tokens together; None when neither is known."""
        known = [number for number in (self.step.input_tokens, self.step.output_tokens) if number is not None]
        return sum(known) if known else None


@dataclass(frozen=True, slots=True)
class ShownTrajectory:
    """A trajectory. ``counts`` are of all its steps; ``problem`` says why it cannot be shown, else it is empty."""

    trajectory: Trajectory
    steps: tuple[ShownStep, ...]
    counts: tuple[tuple[str, int], ...]
    problem: str = ""


def read(stored: StoredTrajectory) -> Trajectory:
    """A stored trajectory in its typed form. Raises ``TrajectoryError`` for data that this version cannot read."""
    data = stored.steps
    return Trajectory.from_data(data if isinstance(data, dict) else {"source": stored.source, "steps": data})


def shown_trajectory(stored: StoredTrajectory, *, action: str = "") -> ShownTrajectory:
    """Its steps, only those of one ``action`` where one is given."""
    try:
        whole = read(stored)
    except TrajectoryError as error:
        return ShownTrajectory(Trajectory(source=stored.source), (), (), problem=str(error))
    counts = whole.counts()
    steps = tuple(
        _shown_step(number, step)
        for number, step in enumerate(whole.steps, start=1)
        if not action or step.action.value == action
    )
    return ShownTrajectory(
        trajectory=whole,
        steps=steps,
        counts=tuple((each.value, counts[each.value]) for each in Action if counts[each.value]),
    )


def _shown_step(number: int, step: Step) -> ShownStep:
    return ShownStep(number, step, _text(step.thought), _text(step.input), _text(step.observation))


def _text(text: str) -> ShownText | None:
    text = with_visible_marks(text)
    if not text.strip():
        return None
    first = text.strip().splitlines()[0]
    return ShownText(
        text=text,
        folded=len(text) > LONG_TEXT or text.count("\n") > LONG_LINES,
        headline=first if len(first) <= FIRST_LINE else f"{first[:FIRST_LINE]}…",
    )
