"""Factories of reviewers, cases and labels for all tests."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import factory
from django.utils import timezone

from reviews.cases import holding
from reviews.enums import AssignmentState, CaseKind, CaseState, Confidence, FinalSource, FindingSide, Role, TriggerKind
from reviews.labelling import claiming
from reviews.models import Assignment, Case, Decision, GuidelineReading, GuidelineRevision, Review, Reviewer, Trigger
from tests.benchmark_tasks.factories import SuiteVersionFactory
from tests.evaluator.factories import TestRunFactory
from tests.leaderboard.judging import judged, show
from tests.numbering import numbered
from tests.submissions.factories import SubmissionFactory, UserFactory, with_answers

if TYPE_CHECKING:
    from evaluator.models import JudgeConfig
    from submissions.models import Implementation

BEGIN = datetime(2026, 11, 1, 9, 30, 15, 123456, tzinfo=UTC)
GUIDELINES = "# Labels\n\nCC, LC or LI.\n"
FINDING: dict[str, Any] = {
    "side": FindingSide.CANDIDATE.value,
    "start": 1,
    "end": 2,
    "text": "It doubles where it should square.",
    "error_class": "comprehension",
}


class ReviewerFactory(factory.django.DjangoModelFactory):
    """An annotator with an account and a complete profile; ``adjudicator=True`` adds that role.

    ``annotator=False`` removes the annotator's role. Guidelines are unread: see :func:`ready`.
    """

    class Meta:
        model = Reviewer

    class Params:
        annotator = True
        adjudicator = False

    user = factory.SubFactory(UserFactory)
    pseudonym = numbered("Quiet Heron ")
    affiliation = "none"
    is_annotator = factory.SelfAttribute("annotator")
    is_adjudicator = factory.SelfAttribute("adjudicator")


def guideline(number: int = 1, *, text: str = GUIDELINES, changes: str = "") -> GuidelineRevision:
    """Return revision ``number`` of the guidelines, created if missing."""
    made, _ = GuidelineRevision.objects.get_or_create(number=number, defaults={"text": text, "changes": changes})
    return made


def ready(**facts: Any) -> Reviewer:
    """Return a reviewer who has read the newest guidelines (created if missing) and may label."""
    reviewer: Reviewer = ReviewerFactory(**facts)
    newest = GuidelineRevision.objects.order_by("-number").first() or guideline()
    GuidelineReading.objects.create(reviewer=reviewer, revision=newest)
    return reviewer


def answers(number: int = 1, *, answer: dict[str, Any] | None = None, **submission: Any) -> list[Implementation]:
    """Return answers of one published submission, each to a different task. ``answer`` has fields of each one."""
    version = submission.pop("suite_version", None) or SuiteVersionFactory()
    sent = SubmissionFactory(suite_version=version, **{"published": True, **submission})
    return with_answers(sent, number, **(answer or {}))


def case_of(answer: Implementation | None = None, **facts: Any) -> Case:
    """Return a queued case of ``answer`` (default: a new published answer). ``facts`` are the case's fields."""
    return Case.objects.create(implementation=answer or answers()[0], **facts)


def assigned(case: Case, reviewer: Reviewer, **facts: Any) -> Assignment:
    """Assign ``case`` to ``reviewer`` for half an hour, without changing the case's state."""
    until = timezone.now() + timedelta(minutes=30)
    return Assignment.objects.create(case=case, reviewer=reviewer, **{"lease_until": until, **facts})


def claimed(reviewer: Reviewer, role: Role = Role.ANNOTATOR) -> Assignment:
    """Claim an item and return it; fail if there is none."""
    assignment = claiming.claim(reviewer=reviewer, role=role)
    assert assignment is not None
    return assignment


def late(assignment: Assignment) -> Assignment:
    """Let the assignment's lease run out without ending it."""
    Assignment.objects.filter(pk=assignment.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    return assignment


def expired(assignment: Assignment) -> Assignment:
    """Let the assignment's lease run out and return the case to the queue."""
    late(assignment)
    assert holding.expire() == 1
    return assignment


def reviewed(case: Case, reviewer: Reviewer, label: str, *, role: Role = Role.ANNOTATOR, **facts: Any) -> Review:
    """Store the locked ``label`` of ``reviewer``, with a finding unless it is CC; keep the case's state.

    The assignment is done; an adjudicator's is at the evidence, with a lease.
    """
    if role == Role.ADJUDICATOR:
        assignment = assigned(case, reviewer, role=role, state=AssignmentState.EVIDENCE)
    else:
        state = {"state": AssignmentState.DONE, "lease_until": None, "ended": timezone.now()}
        assignment = assigned(case, reviewer, role=role, **state)
    given = {
        "confidence": Confidence.HIGH,
        "findings": [] if label == "CC" else [dict(FINDING)],
        "guideline": GuidelineRevision.objects.order_by("-number").first() or guideline(),
        "locked": timezone.now(),
        **facts,
    }
    return Review.objects.create(case=case, assignment=assignment, reviewer=reviewer, role=role, label=label, **given)


def labelled(case: Case, reviewer: Reviewer, label: str, *, role: Role = Role.ANNOTATOR) -> Assignment:
    """Return the assignment of the label that :func:`reviewed` stores."""
    assignment = reviewed(case, reviewer, label, role=role).assignment
    assert assignment is not None
    return assignment


def decided(case: Case, adjudicator: Reviewer, label: str, **facts: Any) -> Decision:
    """Store the decision of ``adjudicator`` on ``label``, without a blind label; keep the case's state."""
    given = {
        "reasons": ["annotator_slip"],
        "note": "The last line was overlooked.",
        "guideline": GuidelineRevision.objects.order_by("-number").first() or guideline(),
        "decided": timezone.now(),
        **facts,
    }
    return Decision.objects.create(case=case, adjudicator=adjudicator, label=label, **given)


def shares(settings: Any, **drawn: float) -> None:
    """Set the shares of random draws: ``audit``, ``gap``, ``repeat``, each from 0 to 1."""
    named = {f"review_{name}_share": share for name, share in drawn.items()}
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, **named)


def rated(judge: JudgeConfig, outcome: str, label: str, **facts: Any) -> Implementation:
    """Return a published answer with a test outcome and the shown judge's verdict."""
    (answer,) = answers()
    TestRunFactory(implementation=answer, done=outcome, finished=timezone.now())
    show(answer.submission.suite_version.suite, judge)
    judged(answer, judge, label, **facts)
    return answer


def closed_case(answer: Implementation, days: int, **facts: Any) -> Case:
    """Return a case of ``answer`` closed ``days`` after :data:`BEGIN`, and opened a day before."""
    case = case_of(answer, closed=BEGIN + timedelta(days=days), **facts)
    Case.objects.filter(pk=case.pk).update(created=BEGIN + timedelta(days=days - 1))
    return case


def record_of_everything() -> list[Case]:
    """Create cases: agreed, decided with notes like formulas, reopened, its next round (one label), and a repeat."""
    guideline(2)
    one: Reviewer = ReviewerFactory(name="Ada Example", shows_name=True)
    two: Reviewer = ReviewerFactory(name="Kept Private")
    third: Reviewer = ReviewerFactory(adjudicator=True)
    given = answers(4)
    at: dict[str, Any] = {"locked": BEGIN + timedelta(hours=5), "active_seconds": 71}

    agreed = closed_case(given[0], 1, state=CaseState.AGREED, label="CC", source=FinalSource.AGREED)
    Trigger.objects.create(case=agreed, kind=TriggerKind.AUDIT, inclusion_probability=0.1)
    reviewed(agreed, one, "CC", **at)
    reviewed(agreed, two, "CC", note="'quoted', and plain", **at)

    final = closed_case(given[1], 2, state=CaseState.FINAL, label="LI", source=FinalSource.DECISION)
    Trigger.objects.create(case=final, kind=TriggerKind.JUDGE_UNSURE)
    Trigger.objects.create(case=final, kind=TriggerKind.ANNOTATORS_DIFFER)
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

    old = closed_case(given[2], 3, state=CaseState.REOPENED, label="LC", source=FinalSource.AGREED)
    new = closed_case(
        given[2], 4, round=2, state=CaseState.AGREED, label="LI", source=FinalSource.SINGLE, labels_wanted=1
    )
    reviewed(old, one, "LC", **at)
    reviewed(old, two, "LC", **at)
    reviewed(new, third, "LI", **at)

    repeat = closed_case(given[0], 5, kind=CaseKind.REPEAT, state=CaseState.AGREED, reserved_for=one, labels_wanted=1)
    reviewed(repeat, one, "LC", **at)
    return [agreed, final, old, new, repeat]
