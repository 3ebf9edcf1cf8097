"""The account in whose name the command line acts."""

from __future__ import annotations

from submissions.models import User

OPERATOR = "operator"


def local_operator() -> User:
    """Whoever sits at the machine: a maintainer without a password, made on first use, without a quota."""
    operator, created = User.objects.get_or_create(
        username=OPERATOR, defaults={"is_staff": True, "daily_submissions": 1_000_000}
    )
    if created:
        operator.set_unusable_password()
        operator.save(update_fields=["password"])
    return operator
