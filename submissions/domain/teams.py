"""Create teams, invite and remove members, change roles, and hand systems and endpoints over to a team."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.text import slugify

from submissions.domain import endpoints, invitation_links, quotas
from submissions.domain.audit import record
from submissions.domain.entitlement import refusal, use_name
from submissions.domain.ownership import require_to_act_for
from submissions.domain.submitting import cancel
from submissions.enums import UNFINISHED, Source, SubmissionState, TeamRole, Verb
from submissions.exceptions import NotAllowedError, QuotaExceededError, SubmissionError, WrongStateError
from submissions.models import Endpoint, Membership, Submission, System, Team, TeamInvitation, User
from submissions.signals import team_changed

if TYPE_CHECKING:
    from collections.abc import Iterable

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
    before = team.name
    try:
        with transaction.atomic():
            _lead(actor, team)
            _require_name(actor, name)
            if Team.objects.filter(pk=team.pk).exclude(name=name).update(name=name):
                record(verb=Verb.TEAM_CHANGED, subject=team, actor=actor, data={"changed": {"name": [before, name]}})
    except IntegrityError:
        raise NotAllowedError(_taken(name)) from None
    team.name = name


def may_invite(user: User, team: Team) -> bool:
    """Return whether ``user`` may invite members: the team's owners may, and maintainers if it has none.

    Members use the team's endpoints and keys, which are not the maintainers' to use.
    """
    owners = set(team.memberships.filter(role=TeamRole.OWNER).values_list("user", flat=True))
    return user.pk in owners or (user.is_staff and not owners)


def invite(*, team: Team, actor: User, role: str, note: str = "") -> tuple[TeamInvitation, str]:
    """Create an invitation and return it with its secret, which is not stored. Raises NotAllowedError."""
    with transaction.atomic():
        _lead(actor, team)
        if not may_invite(actor, team):
            raise NotAllowedError(f"The owners of {team} invite its members; maintainers do if it has no owner.")
        made, secret = invitation_links.make(TeamInvitation, actor=actor, team=team, role=TeamRole(role), note=note)
        record(verb=Verb.TEAM_INVITED, subject=team, actor=actor, data={"role": made.role})
    return made, secret


def revoke(*, invitation: TeamInvitation, actor: User) -> None:
    """Revoke an unused invitation. Raises NotAllowedError; WrongStateError if it was used or revoked."""
    with transaction.atomic():
        _lead(actor, invitation.team)
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
    """Change a member's role. Raises NotAllowedError; WrongStateError if the team would lose its only owner.

    Unused invitations of somebody who is no longer an owner are revoked.
    """
    team = membership.team
    with transaction.atomic():
        _lead(actor, team)
        before = _present_role(membership)
        if before == role:
            return
        if before == TeamRole.OWNER:
            _require_other_owner(membership, "make another member an owner first")
            _revoke_all(membership)
        Membership.objects.filter(pk=membership.pk).update(role=TeamRole(role))
        changed = {f"role of {membership.user.username}": [before, role]}
        record(verb=Verb.TEAM_CHANGED, subject=team, actor=actor, data={"changed": changed})
    membership.role = role


def remove(*, membership: Membership, actor: User) -> None:
    """End a membership: members may leave, owners and maintainers may remove them. What they sent stays with the team.

    Raises NotAllowedError; WrongStateError if members would be left without an owner. When the last member leaves, the
    team's unfinished submissions are cancelled and its keys deleted; a maintainer can then invite somebody.
    """
    team, person = membership.team, membership.user
    with transaction.atomic():
        _lead(actor, team, is_own=actor.pk == person.pk)
        role = _present_role(membership)
        if team.memberships.count() == 1:
            for submission in team.submissions.filter(state__in=UNFINISHED):
                cancel(submission=submission, actor=actor)
            endpoints.forget_keys_of(team)
        elif role == TeamRole.OWNER:
            _require_other_owner(membership, "make another member an owner, or remove the others first")
        _revoke_all(membership)
        membership.delete()
        team.former.add(person)
        changed = {person.username: [role, "no member"]}
        verb, data = (Verb.TEAM_LEFT, {}) if actor.pk == person.pk else (Verb.TEAM_CHANGED, {"changed": changed})
        record(verb=verb, subject=team, actor=actor, data=data)


def hand_over(*, row: System | Endpoint, team: Team, actor: User) -> None:
    """Give an account's system with all its submissions, or its endpoint, to a team in which its owner may submit.

    Raises NotAllowedError for what is not the actor's own, a judge's endpoint, and what the team already has;
    WrongStateError while a run is open, whose costs the other side would bear; QuotaExceededError.
    """
    try:
        with transaction.atomic():
            # In the order of quotas.require, so that a submission at the same time waits.
            Team.objects.select_for_update().get(pk=team.pk)
            User.objects.select_for_update().get(pk=actor.pk)
            _hand_over(row, team, actor)
            team_changed.send(sender=Team, team=team)
    except IntegrityError:
        what = "the same system, or the same answers" if isinstance(row, System) else "an endpoint of that name"
        raise NotAllowedError(f"{team} already has {what}.") from None
    row.refresh_from_db()


def _hand_over(row: System | Endpoint, team: Team, actor: User) -> None:
    own = type(row)._default_manager.filter(pk=row.pk, team=None, owner=actor)  # noqa: SLF001 - Django's documented API
    if not own.exists():
        raise NotAllowedError("Only what is your own can be handed over to a team.")
    require_to_act_for(actor, team)
    data: dict[str, Any] = {"team": team.pk}
    if isinstance(row, Endpoint):
        _require_idle(endpoints.open_runs(row))
        if judges := endpoints.using_judges(row):
            raise NotAllowedError(f"These judges use this endpoint: {', '.join(judges)}. Retire them first.")
    else:
        sent = Submission.objects.filter(system=row, team=None)
        running = sent.filter(source=Source.ENDPOINT, state__in=[SubmissionState.GENERATING, SubmissionState.HELD])
        _require_idle(running.values_list("pk", flat=True))
        use_name(account=actor, name=row.organisation)
        for submission in sent:
            record(verb=Verb.HANDED_OVER, subject=submission, actor=actor, reason=f"to the team {team}", data=data)
        sent.update(team=team)
        if quotas.used_today(team) > quotas.limit(team):
            raise QuotaExceededError(f"{team} may have {quotas.limit(team)} submissions a day. Hand it over tomorrow.")
    own.update(team=team)
    record(verb=Verb.HANDED_OVER, subject=row, actor=actor, reason=f"to the team {team}", data=data)


def _require_idle(submissions: Iterable[int]) -> None:
    if numbers := ", ".join(map(str, submissions)):
        raise WrongStateError(f"A run is still open: submission {numbers}. Cancel the run, or wait until it ends.")


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


def _lead(actor: User, team: Team, *, is_own: bool = False) -> None:
    """Lock the team; raise NotAllowedError unless ``actor`` leads it, or it is about their own membership."""
    Team.objects.select_for_update().get(pk=team.pk)
    if not is_own and not may_lead(actor, team):
        raise NotAllowedError(f"Only owners of {team} and maintainers may do this.")


def _present_role(membership: Membership) -> str:
    """Return the member's role. Raises WrongStateError if they are no member any more."""
    role = Membership.objects.filter(pk=membership.pk).values_list("role", flat=True).first()
    if role is None:
        raise WrongStateError(f"{membership.user.username} is no longer in {membership.team}.")
    return role


def _revoke_all(membership: Membership) -> None:
    """Revoke the unused invitations that a member made."""
    unused = membership.team.invitations.filter(created_by=membership.user, used=None, revoked=None)
    unused.update(revoked=timezone.now())


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
