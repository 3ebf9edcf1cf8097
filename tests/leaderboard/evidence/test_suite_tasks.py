"""The tasks of a suite's page: facts, pass rates that the viewer may see, and their order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.test import RequestFactory

from benchmark_tasks.domain.importing import import_suite
from benchmark_tasks.domain.queries import revisions_of
from benchmark_tasks.enums import AuditState
from benchmark_tasks.models import SuiteVersion
from evaluator.models import TestRun
from leaderboard.board.states import note_change
from leaderboard.evidence.suite_tasks import SORTS, SuiteTask, in_order, suite_tasks
from leaderboard.models.enums import Provenance
from submissions.enums import Kind
from tests.benchmark_tasks.factories import (
    CategoryFactory,
    PaperFactory,
    SuiteFactory,
    SuiteVersionFactory,
    TaskFactory,
    TaskRevisionFactory,
    write_suite,
)
from tests.leaderboard.factories import measured, measured_outcome, reported
from tests.leaderboard.freezing import two_tasks
from tests.reviews.factories import assigned, case_of, ready

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from django.http import HttpRequest
    from pytest_django import Settings

    from leaderboard.models import Entry

pytestmark = pytest.mark.django_db


def request_of(user: Any = None) -> HttpRequest:
    request = RequestFactory().get("/")
    request.user = user or AnonymousUser()
    return request


def listed(version: SuiteVersion, user: Any = None) -> list[SuiteTask]:
    return suite_tasks(request_of(user), version, list(revisions_of(version)))


def marked(entry: Entry, *shares: float | None) -> Entry:
    entry.marks = {"tests": list(shares)}
    entry.save()
    return entry


def remeasured(version: SuiteVersion, of: Entry, *shares: float | None) -> Entry:
    """The row of a publication's answers that were measured again, without one of them."""
    entry = reported(version, metric={"answered": 1}, system=of.system, remeasures=of.reported_run)
    assert entry.provenance == Provenance.REMEASURED
    return marked(entry, *shares)


def passing(task: SuiteTask) -> tuple[tuple[float, int] | None, tuple[float, int] | None]:
    """How many rows pass a task, and of how many: measured, and reported."""
    measured, reported = ((cell.passed, cell.tasks) if cell else None for cell in (task.measured, task.reported))
    return measured, reported


def test_measured_and_reported_results_are_counted_apart() -> None:
    version = two_tasks()
    published = marked(reported(version), 1.0, 1.0)
    remeasured(version, published, 0.0, None)
    marked(measured(version), 0.5, 1.0)
    marked(measured(version, kind=Kind.CALIBRATION), 1.0, 1.0)
    marked(measured(version, metric={"answered": 1}), 1.0, None)
    assert list(map(passing, listed(version))) == [((0.5, 2), (1.0, 1)), ((1.0, 1), (1.0, 1))]


def test_new_results_are_counted_at_once() -> None:
    version = two_tasks()
    assert list(map(passing, listed(version))) == [(None, None), (None, None)]
    marked(measured(version), 1.0, 0.0)
    note_change(version.pk, results=True)
    assert list(map(passing, listed(version))) == [((1.0, 1), None), ((0.0, 1), None)]
    marked(measured(version), 1.0, 1.0)
    note_change(version.pk, results=True)
    assert list(map(passing, listed(version))) == [((2.0, 2), None), ((1.0, 2), None)]


def test_an_annotator_sees_no_result_on_a_task_whose_answer_they_label() -> None:
    version = two_tasks()
    held, other = marked(measured(version), 1.0, 1.0), marked(measured(version), 0.0, 0.0)
    first, _ = revisions_of(version)
    run = measured_outcome(held, "passed", revision=first)
    note_change(version.pk)
    # The numbers that visitors see are cached first.
    assert list(map(passing, listed(version))) == [((1.0, 2), None), ((1.0, 2), None)]
    annotator = ready()
    assigned(case_of(TestRun.objects.get(pk=run.pk).implementation), annotator)
    tasks = listed(version, annotator.user)
    assert [task.closed for task in tasks] == [True, False]
    assert list(map(passing, tasks)) == [(None, None), ((0.0, 1), None)]
    assert other.submission_id != held.submission_id
    assert list(map(passing, listed(version))) == [((1.0, 2), None), ((1.0, 2), None)]


@pytest.mark.parametrize("rows", [1, 3])
def test_the_number_of_queries_does_not_grow(rows: int, django_assert_num_queries: Callable[[int], Any]) -> None:
    version = two_tasks()
    for _ in range(rows):
        marked(measured(version), 1.0, 0.0)
    note_change(version.pk)
    revisions = list(revisions_of(version))
    with django_assert_num_queries(2):
        suite_tasks(request_of(), version, revisions)
    with django_assert_num_queries(1):
        suite_tasks(request_of(), version, revisions)


def test_lines_are_those_of_the_reference_implementation(tmp_path: Path, settings: Settings) -> None:
    settings.DATA_DIR = tmp_path / "data"
    import_suite(folder=write_suite(tmp_path / "suite"), slug="small")
    assert [task.lines for task in listed(SuiteVersion.objects.get())] == [3, 3]
    assert [task.lines for task in listed(facts_only())] == [None]


def facts_only() -> SuiteVersion:
    made: SuiteVersion = SuiteVersionFactory(suite=SuiteFactory(slug="facts"), tasks=1)
    return made


@pytest.fixture
def tasks() -> list[SuiteTask]:
    """Three tasks that differ in every column."""
    version = SuiteVersionFactory(suite=SuiteFactory(slug="small"))
    mutants = {"mutants": {"share": 0.9}}
    facts: list[tuple[str, str, int | None, dict[str, Any]]] = [
        ("b", "Zeros", 2020, {"category": CategoryFactory(slug="data-augmentation"), "audit": mutants}),
        ("c", "Ones", None, {"category": None, "not_runnable_reasons": ["no code"]}),
        ("a", "Twos", 2024, {"category": CategoryFactory(slug="evaluation-metrics"), "audit_state": AuditState.WEAK}),
    ]
    for slug, title, year, revision in facts:
        paper = PaperFactory(suite=version.suite, slug=slug, folder_name=slug, title=title, year=year)
        version.revisions.add(TaskRevisionFactory(task=TaskFactory(suite=version.suite, paper=paper), **revision))
    marked(measured(version), 1.0, 0.0, None)
    return listed(version)


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("task", "abc"),
        ("-task", "cba"),
        ("category", "bac"),
        ("-category", "abc"),
        ("paper", "cab"),
        ("-paper", "bac"),
        ("year", "bac"),
        ("-year", "abc"),
        ("rate", "bac"),
        ("-rate", "abc"),
        ("audit", "abc"),
        ("-audit", "bac"),
    ],
)
def test_unknown_values_are_last_in_both_directions(tasks: list[SuiteTask], sort: str, order: str) -> None:
    assert "".join(task.revision.task.paper.slug for task in in_order(tasks, sort)) == order


def test_every_column_can_be_sorted(tasks: list[SuiteTask]) -> None:
    assert all(len(in_order(tasks, key)) == 3 for key in SORTS)
