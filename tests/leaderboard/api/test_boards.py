"""Boards and systems through the API: the rows of the pages, without hidden data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from benchmark_tasks.domain.queries import revisions_of
from leaderboard.models.enums import Provenance
from submissions.models import Submission
from tests.benchmark_tasks.factories import CategoryFactory
from tests.leaderboard.api.program import Program
from tests.leaderboard.factories import MetricFactory, ReportedResultFactory, label_counts, measured, reported
from tests.reviews.factories import assigned, case_of, ready
from tests.submissions.factories import ImplementationFactory, SystemFactory

if TYPE_CHECKING:
    from benchmark_tasks.models import SuiteVersion
    from submissions.models import User

pytestmark = pytest.mark.django_db


def rows(query: str = "") -> list[Any]:
    listed: list[Any] = Program().get(f"/suites/small/board{query}")["items"]
    return listed


def names(query: str = "") -> list[str]:
    return [row["system"] for row in rows(query)]


def test_a_row_has_every_rater_s_numbers(small: SuiteVersion) -> None:
    metric = {"labels": {"judge": label_counts(7, 7, 14, tasks=28)}}
    entry = measured(small, system__name="Otter", metric=metric)
    (row,) = rows()
    assert row["tests"] == {
        "percent": 39.2857,
        "low": 23.61,
        "high": 57.59,
        "passed": 11.0,
        "tasks": 28,
    }
    assert row["judge"] == {
        "cc": 25.0,
        "lc": 25.0,
        "li": 50.0,
        "labelled": 28.0,
        "abstained": 0.0,
        "tasks": 28,
        "judge": "",
    }
    assert (row["human"], row["reported"], row["page"]) == (None, False, entry.get_absolute_url())
    assert (row["provenance"], row["source"]) == ("graded_here", Provenance.GRADED_HERE.sentence)
    assert (row["partial_tests"], row["remeasures"]) == (None, "")


def test_rows_are_filtered_and_sorted_as_on_the_page(small: SuiteVersion) -> None:
    measured(small, system__name="Otter", metric={"tests_passed": 3.0})
    measured(small, system__name="Badger", metric={"tests_passed": 9.0}, inputs="paper_only")
    reported(small, system__name="Heron", metric={"tests_passed": 6.0})
    assert names() == ["Badger", "Heron", "Otter"]
    assert names("?sort=tests") == ["Otter", "Heron", "Badger"]
    assert names("?show=measured") == ["Badger", "Otter"]
    assert names("?inputs=paper_only") == ["Badger"]
    assert names("?q=her") == ["Heron"]
    assert names("?size=1&page=2") == ["Heron"]
    assert rows("?category=evaluation-metrics") == [], "no row has numbers there"
    assert rows("?kind=calibration") == []
    assert Program().problem("GET", "/suites/small/board?category=none")["status"] == 404
    assert Program().problem("GET", "/suites/small/board?show=all-of-them")["errors"][0]["field"] == "show"


def test_marks_are_given_task_by_task(small: SuiteVersion, alice: User) -> None:
    first, *others = revisions_of(small)
    nothing: list[Any] = [None for _ in others]
    none = ["" for _ in others]
    entry = measured(small, system__name="Otter")
    entry.marks = {"tests": [0.5, *nothing], "judge": ["M", *none], "human": ["CC", *none]}
    entry.save()
    totals = reported(small, system__name="Heron")
    measured(small, owner=alice, published=False, entry_flag=True)
    assert totals.reported_run is not None
    mark = {
        "task": first.task.slug,
        "category": "Evaluation Metrics",
        "tests": 0.5,
        "judge": "M",
        "annotators": "CC",
    }
    listed = Program(alice).get("/suites/small/matrix?sort=-system")["items"]
    found = {each["task"]: each for each in listed[0]["marks"]}
    assert (len(found), found[first.task.slug]) == (1 + len(others), mark)
    assert [(row["key"], row["system"]) for row in listed] == [
        (f"s{entry.submission_id}", "Otter"),
        (f"r-{totals.reported_run.slug}", "Heron"),
    ]
    assert listed[1]["marks"] == []
    assert [row["hidden_while_you_label"] for row in listed] == [False, False]
    annotator = ready()
    answer = ImplementationFactory(submission=entry.submission, revision=first)
    assigned(case_of(answer, state="leased"), annotator)
    held, other = Program(annotator.user).get("/suites/small/matrix?sort=-system")["items"]
    assert (held["key"], held["marks"], held["hidden_while_you_label"]) == (f"s{entry.submission_id}", [], True)
    assert other == listed[1]


def test_numbers_of_a_category_are_hidden_from_annotators_of_its_answers(small: SuiteVersion) -> None:
    category = CategoryFactory()
    revision = small.revisions.order_by("pk")[0]
    type(revision).objects.filter(pk=revision.pk).update(category=category)
    entry = measured(small, system__name="Otter")
    MetricFactory(entry=entry, category=category, tasks=1, tests_passed=1.0)
    reviewer = ready()
    assert reviewer.user is not None
    address = f"/suites/small/board?category={category.slug}"
    assert Program(reviewer.user).get(address)["items"][0]["tests"]["passed"] == 1.0
    answer = ImplementationFactory(submission=entry.submission, revision=revision)
    assigned(case_of(answer, state="leased"), reviewer)
    assert Program(reviewer.user).get(address)["items"][0]["tests"] is None


def test_unpublished_submissions_have_no_row_even_for_their_owner(small: SuiteVersion, alice: User) -> None:
    measured(small, owner=alice, published=False, entry_flag=True)
    assert (rows(), Program(alice).get("/suites/small/board")["items"]) == ([], [])


@pytest.mark.parametrize("address", ["/suites/small/board", "/systems", "/submissions", "/suites"])
def test_lists_need_the_same_queries_for_any_number_of_rows(small: SuiteVersion, address: str) -> None:
    def query_count() -> int:
        with CaptureQueriesContext(
            connection,
        ) as queries:
            Program().get(address)
        return len(queries)

    measured(small)
    query_count()
    one = query_count()
    for _ in range(4):
        measured(small)
    assert query_count() == one


def test_a_system_is_public_once_one_of_its_submissions_is(small: SuiteVersion, alice: User) -> None:
    entry = measured(small, owner=alice, system=SystemFactory(slug="otter", name="Otter", owner=alice))
    system = Program().get("/systems/otter")
    assert [(run["suite"], run["suite_version"], run["tests"]["passed"]) for run in system["runs"]] == [
        ("small", 1, 11.0)
    ]
    assert [each["slug"] for each in Program().get("/systems")["items"]] == ["otter"]
    Submission.objects.filter(pk=entry.submission.pk).update(visibility="hidden")
    assert Program().get("/systems")["items"] == []
    assert Program().problem("GET", "/systems/otter")["status"] == 404
    assert Program(alice).get("/systems/otter")["runs"] == []


def test_reported_runs_have_their_tasks(small: SuiteVersion) -> None:
    entry = reported(small, slug="heron-1.0", source_address="https://example.org/heron", system__name="Heron")
    task = small.revisions.get(task__slug="alpha/1").task
    ReportedResultFactory(run=entry.reported_run, task=task, tests_note="as printed", judge_label="CC")
    (listed,) = Program().get("/reported")["items"]
    run = Program().get("/reported/heron-1.0")
    assert {name: run[name] for name in listed} == listed
    assert (run["system"]["name"], run["source"], run["row"]["reported"]) == (
        *("Heron", "https://example.org/heron"),
        True,
    )
    assert run["results"] == [
        {
            "task": "alpha/1",
            "tests_passed": True,
            "tests_note": "as printed",
            "outcome": "",
            "judge_label": "CC",
            "annotators_label": "",
        }
    ]
    for slug in ("none", "a%00b"):
        assert Program().problem("GET", f"/reported/{slug}")["status"] == 404


def test_the_published_results_are_those_of_the_files(shipped: None) -> None:
    """GPT-4.1 without an agent: 42.9 % of the tests; its judge's labels 7.1, 28.6 and 64.3 %."""
    run = Program().get("/reported/no-agent-gpt-4.1")
    tests, judge = run["row"]["tests"], run["row"]["judge"]
    assert (round(tests["percent"], 1), judge["cc"], judge["lc"], judge["li"]) == (42.9, 7.1, 28.6, 64.3)
    assert (len(run["results"]), sum(each["tests_passed"] for each in run["results"])) == (28, 12)
