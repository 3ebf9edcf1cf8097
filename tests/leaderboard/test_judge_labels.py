"""The shown judge's labels in board rows, and choosing another judge."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.utils import timezone

from benchmark_tasks.enums import AuditState
from benchmark_tasks.facts.categories import CATEGORIES
from benchmark_tasks.models import TaskRevision
from evaluator.enums import WorkState
from evaluator.models import Judgement, ShownJudge, TestRun
from evaluator.signals import implementation_rated
from leaderboard.board import entries
from leaderboard.board import labels as labels_of_rows
from leaderboard.board.entries import catch_up, recompute_submission
from leaderboard.board.labels import judge_suite, recount_labels, show_judge, shown_judge
from leaderboard.board.results import pass_at_k_table
from leaderboard.models import Entry
from submissions.enums import SubmissionState, Verb
from submissions.exceptions import NotAllowedError
from submissions.models import AuditEvent, Submission
from tests.benchmark_tasks.factories import (
    CategoryFactory,
    SuiteFactory,
    SuiteVersionFactory,
    TaskFactory,
    TaskRevisionFactory,
)
from tests.evaluator.factories import QueuedSubmissionFactory, runs_of
from tests.leaderboard.factories import label_counts, reported
from tests.leaderboard.judging import JudgeFactory, judged, show
from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.test import Client
    from pytest_django import DjangoCaptureOnCommitCallbacks

    from benchmark_tasks.models import SuiteVersion
    from evaluator.models import JudgeConfig
    from submissions.models import Implementation

pytestmark = pytest.mark.django_db


def version_of(tasks: int = 4) -> SuiteVersion:
    """``tasks`` in one category, but the last one, which is outside the nine."""
    suite = SuiteFactory(slug="lmr-mini", position=1)
    category = CategoryFactory(slug=CATEGORIES[0].slug)
    revisions = [
        TaskRevisionFactory(task=TaskFactory(suite=suite), category=category if place < tasks - 1 else None)
        for place in range(tasks)
    ]
    made: SuiteVersion = SuiteVersionFactory(suite=suite, revisions=revisions)
    return made


def scored(version: SuiteVersion, **facts: Any) -> Submission:
    submission: Submission = QueuedSubmissionFactory(suite_version=version, **facts)
    runs_of(submission, *["passed"] * submission.implementations.count())
    Submission.objects.filter(pk=submission.pk).update(state=SubmissionState.SCORED)
    return submission


def answers_of(submission: Submission) -> list[Implementation]:
    return list(submission.implementations.order_by("revision_id", "trial"))


def said(submission: Submission, category: str = "") -> dict[str, Any]:
    """The stored labels of a row, overall or in a category."""
    metrics = Entry.objects.get(submission=submission).metrics
    metric = metrics.get(category__slug=category) if category else metrics.get(category=None)
    labels: dict[str, Any] = metric.labels
    return labels


def by(config: JudgeConfig) -> dict[str, str]:
    return {"slug": config.slug, "name": config.name, "model": config.model}


def test_all_tasks_stay_in_the_denominator_and_abstentions_have_a_bucket() -> None:
    version, config = version_of(), JudgeFactory()
    show(version.suite, config)
    submission = scored(version)
    first, second, third, _ = answers_of(submission)
    judged(first, config, "CC")
    judged(second, config, "LI")
    judged(third, config)
    recompute_submission(submission.pk)
    assert said(submission) == {"judge": {**label_counts(1, 0, 1, tasks=4, abstained=1), "by": by(config)}}
    # The task that nobody judged is the one outside the nine.
    assert said(submission, CATEGORIES[0].slug) == {
        "judge": {**label_counts(1, 0, 1, tasks=3, abstained=1), "by": by(config)}
    }


def test_only_the_shown_judge_counts_and_only_what_it_decided() -> None:
    version, config, other = version_of(), JudgeFactory(), JudgeFactory()
    show(version.suite, config)
    submission = scored(version)
    first, second, third, _ = answers_of(submission)
    judged(first, other, "CC")
    judged(second, config, "LC")
    judged(third, config, "CC", state=WorkState.RUNNING)
    recompute_submission(submission.pk)
    assert said(submission)["judge"] == {**label_counts(0, 1, 0, tasks=4), "by": by(config)}


@pytest.mark.parametrize("again", [recount_labels, recompute_submission])
def test_what_is_said_while_a_row_is_counted_makes_it_outdated(
    monkeypatch: pytest.MonkeyPatch, again: Callable[[int], object]
) -> None:
    version, config = version_of(), JudgeFactory()
    show(version.suite, config)
    submission = scored(version)
    first, second, *_ = answers_of(submission)
    judged(first, config, "CC")
    recompute_submission(submission.pk)

    def counted(*arguments: Any, **named: Any) -> Any:
        monkeypatch.undo()
        found = labels_of_rows.count_labels(*arguments, **named)
        judged(second, config, "LI")
        return found

    monkeypatch.setattr(labels_of_rows, "count_labels", counted)
    monkeypatch.setattr(entries, "count_labels", counted)
    again(submission.pk)
    assert said(submission)["judge"]["LI"] == 0
    assert catch_up() == 1
    assert said(submission)["judge"]["LI"] == 1
    assert catch_up() == 0


def test_labels_are_shares_over_trials() -> None:
    version, config = version_of(2), JudgeFactory()
    show(version.suite, config)
    submission = scored(version, trials=3)
    one, two, three, *_ = answers_of(submission)
    judged(one, config, "CC")
    judged(two, config, "CC")
    judged(three, config, "LI")
    recompute_submission(submission.pk)
    labels = said(submission)["judge"]
    assert {key: labels[key] for key in ("CC", "LC", "LI", "abstained", "none")} == {
        "CC": 0.666667,
        "LC": 0,
        "LI": 0.333333,
        "abstained": 0,
        "none": 1,
    }
    assert labels["percent"] == {"CC": 33.3, "LC": 0.0, "LI": 16.7}


def test_a_verdict_changes_the_labels_and_nothing_else(django_capture_on_commit_callbacks: Any) -> None:
    version, config = version_of(), JudgeFactory()
    show(version.suite, config)
    submission = scored(version)
    recompute_submission(submission.pk)
    # Not computed again: the row would say 0 otherwise.
    TestRun.objects.update(outcome="raised")
    first = answers_of(submission)[0]
    judged(first, config, "CC")
    with django_capture_on_commit_callbacks(execute=True):
        implementation_rated.send(sender=Judgement, implementation=first)
    metric = Entry.objects.get().metrics.get(category=None)
    assert (metric.tests_passed, metric.labels["judge"]["CC"]) == (4.0, 1)
    assert said(submission, CATEGORIES[0].slug)["judge"]["CC"] == 1


def test_verdicts_whose_news_was_lost_reach_the_rows_by_the_sweep() -> None:
    version, config = version_of(), JudgeFactory()
    show(version.suite, config)
    submission = scored(version)
    recompute_submission(submission.pk)
    assert catch_up() == 0
    judged(answers_of(submission)[0], config, "LC", finished=timezone.now() + timedelta(milliseconds=1))
    assert (catch_up(), said(submission)["judge"]["LC"]) == (1, 1)
    Judgement.objects.update(finished=timezone.now() - timedelta(minutes=1))
    assert catch_up() == 0


class TestShowing:
    def test_every_row_of_the_suite_is_counted_anew(
        self, client: Client, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
    ) -> None:
        version, old, new = version_of(), JudgeFactory(name="Old Judge"), JudgeFactory(name="New Judge")
        show(version.suite, old)
        first, second = scored(version, published=True), scored(version)
        elsewhere = scored(SuiteVersionFactory(tasks=1))
        for submission in (first, second):
            judged(answers_of(submission)[0], old, "CC")
            judged(answers_of(submission)[0], new, "LI")
        for submission in (first, second, elsewhere):
            recompute_submission(submission.pk)
        untouched = Entry.objects.get(submission=elsewhere).computed
        maintainer = UserFactory(is_staff=True)
        with django_capture_on_commit_callbacks(execute=True):
            rows = show_judge(suite=version.suite, config=new, actor=maintainer, reason="It is better.")
        assert (rows, shown_judge(version.suite.pk)) == (2, new)
        for submission in (first, second):
            assert said(submission)["judge"] == {**label_counts(0, 0, 1, tasks=4), "by": by(new)}
        assert Entry.objects.get(submission=elsewhere).computed == untouched
        event = AuditEvent.objects.get(verb=Verb.JUDGE_SHOWN)
        assert (event.actor, event.reason, event.subject_kind) == (maintainer, "It is better.", "suite")
        assert event.data == {"changed": {"judge": [old.slug, new.slug]}}
        page = client.get("/").content.decode()
        assert ("New Judge" in page, "Old Judge" in page) == (True, False)

    def test_only_maintainers_choose(self) -> None:
        version, config = version_of(), JudgeFactory()
        judged(answers_of(scored(version))[0], config, "CC")
        with pytest.raises(NotAllowedError):
            show_judge(suite=version.suite, config=config, actor=UserFactory(), reason="x")
        assert not ShownJudge.objects.exists()


class TestJudgingASuite:
    def test_it_is_planned_and_recorded(self) -> None:
        version, config = version_of(), JudgeFactory()
        scored(version)
        maintainer = UserFactory(is_staff=True)
        assert judge_suite(suite=version.suite, config=config, actor=maintainer) == 4
        assert judge_suite(suite=version.suite, config=config, actor=maintainer) == 0
        events = AuditEvent.objects.filter(verb=Verb.JUDGED_AGAIN).order_by("pk")
        assert [event.data for event in events] == [
            {"judge": config.slug, "answers": 4},
            {"judge": config.slug, "answers": 0},
        ]


class TestBoard:
    def test_names_its_judge_and_keeps_what_was_reported(self, client: Client) -> None:
        version, config = version_of(), JudgeFactory(name="Careful May", model="careful-2026-05")
        show(version.suite, config)
        submission = scored(version, published=True)
        judged(answers_of(submission)[0], config, "CC")
        recompute_submission(submission.pk)
        reported(version, metric={"labels": {"judge": label_counts(5, 3, 20, tasks=28)}})
        page = client.get("/").content.decode()
        assert f'<a class="judge-name" href="/judges/{config.slug}/" title="careful-2026-05">Careful May</a>' in page
        assert "1 of 4 tasks</span>" in page
        assert "28 of 28 tasks</span>" in page


class TestPassAtK:
    def test_is_estimated_without_bias_over_the_tasks_that_count(self) -> None:
        version = version_of(3)
        submission: Submission = QueuedSubmissionFactory(suite_version=version, trials=2)
        runs_of(submission, "passed", "raised", "passed", "passed", "passed", "passed")
        Submission.objects.filter(pk=submission.pk).update(state=SubmissionState.SCORED)
        last = version.revisions.order_by("pk").last()
        assert last is not None
        TaskRevision.objects.filter(pk=last.pk).update(audit_state=AuditState.WEAK)
        recompute_submission(submission.pk)
        # One of two trials: .5 at k = 1, and certain at k = 2. Both: certain. The weak task is left out.
        assert pass_at_k_table(submission) == [
            (1, 75.0, 2),
            (2, 100.0, 2),
        ]

    def test_a_single_trial_or_no_row_has_none(self) -> None:
        version = version_of(2)
        single = scored(version)
        recompute_submission(single.pk)
        assert pass_at_k_table(single) == []
        assert pass_at_k_table(scored(version, trials=2)) == []
