"""Count, list and mark notices as read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.urls import reverse
from django.utils import timezone

from leaderboard.evidence.cases import public_cases
from leaderboard.models import Notice
from leaderboard.models.enums import NoticeKind
from submissions.models import User

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser

    from leaderboard.models.notices import NoticeQuerySet


def unread(user: User | AnonymousUser) -> int:
    """Count the unread notices of ``user``. One query, none for anonymous users."""
    return Notice.objects.shown_to(user).filter(read=None).count() if isinstance(user, User) else 0


def listed(user: User) -> NoticeQuerySet:
    """List the notices that ``user`` may read, newest first, with what their sentences name."""
    return Notice.objects.shown_to(user).named()


def mark_read(notices: NoticeQuerySet) -> int:
    """Mark the unread ``notices`` as read and return how many; e-mails about them are no longer sent."""
    return notices.filter(read=None).update(read=timezone.now(), mail_due=None)


def leads_to(notice: Notice) -> str:
    """Return the address of the page that a notice is about."""
    if notice.kind == NoticeKind.REVIEW or notice.submission is None:
        return reverse("reviews")
    if notice.case is not None:
        public = public_cases().filter(pk=notice.case.pk).exists()
        return (notice.case if public else notice.case.implementation).get_absolute_url()
    return notice.submission.get_absolute_url()
