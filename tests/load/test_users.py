"""The simulated users of ``make load`` do each of their tasks once on a live server: what they use must be there."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from leaderboard.board.entries import recompute_submission
from reviews.models import Review
from submissions.models import AuditEvent, Submission
from tests.conftest import PROJECT_ROOT
from tests.evaluator.factories import TestRunFactory
from tests.load.plan import Plan, Report
from tests.load.preparing import prepare
from tests.load.results import errors_of
from tests.reviews.factories import case_of
from tests.submissions.factories import ImplementationFactory, SubmissionFactory, bundle

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_django.live_server_helper import LiveServer

    from benchmark_tasks.models import SuiteVersion

pytestmark = pytest.mark.django_db(transaction=True)

READ = {
    *("agreement", "analysis", "answer", "board", "cases", "compare", "documentation", "evidence", "matrix", "search"),
    *("status", "submission", "suite", "system", "task"),
}
SENT = {
    *("sign-in form", "sign in", "upload: form", "upload: send file", "upload: check", "upload: submit", "submission"),
    *("label: overview", "label: take", "label: item", "label: draft", "label: lock"),
}
POLLED = {"upload: check, progress", "submission, progress"}
"""Not requested if the worker is quicker."""
CALLED = {
    *("suites", "board", "tasks", "matrix", "agreement", "submissions", "one of submissions", "systems"),
    *("one of systems", "send file", "an upload", "submit", "own submission"),
}
CODE = "def double(x):\n    return x + x\n"


@pytest.fixture
def published(small: SuiteVersion) -> list[Submission]:
    """Two rows of the board with an answer to each task, one of them to be labelled."""
    made: list[Submission] = [SubmissionFactory(suite_version=small, published=True) for _ in range(2)]
    for submission in made:
        for revision in small.revisions.all():
            answer = ImplementationFactory(
                submission=submission, revision=revision, goal_source=CODE, files={"scoring/core.py": CODE}
            )
            TestRunFactory(implementation=answer, state="done", outcome="passed")
        recompute_submission(submission.pk)
    case_of(answer)
    return made


def test_each_task_finds_what_it_uses_and_reports_what_was_stored(
    live_server: LiveServer, published: list[Submission], at_work: None, tmp_path: Path
) -> None:
    plan, made, file = tmp_path / "plan.json", tmp_path / "report.json", tmp_path / "bundle.zip"
    file.write_bytes(bundle())
    accounts = prepare(browsing=1, uploading=1, labelling=1, calling=1)
    Plan(live_server.url, 0, 1, accounts, "small", str(file), once=True).write(plan)
    subprocess.run(
        [sys.executable, "-m", "tests.load.users", str(plan), str(made)],
        cwd=PROJECT_ROOT, env={"PATH": os.environ["PATH"]}, check=True, timeout=120,
    )  # fmt: skip
    report = Report.read(made)
    assert errors_of(report) == []
    kinds = {kind for kind, _, _ in report.requests}
    assert kinds - POLLED == {f"page: {each}" for each in READ} | SENT | {f"API: {each}" for each in CALLED}
    uploaded = AuditEvent.objects.filter(verb="uploaded").order_by("pk").values_list("subject_id", flat=True)
    assert report.uploads == [int(each) for each in uploaded]
    sent = Submission.objects.exclude(pk__in=[each.pk for each in published]).order_by("pk")
    assert [(each.pk, each.owner.username, each.state) for each in sent] == [
        (report.submissions[0], "sender-0", "scored"),
        (report.submissions[1], "program-0", "scored"),
    ]
    assert list(Review.objects.values_list("assignment_id", "label", "note")) == [
        (report.labels[0], Review.objects.get().label, "Read twice.")
    ]
