"""From a claimed run to its outcome, in real boxes."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from django.conf import settings

from benchmark_tasks.domain.bucket import DamagedError
from evaluator.enums import RunState
from evaluator.models import Attempt, TestRun
from evaluator.sandbox.interface import BoxSpec
from evaluator.sandbox.trees import link_tree
from evaluator.testing import evaluate, graders
from evaluator.testing.boxes import HELLO_SECONDS
from evaluator.testing.infrastructure_errors import infrastructure_error_of
from submissions.models import Submission
from tests.benchmark_tasks.factories import GOLDEN_1, GOLDEN_DOUBLE_BODY, MASKED
from tests.evaluator.factories import QueuedSubmissionFactory, TestRunFactory
from tests.measures import counted
from tests.submissions.factories import ImplementationFactory

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from benchmark_tasks.models import SuiteVersion
    from evaluator.sandbox.interface import BoxResult, Sandbox

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.bubblewrap]


def run_with(version: SuiteVersion, goal_file: str, **fields: object) -> TestRun:
    """A queued run of an answer to ``alpha/1`` whose goal file has this text."""
    submission = QueuedSubmissionFactory(suite_version=version, answers=False)
    revision = version.revisions.get(task__index=1)
    implementation = ImplementationFactory(
        submission=submission, revision=revision, files={"scoring/core.py": goal_file}, **fields
    )
    return TestRunFactory(implementation=implementation)


def decided(run: TestRun) -> TestRun:
    """``run`` after it was evaluated."""
    assert evaluate.evaluate_next()
    run.refresh_from_db()
    return run


def test_a_right_answer_passes_public_and_private_cases(small_version: SuiteVersion, real_sandbox: Sandbox) -> None:
    run = decided(run_with(small_version, MASKED.replace("raise NotImplementedError", "return 2.0 * x", 1)))
    assert (run.state, run.outcome) == (RunState.DONE, "passed")
    assert [(case["public"], case["seed"], case["outcome"]) for case in run.cases] == [
        *[(True, seed, "passed") for seed in (1, 2) for _ in range(3)],
        *[(False, None, "passed")] * 9,
    ]
    assert (run.environment, run.environment_digest) == ("numpy", real_sandbox.environment_digest("numpy"))
    assert Submission.objects.get().environment_digest == run.environment_digest
    assert not (Path(settings.DATA_DIR) / "work" / f"run-{run.pk}-1").exists()


def test_a_run_and_its_boxes_are_counted(small_version: SuiteVersion, real_sandbox: Sandbox) -> None:
    run = run_with(small_version, MASKED.replace("raise NotImplementedError", "return x", 1))
    ended, boxes = counted("runs_ended_total", "wrong_output"), counted("box_run_seconds_count", "bubblewrap", "fresh")
    decided(run)
    assert counted("runs_ended_total", "wrong_output") - ended == 1
    assert counted("box_run_seconds_count", "bubblewrap", "fresh") - boxes >= 1


def test_the_answers_own_text_runs_and_deleted_files_are_gone(
    small_version: SuiteVersion, real_sandbox: Sandbox
) -> None:
    answer = GOLDEN_1.replace(
        GOLDEN_DOUBLE_BODY, "    import os\n    return 2.0 * x if not os.path.exists(README) else 0.0\n"
    )
    answer = answer.replace("import math", "import math\nREADME = '/box/repository/README.md'")
    run = decided(run_with(small_version, answer, deleted=["README.md"]))
    assert run.outcome == "passed"


def test_a_forked_box_links_an_answers_files_and_never_the_stored_ones(tmp_path: Path) -> None:
    stored, box = tmp_path / "stored", tmp_path / "box"
    (stored / "scoring").mkdir(parents=True)
    (stored / "scoring/core.py").touch(mode=0o444)
    with graders.writable_copy(stored) as tree:
        link_tree(tree, box, bytecode=True)
        assert (tree / "scoring/core.py").samefile(box / "scoring/core.py")
        assert not (tree / "scoring/core.py").samefile(stored / "scoring/core.py")
        assert (tree / "scoring/core.py").stat().st_mode & 0o777 == 0o644  # an answer may replace its text


def test_a_bug_of_the_evaluator_is_an_infrastructure_error(
    small_version: SuiteVersion, monkeypatch: pytest.MonkeyPatch, real_sandbox: Sandbox
) -> None:
    def buggy(**_: object) -> None:
        raise ZeroDivisionError("bug")

    monkeypatch.setattr(graders, "grade", buggy)
    run = decided(run_with(small_version, GOLDEN_1))
    assert (run.state, run.infra_count, run.reason) == (RunState.QUEUED, 1, "an error of the evaluator")
    assert Attempt.objects.get().reason == "The evaluator failed (ZeroDivisionError: bug); see its log."


def test_a_run_waits_while_the_storage_does_not_answer_and_uses_up_no_try(
    small_version: SuiteVersion, real_sandbox: Sandbox, storage_away: Callable[[], AbstractContextManager[None]]
) -> None:
    run = run_with(small_version, GOLDEN_1)
    with storage_away():
        decided(run)
    assert (run.state, run.infra_count, run.reason) == (RunState.QUEUED, 0, "waiting: the file storage did not answer")
    assert Attempt.objects.get().reason.startswith("The storage at http://127.0.0.1:1 could not read trees/")
    TestRun.objects.filter(pk=run.pk).update(not_before=None)
    assert decided(run).outcome == "passed"


def test_a_damaged_file_concerns_its_own_runs() -> None:
    found = infrastructure_error_of(DamagedError("x holds wrong bytes"))
    assert (found.reason, found.public, found.everywhere) == ("x holds wrong bytes", "a stored file is damaged", False)


def test_an_evaluation_that_hangs_outside_its_boxes_is_an_infrastructure_error(
    small_version: SuiteVersion, monkeypatch: pytest.MonkeyPatch, real_sandbox: Sandbox
) -> None:
    before = signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)[0] > 0
    monkeypatch.setattr(graders.Grader, "most_seconds", 0.2)
    monkeypatch.setattr(graders, "grade", lambda **_: time.sleep(30))
    run = decided(run_with(small_version, GOLDEN_1))
    assert (run.state, run.infra_count, run.reason) == (RunState.QUEUED, 1, "the evaluation hung")
    assert Attempt.objects.get().reason.startswith("The run took more than 0 seconds, the most that all of its")
    assert (signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)[0] > 0) == before


def test_a_submission_stays_in_the_environment_of_its_first_run(
    small_version: SuiteVersion, real_sandbox: Sandbox
) -> None:
    run = run_with(small_version, GOLDEN_1)
    first = ImplementationFactory(
        submission=run.implementation.submission, revision=small_version.revisions.get(task__index=2)
    )
    first_run = TestRunFactory(
        implementation=first, done="passed", environment="numpy", environment_digest="sha256:older"
    )
    decided(run)
    assert (run.state, run.infra_count) == (RunState.QUEUED, 1)
    assert run.reason == "the environment changed between two runs of this submission"
    assert "pinned to the environment older, and this worker" in run.attempts.get().reason
    # Runs in another environment do not pin this one.
    TestRun.objects.filter(pk=first_run.pk).update(environment="torch")
    TestRun.objects.filter(pk=run.pk).update(not_before=None)
    assert decided(run).outcome == "passed"


def test_a_sealed_run_may_take_as_long_as_all_of_its_boxes(
    small_version: SuiteVersion, monkeypatch: pytest.MonkeyPatch, real_sandbox: Sandbox, tmp_path: Path
) -> None:
    # No golden outputs are known here: the reference needs a box as well.
    monkeypatch.setattr(graders, "golden_folder", lambda: tmp_path)
    limits, run_box = [], type(real_sandbox).run

    def counted(self: Sandbox, spec: BoxSpec, **named: Any) -> BoxResult:
        limits.append(spec.limits.wall_seconds)
        return run_box(self, spec, **named)

    monkeypatch.setattr(type(real_sandbox), "run", counted)
    decided(run_with(small_version, GOLDEN_1))
    grader = graders.Grader(small_version.revisions.get(task__index=1), small_version.seed_epoch)
    # The hello box is started once per process, by the test that runs first.
    boxes = grader.most_seconds - graders.OUTSIDE_SECONDS
    assert boxes - HELLO_SECONDS <= sum(limits) <= boxes
