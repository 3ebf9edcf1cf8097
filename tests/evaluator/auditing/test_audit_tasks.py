"""``manage.py audit_tasks``: shipped tasks distinguish right from wrong answers; tasks that do not are found."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import time
from contextlib import suppress
from dataclasses import replace
from threading import Event, Timer
from typing import TYPE_CHECKING, Any

import pytest
from django.core.management import CommandError, call_command

from benchmark_tasks.domain.bucket import StorageUnavailableError
from benchmark_tasks.domain.content import ContentMissingError
from benchmark_tasks.domain.importing import import_suite
from benchmark_tasks.enums import AuditState
from benchmark_tasks.models import TaskRevision
from evaluator.auditing import auditing, auditor, watching
from evaluator.auditing.auditor import Auditor
from evaluator.enums import RunState
from evaluator.jobs import audit_revision
from evaluator.queue import pushing
from evaluator.sandbox.configuration import EVALUATOR_VERSION
from evaluator.sandbox.interface import RunCancelledError, SandboxError
from evaluator.sweep import reconcile
from tests.benchmark_tasks.factories import CHECK, GOLDEN_1, info, write_suite
from tests.evaluator.factories import QueuedSubmissionFactory, TestRunFactory
from tests.submissions.factories import ImplementationFactory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from benchmark_tasks.models import SuiteVersion
    from evaluator.auditing.audit_result import AuditResult
    from evaluator.sandbox.interface import BoxResult, BoxSpec, Sandbox

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.bubblewrap]


def audit(*arguments: str) -> dict[str, Any]:
    out = io.StringIO()
    with suppress(SystemExit):
        call_command("audit_tasks", *arguments, "--json", stdout=out)
    result: dict[str, Any] = json.loads(out.getvalue())
    return result


@pytest.mark.parametrize(
    ("arguments", "number", "equivalent"),
    [
        pytest.param(["--task", "rope/1"], 1, 2, id="one"),
        pytest.param([], 9, 6, id="all", marks=pytest.mark.attacks),
    ],
)
def test_shipped_tasks_pass_their_audit(
    arguments: list[str], number: int, equivalent: int, real_sandbox: Sandbox
) -> None:
    call_command("load_catalogue", stdout=io.StringIO())
    result = audit(*arguments, "--full")
    assert [result[key] for key in ("audited", "passed", "weak", "failed", "faults")] == [number, number, 0, 0, []]
    for task in result["tasks"]:
        # Every survivor is declared, with a reason; and every declared mutant survives.
        assert (task["suite"], task["reasons"], task["remarks"]) == ("lmr-mini", [], [])
        assert (task["mutants"]["survivors"], task["mutants"]["share"]) == ([], 1.0)
        assert task["mutants"]["killed"] >= 25
        assert task["golden"]["outcomes"] == ["passed", "passed"]
        assert len(task["trivial"]) >= 10
        assert "passed" not in {answer["outcome"] for answer in task["trivial"]}
        assert (task["guessing"]["missing_cases"], task["image_scan"]["copies"]) == (0, [])
        assert max(moved["margin"] for moved in task["margins"]["outputs"]) <= 0.5
    assert sum(len(task["mutants"]["equivalents"]) for task in result["tasks"]) == equivalent
    revision = TaskRevision.objects.get(task__slug="rope/1", task__suite__slug="lmr-mini")
    assert (revision.audit_state, revision.runnable) == (AuditState.PASSED, True)
    assert (revision.audit["stub"], revision.audit["evaluator_version"]) == ("raised", EVALUATOR_VERSION)
    assert revision.audit["environment_digest"] == real_sandbox.environment_digest("numpy")
    tried = [each for task in result["tasks"] for each in task["answers"]]
    assert [(each["right"], each["outcome"] == "passed") for each in tried] == [(True, True), (False, False)] * number
    assert audit(*arguments)["audited"] == 0


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
    reasons = result["tasks"][0]["reasons"]
    assert "the trivial answer 'none' passes" in reasons
    assert reasons[-1] == "guessing passes: all 24 golden outputs are equal; write test cases with different outputs"
    revision = TaskRevision.objects.get()
    assert (revision.audit_state, revision.runnable) == (AuditState.FAILED, False)


def test_a_golden_function_that_disagrees_with_itself_fails_its_audit(real_sandbox: Sandbox, tmp_path: Path) -> None:
    flaky = GOLDEN_1.replace("math.fsum([x, x])", "math.fsum([x, x]) + __import__('random').random()")
    only_the_first_task(tmp_path, **{"golden_files/core_golden_1.py": flaky})
    (task,) = audit("--suite", "small")["tasks"]
    assert task["reasons"][0].startswith("the reference does not pass (wrong_output")
    assert (task["mutants"], task["guessing"]) == (None, None)


BRANCHES = """
    total = 0.0
    for factor in (1.0, 1.0):
        total = total + factor * x
    return total - 0.0  # golden-double
"""
ONLY_THE_SIGN = (
    "from scoring.core import double\n\n\ndef run(case):\n    found = double(case['x'])\n"
    "    return {'value': 'positive' if found > 0 else 'other', 'is_float': isinstance(found, float)}\n"
)


def weak_task(tmp_path: Path, equivalent: list[dict[str, str]] | None = None) -> SuiteVersion:
    """A suite of one task whose test looks at the sign alone."""
    golden = GOLDEN_1.replace("\n    return math.fsum([x, x])  # golden-double\n", BRANCHES)
    check = {**CHECK, "private_seeds": 12, "equivalent_mutants": equivalent or []}
    files = {"golden_files/core_golden_1.py": golden, "unit_test/run_1.py": ONLY_THE_SIGN}
    changed = info(task={"check": check})
    del changed["implementations"][1]
    version = import_suite(folder=write_suite(tmp_path / "suite", info=changed, files=files), slug="small").version
    assert version is not None
    return version


def test_a_test_that_misses_most_mutants_is_weak(real_sandbox: Sandbox, tmp_path: Path) -> None:
    weak_task(tmp_path)
    out = io.StringIO()
    call_command("audit_tasks", "-v", "2", stdout=out)
    revision = TaskRevision.objects.get()
    assert (revision.audit_state, revision.runnable, revision.audit["reasons"]) == (AuditState.WEAK, True, [])
    mutants = revision.audit["mutants"]
    assert mutants["share"] < 0.8
    assert revision.audit["weakness"] == (
        f"weak test: it caught only {mutants['killed']} of {mutants['total']} seeded bugs "
        f"({int(mutants['share'] * 100)} %), 80 % are wanted"
    )
    text = out.getvalue()
    assert "1 audited: 0 good, 1 weak, 0 failed" in text
    assert "survives: line 4: `for factor in (1.0, 1.0)` -> `only its first round`" in text
    assert "        -    return total - 0.0\n        +    return total + 0.0\n" in text


@pytest.mark.parametrize(
    "name", ["line 6: `total - 0.0` -> `total + 0.0`", "line 6: c7b00a218083"], ids=["id", "short"]
)
def test_equivalent_mutants_are_not_counted_and_wrong_declarations_are_reported(
    name: str, real_sandbox: Sandbox, tmp_path: Path
) -> None:
    weak_task(
        tmp_path,
        [
            {"mutant": name, "reason": "Nothing is added."},
            {"mutant": "line 6: `return total - 0.0` -> `return None`", "reason": "Not so."},
            {"mutant": "line 99: `a` -> `b`", "reason": "A slip."},
        ],
    )
    (task,) = audit()["tasks"]
    mutants = task["mutants"]
    assert [(each["id"], each["reason"]) for each in mutants["equivalents"]] == [
        ("line 6: `total - 0.0` -> `total + 0.0`", "Nothing is added.")
    ]
    assert mutants["refuted"] == ["line 6: `return total - 0.0` -> `return None`"]
    assert mutants["unknown"] == ["line 99: `a` -> `b`"]
    assert mutants["made"] == mutants["total"] + 2
    assert len(task["remarks"]) == 2
    # A correction of the declarations makes the task wait for an audit again.
    assert auditing.waiting() == []
    TaskRevision.objects.update(
        equivalent_mutants=[{"mutant": mutants["equivalents"][0]["id"], "reason": "As before."}]
    )
    assert len(auditing.waiting()) == 1


def test_only_a_sample_is_tried_where_there_are_many(real_sandbox: Sandbox, tmp_path: Path, settings: Any) -> None:
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, audit_mutants=3)
    weak_task(tmp_path)
    mutants = audit()["tasks"][0]["mutants"]
    assert (mutants["total"], mutants["made"] > 10) == (3, True)


def test_an_infrastructure_error_is_tried_again_and_never_counts_as_a_kill(
    real_sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only_the_first_task(tmp_path)
    run = type(real_sandbox).run
    tried: list[str] = []

    def run_badly(self: Sandbox, spec: BoxSpec, **options: Any) -> BoxResult:
        # Every second box of stub, trivial answers and mutants is lost.
        tried.extend([spec.label] if spec.label.endswith("-variants") else [])
        if spec.label.endswith("-variants") and len(tried) % 2:
            raise SandboxError("the host failed")
        return run(self, spec, **options)

    monkeypatch.setattr(type(real_sandbox), "run", run_badly)
    (task,) = audit("--jobs", "1")["tasks"]
    assert (task["state"], task["mutants"]["killed"]) == ("passed", 1)
    monkeypatch.setattr(
        type(real_sandbox), "run", lambda *_, **__: (_ for _ in ()).throw(SandboxError("gone for good"))
    )
    with pytest.raises(CommandError, match="alpha/1 could not be audited: gone for good"):
        call_command("audit_tasks", "--again", stdout=io.StringIO())
    assert TaskRevision.objects.get().audit_state == AuditState.PASSED


def test_lost_content_is_to_be_imported_again(
    real_sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only_the_first_task(tmp_path)

    def without_content(_: Auditor) -> AuditResult:
        raise ContentMissingError("The files of alpha are gone.")

    monkeypatch.setattr(Auditor, "audit", without_content)
    progress = io.StringIO()
    with pytest.raises(CommandError, match=r"alpha/1 could not be audited: .*gone\. Import the suite again\."):
        call_command("audit_tasks", stdout=io.StringIO(), stderr=progress)
    assert progress.getvalue().splitlines() == ["1 task to audit, 1 at a time", "1 of 1 audited"]


class TestWatching:
    """Two tasks at a time: the second one is quick, and the first one waits until the test lets it end."""

    @pytest.fixture(autouse=True)
    def python_s_own_reaction_to_ctrl_c(self) -> Iterator[None]:
        """Workers of other tests in this process leave their own."""
        earlier = signal.signal(signal.SIGINT, signal.default_int_handler)
        yield
        signal.signal(signal.SIGINT, earlier)

    @pytest.fixture
    def slow(self, real_sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Event:
        import_suite(folder=write_suite(tmp_path / "suite"), slug="small")
        audit_of, released = Auditor.audit, Event()

        def audit(self: Auditor) -> AuditResult:
            if self.grader.revision.task.index == 1:
                while not released.wait(0.05):
                    if self.grader.cancelled():
                        raise RunCancelledError
            return audit_of(self)

        monkeypatch.setattr(Auditor, "audit", audit)
        return released

    def test_results_are_stored_and_printed_as_they_come(self, slow: Event, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(watching, "_EVERY", 0.2)
        printed = Printed(lambda text: slow.set() if text.startswith("now alpha/1 (0:") and stored() else None)

        def stored() -> bool:
            return TaskRevision.objects.get(task__index=2).audit_state == AuditState.PASSED

        call_command("audit_tasks", "--jobs", "2", stdout=printed, stderr=printed)
        lines = [re.sub(r"(?:, about \d+ s left)?$", "", re.sub(r" +", " ", line)) for line in printed.lines]
        lines = [re.sub(r"\d+:\d\d", "N", line) for line in lines]
        assert "now alpha/1 (N)" in lines
        assert [line for line in lines if not line.startswith(("now ", " survives: "))] == [
            "2 tasks to audit, 2 at a time",
            "small alpha/2 good caught 4 of 5 seeded bugs",
            "1 of 2 audited; now alpha/1 (N)",
            "small alpha/1 good caught 1 of 1 seeded bugs",
            "2 of 2 audited",
            "2 audited: 2 good, 0 weak, 0 failed",
        ]

    def test_ctrl_c_keeps_what_was_measured_and_says_how_to_go_on(
        self, slow: Event, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def interrupt(text: str) -> None:
            if text.startswith("1 of 2 audited"):
                signal.raise_signal(signal.SIGINT)

        with pytest.raises(CommandError) as stopped:
            call_command("audit_tasks", "--jobs", "2", stdout=Printed(interrupt), stderr=Printed(interrupt))
        assert str(stopped.value) == "Stopped; 1 audit is stored. The same command goes on with the others."
        assert stopped.value.returncode == 130
        assert [each.task.slug for each, _ in auditing.waiting()] == ["alpha/1"]
        slow.set()
        call_command("audit_tasks", stdout=io.StringIO(), stderr=io.StringIO())
        assert auditing.waiting() == []

    def test_ctrl_c_stops_a_box_that_runs(self, real_sandbox: Sandbox, tmp_path: Path) -> None:
        endless = GOLDEN_1.replace("math.fsum([x, x])", "sum(iter(int, 1))")
        only_the_first_task(tmp_path, **{"golden_files/core_golden_1.py": endless})
        timer = Timer(3.0, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        begun = time.monotonic()
        with pytest.raises(CommandError, match=r"^Stopped; 0 audits are stored\. .* without --again"):
            call_command("audit_tasks", "--again", stdout=io.StringIO(), stderr=io.StringIO())
        timer.join()
        # Its box may run for a minute.
        assert time.monotonic() - begun < 30
        assert real_sandbox.reap(keep=lambda _: False) == 0


class Printed(io.StringIO):
    """Collects the lines that are printed, and calls ``seen`` with each."""

    def __init__(self, seen: Callable[[str], object]) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._seen = seen

    def write(self, text: str) -> int:
        for line in text.splitlines():
            self.lines.append(line)
            self._seen(line)
        return len(text)


def test_only_the_requested_tasks_are_audited(real_sandbox: Sandbox, tmp_path: Path) -> None:
    import_suite(folder=write_suite(tmp_path / "suite"), slug="small")
    assert [task["task"] for task in audit("--task", "02-ALPHA/2")["tasks"]] == ["alpha/2"]
    both = ("--task", "alpha/2", "--task", "alpha/1", "--again")
    assert sorted(task["task"] for task in audit(*both)["tasks"]) == ["alpha/1", "alpha/2"]
    with pytest.raises(CommandError, match=r"There is no task 'alpha/9' in small\."):
        call_command("audit_tasks", "--task", "alpha/9", "--task", "alpha/1", "--suite", "small")
    with pytest.raises(CommandError, match="--jobs must be at least 1, not 0"):
        call_command("audit_tasks", "--jobs", "0")


def test_an_audit_that_cannot_be_made_is_a_command_error(real_sandbox: Sandbox, tmp_path: Path) -> None:
    only_the_first_task(tmp_path, **{"golden_files/core_golden_1.py": GOLDEN_1.replace("[x, x]", "[x, x, 1 / 0]")})
    with pytest.raises(CommandError, match=r"alpha/1 could not be audited: .*ZeroDivisionError"):
        call_command("audit_tasks", stdout=io.StringIO(), stderr=io.StringIO())
    assert TaskRevision.objects.get().audit["obstacle"] == "the task's reference could not be run"


def test_an_import_is_audited_by_the_workers(real_sandbox: Sandbox, tmp_path: Path, redis_url: str) -> None:
    only_the_first_task(tmp_path)
    with pushing.opened(pushing.AUDITS) as queue:
        (job,) = queue.jobs
    revision = TaskRevision.objects.get()
    assert (job.func_name, job.args, job.id) == ("evaluator.jobs.audit_revision", [revision.pk], f"audit-{revision.pk}")
    audit_revision(revision.pk)
    revision.refresh_from_db()
    assert revision.audit_state == AuditState.PASSED
    # Private seeds are used, too.
    assert revision.audit["golden"]["cases"] == 3 * (len(CHECK["public_seeds"]) + CHECK["private_seeds"])
    # A job that is repeated or late does nothing.
    TaskRevision.objects.update(audit={})
    audit_revision(revision.pk)
    assert TaskRevision.objects.get().audit == {}


def test_an_audit_runs_no_submitted_answers(real_sandbox: Sandbox, tmp_path: Path, redis_url: str) -> None:
    only_the_first_task(tmp_path)
    revision = TaskRevision.objects.get()
    run = TestRunFactory(
        implementation=ImplementationFactory(
            submission=QueuedSubmissionFactory(suite_version=revision.suite_versions.get(), answers=False),
            revision=revision,
            files={"scoring/core.py": GOLDEN_1},
        )
    )
    audit_revision(revision.pk)
    run.refresh_from_db()
    revision.refresh_from_db()
    assert (run.state, revision.audit_state) == (RunState.QUEUED, AuditState.PASSED)


def test_an_audit_that_could_not_be_made_waits_for_the_next_sweep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only_the_first_task(tmp_path)
    monkeypatch.setattr(auditor, "configured_sandbox", lambda: (_ for _ in ()).throw(SandboxError("gone")))
    audit_revision(TaskRevision.objects.get().pk)
    revision = TaskRevision.objects.get()
    assert (revision.audit_state, revision.audit) == (AuditState.UNAUDITED, {"obstacle": "an error of the evaluator"})
    assert revision.why_left_out == "not audited: an error of the evaluator"
    auditing.note_obstacle("", [revision])
    assert TaskRevision.objects.get().audit == {}


def test_an_audit_waits_while_the_storage_does_not_answer(
    real_sandbox: Sandbox, tmp_path: Path, storage_away: Callable[[], AbstractContextManager[None]]
) -> None:
    import_suite(folder=write_suite(tmp_path / "suite"), slug="small")
    revision = TaskRevision.objects.order_by("pk")[0]
    with storage_away(), pytest.raises(StorageUnavailableError):
        auditing.audit_waiting_revision(revision.pk)
    revision.refresh_from_db()
    assert (revision.audit_state, revision.audit["obstacle"]) == ("unaudited", "the file storage did not answer")


def test_the_sweep_enqueues_an_audit_whose_job_was_lost(tmp_path: Path, redis_url: str) -> None:
    only_the_first_task(tmp_path)
    with pushing.opened(pushing.AUDITS) as queue:
        queue.connection.flushall()
        reconcile()
        assert queue.job_ids == [f"audit-{TaskRevision.objects.get().pk}"]
        TaskRevision.objects.update(audit_state=AuditState.PASSED)
        queue.connection.flushall()
        reconcile()
        assert queue.job_ids == []


def test_an_unknown_suite_is_named(db: None) -> None:
    with pytest.raises(CommandError, match=r"There is no suite 'x'\. Known: none; run manage\.py load_catalogue first"):
        call_command("audit_tasks", "--suite", "x")
