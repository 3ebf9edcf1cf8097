"""Create the first account, and set passwords from the command line."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from django.contrib.auth import get_user_model
from django.db import transaction

from submissions.domain.audit import record
from submissions.enums import Verb

if TYPE_CHECKING:
    from submissions.models import User

# Without 0/o, 1/l/i, since people copy passwords by hand. 20 of 31 characters are 99 bits.
ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"


def generated_password() -> str:
    """Return a new random password of five groups of four characters."""
    return "-".join("".join(secrets.choice(ALPHABET) for _ in range(4)) for _ in range(5))


def ensure_maintainer(*, username: str) -> str | None:
    """Create the account ``username`` unless a maintainer can already sign in; return its password, else None.

    A stored password that starts with ``!`` is unusable: the account cannot sign in.
    """
    users = get_user_model().objects
    with transaction.atomic():
        able = users.filter(is_staff=True).exclude(password__startswith="!").exclude(password="")  # noqa: S106
        if able.exists() or users.filter(username=username).exists():
            return None
        password = generated_password()
        user = users.create_user(username=username, password=password, is_staff=True)
        record(verb=Verb.ROLE, subject=user, actor=None, data={"before": None, "after": "maintainer"})
    return password


def set_password(*, user: User, password: str) -> None:
    """Set the account's password as the machine's operator; all its sessions end."""
    with transaction.atomic():
        user.set_password(password)
        user.save(update_fields=["password"])
        record(verb=Verb.PASSWORD, subject=user, actor=None)
