"""The account that the command line acts as."""

from __future__ import annotations

from django.db import transaction

from submissions.domain.audit import record
from submissions.enums import Verb
from submissions.models import User

OPERATOR = "operator"


def local_operator() -> User:
    """Return the machine operator's account: a maintainer without password or quota, created on first use."""
    with transaction.atomic():
        operator, created = User.objects.get_or_create(
            username=OPERATOR, defaults={"is_staff": True, "daily_submissions": 1_000_000}
        )
        if created:
            operator.set_unusable_password()
            operator.save(update_fields=["password"])
            record(verb=Verb.ROLE, subject=operator, actor=None, data={"before": None, "after": "maintainer"})
    return operator
