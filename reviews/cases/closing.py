"""What a case's locked labels mean for the case."""

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
    """Move ``case`` on to where its annotators' labels bring it; ``reviewer`` has locked the last one.

    Too few of the labels that are wanted (one or two) leave it to the next annotator. All of them close it, or send it
    to an adjudicator for the reasons that :func:`after_labels` finds; these become its triggers. A repeat ends without
    a label of its own. Practice, and a case that is past labelling, stays as it is. The case is held by the caller.
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
    """A single label, where only one is wanted, has to stand up to the same questions as two that agree."""
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
