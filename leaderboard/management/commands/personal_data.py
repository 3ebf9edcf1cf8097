"""``manage.py personal_data``: export what the instance keeps of one person, or erase the account."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from leaderboard.backup.person import export
from leaderboard.management.commands.password import account_named
from leaderboard.management.errors import require_typed
from submissions.domain.erasure import erase
from submissions.exceptions import SubmissionError

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Command(BaseCommand):
    """Answer a person's request for their data, or for its deletion."""

    help = (
        "Export what is kept of one person as a zip, or erase the account; submissions and labels stay, without a name."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the account, and what to do."""
        parser.add_argument("username", metavar="USER")
        act = parser.add_mutually_exclusive_group(required=True)
        act.add_argument("--export", type=Path, metavar="FILE", help="write a new zip")
        act.add_argument("--erase", action="store_true", help="erase the account")
        parser.add_argument("--yes", action="store_true", help="erase without confirmation")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Act. Raises CommandError for an unknown account, an existing file, and accounts that must stay."""
        user = account_named(options["username"])
        if options["export"]:
            try:
                with options["export"].open("xb") as file:
                    rows = export(user, file)
            except OSError as error:
                msg = f"{options['export']} could not be written: {error.strerror}. Name a new file."
                raise CommandError(msg) from None
            self.stdout.write(f"{options['export']}: {rows} rows.")
            return
        if not options["yes"]:
            self._confirm(user.username)
        try:
            erase(user=user, actor=None)
        except SubmissionError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"The account is erased. Its submissions and labels are those of {user.username} now.")

    def _confirm(self, username: str) -> None:
        self.stdout.write(f"This erases the account {username} for good. Older backups still have it.")
        require_typed(username, prompt="Type the account's name to continue: ", refusal="Nothing was erased.")
