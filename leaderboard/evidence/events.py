"""Link audit events to their subjects, and hide the reasons that would influence a viewer who labels."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from django.urls import reverse
from django.utils.http import urlencode

from benchmark_tasks.models import Suite, SuiteVersion, Task
from evaluator.models import JudgeConfig, Reevaluation
from leaderboard.models import Snapshot
from reviews.models import Case, GuidelineRevision, Reviewer
from submissions.models import Implementation, Organisation, Submission, System, Team, User

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from django.db.models import QuerySet

    from submissions.models import AuditEvent

_LARGE: Final = ("files", "diff", "goal_source", "raw_answer", "set_aside")


class _Kind(NamedTuple):
    """A kind of subject: its rows, the address of one, and the submission that it is part of.

    Its title replaces the kind's name with a number where that is unclear.
    """

    rows: Callable[[], QuerySet[Any]]
    address: Callable[[Any], str] = lambda row: str(row.get_absolute_url())
    submission: Callable[[Any], int] = lambda _row: 0
    title: Callable[[Any], str] = lambda _row: ""


def _answers() -> QuerySet[Implementation]:
    return Implementation.objects.select_related("revision__task__paper").defer(*_LARGE)


def _cases() -> QuerySet[Case]:
    answer = "implementation"
    return Case.objects.select_related(f"{answer}__revision__task__paper").defer(*(f"{answer}__{x}" for x in _LARGE))


_KINDS: Final[Mapping[str, _Kind]] = {
    "submission": _Kind(Submission.objects.all, submission=lambda row: row.pk),
    "implementation": _Kind(_answers, submission=lambda row: row.submission_id),
    # A case has a page once it is closed; its answer has one before, too.
    "case": _Kind(
        _cases,
        address=lambda row: row.implementation.get_absolute_url(),
        submission=lambda row: row.implementation.submission_id,
    ),
    "reevaluation": _Kind(
        lambda: Reevaluation.objects.select_related("submission"),
        address=lambda row: f"{row.submission.get_absolute_url()}#reevaluations",
        submission=lambda row: row.submission_id,
    ),
    "system": _Kind(System.objects.all),
    "suite": _Kind(Suite.objects.all),
    "suiteversion": _Kind(
        lambda: SuiteVersion.objects.select_related("suite"),
        address=lambda row: f"{row.suite.get_absolute_url()}?version={row.number}",
        title=lambda row: f"{row.suite.title}, version {row.number}",
    ),
    "task": _Kind(lambda: Task.objects.select_related("suite", "paper")),
    "team": _Kind(Team.objects.all),
    "judgeconfig": _Kind(JudgeConfig.objects.all),
    "snapshot": _Kind(lambda: Snapshot.objects.select_related("suite").defer("document")),
    "user": _Kind(
        User.objects.all, address=lambda row: f"{reverse('maintain_accounts')}?{urlencode({'q': row.username})}"
    ),
    "reviewer": _Kind(Reviewer.objects.all, address=lambda row: reverse("review_person", args=[row.pk])),
    "organisation": _Kind(
        Organisation.objects.all, address=lambda row: reverse("maintain_organisation", args=[row.pk])
    ),
    "guidelinerevision": _Kind(
        GuidelineRevision.objects.all, address=lambda row: reverse("review_guideline", args=[row.number])
    ),
}
"""Kinds of subjects that have a page for maintainers. Endpoints, tokens and uploads are their owners' alone."""


_WORDS: Final = {
    "apitoken": "token",
    "guidelinerevision": "guidelines",
    "implementation": "answer",
    "judgeconfig": "judge",
    "reevaluation": "re-evaluation",
    "reviewer": "annotator",
    "user": "account",
}
"""What pages call the kinds whose names in the code differ."""


class EventRow(NamedTuple):
    """An event with its subject's kind in words and address (empty without one). ``closed``: its reason is hidden."""

    event: AuditEvent
    kind: str
    address: str
    closed: bool
    title: str = ""


def event_rows(events: Iterable[AuditEvent], *, hidden: Collection[int]) -> list[EventRow]:
    """Return the events as a maintainer may see them, with at most one query for each kind of subject.

    The reasons of events about the submissions ``hidden`` from the viewer (``leaderboard.board.visibility``), their
    answers and their cases are hidden: appeals and decisions quote evidence.
    """
    listed = list(events)
    keys: dict[str, set[int]] = defaultdict(set)
    for event in listed:
        if event.subject_kind in _KINDS:
            keys[event.subject_kind].add(int(event.subject_id))
    found = {kind: _KINDS[kind].rows().in_bulk(ids) for kind, ids in keys.items()}
    return [_row(event, found, hidden) for event in listed]


def _row(event: AuditEvent, found: Mapping[str, Mapping[int, Any]], hidden: Collection[int]) -> EventRow:
    kind = _KINDS.get(event.subject_kind)
    word = _WORDS.get(event.subject_kind, event.subject_kind)
    subject = found[event.subject_kind].get(int(event.subject_id)) if kind else None
    if kind is None or subject is None:
        return EventRow(event, word, "", closed=False)
    closed = kind.submission(subject) in hidden
    return EventRow(event, word, kind.address(subject), closed=closed, title=kind.title(subject))
