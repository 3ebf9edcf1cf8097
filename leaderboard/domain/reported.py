"""Loading what others published about a benchmark into the database, from the shipped facts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import transaction

from benchmark_tasks.models import Suite, SuiteVersion, Task
from leaderboard.domain.entries import recompute_reported
from leaderboard.models import ReportedAggregate, ReportedResult, ReportedRun
from leaderboard.published.records import PublishedResults, PublishedRun, published_results
from submissions.models import System

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leaderboard.published.labels import LabelCounts, LabelShares


class MissingSuiteError(Exception):
    """The published results are about a suite, or tasks of it, that this site does not have."""


def load_published() -> int:
    """Load every shipped published run anew and say how many there are. Idempotent.

    Raises :class:`MissingSuiteError` when the catalogue lacks the suite or one of its tasks.
    """
    published = published_results()
    version = _published_version(published)
    with transaction.atomic():
        tasks = {task.slug: task for task in Task.objects.filter(suite=version.suite)}
        for run in published.runs:
            recompute_reported(_store_run(run, version.suite, tasks), version)
    return len(published.runs)


def _published_version(published: PublishedResults) -> SuiteVersion:
    """The newest version that has exactly the reported tasks: an operator's import may add others later."""
    wanted = {slug for run in published.runs for slug in run.per_task}
    suite = Suite.objects.filter(slug=published.benchmark).first()
    versions = suite.versions.prefetch_related("revisions__task") if suite else SuiteVersion.objects.none()
    for version in versions:
        if {revision.task.slug for revision in version.revisions.all()} == wanted:
            return version
    msg = (
        f"No version of the suite {published.benchmark!r} has exactly the {len(wanted)} reported tasks. "
        "Run manage.py load_catalogue first."
    )
    raise MissingSuiteError(msg)


def _store_run(run: PublishedRun, suite: Suite, tasks: dict[str, Task]) -> ReportedRun:
    system, _ = System.objects.update_or_create(
        slug=_system_slug(run),
        defaults={
            "name": run.system_name,
            "backbone": run.backbone,
            "scaffold": run.scaffold,
            "organisation": run.organisation,
            "links": [run.source_address],
        },
    )
    stored, _ = ReportedRun.objects.update_or_create(
        slug=run.slug,
        defaults={
            "suite": suite,
            "system": system,
            "inputs": run.inputs.value,
            "source_address": run.source_address,
            "printed_table": run.printed.table if run.printed else "",
            "remarks": list(run.remarks),
        },
    )
    stored.results.all().delete()
    ReportedResult.objects.bulk_create(
        ReportedResult(
            run=stored,
            task=tasks[slug],
            tests_passed=result.tests,
            tests_note=result.test_note,
            judge_label=result.judge.value if result.judge else "",
            human_label=result.human.value if result.human else "",
        )
        for slug, result in run.per_task.items()
    )
    stored.aggregates.all().delete()
    ReportedAggregate.objects.bulk_create(_aggregates(stored, run))
    return stored


def _system_slug(run: PublishedRun) -> str:
    """One system for all inputs of the same backbone and scaffold."""
    scaffold = "no-agent" if run.scaffold == "none" else run.scaffold
    return f"reported-{scaffold}-{run.backbone}".lower().replace(" ", "-").replace(".", "-")


def _aggregates(stored: ReportedRun, run: PublishedRun) -> Iterator[ReportedAggregate]:
    totals, printed, stated = run.totals, run.printed, {axis.value for axis in run.totals.from_paper}
    if totals.tests or printed:
        yield ReportedAggregate(
            run=stored,
            measure="tests",
            count=totals.tests.passed if totals.tests and "tests" in stated else None,
            printed=printed.tests if printed else None,
        )
    for rater in ("judge", "human"):
        yield from _label_aggregates(
            stored,
            rater,
            counts=getattr(totals, rater) if rater in stated else None,
            printed=getattr(printed, rater) if printed else None,
        )


def _label_aggregates(
    stored: ReportedRun, rater: str, *, counts: LabelCounts | None, printed: LabelShares | None
) -> Iterator[ReportedAggregate]:
    for label in ("CC", "LC", "LI"):
        if counts or printed:
            yield ReportedAggregate(
                run=stored,
                measure=f"{rater}_{label}",
                count=getattr(counts, label.lower()) if counts else None,
                printed=getattr(printed, label.lower()) if printed else None,
            )
