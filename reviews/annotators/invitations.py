"""Invite reviewers by links that give roles, and choose their pseudonyms."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final

from django.db import IntegrityError, transaction

from reviews.annotators.reviewers import require_maintainer
from reviews.exceptions import IncompleteError, ReviewError
from reviews.models import Invitation, Reviewer
from submissions.domain import invitation_links
from submissions.domain.audit import record
from submissions.enums import Verb

if TYPE_CHECKING:
    from submissions.models import User

_QUALITIES: Final = (
    "Amber Azure Brisk Calm Cedar Clear Copper Coral Crisp Dusky Early Even Fern Flint Gentle Golden Granite Green "
    "Hazel Indigo Ivory Jade Keen Lilac Linen Lucid Marble Mellow Misty Mossy Northern Ochre Olive Opal Patient Pearl "
    "Plain Quiet Russet Sandy Silver Slate Southern Steady Still Tidal Umber Velvet Violet Willow"
)
_BIRDS: Final = (
    "Avocet Bittern Bunting Chough Coot Crake Crane Curlew Dipper Dove Dunlin Egret Eider Finch Gannet Godwit Grebe "
    "Heron Hoopoe Ibis Jackdaw Kestrel Kite Knot Lapwing Lark Linnet Martin Merlin Nightjar Nuthatch Oriole Osprey "
    "Petrel Pipit Plover Puffin Rail Robin Rook Shrike Siskin Snipe Swift Teal Tern Thrush Turnstone Wagtail Wren"
)
_TRIES: Final = 50


def invite(*, actor: User, annotator: bool, adjudicator: bool, note: str = "") -> tuple[Invitation, str]:
    """Create an invitation and return it with its secret, which is not stored.

    Raises :class:`NotAllowedError` for non-maintainers, :class:`IncompleteError` without a role.
    """
    require_maintainer(actor)
    if not (annotator or adjudicator):
        raise IncompleteError({"annotator": "Choose at least one role."})
    with transaction.atomic():
        invitation, secret = invitation_links.make(
            Invitation, actor=actor, annotator=annotator, adjudicator=adjudicator, note=note
        )
        record(verb=Verb.INVITED, subject=invitation, actor=actor, data={"roles": invitation.roles})
    return invitation, secret


def revoke(*, actor: User, invitation: Invitation) -> None:
    """Revoke an unused invitation. Raises :class:`ReviewError` if it was used or revoked."""
    require_maintainer(actor)
    with transaction.atomic():
        if not invitation_links.revoke(invitation):
            msg = "This invitation is already used or revoked."
            raise ReviewError(msg)
        record(verb=Verb.INVITATION_REVOKED, subject=invitation, actor=actor)


def invitation_of(secret: str) -> Invitation | None:
    """Return the invitation with this secret, used or not."""
    return invitation_links.find(Invitation.objects.select_related("used_by"), secret)


def accept(*, user: User, secret: str) -> Reviewer:
    """Make ``user`` a reviewer with the invitation's roles, or add the roles to an existing reviewer.

    A link works for one user; accepting it again returns the same reviewer. Raises :class:`ReviewError` for a link that
    is unknown, used, revoked or expired, or that gives no new role.
    """
    invitation = invitation_of(secret)
    if invitation is None:
        msg = "There is no such invitation. Open the complete link that you received."
        raise ReviewError(msg)
    with transaction.atomic():
        reviewer = _reviewer_for(user)
        if invitation.used_by_id == reviewer.pk:
            return reviewer
        if not reviewer.active:
            msg = "A maintainer has deactivated you as an annotator. Ask a maintainer to activate you again."
            raise ReviewError(msg)
        if set(invitation.roles) <= set(reviewer.roles):
            msg = "You already have every role that this invitation gives; it stays valid for another user."
            raise ReviewError(msg)
        if not invitation_links.use(invitation, used_by=reviewer):
            if invitation.used_by_id == reviewer.pk:  # Another tab was faster.
                return reviewer
            raise ReviewError(invitation_links.problem_with(invitation))
        gained = {f"is_{role.value}": True for role in invitation.roles}
        Reviewer.objects.filter(pk=reviewer.pk).update(**gained)
        reviewer.refresh_from_db()
        record(verb=Verb.JOINED, subject=reviewer, actor=user, data={"roles": invitation.roles})
    return reviewer


def _reviewer_for(user: User) -> Reviewer:
    """Return or create the reviewer of ``user``; simultaneous requests create one, and used pseudonyms are redrawn."""
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


def unused_pseudonym() -> str:
    """Return an unused pseudonym. If another request stores it first, the database refuses the second use."""
    chance = random.SystemRandom()
    for _ in range(_TRIES):
        drawn = f"{chance.choice(_QUALITIES.split())} {chance.choice(_BIRDS.split())} {chance.randrange(10, 100)}"
        if not Reviewer.objects.filter(pseudonym=drawn).exists():
            return drawn
    return f"{chance.choice(_QUALITIES.split())} {chance.choice(_BIRDS.split())} {chance.randrange(10**6, 10**9)}"
