"""An agent's work on one task: the model asks for actions, they are carried out in a box, until it finishes or has to.

Nothing here knows of providers, databases or money: the caller's ``ask`` does. What the model is told follows from
the task, the limits and the stored steps alone, so that a run which was broken off goes on where it was.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from evaluator.generation.agent_box import AgentBox, BoxGoneError, changed_files, refused_files
from evaluator.generation.agent_talk import OUT_OF_CONTEXT, Talk, first_message, system_text
from evaluator.generation.agent_tools import CHANGING, Carried, action_of, carry_out, input_of, problem, tools
from evaluator.generation.agent_types import AgentResult, StoredStep
from evaluator.generation.agent_workspace import prepared
from evaluator.providers.types import Finish
from evaluator.sandbox.types import RunCancelledError
from submissions.trajectories.steps import Action, Step, Trajectory

if TYPE_CHECKING:
    from pathlib import Path

    from evaluator.generation.agent_types import AgentLimits, AgentTask, Ask
    from evaluator.providers.types import ToolUse
    from evaluator.sandbox.types import Sandbox

SOURCE: Final = "agent"
MOST_MESSAGES: Final = 3
"""After so many replies in a row that use no tool the work ends."""

MOST_AT_ONCE: Final = 32
"""How many tools one reply may use."""

_NOT_DONE: Final = "(not carried out: the work had ended)"


def run_agent(
    *,
    ask: Ask,
    sandbox: Sandbox,
    task: AgentTask,
    limits: AgentLimits,
    label: str,
    cancelled: Callable[[], bool],
    replay: Sequence[StoredStep] = (),
    stored: Callable[[StoredStep], None],
    scratch: Path | None = None,
) -> AgentResult:
    """Let a model work on ``task`` in a box of its own, and return what it left.

    Args:
        ask: asks the model; what it raises passes through. Nothing that is in ``replay`` is asked.
        sandbox: runs the box.
        task: what to do.
        limits: what it may use.
        label: names the box.
        cancelled: asked twice a second, from another thread; when it answers true the box is killed.
        replay: the steps that were carried out before, from the first on. What changed files is done once more.
        stored: is given every new step as soon as it has been carried out, before the next is asked for.
        scratch: where the box's folders are put together; by default the system's place for temporary files.

    Raises ``RunCancelledError``, and ``SandboxError`` for faults of ours.
    """
    with prepared(task, scratch=scratch) as workspace:
        talk = Talk(limits, system_text(), first_message(task, limits, workspace), tools(limits))
        run = _Run(ask=ask, limits=limits, talk=talk, cancelled=cancelled, stored=stored)
        agent_box = AgentBox(sandbox, workspace, limits, environment=task.environment, label=label, cancelled=cancelled)
        with agent_box:
            run.work(agent_box, replay)
        return run.result(is_definition=workspace.is_definition)


@dataclass
class _Run:
    """One agent at work: what it has done, and what its box holds."""

    ask: Ask
    limits: AgentLimits
    talk: Talk
    cancelled: Callable[[], bool]
    stored: Callable[[StoredStep], None]
    steps: list[StoredStep] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    deleted: tuple[str, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    finished: bool = False
    ending: str = ""

    def work(self, agent_box: AgentBox, replay: Sequence[StoredStep]) -> None:
        """Everything from the first step to the end, which ``ending`` tells."""
        try:
            for step in replay:
                self._repeat(step, agent_box)
            while not self._has_ended():
                self._step(agent_box)
        except BoxGoneError as error:
            self.ending = f"The agent's box is gone: {error}. What it held after the last complete step counts."

    def result(self, *, is_definition: bool) -> AgentResult:
        """What has come of it."""
        return AgentResult(
            changed=dict(sorted(self.files.items())),
            deleted=self.deleted,
            trajectory=trajectory_of(self.steps, self.ending),
            finished=self.finished,
            ending=self.ending,
            refused=self.refused,
            is_definition=is_definition,
        )

    def _has_ended(self) -> bool:
        """Whether the work is over, by what has been done so far; ``ending`` then says why."""
        if self.cancelled():
            raise RunCancelledError
        if not self.ending:
            self.ending = _ending_after(self.steps)
            self.finished = bool(self.steps) and _finishes(self.steps[-1])
        if not self.ending and len(self.steps) >= self.limits.steps:
            self.ending = f"The limit of {self.limits.steps} steps was reached."
        if not self.ending and self._seconds_left() <= 0:
            self.ending = f"The limit of {self.limits.seconds:g} seconds was reached."
        if not self.ending and not self.talk.fits():
            self.ending = OUT_OF_CONTEXT
        return bool(self.ending)

    def _step(self, agent_box: AgentBox) -> None:
        """Ask for one turn and carry it out."""
        begun = time.monotonic()
        reply = self.ask(self.talk.request(), step=len(self.steps) + 1)
        if len(reply.tool_uses) > MOST_AT_ONCE:
            # Nobody means that many; carried out and kept, one reply would cost hours and gigabytes.
            self.ending = f"The model asked for {len(reply.tool_uses)} actions at once; {MOST_AT_ONCE} are the most."
            return
        asked_seconds = time.monotonic() - begun
        observations: list[str] = []
        seconds: list[float] = []
        gone: BoxGoneError | None = None
        is_over = False
        for use in reply.tool_uses:
            begun = time.monotonic()
            carried = Carried(_NOT_DONE)
            left = self._seconds_left() - asked_seconds - sum(seconds)
            if not is_over and left > 0:
                try:
                    carried = carry_out(use, agent_box, self.limits, seconds_left=left)
                except BoxGoneError as error:
                    gone, carried = error, Carried(f"Error: the box is gone: {error}", finished=True)
            is_over = is_over or carried.finished
            observations.append(carried.observation)
            seconds.append(round(time.monotonic() - begun, 3))
        step = StoredStep(
            number=len(self.steps) + 1,
            text=reply.text,
            uses=reply.tool_uses,
            observations=tuple(observations),
            opaque=reply.message.opaque,
            seconds=tuple(seconds),
            asked_seconds=round(asked_seconds, 3),
            input_tokens=reply.usage.input_tokens,
            output_tokens=reply.usage.output_tokens,
            finish=reply.finish.value,
        )
        self._take(step)
        self.stored(step)
        if gone is not None:
            raise gone
        self._look(agent_box, step.uses)

    def _repeat(self, step: StoredStep, agent_box: AgentBox) -> None:
        """Do once more what changed files, so that the box is as it was; what is said about it stays as it was."""
        self._take(step)
        for use, observation in zip(step.uses, step.observations, strict=True):
            if self.cancelled():
                raise RunCancelledError
            if use.name in CHANGING and not problem(use) and observation != _NOT_DONE:
                carry_out(use, agent_box, self.limits, seconds_left=self.limits.command_seconds)
        self._look(agent_box, step.uses)

    def _take(self, step: StoredStep) -> None:
        self.steps.append(step)
        self.talk.add(step)

    def _look(self, agent_box: AgentBox, uses: Sequence[ToolUse]) -> None:
        """Fetch what has changed, so that it is there whatever becomes of the box."""
        if any(use.name in CHANGING for use in uses):
            news = agent_box.ask("collect")
            files, deleted = changed_files(self.files, news)
            self.refused = refused_files(news)
            self.files, self.deleted = files, deleted

    def _seconds_left(self) -> float:
        return self.limits.seconds - sum(step.spent_seconds for step in self.steps)


def trajectory_of(steps: Sequence[StoredStep], ending: str) -> Trajectory:
    """The steps as pages show them: one for each action, with the reply's words and tokens at its first."""
    shown: list[Step] = []
    for step in steps:
        if not step.uses:
            shown.append(
                Step(Action.MESSAGE, input=step.text, input_tokens=step.input_tokens, output_tokens=step.output_tokens)
            )
        for place, (use, observation) in enumerate(zip(step.uses, step.observations, strict=True)):
            is_first = place == 0
            shown.append(
                Step(
                    action_of(use),
                    input=input_of(use),
                    observation=observation,
                    thought=step.text if is_first else "",
                    seconds=step.seconds[place] if place < len(step.seconds) else None,
                    input_tokens=step.input_tokens if is_first else None,
                    output_tokens=step.output_tokens if is_first else None,
                )
            )
    return Trajectory(
        source=SOURCE,
        steps=tuple(shown),
        ending=ending,
        input_tokens=sum(step.input_tokens for step in steps),
        output_tokens=sum(step.output_tokens for step in steps),
    )


def _finishes(step: StoredStep) -> bool:
    return any(use.name == "finish" and not problem(use) for use in step.uses)


def _ending_after(steps: Sequence[StoredStep]) -> str:
    """Why the model's own replies end the work, or an empty text."""
    if not steps:
        return ""
    if _finishes(steps[-1]):
        return "The model finished."
    if steps[-1].finish == Finish.REFUSED:
        return "The model refused to go on."
    last = steps[-MOST_MESSAGES:]
    if len(last) == MOST_MESSAGES and not any(step.uses for step in last):
        return f"The model used no tool in {MOST_MESSAGES} replies in a row."
    return ""
