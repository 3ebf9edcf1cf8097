"""Create the first account, and set passwords from the command line."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from django.contrib.auth import get_user_model
from django.db import transaction

from submissions.domain.audit import record
from submissions.enums import Verb
from submissions.exceptions import WrongStateError

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from submissions.models import User

# Without 0/o, 1/l/i, since people copy passwords by hand. 20 of 31 characters are 99 bits.
ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"


def generated_password() -> str:
    """Return a new random password of five groups of four characters."""
    return "-".join("".join(secrets.choice(ALPHABET) for _ in range(4)) for _ in range(5))


def ensure_maintainer(*, username: str) -> str | None:
    """Create the account ``username`` unless a maintainer can already sign in; return its password, else None."""
    users = get_user_model().objects
    with transaction.atomic():
        if able_maintainers().exists() or users.filter(username=username).exists():
            return None
        password = generated_password()
        user = users.create_user(username=username, password=password, is_staff=True)
        record(verb=Verb.ROLE, subject=user, actor=None, data={"before": None, "after": "maintainer"})
    return password


def able_maintainers() -> QuerySet[User]:
    """Select the maintainers who can sign in: a stored password that starts with ``!`` is unusable."""
    maintainers: QuerySet[User] = get_user_model().objects.filter(is_staff=True)
    return maintainers.exclude(password__startswith="!").exclude(password="")  # noqa: S106


def set_maintainer(*, user: User, maintains: bool) -> None:
    """Make ``user`` a maintainer, or end that, as the machine's operator.

    Raises ``WrongStateError`` if nothing would change, or no maintainer would be left who can sign in.
    """
    with transaction.atomic():
        able = set(able_maintainers().select_for_update().order_by("pk").values_list("pk", flat=True))
        if user.is_staff == maintains:
            raise WrongStateError(f"{user.username} is {'already' if maintains else 'not'} a maintainer.")
        if not maintains and able <= {user.pk}:
            raise WrongStateError(f"{user.username} is the only maintainer. First make another account one.")
        user.is_staff = maintains
        user.save(update_fields=["is_staff"])
        before, after = (None, "maintainer") if maintains else ("maintainer", None)
        record(verb=Verb.ROLE, subject=user, actor=None, data={"before": before, "after": after})


def set_password(*, user: User, password: str) -> None:
    """Set the account's password as the machine's operator; all its sessions end."""
    with transaction.atomic():
        user.set_password(password)
        user.save(update_fields=["password"])
        record(verb=Verb.PASSWORD, subject=user, actor=None)
