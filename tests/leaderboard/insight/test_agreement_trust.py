"""Judges compared with final labels, their corrected share of CC, and from whom these are hidden."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.utils import timezone

from evaluator.enums import WorkState
from evaluator.models import Judgement
from leaderboard.insight.agreement import trust as corrections
from leaderboard.insight.agreement.raters import raters
from leaderboard.insight.agreement.trust import judge_trust
from leaderboard.statistics.results import JudgeTrust
from reviews.enums import AssignmentState, CaseState, TriggerKind
from reviews.models import Assignment, Case, Trigger
from tests.benchmark_tasks.factories import SuiteFactory, SuiteVersionFactory
from tests.leaderboard.factories import measured
from tests.leaderboard.judging import JudgeFactory
from tests.leaderboard.rater_labels import labels_on
from tests.leaderboard.showing import words_of
from tests.reviews.factories import ReviewerFactory, assigned, case_of, reviewed
from tests.submissions.factories import ImplementationFactory

if TYPE_CHECKING:
    from django.test import Client

    from benchmark_tasks.models import SuiteVersion
    from submissions.models import Implementation

pytestmark = pytest.mark.django_db

SMALL = "/agreement/small/"


@pytest.fixture
def version() -> SuiteVersion:
    made: SuiteVersion = SuiteVersionFactory(suite=SuiteFactory(slug="small"), tasks=1)
    return made


def judged_answers(version: SuiteVersion, labels: list[str]) -> list[Implementation]:
    """An answer for each label that one judge gives, empty for an abstention."""
    sent, task, judge = (
        measured(version, trials=len(labels)).submission,
        version.revisions.get(),
        JudgeFactory(slug="strict"),
    )
    answers: list[Implementation] = [
        ImplementationFactory(submission=sent, revision=task, trial=trial) for trial in range(1, len(labels) + 1)
    ]
    decided = {"config": judge, "state": WorkState.DONE, "finished": timezone.now()}
    Judgement.objects.bulk_create(
        Judgement(implementation=answer, label=label, abstained=not label, **decided)
        for answer, label in zip(answers, labels, strict=True)
    )
    return answers


def closed(answers: list[Implementation], truths: list[str], *, audited: float = 0.5) -> None:
    """Closed cases of the first answers, drawn by the audit with that probability (0: disputes)."""
    cases = Case.objects.bulk_create(
        Case(implementation=answer, state=CaseState.AGREED, label=truth, source="agreed", closed=timezone.now())
        for answer, truth in zip(answers, truths, strict=False)
    )
    kind = TriggerKind.AUDIT if audited else TriggerKind.JUDGE_UNSURE
    Trigger.objects.bulk_create(Trigger(case=case, kind=kind, inclusion_probability=audited or 1) for case in cases)


def trust(version: SuiteVersion) -> JudgeTrust:
    (judge,) = [rater for rater in raters() if rater.judge]
    return judge_trust(labels_on(version), judge)


JUDGED = ["CC", "CC", "CC", "LC", "LI", "LI", "CC", "LC", "LI", "", "CC", "LI"]
TRUTH = ["CC", "CC", "LC", "LC", "LI", "LI", "CC", "CC", "LI", "CC", "LI", "LI"]


def test_accuracy_by_label_counts_abstentions_as_misses(version: SuiteVersion) -> None:
    closed(judged_answers(version, JUDGED), TRUTH, audited=0)
    found = trust(version)
    assert (found.n, found.abstained) == (12, 1)
    counts = {each.label: (each.truths, each.judged, each.right) for each in found.classes}
    assert counts == {"LI": (5, 4, 4), "LC": (2, 2, 1), "CC": (5, 5, 3)}
    assert [each.recall.value for each in found.classes] == [0.6, 0.5, 0.8]
    assert [each.precision.value for each in found.classes] == [0.6, 0.5, 1.0]


def test_sixty_audited_answers_correct_the_share_with_their_weights(version: SuiteVersion) -> None:
    labels = ["CC", "LI", "", "CC", "LC"] * 20
    answers = judged_answers(version, labels)
    truths = ["CC", "LI", "CC", "LI", "LC"] * 12
    closed(answers[:30], truths[:30], audited=0.5)
    closed(answers[30:60], truths[30:], audited=0.1)
    waiting = case_of(answers[60], state=CaseState.ONE_LABEL)
    Trigger.objects.create(case=waiting, kind=TriggerKind.AUDIT, inclusion_probability=0.1)
    found = trust(version)
    assert (found.population, found.sampled, found.waiting, found.raw.value) == (100, 60, 1, 0.4)
    truth = [int(label == "CC") for label in truths]
    judged = [int(label == "CC") for label in labels]
    arguments = (truth, judged[:60], judged[60:], [2.0] * 30 + [10.0] * 30)
    # The database counts in another order, which changes the last bits of sums.
    for coefficient, expected in (
        (found.prediction_powered, corrections.ppi_mean(*arguments)),
        (found.rogan_gladen, corrections.rogan_gladen(*arguments)),
    ):
        assert coefficient.interval is not None
        assert expected.interval is not None
        shown = (coefficient.value, coefficient.interval.low, coefficient.interval.high)
        assert shown == pytest.approx((expected.value, expected.interval.low, expected.interval.high), abs=1e-12)


def test_a_sample_with_many_open_cases_corrects_nothing(version: SuiteVersion) -> None:
    """Agreements are closed before disputes: sixty of the easy ones are no random sample."""
    answers = judged_answers(version, ["CC", "LI"] * 40)
    closed(answers[:60], ["CC", "LI"] * 30)
    for answer in answers[60:67]:
        Trigger.objects.create(case=case_of(answer), kind=TriggerKind.AUDIT, inclusion_probability=0.1)
    found = trust(version)
    assert (found.sampled, found.waiting) == (60, 7)
    why = "too few of the randomly drawn answers are closed (60 of 67): those that take longer differ"
    assert (found.prediction_powered.why, found.rogan_gladen.why) == (why, why)
    Trigger.objects.filter(case__implementation=answers[66])._raw_delete(using="default")
    assert trust(version).prediction_powered.value is not None


def test_the_page_shows_judges_and_why_nothing_is_corrected(client: Client, version: SuiteVersion) -> None:
    closed(judged_answers(version, JUDGED), TRUTH)
    text = words_of(client.get(SMALL))
    assert "Judges against decisions" in text
    assert "n = 12 answers; the judge abstained on 1 of them, which counts as a miss." in text
    assert "LI 5 in truth, 4 by the judge, 4 by both 80.0 %" in text
    assert "12 of 12 judged answers were audited at random and closed." in text
    assert "too few randomly sampled labels (12 of at least 60)" in text
    assert "Judge's share of CC Among the answers that the audit draws from. 41.7 %" in text
    assert "Judges against decisions" not in words_of(client.get(SMALL, {"binary": "1"}))


def labelled_by_two(version: SuiteVersion, number: int) -> list[Implementation]:
    """Closed answers with two blind labels and a judge's."""
    answers = judged_answers(version, ["LI", "CC"] * number)[:number]
    annotators = [ReviewerFactory(), ReviewerFactory()]
    for answer in answers:
        case = case_of(answer, state=CaseState.AGREED, label="LC", source="agreed", closed=timezone.now())
        for annotator in annotators:
            reviewed(case, annotator, "LC")
    return answers


def test_a_submission_does_not_count_for_its_annotators(client: Client, version: SuiteVersion) -> None:
    answers = labelled_by_two(version, 9)
    annotator = ReviewerFactory()
    client.force_login(annotator.user)
    assert "n = 9 answers" in words_of(client.get(SMALL))
    held = assigned(case_of(answers[0], round=2), annotator)
    text = words_of(client.get(SMALL))
    assert "Hidden until you lock your label" in text
    # All of these answers are of one submission.
    assert ("n = 9 answers" in text, "No two raters labelled the same answer" in text) == (False, True)
    pair = {"first": "annotators", "second": "judge:strict", "cell": "LC,LI"}
    assert answers[0].get_absolute_url() not in client.get(SMALL, pair).content.decode()
    Assignment.objects.filter(pk=held.pk).update(state=AssignmentState.DONE)
    assert answers[0].get_absolute_url() in client.get(SMALL, pair).content.decode()
