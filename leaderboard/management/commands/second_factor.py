"""``manage.py second_factor``: show an account's second factors, or remove them after a loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core.management import BaseCommand, CommandError

from leaderboard.management.commands.password import account_named
from submissions.domain import second_factor
from submissions.exceptions import WrongStateError

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Command(BaseCommand):
    """Help a person who has lost the phone or the key. An audit event records the removal."""

    help = "Show an account's second factors, or remove them with --remove. First make sure who asks for it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username", metavar="USER")
        parser.add_argument("--remove", action="store_true", help="remove all factors and recovery codes")

    def handle(self, *_args: Any, **options: Any) -> None:
        user = account_named(options["username"])
        if not options["remove"]:
            self.stdout.write(f"{user.username}: {', '.join(second_factor.kinds(user)) or 'no second factor'}.")
            return
        try:
            second_factor.remove(user=user, actor=None)
        except WrongStateError as error:
            raise CommandError(str(error)) from None
        role = second_factor.required_as(user)
        then = f" As one of the {role}, the account opens nothing until it has a new one." if role else ""
        self.stdout.write(f"{user.username} has no second factor now, and signs in without one.{then}")
