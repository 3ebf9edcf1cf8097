"""Receipts of answers: each value of the task, the test run, the judges and the final label."""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest

from benchmark_tasks.domain.queries import digest_of
from evaluator.enums import AttemptState, RunState, WorkState
from evaluator.models import Attempt, TestRun
from evaluator.repeating.receipts import Receipt
from leaderboard.evidence.cases import AnswerReview
from leaderboard.evidence.receipts import can_be_repeated, receipt_of
from reviews.cases.final_labels import FinalLabel
from reviews.enums import CaseState, FinalSource
from reviews.models import Case
from submissions.models import Implementation, Submission
from tests.benchmark_tasks.factories import (
    PaperFactory,
    SuiteFactory,
    SuiteVersionFactory,
    TaskFactory,
    TaskRevisionFactory,
)
from tests.evaluator.factories import TestRunFactory
from tests.leaderboard.judging import JudgeFactory, judged
from tests.reviews.factories import ReviewerFactory, case_of, guideline, reviewed
from tests.submissions.factories import ImplementationFactory, SubmissionFactory, SystemFactory

pytestmark = pytest.mark.django_db
ADDRESS = "https://board.example.org/submissions/1/answers/dpo/1/1/"
SENT, SCORED, PUBLISHED, MEASURED, JUDGED = (datetime(2026, 5, day, 12, tzinfo=UTC) for day in range(1, 6))
NOTHING = AnswerReview(None, None, None, ())


@pytest.fixture
def answer() -> Implementation:
    """An answer to revision 5 of dpo/1."""
    suite = SuiteFactory(slug="small")
    task = TaskFactory(suite=suite, paper=PaperFactory(suite=suite, slug="dpo"), index=1, slug="dpo/1")
    hashes = {"statement_hash": "1" * 64, "repository_hash": "2" * 64, "grading_hash": "3" * 64}
    version = SuiteVersionFactory(suite=suite, number=4, revisions=[TaskRevisionFactory(task=task, number=5, **hashes)])
    system = SystemFactory(name="Solver")
    submission = SubmissionFactory(suite_version=version, system=system, published=True, inputs="paper_only")
    when = {"created": SENT, "scored_at": SCORED, "published_at": PUBLISHED}
    Submission.objects.filter(pk=submission.pk).update(**when)
    made = ImplementationFactory(submission=Submission.objects.get(), revision=version.revisions.get())
    return Implementation.objects.get(pk=made.pk)


def measured(answer: Implementation, **facts: Any) -> TestRun:
    """A test run with the grading of revision 6."""
    later = TaskRevisionFactory(task=answer.revision.task, number=6, grading_hash="4" * 64)
    case = {"outcome": "passed", "difference": "", "error": ""}
    run: TestRun = TestRunFactory(
        implementation=answer,
        revision=later,
        grading_hash="4" * 64,
        environment="numpy",
        environment_digest="sha256:5",
        seed_epoch=7,
        evaluator_version="8",
        seconds=1.25,
        finished=MEASURED,
        cases=[
            {**case, "seed": 11, "index": 0, "public": True, "name": "first"},
            {**case, "seed": 12, "index": 1, "public": False},
            {**case, "seed": 13, "index": 2, "public": False, "outcome": "raised"},
        ],
        **{"done": "raised", **facts},
    )
    for number, (state, sandbox) in enumerate([(AttemptState.LOST, "docker"), (AttemptState.ACCEPTED, "bubblewrap")]):
        Attempt.objects.create(run=run, number=number, token=uuid4(), worker="w", state=state, sandbox=sandbox)
    return run


def receipt(answer: Implementation, run: TestRun | None = None, **facts: Any) -> Receipt:
    given: dict[str, Any] = {"judges": [], "review": NOTHING, "address": ADDRESS, "sees_code": True, **facts}
    return receipt_of(answer, run=run, **given)


def test_a_receipt_has_each_value_of_answer_task_and_run(answer: Implementation) -> None:
    found = asdict(receipt(answer, measured(answer)))
    assert found == {
        "answer": {
            "address": ADDRESS,
            "submission": answer.submission_id,
            "system": "Solver",
            "inputs": "paper_only",
            "trial": 1,
            "attempted": True,
            "licence": answer.submission.code_licence,
            "digest": answer.digest,
            "diff": answer.diff,
        },
        "task": {
            "suite": "small",
            "suite_version": 4,
            "suite_digest": digest_of(answer.submission.suite_version),
            "task": "dpo/1",
            "revision": 6,
            "statement_digest": "1" * 64,
            "repository_digest": "2" * 64,
            "grading_digest": "4" * 64,
        },
        "run": {
            "outcome": "raised",
            "protocol": answer.revision.protocol,
            "cases": ({"seed": 11, "number": 0, "name": "first", "outcome": "passed"},),
            "private_passed": 1,
            "private_total": 2,
            "evaluator": "8",
            "sandbox": "bubblewrap",
            "environment": "numpy",
            "environment_digest": "sha256:5",
            "seed_epoch": 7,
            "seconds": 1.25,
            "measured": MEASURED,
        },
        "judges": (),
        "final": None,
        "sent": SENT,
        "scored": SCORED,
        "published": PUBLISHED,
        "command": f".venv/bin/python manage.py repeat {ADDRESS}",
        "receipt": 1,
    }
    assert answer.digest
    assert answer.diff


def test_a_receipt_has_decided_judgements_and_the_final_label_with_its_guidelines(answer: Implementation) -> None:
    config = JudgeFactory(slug="may", model="m-1", prompt_version="9", prompt_hash="a" * 64, schema_hash="b" * 64)
    decided = judged(answer, config, finished=JUDGED, input_digest="c" * 64, paper_hash="d" * 64)
    waiting = judged(answer, JudgeFactory(), state=WorkState.QUEUED, finished=None, abstained=False)
    case: Case = case_of(answer, state=CaseState.FINAL)
    for number in (3, 2):
        reviewed(case, ReviewerFactory(), "LC", guideline=guideline(number))
    final = FinalLabel("LC", FinalSource.DECISION, case)
    found = asdict(receipt(answer, judges=[decided, waiting], review=AnswerReview(final, case, None, ())))
    assert found["judges"] == (
        {
            "judge": "may",
            "model": "m-1",
            "label": "abstained",
            "digest": config.digest,
            "prompt_version": "9",
            "prompt_digest": "a" * 64,
            "schema_digest": "b" * 64,
            "input_digest": "c" * 64,
            "judged": JUDGED,
            "paper_digest": "d" * 64,
        },
    )
    assert found["final"] == {"label": "LC", "source": FinalSource.DECISION.value, "guidelines": (2, 3)}
    of_judge = AnswerReview(FinalLabel("CC", FinalSource.JUDGE), None, None, ())
    assert asdict(receipt(answer, review=of_judge))["final"]["guidelines"] == ()


def test_without_a_decided_run_the_receipt_has_the_answer_s_own_revision(answer: Implementation) -> None:
    found = receipt(answer)
    assert (found.run, found.task.revision, found.task.grading_digest) == (None, 5, "3" * 64)
    assert receipt(answer, measured(answer, done=None, state=RunState.QUEUED)).run is None


@pytest.mark.parametrize(
    ("outcome", "possible"), [("passed", True), ("wrong_output", True), ("not_attempted", False), ("bad_patch", False)]
)
def test_only_readable_graded_answers_can_be_repeated(answer: Implementation, outcome: str, possible: bool) -> None:
    run = measured(answer, done=outcome)
    assert can_be_repeated(receipt(answer, run)) is possible
    hidden = receipt(answer, run, sees_code=False)
    assert (hidden.answer.digest, hidden.answer.diff, can_be_repeated(hidden)) == (None, None, False)
    assert not can_be_repeated(replace(hidden, run=None, answer=receipt(answer).answer))
