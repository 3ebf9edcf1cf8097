"""The site shows nothing about an item to its holder: every response is the same whatever the hidden results are."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pytest

from leaderboard.board.columns import COLUMNS, SORT_KEYS
from leaderboard.evidence.suite_tasks import SORTS as TASK_SORTS
from leaderboard.evidence.task_answers import SORTS
from leaderboard.insight.analysis.figures import SECTIONS
from reviews.enums import Severity
from submissions.models import Submission
from tests.leaderboard.factories import ReportedResultFactory, reported
from tests.reviews.factories import assigned, case_of, ready
from tests.security.api_operations import entered_operations
from tests.security.held_items import NOW, World, answer_of, difference, older_paper, others_on
from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_django import Settings

    from evaluator.models import ModelCall
    from leaderboard.models import Notice
    from submissions.models import Upload, User
    from tests.security.addresses import Address
    from tests.security.api_operations import Operation

pytestmark = pytest.mark.django_db


def _sorted(keys: Iterable[str], more: str = "") -> tuple[str, ...]:
    return tuple(f"?sort=-{key}{more}" for key in keys)


ALL_COLUMNS: Final = "?" + "&".join(f"columns={column.key}" for column in COLUMNS)
LATER: Final = "&papers=2024&format=csv"
BOARD: Final = (*_sorted(SORT_KEYS, "&format=csv"), *_sorted(("tests", "judge", "human", "final"), LATER))
MORE: Final[dict[str, tuple[str, ...]]] = {
    "board": (*BOARD, ALL_COLUMNS, f"{ALL_COLUMNS}&papers=2024", "?category=loss", "?category=loss&format=json"),
    "matrix": (*BOARD, "?tasks=difficulty", "?papers=2024"),
    "compare": ("?row=s{held}&row=s{better}", "?row=s{held}&row=s{better}&row=s{worse}&format=json"),
    "compare_picture": ("?row=s{held}&row=s{better}",),
    "compare_task": ("?row=s{held}&row=s{better}",),
    "suite": _sorted(TASK_SORTS),
    "task": _sorted(SORTS),
    "analysis": tuple(f"figures/{each.slug}{form}" for each in SECTIONS for form in ("/", "/embed/", ".csv", ".svg")),
    "agreement": (
        "?binary=1",
        "?system=alices",
        "?category=metrics",
        "?samples=1",
        "?first=tests&second=judge:other&binary=1&cell=CC,CC",
        "?first=tests&second=judge:other&binary=1&cell=rest,rest",
    ),
    "cases": ("?what=decided", "?suite=small", "?source=decision"),
    "list_rows": (*_sorted(SORT_KEYS), "?category=loss"),
    "list_marks": _sorted(("rank", "tests", "judge", "human", "final", "cost")),
    "list_task_results": _sorted(SORTS),
    "compare_rows": ("?row=s{held}&row=s{better}",),
    "get_agreement": ("?binary=true", "?samples=true", "?system=alices"),
    "get_agreement_cell": ("?first=tests&second=judge:other&binary=true&cell=CC,CC",),
}
"""Queries of an address, or paths below it: orders, filters, files. Braces are replaced by keys of submissions."""
REVEALING: Final = {
    "pages": {
        *("agreement", "analysis", "analysis_default", "answers_file", "badge", "board", "board_actions"),
        *("board_default", "board_feed", "board_picture", "case", "cases", "compare", "compare_picture"),
        *("compare_task", "evidence", "search"),
        *("figure", "figure_embed", "figure_file", "implementation", "judge", "judge_differences", "matrix"),
        *("snapshot", "snapshot_archive", "snapshot_picture", "submission", "submission_actions"),
        *("submission_progress", "suite", "system"),
        *("system_picture", "task"),
    },
    "operations": {
        *("compare_rows", "get_agreement", "get_agreement_cell", "get_answer", "get_case"),
        *("get_difficulty", "get_judge", "get_judge_differences", "get_receipt", "get_snapshot"),
        *("get_snapshot_archive", "get_submission", "get_system", "list_answers", "list_cases"),
        *("list_marks", "list_rows", "list_snapshots", "list_submissions", "list_task_results"),
    },
}
"""Pages and operations that show everyone whether the held answers are good or bad."""


@pytest.fixture
def operations(
    secret_submission: Submission, secret_upload: Upload, secret_call: ModelCall, secret_notice: Notice
) -> dict[str, Operation]:
    """Every operation of the API."""
    return entered_operations(secret_submission, secret_upload, secret_call, secret_notice)


@pytest.fixture
def answered() -> int:
    """Number of answers of the uploaded submission with a held answer."""
    return 1


@pytest.fixture
def world(
    answered: int,
    addresses: dict[str, Address],
    operations: dict[str, Operation],
    secret_submission: Submission,
    secret_call: ModelCall,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> World:
    """Two published submissions with a held answer each, one uploaded and one generated, and two other rows."""
    monkeypatch.setattr("leaderboard.board.ranks.LEAST_TASKS", 1)
    monkeypatch.setattr("leaderboard.web.views.pictures.MOST_DRAWN", 1_000)
    # Workers that other tests leave in the shared Redis end between the two worlds.
    monkeypatch.setattr("leaderboard.health.queues.listening", Counter)
    most = {"api_token_requests": 10_000, "api_anonymous_requests": 10_000}
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, **most)
    assert secret_call.answer_request is not None
    generated = secret_call.answer_request.implementation
    both = [secret_submission.pk, generated.submission_id]
    dates = {"published_at": NOW, "scored_at": NOW}
    Submission.objects.filter(pk__in=both).update(visibility="published", state="scored", code_licence="MIT", **dates)
    sent = Submission.objects.get(pk=secret_submission.pk)
    answer = sent.implementations.get()
    older_paper(sent.suite_version)
    if answered > 1:
        answer_of(sent, "alpha/2", "passed", "CC")
    rows = {"held": sent.pk, **others_on(sent.suite_version)}
    run = reported(sent.suite_version).reported_run
    ReportedResultFactory(run=run, task=answer.revision.task)
    # Snapshot 1 was frozen before any answer was held.
    second = {"suite": "small", "number": 2}
    for name in ("snapshot", "snapshot_picture", "snapshot_archive"):
        addresses[name] = replace(addresses[name], arguments=second)
    for name in ("get_snapshot", "get_snapshot_archive"):
        operations[name] = replace(operations[name], arguments=second)
    more = {name: tuple(query.format(**rows) for query in queries) for name, queries in MORE.items()}
    return World([answer, generated], addresses, operations, more)


def holder_of(world: World, *, staff: bool) -> User:
    """An annotator who labels the held answers; ``staff``: also a maintainer."""
    person = ready(user=UserFactory(username="holder", is_staff=staff))
    for answer in world.held:
        assigned(case_of(answer, severity=Severity.CONFLICT, state="leased", round=2), person)
    assert person.user is not None
    return person.user


@pytest.mark.parametrize(
    ("answered", "staff", "kind"),
    [
        (1, False, "pages"),
        pytest.param(1, False, "operations", marks=pytest.mark.in_full),
        pytest.param(2, True, "pages", marks=pytest.mark.in_full),
        (2, True, "operations"),
    ],
)
def test_a_holder_gets_the_same_responses_whatever_the_results_are(world: World, kind: str, staff: bool) -> None:
    """With a submission of the held answer only, and with a second answer, by which a total would reveal it."""
    good, bad = world.seen_by(holder_of(world, staff=staff), kind)
    assert {key: difference(text, bad[key]) for key, text in good.items() if text != bad[key]} == {}
    assert [key for key, text in good.items() if text.startswith(("429", "5"))] == []


@pytest.mark.parametrize("kind", ["pages", "operations"])
def test_visitors_see_the_results(world: World, kind: str) -> None:
    """Proves that the test above compares results that are shown to others."""
    good, bad = world.seen_by(None, kind)
    found = {key.split()[0] for key, text in good.items() if text != bad[key]}
    assert found == REVEALING[kind]
