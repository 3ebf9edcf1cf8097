"""Board rows computed from test runs."""

from __future__ import annotations

import pytest

from benchmark_tasks.facts.categories import CATEGORIES
from benchmark_tasks.models import SuiteVersion
from evaluator.models import TestRun
from leaderboard.domain.entries import rebuild_missing, recompute_submission, refresh_visibility
from leaderboard.models import Entry, EntryMetric
from submissions.enums import Kind, SubmissionState, Visibility
from submissions.models import Submission
from tests.benchmark_tasks.factories import (
    CategoryFactory,
    SuiteFactory,
    SuiteVersionFactory,
    TaskFactory,
    TaskRevisionFactory,
)
from tests.evaluator.factories import QueuedSubmissionFactory, TestRunFactory, runs_of

pytestmark = pytest.mark.django_db


def version_in_two_categories() -> SuiteVersion:
    """Three tasks: two in the first category, one outside the nine."""
    suite = SuiteFactory()
    first = CategoryFactory(slug=CATEGORIES[0].slug)
    revisions = [
        TaskRevisionFactory(task=TaskFactory(suite=suite), category=category) for category in (first, first, None)
    ]
    version: SuiteVersion = SuiteVersionFactory(suite=suite, revisions=revisions)
    return version


def scored(version: SuiteVersion, *outcomes: str, **fields: object) -> Submission:
    submission: Submission = QueuedSubmissionFactory(suite_version=version, **fields)
    runs_of(submission, *outcomes)
    Submission.objects.filter(pk=submission.pk).update(state=SubmissionState.SCORED)
    return submission


def overall(entry: Entry | None) -> EntryMetric:
    """The metric of all tasks: a task outside the nine has no category either, but is counted in it only once."""
    assert entry is not None
    return entry.metrics.get(category__isnull=True)


def test_the_denominator_is_all_tasks_and_every_category_counts_its_own() -> None:
    submission = scored(version_in_two_categories(), "passed", "raised", "passed")
    entry = recompute_submission(submission.pk)
    metric = overall(entry)
    assert (metric.tasks, metric.tests_passed, metric.tests_rate) == (3, 2.0, pytest.approx(2 / 3))
    assert metric.labels == {}
    assert entry is not None
    (category,) = entry.metrics.filter(category__isnull=False)
    assert (category.category.slug, category.tasks, category.tests_passed) == (CATEGORIES[0].slug, 2, 1.0)


def test_a_task_without_an_answer_counts_against_the_system() -> None:
    submission = scored(SuiteVersionFactory(tasks=4), "passed", "not_attempted", "bad_patch", "timeout")
    metric = overall(recompute_submission(submission.pk))
    assert (metric.tasks, metric.tests_passed) == (4, 1.0)
    assert (metric.tests_low, metric.tests_high) == (pytest.approx(0.0456, abs=1e-4), pytest.approx(0.6994, abs=1e-4))


def test_trials_are_averaged_within_a_task_first() -> None:
    submission = scored(SuiteVersionFactory(tasks=2), "passed", "raised", "passed", "passed", trials=2)
    metric = overall(recompute_submission(submission.pk))
    assert (metric.tasks, metric.tests_passed, metric.tests_rate) == (2, 1.5, 0.75)


def test_the_newest_run_of_an_answer_counts() -> None:
    submission = scored(SuiteVersionFactory(tasks=1), "raised")
    old = TestRun.objects.get()
    TestRunFactory(implementation=old.implementation, done="passed", seed_epoch=2, supersedes=old)
    assert overall(recompute_submission(submission.pk)).tests_passed == 1.0


def test_computing_again_replaces() -> None:
    submission = scored(version_in_two_categories(), "passed", "raised", "passed")
    first = recompute_submission(submission.pk)
    TestRun.objects.update(outcome="raised")
    second = recompute_submission(submission.pk)
    assert first is not None
    assert second is not None
    assert (first.pk, overall(second).tests_passed, EntryMetric.objects.count()) == (second.pk, 0.0, 2)


def test_only_scored_submissions_have_a_row() -> None:
    submission = QueuedSubmissionFactory()
    runs_of(submission, "passed", "passed")
    assert recompute_submission(submission.pk) is None
    assert not Entry.objects.exists()


def test_a_row_follows_its_submission() -> None:
    submission = scored(SuiteVersionFactory(tasks=1), "passed", kind=Kind.CALIBRATION, inputs="paper_only")
    entry = recompute_submission(submission.pk)
    assert entry is not None
    assert (entry.kind, entry.inputs, entry.published) == ("calibration", "paper_only", False)
    Submission.objects.update(visibility=Visibility.PUBLISHED)
    refresh_visibility(submission.pk)
    entry.refresh_from_db()
    assert entry.published
    Submission.objects.update(visibility=Visibility.HIDDEN)
    refresh_visibility(submission.pk)
    entry.refresh_from_db()
    assert not entry.published


def test_rows_whose_news_was_lost_are_rebuilt() -> None:
    submission = scored(SuiteVersionFactory(tasks=1), "passed")
    assert (rebuild_missing(), rebuild_missing()) == (1, 0)
    assert Entry.objects.get().submission == submission
