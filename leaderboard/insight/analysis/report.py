"""Compute in a job what takes seconds: the regression, the raters' matrices, actions and error classes.

Only public data are used. The result is stored with a digest of its inputs.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import asdict
from datetime import timedelta
from itertools import product
from typing import TYPE_CHECKING, Any, Final, TypedDict

from django.db.models import Count
from django.utils import timezone

from benchmark_tasks.models import Category, SuiteVersion, TaskRevision
from evaluator.labels import Label
from evaluator.queue.pushing import AUDITS, push_once
from leaderboard.board.actions import of_board
from leaderboard.board.matrix import tasks_of
from leaderboard.board.rows import visible_entries
from leaderboard.insight.agreement.label_counts import (
    answers_of,
    count_labels,
    results_of,
    with_labels,
    with_reported_labels,
)
from leaderboard.insight.agreement.raters import REPORTED_TESTS, TESTS, RaterKind, Selection, raters, selected_entries
from leaderboard.insight.agreement.report import rater_pairs
from leaderboard.insight.analysis.data import inputs_digest, ranked_entries
from leaderboard.models import AnalysisReport
from leaderboard.statistics.results import LABELS, TaskCount
from reviews.enums import CLOSED, CaseKind
from reviews.models import Review
from submissions.enums import Inputs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from leaderboard.board.actions import Bar
    from leaderboard.insight.agreement.label_counts import Labels
    from leaderboard.insight.agreement.raters import Rater
    from leaderboard.insight.agreement.report import RaterPair

LEAST_PAUSE: Final = timedelta(minutes=1)
"""Least time between two reports, so that not each of many changes causes one."""
SECONDS: Final = 900
METRICS: Final = ("directory_depth", "branch_factor", "directory_imbalance", "goal_length")


class ReportData(TypedDict):
    """The stored data. ``regressions`` maps who measured to a ``results.Regression`` as a mapping; None without tests.

    ``pairs`` count two raters' labels; ``tests_pairs`` a rater's labels of the answers that pass their tests and of
    those that do not; ``contradictions`` count by category the answers on which tests and a judge contradict each
    other. ``shares`` and ``outcomes`` are bars of ``leaderboard.board.actions``; ``errors`` counts answers by class of
    error, out of ``marked`` answers. ``passes`` count the ranked runs with a result on each task, and those that pass.
    """

    regressions: dict[str, dict[str, Any] | None]
    pairs: list[dict[str, Any]]
    tests_pairs: list[dict[str, Any]]
    contradictions: list[dict[str, Any]]
    shares: list[dict[str, Any]]
    outcomes: list[dict[str, Any]]
    errors: dict[str, int]
    marked: int
    passes: list[dict[str, Any]]


def compute_report(version: SuiteVersion) -> AnalysisReport:
    """Compute and store the report of a suite version. Takes seconds, and loads statsmodels."""
    # Before anything is read: a change during the computation makes the report stale, not wrong.
    digest = inputs_digest(version)
    entries = list(visible_entries().filter(suite_version=version).order_by("pk").values_list("pk", flat=True))
    charts, known = of_board(version), raters()
    labels = count_labels(entries=ranked_entries(version), category="", raters=known)
    # Kept for the agreement page, whose first visitor would else wait until all answers are counted.
    count_labels(entries=selected_entries(suite=version.suite, selection=Selection()), category="", raters=known)
    errors, marked = _errors(version)
    data: ReportData = {
        "regressions": {"measured": _regression(_measured(version)), "reported": _regression(_reported(version))},
        "pairs": [_pair(pair) for pair in rater_pairs(labels, Selection(), known)],
        "tests_pairs": _tests_pairs(labels, known),
        "contradictions": _contradictions(version, known),
        "shares": [_bar(bar) for bar in charts.shares],
        "outcomes": [_bar(bar) for bar in charts.outcomes],
        "errors": errors,
        "marked": marked,
        "passes": _passes(version),
    }
    report, _ = AnalysisReport.objects.update_or_create(
        suite_version=version,
        defaults={"digest": digest, "entries": entries, "data": data, "computed": timezone.now()},
    )
    return report


def push_stale() -> int:
    """Queue a job for every suite version whose report is missing or older than its data; return how many."""
    pushed = 0
    reports = {report.suite_version_id: report for report in AnalysisReport.objects.defer("data", "entries")}
    for version in SuiteVersion.objects.filter(pk__in=visible_entries().order_by().values("suite_version")):
        report = reports.get(version.pk)
        if report and (report.computed > timezone.now() - LEAST_PAUSE or report.digest == inputs_digest(version)):
            continue
        job = "leaderboard.upkeep.jobs.compute_analysis"
        pushed += bool(push_once(AUDITS, job, version.pk, job_id=f"analysis-{version.pk}", timeout=SECONDS))
    return pushed


def _measured(version: SuiteVersion) -> list[TaskCount]:
    """Count the results of each answer's newest test run, as on the board: weak tests do not count."""
    entries = ranked_entries(version).filter(inputs=Inputs.FULL)
    answers = with_labels(answers_of(entries, ""), [TESTS], entries)
    outcomes = answers.order_by().values_list("revision__task__slug", "submission__system__backbone", TESTS.column)
    return _task_counts(version, outcomes.annotate(number=Count("pk")))


def _reported(version: SuiteVersion) -> list[TaskCount]:
    entries = ranked_entries(version).filter(inputs=Inputs.FULL)
    outcomes = with_reported_labels(results_of(entries, "")).order_by()
    columns = ("task__slug", "run__system__backbone", REPORTED_TESTS.column)
    return _task_counts(version, outcomes.values_list(*columns).annotate(number=Count("pk")))


def _task_counts(version: SuiteVersion, outcomes: Iterable[tuple[str, str, str | None, int]]) -> list[TaskCount]:
    counts: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for task, model, label, number in outcomes:
        if label is not None:
            counts[task, model][label != "CC"] += number
    revisions = TaskRevision.objects.filter(suite_versions=version)
    metrics = dict(revisions.values_list("task__slug", "repository_metrics"))
    return [
        TaskCount(task, task.rpartition("/")[0], model, passes, fails, _metrics(metrics.get(task)))
        for (task, model), (passes, fails) in sorted(counts.items())
    ]


def _metrics(stored: Mapping[str, float] | None) -> tuple[float, ...] | None:
    return tuple(float(stored[name]) for name in METRICS) if stored else None


def _regression(counts: list[TaskCount]) -> dict[str, Any] | None:
    if not counts:
        return None
    # Imported here because it loads statsmodels.
    from leaderboard.statistics.regression import fit

    return asdict(fit(counts))


def _pair(pair: RaterPair) -> dict[str, Any]:
    """Return a pair as plain data; ``agreement`` and ``kappa`` are null if undefined."""
    result = pair.result
    return {
        "first": pair.first.name,
        "second": pair.second.name,
        "labels": result.labels,
        "matrix": result.matrix,
        "n": result.n,
        "agreement": result.agreement.value,
        "kappa": result.kappa.value,
    }


def _tests_pairs(labels: Labels, known: Sequence[Rater]) -> list[dict[str, Any]]:
    """Count each rater's labels CC, LC and LI of the answers that pass their tests, and of those that do not."""
    found = []
    for tests, rater in product((REPORTED_TESTS, TESTS), known):
        matrix = _by_outcome(labels, tests, rater)
        if rater.kind != RaterKind.TESTS and any(map(any, matrix)):
            found.append({"tests": tests.name, "rater": rater.name, "kind": rater.kind.value, "matrix": matrix})
    return found


def _by_outcome(labels: Labels, tests: Rater, rater: Rater) -> list[list[int]]:
    matrix = [[0] * len(LABELS) for _ in range(2)]
    counted = labels.with_both(tests, rater)
    for _, outcome, label, number in counted.of(tests.column, rater.column) if counted else ():
        if outcome is not None and label in LABELS:
            matrix[outcome != Label.CC][LABELS.index(label)] += number
    return matrix


def _contradictions(version: SuiteVersion, known: Sequence[Rater]) -> list[dict[str, Any]]:
    """Count by category, for tests and each judge of the same answers, where only one of the two accepts an answer."""
    entries, found = ranked_entries(version), []
    for category in Category.objects.filter(revisions__suite_versions=version).distinct().order_by("position"):
        labels = count_labels(entries=entries, category=category.slug, raters=known)
        for tests, judge in product((REPORTED_TESTS, TESTS), (each for each in known if each.kind == RaterKind.JUDGE)):
            (passed_cc, *passed_rest), (failed_cc, *failed_rest) = _by_outcome(labels, tests, judge)
            answers = passed_cc + sum(passed_rest) + failed_cc + sum(failed_rest)
            if answers:
                found.append(
                    {
                        "category": category.title,
                        "tests": tests.name,
                        "judge": judge.name,
                        "only_tests": sum(passed_rest),
                        "only_judge": failed_cc,
                        "answers": answers,
                    }
                )
    return found


def _bar(bar: Bar) -> dict[str, Any]:
    """Return a bar as plain data without its parts, which are derived from the numbers."""
    return {name: value for name, value in bar._asdict().items() if name != "parts"}


def _passes(version: SuiteVersion) -> list[dict[str, Any]]:
    """Count for each task the ranked runs with a result, and those that pass it: fractional with several trials."""
    marks = ranked_entries(version).order_by().values_list("marks__tests", flat=True)
    known = [each for each in marks if each]
    found = []
    for task in tasks_of(version):
        shares = [share for each in known if (share := each[task.place]) is not None]
        found.append({"task": task.slug, "passed": sum(shares), "runs": len(shares)})
    return found


def _errors(version: SuiteVersion) -> tuple[dict[str, int], int]:
    """Count the answers with a finding of each class of error, and those with any. Closed cases only."""
    reviews = Review.objects.filter(
        case__kind=CaseKind.REVIEW,
        case__state__in=CLOSED,
        case__implementation__submission__entry__in=ranked_entries(version),
    ).exclude(findings=[])
    classes: dict[int, set[str]] = defaultdict(set)
    for answer, findings in reviews.order_by().values_list("case__implementation", "findings"):
        classes[answer] |= {finding["error_class"] for finding in findings if finding.get("error_class")}
    counted = Counter(name for found in classes.values() for name in found)
    return dict(counted), sum(bool(found) for found in classes.values())
