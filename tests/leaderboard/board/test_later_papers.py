"""Boards that count only tasks of papers that were first public after a month."""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING

import pytest
from django.contrib.auth.models import AnonymousUser

from leaderboard.board.caching import forget
from leaderboard.board.later_papers import counted_on, later
from leaderboard.board.matrix import tasks_of
from leaderboard.board.states import note_change
from leaderboard.models import EntryMetric
from leaderboard.statistics.intervals import wilson
from leaderboard.web import listing
from reviews.enums import CaseState
from tests.benchmark_tasks.factories import (
    PaperFactory,
    SuiteFactory,
    SuiteVersionFactory,
    TaskFactory,
    TaskRevisionFactory,
)
from tests.leaderboard.factories import label_counts, measured, reported
from tests.leaderboard.showing import rows_of, words
from tests.reviews.factories import assigned, case_of, ready
from tests.submissions.factories import ImplementationFactory, SystemFactory

if TYPE_CHECKING:
    from django.test import Client, RequestFactory

    from benchmark_tasks.models import SuiteVersion

pytestmark = pytest.mark.django_db
ADDRESSES = (
    "https://arxiv.org/abs/2305.18290",
    "https://arxiv.org/pdf/2401.04925v2",
    "https://aclanthology.org/2024.x.pdf",
    "https://arxiv.org/abs/2502.11089",
)


@pytest.fixture
def version() -> SuiteVersion:
    """Four tasks, of 2023-05, 2024-01, 2024 (month unknown) and 2025-02."""
    made: SuiteVersion = SuiteVersionFactory(suite=SuiteFactory(slug="small", position=1))
    for name, address in zip("abcd", ADDRESSES, strict=True):
        paper = PaperFactory(suite=made.suite, slug=name, folder_name=name, address=address, year=2024)
        task = TaskFactory(suite=made.suite, paper=paper, index=1, slug=f"{name}/1")
        made.revisions.add(TaskRevisionFactory(task=task))
    labels = {"judge": label_counts(2, 1, 1, tasks=4), "human": label_counts(2, 1, 1, tasks=4)}
    old = measured(made, system=SystemFactory(name="Old", knowledge_cutoff="2024-06"), metric={"labels": labels})
    old.marks = {"tests": [1.0, 1.0, 1.0, 0.0], "judge": ["CC", "CC", "LI", "LC"], "human": ["CC", "M", "LI", "CC"]}
    new = measured(made, system=SystemFactory(name="New"), trials=2, metric={"tests_passed": 2.0})
    new.marks = {"tests": [0.0, None, 0.5, 1.0]}
    for entry in (old, new):
        entry.save()
    reported(made, system=SystemFactory(name="Totals"))
    note_change(made.pk)
    return made


def rows(client: Client, query: str) -> list[dict[str, str]]:
    return list(csv.DictReader(client.get(f"/board/small/?format=csv&{query}").content.decode().splitlines()))


def test_a_file_that_is_read_in_parts_is_the_same(
    client: Client, version: SuiteVersion, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = rows(client, "papers=2023-05&sort=tests")
    assert [row["system"] for row in whole] == ["Old", "New", "Totals"]
    forget()
    monkeypatch.setattr(listing, "_PART", 1)
    assert rows(client, "papers=2023-05&sort=tests") == whole


@pytest.mark.parametrize("query", ["sort=-tests", "sort=-tests&papers=2023-05"])
def test_a_row_that_is_recounted_while_a_file_is_read_stays_in_it(
    rf: RequestFactory, version: SuiteVersion, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    monkeypatch.setattr(listing, "_PART", 1)
    request = rf.get(f"/board/small/?format=csv&{query}")
    request.user = AnonymousUser()
    reading = listing.Listing(request, version).file_rows()
    first = next(reading).system
    for metric in EntryMetric.objects.exclude(entry__system__name=first):
        metric.delete()
        metric.pk = None
        metric.save()
    assert {first, *(row.system for row in reading)} == {"Old", "New", "Totals"}


def test_papers_have_the_month_of_their_arxiv_number_or_their_year(version: SuiteVersion) -> None:
    papers = [revision.task.paper.first_public for revision in version.revisions.order_by("task__slug")]
    assert papers == ["2023-05", "2024-01", "2024", "2025-02"]


def test_the_choices_are_the_months_with_the_tasks_after_them(client: Client, version: SuiteVersion) -> None:
    page = client.get("/board/small/").content.decode()
    (choices,) = re.findall(r'<select name="papers".*?</select>', page, re.DOTALL)
    assert re.findall(r'value="([^"]*)"[^>]*>([^<]*)<', choices) == [
        ("", "papers of any date"),
        ("2023-05", "papers after 2023-05 (3)"),
        ("2024-01", "papers after 2024-01 (1)"),
        ("2024", "papers after 2024 (1)"),
    ]


def test_only_later_papers_are_counted(client: Client, version: SuiteVersion) -> None:
    assert [row["tasks"] for row in rows(client, "papers=2024")[:2]] == ["1", "1"], (
        "2024-01 and 2024 are not after 2024"
    )
    new, old, totals = rows(client, "papers=2023-05")
    assert (new["system"], new["tests_passed"], new["tasks"]) == ("New", "1.5", "2"), "one task is left out"
    assert (old["system"], old["tests_passed"], old["tasks"], old["tests_percent"]) == ("Old", "2.0", "3", "66.7")
    low, high = wilson(2, 3)
    assert (old["tests_low"], old["tests_high"]) == (f"{100 * low:.1f}", f"{100 * high:.1f}")
    assert (old["judge_cc_percent"], old["judge_lc_percent"], old["judge_li_percent"]) == ("33.3", "33.3", "33.3")
    assert old["annotators_cc_percent"] == "", "which label each trial got is not kept"
    assert (totals["system"], totals["tests_passed"], totals["rank_from"]) == ("Totals", "", "")


def test_values_of_all_tasks_are_left_out_and_each_rater_is_counted_separately(version: SuiteVersion) -> None:
    labels = {rater: label_counts(1, 1, 1, tasks=4, abstained=1) for rater in ("judge", "human", "final")}
    metric = {"labels": labels, "rank_from": 1, "rank_to": 2}
    entry = measured(version, system=SystemFactory(name="Rated"), metric=metric)
    entry.marks = {
        "tests": [1.0, None, None, None],
        "judge": ["CC", "A", "LI", "A"],
        "human": ["CC", "", "LC", "CC"],
        "final": ["CC", "LC", "CC", "LI"],
    }
    entry.save()
    (shown,) = [row.model_copy(update={"trial_passes": (2, 1)}) for row in rows_of(version) if row.system == "Rated"]
    assert (shown.rank, shown.trial_passes) == ((1, 2), (2, 1))
    (row,) = counted_on([shown], later(tasks_of(version), "2023-05"), "2023-05", [])
    assert (row.tests, row.rank, row.trial_passes, row.stamp) == (None, None, (), f"{shown.stamp} 2023-05")
    assert row.judge is not None
    assert row.human is not None
    assert row.final is not None
    given = [(each.cc, each.lc, each.li, each.labelled, each.abstained) for each in (row.judge, row.human, row.final)]
    assert given == [(0.0, 0.0, 33.3, 1, 2), (33.3, 33.3, 0.0, 2, 0), (33.3, 33.3, 33.3, 3, 0)]
    silent = shown.model_copy(update={"marks": {**shown.marks, "judge": ["CC", "", "", ""]}})
    (row,) = counted_on([silent], later(tasks_of(version), "2023-05"), "2023-05", [])
    assert row.judge is None


def test_reported_rows_count_all_tasks_and_measured_rows_their_measured_tasks(version: SuiteVersion) -> None:
    """In a reported row, a task without a result counts as not passed."""
    for entry in version.entries.filter(system__name__in=["New", "Totals"]):
        entry.marks = {"tests": [1.0, 1.0, None, 0.0]}
        entry.save()
    found = {}
    for row in counted_on(rows_of(version), later(tasks_of(version), "2023-05"), "2023-05", []):
        found[row.system] = row.tests and (row.tests.passed, row.tests.tasks)
    assert found == {"Old": (2.0, 3), "New": (1.0, 2), "Totals": (1.0, 3)}


def test_rows_are_sorted_by_the_counted_tasks(client: Client, version: SuiteVersion) -> None:
    assert [row["system"] for row in rows(client, "")] == ["Old", "Totals", "New"]
    assert [row["system"] for row in rows(client, "papers=2024-01")] == ["New", "Old", "Totals"]
    assert [row["system"] for row in rows(client, "papers=2024-01&sort=tests")] == ["Old", "New", "Totals"]
    assert [row["system"] for row in rows(client, "papers=2024-01&sort=-judge-lc")] == ["Old", "New", "Totals"]
    assert [row["system"] for row in rows(client, "papers=2024-01&sort=system")] == ["New", "Old", "Totals"]


def test_the_page_describes_the_filter_and_shows_the_models_knowledge_cutoff(
    client: Client, version: SuiteVersion
) -> None:
    page = words(client.get("/board/small/?papers=2024-01").content.decode())
    assert "Only the 1 task of papers first public after 2024-01 is counted." in page
    assert "Knowledge cutoff" in page
    assert "2024-06" in page
    whole = words(client.get("/board/small/").content.decode())
    assert "is counted" not in whole


def test_pages_of_both_boards_do_not_mix(client: Client, version: SuiteVersion) -> None:
    """Rows are cached as HTML, together with the month that they were counted for."""
    first = client.get("/board/small/").content
    assert client.get("/board/small/?papers=2024-01").content != first
    note_change(version.pk)
    assert client.get("/board/small/").content == first


def test_the_place_of_a_row_reveals_nothing_to_annotators_of_its_answers(client: Client, version: SuiteVersion) -> None:
    old = version.entries.get(system__name="Old").submission
    answer = ImplementationFactory(submission=old, revision=version.revisions.get(task__slug="d/1"))
    order = [row["system"] for row in rows(client, "papers=2024&sort=tests")]
    reviewer = ready()
    assigned(case_of(answer, state=CaseState.LEASED), reviewer)
    assert reviewer.user is not None
    client.force_login(reviewer.user)
    hidden = rows(client, "papers=2024&sort=tests")
    assert (order, [row["system"] for row in hidden]) == (["Old", "New", "Totals"], ["New", "Totals", "Old"])
    assert (hidden[2]["tests_passed"], hidden[2]["judge_cc_percent"]) == ("", "")


@pytest.mark.parametrize("month", ["2019-01", "nonsense", "2024-13"])
def test_other_months_are_refused(client: Client, version: SuiteVersion, month: str) -> None:
    response = client.get(f"/board/small/?papers={month}")
    assert (response.status_code, "Select a valid choice" in response.content.decode()) == (200, True)
