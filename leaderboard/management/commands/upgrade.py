"""``manage.py upgrade``: check what new code does to this instance, then prepare it; or roll back to a release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.management import BaseCommand, CommandError, call_command

from leaderboard.doctor.findings import State, publishable
from leaderboard.doctor.services import missing_sqlite_file
from leaderboard.management.errors import require_typed, require_whole_database
from leaderboard.supervision import SupervisionError
from leaderboard.supervision.data_folder import only_instance
from leaderboard.upgrading import checks
from leaderboard.upgrading.database import Database, UpgradeError, release_named

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Iterable

    from leaderboard.doctor.findings import Finding


class Command(BaseCommand):
    """Print what happens, refuse what must not happen, and otherwise do it."""

    help = "Prepare this instance for this code, after a check; with --to, roll its database back to a release."
    # They load every page's code, which may need columns that are not there yet.
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument(
            "--check", action="store_true", help="only report what would happen; ends with 1 if it must not"
        )
        parser.add_argument("--to", metavar="VERSION", help="roll the database back to this older release")
        parser.add_argument("--yes", action="store_true", help="roll back without confirmation")
        parser.add_argument(
            "--no-audit", action="store_true", help="leave the audit of tasks to the workers, as serve does"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        """Act on the options. Raises ``CommandError`` if something forbids it."""
        try:
            if options["to"]:
                self._roll_back(options["to"], check=options["check"], confirmed=options["yes"])
                return
            if missing := missing_sqlite_file():
                self.stdout.write(f"There is no database {missing} yet: nothing to upgrade.")
            else:
                require_whole_database()
                self._report(checks.before_upgrade(Database()))
        except (UpgradeError, SupervisionError) as error:
            raise CommandError(str(error)) from None
        if not options["check"]:
            call_command("setup", no_audit=options["no_audit"], verbosity=options["verbosity"])

    def _roll_back(self, version: str, *, check: bool, confirmed: bool) -> None:
        release = release_named(version)
        if missing := missing_sqlite_file():
            raise UpgradeError(f"There is no database {missing}.")
        require_whole_database()
        database = Database()
        self._report(checks.before_rollback(database, release))
        if check:
            return
        if not confirmed:
            prompt = "What these lines drop is lost. Type yes to roll back: "
            require_typed("yes", prompt=prompt, refusal="Nothing was changed.")
        with only_instance(settings.DATA_DIR):
            database.roll_back(release, self.stdout.write)
        self.stdout.write(f"The database is that of {version}. Start the code of {version} now, not this one.")

    def _report(self, findings: Iterable[Finding]) -> None:
        """Print the findings as they come. Raises ``CommandError`` if one is a failure."""
        stops = False
        for finding in map(publishable, findings):
            self.stdout.write(f"{finding.state:<8} {finding.name:<13} {finding.found}")
            if finding.todo:
                self.stdout.write(f"{'':9}{finding.todo}")
            stops |= finding.state is State.FAILED
        if stops:
            msg = "Nothing was changed: see the lines with FAILED."
            raise CommandError(msg)
