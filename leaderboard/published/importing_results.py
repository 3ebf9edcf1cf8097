"""Importing the result files that upstream published: test outcomes, labels, and the raters' own words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from django.db import transaction

from benchmark_tasks.facts.lmr_bench import lmr_bench
from benchmark_tasks.models import Task
from evaluator.queue.storable import storable_text
from leaderboard.board.entries import recompute_reported
from leaderboard.models import ReportedResult, ReportedRun
from leaderboard.published.extract import annotator_numbers
from leaderboard.published.paper_tables import run_slug
from leaderboard.published.records import NEVER_RAN_NOTE
from leaderboard.published.reported import MissingSuiteError, imported_runs
from leaderboard.published.upstream import FileFate, missing_tasks, read_files
from leaderboard.published.upstream_texts import TestOutcome
from submissions.domain.audit import record
from submissions.enums import Verb

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from benchmark_tasks.models import Suite
    from leaderboard.published.upstream import FileReport, UpstreamRun
    from submissions.models import User

_FIELDS: Final = (
    *("tests_passed", "tests_note", "judge_label", "judge_text"),
    *("human_label", "human_comment", "human_annotator"),
)


@dataclass(frozen=True, slots=True)
class RunImport:
    """What was read of one run, by rater, and how many of its tasks are stored differently now.

    ``missing`` maps a rater to the tasks without a result of its; ``changed`` is None where this site has no such run.
    """

    slug: str
    tests: int
    judge: int
    human: int
    missing: Mapping[str, list[str]]
    changed: int | None


@dataclass(frozen=True, slots=True)
class ResultsImport:
    """Every file that was found, and every run that was read."""

    files: tuple[FileReport, ...]
    runs: tuple[RunImport, ...]

    @property
    def changed(self) -> int:
        """How many tasks' results are stored differently now."""
        return sum(run.changed or 0 for run in self.runs)

    @property
    def refused(self) -> int:
        """How many files, and runs, could not be taken."""
        files = sum(file.fate is FileFate.REFUSED for file in self.files)
        return files + sum(run.changed is None for run in self.runs)


def import_results(*, folder: Path, suite: Suite, dry_run: bool = False, actor: User | None = None) -> ResultsImport:
    """Read upstream's ``folder`` and store what it says about the reported runs of ``suite``; idempotent.

    What the files say of a task and a rater replaces what is stored; what they do not mention stays. With ``dry_run``
    nothing is stored. Raises FileNotFoundError where ``folder`` is none of upstream's, :class:`MissingSuiteError` where
    the suite has no reported runs.
    """
    facts = lmr_bench()
    runs = {run.slug: run for run in ReportedRun.objects.filter(suite=suite, entry__isnull=False)}
    if not runs:
        msg = f"The suite {suite.slug!r} has no reported runs here. Run manage.py load_published first."
        raise MissingSuiteError(msg)
    found = read_files(folder, facts)
    annotators = annotator_numbers(found.annotators, facts)
    imports = []
    with transaction.atomic():
        tasks = {task.slug: task for task in Task.objects.filter(suite=suite)}
        for read in found.runs:
            slug = run_slug(read.agent, read.model)
            stored = runs.get(slug)
            changed = None if stored is None else _store(stored, _values(read, annotators), tasks)
            missing = missing_tasks(read, facts)
            imports.append(RunImport(slug, len(read.tests), len(read.judge), len(read.human), missing, changed))
        report = ResultsImport(files=found.files, runs=tuple(imports))
        changed_runs = [run.slug for run in imports if run.changed]
        new_runs = {run.slug for run in imports if run.changed is not None} - imported_runs(suite)
        if dry_run:
            transaction.set_rollback(True)
        elif changed_runs or new_runs:
            record(
                verb=Verb.IMPORTED,
                subject=suite,
                actor=actor,
                data={"runs": sorted({*changed_runs, *new_runs}), "results": report.changed},
            )
    return report


def _values(run: UpstreamRun, annotators: Mapping[str, int]) -> dict[str, dict[str, Any]]:
    """Task slug -> the fields of its ``ReportedResult`` of which the files say something."""
    values: dict[str, dict[str, Any]] = {}
    for slug, outcome in run.tests.items():
        note = NEVER_RAN_NOTE if outcome is TestOutcome.NEVER_RAN else ""
        values.setdefault(slug, {}).update(tests_passed=outcome is TestOutcome.PASSED, tests_note=note)
    for slug, label in run.judge.items():
        text = storable_text(run.judge_texts[slug])
        values.setdefault(slug, {}).update(judge_label=label.value, judge_text=text)
    for slug, label in run.human.items():
        comment = storable_text(run.human_comments[slug])
        values.setdefault(slug, {}).update(
            human_label=label.value, human_comment=comment, human_annotator=annotators[slug]
        )
    return values


def _store(run: ReportedRun, values: Mapping[str, Mapping[str, Any]], tasks: Mapping[str, Task]) -> int:
    """Write what differs, and the run's row if anything did; say how many tasks differed."""
    stored = {result.task.slug: result for result in run.results.select_related("task")}
    new, different = [], []
    for slug, fields in values.items():
        result = stored.get(slug)
        if result is None:
            new.append(ReportedResult(run=run, task=tasks[slug], **fields))
        elif any(getattr(result, name) != value for name, value in fields.items()):
            for name, value in fields.items():
                setattr(result, name, value)
            different.append(result)
    if not new and not different:
        return 0
    ReportedResult.objects.bulk_create(new)
    ReportedResult.objects.bulk_update(different, _FIELDS)
    _drop_totals(run)
    recompute_reported(run, run.entry.suite_version)
    return len(new) + len(different)


def _drop_totals(run: ReportedRun) -> None:
    """A total taken from the paper gives way where every task has a result now: it would be counted instead of them."""
    results = list(run.results.all())
    for rater, measures in {"tests": ["tests"], "judge": ["judge_CC", "judge_LC", "judge_LI"]}.items():
        field = "tests_passed" if rater == "tests" else "judge_label"
        if all(getattr(result, field) not in (None, "") for result in results):
            run.aggregates.filter(measure__in=measures).update(count=None)
