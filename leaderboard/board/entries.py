"""Computing board rows, and computing those again that are older than what they count. Entries are never edited."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from django.core.cache import cache
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from benchmark_tasks.domain.left_out import tasks_left_out
from benchmark_tasks.domain.queries import revisions_of
from benchmark_tasks.domain.statistics import wilson
from benchmark_tasks.models import SuiteVersion
from evaluator.enums import WorkState
from evaluator.models import Judgement
from evaluator.queue.progress import passed_trials
from leaderboard.board.labels import (
    BATCH,
    COUNTED,
    count_labels,
    distributions,
    recount_batch,
    recount_labels,
    reviewed_since,
    shown_judge,
)
from leaderboard.models import Entry, EntryMetric, ReportedRun
from submissions.enums import Kind, SubmissionState, Visibility
from submissions.models import Submission

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from benchmark_tasks.models import TaskRevision
    from evaluator.models import JudgeConfig

OVERALL: int | None = None
COUNTING: Final = 1
"""Raise it when something else is counted: the sweep then counts every row again."""


@dataclass
class Tally:
    """What is counted of one entry in one category (or overall)."""

    tasks: int = 0
    tests: float | None = None
    labels: dict[str, dict[str, float]] = field(default_factory=dict)

    def add_tests(self, share: float) -> None:
        """Count a task whose tests passed in ``share`` of its trials."""
        self.tests = (self.tests or 0.0) + share

    def add_label(self, rater: str, label: str) -> None:
        """Count what one rater said of a task."""
        counts = self.labels.setdefault(rater, dict.fromkeys(COUNTED, 0))
        counts[label] += 1


def recompute_submission(submission_id: int) -> Entry | None:
    """Write the entry of a scored submission anew; ``None`` (and no entry) while it is not scored."""
    submission = Submission.objects.select_related("suite_version").get(pk=submission_id)
    if submission.state != SubmissionState.SCORED:
        Entry.objects.filter(submission=submission).delete()
        return None
    revisions = list(revisions_of(submission.suite_version))
    with transaction.atomic():
        # The row is locked before anything is counted, so that of two at once the later one counts what is newer.
        entry, _ = Entry.objects.update_or_create(
            submission=submission,
            defaults={
                "suite_version": submission.suite_version,
                "system_id": submission.system_id,
                "inputs": submission.inputs,
                "kind": submission.kind,
                "published": submission.visibility == Visibility.PUBLISHED,
                "left_out": tasks_left_out(revisions),
                "counting": COUNTING,
            },
        )
        judge = shown_judge(submission.suite_version.suite_id)
        _write_metrics(entry, _counted(submission, revisions, judge), judge)
    return entry


def _counted(
    submission: Submission, revisions: Sequence[TaskRevision], judge: JudgeConfig | None
) -> dict[int | None, Tally]:
    tallies = _empty_tallies(each for each in revisions if not each.why_left_out)
    passes = passed_trials(submission, revisions)
    for revision in revisions:
        if revision.pk in passes:
            for key in {OVERALL, revision.category_id}:
                tallies[key].add_tests(passes[revision.pk] / submission.trials)
    left_out = [each.pk for each in revisions if each.why_left_out]
    for key, labels in count_labels(submission, judge, without=left_out).items():
        tallies[key].labels = labels
    return tallies


def recompute_audited(revision_id: int) -> int:
    """Compute the entries of every scored submission that ``revision_id`` counts in, or does not; say how many."""
    concerned = Submission.objects.filter(state=SubmissionState.SCORED, suite_version__revisions=revision_id)
    return sum(recompute_submission(pk) is not None for pk in list(concerned.values_list("pk", flat=True)))


def refresh_visibility(submission_id: int) -> None:
    """Copy whether a submission is published onto its entry. Cheap; numbers are not touched."""
    published = Submission.objects.filter(pk=submission_id, visibility=Visibility.PUBLISHED).exists()
    Entry.objects.filter(submission_id=submission_id).update(published=published)


def recompute_reported(run: ReportedRun, version: SuiteVersion) -> Entry:
    """Write the entry of a reported run anew, from its per-task results and, where there are none, its totals.

    It keeps its publication's denominator: all tasks of the version, whether they can be run here or not.
    """
    tallies = _empty_tallies(version.revisions.all())
    categories = dict(version.revisions.values_list("task_id", "category_id"))
    for result in run.results.all():
        for key in {OVERALL, categories.get(result.task_id)}:
            if result.tests_passed is not None:
                tallies[key].add_tests(float(result.tests_passed))
            for rater, label in (("judge", result.judge_label), ("human", result.human_label)):
                if label:
                    tallies[key].add_label(rater, label)
    overall = tallies[OVERALL]
    for total in run.aggregates.filter(count__isnull=False):
        assert total.count is not None  # noqa: S101 - filtered above, for the type checker
        if total.measure == "tests":
            overall.tests = float(total.count)
        else:
            rater, _, label = total.measure.partition("_")
            overall.labels.setdefault(rater, dict.fromkeys(COUNTED, 0))[label] = total.count
    with transaction.atomic():
        entry, _ = Entry.objects.update_or_create(
            reported_run=run,
            defaults={
                "suite_version": version,
                "system_id": run.system_id,
                "inputs": run.inputs,
                "kind": Kind.RANKED,
                "published": True,
                "counting": COUNTING,
            },
        )
        _write_metrics(entry, tallies)
    return entry


def _empty_tallies(counted: Iterable[TaskRevision]) -> dict[int | None, Tally]:
    tallies: dict[int | None, Tally] = defaultdict(Tally)
    tallies[OVERALL] = Tally()
    for revision in counted:
        # A task outside the nine counts once, overall: the set holds the same key twice then.
        for key in {OVERALL, revision.category_id}:
            tallies[key].tasks += 1
    return tallies


def _write_metrics(entry: Entry, tallies: dict[int | None, Tally], judge: JudgeConfig | None = None) -> None:
    entry.metrics.all().delete()
    EntryMetric.objects.bulk_create(_metrics(entry, tallies.items(), judge))


def _metrics(
    entry: Entry, tallies: Iterable[tuple[int | None, Tally]], judge: JudgeConfig | None
) -> Iterable[EntryMetric]:
    for category, tally in tallies:
        metric = EntryMetric(entry=entry, category_id=category, tasks=tally.tasks)
        if tally.tests is not None and tally.tasks:
            metric.tests_passed = tally.tests
            metric.tests_rate = tally.tests / tally.tasks
            metric.tests_low, metric.tests_high = wilson(tally.tests, tally.tasks)
        metric.labels = distributions(tally.labels, tally.tasks, judge)
        yield metric


_CAUGHT_UP: Final = "board-rows-caught-up"
_IN_FLIGHT: Final = timedelta(minutes=10)
"""How long before its commit a transaction may have noted its time."""


def catch_up() -> int:
    """Bring the rows up to date that an older version counted, or whose news a killed process did not send.

    Looks for news since this last ran, or for all where that is not known; returns how many rows.
    """
    started, until = timezone.now(), cache.get(_CAUGHT_UP)
    since = until - _IN_FLIGHT if until else None
    older = list(Entry.objects.filter(counting__lt=COUNTING).select_related("reported_run", "suite_version")[:BATCH])
    recomputed = {*_without_row(since), *_with_other_tasks()}
    recomputed.update(each.submission_id for each in older if each.submission_id)
    done = sum(recompute_submission(pk) is not None for pk in recomputed)
    reported = [recompute_reported(each.reported_run, each.suite_version) for each in older if each.reported_run]
    done += len(reported)
    done += sum(recount_labels(pk) for pk in {*_judged_since(since), *reviewed_since(since)} - recomputed)
    done += recount_batch()
    cache.set(_CAUGHT_UP, started, timeout=None)
    return done


def _without_row(since: datetime | None) -> list[int]:
    scored = Submission.objects.filter(state=SubmissionState.SCORED, entry__isnull=True)
    if since is not None:
        scored = scored.filter(scored_at__gt=since)
    return list(scored.values_list("pk", flat=True))


def _with_other_tasks() -> list[int]:
    """Rows that leave out other tasks than their suite version does now. One query for each version."""
    found: list[int] = []
    for version in SuiteVersion.objects.filter(pk__in=Entry.objects.order_by().values("suite_version")):
        left_out = tasks_left_out(revisions_of(version))
        rows = version.entries.filter(submission__state=SubmissionState.SCORED).exclude(left_out=left_out)
        found += rows.values_list("submission__pk", flat=True)
    return found


def _judged_since(since: datetime | None) -> list[int]:
    """Submissions with a verdict of the shown judge that is newer than their row."""
    answer = "implementation__submission"
    verdicts = Judgement.objects.filter(
        state=WorkState.DONE,
        config=F(f"{answer}__suite_version__suite__shown_judge__config"),
        finished__gt=F(f"{answer}__entry__computed"),
    )
    if since is not None:
        verdicts = verdicts.filter(finished__gt=since)
    return list(verdicts.order_by().values_list(answer, flat=True).distinct())
