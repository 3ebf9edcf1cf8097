"""``manage.py password``: set an account's password (``make password``)."""

from __future__ import annotations

import sys
from getpass import getpass
from typing import TYPE_CHECKING, Any

from django.contrib.auth import get_user_model
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management import BaseCommand, CommandError

from submissions.domain.maintainers import generated_password, set_password

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from submissions.models import User


def account_named(username: str) -> User:
    """Return an account. Raises CommandError, which names the maintainers, if there is none."""
    users = get_user_model().objects
    user = users.filter(username=username).first()
    if user is None:
        maintainers = ", ".join(users.filter(is_staff=True).order_by("username").values_list("username", flat=True))
        msg = f"There is no account named {username!r}. Maintainers: {maintainers or 'none; make setup creates one'}."
        raise CommandError(msg)
    return user


class Command(BaseCommand):
    """Set a new password, typed or generated."""

    help = "Set an account's password. This ends all its sessions."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username", metavar="USER")
        parser.add_argument("--generate", action="store_true", help="generate a password and print it")

    def handle(self, *_args: Any, **options: Any) -> None:
        user = account_named(options["username"])
        password = generated_password() if options["generate"] else self._typed_password(user)
        set_password(user=user, password=password)
        if options["generate"]:
            self.stdout.write(f"The new password of {user.username}:\n\n    {password}\n")
        else:
            self.stdout.write(f"{user.username} has a new password.")

    @staticmethod
    def _typed_password(user: User) -> str:
        if not sys.stdin.isatty():
            msg = "There is no terminal to type a password. Use --generate."
            raise CommandError(msg)
        password = getpass("New password: ")
        if getpass("Again: ") != password:
            msg = "The passwords differ. Nothing was changed."
            raise CommandError(msg)
        try:
            validate_password(password, user)
        except ValidationError as error:
            msg = "Nothing was changed. " + " ".join(error.messages)
            raise CommandError(msg) from None
        return password
