"""Serve every published result on a task, and the task's difficulty."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from django.http import HttpRequest
from ninja import Field, Query, Router, Schema

from leaderboard.api.catalogue import Versioned
from leaderboard.api.paging import Page, Paging, paged
from leaderboard.api.schemas import filled
from leaderboard.board.row import TestsCell
from leaderboard.board.visibility import closed_submissions, require_open
from leaderboard.evidence.task_answers import DEFAULT_SORT, SORTS, difficulty_of, in_order, task_answers
from leaderboard.evidence.tasks import answered_on, requested_revision
from leaderboard.models.enums import Provenance

if TYPE_CHECKING:
    from benchmark_tasks.models import TaskRevision
    from leaderboard.evidence.task_answers import TaskAnswer

router = Router(tags=["What is asked"])

Sort = Literal[*SORTS, *(f"-{key}" for key in SORTS)]  # type: ignore[valid-type]


class TaskResultOut(Schema):
    """A published result on one task: ``outcomes`` by trial if measured here or again, else as ``reported``.

    Labels are the board's marks (``A`` abstained, ``M`` mixed). While you are labelling an answer of a submission, it
    has only the addresses of its ``answers`` (``hidden_while_you_label``).
    """

    key: str
    system: str
    system_slug: str
    inputs: str
    kind: str
    provenance: Provenance
    reported: bool
    outcomes: list[str]
    passed: bool | None
    tests_note: str
    judge_label: str
    annotators_label: str
    date: datetime | None
    answers: list[str]
    hidden_while_you_label: bool
    page: str


class LabelShareOut(Schema):
    """The number of rows with a label, and their percentage of all labelled rows."""

    label: str
    rows: int
    percent: float


class DifficultyOut(Schema):
    """A task's pass rates and labels among a version's ranked rows; null or empty without data.

    ``measured`` counts the rows on whose answers this site's test ran, ``reported`` those with published results of
    others' tests. Answers that were measured again are in both; ``tests`` counts them once, as reported.
    """

    task: str
    suite_version: int | None
    tests: TestsCell | None
    measured: TestsCell | None
    reported: TestsCell | None
    judge: list[LabelShareOut]
    annotators: list[LabelShareOut]


class ResultsQuery(Versioned):
    """Select and sort results. Calibration samples are always last."""

    sort: Sort = Field(DEFAULT_SORT)  # type: ignore[valid-type]


_TASK = "/suites/{slug:suite}/tasks/{slug:paper}/{int:index}"


@router.get(f"{_TASK}/results", response=Page[TaskResultOut])
def list_task_results(
    request: HttpRequest, suite: str, paper: str, index: int, query: Query[ResultsQuery], paging: Query[Paging]
) -> dict[str, Any]:
    """List every published result on one task, on one version of its suite."""
    revision = _open_revision(request, suite, paper, index)
    answered = answered_on(request, revision)
    if answered is None:
        return paged(request, [], paging, lambda shown: shown)
    _, place, entries = answered
    hidden = closed_submissions(request)
    rows = in_order(entries, place, query.sort, hidden=hidden)
    return paged(
        request, rows, paging, lambda part: map(_result, task_answers(part, place, revision.task, hidden=hidden))
    )


@router.get(f"{_TASK}/difficulty", response=DifficultyOut)
def get_difficulty(request: HttpRequest, suite: str, paper: str, index: int, query: Query[Versioned]) -> dict[str, Any]:
    """Get the share of a version's ranked rows that pass a task, and their labels."""
    revision = _open_revision(request, suite, paper, index)
    answered = answered_on(request, revision)
    difficulty = difficulty_of(answered[2], answered[1], hidden=closed_submissions(request)) if answered else None
    return {
        "task": revision.task.slug,
        "suite_version": answered[0].number if answered else None,
        "tests": difficulty.tests if difficulty else None,
        "measured": difficulty.measured if difficulty else None,
        "reported": difficulty.reported if difficulty else None,
        "judge": _shares(difficulty.judge) if difficulty else [],
        "annotators": _shares(difficulty.human) if difficulty else [],
    }


def _open_revision(request: HttpRequest, suite: str, paper: str, index: int) -> TaskRevision:
    revision, _ = requested_revision(request, suite, paper, index)
    require_open(request, task=revision.task)
    return revision


def _result(answer: TaskAnswer) -> dict[str, Any]:
    row, reported = answer.row, answer.reported
    outcomes = [] if row.closed else [trial.outcome.value for trial in answer.trials]
    outcomes += [reported.outcome] if reported and reported.outcome else []
    passed = all(outcome == "passed" for outcome in outcomes) if outcomes else None
    return filled(
        TaskResultOut,
        row,
        kind="calibration" if row.calibration else "ranked",
        outcomes=outcomes,
        passed=reported.tests_passed if reported else passed,
        tests_note=reported.tests_note if reported else "",
        judge_label=answer.judge,
        annotators_label=answer.human,
        answers=[trial.address for trial in answer.trials],
    )


def _shares(shares: tuple[tuple[str, int, float], ...]) -> list[dict[str, Any]]:
    return [{"label": label, "rows": rows, "percent": round(percent, 4)} for label, rows, percent in shares]
