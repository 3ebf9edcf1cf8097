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


def test_a_newcomer_gets_mixed_cases_and_the_practice_round_once(lmr_mini: SuiteVersion) -> None:  # noqa: F811
    said = run()
    submission = Submission.objects.get(system__name="Sample: disputed answers")
    assert said.splitlines()[:2] == [
        f"Sample cases: 10 (10 opened), on submission {submission.pk}.",
        "Practice items: 5.",
    ]
    assert "/reviews/people/" in said
    cases = sample_cases()
    assert (len(cases), {case.state for case in cases}) == (10, {CaseState.QUEUED})
    assert {case.severity for case in cases} >= {Severity.CONTRADICTION, Severity.UNSURE, Severity.AUDIT}
    assert {case.implementation.trial for case in cases} == {1, 2, 3}
    assert len({case.implementation.revision.task.slug for case in cases}) >= 8
    assert set(Trigger.objects.values_list("kind", "inclusion_probability")) == {(TriggerKind.SAMPLE, 1.0)}
    assert CaseEvent.objects.filter(case__in=cases, before="", after=CaseState.QUEUED).count() == 10
    assert (submission.kind, submission.publish_when_scored) == (Kind.CALIBRATION, True)
    assert submission.implementations.filter(attempted=True, answer_error={}).count() == 27
    assert run().startswith("Sample cases: 10 (already there)")
    assert run("--count", "27").startswith("Sample cases: 27 (17 opened)")
    assert (len(sample_cases()), Submission.objects.count()) == (27, 2)
    assert Case.objects.filter(kind=CaseKind.PRACTICE).count() == 5


def test_scripted_votes_are_plainly_not_a_models_and_give_the_severities(lmr_mini: SuiteVersion) -> None:  # noqa: F811
    """Right answers called LI and wrong ones called CC contradict the tests; split and abstaining votes are unsure."""
    run("--count", "27")
    judge = JudgeConfig.objects.get()
    assert (judge.name, judge.active, ShownJudge.objects.exists()) == ("Scripted sample judge", False, False)
    assert JudgeVote.objects.filter(calls__isnull=False).count() == 0
    for case in sample_cases():
        judgement = Judgement.objects.get(implementation=case.implementation_id, config=judge)
        assert judgement.votes.count() in {3, 5}
        assert judgement.input_digest
        wrong = case.implementation.trial == 2
        opposes = judgement.label == ("CC" if wrong else "LI") and not judgement.split
        assert (case.severity == Severity.CONTRADICTION) == opposes
        assert (case.severity == Severity.UNSURE) == (judgement.split or judgement.abstained)


def test_what_cannot_be_made_is_said(lmr_mini: SuiteVersion) -> None:  # noqa: F811
    TaskRevision.objects.update(audit_state=AuditState.UNAUDITED, audit={"obstacle": "no sandbox works"})
    with pytest.raises(CommandError, match=r"not made: The tasks of 'lmr-mini' cannot be audited.* audit_tasks"):
        run()
    TaskRevision.objects.update(audit_state=AuditState.PASSED)
    for options, said in (
        (["--count", "28"], "The samples were not made: 28 cases are more than the 27 answers"),
        (["--suite", "nowhere"], r"There is no suite 'nowhere'; run manage\.py load_catalogue first"),
        (["--count", "0"], "--count must be at least 1"),
    ):
        with pytest.raises(CommandError, match=said):
            run(*options)
    assert not sample_cases()
