"""In what environment a task would be measured now: as this machine has it, or as the workers last had it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evaluator.models import TestRun
from evaluator.sandbox.configuration import configured_sandbox
from evaluator.sandbox.task_environments import environment_name
from evaluator.sandbox.types import SandboxError

if TYPE_CHECKING:
    from benchmark_tasks.models import TaskRevision


@dataclass(frozen=True, slots=True)
class Offer:
    """An environment's name, and the digest of what it is made of."""

    name: str
    digest: str


class OfferedHere:
    """What the sandbox of this machine offers; ``problems`` says which environments it could not tell of, and why."""

    def __init__(self) -> None:
        self._known: dict[str, Offer | None] = {}
        self.problems: list[str] = []

    def __call__(self, revision: TaskRevision) -> Offer | None:
        """Ask once for each environment."""
        try:
            name = environment_name(revision)
        except SandboxError as error:
            self._say(str(error))
            return None
        if name not in self._known:
            try:
                self._known[name] = Offer(name, configured_sandbox().environment_digest(name))
            except SandboxError as error:
                self._known[name] = None
                self._say(f"environment {name}: {error}")
        return self._known[name]

    def _say(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)


class LastSeen:
    """What the workers last measured in. The web process makes no box and may have no sandbox, so it asks the table."""

    def __init__(self) -> None:
        self._known: dict[str, Offer | None] = {}

    def __call__(self, revision: TaskRevision) -> Offer | None:
        """One query for each environment."""
        try:
            name = environment_name(revision)
        except SandboxError:
            return None
        if name not in self._known:
            newest = TestRun.objects.filter(environment=name).exclude(environment_digest="").order_by("-finished")
            digest = newest.values_list("environment_digest", flat=True).first()
            self._known[name] = Offer(name, digest) if digest else None
        return self._known[name]
