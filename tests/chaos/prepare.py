"""``python -m tests.chaos.prepare FOLDER SUBMISSIONS``: a tiny suite and queued submissions in an instance's database.

The chaos test runs it in a separate process, since the test itself has other settings and another database.
"""

from __future__ import annotations

import sys
from pathlib import Path
from unittest import mock

import django

ANSWERS = {
    "right": "import time; time.sleep(0.1); return 2.0 * x",
    "wrong": "import time; time.sleep(0.1); return x",
    "raising": "raise ValueError('no')",
    "printing": "print('tried'); return 2.0 * x",
    "late": "import time; time.sleep(0.2); return 2.0 * x",
    "none": "",
}
"""What the trials of each submission answer, in this order; the last one is no answer at all."""


def prepare(folder: Path, submissions: int) -> None:
    """Make the suite if it is not there, and ``submissions`` submissions with a trial for each of :data:`ANSWERS`.

    Every fifth run is never enqueued, every seventh is enqueued twice.
    """
    from django.db import transaction

    from benchmark_tasks.domain.importing import import_suite
    from benchmark_tasks.enums import AuditState
    from benchmark_tasks.models import SuiteVersion, TaskRevision
    from evaluator.queue.pushing import push
    from evaluator.testing.planning import plan
    from submissions.models import System, User
    from tests.benchmark_tasks.factories import MASKED, write_suite
    from tests.evaluator.factories import QueuedSubmissionFactory
    from tests.submissions.factories import ImplementationFactory, SystemFactory, UserFactory

    # Another process may have made some before.
    UserFactory.reset_sequence(User.objects.count())
    SystemFactory.reset_sequence(System.objects.count())
    if not SuiteVersion.objects.filter(suite__slug="small").exists():
        import_suite(folder=write_suite(folder), slug="small")
        TaskRevision.objects.update(audit_state=AuditState.PASSED)
    version = SuiteVersion.objects.get(suite__slug="small")
    revision = version.revisions.get(task__index=1)
    waiting: list[int] = []
    for _ in range(submissions):
        # One transaction, as in production: the sweep must not see half a submission.
        with transaction.atomic():
            submission = QueuedSubmissionFactory(suite_version=version, answers=False, trials=len(ANSWERS))
            for trial, body in enumerate(ANSWERS.values(), start=1):
                text = MASKED.replace("raise NotImplementedError", body, 1)
                given = {"files": {"scoring/core.py": text}} if body else {"files": None, "attempted": False}
                ImplementationFactory(submission=submission, revision=revision, trial=trial, **given)
        # Nothing is enqueued while planning, since it is enqueued incorrectly afterwards.
        with mock.patch("evaluator.testing.planning.push", _push_nothing):
            waiting += plan(submission.pk)
    never = sum(number % 5 == 0 for number in range(1, len(waiting) + 1))
    twice = sum(number % 7 == 0 for number in range(1, len(waiting) + 1))
    push(len(waiting) - never + twice)


def _push_nothing(count: int, name: str = "") -> int:
    return 0


if __name__ == "__main__":
    django.setup()
    prepare(Path(sys.argv[1]), int(sys.argv[2]))
