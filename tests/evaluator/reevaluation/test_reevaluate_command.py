"""``manage.py reevaluate``: plan, measure again, and report the changes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from django.core.management.base import CommandError

from benchmark_tasks.models import SeedEpoch, SuiteVersion, TaskRevision
from evaluator.enums import ReevaluationState
from evaluator.models import Reevaluation, TestRun
from evaluator.sandbox.configuration import EVALUATOR_VERSION
from submissions.models import Submission
from tests.benchmark_tasks.factories import GOLDEN_1, MASKED
from tests.evaluator.commands import run
from tests.evaluator.factories import QueuedSubmissionFactory, TestRunFactory
from tests.evaluator.reevaluations import scored
from tests.leaderboard.settings.test_settings import manage
from tests.submissions.factories import ImplementationFactory

if TYPE_CHECKING:
    from pathlib import Path

    from evaluator.sandbox.interface import Sandbox

pytestmark = pytest.mark.django_db(transaction=True)


def reevaluate(*arguments: str) -> str:
    return run("reevaluate", *arguments)[1]


def as_json(*arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(reevaluate(*arguments, "--json"))
    return found


def measured(version: SuiteVersion) -> Submission:
    """A scored submission with a right and a wrong answer to ``alpha/1``, both stored as passed."""
    submission: Submission = QueuedSubmissionFactory(suite_version=version, answers=False, trials=2, state="scored")
    revision = version.revisions.get(task__index=1)
    wrong = MASKED.replace("raise NotImplementedError", "return x", 1)
    for trial, text in enumerate((GOLDEN_1, wrong), start=1):
        answer = ImplementationFactory(
            submission=submission, revision=revision, trial=trial, files={"scoring/core.py": text}
        )
        TestRunFactory(implementation=answer, done="passed")
    TaskRevision.objects.exclude(pk=revision.pk).update(not_runnable_reasons=["not asked"])
    return submission


@pytest.mark.bubblewrap
def test_it_measures_again_and_reports_the_changes(small_version: SuiteVersion, real_sandbox: Sandbox) -> None:
    submission = measured(small_version)
    printed = reevaluate("--submission", str(submission.pk), "--reason", "A better evaluator.", "--wait")
    difference = "1 outcome changed (alpha/1 trial 2 passed → wrong output), 1/1 → 0.5/1"
    assert printed.splitlines()[-1] == (
        f"submission {submission.pk}: applied. evaluator 1 → {EVALUATOR_VERSION}; {difference}"
    )
    assert sorted(run.outcome for run in TestRun.objects.current()) == ["passed", "wrong_output"]
    assert TestRun.objects.filter(outcome="passed", evaluator_version="1").count() == 2
    assert reevaluate("--suite", "small", "--reason", "Again.").startswith(
        f"submission {submission.pk}, {submission}: nothing to do\nNothing to do"
    )


def test_a_dry_run_of_a_new_seed_epoch_shows_the_plan(small_version: SuiteVersion) -> None:
    submission = measured(small_version)
    TestRun.objects.update(evaluator_version=EVALUATOR_VERSION)
    assert reevaluate("--suite", "small", "--new-epoch", "--dry-run").splitlines() == [
        "small v2 with seed epoch 2 would be made. Then:",
        f"submission {submission.pk}, {submission}: 2 to be measured again, 0 kept",
        "  seed epoch 1 → 2: 2",
        "  moves to version 2",
        "1 of 1 submissions, 2 answers to be measured again.",
    ]
    assert (SeedEpoch.objects.count(), SuiteVersion.objects.count()) == (1, 1)


@pytest.mark.bubblewrap
def test_waiting_joins_a_running_reevaluation(small_version: SuiteVersion, real_sandbox: Sandbox) -> None:
    submission = measured(small_version)
    (started,) = as_json("--suite", "small", "--reason", "A better evaluator.")["started"]
    printed = reevaluate("--suite", "small", "--reason", "A better evaluator.", "--wait").splitlines()
    assert printed[:2] == [
        f"submission {submission.pk}, {submission}: is being re-evaluated already",
        "Nothing to start: 1 of 1 scored submissions are being re-evaluated already.",
    ]
    assert printed[2].startswith(f"submission {submission.pk}: applied. evaluator 1 → {EVALUATOR_VERSION}; 1 outcome")
    assert Reevaluation.objects.get(pk=started["reevaluation"]).state == ReevaluationState.APPLIED


def test_tasks_are_named_as_in_bundles() -> None:
    submission = scored("passed", evaluator="1")
    task = submission.suite_version.revisions.get().task
    written = f"07-{task.paper.slug.upper()}/0{task.index}"
    for named in (["--task", f"{task.suite.slug}/{written}"], ["--suite", task.suite.slug, "--task", written]):
        (plan,) = as_json(*named, "--dry-run")["planned"]
        assert (plan["submission"], [each["task"] for each in plan["runs"]]) == (submission.pk, [task.slug])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--suite", "nothing", "--dry-run"], "There is no suite nothing. Known: "),
        (["--task", "small/nothing/1", "--dry-run"], "There is no task small/nothing/1."),
        (["--task", "alpha/1", "--dry-run"], "There is no task alpha/1. Write it as suite/task"),
        (["--suite", "small", "--task", "nothing/1", "--dry-run"], "There is no task nothing/1 in small."),
        (["--suite", "small", "--submission", "1", "--dry-run"], "Give either --submission, or"),
        (["--submission", "99", "--dry-run"], "There is no submission 99"),
        (["--suite", "small"], "Give a --reason"),
        (["--submission", "1", "--new-epoch", "--dry-run"], "give --suite with --new-epoch"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_is_done(
    small_version: SuiteVersion, arguments: list[str], message: str
) -> None:
    with pytest.raises(CommandError, match=message):
        reevaluate(*arguments)


def test_only_scored_submissions_are_measured_again() -> None:
    submission = scored("passed")
    Submission.objects.filter(pk=submission.pk).update(state="held")
    with pytest.raises(CommandError, match="is held: only scored submissions are measured again"):
        reevaluate("--submission", str(submission.pk), "--dry-run")


def test_joining_a_held_reevaluation_exits_with_2(small_version: SuiteVersion) -> None:
    measured(small_version)
    reevaluate("--suite", "small", "--reason", "Again.")
    Reevaluation.objects.update(state=ReevaluationState.HELD, held_reason="the host failed")
    assert run("reevaluate", "--suite", "small", "--reason", "Again.", "--wait")[0] == 2


def test_wrong_arguments_exit_with_1_since_2_means_held(tmp_path: Path) -> None:
    result = manage("reevaluate", "--submission", "x", "--dry-run", DATA_DIR=str(tmp_path))
    assert (result.returncode, result.stdout) == (1, "")
    assert "Traceback" not in result.stderr
