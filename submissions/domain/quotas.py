"""Enforce daily (UTC) submission quotas and the hourly limit on file checks."""

from __future__ import annotations

from datetime import UTC, datetime, time
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from submissions.domain import rate_limits
from submissions.domain.audit import record
from submissions.domain.ownership import require_to_act_for
from submissions.enums import SubmissionState, Verb
from submissions.exceptions import NotAllowedError, QuotaExceededError
from submissions.models import Submission, Team, User

if TYPE_CHECKING:
    from django.db.models import QuerySet

CHECKS_AN_HOUR = 60
"""File checks per user and hour, unless the daily submission limit is higher."""


def limit(holder: User | Team) -> int:
    """Return how many submissions an account or a team may make per day."""
    if holder.daily_submissions is not None:
        return holder.daily_submissions
    return int(settings.ENVIRONMENT.daily_submissions)


def used_today(holder: User | Team) -> int:
    """Count submissions since midnight UTC, except cancelled and held ones.

    Those for a team count for it; unless it has a limit of its own, they count for their sender, too: otherwise people
    could raise their limit by making teams.
    """
    not_counted = [SubmissionState.CANCELLED, SubmissionState.HELD]
    sent = Q(team=holder) if isinstance(holder, Team) else Q(owner=holder, team__daily_submissions=None)
    return _today().filter(sent).exclude(state__in=not_counted).count()


def cancelled_today(user: User) -> int:
    """Count submissions since midnight UTC that were cancelled after their evaluation began."""
    return _today().filter(owner=user, cancelled_after_start=True).count()


def _today() -> QuerySet[Submission]:
    midnight = datetime.combine(timezone.now().astimezone(UTC).date(), time.min, tzinfo=UTC)
    return Submission.objects.filter(created__gte=midnight)


def remaining(user: User, team: Team | None = None) -> int:
    """Return how many submissions ``user`` has left today, for ``team`` if there is one."""
    return max(0, min(limit(holder) - used_today(holder) for holder in _holders(user, team)))


def _holders(user: User, team: Team | None) -> list[User | Team]:
    """Return whose limits a submission counts against."""
    if team is None:
        return [user]
    return [team, user] if team.daily_submissions is None else [team]


def require(user: User, team: Team | None = None) -> None:
    """Raise :class:`QuotaExceededError` if none is left. Call it inside the transaction that submits.

    Raises :class:`NotAllowedError` if ``user`` may not submit for ``team``, or no longer.
    """
    # The row locks serialise simultaneous uploads (SQLite uses IMMEDIATE mode anyway).
    if team is not None:
        Team.objects.select_for_update().get(pk=team.pk)
    User.objects.select_for_update(no_key=True).get(pk=user.pk)
    require_to_act_for(user, team)
    for holder in _holders(user, team):
        used, most = used_today(holder), limit(holder)
        if used >= most:
            sent = "1 submission" if used == 1 else f"{used} submissions"
            who, whose = ("You have", "your") if holder is user else (f"{holder} has", "its")
            msg = (
                f"{who} sent {sent} today (UTC); {whose} limit is {most}. The quota resets at midnight; "
                "cancelled and held submissions do not count. A maintainer can raise it."
            )
            raise QuotaExceededError(msg)
    # Cancelling restores the quota, but not the workers' time.
    own = [holder.daily_submissions or 0 for holder in _holders(user, team)]
    most_cancelled = max(int(settings.ENVIRONMENT.daily_cancelled), *own)
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


def set_limit(*, holder: User | Team, daily: int | None, actor: User, reason: str) -> None:
    """Set an individual daily limit, or None for the instance's. Raises :class:`NotAllowedError`."""
    if not actor.is_staff:
        msg = "Only maintainers may change quotas."
        raise NotAllowedError(msg)
    with transaction.atomic():
        before = holder.daily_submissions
        type(holder)._default_manager.filter(pk=holder.pk).update(daily_submissions=daily)  # noqa: SLF001 - Django's documented API
        record(verb=Verb.QUOTA, subject=holder, actor=actor, reason=reason, data={"before": before, "after": daily})
    holder.daily_submissions = daily
