"""What the pages of a submission and of its answers show, as plain typed values."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from django.db.models import Prefetch

from evaluator.enums import RunState
from evaluator.models import TestRun
from evaluator.testing.shown_outcomes import Badge, badge_of, newest
from submissions.domain.audit import history
from submissions.enums import SubmissionState, Verb, Visibility
from submissions.models import AuditEvent, Implementation, Submission, User

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from django.contrib.auth.models import AnonymousUser

OPEN_STATES: Final = (SubmissionState.GENERATING, SubmissionState.QUEUED, SubmissionState.RUNNING)


@dataclass(frozen=True, slots=True)
class TaskRow:
    """One answer in a submission's table. ``tokens`` and ``cost`` (US dollars) are as its owner declared them."""

    implementation: Implementation
    run: TestRun | None
    badge: Badge

    @property
    def address(self) -> str:
        """The page of the answer."""
        return self.implementation.get_absolute_url()

    @property
    def reason(self) -> str:
        """Why it did not pass, or why it waits."""
        if self.run is None or self.badge.css == "passed":
            return ""
        return self.run.reason

    @property
    def seconds(self) -> float | None:
        """How long the boxes took; None where none was needed."""
        return self.run.seconds or None if self.run else None

    @property
    def tokens(self) -> int | None:
        """Input and output tokens together, None when neither was declared."""
        usage = self.implementation.usage
        given = [usage[key] for key in ("input_tokens", "output_tokens") if key in usage]
        return int(sum(given)) if given else None

    @property
    def cost(self) -> float | None:
        """US dollars, None when not declared."""
        cost: float | None = self.implementation.usage.get("cost_usd")
        return cost


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an evaluation is, in answers that were sent: ``done`` are those whose run has ended.

    ``ended`` counts the runs of tasks without an answer too, which are decided at once.
    """

    done: int
    running: int
    held: int
    total: int
    passed: int
    ended: int

    @property
    def percent(self) -> float:
        """Ended runs as a percentage of all answers."""
        return 100 * self.done / self.total if self.total else 0.0

    def fingerprint(self, state: str) -> str:
        """Changes exactly when a page that shows this would look different."""
        return f"{state}-{self.ended}-{self.running}-{self.held}-{self.passed}"


def task_rows(submission: Submission) -> list[TaskRow]:
    """Every answer of ``submission`` with its deciding run, in the benchmark's order. Two queries."""
    runs = TestRun.objects.current().order_by("pk").defer("cases", "log")
    implementations = (
        submission.implementations.select_related("revision__task__paper", "revision__category")
        .defer("files", "diff", "goal_source", "raw_answer", "revision__masked_source")
        .prefetch_related(Prefetch("test_runs", queryset=runs, to_attr="runs_in_order"))
    )
    return [
        task_row(submission, implementation, newest(getattr(implementation, "runs_in_order", [])))
        for implementation in implementations
    ]


def task_row(submission: Submission, implementation: Implementation, run: TestRun | None) -> TaskRow:
    """One answer of ``submission`` with its deciding run."""
    counts = submission.state == SubmissionState.SCORED and not implementation.revision.why_left_out
    return TaskRow(implementation, run, badge_of(run, counts=counts))


def progress_of(rows: Iterable[TaskRow]) -> Progress:
    """Count ``rows``."""
    listed = list(rows)
    sent = [row for row in listed if row.implementation.attempted]
    states = Counter(row.run.state for row in sent if row.run)
    return Progress(
        done=states[RunState.DONE],
        running=states[RunState.RUNNING],
        held=states[RunState.HELD],
        total=len(sent),
        passed=sum(row.badge.css == "passed" for row in sent),
        ended=sum(row.run is not None and row.run.state == RunState.DONE for row in listed),
    )


def without_outcomes(rows: Iterable[TaskRow], progress: Progress) -> tuple[list[TaskRow], Progress]:
    """The same for somebody who labels one of them: neither rows nor counts tell what passed."""
    hidden = Badge("hidden while you label", "pending")
    return [TaskRow(row.implementation, None, hidden) for row in rows], replace(progress, passed=0)


@dataclass(frozen=True, slots=True)
class TraceLine:
    """One public line about a submission: who (a user name and a role, nothing else of the person), what, when, why."""

    who: str
    verb: str
    when: datetime
    reason: str
    changes: tuple[tuple[str, str, str], ...]


def public_trace(submission: Submission, *, outcomes: bool = True) -> list[TraceLine]:
    """What was done to ``submission``, newest first; changes are (field, old, new). One query.

    Without ``outcomes`` it leaves out what re-evaluations changed.
    """
    return [
        TraceLine(
            who=_who(event, submission),
            verb=event.get_verb_display(),
            when=event.created,
            reason=event.reason,
            changes=_changes(event) if outcomes or event.verb != Verb.REEVALUATED else (),
        )
        for event in history(submission)
    ]


def _changes(event: AuditEvent) -> tuple[tuple[str, str, str], ...]:
    return tuple((name, _text(old), _text(new)) for name, (old, new) in event.data.get("changed", {}).items())


def _who(event: AuditEvent, submission: Submission) -> str:
    if event.actor is None:
        return "the site"
    # Some people choose their e-mail address as user name; it must not become public that way.
    name = event.actor.username.partition("@")[0]
    return f"{name} ({'its owner' if event.actor_id == submission.owner_id else 'maintainer'})"


def _text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


@dataclass(frozen=True, slots=True)
class Tombstone:
    """What stands in public where a once published submission was: that it is gone, and why. Nothing of its content."""

    number: int
    what: str
    reason: str


def tombstone(pk: int) -> Tombstone | None:
    """The tombstone of submission ``pk``; None unless it was published once and was withdrawn or hidden since."""
    gone = Submission.objects.filter(
        pk=pk, published_at__isnull=False, visibility__in=[Visibility.WITHDRAWN, Visibility.HIDDEN]
    ).first()
    return Tombstone(gone.pk, gone.get_visibility_display(), gone.visibility_reason) if gone else None


def short_digest(digest: str) -> str:
    """As much of an environment's digest as tells environments apart."""
    return digest.removeprefix("sha256:")[:12]


def short_digests(digests: Iterable[str]) -> list[tuple[str, str]]:
    """Each different digest that is not empty, short and whole, sorted."""
    return [(short_digest(digest), digest) for digest in sorted(set(filter(None, digests)))]


def environments_of(rows: Iterable[TaskRow]) -> list[tuple[str, str]]:
    """In what the answers were measured: tasks may have environments of their own."""
    return short_digests(row.run.environment_digest for row in rows if row.run)


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """One of several results of an answer: ``why`` it was measured (again); ``shown`` on the page that lists it."""

    number: int
    badge: Badge
    when: datetime | None
    why: str
    counts: bool
    shown: bool


def measured_before(runs: Iterable[TestRun], shown: TestRun | None) -> list[MeasuredRun]:
    """Every result of one answer, newest first; none where there never was a second."""
    listed = [
        MeasuredRun(
            number=run.pk,
            badge=badge_of(run),
            when=run.finished,
            why=run.supersedes_reason,
            counts=not run.superseded_by.all(),
            shown=shown is not None and run.pk == shown.pk,
        )
        for run in runs
    ]
    return listed[::-1] if len(listed) > 1 else []


def may_see_code(user: User | AnonymousUser, submission: Submission) -> bool:
    """Whether the answers' code may be shown: to owner and maintainers, and to all once the owner has published it."""
    if isinstance(user, User) and (user.is_staff or submission.owner_id == user.pk):
        return True
    return submission.visibility == Visibility.PUBLISHED and bool(submission.code_licence)
