"""Manage conflicts of interest: answers that a reviewer must not label.

Organisations' names are compared in Python rather than SQL, since SQLite folds only ASCII.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from django.db import IntegrityError, transaction
from django.db.models import Q

from reviews.cases import holding
from reviews.enums import LIVE, CaseKind
from reviews.exceptions import LeaseLostError, ReviewError
from reviews.models import Assignment, Case, Conflict, Reviewer
from submissions.domain.audit import record
from submissions.domain.organisation_names import folded
from submissions.domain.ownership import owned_by
from submissions.enums import Verb, Visibility
from submissions.models import Membership, System, Team

if TYPE_CHECKING:
    from django.db.models import QuerySet

MOST_CONFLICTS: Final = 200


def in_conflict(reviewer: Reviewer) -> Q:
    """Return a filter for cases that ``reviewer`` must not label: own submissions and systems, and conflicting ones.

    A conflict is with a system, or with an organisation (declared, or the reviewer's affiliation) that is the system's
    or that of a reviewer who submitted or owns it, alone or with a team, also one that they have left.
    """
    declared = list(reviewer.conflicts.all())
    systems = {each.system_id for each in declared if each.system_id}
    names = {folded(each.organisation) for each in declared} | {folded(reviewer.affiliation)}
    names.discard("")
    owners: set[int] = {reviewer.user_id} if reviewer.user_id else set()
    if names:
        theirs = System.objects.exclude(organisation="").values_list("pk", "organisation")
        systems |= {pk for pk, organisation in theirs if folded(organisation) in names}
        people = Reviewer.objects.exclude(user=None).exclude(affiliation="").values_list("user", "affiliation")
        owners |= {user for user, affiliation in people if folded(affiliation) in names}
    teams = set(Membership.objects.filter(user__in=owners).values_list("team", flat=True))
    teams |= set(Team.objects.filter(former__in=owners).values_list("pk", flat=True))
    submission = "implementation__submission"
    return (
        Q(**{f"{submission}__system__in": systems})
        | Q(**{f"{submission}__owner__in": owners})
        | Q(**{f"{submission}__system__owner__in": owners})
        | Q(**{f"{submission}__team__in": teams})
        | Q(**{f"{submission}__system__team__in": teams})
    )


def add_conflict(*, reviewer: Reviewer, system: System | None = None, organisation: str = "") -> int:
    """Declare a conflict with a system or an organisation; return how many held items were handed back for it.

    Raises :class:`ReviewError` if it is already declared, or beyond :data:`MOST_CONFLICTS`.
    """
    name = " ".join(organisation.split())
    with transaction.atomic():
        Reviewer.objects.select_for_update(no_key=True).get(pk=reviewer.pk)
        declared = list(reviewer.conflicts.all())
        if len(declared) >= MOST_CONFLICTS:
            msg = f"You have declared {MOST_CONFLICTS} conflicts, the most that one annotator may. Remove one first."
            raise ReviewError(msg)
        declared_name = any(folded(each.organisation) == folded(name) for each in declared) if name else False
        if declared_name or any(system is not None and each.system_id == system.pk for each in declared):
            msg = f"The conflict with {system.name if system else name} is already declared."
            raise ReviewError(msg)
        try:
            conflict = Conflict.objects.create(reviewer=reviewer, system=system, organisation=name)
        except IntegrityError as error:
            msg = "A conflict is either with a system or with an organisation; choose one of them."
            raise ReviewError(msg) from error
        _changed(reviewer, before="", after=str(conflict))
        return hand_back_conflicting(reviewer)


def remove_conflict(*, reviewer: Reviewer, conflict: Conflict) -> None:
    """Remove a declared conflict."""
    with transaction.atomic():
        _changed(reviewer, before=str(conflict), after="")
        conflict.delete()


def hand_back_conflicting(reviewer: Reviewer) -> int:
    """Hand back held items that ``reviewer`` must no longer label; return how many."""
    return hand_back(held_by(reviewer).filter(case__in=Case.objects.filter(in_conflict(reviewer))))


def hand_back(assignments: QuerySet[Assignment]) -> int:
    """Hand items back; return how many. A label that was locked meanwhile stays locked."""
    returned = 0
    for assignment in list(assignments):
        with suppress(LeaseLostError):
            holding.hand_back(assignment)
            returned += 1
    return returned


def held_by(reviewer: Reviewer) -> QuerySet[Assignment]:
    """Return the items that ``reviewer`` holds, except practice items, which no other reviewer waits for."""
    held = Assignment.objects.filter(reviewer=reviewer, state__in=LIVE).exclude(case__kind=CaseKind.PRACTICE)
    return held.select_related("case", "reviewer").order_by("pk")


def systems_to_choose(reviewer: Reviewer) -> QuerySet[System]:
    """Return the systems that a conflict may be declared with: public ones and the reviewer's own."""
    shown = Q(owner=None) | Q(submissions__visibility=Visibility.PUBLISHED)
    if reviewer.user is not None:
        shown |= owned_by(reviewer.user)
    return System.objects.filter(shown).distinct().order_by("name", "pk")


def _changed(reviewer: Reviewer, *, before: str, after: str) -> None:
    """Record the change and require a new confirmation of the list."""
    Reviewer.objects.filter(pk=reviewer.pk).update(conflicts_confirmed=False)
    record(
        verb=Verb.REVIEWER_CHANGED,
        subject=reviewer,
        actor=reviewer.user,
        data={"conflict": {"before": before, "after": after}},
    )
