"""Scored submissions to measure again, for tests of planning and making re-evaluations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evaluator.outcomes import Outcome
from evaluator.reevaluation import planning, reevaluating
from evaluator.sandbox.configuration import EVALUATOR_VERSION
from evaluator.sandbox.task_environments import Offer
from evaluator.testing import claims, results
from evaluator.testing.verdicts import Verdict
from leaderboard.board.entries import recompute_submission
from submissions.enums import SubmissionState
from submissions.models import Submission
from tests.benchmark_tasks.factories import SuiteVersionFactory, TaskRevisionFactory
from tests.evaluator.factories import QueuedSubmissionFactory, TestRunFactory

if TYPE_CHECKING:
    from benchmark_tasks.models import SuiteVersion, TaskRevision
    from evaluator.models import Reevaluation
    from evaluator.reevaluation.planning import PlannedReevaluation

HERE = Offer("numpy", "sha256:" + "a" * 64)


def offered(_: TaskRevision) -> Offer | None:
    return HERE


def scored(*outcomes: str, evaluator: str = EVALUATOR_VERSION, version: SuiteVersion | None = None) -> Submission:
    """A scored submission with its board row and up-to-date results, one task for each outcome."""
    submission: Submission = QueuedSubmissionFactory(
        suite_version=version or SuiteVersionFactory(tasks=len(outcomes)),
        state=SubmissionState.SCORED,
        environment_digest=HERE.digest,
    )
    for answer, outcome in zip(submission.implementations.order_by("revision_id"), outcomes, strict=True):
        boxless = outcome in {"not_attempted", "bad_patch"}
        if boxless:
            type(answer).objects.filter(pk=answer.pk).update(files=None, attempted=outcome == "bad_patch")
        TestRunFactory(
            implementation=answer, done=outcome, evaluator_version=evaluator,
            reason="line 3: no" if outcome == "bad_patch" else "",
            environment="" if boxless else HERE.name, environment_digest="" if boxless else HERE.digest,
        )  # fmt: skip
    recompute_submission(submission.pk)
    return submission


def planned(submission: Submission) -> PlannedReevaluation:
    (found,) = planning.plan(Submission.objects.filter(pk=submission.pk), offered=offered)
    return found


def reasons(submission: Submission) -> list[tuple[str, str]]:
    return [(run.graded_revision.task.slug, run.supersedes_reason) for run in planned(submission).runs]


def next_version(submission: Submission, **changes: object) -> SuiteVersion:
    """Another version of the suite, in which the first task's revision has ``changes``."""
    old = submission.suite_version
    first, *others = old.revisions.order_by("pk")
    new = TaskRevisionFactory(
        task=first.task, number=2,
        **{"statement_hash": first.statement_hash, "category": first.category, **changes},
    )  # fmt: skip
    made: SuiteVersion = SuiteVersionFactory(
        suite=old.suite, number=old.number + 1, seed_epoch=old.seed_epoch, revisions=[new, *others]
    )
    return made


def decide(outcome: Outcome = Outcome.PASSED, digest: str = HERE.digest) -> None:
    claim = claims.claim_next(worker="w")
    assert claim is not None
    results.accept(
        claim,
        verdict=Verdict(outcome=outcome, cases=(), log="", seconds=0.5),
        environment=HERE.name,
        environment_digest=digest,
    )


def start(submission: Submission, reason: str = "Because.") -> Reevaluation:
    return reevaluating.start(planned=planned(submission), reason=reason, actor=None)
