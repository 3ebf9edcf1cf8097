"""Remove old uploads, trajectories and bodies of requests to models, where the operator limits how long they are kept.

Answers, outcomes, labels, votes, tokens and costs stay. A file leaves the content store when no row names it any more
(``benchmark_tasks.domain.garbage``). Each part is removed within a short transaction, and repeating it does no harm.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

import structlog
from django.conf import settings
from django.core.cache import cache
from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from evaluator.enums import CallState, ReevaluationState, TrajectorySource, WorkState
from evaluator.generation.reading_trajectories import columns_of
from evaluator.models import Judgement, ModelCall, Reevaluation, Trajectory
from evaluator.signals import trajectory_read_again
from reviews.enums import OPEN
from reviews.models import Case
from submissions.domain.audit import record
from submissions.domain.removals import Part, note, removed_call
from submissions.enums import SubmissionState, Verb, Visibility
from submissions.models import Implementation, Submission
from submissions.trajectories.steps import AgentRun

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from django.db.models import QuerySet

AT_ONCE: Final = 500
"""Number of submissions, and of requests to models, that one sweep handles: other work waits for it."""
_BETWEEN: Final = timedelta(days=1)
_SWEPT: Final = "retention-swept"
_UNFINISHED: Final = (WorkState.QUEUED, WorkState.RUNNING, WorkState.HELD)
_ENDED: Final = (SubmissionState.SCORED, SubmissionState.CANCELLED)
log = structlog.get_logger(__name__)


class Due(NamedTuple):
    """What may be removed now."""

    uploads: QuerySet[Submission]
    trajectories: QuerySet[Implementation]
    replies: QuerySet[ModelCall]

    @property
    def counts(self) -> dict[Part, int]:
        """How many of each part there are."""
        numbers = (self.uploads.count(), self.trajectories.count(), self.replies.count())
        return dict(zip(Part, numbers, strict=True))


def due() -> Due:
    """Select what is older than the operator keeps it, and not needed by unfinished work or an open appeal.

    Published submissions keep their trajectories, since their rows say that they have them.
    """
    environment = settings.ENVIRONMENT
    uploads = _settled(environment.keep_uploads_days).exclude(bundle="")
    private = _settled(environment.keep_trajectories_days).filter(
        visibility=Visibility.PRIVATE, published_at__isnull=True
    )
    kept = Q(trajectory="") & (Q(steps=None) | Q(steps__source=TrajectorySource.GENERIC, steps__counts={}))
    trajectories = Implementation.objects.filter(submission__in=private).exclude(kept)
    return Due(uploads, trajectories.order_by("pk"), _old_calls(environment.keep_raw_replies_days).order_by("pk"))


def sweep() -> dict[Part, int]:
    """Remove up to :data:`AT_ONCE` submissions' files and bodies of requests; return how many of each part."""
    found, removed, now = due(), Counter[Part](), timezone.now()
    uploads = set(found.uploads.values_list("pk", flat=True)[:AT_ONCE])
    answers = found.trajectories.order_by().values_list("submission", flat=True).distinct()
    for pk in sorted(uploads | set(answers[:AT_ONCE])):
        removed += _remove_files(pk, found, now)
    removed += _remove_bodies(found.replies.values_list("key", flat=True)[:AT_ONCE], found, now)
    if removed:
        log.info("old_content_removed", **{part.value: number for part, number in removed.items()})
    return {part: removed[part] for part in Part}


def sweep_when_due() -> None:
    """Call :func:`sweep` once a day, and in the next sweep again if there may be more."""
    environment = settings.ENVIRONMENT
    if not (environment.keep_uploads_days or environment.keep_trajectories_days or environment.keep_raw_replies_days):
        return
    if cache.add(_SWEPT, True, int(_BETWEEN.total_seconds())):
        try:
            more = any(sweep().values())
        except BaseException:
            cache.delete(_SWEPT)
            raise
        if more:
            cache.delete(_SWEPT)


def _settled(days: int) -> QuerySet[Submission]:
    """Select the submissions that ended ``days`` ago, and whose answers nothing evaluates or reviews; none for 0."""
    if not days:
        return Submission.objects.none()
    limit = timezone.now() - timedelta(days=days)
    ended = Q(scored_at__lt=limit) | Q(scored_at__isnull=True, created__lt=limit)
    again = Reevaluation.objects.filter(state__in=[ReevaluationState.RUNNING, ReevaluationState.HELD])
    return (
        Submission.objects.filter(ended, state__in=_ENDED)
        .exclude(Exists(_reviewed().filter(implementation__submission=OuterRef("pk"))))
        .exclude(Exists(again.filter(submission=OuterRef("pk"))))
        .order_by("pk")
    )


def _reviewed() -> QuerySet[Case]:
    return Case.objects.filter(state__in=OPEN)


def _old_calls(days: int) -> QuerySet[ModelCall]:
    """Select the calls that ended ``days`` ago and belong to no open work or review; none for 0.

    Calls in doubt stay: an identical question is not sent again because of them.
    """
    if not days:
        return ModelCall.objects.none()
    judged = Judgement.objects.filter(votes__calls=OuterRef("pk"), state__in=_UNFINISHED)
    return (
        ModelCall.objects.filter(ended__lt=timezone.now() - timedelta(days=days))
        .exclude(state__in=[CallState.SENDING, CallState.IN_DOUBT])
        .exclude(key__startswith=removed_call(""))
        .filter(Q(answer_request=None) | Q(answer_request__implementation__submission__state__in=_ENDED))
        .exclude(Exists(judged))
        .exclude(Exists(_reviewed().filter(implementation=OuterRef("answer_request__implementation"))))
        .exclude(Exists(_reviewed().filter(implementation__judgements__votes__calls=OuterRef("pk"))))
    )


@transaction.atomic
def _remove_files(pk: int, found: Due, now: datetime) -> Counter[Part]:
    submission = Submission.objects.select_for_update().get(pk=pk)
    removed = Counter({Part.UPLOADS: found.uploads.filter(pk=pk).update(bundle="")})
    answers = list(found.trajectories.filter(submission=pk).values_list("pk", flat=True))
    if answers:
        unread = columns_of(AgentRun(TrajectorySource.GENERIC, unread=note(now)))
        Trajectory.objects.filter(implementation__in=answers).update(**unread)
        removed[Part.TRAJECTORIES] = Implementation.objects.filter(pk__in=answers).update(trajectory="")
        trajectory_read_again.send(sender=Trajectory, submission_id=pk)  # its row claims no trajectories any more
    removed = +removed
    if removed:
        _record(submission, removed)
    return removed


def _remove_bodies(keys: Iterable[str], found: Due, now: datetime) -> Counter[Part]:
    """Remove the bodies of requests and replies, and give their rows other keys: no later request finds them."""
    removed: Counter[Part] = Counter()
    owners: Counter[int] = Counter()
    body = {"removed": note(now)}
    for key in dict.fromkeys(keys):
        with transaction.atomic():
            calls = list(found.replies.filter(key=key).select_related("answer_request__implementation"))
            new = removed_call(hashlib.sha256(f"{key} {now.isoformat()}".encode()).hexdigest())
            for call in calls:
                response = None if call.response is None else body
                ModelCall.objects.filter(pk=call.pk).update(key=new, request=body, response=response)
                if call.answer_request:
                    owners[call.answer_request.implementation.submission_id] += 1
        removed[Part.REPLIES] += len(calls)
    for submission in Submission.objects.filter(pk__in=owners):
        _record(submission, Counter({Part.REPLIES: owners[submission.pk]}))
    return removed


def _record(submission: Submission, removed: Counter[Part]) -> None:
    reason = ", ".join(f"{part.label}: {number}" for part, number in removed.items())
    data = {part.value: number for part, number in removed.items()}
    record(verb=Verb.REMOVED, subject=submission, actor=None, reason=f"{reason} (retention)", data=data)
