"""Decide which answers are reviewed, and which cases go to an adjudicator (docs/design/verdicts.md)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Final

from django.conf import settings
from django.core.cache import cache
from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Prefetch, Q
from django.utils import timezone

from evaluator.enums import WorkState
from evaluator.labels import Label
from evaluator.outcomes import Outcome
from reviews.cases import states
from reviews.cases.ratings import Rating, ratings_of, steps_between
from reviews.cases.sampling import drawn
from reviews.cases.voiding import is_revivable, revive, voided_at
from reviews.enums import CaseKind, CaseState, Severity, TriggerKind
from reviews.models import Case, CaseEvent, Trigger
from reviews.signals import case_triggered
from submissions.enums import Kind, SubmissionState, Visibility
from submissions.models import Implementation

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from django.db.models import QuerySet

AUDIT: Final = "audit"
"""Purpose of the random draw of answers that are reviewed regardless of their ratings."""

GAP: Final = "judge gap"
"""Purpose of the random draw among one-step gaps between annotators and judge."""

_CONSIDERED: Final = "reviews.considered"
_IN_FLIGHT: Final = timedelta(minutes=10)
_UNLABELLED: Final = (CaseState.QUEUED, CaseState.LEASED)


@dataclass(frozen=True, slots=True)
class NewTrigger:
    """A reason for review. ``inclusion_probability`` is 1 if always reviewed, less for a random sample.

    ``raised_by`` is the id of the user who appealed.
    """

    kind: TriggerKind
    severity: Severity
    detail: str = ""
    inclusion_probability: float = 1.0
    raised_by: int | None = None


def eligible() -> QuerySet[Implementation]:
    """Return the answers that may be reviewed: those of ranked, scored submissions with public code."""
    return Implementation.objects.filter(
        attempted=True,
        submission__state=SubmissionState.SCORED,
        submission__kind=Kind.RANKED,
        submission__visibility=Visibility.PUBLISHED,
    ).exclude(submission__code_licence="")


def triggers_of(answer: int, rating: Rating) -> list[NewTrigger]:
    """Return the triggers for the answer with this id and ``rating``; empty if there is no reason for review.

    Every judged answer is audited with the same probability, independent of its ratings, so the audited answers,
    disputed or not, are a simple random sample. Only this sample is used to correct for judges' errors.
    """
    found = []
    if rating.outcome == Outcome.TEST_LACKS.value:
        # No machine can decide it, so that it need not wait for the judge.
        found.append(NewTrigger(TriggerKind.TEST_LACKS, Severity.CONTRADICTION, Outcome.TEST_LACKS.words))
    if not rating.decided:
        return found
    if _contradict(rating.outcome, rating.label):
        words = f"unit tests: {Outcome(rating.outcome).words}; judge: {rating.label}"
        found.append(NewTrigger(TriggerKind.TESTS_OPPOSE, Severity.CONTRADICTION, words))
    if rating.doubts:
        found.append(NewTrigger(TriggerKind.JUDGE_UNSURE, Severity.UNSURE, "; ".join(rating.doubts)))
    share = settings.ENVIRONMENT.review_audit_share
    if drawn(AUDIT, answer, share):
        found.append(NewTrigger(TriggerKind.AUDIT, Severity.AUDIT, inclusion_probability=share))
    return found


def after_labels(case: Case, labels: tuple[str, str]) -> list[NewTrigger]:
    """Return why two locked labels go to an adjudicator; empty if they close the case.

    The draw of one-step gaps is independent of the audit's.
    """
    one, other = labels
    found = []
    if one != other:
        severity = Severity.CONFLICT if steps_between(one, other) > 1 else Severity.CONTRADICTION
        found.append(NewTrigger(TriggerKind.ANNOTATORS_DIFFER, severity, f"{min(labels)} against {max(labels)}"))
    else:
        found += _against_machines(case, one)
    if case.triggers.filter(kind=TriggerKind.APPEAL).exists():
        found.append(NewTrigger(TriggerKind.APPEAL, Severity.APPEAL))
    return found


def _against_machines(case: Case, agreed: str) -> list[NewTrigger]:
    rating = ratings_of([case.implementation_id])[case.implementation_id]
    words = f"annotators: {agreed}; judge: {rating.label}"
    steps = steps_between(agreed, rating.label) if rating.label else 0
    found = []
    if steps > 1:
        found.append(NewTrigger(TriggerKind.JUDGE_OPPOSES, Severity.CONFLICT, words))
    if _contradict(rating.outcome, agreed):
        tests = f"unit tests: {Outcome(rating.outcome).words}; annotators: {agreed}"
        found.append(NewTrigger(TriggerKind.TESTS_OPPOSE, Severity.CONTRADICTION, tests))
    share = settings.ENVIRONMENT.review_gap_share
    if steps == 1 and drawn(GAP, case.implementation_id, share):
        found.append(NewTrigger(TriggerKind.JUDGE_GAP, Severity.GAP, words, share))
    return found


def _contradict(outcome: str, label: str) -> bool:
    """Return whether a test outcome and a label contradict each other. Crashes and timeouts contradict no label."""
    passed_yet_wrong = outcome == Outcome.PASSED.value and label == Label.LI.value
    return passed_yet_wrong or (outcome == Outcome.WRONG_OUTPUT.value and label == Label.CC.value)


def consider(implementation: Implementation) -> Case | None:
    """Open a case of the answer if it has triggers; return its newest case, or ``None``.

    Idempotent. An unlabelled case gets further triggers; one that annotators closed goes to an adjudicator if the
    judge's label is two steps away; a decided one is not changed.
    """
    _consider(eligible().filter(pk=implementation.pk))
    return Case.objects.filter(kind=CaseKind.REVIEW, implementation=implementation).order_by("round").last()


def consider_submission(submission_id: int) -> int:
    """Call :func:`consider` for every answer of a submission; return how many cases were opened.

    The number of queries is constant, plus a few for each case that is opened or changed.
    """
    return _consider(eligible().filter(submission=submission_id))


def consider_missed() -> int:
    """Consider answers without a case that changed since the last run; return how many cases were opened.

    Signals are lost if a worker is killed between storing a verdict and its receivers. If the time of the last run is
    unknown, every judged answer without a case is considered.
    """
    started, until = timezone.now(), cache.get(_CONSIDERED)
    reviewed = Case.objects.filter(kind=CaseKind.REVIEW, implementation=OuterRef("pk"))
    news = Q(judgements__state=WorkState.DONE)
    if until is not None:
        since = until - _IN_FLIGHT
        news &= Q(judgements__finished__gt=since) | Q(submission__published_at__gt=since)
    opened = _consider(eligible().filter(~Exists(reviewed), news).distinct())
    cache.set(_CONSIDERED, started, timeout=None)
    return opened


def _consider(answers: QuerySet[Implementation]) -> int:
    numbers = list(answers.order_by("pk").values_list("pk", flat=True))
    if not numbers:
        return 0
    ratings = ratings_of(numbers)
    newest = {case.implementation_id: case for case in _review_cases().filter(implementation__in=numbers)}
    opened = 0
    for number in numbers:
        found, case = triggers_of(number, ratings[number]), newest.get(number)
        if case is None:
            opened += bool(found) and open_case(number, found) is not None
        elif case.state == CaseState.VOID:
            opened += _after_void(case, found, ratings[number])
        else:
            _update(case, found, ratings[number])
    return opened


def _review_cases() -> QuerySet[Case]:
    """Return review cases ordered by round, with their triggers and voidings."""
    events = CaseEvent.objects.filter(after=CaseState.VOID).order_by("-pk")
    return (
        Case.objects.filter(kind=CaseKind.REVIEW)
        .prefetch_related("triggers", Prefetch("events", events, to_attr="voidings"))
        .order_by("round")
    )


def open_case(answer: int, found: Sequence[NewTrigger], *, round_: int = 1) -> Case | None:
    """Open a round for the answer with this id; return ``None`` if another process just did."""
    try:
        with transaction.atomic():
            case = Case.objects.create(
                implementation_id=answer, round=round_, severity=max(trigger.severity for trigger in found)
            )
            states.note(case, before="", after=CaseState.QUEUED, what="opened")
            store_triggers(case, found)
    except IntegrityError:
        return None
    return case


def store_triggers(case: Case, found: Iterable[NewTrigger]) -> None:
    """Add triggers to a case and raise its severity. A repeated kind is not stored, but can raise the severity."""
    made = list(found)
    Trigger.objects.bulk_create(
        [
            Trigger(
                case=case,
                kind=trigger.kind,
                detail=trigger.detail,
                inclusion_probability=trigger.inclusion_probability,
                raised_by_id=trigger.raised_by,
            )
            for trigger in made
        ],
        ignore_conflicts=True,
    )
    severity = max((trigger.severity for trigger in made), default=0)
    if Case.objects.filter(pk=case.pk, severity__lt=severity).update(severity=severity):
        case.severity = severity
    # Sent at once outside a transaction, so after all is stored.
    transaction.on_commit(partial(case_triggered.send, sender=Case, case=case))


def _update(case: Case, found: list[NewTrigger], rating: Rating) -> None:
    """Update an existing case for the newest ratings."""
    known = {trigger.kind for trigger in case.triggers.all()}
    if case.state == CaseState.AGREED and rating.label and case.label:
        _dispute_if_two_steps(case, rating.label, known)
    # The audit's draw is always recorded; a case with labels gets no other triggers.
    wanted = {trigger.kind for trigger in found} if case.state in _UNLABELLED else {TriggerKind.AUDIT}
    new = [trigger for trigger in found if trigger.kind in wanted - known]
    if new:
        store_triggers(case, new)


def _dispute_if_two_steps(case: Case, judge: str, known: set[str]) -> None:
    if TriggerKind.JUDGE_OPPOSES in known or steps_between(case.label, judge) < 2:
        return
    words = f"annotators: {case.label}; judge: {judge}"
    with transaction.atomic():
        if states.move(
            case,
            allowed=[CaseState.AGREED],
            after=CaseState.DISPUTED,
            what="a later verdict is two steps away",
            label="",
            source="",
            closed=None,
        ):
            store_triggers(case, [NewTrigger(TriggerKind.JUDGE_OPPOSES, Severity.CONFLICT, words)])
            states.announce(case)


def _after_void(case: Case, found: list[NewTrigger], rating: Rating) -> bool:
    """Open a new round if the answer was re-evaluated since it was voided; return whether it was opened.

    A case that was void only because its submission was not public is revived instead, so withdrawing for a moment does
    not end a review.
    """
    if is_revivable(case):
        revive(case)
        _update(case, found, rating)
        return False
    measured_since = rating.again and rating.measured is not None and rating.measured > voided_at(case)
    if not (found and measured_since):
        return False
    return open_case(case.implementation_id, found, round_=case.round + 1) is not None
