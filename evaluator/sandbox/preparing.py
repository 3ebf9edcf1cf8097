"""List the environments that a suite needs before they are made, and why tasks cannot run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmark_tasks.domain.left_out import left_out_groups, tasks_left_out
from benchmark_tasks.domain.queries import current_version, revisions_of
from evaluator.enums import BuildState
from evaluator.sandbox.building import wanted
from evaluator.sandbox.task_environments import newest_builds

if TYPE_CHECKING:
    from benchmark_tasks.models import Suite
    from evaluator.sandbox.building import Wanted
    from evaluator.sandbox.configuration import Kind


@dataclass(frozen=True, slots=True)
class Preparation:
    """A suite's environments. ``missing`` maps each reason why tasks have none or cannot run to those tasks."""

    environments: tuple[Wanted, ...]
    made: frozenset[str]
    missing: dict[str, list[str]]


def preparation(suite: Suite, kind: Kind) -> Preparation:
    """Return what measuring answers to the newest version of ``suite`` in boxes of ``kind`` needs."""
    needed, without = wanted(suite=suite.slug)
    builds = newest_builds([one.name for one in needed], sandbox=kind)
    made = frozenset(name for name, build in builds.items() if build.state == BuildState.BUILT)
    missing: dict[str, list[str]] = {}
    for task, why in without:
        missing.setdefault(why, []).append(task)
    version = current_version(suite)
    cannot_run = [each for each in (revisions_of(version) if version else ()) if each.not_runnable_reasons]
    for reasons in left_out_groups(tasks_left_out(cannot_run)).values():
        missing |= reasons
    return Preparation(tuple(needed), made, missing)
