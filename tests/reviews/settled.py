"""Settled cases of every kind, for tests of what is taken away and brought back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from reviews.enums import CaseKind, CaseState, FinalSource, Role, TriggerKind
from reviews.models import Case, Reviewer, Trigger
from tests.reviews.factories import ReviewerFactory, answers, case_of, decided, guideline, reviewed

if TYPE_CHECKING:
    from submissions.models import Implementation

BEGIN = datetime(2026, 11, 1, 9, 30, 15, 123456, tzinfo=UTC)


def settled(answer: Implementation, days: int, **facts: Any) -> Case:
    """A case of ``answer`` that was settled so many days after :data:`BEGIN`, and opened a day before."""
    case = case_of(answer, settled=BEGIN + timedelta(days=days), **facts)
    Case.objects.filter(pk=case.pk).update(created=BEGIN + timedelta(days=days - 1))
    return case


def record_of_everything() -> list[Case]:
    """Agreed, decided with notes that spreadsheets would run, reopened, its next round (one label), and a repeat."""
    guideline(2)
    one: Reviewer = ReviewerFactory(name="Ada Example", shows_name=True)
    two: Reviewer = ReviewerFactory(name="Kept Private")
    third: Reviewer = ReviewerFactory(adjudicator=True)
    given = answers(4)
    at: dict[str, Any] = {"locked": BEGIN + timedelta(hours=5), "active_seconds": 71}

    agreed = settled(given[0], 1, state=CaseState.AGREED, label="CC", source=FinalSource.AGREED)
    Trigger.objects.create(case=agreed, kind=TriggerKind.AUDIT, inclusion_probability=0.1)
    reviewed(agreed, one, "CC", **at)
    reviewed(agreed, two, "CC", note="'quoted', and plain", **at)

    final = settled(given[1], 2, state=CaseState.FINAL, label="LI", source=FinalSource.DECISION)
    Trigger.objects.create(case=final, kind=TriggerKind.JUDGE_UNSURE)
    Trigger.objects.create(case=final, kind=TriggerKind.HUMANS_DIFFER)
    reviewed(final, one, "CC", note='=HYPERLINK("x")', **at)
    reviewed(final, two, "LC", note='-1\nsays "two", über 漢字\r\nlines', **at)
    reviewed(final, third, "LI", role=Role.ADJUDICATOR, note="@SUM(1)", **at)
    decided(
        final,
        third,
        "LI",
        reasons=["bad_test", "judge_error"],
        note="+1: the test is bad",
        decided=BEGIN + timedelta(hours=9),
    )

    old = settled(given[2], 3, state=CaseState.REOPENED, label="LC", source=FinalSource.AGREED)
    new = settled(given[2], 4, round=2, state=CaseState.AGREED, label="LI", source=FinalSource.SINGLE, labels_wanted=1)
    reviewed(old, one, "LC", **at)
    reviewed(old, two, "LC", **at)
    reviewed(new, third, "LI", **at)

    repeat = settled(given[0], 5, kind=CaseKind.REPEAT, state=CaseState.AGREED, reserved_for=one, labels_wanted=1)
    reviewed(repeat, one, "LC", **at)
    return [agreed, final, old, new, repeat]


def unsettled() -> list[Case]:
    """Cases that are nobody's business yet, or never will be: open, disputed, void, practice."""
    person: Reviewer = ReviewerFactory()
    made = [
        case_of(state=CaseState.ONE_LABEL),
        case_of(state=CaseState.DISPUTED),
        case_of(state=CaseState.VOID),
        case_of(kind=CaseKind.PRACTICE, known_label="CC"),
    ]
    for case in made:
        reviewed(case, person, "CC")
    return made
