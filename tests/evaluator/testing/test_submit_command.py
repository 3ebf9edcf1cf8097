"""``manage.py submit``: outcomes of the shipped samples, exit codes, and messages about arguments and the queue."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from django.core.management import CommandError, call_command

from benchmark_tasks.domain.content import tree_files
from evaluator.management import shared
from evaluator.management.commands.submit import NO_QUEUE, Command
from evaluator.models import TestRun
from evaluator.sandbox.interface import SandboxError
from evaluator.testing import evaluate
from submissions.domain.samples import build_sample
from submissions.models import Implementation, Submission
from tests.attacks.sending import left_behind
from tests.evaluator.commands import submit
from tests.leaderboard.settings.test_settings import manage
from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from pathlib import Path

    from benchmark_tasks.models import SuiteVersion
    from evaluator.sandbox.interface import Sandbox

pytestmark = pytest.mark.django_db(transaction=True)

MINI = {
    "dpo/1", "bertscore/1", "contrastivedecoding/1", "rope/1", "simcse/1",
    "selfconsistency/1", "neuralcrf/1", "eda/1", "integratedgradients/1",
}  # fmt: skip


@pytest.fixture
def without_a_queue(settings: Any) -> None:
    settings.RQ_QUEUES = replace(settings.ENVIRONMENT, redis_url="redis://127.0.0.1:1/0").rq_queues


def sample(folder: Path, kind: str, version: SuiteVersion) -> str:
    """The path of a sample's bundle."""
    bundle = folder / "sample.zip"
    bundle.write_bytes(build_sample(kind, version).content)
    return str(bundle)


@pytest.mark.bubblewrap
def test_waiting_shows_each_step(
    tmp_path: Path, lmr_mini: SuiteVersion, real_sandbox: Sandbox, without_a_queue: None
) -> None:
    out = io.StringIO()
    with pytest.raises(SystemExit):  # not all of its answers pass
        call_command("submit", sample(tmp_path, "mixed", lmr_mini), "--wait", stdout=out)
    number = Submission.objects.get().pk
    steps = [line for line in out.getvalue().splitlines() if line.endswith("done.")]
    # One answer does not apply, so it is decided at once; that there is no queue does not matter here.
    assert steps == [f"submission {number}: {done} of 8 tests done." for done in range(1, 8)]


@pytest.mark.parametrize(
    ("box", "kind", "passed"),
    [
        pytest.param("real_sandbox", "golden", 9, marks=[pytest.mark.bubblewrap, pytest.mark.in_full]),
        pytest.param("real_sandbox", "mixed", 3, marks=pytest.mark.bubblewrap),
        pytest.param("docker_is_configured", "mixed", 3, marks=pytest.mark.docker),
    ],
)
def test_samples_have_exactly_the_expected_outcome_per_task(
    box: str, kind: str, passed: int, lmr_mini: SuiteVersion, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    sandbox = request.getfixturevalue(box)
    code, result = submit(sample(tmp_path, kind, lmr_mini), "--wait")
    expected = build_sample(kind, lmr_mini).expected
    assert set(expected) == MINI
    assert {task["task"]: task["outcome"] for task in result["tasks"]} == expected
    assert (code, result["state"], result["tests"]) == (0, "scored", {"passed": passed, "total": 9})
    submission = Submission.objects.get(pk=result["submission"])
    assert (submission.kind, submission.owner.username) == ("calibration", "operator")
    assert submission.environment_digest == sandbox.environment_digest("numpy")
    assert left_behind() == []
    assert all(task["seconds"] is not None for task in result["tasks"])
    flagged = submission.implementations.filter(identical_to_reference=True).count()
    assert flagged == (9 if kind == "golden" else 0)


def test_the_same_bundle_again_is_the_same_submission(
    lmr_mini: SuiteVersion, tmp_path: Path, without_a_queue: None
) -> None:
    bundle = sample(tmp_path, "stub", lmr_mini)
    first, second = (submit(bundle)[1] for _ in range(2))
    assert (first["submission"], first["state"]) == (second["submission"], "queued")
    assert Submission.objects.count() == 1


def test_a_refused_bundle_exits_with_1_and_its_report(lmr_mini: SuiteVersion, tmp_path: Path) -> None:
    (tmp_path / "broken.zip").write_bytes(b"not an archive")
    code, report = submit(str(tmp_path / "broken.zip"))
    assert (code, report["acceptable"], len(report["problems"])) == (1, False, 1)
    assert not Submission.objects.exists()


def test_a_used_up_quota_exits_with_3(lmr_mini: SuiteVersion, tmp_path: Path) -> None:
    UserFactory(username="busy", daily_submissions=0)
    code, result = submit(sample(tmp_path, "stub", lmr_mini), "--as", "busy")
    assert code == 3
    assert result["error"].startswith("You have sent 0 submissions today (UTC); your limit is 0.")


def test_a_machine_without_a_sandbox_exits_with_2_and_holds(
    lmr_mini: SuiteVersion, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing() -> Sandbox:
        raise SandboxError("no sandbox can run here")

    monkeypatch.setattr(evaluate, "configured_sandbox", nothing)
    monkeypatch.setattr(shared, "POLL_SECONDS", 0.01)
    monkeypatch.setattr("evaluator.queue.leases.INFRA_TRIES", 1)
    out, errors = io.StringIO(), io.StringIO()
    with pytest.raises(SystemExit) as end:
        call_command("submit", sample(tmp_path, "golden", lmr_mini), "--wait", "--json", stdout=out, stderr=errors)
    result = json.loads(out.getvalue())
    assert (end.value.code, result["state"], result["tests"]["passed"]) == (2, "held", 0)
    assert set(TestRun.objects.values_list("outcome", flat=True)) == {""}
    # Pages show less than the operator's terminal.
    assert Submission.objects.get().held_reason == "an error of the evaluator"
    assert errors.getvalue() == "Held: no sandbox can run here\n"


def test_an_interrupt_exits_with_130_and_releases_the_run(
    lmr_mini: SuiteVersion, real_sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("evaluator.testing.evaluate.Grader.grade", interrupted)
    code, result = submit(sample(tmp_path, "golden", lmr_mini), "--wait")
    assert (code, result["state"]) == (130, "running")
    assert set(TestRun.objects.values_list("state", flat=True)) == {"queued"}


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param([], marks=pytest.mark.in_full),
        ["x.zip", "--no-such-option"],
        pytest.param(["x.zip", "--publish-as", "mine"], marks=pytest.mark.in_full),
    ],
)
def test_wrong_arguments_exit_with_1_since_2_means_held(arguments: list[str], tmp_path: Path) -> None:
    result = manage("submit", *arguments, DATA_DIR=str(tmp_path))
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith("usage: manage.py submit ")
    assert "\nError: " in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["/nowhere.zip"], r"^/nowhere\.zip is not a file or a folder\.$"),
        (["{bundle}", "--as", "nobody"], "There is no account 'nobody'"),
    ],
)
def test_missing_files_and_accounts_are_named(arguments: list[str], message: str, tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_bytes(b"x")
    with pytest.raises(CommandError, match=message):
        call_command("submit", *[argument.format(bundle=tmp_path / "x.zip") for argument in arguments])


def test_without_a_queue_it_reports_that_nothing_runs_yet(
    lmr_mini: SuiteVersion, tmp_path: Path, without_a_queue: None
) -> None:
    out, errors = io.StringIO(), io.StringIO()
    with pytest.raises(SystemExit) as end:
        call_command(Command(stdout=out, stderr=errors), sample(tmp_path, "stub", lmr_mini), "--json")
    assert (end.value.code, json.loads(out.getvalue())["state"], errors.getvalue()) == (0, "queued", f"{NO_QUEUE}\n")


def test_a_folder_is_an_output_tree(lmr_mini: SuiteVersion, tmp_path: Path, without_a_queue: None) -> None:
    revision = lmr_mini.revisions.select_related("task__paper").get(task__slug="dpo/1")
    paper = revision.task.paper
    repository = tmp_path / "gpt4o" / paper.folder_name.lstrip("0") / paper.repository_folder
    for name, file in tree_files(revision.repository_hash).items():
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).write_bytes(file.read_bytes())
    goal = repository / revision.goal_file
    goal.write_text(goal.read_text().replace("raise NotImplementedError", "return policy", 1))
    (repository / "run.log").write_text("noise")
    code, result = submit(str(tmp_path / "gpt4o"), "--suite", "lmr-mini", "--system", "Agent", "--backbone", "model-1")
    assert code == 0
    assert [remark["message"] for remark in result["remarks"]] == [
        "Ignored files that are not part of an answer - logs and results: 1 (run.log)."
    ]
    assert [answer.revision.task.slug for answer in Implementation.objects.filter(attempted=True)] == ["dpo/1"]
