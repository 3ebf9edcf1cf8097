"""List a suite version's tasks with the facts of the suite's page, sorted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from benchmark_tasks.domain.queries import reference_lines
from benchmark_tasks.enums import AuditState
from leaderboard.board.caching import keep
from leaderboard.board.states import changes_of
from leaderboard.board.visibility import closed, closed_submissions
from leaderboard.evidence.task_answers import pass_rate, task_shares
from leaderboard.models.enums import Provenance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.http import HttpRequest

    from benchmark_tasks.models import SuiteVersion, TaskRevision
    from leaderboard.board.row import TestsCell

SORTS: Final = ("task", "category", "paper", "year", "lines", "rate", "audit")
DEFAULT_SORT: Final = "task"
ASCENDING: Final = ("task", "category", "paper", "rate")
"""Columns that start at their smallest value: of pass rates, that is the hardest task."""
_AUDIT_ORDER: Final = (
    *(AuditState.FAILED, AuditState.INCOMPLETE, AuditState.UNAUDITED, AuditState.WEAK, AuditState.PASSED),
)
Rates: TypeAlias = "tuple[TestsCell | None, TestsCell | None]"
"""The pass rates of a task, measured and reported."""


@dataclass(frozen=True, slots=True)
class SuiteTask:
    """A task of a suite version. ``place`` is its position in the suite's order.

    ``lines`` are those of the reference implementation; ``measured`` and ``reported`` are as in
    :class:`~leaderboard.evidence.task_answers.Difficulty`; ``closed``: the viewer is labelling an answer to it.
    """

    revision: TaskRevision
    place: int
    lines: int | None
    measured: TestsCell | None
    reported: TestsCell | None
    closed: bool

    @property
    def rates(self) -> list[tuple[TestsCell, str]]:
        """The known pass rates with their sources in words."""
        sources = ((self.measured, "tested here" if self.reported else ""), (self.reported, "reported"))
        return [(rate, source) for rate, source in sources if rate]

    @property
    def tests(self) -> TestsCell | None:
        """The pass rate by which tasks are sorted: that of more rows."""
        return max((rate for rate, _ in self.rates), key=lambda rate: rate.tasks, default=None)

    def value(self, key: str) -> tuple[int | float | str, ...] | None:
        """Return what a column sorts by; None if it is unknown."""
        revision, paper = self.revision, self.revision.task.paper
        values: dict[str, tuple[int | float | str, ...] | None] = {
            "task": (self.place,),
            "category": (revision.category.position,) if revision.category else None,
            "paper": (paper.title.casefold(),),
            "year": (paper.year,) if paper.year else None,
            "lines": (self.lines,) if self.lines is not None else None,
            "rate": (self.tests.percent,) if self.tests else None,
            "audit": None if revision.not_runnable_reasons else self._audit(),
        }
        return values[key]

    def _audit(self) -> tuple[int | float | str, ...]:
        share = (self.revision.audit.get("mutants") or {}).get("share", 0.0)
        return (_AUDIT_ORDER.index(AuditState(self.revision.audit_state)), share)


def suite_tasks(request: HttpRequest, version: SuiteVersion, revisions: Sequence[TaskRevision]) -> list[SuiteTask]:
    """Return the version's ``revisions``, all of them in the suite's order, as tasks that the viewer may see."""
    hidden = closed_submissions(request)
    labelled = {each.case.implementation.revision.task_id for each in closed(request)}

    def read() -> list[Rates]:
        rows = task_shares(version, hidden=hidden)
        measured = [shares for provenance, shares in rows if shares and provenance != Provenance.REPORTED]
        reported = [shares for provenance, shares in rows if shares and provenance == Provenance.REPORTED]
        return [
            (pass_rate(row[place] for row in measured), pass_rate(row[place] for row in reported))
            for place in range(len(revisions))
        ]

    changes = changes_of(version.suite.slug)
    rates = keep(read, "suite tasks", version.pk, changes) if changes and not hidden else read()
    found = []
    for place, revision in enumerate(revisions):
        # An annotator must not learn beforehand how others fared.
        is_closed = revision.task_id in labelled
        measured, reported = (None, None) if is_closed else rates[place]
        found.append(SuiteTask(revision, place, reference_lines(revision), measured, reported, is_closed))
    return found


def in_order(tasks: Sequence[SuiteTask], sort: str) -> list[SuiteTask]:
    """Sort ``tasks`` by one of :data:`SORTS`, with "-" before it to descend. Unknown values are last."""
    key = sort.removeprefix("-")
    known = [task for task in tasks if task.value(key) is not None]
    unknown = [task for task in tasks if task.value(key) is None]
    return [*sorted(known, key=lambda task: task.value(key) or (), reverse=sort.startswith("-")), *unknown]
