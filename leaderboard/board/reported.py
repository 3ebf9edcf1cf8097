"""Store results that others reported about a benchmark: the shipped ones, and those of upstream's own files over them.

``lmr_bench_results.json`` in this folder holds the runs, their results by task if upstream's files have them, the
paper's printed numbers, and our remarks where the two differ. ``lmr_bench_remeasured.json`` holds the outcomes of our
sealed tests for the answers that upstream published. Neither enters the site's own state machines.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from django.db import transaction

from benchmark_tasks.facts.lmr_bench import lmr_bench
from benchmark_tasks.models import Suite, SuiteVersion, Task
from evaluator.outcomes import Outcome
from evaluator.queue.database import storable
from leaderboard.board.entries import recompute_reported
from leaderboard.board.states import board_changed
from leaderboard.board.upstream_results import FileFate, read_files, tests_fields
from leaderboard.board.upstream_texts import TestOutcome
from leaderboard.models import ReportedAggregate, ReportedResult, ReportedRun
from submissions.domain.audit import history, record
from submissions.enums import Verb
from submissions.models import System

if TYPE_CHECKING:
    from collections.abc import Mapping

    from django.db.models import Model

    from leaderboard.board.upstream_results import FileReport, TaskResults
    from submissions.models import User

SHIPPED_FILE: Final = Path(__file__).with_name("lmr_bench_results.json")
REMEASURED_FILE: Final = Path(__file__).with_name("lmr_bench_remeasured.json")
_RATER_FIELDS: Final = {"tests": "tests_passed", "judge": "judge_label", "human": "human_label"}


class MissingSuiteError(Exception):
    """Raised if this site lacks the suite of the published results, or one of its tasks."""


@dataclass(frozen=True, slots=True)
class RunImport:
    """A run that was read: numbers of results by rater, and of tasks whose stored results changed.

    ``missing`` maps a rater to the tasks without its result; ``changed`` is None if this site has no such run.
    """

    slug: str
    counts: Mapping[str, int]
    missing: Mapping[str, list[str]]
    changed: int | None


@dataclass(frozen=True, slots=True)
class ResultsImport:
    """All files that were found, and all runs that were read."""

    files: tuple[FileReport, ...]
    runs: tuple[RunImport, ...]

    @property
    def changed(self) -> int:
        """The number of tasks whose stored results changed."""
        return sum(run.changed or 0 for run in self.runs)

    @property
    def refused(self) -> int:
        """The number of files and runs that could not be imported."""
        files = sum(file.fate is FileFate.REFUSED for file in self.files)
        return files + sum(run.changed is None for run in self.runs)


def load_published() -> int:
    """Store every shipped run and return how many there are: reported ones, then those measured again.

    Unchanged rows are not written. Results of a run that an operator imported (:func:`import_results`) are newer than
    the shipped ones and stay. Raises :class:`MissingSuiteError` if the catalogue lacks the suite or one of its tasks.
    """
    shipped: dict[str, Any] = json.loads(SHIPPED_FILE.read_text(encoding="utf-8"))
    version = _newest_with_tasks(shipped["benchmark"])
    if version is None:
        msg = (
            f"No version of the suite {shipped['benchmark']!r} has all the {len(lmr_bench().tasks)} reported tasks. "
            "Run manage.py load_catalogue first."
        )
        raise MissingSuiteError(msg)
    with transaction.atomic():
        _move_rows(version)
        tasks = {task.slug: task for task in Task.objects.filter(suite=version.suite)}
        known = ReportedRun.objects.filter(suite=version.suite).select_related("entry")
        runs = {run.slug: run for run in known.prefetch_related("results__task", "aggregates")}
        systems = {system.slug: system for system in System.objects.filter(slug__startswith="reported-")}
        imported = _imported_runs(version.suite)
        for facts in shipped["runs"]:
            system = _system_of(facts, shipped, systems)
            run = runs.get(facts["slug"]) or ReportedRun(slug=facts["slug"])
            fields = {
                "suite_id": version.suite_id,
                "system_id": system.pk,
                "inputs": facts["inputs"],
                "source_address": facts["source_address"],
                "printed_table": facts.get("printed", {}).get("table", ""),
                "remarks": facts["remarks"],
            }
            changed = int(_store(run, fields))
            if run.slug not in imported:
                changed += _store_results(run, _results(facts), tasks) + _store_totals(run, facts)
            runs[run.slug] = run
            if changed:
                recompute_reported(run, version)
        measured_again = _load_measured_again(version, runs, tasks)
    return len(shipped["runs"]) + measured_again


def _load_measured_again(version: SuiteVersion, runs: Mapping[str, ReportedRun], tasks: Mapping[str, Task]) -> int:
    """Store the runs whose published answers were measured again, beside the ``runs`` that others reported."""
    shipped: dict[str, Any] = json.loads(REMEASURED_FILE.read_text(encoding="utf-8"))
    for facts in shipped["runs"]:
        run, published = runs.get(facts["slug"]) or ReportedRun(slug=facts["slug"]), runs[facts["of"]]
        fields = {
            "suite_id": version.suite_id,
            "system_id": published.system_id,
            "inputs": published.inputs,
            "source_address": facts["source_address"],
            "remeasures_id": published.pk,
            "evaluator_version": shipped["evaluator_version"],
            "measured": date.fromisoformat(shipped["measured"]),
        }
        results: TaskResults = {
            slug: {"tests_passed": outcome == Outcome.PASSED, "outcome": Outcome(outcome).value}
            for slug, outcome in facts["tasks"].items()
        }
        changed = int(_store(run, fields)) + _store_results(run, results, tasks)
        gone = [each.pk for each in run.results.all() if each.task.slug not in results]
        if gone:
            run.results.filter(pk__in=gone).delete()
        if changed or gone:
            recompute_reported(run, version)
    return len(shipped["runs"])


def follow_suite(suite: Suite) -> int:
    """Move the reported rows of ``suite`` to its newest version with all of their tasks; return how many moved."""
    if not ReportedRun.objects.filter(suite=suite, entry__isnull=False).exists():
        return 0
    version = _newest_with_tasks(suite.slug)
    if version is None:
        return 0
    with transaction.atomic():
        return _move_rows(version)


def _move_rows(version: SuiteVersion) -> int:
    """Move the reported rows of a suite from other versions to ``version``; return how many moved."""
    elsewhere = ReportedRun.objects.filter(suite=version.suite_id).exclude(entry__suite_version=version)
    moved = list(elsewhere.filter(entry__isnull=False).select_related("entry"))
    for left in {run.entry.suite_version_id for run in moved}:
        board_changed(left, results=True)
    for run in moved:
        recompute_reported(run, version)
    return len(moved)


def import_results(*, folder: Path, suite: Suite, dry_run: bool = False, actor: User | None = None) -> ResultsImport:
    """Read upstream's ``folder`` and store its results of the reported runs of ``suite``; idempotent.

    A result in the files for a task and a rater replaces the stored one; other stored results stay. With ``dry_run``
    nothing is stored. Raises FileNotFoundError if ``folder`` is not upstream's, :class:`MissingSuiteError` if the suite
    has no reported runs.
    """
    reported = ReportedRun.objects.filter(suite=suite, entry__isnull=False, remeasures=None)
    runs = {run.slug: run for run in reported}
    if not runs:
        msg = f"The suite {suite.slug!r} has no reported runs here. Run manage.py load_published first."
        raise MissingSuiteError(msg)
    found = read_files(folder, lmr_bench())
    with transaction.atomic():
        tasks = {task.slug: task for task in Task.objects.filter(suite=suite)}
        imports = tuple(_import_run(slug, results, runs.get(slug), tasks) for slug, results in found.runs.items())
        report = ResultsImport(files=found.files, runs=imports)
        changed_runs = {run.slug for run in imports if run.changed}
        new_runs = {run.slug for run in imports if run.changed is not None} - _imported_runs(suite)
        if dry_run:
            transaction.set_rollback(True)
        elif changed_runs or new_runs:
            record(
                verb=Verb.IMPORTED,
                subject=suite,
                actor=actor,
                data={"runs": sorted(changed_runs | new_runs), "results": report.changed},
            )
    return report


def _import_run(slug: str, results: TaskResults, run: ReportedRun | None, tasks: Mapping[str, Task]) -> RunImport:
    rated = {rater: {task for task in results if field in results[task]} for rater, field in _RATER_FIELDS.items()}
    every = lmr_bench().task_slugs
    missing = {rater: sorted(every - found) for rater, found in rated.items() if found and every - found}
    changed = None
    if run is not None and (changed := _store_results(run, results, tasks)):
        _drop_totals(run)
        recompute_reported(run, run.entry.suite_version)
    return RunImport(slug, {rater: len(found) for rater, found in rated.items()}, missing, changed)


def _newest_with_tasks(suite_slug: str) -> SuiteVersion | None:
    """Return the newest version with all reported tasks; versions imported by an operator may have more tasks."""
    wanted = lmr_bench().task_slugs
    for version in SuiteVersion.objects.filter(suite__slug=suite_slug).prefetch_related("revisions__task"):
        if wanted <= {revision.task.slug for revision in version.revisions.all()}:
            return version
    return None


def _imported_runs(suite: Suite) -> set[str]:
    """Return the slugs of the reported runs whose files an operator imported. One query."""
    events = history(suite).filter(verb=Verb.IMPORTED).values_list("data", flat=True)
    return {slug for data in events for slug in data.get("runs", ())}


def _system_of(facts: Mapping[str, Any], shipped: Mapping[str, Any], systems: dict[str, System]) -> System:
    """Return the system of a run, stored: one for all inputs of the same backbone and scaffold."""
    scaffold = "no-agent" if facts["scaffold"] == "none" else facts["scaffold"]
    slug = f"reported-{scaffold}-{facts['backbone']}".lower().replace(" ", "-").replace(".", "-")
    system = systems.setdefault(slug, System(slug=slug))
    fields = {
        "name": facts["system_name"],
        "backbone": facts["backbone"],
        "scaffold": facts["scaffold"],
        "organisation": shipped["organisation"],
        **shipped["models"][facts["backbone"]],
        "links": [facts["source_address"]],
    }
    _store(system, fields)
    return system


def _results(facts: Mapping[str, Any]) -> TaskResults:
    """Return a shipped run's results in the form of the reader of upstream's files."""
    return {
        slug: {
            **(tests_fields(TestOutcome(rated["tests"])) if "tests" in rated else {}),
            **({"judge_label": rated["judge"]} if "judge" in rated else {}),
            **({"human_label": rated["human"]} if "human" in rated else {}),
        }
        for slug, rated in facts.get("tasks", {}).items()
    }


def _store_results(run: ReportedRun, results: TaskResults, tasks: Mapping[str, Task]) -> int:
    """Store the results that differ; return the number of their tasks."""
    stored = {result.task.slug: result for result in run.results.all()}
    return sum(
        _store(stored.get(slug) or ReportedResult(run=run, task=tasks[slug]), storable(fields))
        for slug, fields in results.items()
    )


def _store_totals(run: ReportedRun, facts: Mapping[str, Any]) -> int:
    """Store the totals that differ, and return their number.

    They are the paper's printed numbers, and its counts for raters whose files are not published.
    """
    printed, counts = _by_measure(facts.get("printed", {})), _by_measure(facts.get("totals_from_paper", {}))
    stored = {total.measure: total for total in run.aggregates.all()}
    return sum(
        _store(
            stored.get(measure) or ReportedAggregate(run=run, measure=measure),
            {
                "count": counts.get(measure),
                "printed": Decimal(str(printed[measure])) if measure in printed else None,
            },
        )
        for measure in printed | counts
    )


def _by_measure(totals: Mapping[str, Any]) -> dict[str, Any]:
    """Convert ``{"tests": 39.3, "judge": {"CC": 17.9, …}}`` to ``{"tests": 39.3, "judge_CC": 17.9, …}``."""
    labels = {
        f"{rater}_{label}": value for rater in ("judge", "human") for label, value in totals.get(rater, {}).items()
    }
    return labels | ({"tests": totals["tests"]} if "tests" in totals else {})


def _store(row: Model, fields: Mapping[str, Any]) -> bool:
    """Save ``row`` if it is new or differs in one of ``fields``; return whether it was saved."""
    if row.pk and all(getattr(row, name) == value for name, value in fields.items()):
        return False
    for name, value in fields.items():
        setattr(row, name, value)
    row.save()
    return True


def _drop_totals(run: ReportedRun) -> None:
    """Remove the paper's count for each rater with a result on every task: it would be counted instead of these."""
    results = list(ReportedResult.objects.filter(run=run))
    for rater, measures in {"tests": ["tests"], "judge": ["judge_CC", "judge_LC", "judge_LI"]}.items():
        if all(getattr(result, _RATER_FIELDS[rater]) not in (None, "") for result in results):
            run.aggregates.filter(measure__in=measures).update(count=None)
