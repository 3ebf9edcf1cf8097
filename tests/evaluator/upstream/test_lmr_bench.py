"""``manage.py lmr_bench`` and ``prepare_suite`` on a made-up folder in upstream's layout: from nothing to a table."""

from __future__ import annotations

import logging
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from django.core.management import CommandError, call_command

from benchmark_tasks.domain import overlays
from benchmark_tasks.enums import AuditState
from benchmark_tasks.models import Suite, TaskRevision
from evaluator.models import EnvironmentBuild, SelfCheck
from evaluator.sandbox import building
from evaluator.sandbox.environment_list import SHIPPED, environment_facts
from evaluator.sandbox.interface import SandboxError
from evaluator.sandbox.task_environments import paper_environment
from tests.evaluator.factories import TestRunFactory
from tests.evaluator.upstream.tasks import DATASET

if TYPE_CHECKING:
    from evaluator.sandbox.interface import Sandbox

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.bubblewrap]

HEAD = "task test upstream's test environment audit right answers wrong answers seconds"
FOLDERS = ("11-PairLossArrays", "15-ContrastArrays")


@pytest.fixture
def copy(tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An operator's copy of the data set, with overlays for both of its papers."""
    settings.DATA_DIR = tmp_path / "data"
    ours = tmp_path / "overlays"
    shutil.copytree(Path(__file__).parent / "overlays/arrays", ours / "lmr-bench")
    monkeypatch.setattr(overlays, "OVERLAYS_FOLDER", ours)
    for folder in FOLDERS:
        shutil.copytree(DATASET / folder, tmp_path / "copy/benchmark" / folder)
    return tmp_path / "copy"


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What was printed, with each run of spaces as one."""
    return [re.sub(r" +", " ", line) for line in capsys.readouterr().out.splitlines()]


def test_one_command_makes_all_steps_and_resumes_where_it_was(
    copy: Path, real_sandbox: Sandbox, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("lmr_bench", str(copy))
    printed = lines(capsys)
    assert [title for title in printed if title in {"Import", "Environments", "Audit"}] == [
        "Import",
        "Environments",
        "Audit",
    ]
    assert "numpy for bubblewrap, 2 tasks: Python with NumPy: 17 MB to download, 122 MB on disk, about 10 s" in printed
    table = printed[printed.index(HEAD) + 1 :]
    assert len(table) == 28 + 2 + 1
    rows = {row.partition(" ")[0]: row for row in table[:-1]}
    assert re.fullmatch(
        r"pairlossarrays/1 sealed also run, in-process numpy audited, 93 % of 16 seeded bugs caught"
        r" 1 of 1 pass 1 of 1 fail \d+",
        rows["pairlossarrays/1"],
    )
    assert re.fullmatch(
        r"contrastarrays/1 sealed cannot run numpy audited, \d+ % of \d+ seeded bugs caught \d+",
        rows["contrastarrays/1"],
    )
    assert rows["dpo/1"].startswith("dpo/1 not runnable: its code is not shipped")
    assert table[-1] == "0 of the paper's 28 tasks sealed and audited, and 2 more."
    audited = TaskRevision.objects.exclude(overlay={}).values_list("audit_state", flat=True)
    assert list(audited) == [AuditState.PASSED, AuditState.PASSED]
    assert logging.root.manager.disable == logging.NOTSET, "what runs later is logged as before"
    _resumes_where_it_was(copy, capsys)


def _resumes_where_it_was(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = list(TaskRevision.objects.exclude(overlay={}).values_list("pk", "audit"))
    call_command("lmr_bench", str(copy / "benchmark"))
    printed = lines(capsys)
    assert "LMR-BENCH (lmr-bench): nothing changed" in printed
    assert "numpy for bubblewrap, 2 tasks: is made" in printed
    assert list(TaskRevision.objects.exclude(overlay={}).values_list("pk", "audit")) == made
    assert EnvironmentBuild.objects.count() == 1


# tests/attacks fires the same attacks, and test_self_checks tests the command.
@pytest.mark.in_full
def test_attacks_on_every_task_of_the_suite(
    copy: Path, real_sandbox: Sandbox, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("import_suite", str(copy), slug="lmr-bench")
    with pytest.raises(CommandError, match="No task of lmr-bench counts, so there is nothing to attack"):
        call_command("attack", suite="lmr-bench")
    TaskRevision.objects.exclude(overlay={}).update(audit_state=AuditState.PASSED)
    capsys.readouterr()
    call_command("attack", suite="lmr-bench")
    *rows, last = lines(capsys)
    assert last == "10 of 10 repelled"
    controls = [row for row in rows if row.startswith("sealed control ")]
    assert controls == [
        f"sealed control {what} (lmr-bench {task}) {outcome} as expected"
        for task in ("pairlossarrays/1", "contrastarrays/1")
        for what, outcome in (("right answer", "passed"), ("stub", "raised"))
    ]
    assert not SelfCheck.objects.exists()


def test_environments_of_an_older_version_are_made_if_answers_wait_for_them(
    copy: Path, real_sandbox: Sandbox, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(copy / "benchmark" / FOLDERS[0])
    call_command("import_suite", str(copy), slug="lmr-bench", without_overlays=True)
    call_command("lmr_bench", str(copy))
    printed = lines(capsys)
    assert [line for line in printed if "paper-" in line] == []
    assert printed[-1] == "0 of the paper's 28 tasks sealed and audited, and 1 more."
    old = TaskRevision.objects.get(task__slug="contrastarrays/1", protocol="upstream")
    TestRunFactory(implementation__revision=old, implementation__submission__suite_version=old.suite_versions.get())
    call_command("prepare_suite", "lmr-bench", dry_run=True)
    planned = [line.partition(":")[0] for line in lines(capsys) if "bubblewrap" in line]
    assert planned == ["numpy for bubblewrap, 1 task", f"{paper_environment(old)} for bubblewrap, 1 task"]


def test_an_environment_that_could_not_be_made_prevents_no_audit(
    copy: Path, real_sandbox: Sandbox, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> str:
        raise SandboxError("no index answers")

    monkeypatch.setattr(building, "_try_box", broken)
    shutil.rmtree(copy / "benchmark" / FOLDERS[1])
    call_command("lmr_bench", str(copy))
    shown = capsys.readouterr()
    assert "FAILED after 0 s: no index answers" in shown.out
    assert "Not every environment could be made. Tasks that need a missing one wait for it." in shown.err
    assert "1 audited: 1 good, 0 weak, 0 failed" in shown.out


def test_a_task_that_fails_its_audit_exits_with_1(
    copy: Path, real_sandbox: Sandbox, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(copy / "benchmark" / FOLDERS[1])
    golden = copy / "benchmark" / FOLDERS[0] / "golden_files/losses_golden.py"
    golden.write_text(golden.read_text().replace("return losses, margin.mean()", "return losses * np.nan, 1 / 0"))
    with pytest.raises(SystemExit) as end:
        call_command("lmr_bench", str(copy))
    assert end.value.code == 1
    printed = lines(capsys)
    assert any(line.startswith("pairlossarrays/1 sealed cannot run numpy not audited") for line in printed)
    assert printed[-1] == "0 of the paper's 28 tasks sealed and audited, and 0 more."


def test_an_invalid_source_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="is neither a folder nor a git address"):
        call_command("lmr_bench", str(tmp_path / "nowhere"))
    with pytest.raises(CommandError, match="Name the data set: make lmr-bench SOURCE="):
        call_command("lmr_bench", "")
    assert not Suite.objects.exists()


def test_a_dry_run_reports_what_is_missing_and_makes_nothing(
    copy: Path, real_sandbox: Sandbox, capsys: pytest.CaptureFixture[str]
) -> None:
    (copy / "benchmark" / FOLDERS[1] / "contrasting-arrays").rename(copy / "elsewhere")
    call_command("import_suite", str(copy), slug="lmr-bench")
    capsys.readouterr()
    call_command("prepare_suite", "lmr-bench", dry_run=True)
    printed = lines(capsys)
    assert printed[0].startswith("numpy for bubblewrap, 1 task: Python with NumPy: 17 MB")
    assert "not runnable: contrastarrays/1: the repository folder 'contrasting-arrays' is missing" in printed
    assert not EnvironmentBuild.objects.exists()


def test_an_environment_that_cannot_be_made_exits_with_1(
    copy: Path, real_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("import_suite", str(copy), slug="lmr-bench")

    def broken(*_: Any) -> str:
        raise SandboxError("no index answers")

    monkeypatch.setattr(building, "_try_box", broken)
    with pytest.raises(SystemExit) as end:
        call_command("prepare_suite", "lmr-bench")
    assert end.value.code == 1
    assert "FAILED after 0 s: no index answers" in lines(capsys)[-3]


def test_an_unknown_suite_is_refused() -> None:
    with pytest.raises(CommandError, match="There is no suite 'nothing'"):
        call_command("prepare_suite", "nothing")


def test_every_shipped_environment_has_its_sizes() -> None:
    facts = environment_facts()
    assert sorted(facts) == SHIPPED.names()
    assert all(0 < each.download_mb < each.disk_mb for each in facts.values())
