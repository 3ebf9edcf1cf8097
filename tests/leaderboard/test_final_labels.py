"""Final labels, and what people said, in board rows, on the board and in ``manage.py board``."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from evaluator.models import Judgement, ShownJudge
from leaderboard.board.entries import catch_up, recompute_submission
from leaderboard.board.labels import recount_labels
from leaderboard.models import Entry
from reviews.cases.states import move
from reviews.cases.voiding import tell
from reviews.enums import CaseState
from submissions.enums import SubmissionState
from submissions.models import Submission
from tests.benchmark_tasks.factories import CategoryFactory, SuiteFactory, SuiteVersionFactory, TaskFactory
from tests.benchmark_tasks.factories import TaskRevisionFactory as RevisionFactory
from tests.evaluator.factories import QueuedSubmissionFactory, runs_of
from tests.leaderboard.factories import label_counts, reported
from tests.leaderboard.judging import JudgeFactory, judged, show
from tests.reviews.factories import ReviewerFactory, case_of, decided, reviewed
from tests.submissions.factories import SystemFactory

if TYPE_CHECKING:
    from django.test import Client

    from benchmark_tasks.models import SuiteVersion
    from evaluator.models import JudgeConfig
    from reviews.models import Case
    from submissions.models import Implementation

pytestmark = pytest.mark.django_db


@pytest.fixture
def version() -> SuiteVersion:
    """Five tasks: four in one category, one outside the nine."""
    suite = SuiteFactory(slug="small", position=1)
    category = CategoryFactory(slug="evaluation-metrics")
    places = [category] * 4 + [None]
    revisions = [RevisionFactory(task=TaskFactory(suite=suite), category=place) for place in places]
    made: SuiteVersion = SuiteVersionFactory(suite=suite, revisions=revisions)
    return made


@pytest.fixture
def judge(version: SuiteVersion) -> JudgeConfig:
    """The judge that the board shows."""
    made: JudgeConfig = JudgeFactory()
    show(version.suite, made)
    return made


def scored(version: SuiteVersion, **facts: Any) -> Submission:
    submission: Submission = QueuedSubmissionFactory(suite_version=version, published=True, **facts)
    runs_of(submission, *["passed"] * submission.implementations.count())
    Submission.objects.filter(pk=submission.pk).update(state=SubmissionState.SCORED)
    return Submission.objects.get(pk=submission.pk)


def answers_of(submission: Submission) -> list[Implementation]:
    return list(submission.implementations.order_by("revision_id", "trial"))


def labelled(answer: Implementation, *labels: str, state: CaseState = CaseState.AGREED) -> Case:
    label = labels[0] if state == CaseState.AGREED else ""
    case = case_of(answer, state=state, label=label, labels_wanted=max(1, len(labels)))
    for label in labels:
        reviewed(case, ReviewerFactory(), label)
    return case


def decide(answer: Implementation, label: str) -> Case:
    case = labelled(answer, "LI", "CC", state=CaseState.FINAL)
    decided(case, ReviewerFactory(adjudicator=True), label)
    return case


def reviewed_row(version: SuiteVersion, judge: JudgeConfig, **facts: Any) -> Submission:
    """All is CC to the judge, but the last answer, which it abstained from; decided LC, agreed LI, single LI."""
    submission = scored(version, **facts)
    first, second, third, fourth, fifth = answers_of(submission)
    for answer in (first, second, third, fourth):
        judged(answer, judge, "CC")
    judged(fifth, judge)
    decide(first, "LC")
    labelled(second, "LI", "LI")
    labelled(third, "LI")
    recompute_submission(submission.pk)
    return submission


def said(submission: Submission, category: str | None = None) -> dict[str, Any]:
    metric = Entry.objects.get(submission=submission).metrics.get(category__slug=category)
    labels: dict[str, Any] = metric.labels
    return labels


def sources(decision: float = 0, agreed: float = 0, single: float = 0, judge: float = 0) -> dict[str, float]:
    return {"decision": decision, "agreed": agreed, "single": single, "judge": judge}


class TestCounting:
    def test_the_final_label_says_whose_it_is_and_humans_are_counted_apart(
        self, version: SuiteVersion, judge: JudgeConfig
    ) -> None:
        submission = reviewed_row(version, judge)
        labels = said(submission)
        assert labels.keys() == {"judge", "human", "final"}
        assert labels["human"] == label_counts(0, 1, 2, tasks=5)
        assert labels["final"] == {**label_counts(1, 1, 2, tasks=5), "sources": sources(1, 1, 1, 1)}
        assert labels["judge"] == {
            **label_counts(4, 0, 0, tasks=5, abstained=1),
            "by": {"slug": judge.slug, "name": judge.name, "model": judge.model},
        }
        assert said(submission, "evaluation-metrics")["final"] == {
            **label_counts(1, 1, 2, tasks=4),
            "sources": sources(1, 1, 1, 1),
        }

    def test_where_nobody_reviewed_the_judges_labels_are_not_stored_twice(
        self, version: SuiteVersion, judge: JudgeConfig
    ) -> None:
        submission = scored(version)
        judged(answers_of(submission)[0], judge, "CC")
        recompute_submission(submission.pk)
        assert said(submission).keys() == {"judge"}

    @pytest.mark.parametrize("state", [CaseState.ONE_LABEL, CaseState.DISPUTED, CaseState.ADJUDICATING])
    def test_an_open_cases_labels_appear_in_no_row(
        self, version: SuiteVersion, judge: JudgeConfig, state: CaseState
    ) -> None:
        submission = scored(version)
        judged(answers_of(submission)[0], judge, "CC")
        labelled(answers_of(submission)[0], "LI", "LI", state=state)
        labelled(answers_of(submission)[1], "LI", state=state)
        recompute_submission(submission.pk)
        metrics = Entry.objects.get(submission=submission).metrics.all()
        assert [metric.labels.keys() for metric in metrics] == [{"judge"}] * 2
        labelled(answers_of(submission)[2], "LC", "LC")
        recount_labels(submission.pk)
        assert said(submission)["human"] == label_counts(0, 1, 0, tasks=5)


class TestNews:
    def test_a_settled_case_changes_its_row(
        self, version: SuiteVersion, judge: JudgeConfig, django_capture_on_commit_callbacks: Any
    ) -> None:
        submission = reviewed_row(version, judge)
        fourth = answers_of(submission)[3]
        with django_capture_on_commit_callbacks(execute=True):
            tell(labelled(fourth, "LI", "LI"))
        assert said(submission)["final"]["sources"] == sources(1, 2, 1)
        assert said(submission)["human"] == label_counts(0, 1, 3, tasks=5)

    def computed_after_the_verdicts(self) -> None:
        """All verdicts are an hour old, and the rows a minute."""
        an_hour_ago, a_minute_ago = (timezone.now() - timedelta(minutes=minutes) for minutes in (60, 1))
        Judgement.objects.update(finished=an_hour_ago)
        ShownJudge.objects.update(changed=an_hour_ago)
        Entry.objects.update(computed=a_minute_ago)

    def test_lost_news_reaches_the_row_by_the_sweep(self, version: SuiteVersion, judge: JudgeConfig) -> None:
        submission = reviewed_row(version, judge)
        self.computed_after_the_verdicts()
        case = labelled(answers_of(submission)[3], "LI", "LI", state=CaseState.TWO_LABELS)
        assert catch_up() == 0
        move(case, allowed=[CaseState.TWO_LABELS], after=CaseState.AGREED)
        assert (catch_up(), said(submission)["final"]["sources"]) == (1, sources(1, 2, 1))
        assert catch_up() == 0

    def test_counting_anew_takes_as_many_queries_for_every_row(self, version: SuiteVersion, judge: JudgeConfig) -> None:
        small = reviewed_row(version, judge)
        large = reviewed_row(version, judge)
        for answer in answers_of(large)[3:]:
            decide(answer, "LC")
        counts = []
        for submission in (small, large):
            with CaptureQueriesContext(connection) as queries:
                recount_labels(submission.pk)
            counts.append(len(queries))
        assert counts[0] == counts[1]
        assert said(large)["final"]["sources"] == sources(3, 1, 1)


class TestShowing:
    def cells(self, page: str) -> list[str]:
        """The text of the cells of the column of final labels."""
        found = re.findall(r'data-label="Final, %">(.*?)</td>', page, re.DOTALL)
        return [" ".join(re.sub(r"<[^>]*>", " ", cell).split()) for cell in found]

    def test_the_board_has_a_column_that_says_whose_the_labels_are(
        self, client: Client, version: SuiteVersion, judge: JudgeConfig
    ) -> None:
        reviewed_row(version, judge, system=SystemFactory(name="A"))
        plain = scored(version, system=SystemFactory(name="B"))
        judged(answers_of(plain)[0], judge, "LC")
        unlabelled = scored(version, system=SystemFactory(name="C"))
        for submission in (plain, unlabelled):
            recompute_submission(submission.pk)
        reported(version, system=SystemFactory(name="D"))
        page = client.get("/board/small/?sort=system").content.decode()
        assert self.cells(page) == [
            (
                "CC 20.0 LC 20.0 LI 40.0 4 of 5 tasks: "
                "1 decided, 1 by two annotators, 1 by one annotator, 1 by the judge alone"
            ),
            "CC 0.0 LC 20.0 LI 0.0 1 of 5 tasks: 1 by the judge alone",
            "no label yet",
            "–",
        ]
        assert "Final is an adjudicator’s decision" in page
