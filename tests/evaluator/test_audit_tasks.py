"""``manage.py audit_tasks``: the shipped tasks tell right from wrong, and a task that does not is found out."""

from __future__ import annotations

import io
import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from django.core.management import CommandError, call_command

from benchmark_tasks.domain.importing import import_suite
from benchmark_tasks.enums import AuditState
from benchmark_tasks.models import TaskRevision
from evaluator.domain import queueing
from evaluator.domain.reconcile import reconcile
from evaluator.jobs import audit_waiting
from tests.benchmark_tasks.factories import CHECK, GOLDEN_1, info, write_suite

if TYPE_CHECKING:
    from pathlib import Path

    from benchmark_tasks.models import SuiteVersion
    from evaluator.sandbox.types import Sandbox

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.bubblewrap]


def audit(*arguments: str) -> dict[str, Any]:
    out = io.StringIO()
    with suppress(SystemExit):
        call_command("audit_tasks", *arguments, "--json", stdout=out)
    result: dict[str, Any] = json.loads(out.getvalue())
    return result


def test_every_shipped_task_passes_its_audit(real_sandbox: Sandbox) -> None:
    call_command("load_catalogue", stdout=io.StringIO())
    result = audit()
    assert (result["audited"], result["failed"]) == (9, 0)
    assert {task["suite"] for task in result["tasks"]} == {"lmr-mini"}
    revision = TaskRevision.objects.get(task__slug="dpo/1", task__suite__slug="lmr-mini")
    assert (revision.audit_state, revision.runnable) == (AuditState.PASSED, True)
    assert revision.audit["golden"]["outcome"] == "passed"
    assert (revision.audit["stub"], revision.audit["reasons"]) == ("raised", [])
    assert len(revision.audit["trivial"]) >= 10
    assert "passed" not in {answer["outcome"] for answer in revision.audit["trivial"]}
    assert audit()["audited"] == 0


def only_the_first_task(tmp_path: Path, **files: str) -> SuiteVersion:
    """A suite of one task, with some of its files replaced."""
    changed = info()
    del changed["implementations"][1]
    folder = write_suite(tmp_path / "suite", info=changed, files=files)
    version = import_suite(folder=folder, slug="small").version
    assert version is not None
    return version


def test_a_test_that_trivial_answers_pass_fails_its_audit(real_sandbox: Sandbox, tmp_path: Path) -> None:
    runner = "from scoring.core import double\n\n\ndef run(case):\n    double(case['x'])\n    return {'value': 1}\n"
    only_the_first_task(tmp_path, **{"unit_test/run_1.py": runner})
    result = audit("--suite", "small")
    assert (result["audited"], result["failed"]) == (1, 1)
    assert "the trivial answer 'none' passes" in result["tasks"][0]["reasons"]
    revision = TaskRevision.objects.get()
    assert (revision.audit_state, revision.runnable) == (AuditState.FAILED, False)


def test_a_golden_function_that_disagrees_with_itself_fails_its_audit(real_sandbox: Sandbox, tmp_path: Path) -> None:
    flaky = GOLDEN_1.replace("math.fsum([x, x])", "math.fsum([x, x]) + __import__('random').random()")
    only_the_first_task(tmp_path, **{"golden_files/core_golden_1.py": flaky})
    (task,) = audit("--suite", "small")["tasks"]
    assert task["reasons"][0].startswith("the golden function does not pass (wrong_output")


def test_a_failed_audit_ends_with_one(real_sandbox: Sandbox, tmp_path: Path) -> None:
    only_the_first_task(tmp_path, **{"golden_files/core_golden_1.py": GOLDEN_1.replace("[x, x]", "[x, x, 1 / 0]")})
    with pytest.raises(CommandError, match=r"alpha/1 could not be audited: .*ZeroDivisionError"):
        call_command("audit_tasks", stdout=io.StringIO())


def test_an_audit_is_repeated_only_when_asked_for(real_sandbox: Sandbox, tmp_path: Path) -> None:
    only_the_first_task(tmp_path)
    assert [audit()["audited"], audit()["audited"], audit("--again")["audited"]] == [1, 0, 1]


def test_what_is_not_runnable_is_not_audited(real_sandbox: Sandbox, tmp_path: Path) -> None:
    only_the_first_task(tmp_path)
    TaskRevision.objects.update(not_runnable_reasons=["no golden file"])
    assert audit()["audited"] == 0


def test_an_import_is_audited_by_the_workers(real_sandbox: Sandbox, tmp_path: Path, redis_url: str) -> None:
    only_the_first_task(tmp_path)
    with queueing.connect() as connection:
        assert [job.func_name for job in queueing.queue(connection).jobs] == ["evaluator.jobs.audit_waiting"]
    audit_waiting()
    assert TaskRevision.objects.get().audit_state == AuditState.PASSED


def test_the_sweep_asks_for_an_audit_that_nobody_heard_of(tmp_path: Path, redis_url: str) -> None:
    only_the_first_task(tmp_path)
    with queueing.connect() as connection:
        connection.flushall()
        reconcile()
        assert queueing.queue(connection).job_ids == ["audit"]
        TaskRevision.objects.update(audit_state=AuditState.PASSED)
        connection.flushall()
        reconcile()
        assert queueing.queue(connection).job_ids == []


def test_an_unknown_suite_is_named(db: None) -> None:
    with pytest.raises(CommandError, match=r"There is no suite 'x'\. Known: none, import one first"):
        call_command("audit_tasks", "--suite", "x")


def test_the_seeds_that_are_used_include_private_ones(real_sandbox: Sandbox, tmp_path: Path) -> None:
    only_the_first_task(tmp_path)
    audit()
    cases_per_seed = 3
    seeds = len(CHECK["public_seeds"]) + CHECK["private_seeds"]
    assert TaskRevision.objects.get().audit["golden"]["cases"] == cases_per_seed * seeds
