"""How much one person may submit on one day (UTC), and how often an hour have files checked."""

from __future__ import annotations

from datetime import UTC, datetime, time
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from submissions.domain import rate_limits
from submissions.domain.audit import record
from submissions.enums import SubmissionState, Verb
from submissions.exceptions import NotAllowedError, QuotaExceededError
from submissions.models import Submission, User

if TYPE_CHECKING:
    from django.db.models import QuerySet

CHECKS_AN_HOUR = 60
"""How often one person may have a file checked; as often as they may submit a day, if that is more."""


def limit(user: User) -> int:
    """How many submissions ``user`` may make a day."""
    if user.daily_submissions is not None:
        return user.daily_submissions
    return int(settings.ENVIRONMENT.daily_submissions)


def used_today(user: User) -> int:
    """Submissions since midnight UTC. Cancelled ones are given back, and those that an infrastructure error holds."""
    given_back = [SubmissionState.CANCELLED, SubmissionState.HELD]
    return _today(user).exclude(state__in=given_back).count()


def cancelled_today(user: User) -> int:
    """Submissions since midnight UTC that were cancelled when workers had begun with them."""
    return _today(user).filter(cancelled_after_start=True).count()


def cancel_limit(user: User) -> int:
    """How many of those there may be a day: cancelling gives the quota back, but not what the workers did."""
    return max(int(settings.ENVIRONMENT.daily_cancelled), user.daily_submissions or 0)


def _today(user: User) -> QuerySet[Submission]:
    midnight = datetime.combine(timezone.now().astimezone(UTC).date(), time.min, tzinfo=UTC)
    return Submission.objects.filter(owner=user, created__gte=midnight)


def remaining(user: User) -> int:
    """How many submissions ``user`` has left today."""
    return max(0, limit(user) - used_today(user))


def require(user: User) -> None:
    """Raise :class:`QuotaExceededError` when nothing is left. Call it inside the transaction that submits."""
    # The row lock makes two uploads at the same moment count one after the other (SQLite is in IMMEDIATE mode anyway).
    User.objects.select_for_update().get(pk=user.pk)
    used, most = used_today(user), limit(user)
    if used >= most:
        sent = "1 submission" if used == 1 else f"{used} submissions"
        msg = (
            f"You have sent {sent} today (UTC); your limit is {most}. The quota is renewed at midnight; "
            "cancelled and held submissions do not count. A maintainer can raise it."
        )
        raise QuotaExceededError(msg)
    if cancelled_today(user) >= cancel_limit(user):
        msg = (
            f"You have cancelled {cancel_limit(user)} submissions today (UTC) after their evaluation had begun, which "
            "is as many as one account may. You can submit again after midnight."
        )
        raise QuotaExceededError(msg)


def count_check(user: User) -> None:
    """Count one check of a file, which costs the server up to minutes of work whether or not it is submitted.

    Raises :class:`QuotaExceededError` when ``user`` has had as many within this hour as one account may.
    """
    most = max(CHECKS_AN_HOUR, limit(user))
    used = rate_limits.count(f"upload-checks:{user.pk}", limit=most, period=rate_limits.HOUR)
    if used.times > most:
        minutes = -(-used.seconds // 60)
        wait = f"{minutes} minutes" if minutes > 1 else "a minute"
        msg = (
            f"You have had {most} files checked within this hour, which is as many as one account may. Nothing that is "
            f"stored is lost; go on in {wait}. manage.py validate of the site's own code checks files on your machine."
        )
        raise QuotaExceededError(msg)


def set_limit(*, user: User, daily: int | None, actor: User, reason: str) -> None:
    """Give ``user`` a daily limit of their own, or with ``None`` the instance's. Raises :class:`NotAllowedError`."""
    if not actor.is_staff:
        msg = "Only maintainers change quotas."
        raise NotAllowedError(msg)
    with transaction.atomic():
        before = user.daily_submissions
        User.objects.filter(pk=user.pk).update(daily_submissions=daily)
        record(verb=Verb.QUOTA, subject=user, actor=actor, reason=reason, data={"before": before, "after": daily})
    user.daily_submissions = daily
