"""Make the receipt of an answer: how exactly it was measured and rated, and the command that repeats its test run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmark_tasks.domain.queries import digest_of
from evaluator.enums import AttemptState, RunState
from evaluator.outcomes import WITHOUT_TEST
from evaluator.repeating.receipts import AnswerFacts, CaseFacts, FinalFacts, JudgeFacts, Receipt, RunFacts, TaskFacts
from evaluator.testing.shown_outcomes import case_rows

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchmark_tasks.models import TaskRevision
    from evaluator.models import Judgement, TestRun
    from leaderboard.evidence.cases import AnswerReview
    from submissions.models import Implementation

COMMAND = ".venv/bin/python manage.py repeat"


def receipt_of(
    answer: Implementation,
    *,
    run: TestRun | None,
    judges: Iterable[Judgement],
    review: AnswerReview,
    address: str,
    sees_code: bool,
) -> Receipt:
    """Make the receipt of an answer as ``run`` measured it. Two queries.

    Without ``sees_code`` it has neither code nor its digest, with which a guess at the code could be confirmed.
    """
    submission = answer.submission
    return Receipt(
        answer=AnswerFacts(
            address=address,
            submission=submission.pk,
            system=submission.system.name,
            inputs=submission.inputs,
            trial=answer.trial,
            attempted=answer.attempted,
            licence=submission.code_licence,
            digest=answer.digest if sees_code else None,
            diff=answer.diff if sees_code else None,
        ),
        task=_task(answer, run.graded_revision if run else answer.revision),
        run=_run(run, answer.revision) if run and run.state == RunState.DONE else None,
        judges=tuple(_judge(each) for each in judges if not each.waiting),
        final=_final(review),
        sent=submission.created,
        scored=submission.scored_at,
        published=submission.published_at,
        command=f"{COMMAND} {address}",
    )


def _task(answer: Implementation, graded: TaskRevision) -> TaskFacts:
    version = answer.submission.suite_version
    return TaskFacts(
        suite=version.suite.slug,
        suite_version=version.number,
        suite_digest=digest_of(version),
        task=answer.revision.task.slug,
        revision=graded.number,
        statement_digest=answer.revision.statement_hash,
        repository_digest=answer.revision.repository_hash,
        grading_digest=graded.grading_hash,
    )


def _run(run: TestRun, revision: TaskRevision) -> RunFacts:
    _, private = case_rows(run)
    accepted = next((each for each in run.attempts.all() if each.state == AttemptState.ACCEPTED), None)
    return RunFacts(
        outcome=run.outcome,
        protocol=revision.protocol,
        cases=tuple(
            CaseFacts(seed=case["seed"], number=case["index"], name=case.get("name", ""), outcome=case["outcome"])
            for case in run.cases
            if case["public"]
        ),
        private_passed=private.passed,
        private_total=private.total,
        evaluator=run.evaluator_version,
        sandbox=accepted.sandbox if accepted else "",
        environment=run.environment,
        environment_digest=run.environment_digest,
        seed_epoch=run.seed_epoch,
        seconds=run.seconds,
        measured=run.finished,
    )


def _judge(judgement: Judgement) -> JudgeFacts:
    judge = judgement.config
    return JudgeFacts(
        judge=judge.slug,
        model=judge.model,
        label=judgement.label or "abstained",
        digest=judge.digest,
        prompt_version=judge.prompt_version,
        prompt_digest=judge.prompt_hash,
        schema_digest=judge.schema_hash,
        input_digest=judgement.input_digest,
        judged=judgement.finished,
        paper_digest=judgement.paper_hash,
    )


def _final(review: AnswerReview) -> FinalFacts | None:
    if review.final is None:
        return None
    case = review.case
    guidelines = case.reviews.order_by().values_list("guideline__number", flat=True).distinct() if case else ()
    return FinalFacts(review.final.label, review.final.source.value, tuple(sorted(guidelines)))


def can_be_repeated(receipt: Receipt) -> bool:
    """Return whether the command can repeat it: the code may be seen, and a test was run."""
    run = receipt.run
    return receipt.answer.diff is not None and run is not None and run.outcome not in WITHOUT_TEST
