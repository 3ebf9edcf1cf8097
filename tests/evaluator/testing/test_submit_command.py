"""``manage.py submit``, ``submit_samples`` and ``prepare_evaluator``, in real boxes on the shipped suite."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pytest
from django.core.management import CommandError, call_command

from evaluator.management.commands import submit as submit_command
from evaluator.models import TestRun
from evaluator.sandbox.types import SandboxError
from evaluator.testing import evaluate
from submissions.domain.samples import SampleKind, build_sample
from submissions.models import Submission, User
from tests.evaluator.commands import submit
from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from pathlib import Path

    from benchmark_tasks.models import SuiteVersion
    from evaluator.sandbox.types import Sandbox

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.bubblewrap]

MINI = {
    "dpo/1", "bertscore/1", "contrastivedecoding/1", "rope/1", "simcse/1",
    "selfconsistency/1", "neuralcrf/1", "eda/1", "integratedgradients/1",
}  # fmt: skip


@pytest.fixture
def mini(real_sandbox: Sandbox, lmr_mini: SuiteVersion) -> SuiteVersion:
    """The shipped suite, on a machine with a sandbox."""
    return lmr_mini


@pytest.mark.parametrize(
    ("kind", "passed"),
    [("golden", 9), ("stub", 0), ("mixed", 3)],
)
def test_samples_have_exactly_the_expected_outcome_per_task(
    kind: str, passed: int, mini: SuiteVersion, tmp_path: Path
) -> None:
    sample = build_sample(kind, mini)
    bundle = tmp_path / "sample.zip"
    bundle.write_bytes(sample.content)
    code, result = submit(str(bundle), "--wait")
    assert code == 0
    assert {task["task"]: task["outcome"] for task in result["tasks"]} == sample.expected
    assert set(sample.expected) == MINI
    assert (result["state"], result["tests"]) == ("scored", {"passed": passed, "total": 9})
    submission = Submission.objects.get(pk=result["submission"])
    assert (submission.kind, submission.owner.username) == ("calibration", "operator")
    assert all(task["seconds"] is not None for task in result["tasks"])
    flagged = submission.implementations.filter(identical_to_reference=True).count()
    assert flagged == (9 if kind == "golden" else 0)


def test_expected_outcomes_of_the_mixture_are_of_every_plausible_kind(mini: SuiteVersion) -> None:
    expected = build_sample("mixed", mini).expected
    assert sorted(expected.values()) == [
        "bad_patch", "not_attempted", "passed", "passed", "passed", "raised",
        "wrong_output", "wrong_output", "wrong_output",
    ]  # fmt: skip


def test_the_same_bundle_again_is_the_same_submission(mini: SuiteVersion, tmp_path: Path) -> None:
    bundle = tmp_path / "sample.zip"
    bundle.write_bytes(build_sample("stub", mini).content)
    _, first = submit(str(bundle))
    _, second = submit(str(bundle), "--wait")
    assert (first["submission"], first["state"]) == (second["submission"], "queued")
    assert (second["state"], Submission.objects.count()) == ("scored", 1)


def test_a_refused_bundle_ends_with_one_and_its_report(mini: SuiteVersion, tmp_path: Path) -> None:
    bundle = tmp_path / "broken.zip"
    bundle.write_bytes(b"not an archive")
    code, report = submit(str(bundle))
    assert (code, report["acceptable"], len(report["problems"])) == (1, False, 1)
    assert not Submission.objects.exists()


def test_a_used_up_quota_ends_with_three(mini: SuiteVersion, tmp_path: Path) -> None:
    UserFactory(username="busy", daily_submissions=0)
    bundle = tmp_path / "sample.zip"
    bundle.write_bytes(build_sample("stub", mini).content)
    code, result = submit(str(bundle), "--as", "busy")
    assert code == 3
    assert result["error"].startswith("You have sent 0 submissions today (UTC); your limit is 0.")


def test_a_machine_without_a_sandbox_ends_with_two_and_holds(
    mini: SuiteVersion, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    def nothing() -> Sandbox:
        msg = "no sandbox can run here"
        raise SandboxError(msg)

    monkeypatch.setattr(evaluate, "configured_sandbox", nothing)
    monkeypatch.setattr(submit_command, "POLL_SECONDS", 0.01)
    monkeypatch.setattr("evaluator.queue.leases.INFRA_TRIES", 1)
    bundle = tmp_path / "sample.zip"
    bundle.write_bytes(build_sample("golden", mini).content)
    out, errors = io.StringIO(), io.StringIO()
    with pytest.raises(SystemExit) as end:
        call_command("submit", str(bundle), "--wait", "--json", stdout=out, stderr=errors)
    result = json.loads(out.getvalue())
    assert (end.value.code, result["state"], result["tests"]["passed"]) == (2, "held", 0)
    assert set(TestRun.objects.values_list("outcome", flat=True)) == {""}
    # Pages say less than whoever sits at the machine is told.
    assert Submission.objects.get().held_reason == "a fault of the evaluator"
    assert errors.getvalue() == "Held: no sandbox can run here\n"


def test_an_interrupt_ends_with_130_and_gives_the_run_back(
    mini: SuiteVersion, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("evaluator.testing.evaluate.Grader.grade", interrupted)
    bundle = tmp_path / "sample.zip"
    bundle.write_bytes(build_sample("golden", mini).content)
    code, result = submit(str(bundle), "--wait")
    assert (code, result["state"]) == (130, "running")
    assert set(TestRun.objects.values_list("state", flat=True)) == {"queued"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["/nowhere.zip"], "/nowhere.zip is not a file or a folder."),
        (["{bundle}", "--as", "nobody"], "There is no account 'nobody'"),
    ],
)
def test_wrong_arguments_are_said(arguments: list[str], message: str, tmp_path: Path, db: None) -> None:
    bundle = tmp_path / "x.zip"
    bundle.write_bytes(b"x")
    with pytest.raises(CommandError, match=message):
        call_command("submit", *[argument.format(bundle=bundle) for argument in arguments])


def test_the_samples_are_submitted_once_by_the_operator(mini: SuiteVersion) -> None:
    first, second = io.StringIO(), io.StringIO()
    call_command("submit_samples", stdout=first)
    call_command("submit_samples", stdout=second)
    numbered = list(zip(SampleKind, Submission.objects.order_by("pk").values_list("pk", flat=True), strict=True))
    assert first.getvalue().splitlines() == [f"{kind}: queued, submission {number}" for kind, number in numbered]
    assert second.getvalue().splitlines() == [
        f"{kind}: was submitted before, submission {number}" for kind, number in numbered
    ]
    assert set(Submission.objects.values_list("publish_when_scored", "kind", "owner__username")) == {
        (True, "calibration", "operator")
    }
    assert User.objects.get(username="operator").has_usable_password() is False


def test_samples_without_a_suite_say_what_to_do(db: None) -> None:
    with pytest.raises(CommandError, match=r"There is no suite 'lmr-mini'; run manage\.py load_catalogue first\."):
        call_command("submit_samples")


def test_the_environment_is_prepared_and_named(mini: SuiteVersion, real_sandbox: Sandbox) -> None:
    out = io.StringIO()
    call_command("prepare_evaluator", stdout=out)
    digest = real_sandbox.environment_digest("numpy").removeprefix("sha256:")
    assert out.getvalue() == f"{real_sandbox.name}: environment numpy {digest[:12]} is ready\n"
