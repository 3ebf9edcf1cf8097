"""Manage reviewers, their roles and profiles, and find the cases that a reviewer may label."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import Q

from reviews.annotators.conflicts import hand_back, hand_back_conflicting, held_by, in_conflict
from reviews.cases import voiding
from reviews.enums import OPEN, CaseKind, Role
from reviews.exceptions import IncompleteError, ReviewError
from reviews.models import Case, Review, Reviewer
from submissions.domain.audit import record
from submissions.domain.organisation_names import NO_AFFILIATION, folded
from submissions.enums import Kind, Verb, Visibility
from submissions.exceptions import NotAllowedError
from submissions.models import User

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser
    from django.db.models import QuerySet


def reviewer_of(user: User | AnonymousUser) -> Reviewer | None:
    """Return the active reviewer of ``user``, if any."""
    if not isinstance(user, User):
        return None
    return Reviewer.objects.filter(user=user, active=True).select_related("user").first()


def require_maintainer(actor: User) -> None:
    """Raise :class:`NotAllowedError` unless ``actor`` is a maintainer."""
    if not actor.is_staff:
        msg = "Only maintainers may manage annotators."
        raise NotAllowedError(msg)


def set_roles(*, actor: User, reviewer: Reviewer, annotator: bool, adjudicator: bool, active: bool, reason: str) -> int:
    """Change a reviewer's roles, with a recorded reason; return how many held items were handed back.

    Items held in a removed role return to the queue. Raises :class:`NotAllowedError` for non-maintainers,
    :class:`ReviewError` without a reason, or if nothing changes.
    """
    require_maintainer(actor)
    if not reason.strip():
        msg = "Give a reason: it is kept with the change."
        raise ReviewError(msg)
    wanted = {"is_annotator": annotator, "is_adjudicator": adjudicator, "active": active}
    with transaction.atomic():
        stored = Reviewer.objects.select_for_update(no_key=True).get(pk=reviewer.pk)
        before = {name: getattr(stored, name) for name in wanted}
        if before == wanted:
            msg = f"{stored.public_name} already has exactly these roles."
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
        return hand_back(held_by(reviewer).exclude(role__in=reviewer.roles if active else []))


def forget(reviewer: Reviewer) -> None:
    """Keep the labels of a person whose account is erased under the pseudonym, without what describes the person.

    Held items return to the queue, and the reviewer's repeats end. Practice stays as it is.
    """
    hand_back(held_by(reviewer))
    for case in Case.objects.filter(reserved_for=reviewer, state__in=OPEN).order_by("pk"):
        voiding.end(case, what="the account of its annotator was erased")
    reviewer.conflicts.all().delete()
    reviewer.invitations.update(note="")
    facts = {"name": "", "shows_name": False, "affiliation": "", "expertise": "", "active": False}
    Reviewer.objects.filter(pk=reviewer.pk).update(user=None, **facts)


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
    """Store a reviewer's profile; return how many held items were handed back.

    ``confirmed`` states that the list of conflicts is complete. ``affiliation`` may be “none” but not empty. Raises
    :class:`IncompleteError` for an empty affiliation, for a missing name that is to be shown, and if the list or the
    affiliation has changed since the last confirmation.
    """
    facts = {
        "name": " ".join(name.split()),
        "shows_name": shows_name,
        "affiliation": " ".join(affiliation.split()),
        "expertise": expertise.strip(),
        "keys_off": keys_off,
    }
    errors = {}
    if not facts["affiliation"]:
        errors["affiliation"] = f"Enter where you work or study, or “{NO_AFFILIATION}”."
    if shows_name and not facts["name"]:
        errors["name"] = "Enter the name to show, or untick the box below."
    with transaction.atomic():
        stored = Reviewer.objects.select_for_update(no_key=True).get(pk=reviewer.pk)
        same_place = folded(stored.affiliation) == folded(str(facts["affiliation"]))
        facts["conflicts_confirmed"] = confirmed or (stored.conflicts_confirmed and same_place)
        if not facts["conflicts_confirmed"]:
            errors["confirmed"] = "Check the conflicts on this page, then confirm that none is missing."
        if errors:
            raise IncompleteError(errors)
        changed = sorted(key for key, value in facts.items() if getattr(stored, key) != value)
        Reviewer.objects.filter(pk=reviewer.pk).update(**facts)
        for key, value in facts.items():
            setattr(reviewer, key, value)
        if changed:
            record(verb=Verb.REVIEWER_CHANGED, subject=reviewer, actor=reviewer.user, data={"changed": changed})
        return hand_back_conflicting(reviewer)


def open_cases(reviewer: Reviewer) -> QuerySet[Case]:
    """Return every open case that this reviewer may label or decide.

    Excluded are practice cases, cases reserved for others, answers in conflict, and answers that the reviewer has
    labelled in any round (except reserved repeats, and cases whose blind label the reviewer locked as an adjudicator).
    Only answers with code that may be shown are included: published ones, or samples with a licence.
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
