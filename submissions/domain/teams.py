"""Create teams, invite and remove members, change roles, and hand systems and endpoints over to a team."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from django.db import IntegrityError, transaction
from django.utils.text import slugify

from submissions.domain import invitation_links
from submissions.domain.audit import record
from submissions.domain.endpoints import using_judges
from submissions.domain.entitlement import refusal
from submissions.domain.ownership import manages
from submissions.enums import TeamRole, Verb
from submissions.exceptions import NotAllowedError, QuotaExceededError, SubmissionError, WrongStateError
from submissions.models import Endpoint, Membership, Submission, System, Team, TeamInvitation, User
from submissions.signals import team_changed

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser
    from django.db.models import QuerySet

MOST_TEAMS: Final = 10
"""How many teams one account may be in."""
MOST_MEMBERS: Final = 100


def visible_to(user: User | AnonymousUser) -> QuerySet[Team]:
    """Return the teams whose page ``user`` may see: their own, and all for maintainers."""
    if not isinstance(user, User):
        return Team.objects.none()
    return Team.objects.all() if user.is_staff else Team.objects.filter(memberships__user=user)


def may_lead(user: User, team: Team) -> bool:
    """Return whether ``user`` may change the team and its members: its owners and maintainers may."""
    return user.is_staff or Membership.objects.filter(team=team, user=user, role=TeamRole.OWNER).exists()


def create(*, actor: User, name: str) -> Team:
    """Create a team with ``actor`` as its owner.

    Raises NotAllowedError (a name in use, or a registered organisation's), QuotaExceededError.
    """
    _require_name(actor, name)
    try:
        with transaction.atomic():
            _require_room(actor)
            team = Team.objects.create(name=name, slug=_free_slug(name))
            Membership.objects.create(team=team, user=actor, role=TeamRole.OWNER)
            record(verb=Verb.TEAM_MADE, subject=team, actor=actor)
    except IntegrityError:
        raise NotAllowedError(_taken(name)) from None
    return team


def rename(*, team: Team, actor: User, name: str) -> None:
    """Change the team's name; its address stays. Raises NotAllowedError."""
    _require_lead(actor, team)
    _require_name(actor, name)
    before = team.name
    try:
        with transaction.atomic():
            if Team.objects.filter(pk=team.pk).exclude(name=name).update(name=name):
                record(verb=Verb.TEAM_CHANGED, subject=team, actor=actor, data={"changed": {"name": [before, name]}})
    except IntegrityError:
        raise NotAllowedError(_taken(name)) from None
    team.name = name


def invite(*, team: Team, actor: User, role: str, note: str = "") -> tuple[TeamInvitation, str]:
    """Create an invitation and return it with its secret, which is not stored. Raises NotAllowedError."""
    _require_lead(actor, team)
    with transaction.atomic():
        made, secret = invitation_links.make(TeamInvitation, actor=actor, team=team, role=TeamRole(role), note=note)
        record(verb=Verb.TEAM_INVITED, subject=team, actor=actor, data={"role": made.role})
    return made, secret


def revoke(*, invitation: TeamInvitation, actor: User) -> None:
    """Revoke an unused invitation. Raises NotAllowedError; WrongStateError if it was used or revoked."""
    _require_lead(actor, invitation.team)
    with transaction.atomic():
        if not invitation_links.revoke(invitation):
            raise WrongStateError("This invitation is already used or revoked.")
        record(verb=Verb.TEAM_UNINVITED, subject=invitation.team, actor=actor)


def invitation_of(secret: str) -> TeamInvitation | None:
    """Return the invitation with this secret, used or not."""
    return invitation_links.find(TeamInvitation.objects.select_related("team"), secret)


def accept(*, user: User, secret: str) -> Membership:
    """Make ``user`` a member; a link works for one user, and accepting it again returns the same membership.

    Raises WrongStateError for a link that is unknown, used, revoked or expired, and for members; QuotaExceededError.
    """
    invitation = invitation_of(secret)
    if invitation is None:
        raise WrongStateError("There is no such invitation. Open the complete link that you received.")
    with transaction.atomic():
        team = Team.objects.select_for_update().get(pk=invitation.team_id)
        present = team.memberships.filter(user=user).first()
        if present is not None and invitation.used_by_id == user.pk:
            return present
        if present is not None:
            msg = f"You are in {team} already, as {present.role}; the invitation stays valid for another user."
            raise WrongStateError(msg)
        _require_room(user)
        if team.memberships.count() >= MOST_MEMBERS:
            raise QuotaExceededError(f"{team} has {MOST_MEMBERS} members, the most that one team may have.")
        if not invitation_links.use(invitation, used_by=user):
            raise WrongStateError(invitation_links.problem_with(invitation))
        made = Membership.objects.create(team=team, user=user, role=invitation.role)
        record(verb=Verb.TEAM_JOINED, subject=team, actor=user, data={"role": made.role})
        team_changed.send(sender=Team, team=team)
    return made


def set_role(*, membership: Membership, actor: User, role: str) -> None:
    """Change a member's role. Raises NotAllowedError; WrongStateError if the team would lose its only owner."""
    team = membership.team
    _require_lead(actor, team)
    with transaction.atomic():
        before = _locked(membership)
        if before == role:
            return
        if before == TeamRole.OWNER:
            _require_other_owner(membership, "make another member an owner first")
        Membership.objects.filter(pk=membership.pk).update(role=TeamRole(role))
        changed = {f"role of {membership.user.username}": [before, role]}
        record(verb=Verb.TEAM_CHANGED, subject=team, actor=actor, data={"changed": changed})
    membership.role = role


def remove(*, membership: Membership, actor: User) -> None:
    """End a membership: members may leave, owners and maintainers may remove them. What they sent stays with the team.

    Raises NotAllowedError; WrongStateError if members would be left without an owner. The last member may leave: a
    maintainer can then invite somebody.
    """
    team, person = membership.team, membership.user
    if actor.pk != person.pk:
        _require_lead(actor, team)
    with transaction.atomic():
        role = _locked(membership)
        if role == TeamRole.OWNER and team.memberships.count() > 1:
            _require_other_owner(membership, "make another member an owner, or remove the others first")
        membership.delete()
        changed = {person.username: [role, "no member"]}
        verb, data = (Verb.TEAM_LEFT, {}) if actor.pk == person.pk else (Verb.TEAM_CHANGED, {"changed": changed})
        record(verb=verb, subject=team, actor=actor, data=data)


def hand_over(*, row: System | Endpoint, team: Team, actor: User) -> None:
    """Give an account's system with all its submissions, or its endpoint, to a team in which its owner may submit.

    Raises NotAllowedError for what is not the actor's own, a judge's endpoint, and what the team already has.
    """
    if row.team_id is not None or row.owner_id != actor.pk:
        raise NotAllowedError("Only what is your own can be handed over to a team.")
    try:
        with transaction.atomic():
            _hand_over(row, team, actor)
            team_changed.send(sender=Team, team=team)
    except IntegrityError:
        what = "a system or the same answers" if isinstance(row, System) else "an endpoint"
        raise NotAllowedError(f"{team} already has {what} of that name. Rename one of them first.") from None
    row.refresh_from_db()


def _hand_over(row: System | Endpoint, team: Team, actor: User) -> None:
    # Only once the row has its team are the actor's rights those of a member.
    own = type(row)._default_manager.filter(pk=row.pk, team=None, owner=actor)  # noqa: SLF001 - Django's documented API
    if isinstance(row, Endpoint) and using_judges(row):
        raise NotAllowedError(f"These judges use this endpoint: {', '.join(using_judges(row))}. Retire them first.")
    if not own.update(team=team):
        raise NotAllowedError("Only what is your own can be handed over to a team.")
    row.team = team
    if not manages(actor, row):
        raise NotAllowedError(f"Only owners and members of {team} may hand something over to it.")
    data: dict[str, Any] = {"team": team.pk}
    if isinstance(row, System):
        for submission in Submission.objects.filter(system=row, team=None):
            Submission.objects.filter(pk=submission.pk).update(team=team)
            record(verb=Verb.HANDED_OVER, subject=submission, actor=actor, reason=f"to the team {team}", data=data)
    record(verb=Verb.HANDED_OVER, subject=row, actor=actor, reason=f"to the team {team}", data=data)


def leave_all(*, user: User) -> None:
    """End all memberships of an account that is being erased. Raises as :func:`remove`."""
    for membership in user.memberships.select_related("team"):
        try:
            remove(membership=membership, actor=user)
        except SubmissionError as error:
            raise WrongStateError(f"{membership.team}: {error}") from None


def _require_room(user: User) -> None:
    """Raise QuotaExceededError if ``user`` is in the most teams; lock the account, so that simultaneous joins count."""
    User.objects.select_for_update().get(pk=user.pk)
    if user.memberships.count() >= MOST_TEAMS:
        raise QuotaExceededError(f"You are in {MOST_TEAMS} teams, the most that one account may be. Leave one first.")


def _require_lead(actor: User, team: Team) -> None:
    if not may_lead(actor, team):
        raise NotAllowedError(f"Only owners of {team} and maintainers may do this.")


def _locked(membership: Membership) -> str:
    """Lock the team and return the member's present role. Raises WrongStateError if they are no member any more."""
    Team.objects.select_for_update().get(pk=membership.team_id)
    role = Membership.objects.filter(pk=membership.pk).values_list("role", flat=True).first()
    if role is None:
        raise WrongStateError(f"{membership.user.username} is no longer in {membership.team}.")
    return role


def _require_other_owner(membership: Membership, advice: str) -> None:
    owners = Membership.objects.filter(team=membership.team_id, role=TeamRole.OWNER).exclude(pk=membership.pk)
    if not owners.exists():
        raise WrongStateError(f"{membership.user.username} is the only owner of {membership.team}: {advice}.")


def _require_name(actor: User, name: str) -> None:
    # A team's name is shown with what it publishes, as an organisation's is.
    if refused := refusal(account=actor, name=name):
        raise NotAllowedError(refused)


def _taken(name: str) -> str:
    return f"There is another team called {name}; choose another name."


def _free_slug(name: str) -> str:
    base = slugify(name)[:60] or "team"
    used = set(Team.objects.filter(slug__startswith=base).values_list("slug", flat=True))
    if base not in used:
        return base
    return next(slug for number in range(2, len(used) + 3) if (slug := f"{base}-{number}") not in used)
