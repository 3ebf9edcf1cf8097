"""The matrix: three marks for each system and task, on the board and on a page of its own."""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING

import pytest
from django.utils.html import escape

from benchmark_tasks.facts.categories import CATEGORIES
from leaderboard.board.states import note_change
from leaderboard.models import BoardState
from tests.benchmark_tasks.factories import (
    CategoryFactory,
    PaperFactory,
    SuiteFactory,
    SuiteVersionFactory,
    TaskFactory,
    TaskRevisionFactory,
)
from tests.leaderboard.factories import MetricFactory, measured, reported
from tests.reviews.factories import assigned, case_of, ready
from tests.submissions.factories import ImplementationFactory, SystemFactory

if TYPE_CHECKING:
    from django.test import Client

    from benchmark_tasks.models import SuiteVersion

pytestmark = pytest.mark.django_db


@pytest.fixture
def version() -> SuiteVersion:
    """Tasks a/1 and b/1 in the second category, c/1 in the first."""
    made: SuiteVersion = SuiteVersionFactory(suite=SuiteFactory(slug="small", position=1))
    first, second = (CategoryFactory(slug=each.slug) for each in CATEGORIES[:2])
    for folder, category in (("a", second), ("b", second), ("c", first)):
        paper = PaperFactory(suite=made.suite, slug=folder, folder_name=folder)
        task = TaskFactory(suite=made.suite, paper=paper, index=1, slug=f"{folder}/1")
        made.revisions.add(TaskRevisionFactory(task=task, category=category))
    entry = measured(made, system=SystemFactory(name="Ours <b>"), trials=3)
    entry.marks = {"tests": [1.0, 1 / 3, None], "judge": ["CC", "M", ""], "human": ["LI", "", "A"]}
    entry.save()
    reported(made, system=SystemFactory(name="Totals"))
    run = reported(made, system=SystemFactory(name="Theirs"), slug="no-agent-x.1")
    run.marks = {"tests": [0.0, 1.0, 1.0], "judge": ["LC", "LC", "LC"], "human": ["", "", ""]}
    run.save()
    note_change(made.pk)
    BoardState.objects.update(pass_rates=[0.5, 0.75, 0.25])
    return made


def marks(page: str) -> list[tuple[str, str, str]]:
    """Classes, address and label of every mark."""
    return re.findall(r'<a class="(m [^"]*)" href="([^"]*)"(?: tabindex="-1")? aria-label="([^"]*)"></a>', page)


def test_marks_describe_each_rater_s_result_in_the_order_of_categories(client: Client, version: SuiteVersion) -> None:
    ours = version.entries.get(submission__isnull=False).submission_id
    run, missing = "/board/small/answers/r-no-agent-x.1/", "annotators not published by the authors"
    expected = [
        (
            "m tn jn ha",
            f"/board/small/answers/s{ours}/c/1/",
            "c/1: tests not known, judge no label, annotators abstained",
        ),
        (
            "m tg jg hb starts",
            f"/board/small/answers/s{ours}/a/1/",
            "a/1: tests passed in 3 of 3 trials, judge CC, annotators LI",
        ),
        (
            "m tm jx hn",
            f"/board/small/answers/s{ours}/b/1/",
            "b/1: tests passed in 1 of 3 trials, judge differs between trials, annotators no label",
        ),
        ("m tg jm hn", f"{run}c/1/", f"c/1: tests passed, judge LC, {missing}"),
        ("m tb jm hn starts", f"{run}a/1/", f"a/1: tests failed, judge LC, {missing}"),
        ("m tg jm hn", f"{run}b/1/", f"b/1: tests passed, judge LC, {missing}"),
    ]
    for address in ("/board/small/?sort=system", "/board/small/matrix/?sort=system"):
        page = client.get(address).content.decode()
        assert marks(page) == expected
        assert "Ours &lt;b&gt;" in page
        assert "Ours <b>" not in page


def test_the_page_marks_totals_only_and_shows_pass_rates(client: Client, version: SuiteVersion) -> None:
    page = client.get("/board/small/matrix/").content.decode()
    assert page.count("The authors published totals only.") == 1
    assert re.findall(r'<td class="number[^"]*">(\d+)</td>', page) == ["25", "50", "75"]
    assert re.findall(r'<th scope="col" class="task-head[^"]*">\s*<a [^>]*><span>([^<]+)<', page) == [
        "c/1",
        "a/1",
        "b/1",
    ]


def test_the_columns_have_the_categories_names(client: Client, version: SuiteVersion) -> None:
    page = client.get("/board/small/matrix/").content.decode()
    heads = re.findall(
        r'<th scope="colgroup" colspan="(\d)" [^>]*>\s*<a href="[^"]*" title="([^"]*)"><span>([^<]*)<', page
    )
    titles = [escape(each.title) for each in CATEGORIES[:2]]
    assert heads == [("1", titles[0], "Representation"), ("2", titles[1], "Architectures")]
    assert len({each.short for each in CATEGORIES}) == len(CATEGORIES)


def test_tasks_can_be_ordered_by_difficulty(client: Client, version: SuiteVersion) -> None:
    BoardState.objects.update(pass_rates=[0.5, None, 0.75])
    page = client.get("/board/small/matrix/?tasks=difficulty").content.decode()
    assert re.findall(r'<th scope="col" class="task-head[^"]*">\s*<a [^>]*><span>([^<]+)<', page) == [
        "a/1",
        "c/1",
        "b/1",
    ]


def test_one_category_has_its_tasks_only(client: Client, version: SuiteVersion) -> None:
    category = version.revisions.get(task__slug="c/1").category
    assert category is not None
    entry = version.entries.get(reported_run__slug="no-agent-x.1")
    MetricFactory(entry=entry, category=category, tasks=1)
    page = client.get(f"/board/small/matrix/?category={category.slug}").content.decode()
    assert [address for _, address, _ in marks(page)] == ["/board/small/answers/r-no-agent-x.1/c/1/"]


def test_the_file_has_a_line_for_each_system_and_task(client: Client, version: SuiteVersion) -> None:
    response = client.get("/board/small/matrix/?format=csv&sort=system")
    assert response["Content-Disposition"] == 'attachment; filename="small-matrix.csv"'
    lines = list(csv.DictReader(response.content.decode().splitlines()))
    assert [(line["system"], line["task"], line["tests"], line["judge"], line["annotators"]) for line in lines] == [
        ("Ours <b>", "c/1", "", "", "abstained"),
        ("Ours <b>", "a/1", "1.0", "CC", "LI"),
        ("Ours <b>", "b/1", str(1 / 3), "mixed", ""),
        ("Theirs", "c/1", "1.0", "LC", ""),
        ("Theirs", "a/1", "0.0", "LC", ""),
        ("Theirs", "b/1", "1.0", "LC", ""),
    ]
    assert lines[3]["address"] == "http://testserver/cases/reported/no-agent-x.1/c/1/"
    rows = client.get("/board/small/matrix/?format=json&sort=system").json()["rows"]
    assert [row["tests"] for row in rows] == [None, 1.0, 1 / 3, 1.0, 0.0, 1.0]
    assert client.get("/board/small/matrix/?format=xml").status_code == 404


def test_files_include_held_rows_without_numbers(client: Client, version: SuiteVersion) -> None:
    submission = version.entries.get(submission__isnull=False).submission
    person = ready()
    assigned(case_of(ImplementationFactory(submission=submission, revision=version.revisions.first())), person)
    assert "hidden_while_you_label" not in client.get("/board/small/matrix/?format=csv").content.decode()
    client.force_login(person.user)  # type: ignore[arg-type]
    rows = client.get("/board/small/matrix/?format=json&sort=system").json()["rows"]
    columns = ("system", "task", "tests", "judge", "annotators", "hidden_while_you_label")
    assert [tuple(row[name] for name in columns) for row in rows] == [
        ("Ours <b>", "c/1", None, None, None, True),
        ("Ours <b>", "a/1", None, None, None, True),
        ("Ours <b>", "b/1", None, None, None, True),
        ("Theirs", "c/1", 1.0, "LC", "", False),
        ("Theirs", "a/1", 0.0, "LC", "", False),
        ("Theirs", "b/1", 1.0, "LC", "", False),
    ]
    text = client.get("/board/small/matrix/?format=csv&sort=system").content.decode()
    lines = list(csv.DictReader(text.splitlines()))
    assert [tuple(line[name] for name in columns) for line in lines[2:4]] == [
        ("Ours <b>", "b/1", "", "", "", "True"),
        ("Theirs", "c/1", "1.0", "LC", "", "False"),
    ]
    board = client.get("/board/small/?format=json&sort=system").json()["rows"]
    assert [(row["system"], row["tests_passed"], row["hidden_while_you_label"]) for row in board] == [
        ("Ours <b>", None, True),
        ("Theirs", 11.0, False),
        ("Totals", 11.0, False),
    ]


def test_a_held_row_is_marked_so_that_its_card_has_no_empty_cells(client: Client, version: SuiteVersion) -> None:
    submission = version.entries.get(submission__isnull=False).submission
    person = ready()
    assigned(case_of(ImplementationFactory(submission=submission, revision=version.revisions.first())), person)
    assert '<tr role="row" class="hidden-row">' not in client.get("/board/small/").content.decode()
    client.force_login(person.user)  # type: ignore[arg-type]
    page = client.get("/board/small/").content.decode()
    rows = [row for row in page.split("<tr ") if row.startswith('role="row" class="hidden-row">')]
    assert ["Ours &lt;b&gt;" in row for row in rows] == [True]
