"""Auditing upstream's kind of test, which imports the answer, logs "Passed" or compares a value with itself."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benchmark_tasks.domain.importing import import_suite
from benchmark_tasks.enums import AuditState
from benchmark_tasks.models import TaskRevision
from evaluator.auditing.audit_result import AuditResult
from evaluator.auditing.auditing import audit_revision, store, waiting
from evaluator.outcomes import Outcome
from evaluator.testing.verdicts import Verdict

if TYPE_CHECKING:
    from evaluator.sandbox.interface import Sandbox

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.bubblewrap]

DATASET = Path(__file__).parents[1] / "upstream" / "dataset"
PAPER = "16-DecayArrays"


def imported(tmp_path: Path, *, unit_test: str | None = None) -> TaskRevision:
    """The task whose test only logs, or is replaced by ``unit_test``, imported in upstream's layout."""
    folder = tmp_path / "benchmark" / PAPER
    shutil.copytree(DATASET / PAPER, folder)
    facts = json.loads((folder / "info.json").read_text())
    facts["implementations"][0]["environment"] = "numpy"
    (folder / "info.json").write_text(json.dumps(facts))
    (folder / facts["repo_folder_name"] / "paper.json").write_text("{}")
    if unit_test is not None:
        (folder / facts["repo_folder_name"] / "unit_test" / "unit_test_1.py").write_text(unit_test)
    import_suite(folder=folder.parent, slug="small")
    return TaskRevision.objects.get()


def audited(tmp_path: Path, *, unit_test: str | None = None) -> TaskRevision:
    """The same task, audited."""
    imported(tmp_path, unit_test=unit_test)
    ((revision, epoch),) = waiting()
    audit_revision(revision, epoch)
    return TaskRevision.objects.get()


def test_a_test_that_compares_numbers_is_audited_as_it_is(real_sandbox: Sandbox, tmp_path: Path) -> None:
    revision = audited(tmp_path)
    audit = revision.audit
    assert (audit["reasons"], audit["golden"]["outcomes"]) == ([], ["passed", "passed"])
    assert audit["stub"] != "passed"
    assert "mode" not in audit
    assert (audit["guessing"], audit["margins"]) == (None, None)
    assert audit["image_scan"]["copies"] == []
    mutants = audit["mutants"]
    assert (mutants["total"], mutants["killed"], mutants["sampled"]) == (3, 3, False)
    assert revision.audit_state == AuditState.PASSED


def test_how_earlier_evaluators_ran_the_test_is_kept(tmp_path: Path) -> None:
    """Their results are still shown with it."""
    revision = imported(tmp_path)
    TaskRevision.objects.update(audit={"mode": "remote", "mode_why": "plain data"})
    revision.refresh_from_db()
    result = AuditResult((Verdict(Outcome.PASSED, (), "", 0.0, ""),))
    store(revision, result, {"evaluator_version": "5"})
    kept = TaskRevision.objects.get().audit
    assert (kept["mode"], kept["evaluator_version"], "mode_why" in kept) == ("remote", "5", False)


LACKS_A_MODULE = """
import numpy as np
import nowhere_to_be_found

from decay import decayed

assert decayed(np.array([1.0]), 0.5) is not None
"""


def test_a_missing_module_is_not_an_error_of_the_test(real_sandbox: Sandbox, tmp_path: Path) -> None:
    revision = audited(tmp_path, unit_test=LACKS_A_MODULE)
    assert (revision.audit_state, revision.runnable) == (AuditState.INCOMPLETE, False)
    assert revision.why_left_out == "environment incomplete: the module 'nowhere_to_be_found' is missing"
    audit = revision.audit
    assert (audit["golden"]["outcomes"], audit["stub"], audit["trivial"]) == (["raised"], "", [])
    assert audit["add"] == (
        "Name an environment that has `nowhere_to_be_found` for the task in the file that ENVIRONMENTS_FILE names: "
        'under [tasks] `"small/decayarrays/1" = "NAME"`, and what NAME is made from under [environments.NAME]. '
        "Then run `manage.py build_images --suite small --task decayarrays/1` and "
        "`manage.py audit_tasks --suite small --failed`."
    )
    assert waiting() == []
    ((again, _),) = waiting(failed=True)
    assert again == revision
