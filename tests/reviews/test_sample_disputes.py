"""``manage.py sample_disputes``: cases and practice for newcomers, without a worker, a model or an account."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from django.core.management import CommandError, call_command

from benchmark_tasks.enums import AuditState
from benchmark_tasks.models import TaskRevision
from evaluator.models import JudgeConfig, Judgement, JudgeVote, ShownJudge
from reviews.cases.sample_disputes import sample_disputes
from reviews.enums import CaseKind, CaseState, Severity, TriggerKind
from reviews.models import Case, CaseEvent, Trigger
from submissions.enums import Kind
from submissions.models import Submission
from tests.evaluator.conftest import lmr_mini  # noqa: F401 - a fixture

if TYPE_CHECKING:
    from benchmark_tasks.models import SuiteVersion

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def without_a_queue(settings: Any) -> None:
    settings.RQ_QUEUES = replace(settings.ENVIRONMENT, redis_url="redis://127.0.0.1:1/0").rq_queues


def run(*options: str) -> str:
    out = io.StringIO()
    call_command("sample_disputes", *options, stdout=out)
    return out.getvalue()


def sample_cases() -> list[Case]:
    return list(Case.objects.filter(kind=CaseKind.REVIEW).select_related("implementation__revision__task"))


def test_a_newcomer_gets_ten_mixed_cases_and_the_practice_round(lmr_mini: SuiteVersion) -> None:  # noqa: F811
    said = run()
    submission = Submission.objects.get(system__name="Sample: disputed answers")
    assert said.splitlines()[:2] == [
        f"Sample cases: 10 (10 opened), on submission {submission.pk}.",
        "Practice items: 5.",
    ]
    assert "/reviews/people/" in said
    cases = sample_cases()
    assert len(cases) == 10
    assert {case.state for case in cases} == {CaseState.QUEUED}
    assert {case.severity for case in cases} >= {Severity.CONTRADICTION, Severity.UNSURE, Severity.AUDIT}
    assert {case.implementation.trial for case in cases} == {1, 2, 3}
    assert len({case.implementation.revision.task.slug for case in cases}) >= 8
    assert set(Trigger.objects.values_list("kind", "inclusion_probability")) == {(TriggerKind.SAMPLE, 1.0)}
    assert CaseEvent.objects.filter(case__in=cases, before="", after=CaseState.QUEUED).count() == 10
    assert (submission.kind, submission.publish_when_scored) == (Kind.CALIBRATION, True)
    assert submission.implementations.filter(attempted=True, answer_error={}).count() == 27


def test_scripted_votes_are_plainly_not_a_models(lmr_mini: SuiteVersion) -> None:  # noqa: F811
    run()
    judge = JudgeConfig.objects.get()
    assert (judge.name, judge.active) == ("Scripted sample judge", False)
    assert not ShownJudge.objects.exists()
    judgements = Judgement.objects.filter(config=judge)
    assert judgements.count() == 10
    assert {bool(row.input_digest) for row in judgements} == {True}
    labels = {(row.label, row.split, row.abstained) for row in judgements}
    assert labels >= {("LI", False, False), ("CC", False, False), ("", True, True)}
    assert JudgeVote.objects.filter(calls__isnull=False).count() == 0
    for row in judgements:
        assert row.votes.count() in {3, 5}


def test_a_second_time_nothing_changes_and_more_can_be_asked_for(lmr_mini: SuiteVersion) -> None:  # noqa: F811
    run("--count", "4")
    assert run("--count", "4").startswith("Sample cases: 4 (already there)")
    assert run("--count", "27").startswith("Sample cases: 27 (23 opened)")
    assert len(sample_cases()) == 27
    assert Submission.objects.count() == 2
    assert Case.objects.filter(kind=CaseKind.PRACTICE).count() == 5


def test_what_cannot_be_made_is_said(lmr_mini: SuiteVersion) -> None:  # noqa: F811
    with pytest.raises(CommandError, match="The samples were not made: 28 cases are more than the 27 answers"):
        run("--count", "28")
    with pytest.raises(CommandError, match=r"There is no suite 'nowhere'; run manage\.py load_catalogue first"):
        run("--suite", "nowhere")
    with pytest.raises(CommandError, match="--count must be at least 1"):
        run("--count", "0")


def test_where_the_tasks_cannot_be_audited_it_says_what_to_do(lmr_mini: SuiteVersion) -> None:  # noqa: F811
    TaskRevision.objects.update(audit_state=AuditState.UNAUDITED, audit={"obstacle": "no sandbox works"})
    with pytest.raises(CommandError, match=r"not made: The tasks of 'lmr-mini' cannot be audited.* audit_tasks"):
        run()
    assert not sample_cases()


def test_severities_match_what_the_scripted_judge_says(lmr_mini: SuiteVersion) -> None:  # noqa: F811
    """Right answers called LI and wrong ones called CC contradict the tests; split and abstaining votes are unsure."""
    sample_disputes(suite="lmr-mini", count=27)
    for case in Case.objects.filter(kind=CaseKind.REVIEW).select_related("implementation"):
        judgement = Judgement.objects.get(implementation=case.implementation_id)
        wrong = case.implementation.trial == 2
        opposes = judgement.label == ("CC" if wrong else "LI") and not judgement.split
        unsure = judgement.split or judgement.abstained
        assert (case.severity == Severity.CONTRADICTION) == opposes
        assert (case.severity == Severity.UNSURE) == unsure
