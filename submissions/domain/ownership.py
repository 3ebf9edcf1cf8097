"""Decide to whom submissions, systems and endpoints belong: to the members of their team, or to an account.

A member who leaves a team loses what belongs to it, including what they sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db.models import Q

from submissions.enums import MANAGING_ROLES, TeamRole
from submissions.exceptions import NotAllowedError
from submissions.models import Endpoint, Membership, Submission, System, Team, User

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from django.contrib.auth.models import AnonymousUser
    from django.db.models import QuerySet

    Owned = Submission | System | Endpoint

ALL_ROLES = tuple(TeamRole)


def owned_by(user: User, path: str = "", *, roles: Collection[TeamRole] = ALL_ROLES) -> Q:
    """Return a filter for what belongs to ``user`` or to a team in which they have one of ``roles``.

    ``path`` leads from the filtered model to the owned one (``submission__``).
    """
    teams = Membership.objects.filter(user=user, role__in=roles).values("team")
    return Q(**{f"{path}team": None, f"{path}owner": user}) | Q(**{f"{path}team__in": teams})


def belongs_to(user: User | AnonymousUser, row: Owned, *, roles: Collection[TeamRole] = ALL_ROLES) -> bool:
    """Return whether :func:`owned_by` selects ``row``. One query for what belongs to a team."""
    if not isinstance(user, User):
        return False
    if row.team_id is None:
        return row.owner_id == user.pk
    return Membership.objects.filter(user=user, team=row.team_id, role__in=roles).exists()


def manages(user: User | AnonymousUser, row: Owned) -> bool:
    """Return whether ``user`` may change ``row``: an account's own, or its team's unless they only view."""
    return belongs_to(user, row, roles=MANAGING_ROLES)


def teams_to_act_for(user: User) -> QuerySet[Team]:
    """Return the teams for which ``user`` may submit and run models, by name."""
    return Team.objects.filter(memberships__user=user, memberships__role__in=MANAGING_ROLES).order_by("name", "pk")


def holder(owner: User, team: Team | None) -> dict[str, Any]:
    """Return the filter for what belongs to ``team``, or without one to ``owner`` alone."""
    return {"owner": owner, "team": None} if team is None else {"team": team}


def require_to_act_for(user: User, team: Team | None) -> None:
    """Raise NotAllowedError unless ``user`` may submit and run models for ``team``; None is always allowed."""
    if team is not None and not teams_to_act_for(user).filter(pk=team.pk).exists():
        raise NotAllowedError(f"Only owners and members of {team} may submit and register endpoints for it.")


def team_of(user: User, slug: str) -> Team | None:
    """Return the team with this slug, to act for; None for an empty one. Raises NotAllowedError."""
    if not slug:
        return None
    found = teams_to_act_for(user).filter(slug=slug).first()
    if found is None:
        raise NotAllowedError(f"{user.username} is in no team {slug!r} for which they may submit.")
    return found


def contacts(submissions: Iterable[Submission]) -> dict[int, int]:
    """Return the account to notify of each submission, by its number. One query if any belongs to a team.

    That is the sender, unless they can no longer manage it: then it is the team's first owner. A submission of a team
    without members stays with its sender, who sees no notice of it.
    """
    known = list(submissions)
    managing: dict[int, list[int]] = {}
    if teams := {each.team_id for each in known if each.team_id}:
        members = Membership.objects.filter(team__in=teams, role__in=MANAGING_ROLES)
        # "owner" sorts after "member".
        for team, user in members.order_by("-role", "joined", "pk").values_list("team", "user"):
            managing.setdefault(team, []).append(user)
    found = {}
    for each in known:
        people = managing.get(each.team_id or 0, [])
        found[each.pk] = each.owner_id if each.owner_id in people or not people else people[0]
    return found
