"""Test runs for tests."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import factory
from django.utils import timezone

from evaluator.enums import RunState
from evaluator.models import TestRun
from submissions.enums import SubmissionState
from submissions.models import Submission
from tests.benchmark_tasks.factories import MASKED, SuiteVersionFactory
from tests.submissions.factories import ImplementationFactory, SubmissionFactory

if TYPE_CHECKING:
    from benchmark_tasks.models import SuiteVersion

SLOW_TRIALS = 4
SLOW = MASKED.replace("raise NotImplementedError", "import time; time.sleep(0.1); return 2.0 * x", 1)


class QueuedSubmissionFactory(SubmissionFactory):
    """A queued submission, with an answer to every task of its suite version (two tasks unless given)."""

    class Meta:
        model = Submission
        skip_postgeneration_save = True

    suite_version = factory.SubFactory(SuiteVersionFactory, tasks=2)
    state = SubmissionState.QUEUED

    @factory.post_generation
    def answers(self, create: bool, extracted: bool | None, **_: Any) -> None:
        """``answers=False`` makes none."""
        if create and extracted is not False:
            submission = Submission.objects.get(pk=self.pk)
            for revision in submission.suite_version.revisions.order_by("pk"):
                for trial in range(1, submission.trials + 1):
                    ImplementationFactory(submission=submission, revision=revision, trial=trial)


class TestRunFactory(factory.django.DjangoModelFactory):
    """A queued run; ``running=True`` holds it with a lease of a minute, ``done="passed"`` decides it."""

    __test__ = False

    class Meta:
        model = TestRun

    class Params:
        running = factory.Trait(
            state=RunState.RUNNING,
            token=factory.LazyFunction(uuid4),
            lease_until=factory.LazyFunction(lambda: timezone.now() + timedelta(minutes=1)),
        )
        done = None

    implementation = factory.SubFactory(
        ImplementationFactory, submission=factory.SubFactory(QueuedSubmissionFactory, answers=False)
    )
    grading_hash = factory.LazyAttribute(lambda row: row.implementation.revision.grading_hash)
    seed_epoch = 1
    evaluator_version = "1"
    state = factory.LazyAttribute(lambda row: RunState.DONE if row.done else RunState.QUEUED)
    outcome = factory.LazyAttribute(lambda row: row.done or "")


def runs_of(submission: Submission, *outcomes: str) -> list[TestRun]:
    """A run for every answer of ``submission``, in order; decided where an outcome is given, else queued."""
    implementations = submission.implementations.order_by("revision_id", "trial")
    padded = [*outcomes, *[""] * (len(implementations) - len(outcomes))]
    return [
        TestRunFactory(implementation=implementation, done=outcome or None)
        for implementation, outcome in zip(implementations, padded, strict=True)
    ]


def slow_submission(version: SuiteVersion) -> Submission:
    """Four trials of ``alpha/1`` that take a second and a half each, two of them right."""
    submission = QueuedSubmissionFactory(suite_version=version, answers=False, trials=SLOW_TRIALS)
    revision = version.revisions.get(task__index=1)
    for trial in range(1, SLOW_TRIALS + 1):
        text = SLOW if trial % 2 else SLOW.replace("2.0 * x", "x")
        ImplementationFactory(submission=submission, revision=revision, trial=trial, files={"scoring/core.py": text})
    return submission
