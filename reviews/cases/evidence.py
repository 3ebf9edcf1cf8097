"""Collect what an adjudicator sees after locking a blind label: labels, judgements, tests and triggers.

The evidence names no system, submitter or annotator. Public pages use the same functions to show labels and findings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypedDict

from django.utils.crypto import salted_hmac

from evaluator.labels import Label
from evaluator.models import Judgement, TestRun
from evaluator.testing.shown_outcomes import badge_of, case_rows, newest
from reviews.enums import CaseKind, ErrorClass, FindingSide, Role
from reviews.models import Case

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from evaluator.testing.shown_outcomes import Badge, CaseRow, PrivateCases
    from reviews.models import Assignment, Review, Reviewer, Trigger
    from submissions.comparison import Comparison
    from submissions.models import Implementation

_NAMES: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True)
class ShownFinding:
    """A reviewer's finding; ``error_class`` may be empty.

    ``side``, ``start`` and ``end`` are the code and its lines (from 1); the finding is shown below the last one.
    """

    side: str
    start: int
    end: int
    where: str
    text: str
    error_class: str

    @property
    def quote(self) -> str:
        """Return the finding as a sentence of a decision's note: the note is public, and names no annotator."""
        words = [self.text.strip(), f"({self.error_class})" if self.error_class else ""]
        return f"{self.where[0].upper()}{self.where[1:]}: {' '.join(filter(None, words))}"


class PlacedFinding(NamedTuple):
    """A finding in the comparison, and whose it is. ``key`` names it on the page of the evidence, else it is empty."""

    who: str
    finding: ShownFinding
    key: str = ""


@dataclass(frozen=True, slots=True)
class ShownLabel:
    """A locked label without its reviewer."""

    label: str
    meaning: str
    confidence: str
    findings: tuple[ShownFinding, ...]
    note: str
    locked: datetime
    guideline: int


@dataclass(frozen=True, slots=True)
class ShownTests:
    """The unit tests' results. ``failed`` are public test cases; private ones only have a count of passes."""

    badge: Badge
    reason: str
    failed: tuple[CaseRow, ...]
    public: int
    private: PrivateCases

    @property
    def names_tests(self) -> bool:
        """Return whether these are upstream's tests, which have names and no seeds."""
        return any(row.name for row in self.failed)


class Evidence(TypedDict):
    """The evidence beside the code; the keys are the template's variables.

    ``labels`` pairs a name (A, B, …) with each annotator's label; ``findings`` are all findings, for the comparison;
    ``earlier`` has previous rounds with a label.
    """

    own: ShownLabel
    labels: list[tuple[str, ShownLabel]]
    findings: list[PlacedFinding]
    tests: ShownTests
    judges: list[Judgement]
    triggers: list[Trigger]
    earlier: list[Case]


def evidence(assignment: Assignment) -> Evidence:
    """Return the evidence for an adjudicator.

    Raises ``Review.DoesNotExist`` before the blind label is locked.
    """
    case, own = assignment.case, assignment.review
    annotators = case.reviews.filter(role=Role.ANNOTATOR).select_related("guideline")
    rounds = Case.objects.filter(implementation=case.implementation_id, kind=CaseKind.REVIEW, round__lt=case.round)
    shown = shown_label(own)
    labels = [
        (name, shown_label(review))
        for name, review in zip(_NAMES, shuffled(annotators, case, assignment.reviewer), strict=False)
    ]
    return Evidence(
        own=shown,
        labels=labels,
        findings=[
            PlacedFinding(who, finding, f"{name}{number}")
            for name, who, label in [
                *((name, f"Annotator {name}", label) for name, label in labels),
                ("own", "You", shown),
            ]
            for number, finding in enumerate(label.findings, start=1)
        ],
        tests=shown_tests(case.implementation),
        judges=list(Judgement.objects.of_answer(case.implementation)),
        triggers=list(case.triggers.all()),
        earlier=list(rounds.exclude(label="").select_related("decision").order_by("round")),
    )


def shuffled(reviews: Iterable[Review], case: Case, reader: Reviewer) -> list[Review]:
    """Order ``reviews`` independently of time: the order is fixed for each case and reader."""

    def place(review: Review) -> str:
        return salted_hmac("reviews.evidence", f"{case.identifier}:{reader.identifier}:{review.identifier}").hexdigest()

    return sorted(reviews, key=place)


def shown_label(review: Review) -> ShownLabel:
    """Return a label for display."""
    return ShownLabel(
        label=review.label,
        meaning=Label(review.label).plain,
        confidence=review.get_confidence_display(),
        findings=tuple(_finding(each) for each in review.findings),
        note=review.note,
        locked=review.locked,
        guideline=review.guideline.number,
    )


def place_findings(compared: Comparison, findings: Iterable[PlacedFinding]) -> None:
    """Put each finding below the last of its lines in a comparison of golden function and answer.

    If that line is missing, because a docstring is folded or the code is shorter, it is below the last line before.
    """
    rows = compared.rows
    for placed in findings if rows else ():
        is_golden, end = placed.finding.side == FindingSide.GOLDEN, placed.finding.end
        lines = ((place, row.left if is_golden else row.right) for place, row in enumerate(rows))
        before = [place for place, line in lines if line and line.number <= end]
        rows[before[-1] if before else -1].below.append(placed)


def _finding(stored: Mapping[str, Any]) -> ShownFinding:
    start, end = int(stored["start"]), int(stored["end"])
    lines = f"line {start}" if start == end else f"lines {start} to {end}"
    kind = stored.get("error_class", "")
    return ShownFinding(
        side=stored["side"],
        start=start,
        end=end,
        where=f"{FindingSide(stored['side']).label}, {lines}",
        text=str(stored.get("text", "")),
        error_class=ErrorClass(kind).label if kind else "",
    )


def shown_tests(answer: Implementation) -> ShownTests:
    """Return the results of the current run of ``answer``. One query."""
    run = newest(TestRun.objects.current().filter(implementation=answer).order_by("pk").defer("log"))
    public, private = case_rows(run)
    badge = badge_of(run)
    return ShownTests(
        badge=badge,
        reason=run.reason if run and badge.css != "passed" else "",
        failed=tuple(row for row in public if row.badge.css != "passed"),
        public=len(public),
        private=private,
    )
