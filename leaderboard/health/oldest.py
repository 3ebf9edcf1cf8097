"""Find the oldest waiting item in each state: which, since when, why, and the action that mends it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from django.urls import reverse

from evaluator.enums import GenerationState, RunState, WaitsFor, WorkState
from evaluator.models import AnswerRequest, Judgement, TestRun
from evaluator.waiting import waits_of
from leaderboard.health.inbox import Line, Waiting, retry_judgements
from leaderboard.health.queues import OPEN
from submissions.enums import SubmissionState
from submissions.models import Upload

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evaluator.waiting import Wait
    from leaderboard.health.inbox import Inbox
    from leaderboard.health.queues import QueueState
    from submissions.models import Submission


class Oldest(NamedTuple):
    """The ``line`` of the item that has waited longest in a ``state``."""

    state: str
    line: Line


def oldest_in_each_state(found: Inbox, queue: QueueState) -> list[Oldest]:
    """List the oldest item of every state in which something waits, in the order of a submission's life.

    ``found`` is the viewer's inbox, which has the items that need a maintainer. A constant number of queries.
    """
    request = AnswerRequest.objects.filter(state__in=OPEN, generation__state=GenerationState.RUNNING)
    question = request.select_related("generation__submission").order_by("created", "pk").first()
    test = (
        TestRun.objects.filter(state=RunState.QUEUED)
        .select_related("implementation__submission")
        .order_by("created", "pk")
        .first()
    )
    asked = question.generation.submission if question else None
    tested = test.implementation.submission if test else None
    waits = waits_of([each for each in (asked, tested) if each])
    rows = [("uploads being checked", _upload(queue))]
    if question and asked:
        rows.append(("questions to models", _work(question, asked, waits.get(asked.pk), workers=queue.model_workers)))
    if test and tested:
        rows.append(("tests", _work(test, tested, waits.get(tested.pk), workers=queue.registered)))
    rows.append(("judgements", _judgement(queue)))
    rows += _needing_a_maintainer(found)
    return [Oldest(state, line) for state, line in rows if line]


def _needing_a_maintainer(found: Inbox) -> Iterator[tuple[str, Line | None]]:
    """Yield the oldest line of the inbox in each of its states. Lines are oldest first."""
    held = [line for line in found.lines if line.kind == Waiting.HELD]
    yield "held submissions", next((line for line in held if line.retry), None)
    yield "held re-evaluations", next((line for line in held if not line.retry), None)
    for state, kind in (("appeals", Waiting.APPEALED), ("audits", Waiting.UNAUDITED)):
        yield state, next((line for line in found.lines if line.kind == kind), None)


def _work(row: AnswerRequest | TestRun, submission: Submission, wait: Wait | None, *, workers: int | None) -> Line:
    """Describe the oldest question or test with what its submission waits for."""
    again = submission.state == SubmissionState.SCORED
    todo, command = _start(workers)
    if workers and wait and wait.waits_for == WaitsFor.HOST:
        todo, command = "Prepare the environment on a host, or find what is wrong there:", "manage.py doctor"
    elif workers and row.reason:
        todo = "Correct what stopped it; the errors are listed below. It is tried again by itself."
    return Line(
        Waiting.STUCK,
        row.created,
        f"{'Re-evaluation of submission' if again else 'Submission'} {submission.pk}",
        todo,
        address=submission.get_absolute_url(),
        command=command,
        reason=wait.sentence if wait else row.reason or "Waits for a free worker.",
    )


def _judgement(queue: QueueState) -> Line | None:
    waiting = Judgement.objects.filter(state__in=[*OPEN, WorkState.HELD]).select_related("config", "implementation")
    oldest = waiting.order_by("created", "pk").first()
    if oldest is None:
        return None
    todo, command = _start(queue.model_workers)
    if oldest.state == WorkState.HELD:
        todo = "Correct what stopped it, then:"
        command = retry_judgements(oldest.config.slug)
    return Line(
        Waiting.STUCK,
        oldest.created,
        f"Submission {oldest.implementation.submission_id} by {oldest.config.name}",
        todo,
        address=reverse("judge", args=[oldest.config.slug]),
        command=command,
        reason=oldest.waiting,
    )


def _upload(queue: QueueState) -> Line | None:
    oldest = Upload.objects.filter(checked=False).select_related("owner").order_by("created", "pk").first()
    if oldest is None:
        return None
    todo, command = _start(queue.registered)
    why = "Waits for a free worker."
    if oldest.checking_since:
        why = f"Being checked, try {oldest.tries}."
    elif oldest.tries:
        why = f"An infrastructure error ended {oldest.tries} of its checks."
    return Line(
        Waiting.STUCK,
        oldest.created,
        f"Upload {oldest.pk} by {oldest.owner.username}",
        todo,
        command=command,
        reason=why,
    )


def _start(workers: int | None) -> tuple[str, str]:
    """Return what to do about work that waits for a worker, and the command."""
    if workers:
        return "Nothing: workers are running. If it does not move, read their logs.", ""
    return "Start everything:", "make run"
