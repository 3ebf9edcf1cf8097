"""The first page: the finding above the board, what to look at below it, and how both follow filters."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from django.utils import timezone

from evaluator.enums import SelfCheckKind
from evaluator.models import SelfCheck
from leaderboard.board.ranks import rank_version
from leaderboard.board.states import note_change
from leaderboard.models import Entry, EntryMetric
from reviews.enums import CaseState
from submissions.enums import Visibility
from submissions.models import Submission
from tests.benchmark_tasks.factories import (
    PaperFactory,
    SuiteFactory,
    SuiteVersionFactory,
    TaskFactory,
    TaskRevisionFactory,
)
from tests.leaderboard.factories import ReportedResultFactory, measured, reported
from tests.leaderboard.showing import words_of
from tests.reviews.factories import assigned, case_of, ready
from tests.submissions.factories import ImplementationFactory, SystemFactory

if TYPE_CHECKING:
    from django.test import Client

    from benchmark_tasks.models import SuiteVersion

pytestmark = pytest.mark.django_db


@pytest.fixture
def version() -> SuiteVersion:
    """Eight tasks of eight papers, the first five of 2023."""
    suite = SuiteFactory(slug="small", title="Small", position=1)
    made: SuiteVersion = SuiteVersionFactory(suite=suite)
    for place in range(8):
        address = f"https://arxiv.org/abs/{2301 if place < 5 else 2501}.0000{place}"
        paper = PaperFactory(suite=suite, slug=f"p{place}", address=address)
        made.revisions.add(TaskRevisionFactory(task=TaskFactory(suite=suite, paper=paper, index=1, slug=f"p{place}/1")))
    return made


def row(version: SuiteVersion, name: str, marks: str, **facts: Any) -> Entry:
    """A submission's row that passes the tasks marked ``+``."""
    passed = marks.count("+")
    entry = measured(
        version, system=SystemFactory(name=name), metric={"tasks": 8, "tests_passed": float(passed)}, **facts
    )
    entry.marks = {"tests": [float(mark == "+") for mark in marks]}
    entry.save()
    return entry


def ranked(version: SuiteVersion) -> None:
    note_change(version.pk, results=True)
    rank_version(version.pk)


def finding(client: Client, query: str = "") -> tuple[str, str]:
    """The page's two sentences."""
    page = client.get(f"/board/small/{query}").content.decode()
    sentence = re.search(r'<h1 id="finding-sentence">([^<]+)</h1>', page)
    certainty = re.search(r'<p class="certainty">([^<]+)</p>', page)
    assert sentence
    return sentence[1], certainty[1] if certainty else ""


def chart(client: Client, query: str = "") -> list[tuple[str, str, str]]:
    """Name, value and rank of each line of the chart."""
    page = client.get(f"/board/small/{query}").content.decode()
    lines = re.findall(
        r'<span class="line-name"[^>]*>([^<]+)</span>.*?"line-value">([^<]+)</span>.*?"line-rank">(.*?)</span>\n',
        page,
        re.DOTALL,
    )
    return [(name, value, re.sub(r"<[^>]+>", "", rank)) for name, value, rank in lines]


class TestFinding:
    def test_names_the_leader_and_whom_it_cannot_be_distinguished_from(
        self, client: Client, version: SuiteVersion
    ) -> None:
        row(version, "Best", "++++++++")
        row(version, "Second", "+++++++-")
        row(version, "Last", "--------")
        reported(version, system=SystemFactory(name="Totals"), metric={"tasks": 8, "tests_passed": 7.0})
        ranked(version)
        assert finding(client) == (
            "Best solves 8 of 8 tasks.",
            "With 8 tasks, it cannot be distinguished from one of the two other systems measured task by task.",
        )
        assert chart(client) == [
            ("Best", "8 of 8", "1st to 2nd"),
            ("Second", "7 of 8", "1st to 2nd"),
            ("Totals", "7 of 8", "total only"),
            ("Last", "0 of 8", "3rd"),
        ]

    def test_a_filter_ranks_the_rows_that_it_selects(self, client: Client, version: SuiteVersion) -> None:
        row(version, "Best", "++++++++")
        row(version, "Otter one", "+++++++-")
        row(version, "Otter two", "--------")
        ranked(version)
        assert finding(client, "?q=otter") == (
            "Of the systems shown, Otter one solves most: 7 of 8 tasks.",
            "Its lead over the other system shown here task by task is larger than the choice of papers explains.",
        )
        assert [rank for *_, rank in chart(client, "?q=otter")] == ["1st", "2nd"]
        cells = re.findall(r'class="column-rank">([^<]+)</td>', client.get("/board/small/?q=otter").content.decode())
        assert cells == ["1st", "2nd"]
        assert finding(client, "?q=nothing") == ("No row matches these filters.", "")

    def test_a_month_counts_and_ranks_the_later_papers(self, client: Client, version: SuiteVersion) -> None:
        row(version, "Early", "+++++---")
        row(version, "Late", "-----+++")
        ranked(version)
        assert finding(client, "?papers=2023-01") == (
            "Late solves 3 of 3 tasks of papers first public after 2023-01.",
            "Fewer than six tasks are too few to rank systems.",
        )

    def test_does_not_depend_on_order_and_page(self, client: Client, version: SuiteVersion) -> None:
        row(version, "Best", "++++++++")
        row(version, "Worst", "--------")
        ranked(version)
        expected = finding(client)
        assert (finding(client, "?sort=tests"), finding(client, "?sort=system")) == (expected, expected)
        assert chart(client, "?sort=tests") == chart(client)

    def test_an_annotator_sees_neither_numbers_nor_ranks_of_the_held_row(
        self, client: Client, version: SuiteVersion
    ) -> None:
        held = row(version, "Held", "++++++++").submission
        row(version, "Other", "+-------")
        ranked(version)
        person = ready()
        assigned(case_of(ImplementationFactory(submission=held, revision=version.revisions.first())), person)
        client.force_login(person.user)  # type: ignore[arg-type]
        assert finding(client) == ("Other solves 1 of 8 tasks.", "")
        page = words_of(client.get("/board/small/"))
        assert "Held hidden while you label an answer of it" in page
        assert "8 of 8" not in page

    def test_social_previews_have_the_finding_and_the_filters_picture(
        self, client: Client, version: SuiteVersion
    ) -> None:
        row(version, "Best", "++++++++")
        page = client.get("/board/small/?q=best").content.decode()
        assert (
            '<meta property="og:description" content="Of the systems shown, Best solves most: 8 of 8 tasks.">' in page
        )
        assert 'content="http://testserver/board/small/picture.png?q=best"' in page
        plain = client.get("/board/small/picture.png").content
        assert client.get("/board/small/picture.png?q=best").content != plain
        assert client.get("/board/small/picture.png?sort=system").content == plain

    def test_has_one_line_a_system_and_says_whose_results_they_are(self, client: Client, version: SuiteVersion) -> None:
        note_change(version.pk)
        system = SystemFactory(name="Both")
        reported(version, system=system, metric={"tasks": 8, "tests_passed": 7.0})
        reported(version, system=system, inputs="paper_only", metric={"tasks": 8, "tests_passed": 8.0})
        assert chart(client) == [("Both", "7 of 8", "total only")]
        assert chart(client, "?fold=no") == chart(client)
        assert chart(client, "?inputs=paper_only") == [("Both, paper only", "8 of 8", "total only")]
        assert "Results as their authors reported them" in words_of(client.get("/board/small/"))
        row(version, "Ours", "+-------")
        note_change(version.pk, results=True)
        assert "Results as their authors reported them" not in words_of(client.get("/board/small/"))

    def test_an_empty_board_says_so(self, client: Client, version: SuiteVersion) -> None:
        assert finding(client) == ("No system has results yet.", "")
        assert chart(client) == []


class TestBelowTheBoard:
    def test_three_answers_on_which_raters_contradict_each_other(self, client: Client, version: SuiteVersion) -> None:
        entry = row(version, "Best", "+++-----")
        entry.marks |= {"judge": ["CC", "LI", "CC", "LI"] + ["LI"] * 4, "human": ["LI", "CC", "CC", "CC"] + ["LI"] * 4}
        entry.save()
        answer = f"/board/small/answers/s{entry.submission_id}/p0/1/"
        page = client.get("/board/small/")
        assert "Best, p0/1: passes its tests; the judge calls it correct, annotators wrong." in words_of(page)
        assert f'<a href="{answer}" aria-label="Evidence: Best, p0/1:' in page.content.decode()
        assert words_of(page).count(" Evidence") == 3
        # An open case: annotators label the answer blind.
        revision = version.revisions.get(task__paper__slug="p0")
        case = case_of(ImplementationFactory(submission=entry.submission, revision=revision))
        note_change(version.pk)
        assert "Best, p0/1" not in words_of(client.get("/board/small/"))
        case.state = CaseState.AGREED
        case.save()
        note_change(version.pk)
        assert "Best, p0/1" in words_of(client.get("/board/small/"))

    def test_the_newest_rows_of_this_site(self, client: Client, version: SuiteVersion) -> None:
        note_change(version.pk)
        assert "No submission is published on this board yet" in words_of(client.get("/board/small/"))
        for month, name in enumerate(("Old", "First", "Second", "Third"), start=1):
            entry = row(version, name, "+-------")
            Entry.objects.filter(pk=entry.pk).update(date=datetime(2026, month, 1, tzinfo=UTC))
        row(version, "Private", "+-------", published=False)
        note_change(version.pk, results=True)
        shown = words_of(client.get("/board/small/"))
        newest = shown[shown.index("Newest rows") : shown.index("Feed · Snapshots")]
        assert newest == (
            "Newest rows Third : 1 of 8 tasks, 1 April 2026 Second : 1 of 8 tasks, 1 March 2026 "
            "First : 1 of 8 tasks, 1 February 2026 "
        )
        # Hidden at once, before a job has counted the change.
        Submission.objects.filter(system__name="Third").update(visibility=Visibility.WITHDRAWN)
        note_change(version.pk)
        shown = words_of(client.get("/board/small/"))
        newest = shown[shown.index("Newest rows") : shown.index("Feed · Snapshots")]
        assert re.findall(r"(\w+) : 1 of 8", newest) == ["Second", "First", "Old"]

    def test_counts_public_data_only(self, client: Client, version: SuiteVersion) -> None:
        revision = version.revisions.first()
        for published in (True, False):
            ImplementationFactory(
                submission=row(version, f"P{published}", "+-------", published=published).submission, revision=revision
            )
        run = reported(version).reported_run
        ReportedResultFactory(run=run, task=revision.task, judge_label="CC", human_label="LI")
        SelfCheck.objects.create(
            kind=SelfCheckKind.SHORT,
            evaluator_version="6",
            results=[
                {"group": group, "protocol": "sealed", "repelled": repelled}
                for group, repelled in (("control", True), ("filesystem", True), ("network", False))
            ],
            started=timezone.now(),
            finished=datetime(2026, 11, 27, 12, tzinfo=UTC),
        )
        assert (
            "On the whole site: 2 answers · 1 annotators’ label · 1 judges’ label · "
            "1 of 2 attacks on the evaluator repelled on 27 November 2026"
        ) in words_of(client.get("/board/small/"))

    def test_offers_the_suite_with_the_fewest_tasks_that_takes_answers(
        self, client: Client, version: SuiteVersion
    ) -> None:
        SuiteVersionFactory(suite=SuiteFactory(slug="mini", title="Mini", position=2), tasks=1)
        shown = client.get("/board/small/")
        assert "Try it in ten minutes on Mini" in words_of(shown)
        assert "python3 lmr_board.py submit mini/example-bundle" in shown.content.decode()


def test_few_labels_of_annotators_are_counts(client: Client, version: SuiteVersion) -> None:
    entry = row(version, "Best", "++++++++")
    percent = {"CC": 25.0, "LC": 0.0, "LI": 12.5}
    labels = {"CC": 2, "LC": 0, "LI": 1, "abstained": 0, "none": 5, "percent": percent}
    EntryMetric.objects.filter(entry=entry).update(labels={"human": labels, "judge": labels})
    shown = words_of(client.get("/board/small/"))
    assert "2 CC, 1 LI of 8 tasks" in shown
    assert "CC 25.0 LC 0.0 LI 12.5" in shown, "the judge's"
    assert shown.count("CC 25.0 LC 0.0 LI 12.5") == 1
