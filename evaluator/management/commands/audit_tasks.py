"""``manage.py audit_tasks``: does each task's unit test distinguish right answers from wrong ones?"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

from django.core.management.base import BaseCommand, CommandError

from benchmark_tasks.enums import AuditState
from benchmark_tasks.management.suites import suite_named
from benchmark_tasks.models import Suite, Task
from evaluator.auditing.auditing import note_obstacle, store, take_over, waiting
from evaluator.auditing.mutants import fingerprint
from evaluator.auditing.released import why_not_taken_over
from evaluator.auditing.watching import AuditRound
from evaluator.management.shared import INTERRUPTED
from evaluator.sandbox.configuration import configured_sandbox
from evaluator.sandbox.interface import SandboxError
from evaluator.testing.infrastructure_errors import infrastructure_error_of
from submissions.answers.contents import task_named

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from benchmark_tasks.models import SeedEpoch, TaskRevision
    from evaluator.auditing.audit_result import AuditResult

_DIFFS: Final = 2
_MINUTES: Final = 90
"""Longer times are given in minutes."""
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
        parser.add_argument(
            "--full", action="store_true", help="also audit tasks whose audit was taken over from the release"
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
        quiet = options["json"]
        chosen = {name: options[name] for name in ("again", "failed", "full")}
        tasks = waiting(suites, tasks=wanted, **chosen)
        rows = []
        if tasks:
            _require_sandbox()
            if not any(chosen.values()):
                taken = [revision for revision, _ in tasks if take_over(revision)]
                rows = [_row(revision) for revision in taken]
                tasks = [task for task in tasks if task[0] not in taken]
                if not quiet:
                    self._report_taken_over(taken, tasks)
        errors: list[str] = []
        try:
            self._audit(AuditRound(tasks, jobs=jobs), rows, errors, verbosity=0 if quiet else options["verbosity"])
        except KeyboardInterrupt:
            raise CommandError(_stopped(len(rows), again=options["again"]), returncode=INTERRUPTED) from None
        self._sum_up(rows, errors, as_json=quiet)

    def _audit(self, begun: AuditRound, rows: list[dict[str, Any]], errors: list[str], *, verbosity: int) -> None:
        """Audit; store and report each result as soon as it is there. At ``verbosity`` 0 nothing is printed."""

        def tell(text: str) -> None:
            if verbosity:
                self._progress(f"{text}{_left(begun)}")

        number = len(begun.tasks)
        if begun.tasks:
            tell(f"{number} task{'s' if number > 1 else ''} to audit, {begun.jobs} at a time")
        for done, (revision, found) in enumerate(begun.results(lambda: tell(f"now {begun.running()}")), start=1):
            if isinstance(found, SandboxError):
                errors.append(f"{revision.task.slug} could not be audited: {found}")
                note_obstacle(infrastructure_error_of(found).public, [revision])
            else:
                store(revision, *found)
                rows.append(_row(revision))
                if verbosity:
                    self._report(revision, found[0], diffs=verbosity >= _DIFFS)
            now = begun.running()
            tell(f"{done} of {number} audited{f'; now {now}' if now else ''}")

    def _report_taken_over(self, taken: list[TaskRevision], others: list[tuple[TaskRevision, SeedEpoch]]) -> None:
        """Name the tasks whose audits were taken over, and say what differs for those that a release covers, too."""
        if taken:
            slugs = ", ".join(revision.task.slug for revision in taken)
            self.stdout.write(f"{len(taken)} taken over from the release (--full measures them here): {slugs}")
        differing: dict[str, list[str]] = defaultdict(list)
        for revision, _ in others:
            if why := why_not_taken_over(revision):
                differing[why].append(revision.task.slug)
        for why, named in differing.items():
            self.stdout.write(f"{len(named)} not taken over, since they differ in {why}: {', '.join(named)}")

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


def _require_sandbox() -> None:
    """Check once that a sandbox works, before all threads would check at the same time."""
    try:
        configured_sandbox()
    except SandboxError as error:
        raise CommandError(f"Nothing was audited, because no sandbox is available: {error}") from None


def _stopped(audited: int, *, again: bool) -> str:
    kept = "1 audit is" if audited == 1 else f"{audited} audits are"
    how = "without --again goes" if again else "goes"
    return f"Stopped; {kept} stored. The same command {how} on with the others."


def _left(begun: AuditRound) -> str:
    seconds = begun.seconds_left()
    if not seconds:
        return ""
    return f", about {seconds / 60:.0f} min left" if seconds >= _MINUTES else f", about {seconds:.0f} s left"


def _row(revision: TaskRevision) -> dict[str, Any]:
    return {
        "suite": revision.task.suite.slug,
        "task": revision.task.slug,
        "revision": revision.number,
        "state": revision.audit_state,
        **revision.audit,
    }
