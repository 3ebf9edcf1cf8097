"""Collect what waits for a maintainer: held submissions, flagged tasks, appeals, unaudited tasks, stuck work."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from django.db.models import Count, Min
from django.urls import reverse
from django.utils import timezone

from benchmark_tasks.domain import content, garbage
from evaluator.enums import ReevaluationState, WorkState
from evaluator.hosts.rows import with_signs_of_life
from evaluator.models import Judgement, Reevaluation
from leaderboard.health.queues import errors_of_held
from leaderboard.health.status import pools_without_host, unaudited_tasks
from reviews.cases.flags import raised_flags
from reviews.enums import CLOSED, CaseState, TriggerKind
from reviews.models import Trigger
from submissions.enums import SubmissionState
from submissions.models import Submission, Upload

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from datetime import datetime

    from benchmark_tasks.models import Suite, TaskRevision
    from leaderboard.health.queues import QueueState

MOST_LINES: Final = 100
"""Number of lines of a kind that are listed: the oldest."""
CHECK_TAKES: Final = timedelta(minutes=10)
"""An upload whose check has not ended after this time is stuck: a check ends or is repeated within minutes."""


class Waiting(StrEnum):
    """Kinds of lines."""

    STUCK = "stuck"
    HELD = "held"
    FLAGGED = "flagged"
    APPEALED = "appealed"
    UNAUDITED = "unaudited"


@dataclass(frozen=True, slots=True)
class Line:
    """Something that waits ``since`` a time: its ``title`` with its page, and what ``todo`` with the page to do it on.

    ``command`` is one to run; ``reason`` an infrastructure error in full; ``retry`` the held submission to be retried.
    """

    kind: Waiting
    since: datetime
    title: str
    todo: str
    address: str = ""
    where: str = ""
    where_title: str = ""
    command: str = ""
    reason: str = ""
    retry: int = 0


class Inbox(NamedTuple):
    """The lines, oldest first. ``more``: some kind has more than the :data:`MOST_LINES` that are listed."""

    lines: list[Line]
    more: bool

    @property
    def kinds(self) -> list[str]:
        """The kinds of the lines, with their numbers."""
        counted = Counter(line.kind for line in self.lines)
        return [f"{counted[kind]} {kind}" for kind in Waiting if counted[kind]]


def inbox(queue: QueueState, *, hidden: Collection[int]) -> Inbox:
    """Read everything that waits, in a constant number of queries.

    Appeals against answers of the submissions ``hidden`` from the viewer (``leaderboard.board.visibility``) are left
    out: labels are blind.
    """
    stuck = [*_stuck(queue), *_held_verdicts(), *_missing_files(), *_hosts()]
    read = (list(_held()), list(_flags()), list(_appeals(hidden)))
    lines = [*stuck, *_unaudited(), *(line for found in read for line in found[:MOST_LINES])]
    more = any(len(found) > MOST_LINES for found in read)
    return Inbox(sorted(lines, key=lambda line: line.since), more)


def _stuck(queue: QueueState) -> Iterator[Line]:
    """Yield work that waits because nothing does it."""
    now = timezone.now()
    since = queue.oldest_waiting or now
    if queue.registered is None:
        yield _standing(
            "The queue's server does not answer", "Correct REDIS_URL, or start the server:", since, "make run"
        )
    elif not queue.registered and queue.queued:
        title = f"{_number(queue.queued, 'test run')} without a worker that listens"
        yield _standing(title, "Start everything:", since, "make run")
    elif queue.stalled:
        title = f"{_number(queue.queued, 'test run')}, and none is under way"
        yield _standing(title, "Read the workers' logs, and the", since)
    if queue.model_workers == 0 and queue.questions:
        title = f"{_number(queue.questions, 'request')} to models without a worker that listens"
        yield _standing(title, "Start everything:", now, "make run")
    late = Upload.objects.filter(checked=False, created__lt=now - CHECK_TAKES)
    uploads = late.aggregate(number=Count("pk"), oldest=Min("created"))
    if uploads["number"]:
        title = f"{_number(uploads['number'], 'upload')} whose check does not end"
        yield _standing(title, "Read the workers' logs, and the", uploads["oldest"])


def _missing_files() -> Iterator[Line]:
    """Yield what is wrong with the content store: files that it lacks, or that it is another instance's."""
    missing = garbage.missing()
    if missing:
        yield Line(
            Waiting.STUCK,
            timezone.now(),
            f"{_number(len(missing), 'stored file')} missing",
            "Restore them from a backup; this lists them and looks again:",
            command="manage.py storage",
            reason="\n".join(f"{name}: {content.key_of(*blob)}" for name, blob in missing[:MOST_LINES]),
        )
    foreign = garbage.why_foreign()
    if foreign:
        yield Line(
            Waiting.STUCK,
            timezone.now(),
            "Unused files are not removed",
            "Correct STORAGE_URL or the database, then:",
            command="manage.py storage",
            reason=foreign,
        )


def _hosts() -> Iterator[Line]:
    """Yield the hosts that are silent or cannot evaluate, and work that no host does."""
    listed = with_signs_of_life()
    if unserved := pools_without_host(listed):
        todo = f"Add {','.join(unserved)} to POOLS of a host (docs/instance.md, “More hosts”). See the"
        yield _standing(f"No host does this work: {', '.join(unserved)}", todo, timezone.now())
    for host, live in listed:
        if not live:
            todo = "Start it again. A host that is gone is forgotten after a day. See the"
            yield _standing(f"Host {host.name} is silent", todo, host.seen)
        elif host.problem:
            yield Line(
                Waiting.STUCK,
                host.seen,
                f"Host {host.name} cannot run boxes",
                "Find the cause on that host:",
                command="manage.py doctor",
                reason=host.problem,
            )


def _standing(title: str, todo: str, since: datetime, command: str = "") -> Line:
    if command:
        return Line(Waiting.STUCK, since, title, todo, command=command)
    return Line(Waiting.STUCK, since, title, todo, where=reverse("status"), where_title="status page")


def _held_verdicts() -> Iterator[Line]:
    """Yield the judges with held judgements."""
    held = Judgement.objects.filter(state=WorkState.HELD).order_by().values("config__slug", "config__name")
    for each in held.annotate(number=Count("pk"), oldest=Min("created")).order_by("oldest"):
        yield Line(
            Waiting.STUCK,
            each["oldest"],
            f"{_number(each['number'], 'held judgement')} of {each['config__name']}",
            "Correct what stopped them, then:",
            address=reverse("judge", args=[each["config__slug"]]),
            command=retry_judgements(each["config__slug"]),
        )


def retry_judgements(judge: str) -> str:
    """Return the command that retries the held judgements of the judge with this slug."""
    return f"manage.py judge --pending --config {judge} --retry-held"


def _number(number: int, what: str) -> str:
    return f"{number} {what}{'s' if number != 1 else ''}"


def _held() -> Iterator[Line]:
    """Yield held submissions and held re-evaluations, oldest first."""
    held = Submission.objects.filter(state=SubmissionState.HELD).order_by("created", "pk")
    submissions = list(held.select_related("system", "owner", "suite_version__suite")[: MOST_LINES + 1])
    again = Reevaluation.objects.filter(state=ReevaluationState.HELD).order_by("created", "pk")
    reevaluations = list(again.select_related("submission__system")[: MOST_LINES + 1])
    errors = errors_of_held([*(each.pk for each in submissions), *(each.submission_id for each in reevaluations)])
    lines = [
        *(_held_submission(each, errors.get((each.pk, None), each.held_reason)) for each in submissions),
        *(
            _held_reevaluation(each, errors.get((each.submission_id, each.pk), each.held_reason))
            for each in reevaluations
        ),
    ]
    yield from sorted(lines, key=lambda line: line.since)


def _held_submission(submission: Submission, reason: str) -> Line:
    return Line(
        Waiting.HELD,
        submission.created,
        f"Submission {submission.pk}: {submission.system.name} on {submission.suite_version} "
        f"by {submission.owner.username}",
        "Correct what stopped it, then retry it.",
        address=submission.get_absolute_url(),
        reason=reason,
        retry=submission.pk,
    )


def _held_reevaluation(reevaluation: Reevaluation, reason: str) -> Line:
    return Line(
        Waiting.HELD,
        reevaluation.created,
        f"Re-evaluation of submission {reevaluation.submission_id}: {reevaluation.submission.system.name}",
        "Correct what stopped it, then retry or stop it on the page of",
        address=reevaluation.submission.get_absolute_url(),
        where=f"{reverse('reevaluate')}#under-way",
        where_title="re-evaluations",
        reason=reason,
    )


def _appeals(hidden: Collection[int]) -> Iterator[Line]:
    """Yield the appeals that no decision has answered yet."""
    appeals = Trigger.objects.filter(kind=TriggerKind.APPEAL).exclude(case__state__in=[*CLOSED, CaseState.VOID])
    appeals = appeals.exclude(case__implementation__submission__in=hidden).order_by("created", "pk")
    answer = "case__implementation"
    listed = appeals.select_related(f"{answer}__revision__task__paper", f"{answer}__submission__system")
    for each in listed[: MOST_LINES + 1]:
        shown = each.case.implementation
        yield Line(
            Waiting.APPEALED,
            each.created,
            f"Submission {shown.submission_id}, {shown.revision.task.slug}: {shown.submission.system.name}",
            "Annotators label it again. If none is free, invite",
            address=shown.get_absolute_url(),
            where=reverse("review_people"),
            where_title="annotators",
        )


def _flags() -> Iterator[Line]:
    """Yield the raised flags of tasks."""
    listed = raised_flags().select_related("revision__task__paper", "revision__task__suite").order_by("created", "pk")
    for each in listed[: MOST_LINES + 1]:
        task = each.revision.task
        yield Line(
            Waiting.FLAGGED,
            each.created,
            f"Task {task.slug} of {task.suite.title}: {each.get_reason_display()}",
            "Correct the task, or lift the flag on its page.",
            address=task.get_absolute_url(),
        )


def _unaudited() -> Iterator[Line]:
    """Yield a line for each suite with tasks that wait for their audit."""
    of_suite: dict[Suite, list[TaskRevision]] = defaultdict(list)
    for revision in unaudited_tasks():
        of_suite[revision.task.suite].append(revision)
    for suite, revisions in of_suite.items():
        obstacles = dict.fromkeys(each.audit["obstacle"] for each in revisions if each.audit.get("obstacle"))
        todo = "Correct what stopped it, then:" if obstacles else "A worker audits them while no answer waits; or run:"
        yield Line(
            Waiting.UNAUDITED,
            min(each.created for each in revisions),
            f"{_number(len(revisions), 'task')} of {suite.title} without an audit",
            todo,
            address=suite.get_absolute_url(),
            command=f"manage.py audit_tasks --suite {suite.slug}",
            reason="\n".join(obstacles),
        )
