"""Decide who may see and manage submissions and systems, for every page and command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Q

from submissions.domain.ownership import belongs_to, manages, owned_by
from submissions.enums import Visibility
from submissions.models import Submission, System, User

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser
    from django.db.models import QuerySet


def visible_to(user: User | AnonymousUser) -> QuerySet[Submission]:
    """Return what ``user`` may see: published submissions, their own and their teams', and all for maintainers."""
    if isinstance(user, User) and user.is_staff:
        return Submission.objects.all()
    published = Q(visibility=Visibility.PUBLISHED)
    return Submission.objects.filter(published | owned_by(user) if isinstance(user, User) else published)


def may_see_unpublished(user: User | AnonymousUser, row: Submission | System) -> bool:
    """Return whether ``user`` may see all of ``row`` before it is published: its owners and maintainers may."""
    return isinstance(user, User) and (user.is_staff or belongs_to(user, row))


def may_manage(user: User | AnonymousUser, submission: Submission) -> bool:
    """Return whether ``user`` may publish, withdraw, correct or cancel ``submission``: its owners or a maintainer."""
    return isinstance(user, User) and (user.is_staff or manages(user, submission))
