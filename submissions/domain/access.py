"""Decide who may see and manage a submission, for every page and command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Q

from submissions.enums import Visibility
from submissions.models import Submission, User

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser
    from django.db.models import QuerySet


def visible_to(user: User | AnonymousUser) -> QuerySet[Submission]:
    """Return the submissions that ``user`` may see: published ones, their own, and all for maintainers."""
    if isinstance(user, User) and user.is_staff:
        return Submission.objects.all()
    published = Q(visibility=Visibility.PUBLISHED)
    return Submission.objects.filter(published | Q(owner=user) if isinstance(user, User) else published)


def may_manage(user: User | AnonymousUser, submission: Submission) -> bool:
    """Return whether ``user`` may publish, withdraw, correct or cancel ``submission``: its owner or a maintainer."""
    return isinstance(user, User) and (user.is_staff or submission.owner_id == user.pk)
