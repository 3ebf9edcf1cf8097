"""Create notices of events. Each function may be called repeatedly: each event gets one notice.

Signal receivers call them at once; the sweep calls :func:`catch_up`, which makes notices that a crash has lost.
"""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Final

from django.core.cache import cache
from django.db import transaction
from django.db.models import Count, Exists, OuterRef, Q
from django.utils import timezone

from evaluator.enums import GenerationState, WorkState
from evaluator.models import Judgement
from leaderboard.models import MailChoice, Notice
from leaderboard.models.enums import NoticeKind
from leaderboard.notices.mailing import is_offered, push_mails
from leaderboard.notices.reading import mark_read
from reviews.annotators.readiness import missing_steps
from reviews.enums import NEWEST_CLOSED, CaseKind, Role, TriggerKind
from reviews.labelling.claiming import claimable
from reviews.models import Case, Reviewer, Trigger
from submissions.domain.ownership import contacts
from submissions.enums import SubmissionState, Verb
from submissions.models import AuditEvent, Submission

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from datetime import datetime
    from typing import Any

    from django.db.models import QuerySet

KEPT: Final = timedelta(days=90)
"""Older notices are removed."""
LOOKBACK: Final = timedelta(days=2)
"""How far back the sweep looks for missed events: well below :data:`KEPT`, so that no notice is sent twice."""
_CHECK_INTERVAL: Final = timedelta(minutes=5)
_UNFINISHED: Final = (WorkState.QUEUED, WorkState.RUNNING, WorkState.HELD)
_KIND_OF_ACTION: Final = {
    Verb.PAUSED: NoticeKind.PAUSED,
    Verb.HIDDEN: NoticeKind.HIDDEN,
    Verb.UNHIDDEN: NoticeKind.UNHIDDEN,
}
_CONTINUED: Final = (Verb.RETRIED, Verb.RESUMED)


def note_scored(submission: Submission) -> None:
    """Notify the owner that a submission was scored."""
    _store(_notices(NoticeKind.SCORED, [submission]))


def note_judged(submission_id: int) -> None:
    """Notify the owner that a submission was judged, once all verdicts on it are decided."""
    _store(_notices(NoticeKind.JUDGED, _newly_judged([submission_id])))


def note_appeal(case: Case) -> None:
    """Notify the appellant that the case with the appeal was closed."""
    _store(_appeal_notices([case.pk]))


def catch_up() -> None:
    """Create missed notices, and those of held submissions and waiting reviews; remove old ones; queue e-mails."""
    since = timezone.now() - LOOKBACK
    noticed = Notice.objects.filter(submission=OuterRef("pk"))
    scored = Submission.objects.filter(~Exists(noticed.filter(kind=NoticeKind.SCORED)), scored_at__gte=since)
    newly = _notices(NoticeKind.SCORED, scored)
    rated = Judgement.objects.filter(finished__gte=since).order_by()
    newly += _notices(NoticeKind.JUDGED, _newly_judged(rated.values("implementation__submission")))
    closed = Case.objects.filter(~Exists(Notice.objects.filter(case=OuterRef("pk"))), closed__gte=since)
    newly += _appeal_notices(closed.values("pk"))
    _store([*newly, *_held_notices(), *_action_notices(since)])
    if cache.add("notices-looked-after", True, int(_CHECK_INTERVAL.total_seconds())):
        _store(_review_notices())
        Notice.objects.filter(made__lt=timezone.now() - KEPT).delete()
    push_mails()


def _notices(kind: NoticeKind, submissions: Iterable[Submission], keys: Sequence[str] = ()) -> list[Notice]:
    """Make a notice of each submission for the account to notify; ``keys`` default to the submissions' numbers."""
    found = list(submissions)
    people, named = contacts(found), keys or [str(each.pk) for each in found]
    return [
        Notice(recipient_id=people[each.pk], kind=kind, key=key, submission_id=each.pk)
        for each, key in zip(found, named, strict=True)
    ]


def _newly_judged(submissions: Iterable[int] | QuerySet[Any, Any]) -> list[Submission]:
    """Return the ``submissions`` whose verdicts are all decided, and whose owner has no notice of it yet."""
    verdicts = Judgement.objects.filter(implementation__submission=OuterRef("pk"))
    noticed = Notice.objects.filter(submission=OuterRef("pk"), kind=NoticeKind.JUDGED)
    found = Submission.objects.filter(
        Exists(verdicts.filter(state=WorkState.DONE)),
        ~Exists(verdicts.filter(state__in=_UNFINISHED)),
        ~Exists(noticed),
        pk__in=submissions,
        state=SubmissionState.SCORED,
    )
    return list(found)


def _appeal_notices(cases: Iterable[int] | QuerySet[Any, Any]) -> list[Notice]:
    appeals = Trigger.objects.filter(
        case__in=cases,
        case__kind=CaseKind.REVIEW,
        case__state__in=NEWEST_CLOSED,
        kind=TriggerKind.APPEAL,
        raised_by__isnull=False,
    )
    decided = appeals.values_list("raised_by", "case", "case__implementation__submission")
    return [
        Notice(recipient_id=person, kind=NoticeKind.APPEAL, key=str(case), submission_id=submission, case_id=case)
        for person, case, submission in decided
    ]


def _held_notices() -> list[Notice]:
    """Make notices of held submissions, another one each time that a submission is held again."""
    held = list(Submission.objects.filter(state=SubmissionState.HELD))
    if not held:
        return []
    again = AuditEvent.objects.filter(
        subject_kind="submission", subject_id__in=[str(each.pk) for each in held], verb__in=_CONTINUED
    )
    rounds = dict(again.order_by().values_list("subject_id").annotate(Count("pk")))
    notices = _notices(NoticeKind.HELD, held, [f"{each.pk}:{rounds.get(str(each.pk), 0)}" for each in held])
    noticed = Notice.objects.filter(kind=NoticeKind.HELD, submission__in=held).values_list("recipient", "key")
    known = set(noticed)
    return [each for each in notices if (each.recipient_id, each.key) not in known]


def _action_notices(since: datetime) -> list[Notice]:
    """Make a notice for the owner for each action of the site or a maintainer on a submission.

    Notices of held runs are made by :func:`_held_notices`.
    """
    events = AuditEvent.objects.filter(
        subject_kind="submission", verb__in=_KIND_OF_ACTION, created__gte=since
    ).order_by("pk")
    actions = [
        (event, verb, subject, actor)
        for event, verb, subject, actor, data in events.values_list("pk", "verb", "subject_id", "actor", "data")
        if data.get("state") != GenerationState.HELD
    ]
    if not actions:
        return []
    submissions = Submission.objects.in_bulk({int(subject) for _, _, subject, _ in actions})
    people = contacts(submissions.values())
    made = Notice.objects.filter(kind__in=_KIND_OF_ACTION.values(), submission__in=submissions)
    known = set(made.values_list("kind", "key"))
    found = []
    for event, verb, subject, actor in actions:
        submission, key, kind = submissions.get(int(subject)), f"{subject}:{event}", _KIND_OF_ACTION[Verb(verb)]
        if submission is not None and actor != people[submission.pk] and (kind, key) not in known:
            found += _notices(kind, [submission], [key])
    return found


def _review_notices() -> list[Notice]:
    """Make a notice for each annotator with answers to label, unless one is unread or was made within a day.

    Unread notices that are no longer true are marked as read.
    """
    now = timezone.now()
    sent = Notice.objects.filter(kind=NoticeKind.REVIEW)
    recent = set(sent.filter(Q(read=None) | Q(made__gt=now - timedelta(days=1))).values_list("recipient", flat=True))
    reviewers = Reviewer.objects.filter(active=True, user__is_active=True).select_related("user")
    busy = {each.user_id for each in reviewers if each.user_id and _has_work(each)}
    mark_read(sent.exclude(recipient__in=busy))
    return [
        Notice(recipient_id=person, kind=NoticeKind.REVIEW, key=now.date().isoformat())
        for person in sorted(busy - recent)
    ]


def _has_work(reviewer: Reviewer) -> bool:
    """Return whether there is an item that this annotator could take now."""
    return any(claimable(reviewer, role).exists() for role in Role) and not missing_steps(reviewer)


def _store(notices: Collection[Notice]) -> None:
    """Store new notices; e-mails about them are due to recipients who want them."""
    if not notices:
        return
    now = timezone.now()
    people = {each.recipient_id for each in notices}
    wanted = set(MailChoice.objects.filter(user__in=people).values_list("user", "kind")) if is_offered() else set()
    for each in notices:
        each.made = now
        each.mail_due = now if (each.recipient_id, each.kind) in wanted else None
    Notice.objects.bulk_create(notices, ignore_conflicts=True)
    if wanted:
        transaction.on_commit(partial(push_mails))
