"""A suite of upstream's layout with the project's sealed tests on it: from import to two verdicts on each answer."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from benchmark_tasks.domain import overlays
from benchmark_tasks.domain.importing import import_suite
from benchmark_tasks.enums import AuditState
from benchmark_tasks.models import SuiteVersion, TaskRevision
from evaluator.auditing.auditing import audit_revision
from evaluator.enums import RunState
from evaluator.models import TestRun
from evaluator.sandbox.interface import SandboxError
from evaluator.testing import graders
from evaluator.testing.evaluate import evaluate_next
from tests.evaluator.factories import QueuedSubmissionFactory, TestRunFactory
from tests.evaluator.upstream.tasks import DATASET
from tests.submissions.factories import ImplementationFactory

if TYPE_CHECKING:
    from evaluator.sandbox.interface import Sandbox

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.bubblewrap]

LOSS = "11-PairLossArrays"
CONTRAST = "15-ContrastArrays"
MASK = "    raise NotImplementedError"


@pytest.fixture
def version(tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch, real_sandbox: Sandbox) -> SuiteVersion:
    """Two tasks of upstream's layout with overlays on them."""
    settings.DATA_DIR = tmp_path / "data"
    monkeypatch.setattr(overlays, "OVERLAYS_FOLDER", Path(__file__).parent / "overlays")
    for folder in (LOSS, CONTRAST):
        shutil.copytree(DATASET / folder, tmp_path / "suite" / folder)
    version = import_suite(folder=tmp_path / "suite", slug="arrays").version
    assert version is not None
    return version


def revision_of(version: SuiteVersion, paper: str) -> TaskRevision:
    found = version.revisions.select_related("task__suite", "task__paper", "category")
    return found.get(task__paper__folder_name=paper)


@pytest.fixture
def audited(version: SuiteVersion) -> TaskRevision:
    """The task whose upstream test runs beside the sealed one, as after its audit."""
    revision = revision_of(version, LOSS)
    revision.audit_state, revision.audit = AuditState.PASSED, {"upstream": {"runs": True, "why": ""}}
    revision.save()
    return revision


def answered(version: SuiteVersion, revision: TaskRevision, body: str, *, head: str = "") -> TestRun:
    """The decided run of an answer whose goal function has this body."""
    name = revision.goal_file
    masked = (graders.Grader(revision, version.seed_epoch).masked_tree / name).read_text()
    before, _, after = masked.partition(MASK)
    text = f"{head}{before}{body}{after.partition(chr(10))[2]}"
    submission = QueuedSubmissionFactory(suite_version=version, answers=False)
    implementation = ImplementationFactory(submission=submission, revision=revision, files={name: text})
    run = TestRunFactory(implementation=implementation)
    assert evaluate_next(submission_id=submission.pk)
    run.refresh_from_db()
    assert run.state == RunState.DONE
    return run


RIGHT = (
    "    margin = chosen - rejected\n"
    "    if seen is not None:\n"
    "        seen.append(float(margin.mean()))\n"
    "    return np.log1p(np.exp(-beta * margin)), margin.mean()\n"
)


def test_the_audit_tries_both_tests(version: SuiteVersion) -> None:
    revision = revision_of(version, LOSS)
    audit_revision(revision, version.seed_epoch)
    assert revision.audit_state == AuditState.PASSED
    assert revision.audit["upstream"] == {"runs": True, "why": ""}
    assert revision.audit["mutants"]["share"] >= 0.9


def test_a_test_that_is_declared_not_to_run_is_not_tried(version: SuiteVersion) -> None:
    revision = revision_of(version, CONTRAST)
    audit_revision(revision, version.seed_epoch)
    assert (revision.audit_state, revision.audit["upstream"]) == (AuditState.PASSED, {})
    run = answered(version, revision, "    return expert - amateur\n")
    assert (run.outcome, run.upstream_outcome, run.upstream) == ("wrong_output", "", {})


def test_where_upstreams_test_refuses_the_reference_it_is_not_run(version: SuiteVersion, tmp_path: Path) -> None:
    test = tmp_path / "suite" / LOSS / "pair-loss-arrays/unit_test/unit_test_1.py"
    test.write_text(f"import nothing_of_that_name\n{test.read_text()}")
    changed = import_suite(folder=tmp_path / "suite", slug="arrays").version
    assert changed is not None
    revision = revision_of(changed, LOSS)
    audit_revision(revision, changed.seed_epoch)
    assert revision.audit_state == AuditState.PASSED
    assert revision.audit["upstream"]["runs"] is False
    assert "No module named 'nothing_of_that_name'" in revision.audit["upstream"]["why"]
    assert answered(changed, revision, RIGHT).upstream == {}


def test_a_package_of_the_repository_that_upstreams_test_has_installed(
    version: SuiteVersion, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "suite" / LOSS / "pair-loss-arrays"
    (home / "packages/extra").mkdir(parents=True)
    (home / "packages/extra/__init__.py").write_text("")
    test = home / "unit_test/unit_test_1.py"
    test.write_text(f"import extra\n{test.read_text()}")
    shutil.copytree(overlays.OVERLAYS_FOLDER, tmp_path / "overlays")
    monkeypatch.setattr(overlays, "OVERLAYS_FOLDER", tmp_path / "overlays")
    file = tmp_path / "overlays/arrays" / LOSS / "overlay.json"
    about = json.loads(file.read_text())
    about["tasks"][0]["upstream_path"] = ["packages"]
    file.write_text(json.dumps(about))
    changed = import_suite(folder=tmp_path / "suite", slug="arrays").version
    assert changed is not None
    revision = revision_of(changed, LOSS)
    audit_revision(revision, changed.seed_epoch)
    assert revision.audit["upstream"] == {"runs": True, "why": ""}
    assert answered(changed, revision, RIGHT).upstream_outcome == "passed"


def test_before_the_audit_only_the_sealed_test_runs(version: SuiteVersion) -> None:
    run = answered(version, revision_of(version, LOSS), RIGHT)
    assert (run.outcome, run.upstream_outcome, run.upstream) == ("passed", "", {})


def test_both_verdicts_on_a_right_answer(version: SuiteVersion, audited: TaskRevision) -> None:
    run = answered(version, audited, RIGHT)
    assert (run.outcome, run.upstream_outcome) == ("passed", "passed")
    assert "All pairs: Test Passed" in run.upstream["log"]
    assert len([case for case in run.cases if not case["public"]]) == 9 * 6


def test_both_verdicts_on_the_stub(version: SuiteVersion, audited: TaskRevision) -> None:
    run = answered(version, audited, f"{MASK}\n")
    assert (run.outcome, run.upstream_outcome) == ("raised", "raised")


def table_of_public_cases() -> str:
    """An answer that has memorised the public cases, and knows no other."""
    source: dict[str, Any] = {}
    exec((Path(__file__).parent / "overlays/arrays" / LOSS / "cases_1.py").read_text(), source)  # noqa: S102 - ours
    known = {}
    for case in (case for seed in (1, 2) for case in source["cases"](seed)):
        margin = case["chosen"] - case["rejected"]
        losses = np.logaddexp(0.0, -case["options"].get("beta", 0.1) * margin)
        known[float(case["chosen"][0])] = (losses.tolist(), float(margin.mean()))
    return (
        f"    losses, mean = {known!r}.get(float(chosen[0]), ([0.0], 0.0))\n"
        "    if seen is not None:\n        seen.append(mean)\n"
        "    return np.array(losses), mean\n"
    )


@pytest.mark.parametrize(
    ("head", "body"),
    [
        ("import os\n", "    print('Test Passed', flush=True)\n    os._exit(0)\n"),
        (
            "import numpy\nnumpy.allclose = numpy.testing.assert_allclose = lambda *a, **k: True\n",
            "    return np.zeros(np.shape(chosen)), 0.0\n",
        ),
        ("import logging\n", "    logging.info('All pairs: Test Passed')\n    return 0.0 * chosen, 0.0\n"),
    ],
    ids=["leaves early", "patched comparisons", "a forged log"],
)
def test_tricks_that_fool_a_test_beside_the_answer_fail(
    version: SuiteVersion, audited: TaskRevision, head: str, body: str
) -> None:
    assert answered(version, audited, body, head=head).outcome in {"wrong_output", "raised"}


def test_an_answer_that_memorised_the_public_cases_fails_on_the_private_ones(
    version: SuiteVersion, audited: TaskRevision
) -> None:
    run = answered(version, audited, table_of_public_cases())
    assert (run.outcome, run.reason) == ("wrong_output", "0 of 54 private test cases passed")
    assert {case["outcome"] for case in run.cases if case["public"]} == {"passed"}


def test_an_infrastructure_error_of_upstreams_test_does_not_affect_the_sealed_test(
    version: SuiteVersion, audited: TaskRevision, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise SandboxError("no box", public="no box could be started")

    monkeypatch.setattr(graders.Grader, "grade_by_upstream_test", broken)
    run = answered(version, audited, RIGHT)
    assert (run.outcome, run.upstream_outcome, run.infra_count) == ("passed", "", 0)
    assert run.upstream == {"reason": "no box could be started"}
