"""Move a case on after a label was locked: wait for the next label, close it, or dispute it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import transaction
from django.utils import timezone

from reviews.cases import states
from reviews.cases.triggers import after_labels, store_triggers
from reviews.enums import TO_LABEL, CaseKind, CaseState, FinalSource, Role
from reviews.models import Case, Review

if TYPE_CHECKING:
    from reviews.models import Reviewer


def close_if_labelled(case: Case, *, reviewer: Reviewer | None = None) -> None:
    """Move ``case`` to the state that its annotators' labels require; ``reviewer`` locked the last one.

    With fewer labels than wanted (one or two), it waits for the next annotator. With all of them it closes, or goes to
    an adjudicator for the reasons that :func:`after_labels` finds, which become its triggers. A repeat closes without
    a label of its own. Practice cases, and cases past labelling, are not changed. The caller holds the case.
    """
    if case.kind == CaseKind.PRACTICE or case.state not in TO_LABEL:
        return
    labels = list(
        Review.objects.filter(case=case, role=Role.ANNOTATOR).order_by("locked", "pk").values_list("label", flat=True)
    )
    with transaction.atomic():
        if len(labels) < case.labels_wanted:
            if labels:
                states.move(case, allowed=TO_LABEL, after=CaseState.ONE_LABEL, reviewer=reviewer, what="label locked")
        elif case.kind == CaseKind.REPEAT:
            now = timezone.now()
            states.move(
                case, allowed=TO_LABEL, after=CaseState.AGREED, reviewer=reviewer, what="labelled again", closed=now
            )
        else:
            _close_or_dispute(case, labels, reviewer)
            states.announce(case)


def _close_or_dispute(case: Case, labels: list[str], reviewer: Reviewer | None) -> None:
    """Close the case, or dispute it. A single label, if only one is wanted, is checked like two that agree."""
    states.move(case, allowed=TO_LABEL, after=CaseState.TWO_LABELS, reviewer=reviewer, what="label locked")
    reasons = after_labels(case, (labels[0], labels[-1]))
    if reasons:
        store_triggers(case, reasons)
        kinds = ", ".join(sorted(reason.kind.value for reason in reasons))
        states.move(case, allowed=[CaseState.TWO_LABELS], after=CaseState.DISPUTED, what=kinds)
        return
    source = FinalSource.SINGLE if len(labels) == 1 else FinalSource.AGREED
    states.move(
        case,
        allowed=[CaseState.TWO_LABELS],
        after=CaseState.AGREED,
        what="the labels agree" if len(labels) > 1 else "one label was wanted",
        label=labels[0],
        source=source,
        closed=timezone.now(),
    )
