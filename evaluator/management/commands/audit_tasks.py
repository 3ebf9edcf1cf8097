"""``manage.py audit_tasks``: does each task's unit test distinguish right answers from wrong ones?"""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError
from django.db import connections

from benchmark_tasks.enums import AuditState
from benchmark_tasks.management.suites import suite_named
from benchmark_tasks.models import Suite, Task
from evaluator.auditing.auditing import measure, note_obstacle, store, waiting
from evaluator.auditing.mutants import fingerprint
from evaluator.sandbox.configuration import configured_sandbox
from evaluator.sandbox.interface import SandboxError
from evaluator.testing.infrastructure_errors import infrastructure_error_of
from submissions.answers.contents import task_named

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Iterator

    from benchmark_tasks.models import SeedEpoch, TaskRevision
    from evaluator.auditing.audit_result import AuditResult

_DIFFS = 2
_WORDS = {
    AuditState.PASSED: "good",
    AuditState.WEAK: "weak",
    AuditState.FAILED: "failed",
    AuditState.INCOMPLETE: "incomplete",
}


class Command(BaseCommand):
    """Audit the tasks of the newest suite versions, and store the findings for their pages."""

    help = "Audit tasks: the reference passes; stub, trivial answers and seeded bugs fail; guessing does not help."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare which tasks, how many at a time, and the output."""
        parser.add_argument("--suite", help="only this suite (its slug)")
        parser.add_argument(
            "--task",
            action="append",
            type=task_named,
            default=[],
            help="only this task (its name, such as dpo/1); may be repeated",
        )
        parser.add_argument("--again", action="store_true", help="also audit tasks that were audited before")
        parser.add_argument(
            "--failed",
            action="store_true",
            help="repeat only audits that failed or stopped at an incomplete environment",
        )
        parser.add_argument("--jobs", type=int, help="how many tasks at a time (default: one per processor)")
        parser.add_argument("--json", action="store_true", help="print one JSON object with all findings")

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        """Audit; exits with 1 when a task failed or lacks an environment. A weak test is only reported."""
        suites = [suite_named(options["suite"])] if options["suite"] else list(Suite.objects.all())
        wanted = options["task"]
        known = set(Task.objects.filter(suite__in=suites, slug__in=wanted).values_list("slug", flat=True))
        if unknown := [task for task in wanted if task not in known]:
            where = ", ".join(sorted(suite.slug for suite in suites))
            raise CommandError(f"There is no task {unknown[0]!r} in {where}.")
        jobs = options["jobs"] if options["jobs"] is not None else len(os.sched_getaffinity(0))
        if jobs < 1:
            raise CommandError(f"--jobs must be at least 1, not {jobs}.")
        rows = []
        errors = []
        tasks = waiting(suites, tasks=wanted, again=options["again"], failed=options["failed"])
        if tasks and not options["json"]:
            many = "1 task" if len(tasks) == 1 else f"{len(tasks)} tasks"
            self._progress(f"{many} to audit, {min(jobs, len(tasks))} at a time.")
        begun = monotonic()
        for done, (revision, found) in enumerate(_audited(tasks, jobs=jobs), start=1):
            if not options["json"]:
                left = (monotonic() - begun) / done * (len(tasks) - done)
                self._progress(f"{done} of {len(tasks)} audited{f', about {left:.0f} s left' if left else ''}")
            if isinstance(found, SandboxError):
                errors.append(f"{revision.task.slug} could not be audited: {found}")
                note_obstacle(infrastructure_error_of(found).public, [revision])
                continue
            result, facts = found
            store(revision, result, facts)
            rows.append(_row(revision))
            if not options["json"]:
                self._report(revision, result, diffs=options["verbosity"] >= _DIFFS)
        self._sum_up(rows, errors, as_json=options["json"])

    def _progress(self, text: str) -> None:
        """Print progress, which ``setup`` shows, too; not in the red that errors have on a terminal."""
        self.stderr.write(text, style_func=str)
        self.stderr.flush()

    def _report(self, revision: TaskRevision, result: AuditResult, *, diffs: bool) -> None:
        mutants = result.mutants
        tried = f"caught {mutants.killed} of {mutants.total} seeded bugs" if mutants else "no bugs were seeded"
        what = "environment incomplete" if result.missing else tried
        state = _WORDS[AuditState(revision.audit_state)]
        self.stdout.write(f"{revision.task.suite.slug:<12} {revision.task.slug:<28} {state:<10} {what}")
        advice = revision.audit.get("add", "")
        for line in (*result.reasons, *filter(None, [advice, result.weakness]), *result.remarks):
            self.stdout.write(f"    {line}")
        for mutant in mutants.survivors if mutants else ():
            self.stdout.write(f"    survives: {mutant.id}  [{fingerprint(mutant.id)}]")
            if diffs:
                self.stdout.write("".join(f"        {line}\n" for line in mutant.diff.splitlines()[2:]))

    def _sum_up(self, rows: list[dict[str, Any]], errors: list[str], *, as_json: bool) -> None:
        counts = {
            state: sum(row["state"] == state for row in rows) for state in ("passed", "weak", "failed", "incomplete")
        }
        if as_json:
            self.stdout.write(json.dumps({"audited": len(rows), **counts, "faults": errors, "tasks": rows}))
        else:
            text = f"{len(rows)} audited: {counts['passed']} good, {counts['weak']} weak, {counts['failed']} failed"
            text += f", {counts['incomplete']} without a complete environment" if counts["incomplete"] else ""
            self.stdout.write(
                text if rows else "Nothing waits for an audit; --failed repeats what failed, --again everything."
            )
        if errors:
            raise CommandError("\n".join(errors))
        if counts["failed"] or counts["incomplete"]:
            raise SystemExit(1)


def _audited(
    tasks: list[tuple[TaskRevision, SeedEpoch]], *, jobs: int
) -> Iterator[tuple[TaskRevision, tuple[AuditResult, dict[str, Any]] | SandboxError]]:
    """Measure the tasks, ``jobs`` at a time, and yield results in order; the caller stores them."""
    if not tasks:
        return
    try:
        # Checked once, before all threads would check at the same time.
        configured_sandbox()
    except SandboxError as error:
        raise CommandError(f"Nothing was audited, because no sandbox is available: {error}") from None
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        yield from zip((revision for revision, _ in tasks), pool.map(_measured, tasks), strict=True)


def _measured(task: tuple[TaskRevision, SeedEpoch]) -> tuple[AuditResult, dict[str, Any]] | SandboxError:
    try:
        return measure(*task)
    except SandboxError as error:
        return error
    finally:
        # Close the connections that this thread opened; Django does not.
        connections.close_all()


def _row(revision: TaskRevision) -> dict[str, Any]:
    return {
        "suite": revision.task.suite.slug,
        "task": revision.task.slug,
        "revision": revision.number,
        "state": revision.audit_state,
        **revision.audit,
    }
