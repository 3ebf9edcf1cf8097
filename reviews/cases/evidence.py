"""Collect what an adjudicator sees after locking a blind label: labels, judgements, tests and triggers.

The evidence names no system, submitter or annotator. Public pages use the same functions to show labels and findings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypedDict

from django.utils.crypto import salted_hmac

from evaluator.models import Judgement, TestRun
from evaluator.testing.shown_outcomes import badge_of, case_rows, newest
from reviews.enums import CaseKind, ErrorClass, FindingSide, Role
from reviews.models import Case

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from evaluator.testing.shown_outcomes import Badge, CaseRow, PrivateCases
    from reviews.models import Assignment, Review, Reviewer, Trigger
    from submissions.models import Implementation

QUOTED_LINES: Final = 12
_NAMES: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True)
class ShownFinding:
    """A reviewer's finding. ``quoted`` has its lines, if they may be shown; ``error_class`` may be empty.

    ``side`` and ``end`` are the code and the line (from 1) below which the finding is shown.
    """

    side: str
    end: int
    where: str
    quoted: str
    text: str
    error_class: str


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

    ``labels`` pairs a name (A, B, …) with each annotator's label; ``earlier`` has previous rounds with a label.
    """

    own: ShownLabel
    labels: list[tuple[str, ShownLabel]]
    tests: ShownTests
    judges: list[Judgement]
    triggers: list[Trigger]
    earlier: list[Case]


def evidence(assignment: Assignment, *, candidate: str, golden: str) -> Evidence:
    """Return the evidence for an adjudicator, with the sources whose lines findings count.

    Raises ``Review.DoesNotExist`` before the blind label is locked.
    """
    case, own = assignment.case, assignment.review
    annotators = case.reviews.filter(role=Role.ANNOTATOR).select_related("guideline")
    rounds = Case.objects.filter(implementation=case.implementation_id, kind=CaseKind.REVIEW, round__lt=case.round)
    return Evidence(
        own=shown_label(own, candidate=candidate, golden=golden),
        labels=[
            (name, shown_label(review, candidate=candidate, golden=golden))
            for name, review in zip(_NAMES, shuffled(annotators, case, assignment.reviewer), strict=False)
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


def shown_label(review: Review, *, candidate: str, golden: str) -> ShownLabel:
    """Return a label for display; an empty source is not quoted."""
    sources = {FindingSide.CANDIDATE.value: candidate, FindingSide.GOLDEN.value: golden}
    return ShownLabel(
        label=review.label,
        meaning=review.get_label_display(),
        confidence=review.get_confidence_display(),
        findings=tuple(_finding(each, sources) for each in review.findings),
        note=review.note,
        locked=review.locked,
        guideline=review.guideline.number,
    )


def _finding(stored: Mapping[str, Any], sources: Mapping[str, str]) -> ShownFinding:
    start, end = int(stored["start"]), int(stored["end"])
    lines = f"line {start}" if start == end else f"lines {start} to {end}"
    quoted = sources[stored["side"]].split("\n")[start - 1 : end]
    cut = [*quoted[:QUOTED_LINES], "…"] if len(quoted) > QUOTED_LINES else quoted
    kind = stored.get("error_class", "")
    return ShownFinding(
        side=stored["side"],
        end=end,
        where=f"{FindingSide(stored['side']).label}, {lines}",
        quoted="\n".join(cut),
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
