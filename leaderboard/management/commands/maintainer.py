"""``manage.py maintainer``: make an account a maintainer's, or end that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core.management import BaseCommand, CommandError

from leaderboard.management.commands.password import account_named
from submissions.domain.maintainers import set_maintainer
from submissions.exceptions import WrongStateError

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Command(BaseCommand):
    """Change who maintains the site. An audit event records it."""

    help = "Make an account a maintainer's, or end that with --end."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username", metavar="USER")
        parser.add_argument("--end", action="store_true", help="end the account's role as maintainer")

    def handle(self, *_args: Any, **options: Any) -> None:
        user, maintains = account_named(options["username"]), not options["end"]
        try:
            set_maintainer(user=user, maintains=maintains)
        except WrongStateError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"{user.username} is {'now' if maintains else 'no longer'} a maintainer.")
