"""Run the practice round: answers with known labels that every reviewer labels before the first real item."""

from __future__ import annotations

import hashlib
import tomllib
import uuid
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from django.db import transaction
from django.db.models import Exists, OuterRef

from evaluator.labels import Label
from reviews.cases.calibration import submit_answers, submitted_before, version_of
from reviews.cases.holding import lease_end
from reviews.cases.states import move, note
from reviews.enums import AssignmentState, CaseKind, CaseState, Role
from reviews.models import Assignment, Case, Review

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.db.models import QuerySet

    from reviews.models import Reviewer
    from submissions.models import Submission

ITEMS: Final = Path(__file__).parents[1] / "practice" / "items.toml"
SYSTEM: Final = "Practice answers"


@dataclass(frozen=True, slots=True)
class Item:
    """An answer to ``task``, its known label, and the explanation."""

    task: str
    label: Label
    explanation: str
    source: str


@dataclass(frozen=True, slots=True)
class Round:
    """The shipped items in order. ``notes`` identify this set of items."""

    suite: str
    notes: str
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Progress:
    """A reviewer's progress: ``right`` of ``done`` labels were correct, of ``total`` items."""

    done: int
    right: int
    total: int


@cache
def shipped_round() -> Round:
    """Load the items of ``reviews/practice/items.toml``."""
    content = ITEMS.read_bytes()
    data = tomllib.loads(content.decode())
    items = tuple(
        Item(row["task"], Label(row["label"]), _unwrapped(row["explanation"]), row["source"].strip("\n") + "\n")
        for row in data["items"]
    )
    digest = hashlib.sha256(content).hexdigest()[:12]
    return Round(data["suite"], f"Answers with known labels, for reviewers to practise on (items {digest}).", items)


def _unwrapped(text: str) -> str:
    """Join the lines of each paragraph, so that pages wrap them instead of the file."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.strip().split("\n\n"))


def ensure_practice() -> int:
    """Submit the shipped items once and open a practice case for each; return how many there are.

    There are none if the suite is not loaded. Cases of earlier items are voided; their labels stay. The submission
    stays unpublished, so that reviewers cannot find the answers on a board before practising.
    """
    shipped = shipped_round()
    version = version_of(shipped.suite)
    if version is None:
        return 0
    submission = submitted_before(suite=shipped.suite, system=SYSTEM, notes=shipped.notes)
    if submission is None:
        answers = {(item.task, 1): item.source for item in shipped.items}
        submission = submit_answers(version=version, answers=answers, system=SYSTEM, notes=shipped.notes, publish=False)
    with transaction.atomic():
        _open_cases(submission, shipped.items)
        for old in Case.objects.filter(kind=CaseKind.PRACTICE).exclude(implementation__submission=submission):
            move(old, allowed=[CaseState.QUEUED], after=CaseState.VOID, what="other practice items took its place")
    return practice_cases().count()


def _open_cases(submission: Submission, items: Sequence[Item]) -> None:
    answers = {row.revision.task.slug: row for row in submission.implementations.select_related("revision__task")}
    for item in items:
        case, made = Case.objects.get_or_create(
            implementation=answers[item.task],
            kind=CaseKind.PRACTICE,
            defaults={"known_label": item.label.value, "explanation": item.explanation},
        )
        if made:
            note(case, before="", after=CaseState.QUEUED, what="practice")


def practice_cases() -> QuerySet[Case]:
    """Return the cases of the practice round, in order."""
    return Case.objects.filter(kind=CaseKind.PRACTICE).exclude(state=CaseState.VOID).order_by("pk")


def _not_labelled(reviewer: Reviewer) -> QuerySet[Case]:
    return practice_cases().exclude(Exists(Review.objects.filter(case=OuterRef("pk"), reviewer=reviewer)))


def remaining(reviewer: Reviewer) -> int:
    """Return how many practice items ``reviewer`` has not labelled yet. One query."""
    return _not_labelled(reviewer).count()


def progress(reviewer: Reviewer) -> Progress:
    """Return the progress of ``reviewer``. No score is required, only having seen every explanation."""
    labels = practice_cases().filter(reviews__reviewer=reviewer).values_list("known_label", "reviews__label")
    pairs = list(labels)
    return Progress(len(pairs), sum(known == label for known, label in pairs), practice_cases().count())


def seen(reviewer: Reviewer) -> list[Review]:
    """Return the practice labels of ``reviewer`` in order, each with its case and task. One query."""
    labels = Review.objects.filter(reviewer=reviewer, case__in=practice_cases())
    return list(labels.select_related("case__implementation__revision__task").order_by("case"))


def next_practice(reviewer: Reviewer) -> Assignment | None:
    """Return the assignment of the first unlabelled practice item of ``reviewer``, with a new lease; None at the end.

    No other reviewer waits for a practice item, so expired and returned ones are simply resumed.
    """
    until = lease_end()
    for case in _not_labelled(reviewer):
        with transaction.atomic():
            assignment, _ = Assignment.objects.select_for_update().get_or_create(
                case=case, reviewer=reviewer, defaults={"role": Role.ANNOTATOR, "lease_until": until}
            )
            # Locked in another tab just now.
            if assignment.state == AssignmentState.DONE:
                continue
            if assignment.state != AssignmentState.ACTIVE:
                assignment.token, assignment.ended, assignment.skip_reason = uuid.uuid4(), None, ""
            assignment.state, assignment.lease_until = AssignmentState.ACTIVE, until
            assignment.save(update_fields=["state", "token", "lease_until", "ended", "skip_reason"])
            return assignment
    return None
