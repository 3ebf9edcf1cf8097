"""Who reviews, how one becomes a reviewer, and which cases are open to whom."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone

from reviews.enums import OPEN, CaseKind, Role
from reviews.exceptions import ReviewError
from reviews.models import Case, Invitation, Review, Reviewer
from reviews.people.conflicts import (
    CONFIRMED,
    UNCONFIRMED,
    conflicts_confirmed,
    hand_back,
    hand_back_conflicting,
    held_by,
    in_conflict,
)
from reviews.people.pseudonyms import unused_pseudonym
from submissions.domain.audit import record
from submissions.enums import Kind, Verb, Visibility
from submissions.exceptions import NotAllowedError
from submissions.models import User

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser
    from django.db.models import QuerySet

INVITATION_DAYS: Final = 14
_SECRET_BYTES: Final = 32
_FLAGS: Final = {Role.ANNOTATOR: "is_annotator", Role.ADJUDICATOR: "is_adjudicator"}


def reviewer_of(user: User | AnonymousUser) -> Reviewer | None:
    """The active reviewer that ``user`` is, if any."""
    if not isinstance(user, User):
        return None
    return Reviewer.objects.filter(user=user, active=True).select_related("user").first()


def roles_of(reviewer: Reviewer | Invitation) -> list[Role]:
    """The roles that a reviewer has, or an invitation gives."""
    if isinstance(reviewer, Invitation):
        return [role for role in Role if getattr(reviewer, role.value)]
    return [role for role in Role if getattr(reviewer, _FLAGS[role])]


# Invitations


def invite(*, actor: User, annotator: bool, adjudicator: bool, note: str = "") -> tuple[Invitation, str]:
    """Make a link's secret and what it gives; the secret is answered once and never stored.

    Raises :class:`NotAllowedError` for who is no maintainer, :class:`ReviewError` without a role.
    """
    _maintainers_only(actor)
    if not (annotator or adjudicator):
        msg = "Choose at least one role for the invitation."
        raise ReviewError(msg)
    secret = secrets.token_urlsafe(_SECRET_BYTES)
    with transaction.atomic():
        invitation = Invitation.objects.create(
            secret_digest=_digest(secret),
            annotator=annotator,
            adjudicator=adjudicator,
            note=note,
            created_by=actor,
            expires=timezone.now() + timedelta(days=INVITATION_DAYS),
        )
        record(verb=Verb.INVITED, subject=invitation, actor=actor, data={"roles": _role_names(invitation)})
    return invitation, secret


def revoke(*, actor: User, invitation: Invitation) -> None:
    """Make an unused link worthless. Raises :class:`ReviewError` when it was used or revoked already."""
    _maintainers_only(actor)
    with transaction.atomic():
        unused = Invitation.objects.filter(pk=invitation.pk, used=None, revoked=None)
        if not unused.update(revoked=timezone.now()):
            msg = "This invitation was used or revoked already."
            raise ReviewError(msg)
        record(verb=Verb.INVITATION_REVOKED, subject=invitation, actor=actor)


def invitation_of(secret: str) -> Invitation | None:
    """The invitation with this secret, used or not."""
    return Invitation.objects.filter(secret_digest=_digest(secret)).select_related("used_by").first()


def problem_with(invitation: Invitation) -> str:
    """Why an invitation cannot be accepted any more, and what to do; empty when it can."""
    if invitation.used is not None:
        return "This invitation has been used: each link works once. Ask whoever sent it for another."
    if invitation.revoked is not None:
        return "This invitation was taken back. Ask whoever sent it for another if that was a mistake."
    if invitation.expires <= timezone.now():
        return f"This invitation has expired: links last {INVITATION_DAYS} days. Ask whoever sent it for another."
    return ""


def accept(*, user: User, secret: str) -> Reviewer:
    """Make ``user`` a reviewer with the invitation's roles, or add them to the reviewer that ``user`` is already.

    Of two people with one link one wins. Whoever accepts it twice is answered as the first time. Raises
    :class:`ReviewError` for a link that is unknown, used, revoked or expired, and for one that would give nothing new.
    """
    invitation = invitation_of(secret)
    if invitation is None:
        msg = "There is no such invitation. Open the whole link, as it was sent."
        raise ReviewError(msg)
    with transaction.atomic():
        reviewer = _reviewer_for(user)
        if invitation.used_by_id == reviewer.pk:
            return reviewer
        roles = roles_of(invitation)
        if not reviewer.active:
            msg = "Your work as a reviewer was ended by a maintainer. Ask a maintainer to start it again."
            raise ReviewError(msg)
        if set(roles) <= set(roles_of(reviewer)):
            msg = "You have every role that this invitation gives; it stays valid for somebody else."
            raise ReviewError(msg)
        if not _use(invitation, reviewer):
            return reviewer
        gained = dict.fromkeys((_FLAGS[role] for role in roles), True)
        Reviewer.objects.filter(pk=reviewer.pk).update(**gained)
        reviewer.refresh_from_db()
        record(verb=Verb.JOINED, subject=reviewer, actor=user, data={"roles": _role_names(invitation)})
    return reviewer


def _use(invitation: Invitation, reviewer: Reviewer) -> bool:
    """Use a link up; say whether that was now, and not by the same person at the same time in another tab."""
    now = timezone.now()
    valid = Invitation.objects.filter(pk=invitation.pk, used=None, revoked=None, expires__gt=now)
    if valid.update(used=now, used_by=reviewer):
        return True
    invitation.refresh_from_db()
    if invitation.used_by_id != reviewer.pk:
        raise ReviewError(problem_with(invitation))
    return False


def _reviewer_for(user: User) -> Reviewer:
    """``user``'s row, made if need be; two tabs make one."""
    for _ in range(10):
        found = Reviewer.objects.filter(user=user).first()
        if found is not None:
            return found
        try:
            with transaction.atomic():
                return Reviewer.objects.create(user=user, pseudonym=unused_pseudonym())
        except IntegrityError:
            continue
    msg = "No pseudonym was free. Try again."
    raise ReviewError(msg)


# Roles and profile


def set_roles(*, actor: User, reviewer: Reviewer, annotator: bool, adjudicator: bool, active: bool, reason: str) -> int:
    """Change what a reviewer may do, for a reason that is kept; answer how many held items were handed back.

    Items held in a role that is taken away go back to the queue. Raises :class:`NotAllowedError` for who is no
    maintainer, :class:`ReviewError` without a reason, or when nothing would change.
    """
    _maintainers_only(actor)
    if not reason.strip():
        msg = "Say why: the reason is kept with the change."
        raise ReviewError(msg)
    wanted = {"is_annotator": annotator, "is_adjudicator": adjudicator, "active": active}
    with transaction.atomic():
        stored = Reviewer.objects.select_for_update(no_key=True).get(pk=reviewer.pk)
        before = {name: getattr(stored, name) for name in wanted}
        if before == wanted:
            msg = f"{stored.public_name} has exactly these roles already."
            raise ReviewError(msg)
        Reviewer.objects.filter(pk=reviewer.pk).update(**wanted)
        record(
            verb=Verb.REVIEWER_CHANGED,
            subject=reviewer,
            actor=actor,
            reason=reason,
            data={"before": before, "after": wanted},
        )
        for name, value in wanted.items():
            setattr(reviewer, name, value)
        return _hand_back_without_role(reviewer)


def _hand_back_without_role(reviewer: Reviewer) -> int:
    allowed = roles_of(reviewer) if reviewer.active else []
    return hand_back(held_by(reviewer).exclude(role__in=allowed))


def update_profile(
    *,
    reviewer: Reviewer,
    name: str,
    shows_name: bool,
    affiliation: str,
    expertise: str,
    confirmed: bool,
    keys_off: bool = False,
) -> int:
    """Store what a reviewer says of oneself; answer how many held items were handed back.

    ``confirmed`` says that the list of conflicts is complete. ``affiliation`` may be “none”, not empty: a profile with
    one is complete. Raises :class:`ReviewError` for an empty one, for a name to be shown that is not given, and for
    conflicts that have to be confirmed (:func:`reviews.people.conflicts.conflicts_confirmed`).
    """
    facts = {
        "name": " ".join(name.split()),
        "shows_name": shows_name,
        "affiliation": " ".join(affiliation.split()),
        "expertise": expertise.strip(),
        "keys_off": keys_off,
    }
    if not facts["affiliation"]:
        msg = "Say where you work or study, or “none”."
        raise ReviewError(msg)
    if shows_name and not facts["name"]:
        msg = "Type the name that shall be shown, or stay with the pseudonym."
        raise ReviewError(msg)
    with transaction.atomic():
        stored = Reviewer.objects.select_for_update(no_key=True).get(pk=reviewer.pk)
        before = {name: getattr(stored, name) for name in facts}
        was_confirmed = conflicts_confirmed(stored, str(facts["affiliation"]))
        if not (confirmed or was_confirmed):
            raise ReviewError(UNCONFIRMED)
        changed = {key for key in facts if facts[key] != before[key]}
        if not was_confirmed and "affiliation" not in changed:
            changed.add(CONFIRMED)
        Reviewer.objects.filter(pk=reviewer.pk).update(**facts)
        for key, value in facts.items():
            setattr(reviewer, key, value)
        if changed:
            record(
                verb=Verb.REVIEWER_CHANGED,
                subject=reviewer,
                actor=reviewer.user,
                data={"changed": sorted(changed)},
            )
        return hand_back_conflicting(reviewer)


# Cases


def open_cases(reviewer: Reviewer) -> QuerySet[Case]:
    """Every case that is not closed and that this person may label or decide.

    Not: practice; what is reserved for others; answers in conflict; answers that the person has labelled in a review
    of any round (a repeat reserved for the person is that on purpose; an adjudicator may take up the case whose blind
    label is locked). Only answers whose code may be shown: published, or samples that will be.
    """
    if not reviewer.active:
        return Case.objects.none()
    mine = Review.objects.filter(reviewer=reviewer, case__kind=CaseKind.REVIEW)
    labelled = Q(implementation__in=mine.values("case__implementation"))
    blind = Q(pk__in=mine.filter(role=Role.ADJUDICATOR).values("case"))
    review = Q(kind=CaseKind.REVIEW) & (Q(reserved_for=None) | Q(reserved_for=reviewer)) & (~labelled | blind)
    repeat = Q(kind=CaseKind.REPEAT, reserved_for=reviewer)
    return Case.objects.filter(review | repeat, _shown(), state__in=OPEN).exclude(in_conflict(reviewer))


def _shown() -> Q:
    submission = "implementation__submission"
    public = Q(**{f"{submission}__visibility": Visibility.PUBLISHED})
    sample = Q(**{f"{submission}__kind": Kind.CALIBRATION.value, f"{submission}__visibility": Visibility.PRIVATE.value})
    return (public | sample) & ~Q(**{f"{submission}__code_licence": ""})


def _maintainers_only(actor: User) -> None:
    if not actor.is_staff:
        msg = "Only maintainers manage reviewers."
        raise NotAllowedError(msg)


def _role_names(invitation: Invitation) -> list[str]:
    return [role.value for role in roles_of(invitation)]


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
