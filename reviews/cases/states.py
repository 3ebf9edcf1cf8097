"""Change a case's state. Every change is conditional and records an event."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from django.db import transaction

from reviews.models import Case, CaseEvent
from reviews.signals import case_closed

if TYPE_CHECKING:
    from collections.abc import Collection

    from reviews.enums import CaseState
    from reviews.models import Reviewer


def hold(case_id: int) -> Case:
    """Lock and return the case until the transaction ends.

    Every change of who works on a case begins with this, so that labels and leases are counted one at a time.
    """
    return Case.objects.select_for_update(of=("self",), no_key=True).get(pk=case_id)


def move(
    case: Case,
    *,
    allowed: Collection[CaseState],
    after: CaseState,
    reviewer: Reviewer | None = None,
    what: str = "",
    **fields: Any,
) -> bool:
    """Change ``case`` to ``after`` and set ``fields`` if its state is ``allowed``; return whether it was.

    Updates ``case`` as well. ``what`` is shown to maintainers, never to annotators.
    """
    with transaction.atomic():
        before = case.state
        changed = Case.objects.filter(pk=case.pk, state=before, state__in=allowed).update(state=after, **fields)
        if not changed:
            return False
        note(case, before=before, after=after, reviewer=reviewer, what=what)
    case.state = after
    for name, value in fields.items():
        setattr(case, name, value)
    return True


def announce(case: Case) -> None:
    """Send ``case_closed`` after commit."""
    transaction.on_commit(partial(case_closed.send, sender=Case, case=case))


def note(case: Case, *, before: str, after: str, reviewer: Reviewer | None = None, what: str = "") -> None:
    """Add an event to a case's history."""
    CaseEvent.objects.create(case=case, before=before, after=after, reviewer=reviewer, what=what)
