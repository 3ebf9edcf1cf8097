"""Loading what others published about a benchmark into the database, from the shipped facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from django.db import transaction

from benchmark_tasks.models import Suite, SuiteVersion, Task
from leaderboard.board.entries import recompute_reported
from leaderboard.models import ReportedAggregate, ReportedResult, ReportedRun
from leaderboard.published.records import PublishedResults, PublishedRun, published_results
from submissions.domain.audit import history
from submissions.enums import Verb
from submissions.models import System

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leaderboard.published.labels import LabelCounts, LabelShares

_Facts: TypeAlias = tuple[int | None, str, dict[str, Any], dict[str, Any], list[tuple[Any, ...]], list[tuple[Any, ...]]]


class MissingSuiteError(Exception):
    """The published results are about a suite, or tasks of it, that this site does not have."""


def load_published() -> int:
    """Store every shipped published run and say how many there are. What is stored already is not written again.

    What an operator imported of a run (``import_results``) is newer than what is shipped, so it stays. Raises
    :class:`MissingSuiteError` when the catalogue lacks the suite or one of its tasks.
    """
    published = published_results()
    version = _published_version(published)
    with transaction.atomic():
        tasks = {task.slug: task for task in Task.objects.filter(suite=version.suite)}
        known = ReportedRun.objects.select_related("system", "entry").prefetch_related("results", "aggregates")
        stored = {run.slug: run for run in known.filter(slug__in=[run.slug for run in published.runs])}
        imported = imported_runs(version.suite)
        for run in published.runs:
            kept = stored.get(run.slug)
            with_results = run.slug not in imported
            if kept is None or _stored_facts(kept, results=with_results) != _shipped_facts(
                run, version, tasks, results=with_results
            ):
                recompute_reported(_store_run(run, version.suite, tasks, results=with_results), version)
    return len(published.runs)


def imported_runs(suite: Suite) -> set[str]:
    """The slugs of the reported runs of which an operator imported the files. One query."""
    events = history(suite).filter(verb=Verb.IMPORTED).values_list("data", flat=True)
    return {slug for data in events for slug in data.get("runs", ())}


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


def _shipped_facts(run: PublishedRun, version: SuiteVersion, tasks: dict[str, Task], *, results: bool) -> _Facts:
    """What ``_stored_facts`` gives of a run that is stored as it is shipped."""
    system, facts = _system_facts(run), _run_facts(run, version.suite)
    if not results:
        return version.pk, _system_slug(run), system, facts, [], []
    return (
        version.pk,
        _system_slug(run),
        system,
        facts,
        sorted(_result_facts(row) for row in _results(ReportedRun(), run, tasks)),
        sorted(_total_facts(row) for row in _aggregates(ReportedRun(), run)),
    )


def _stored_facts(run: ReportedRun, *, results: bool) -> _Facts:
    """The version that its row is of (None without a row), and everything that is shipped of a run."""
    entry = getattr(run, "entry", None)
    system = {name: getattr(run.system, name) for name in ("name", "backbone", "scaffold", "organisation", "links")}
    facts = {name: getattr(run, name) for name in ("inputs", "source_address", "printed_table", "remarks")}
    return (
        entry.suite_version_id if entry else None,
        run.system.slug,
        system,
        {"suite_id": run.suite_id, **facts},
        sorted(_result_facts(row) for row in run.results.all()) if results else [],
        sorted(_total_facts(row) for row in run.aggregates.all()) if results else [],
    )


def _result_facts(row: ReportedResult) -> tuple[int, str, str, str, str]:
    return row.task_id, str(row.tests_passed), row.tests_note, row.judge_label, row.human_label


def _total_facts(row: ReportedAggregate) -> tuple[str, str, float]:
    """The database keeps ``printed`` as a decimal, to one digit."""
    return row.measure, str(row.count), -1.0 if row.printed is None else float(row.printed)


def _system_facts(run: PublishedRun) -> dict[str, Any]:
    return {
        "name": run.system_name,
        "backbone": run.backbone,
        "scaffold": run.scaffold,
        "organisation": run.organisation,
        "links": [run.source_address],
    }


def _run_facts(run: PublishedRun, suite: Suite) -> dict[str, Any]:
    return {
        "suite_id": suite.pk,
        "inputs": run.inputs.value,
        "source_address": run.source_address,
        "printed_table": run.printed.table if run.printed else "",
        "remarks": list(run.remarks),
    }


def _store_run(run: PublishedRun, suite: Suite, tasks: dict[str, Task], *, results: bool) -> ReportedRun:
    system, _ = System.objects.update_or_create(slug=_system_slug(run), defaults=_system_facts(run))
    stored, _ = ReportedRun.objects.update_or_create(
        slug=run.slug, defaults={**_run_facts(run, suite), "system": system}
    )
    if results:
        stored.results.all().delete()
        ReportedResult.objects.bulk_create(_results(stored, run, tasks))
        stored.aggregates.all().delete()
        ReportedAggregate.objects.bulk_create(_aggregates(stored, run))
    return stored


def _results(stored: ReportedRun, run: PublishedRun, tasks: dict[str, Task]) -> Iterator[ReportedResult]:
    for slug, result in run.per_task.items():
        yield ReportedResult(
            run=stored,
            task=tasks[slug],
            tests_passed=result.tests,
            tests_note=result.test_note,
            judge_label=result.judge.value if result.judge else "",
            human_label=result.human.value if result.human else "",
        )


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
