"""``manage.py lmr_bench SOURCE``: import LMR-BENCH's own tasks from an operator's copy, up to audited sealed tests."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from benchmark_tasks.domain.facts_suite import FACTS_SUITE
from benchmark_tasks.domain.queries import revisions_of
from benchmark_tasks.domain.sources import SourceUnavailableError, suite_source
from benchmark_tasks.enums import AuditState, Protocol
from benchmark_tasks.facts.lmr_bench import lmr_bench
from benchmark_tasks.management.suites import newest_version
from benchmark_tasks.management.tables import aligned
from evaluator.auditing.audit_result import judged_rightly, percent
from evaluator.management.shared import INTERRUPTED

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Iterable

    from benchmark_tasks.models import TaskRevision

_HEAD = ("task", "test", "upstream's test", "environment", "audit", "right answers", "wrong answers", "seconds")


class Command(BaseCommand):
    """Import, build and audit. Steps may be repeated: finished work is not done again."""

    help = "Import LMR-BENCH's data set with our sealed tests, make its environments, audit its tasks, print a table."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare where the data set is, and how much to do."""
        parser.add_argument(
            "source",
            help="the folder of upstream's repository, its benchmark/, its unzipped datasets, or a git address",
        )
        parser.add_argument("--jobs", type=int, help="how many tasks to audit at a time (default: one per processor)")
        parser.add_argument("--again", action="store_true", help="also audit tasks that were audited before")
        parser.add_argument(
            "--full", action="store_true", help="take no audit over from the release: measure all of them here"
        )

    def handle(self, *args: Any, source: str, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        """Run all steps; exits with 1 unless every runnable task passed its audit."""
        if not source:
            raise CommandError("Name the data set: make lmr-bench SOURCE=FOLDER-OR-GIT-ADDRESS")
        keep = Path(settings.DATA_DIR) / "sources" / FACTS_SUITE
        try:
            folder = suite_source(source, folder=Path(source).expanduser(), keep=keep)
        except SourceUnavailableError as error:
            raise CommandError(str(error)) from None
        # The steps print their progress; log events in between would hide it.
        logging.disable(logging.INFO if options["verbosity"] <= 1 else logging.NOTSET)
        try:
            self._take_steps(folder, **{name: options[name] for name in ("again", "full", "jobs")})
        finally:
            logging.disable(logging.NOTSET)
        self._report()

    def _take_steps(self, folder: Path, **options: Any) -> None:
        self._step("Import", "import_suite", str(folder), slug=FACTS_SUITE)
        try:
            self._step("Environments", "prepare_suite", FACTS_SUITE)
        except SystemExit:
            self.stderr.write("Not every environment could be made. Tasks that need a missing one wait for it.")
        try:
            self._step("Audit", "audit_tasks", suite=FACTS_SUITE, **options)
        except CommandError as error:
            if error.returncode == INTERRUPTED:
                raise
            self.stderr.write(str(error))
        except SystemExit:
            self.stderr.write("Failures are in the table.")

    def _report(self) -> None:
        revisions = list(revisions_of(newest_version(FACTS_SUITE)))
        self.stdout.write(aligned([_HEAD, *map(_row, revisions)]))
        known = lmr_bench().task_slugs
        good = [revision.task.slug for revision in revisions if _is_sealed_and_audited(revision)]
        self.stdout.write(
            f"{len(known & set(good))} of the paper's {len(known)} tasks sealed and audited, "
            f"and {len(set(good) - known)} more."
        )
        if any(revision.runnable and revision.audit_state != AuditState.PASSED for revision in revisions):
            raise SystemExit(1)

    def _step(self, title: str, command: str, *args: str, **options: Any) -> None:
        self.stdout.write(self.style.MIGRATE_HEADING(title))
        self.stdout.flush()
        call_command(command, *args, **options)


def _is_sealed_and_audited(revision: TaskRevision) -> bool:
    return revision.protocol == Protocol.SEALED and not revision.why_left_out


def _row(revision: TaskRevision) -> tuple[str, ...]:
    """Return a task's row. Seconds are those of the whole audit, in which the reference answers some hundred cases."""
    if revision.not_runnable_reasons:
        return (revision.task.slug, "", "", "", f"not runnable: {revision.not_runnable_reasons[0]}", "", "", "")
    audit = revision.audit
    mutants = audit.get("mutants")
    caught = f", {percent(mutants['share'])} of {mutants['total']} seeded bugs caught" if mutants else ""
    return (
        revision.task.slug,
        "sealed" if revision.protocol == Protocol.SEALED else "upstream's",
        _upstream(revision),
        revision.environment or audit.get("environment", ""),
        f"{AuditState(revision.audit_state).label}{caught}",
        *(_known(audit.get("answers", ()), right=right) for right in (True, False)),
        "taken over" if "taken_over" in audit else f"{audit['seconds']:.0f}" if "seconds" in audit else "",
    )


def _known(answers: Iterable[dict[str, Any]], *, right: bool) -> str:
    """Return how many of the right answers pass, or of the wrong ones fail; empty if none were tried."""
    judged, total = judged_rightly(answers, right=right)
    return f"{judged} of {total} {'pass' if right else 'fail'}" if total else ""


def _upstream(revision: TaskRevision) -> str:
    if not revision.overlay:
        return ""
    trial = revision.audit.get("upstream")
    if revision.overlay["upstream_reasons"] or not trial:
        return "cannot run"
    return "also run, in-process" if trial["runs"] else "reference fails it"
