"""Enforce daily (UTC) submission quotas and the hourly limit on file checks."""

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
"""File checks per user and hour, unless the daily submission limit is higher."""


def limit(user: User) -> int:
    """Return how many submissions ``user`` may make per day."""
    if user.daily_submissions is not None:
        return user.daily_submissions
    return int(settings.ENVIRONMENT.daily_submissions)


def used_today(user: User) -> int:
    """Count submissions since midnight UTC, except cancelled and held ones."""
    not_counted = [SubmissionState.CANCELLED, SubmissionState.HELD]
    return _today(user).exclude(state__in=not_counted).count()


def cancelled_today(user: User) -> int:
    """Count submissions since midnight UTC that were cancelled after their evaluation began."""
    return _today(user).filter(cancelled_after_start=True).count()


def _today(user: User) -> QuerySet[Submission]:
    midnight = datetime.combine(timezone.now().astimezone(UTC).date(), time.min, tzinfo=UTC)
    return Submission.objects.filter(owner=user, created__gte=midnight)


def remaining(user: User) -> int:
    """Return how many submissions ``user`` has left today."""
    return max(0, limit(user) - used_today(user))


def require(user: User) -> None:
    """Raise :class:`QuotaExceededError` if none is left. Call it inside the transaction that submits."""
    # The row lock serialises simultaneous uploads (SQLite uses IMMEDIATE mode anyway).
    User.objects.select_for_update().get(pk=user.pk)
    used, most = used_today(user), limit(user)
    if used >= most:
        sent = "1 submission" if used == 1 else f"{used} submissions"
        msg = (
            f"You have sent {sent} today (UTC); your limit is {most}. The quota resets at midnight; "
            "cancelled and held submissions do not count. A maintainer can raise it."
        )
        raise QuotaExceededError(msg)
    # Cancelling restores the quota, but not the workers' time.
    most_cancelled = max(int(settings.ENVIRONMENT.daily_cancelled), user.daily_submissions or 0)
    if cancelled_today(user) >= most_cancelled:
        msg = (
            f"You have cancelled {most_cancelled} submissions today (UTC) after their evaluation began, the most "
            "that one account may. You can submit again after midnight."
        )
        raise QuotaExceededError(msg)


def count_check(user: User) -> None:
    """Count one check of a file, which can cost the server minutes even if the file is not submitted.

    Raises :class:`QuotaExceededError` if ``user`` has used this hour's limit.
    """
    most = max(CHECKS_AN_HOUR, limit(user))
    used = rate_limits.count(f"upload-checks:{user.pk}", limit=most, period=rate_limits.HOUR)
    if used.times > most:
        minutes = -(-used.seconds // 60)
        wait = f"{minutes} minutes" if minutes > 1 else "a minute"
        msg = (
            f"You have had {most} files checked within this hour, the most that one account may. Stored files are "
            f"kept; continue in {wait}. To check files on your own machine, use manage.py validate of the site's code."
        )
        raise QuotaExceededError(msg)


def set_limit(*, user: User, daily: int | None, actor: User, reason: str) -> None:
    """Set an individual daily limit for ``user``, or None for the instance's. Raises :class:`NotAllowedError`."""
    if not actor.is_staff:
        msg = "Only maintainers may change quotas."
        raise NotAllowedError(msg)
    with transaction.atomic():
        before = user.daily_submissions
        User.objects.filter(pk=user.pk).update(daily_submissions=daily)
        record(verb=Verb.QUOTA, subject=user, actor=actor, reason=reason, data={"before": before, "after": daily})
    user.daily_submissions = daily
