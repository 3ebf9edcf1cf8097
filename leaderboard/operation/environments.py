"""What the pages say of the environments that tasks are measured in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evaluator.enums import BuildState
from evaluator.sandbox.environment_list import PAPER_NAME
from evaluator.sandbox.task_environments import environment_name, newest_builds, why_not_ready
from evaluator.sandbox.types import SandboxError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from benchmark_tasks.models import TaskRevision
    from evaluator.models import EnvironmentBuild

_LAST_LINES = 12


@dataclass(frozen=True, slots=True)
class EnvironmentState:
    """One environment and the tasks (slugs) that ask for it. ``state``: ``ready``, ``failed``, ``unbuilt``, ``none``.

    ``ready`` means that nothing is known to be wrong. ``log`` is the last build's, as much as the visitor may see.
    """

    name: str
    state: str
    tasks: list[str]
    log: str = ""
    built: datetime | None = None


def environment_states(revisions: Iterable[TaskRevision], *, maintainer: bool) -> list[EnvironmentState]:
    """The environments of those revisions that have files to run, sorted by name; one query.

    Only maintainers see whole logs, and those of environments that the operator describes: they may tell of the host.
    """
    tasks: dict[str, list[str]] = {}
    for revision in revisions:
        if not revision.not_runnable_reasons:
            tasks.setdefault(_name_of(revision), []).append(revision.task.slug)
    builds = newest_builds(tasks)
    return [_state_of(name, tasks[name], builds.get(name), maintainer=maintainer) for name in sorted(tasks)]


def _name_of(revision: TaskRevision) -> str:
    try:
        return environment_name(revision)
    except SandboxError:
        return ""


def _state_of(name: str, tasks: list[str], build: EnvironmentBuild | None, *, maintainer: bool) -> EnvironmentState:
    if build is None:
        state = "unbuilt" if why_not_ready(name, None) else "ready"
        return EnvironmentState(name, state if name else "none", tasks)
    state = "failed" if build.state == BuildState.FAILED else "ready"
    return EnvironmentState(name, state, tasks, log=_visible(build, maintainer=maintainer), built=build.created)


def _visible(build: EnvironmentBuild, *, maintainer: bool) -> str:
    if maintainer:
        return build.log
    if build.state == BuildState.FAILED and PAPER_NAME.fullmatch(build.name):
        return "\n".join(build.log.strip().splitlines()[-_LAST_LINES:])
    return ""
