"""What an adjudicator sees once the own blind label is locked: labels, judges, tests, and why the case is there.

Nothing here names a system, a submitter or an annotator. Public pages show labels and findings by the same functions.
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
_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True)
class ShownFinding:
    """What somebody found. ``quoted`` are its lines, where these may be shown; ``error_class`` may be empty.

    ``side`` and ``end`` are the code and its line (from 1) below which the finding stands.
    """

    side: str
    end: int
    where: str
    quoted: str
    text: str
    error_class: str


@dataclass(frozen=True, slots=True)
class ShownLabel:
    """A locked label without whose it is."""

    label: str
    meaning: str
    confidence: str
    findings: tuple[ShownFinding, ...]
    note: str
    locked: datetime
    guideline: int


@dataclass(frozen=True, slots=True)
class ShownTests:
    """What the unit tests said. ``failed`` are public cases; of private ones only how many passed is known."""

    badge: Badge
    reason: str
    failed: tuple[CaseRow, ...]
    public: int
    private: PrivateCases

    @property
    def names_tests(self) -> bool:
        """Whether these are upstream's tests, which have names and no seeds."""
        return any(row.name for row in self.failed)


class Evidence(TypedDict):
    """What stands beside the code; the names are those of the page's template.

    ``labels`` pairs a letter with each annotator's label; ``earlier`` are the rounds before that came to a label.
    """

    own: ShownLabel
    labels: list[tuple[str, ShownLabel]]
    tests: ShownTests
    judges: list[Judgement]
    triggers: list[Trigger]
    earlier: list[Case]


def evidence(assignment: Assignment, *, candidate: str, golden: str) -> Evidence:
    """The evidence for an adjudicator whose blind label is locked; the sources as findings count their lines.

    Raises ``Review.DoesNotExist`` before that.
    """
    case, own = assignment.case, assignment.review
    annotators = case.reviews.filter(role=Role.ANNOTATOR).select_related("guideline")
    rounds = Case.objects.filter(implementation=case.implementation_id, kind=CaseKind.REVIEW, round__lt=case.round)
    return Evidence(
        own=shown_label(own, candidate=candidate, golden=golden),
        labels=[
            (letter, shown_label(review, candidate=candidate, golden=golden))
            for letter, review in zip(_LETTERS, shuffled(annotators, case, assignment.reviewer), strict=False)
        ],
        tests=shown_tests(case.implementation),
        judges=list(Judgement.objects.of_answer(case.implementation)),
        triggers=list(case.triggers.all()),
        earlier=list(rounds.exclude(label="").select_related("decision").order_by("round")),
    )


def shuffled(reviews: Iterable[Review], case: Case, reader: Reviewer) -> list[Review]:
    """``reviews`` in an order that says nothing of who came first: one for each case and reader, always the same."""

    def place(review: Review) -> str:
        return salted_hmac("reviews.evidence", f"{case.identifier}:{reader.identifier}:{review.identifier}").hexdigest()

    return sorted(reviews, key=place)


def shown_label(review: Review, *, candidate: str, golden: str) -> ShownLabel:
    """A label as pages show it; an empty source is not quoted."""
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
    """What the run that counts says of ``answer``. One query."""
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
