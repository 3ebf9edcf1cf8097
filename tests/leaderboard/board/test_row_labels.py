"""The shown judge's, annotators' and final labels in board rows, on the board, and choosing another judge."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.utils import timezone

from benchmark_tasks.enums import AuditState
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
from reviews.cases.states import move
from reviews.enums import CaseState
from submissions.enums import Verb
from submissions.models import AuditEvent, Submission
from tests.benchmark_tasks.factories import (
    CategoryFactory,
    SuiteFactory,
    SuiteVersionFactory,
    TaskFactory,
    TaskRevisionFactory,
)
from tests.leaderboard.factories import label_counts, reported
from tests.leaderboard.judging import JudgeFactory, judged, show
from tests.leaderboard.showing import counted
from tests.reviews.factories import ReviewerFactory, case_of, decided, reviewed
from tests.submissions.factories import SystemFactory, UserFactory

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.test import Client

    from benchmark_tasks.models import SuiteVersion
    from evaluator.models import JudgeConfig
    from reviews.models import Case
    from submissions.models import Implementation

pytestmark = pytest.mark.django_db
CATEGORY = "evaluation-metrics"


@pytest.fixture
def version() -> SuiteVersion:
    """Five tasks: four in one category, one outside the nine."""
    suite = SuiteFactory(slug="small", position=1)
    places = [CategoryFactory(slug=CATEGORY)] * 4 + [None]
    revisions = [TaskRevisionFactory(task=TaskFactory(suite=suite), category=place) for place in places]
    made: SuiteVersion = SuiteVersionFactory(suite=suite, revisions=revisions)
    return made


@pytest.fixture
def judge(version: SuiteVersion) -> JudgeConfig:
    """The judge that the board shows."""
    made: JudgeConfig = JudgeFactory()
    show(version.suite, made)
    return made


def scored(version: SuiteVersion, *outcomes: str, **facts: Any) -> Submission:
    return counted(version, *outcomes, **{"published": True, **facts})


def answers_of(submission: Submission) -> list[Implementation]:
    return list(submission.implementations.order_by("revision_id", "trial"))


def labelled(answer: Implementation, *labels: str, state: CaseState = CaseState.AGREED) -> Case:
    label = labels[0] if state == CaseState.AGREED else ""
    case = case_of(answer, state=state, label=label, labels_wanted=max(1, len(labels)))
    for label in labels:
        reviewed(case, ReviewerFactory(), label)
    return case


def reviewed_row(version: SuiteVersion, judge: JudgeConfig, **facts: Any) -> Submission:
    """The judge labels all answers but the last CC; reviews give LC by decision, LI by agreement, LI by one label."""
    submission = scored(version, **facts)
    first, second, third, fourth, fifth = answers_of(submission)
    for answer in (first, second, third, fourth):
        judged(answer, judge, "CC")
    judged(fifth, judge)
    decided(labelled(first, "LI", "CC", state=CaseState.FINAL), ReviewerFactory(adjudicator=True), "LC")
    labelled(second, "LI", "LI")
    labelled(third, "LI")
    recompute_submission(submission.pk)
    return submission


def stored_labels(submission: Submission, category: str | None = None) -> dict[str, Any]:
    """The stored labels of a row, overall or in a category."""
    labels: dict[str, Any] = Entry.objects.get(submission=submission).metrics.get(category__slug=category).labels
    return labels


def by(config: JudgeConfig) -> dict[str, str]:
    return {"slug": config.slug, "name": config.name, "model": config.model}


def sources(decision: float = 0, agreed: float = 0, single: float = 0, judge: float = 0) -> dict[str, float]:
    return {"decision": decision, "agreed": agreed, "single": single, "judge": judge}


class TestCounting:
    def test_final_labels_have_sources_and_annotators_are_counted_separately(
        self, version: SuiteVersion, judge: JudgeConfig
    ) -> None:
        submission = reviewed_row(version, judge)
        assert stored_labels(submission) == {
            "human": label_counts(0, 1, 2, tasks=5),
            "final": {**label_counts(1, 1, 2, tasks=5), "sources": sources(1, 1, 1, 1)},
            "judge": {**label_counts(4, 0, 0, tasks=5, abstained=1), "by": by(judge)},
        }
        # The task outside the nine is the one that the judge abstained from.
        in_category = stored_labels(submission, CATEGORY)
        assert in_category["final"] == {**label_counts(1, 1, 2, tasks=4), "sources": sources(1, 1, 1, 1)}
        assert in_category["judge"] == {**label_counts(4, 0, 0, tasks=4), "by": by(judge)}

    def test_only_finished_labels_of_the_shown_judge_count(self, version: SuiteVersion, judge: JudgeConfig) -> None:
        submission = scored(version)
        first, second, third, *_ = answers_of(submission)
        judged(first, JudgeFactory(), "CC")
        judged(second, judge, "LC")
        judged(third, judge, "CC", state=WorkState.RUNNING)
        recompute_submission(submission.pk)
        # Without reviews, the judge's labels are not stored twice.
        assert stored_labels(submission) == {"judge": {**label_counts(0, 1, 0, tasks=5), "by": by(judge)}}

    @pytest.mark.parametrize("state", [CaseState.ONE_LABEL, CaseState.DISPUTED, CaseState.ADJUDICATING])
    def test_an_open_cases_labels_appear_in_no_row(
        self, version: SuiteVersion, judge: JudgeConfig, state: CaseState
    ) -> None:
        submission = scored(version)
        first, second, third, *_ = answers_of(submission)
        judged(first, judge, "CC")
        labelled(first, "LI", "LI", state=state)
        labelled(second, "LI", state=state)
        recompute_submission(submission.pk)
        metrics = Entry.objects.get(submission=submission).metrics.all()
        assert [metric.labels.keys() for metric in metrics] == [{"judge"}] * 2
        labelled(third, "LC", "LC")
        recount_labels(submission.pk)
        assert stored_labels(submission)["human"] == label_counts(0, 1, 0, tasks=5)

    def test_labels_are_shares_over_trials(self) -> None:
        version, judge = SuiteVersionFactory(tasks=2), JudgeFactory()
        show(version.suite, judge)
        submission = scored(version, trials=3)
        for answer, label in zip(answers_of(submission), ("CC", "CC", "LI"), strict=False):
            judged(answer, judge, label)
        recompute_submission(submission.pk)
        expected = {"CC": 0.666667, "LC": 0, "LI": 0.333333, "abstained": 0, "none": 1}
        percent = {"CC": 33.3, "LC": 0.0, "LI": 16.7}
        assert stored_labels(submission)["judge"] == {**expected, "percent": percent, "by": by(judge)}


class TestSignals:
    def test_a_verdict_changes_the_labels_and_nothing_else(
        self, version: SuiteVersion, judge: JudgeConfig, django_capture_on_commit_callbacks: Any
    ) -> None:
        submission = scored(version)
        recompute_submission(submission.pk)
        # The row is not recomputed: it would have 0 passes otherwise.
        TestRun.objects.update(outcome="raised")
        first = answers_of(submission)[0]
        judged(first, judge, "CC")
        with django_capture_on_commit_callbacks(execute=True):
            implementation_rated.send(sender=Judgement, implementation=first)
        metric = Entry.objects.get().metrics.get(category=None)
        assert (metric.tests_passed, metric.labels["judge"]["CC"]) == (5.0, 1)

    def test_the_sweep_applies_a_closed_case_whose_signal_was_lost(
        self, version: SuiteVersion, judge: JudgeConfig
    ) -> None:
        submission = reviewed_row(version, judge)
        an_hour_ago, a_minute_ago = (timezone.now() - timedelta(minutes=minutes) for minutes in (60, 1))
        Judgement.objects.update(finished=an_hour_ago)
        ShownJudge.objects.update(changed=an_hour_ago)
        Entry.objects.update(computed=a_minute_ago)
        case = labelled(answers_of(submission)[3], "LI", "LI", state=CaseState.TWO_LABELS)
        assert catch_up() == 0
        move(case, allowed=[CaseState.TWO_LABELS], after=CaseState.AGREED)
        assert (catch_up(), stored_labels(submission)["final"]["sources"]) == (1, sources(1, 2, 1))
        assert catch_up() == 0

    @pytest.mark.parametrize("again", [recount_labels, recompute_submission])
    def test_labels_given_while_a_row_is_counted_make_it_outdated(
        self, version: SuiteVersion, judge: JudgeConfig, monkeypatch: pytest.MonkeyPatch, again: Callable[[int], object]
    ) -> None:
        submission = scored(version)
        first, second, *_ = answers_of(submission)
        judged(first, judge, "CC")
        recompute_submission(submission.pk)

        def counted(*arguments: Any, **named: Any) -> Any:
            monkeypatch.undo()
            found = labels_of_rows.count_labels(*arguments, **named)
            judged(second, judge, "LI")
            return found

        monkeypatch.setattr(labels_of_rows, "count_labels", counted)
        monkeypatch.setattr(entries, "count_labels", counted)
        again(submission.pk)
        assert stored_labels(submission)["judge"]["LI"] == 0
        assert (catch_up(), stored_labels(submission)["judge"]["LI"], catch_up()) == (1, 1, 0)


def test_showing_another_judge_recounts_every_row_of_the_suite(
    client: Client, version: SuiteVersion, judge: JudgeConfig, django_capture_on_commit_callbacks: Any
) -> None:
    new = JudgeFactory(name="New Judge")
    first, second = scored(version), scored(version, published=False)
    elsewhere = scored(SuiteVersionFactory(tasks=1))
    for submission in (first, second):
        judged(answers_of(submission)[0], judge, "CC")
        judged(answers_of(submission)[0], new, "LI")
    for submission in (first, second, elsewhere):
        recompute_submission(submission.pk)
    untouched = Entry.objects.get(submission=elsewhere).computed
    maintainer = UserFactory(is_staff=True)
    with django_capture_on_commit_callbacks(execute=True):
        rows = show_judge(suite=version.suite, config=new, actor=maintainer, reason="It is better.")
    assert (rows, shown_judge(version.suite.pk)) == (2, new)
    for submission in (first, second):
        assert stored_labels(submission)["judge"] == {**label_counts(0, 0, 1, tasks=5), "by": by(new)}
    assert Entry.objects.get(submission=elsewhere).computed == untouched
    event = AuditEvent.objects.get(verb=Verb.JUDGE_SHOWN)
    assert (event.actor, event.reason, event.subject_kind) == (maintainer, "It is better.", "suite")
    assert event.data == {"changed": {"judge": [judge.slug, new.slug]}}
    assert f'href="/judges/{new.slug}/" title="{new.model}">New Judge</a>' in client.get("/").content.decode()


def test_having_a_suite_judged_is_recorded(version: SuiteVersion, judge: JudgeConfig) -> None:
    scored(version)
    maintainer = UserFactory(is_staff=True)
    planned = [judge_suite(suite=version.suite, config=judge, actor=maintainer) for _ in range(2)]
    events = AuditEvent.objects.filter(verb=Verb.JUDGED_AGAIN).order_by("pk")
    assert planned == [5, 0]
    assert [event.data for event in events] == [{"judge": judge.slug, "answers": number} for number in planned]


def test_the_board_has_a_column_of_final_labels_with_their_sources(
    client: Client, version: SuiteVersion, judge: JudgeConfig
) -> None:
    reviewed_row(version, judge, system=SystemFactory(name="A"))
    plain = scored(version, system=SystemFactory(name="B"))
    judged(answers_of(plain)[0], judge, "LC")
    unlabelled = scored(version, system=SystemFactory(name="C"))
    for submission in (plain, unlabelled):
        recompute_submission(submission.pk)
    reported(version, system=SystemFactory(name="D"))
    page = client.get("/board/small/?sort=system").content.decode()
    cells = re.findall(r'data-label="Final">(.*?)</td>', page, re.DOTALL)
    assert [" ".join(re.sub(r"<[^>]*>", " ", cell).split()) for cell in cells] == [
        (
            "CC 20.0 LC 20.0 LI 40.0 4 of 5 tasks: "
            "1 decided, 1 by two annotators, 1 by one annotator, 1 by the judge alone"
        ),
        "CC 0.0 LC 20.0 LI 0.0 1 of 5 tasks: 1 by the judge alone",
        "no label yet",
        "–",
    ]


def test_pass_at_k_is_estimated_without_bias_over_the_tasks_that_count() -> None:
    version = SuiteVersionFactory(tasks=3)
    submission = scored(version, "passed", "raised", "passed", "passed", "passed", "passed", trials=2)
    assert pass_at_k_table(submission) == []
    weak = version.revisions.order_by("pk")[2]
    TaskRevision.objects.filter(pk=weak.pk).update(audit_state=AuditState.WEAK)
    recompute_submission(submission.pk)
    # One of two trials passes: 0.5 at k = 1, 1 at k = 2. Both pass: 1. The weak task is left out.
    assert pass_at_k_table(submission) == [(1, 75.0, 2), (2, 100.0, 2)]
