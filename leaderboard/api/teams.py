"""Serve a user's teams."""

from __future__ import annotations

from typing import Any, Literal

from django.http import HttpRequest
from ninja import Query, Router, Schema

from leaderboard.api.access import READ
from leaderboard.api.paging import Page, Paging, paged
from submissions.domain import quotas
from submissions.enums import TeamRole
from submissions.models import Membership
from submissions.permissions import user_of

router = Router(tags=["Teams"])


class TeamOut(Schema):
    """A team by its name and its name in addresses."""

    slug: str
    name: str


class MembershipOut(TeamOut):
    """One of your teams, your role in it, and how many submissions you may still send for it today (UTC)."""

    role: Literal[*TeamRole.values]  # type: ignore[valid-type]
    submissions_a_day: int
    submissions_left: int
    page: str


@router.get("/teams", response=Page[MembershipOut], auth=READ)
def list_teams(request: HttpRequest, paging: Query[Paging]) -> dict[str, Any]:
    """List your teams by name."""
    mine = Membership.objects.filter(user=user_of(request)).select_related("team", "user")
    return paged(request, mine.order_by("team__name", "pk"), paging, lambda shown: map(_membership, shown))


def _membership(row: Membership) -> dict[str, Any]:
    team = row.team
    return {
        "slug": team.slug,
        "name": team.name,
        "role": row.role,
        "submissions_a_day": quotas.limit(team),
        "submissions_left": 0 if row.role == TeamRole.VIEWER else quotas.remaining(row.user, team),
        "page": team.get_absolute_url(),
    }
