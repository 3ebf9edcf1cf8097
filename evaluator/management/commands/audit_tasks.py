"""``manage.py audit_tasks``: golden passes, stub and trivial answers fail."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from benchmark_tasks.models import Suite
from evaluator.domain.auditing import audit_revision, waiting
from evaluator.sandbox.types import SandboxError

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from benchmark_tasks.models import SeedEpoch, TaskRevision


class Command(BaseCommand):
    """Audit the tasks of the newest suite versions, and store what was found on their pages."""

    help = "Audit tasks that were not audited yet: the golden function passes, the stub and trivial answers fail."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Which suites, and how to print."""
        parser.add_argument("--suite", help="only this suite (its slug)")
        parser.add_argument("--again", action="store_true", help="audit again what was audited before")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        """Audit; ends with exit code 1 when a task fails its audit."""
        suites = Suite.objects.filter(slug=options["suite"]) if options["suite"] else Suite.objects.all()
        if not suites:
            known = ", ".join(Suite.objects.values_list("slug", flat=True)) or "none, import one first"
            msg = f"There is no suite {options['suite']!r}. Known: {known}."
            raise CommandError(msg)
        rows = [
            self._audit(revision, epoch, quiet=options["json"])
            for revision, epoch in waiting(suites, again=options["again"])
        ]
        failed = [row for row in rows if row["reasons"]]
        if options["json"]:
            self.stdout.write(json.dumps({"audited": len(rows), "failed": len(failed), "tasks": rows}))
        else:
            self.stdout.write(f"{len(rows)} audited, {len(failed)} failed")
        if failed:
            raise SystemExit(1)

    def _audit(self, revision: TaskRevision, epoch: SeedEpoch, *, quiet: bool) -> dict[str, Any]:
        try:
            result = audit_revision(revision, epoch)
        except SandboxError as error:
            msg = f"{revision.task.slug} could not be audited: {error}"
            raise CommandError(msg) from None
        if not quiet:
            text = "; ".join(result.reasons) or f"golden passes, stub and {len(result.trivial)} trivial answers fail"
            self.stdout.write(f"{revision.task.suite.slug} {revision.task.slug}: {text}")
        return {"suite": revision.task.suite.slug, "task": revision.task.slug, "reasons": list(result.reasons)}
