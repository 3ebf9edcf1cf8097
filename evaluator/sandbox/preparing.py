"""What making a suite's environments takes, told before it begins, and what keeps its tasks from being run."""

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
    """What a suite needs. ``missing`` gives each reason why tasks have none or cannot be run, with those tasks."""

    asked: tuple[Wanted, ...]
    made: frozenset[str]
    missing: dict[str, list[str]]


def preparation(suite: Suite, kind: Kind) -> Preparation:
    """What is needed to measure answers to the newest version of ``suite`` in boxes of ``kind``."""
    asked, without = wanted(suite=suite.slug)
    builds = newest_builds([one.name for one in asked], sandbox=kind)
    made = frozenset(name for name, build in builds.items() if build.state == BuildState.BUILT)
    missing: dict[str, list[str]] = {}
    for task, why in without:
        missing.setdefault(why, []).append(task)
    version = current_version(suite)
    cannot_run = [each for each in (revisions_of(version) if version else ()) if each.not_runnable_reasons]
    for reasons in left_out_groups(tasks_left_out(cannot_run)).values():
        missing |= reasons
    return Preparation(tuple(asked), made, missing)
