"""The simulated users of ``make load`` do each of their tasks once on a live server: what they use must be there."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from leaderboard.board.entries import recompute_submission
from tests.conftest import PROJECT_ROOT
from tests.evaluator.factories import TestRunFactory
from tests.load.plan import Plan, Report
from tests.load.preparing import prepare
from tests.load.results import errors_of, lost_work
from tests.load.storing import stored
from tests.reviews.factories import case_of
from tests.submissions.factories import ImplementationFactory, SubmissionFactory, bundle

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_django.live_server_helper import LiveServer

    from benchmark_tasks.models import SuiteVersion
    from submissions.models import Submission

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
    held = stored()
    assert lost_work(report, held, {"alpha/1": "passed", "alpha/2": "not_attempted"}) == []
    assert (len(report.uploads), len(report.submissions), len(report.labels)) == (2, 2, 1)
    assert (list(held.states.values()), held.accepted) == (["scored", "scored"], [])
