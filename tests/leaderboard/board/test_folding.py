"""Folded boards: which row leads a system's rows, and what shows all of them."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from importlib import import_module
from typing import TYPE_CHECKING

import pytest
from django.apps import apps

from leaderboard.board.entries import recompute_submission, refresh_visibility
from leaderboard.board.folding import folded, represent
from leaderboard.board.rows import board_metrics
from leaderboard.models import Entry, EntryMetric
from leaderboard.models.enums import Provenance
from submissions.enums import Inputs, Kind
from submissions.models import Submission
from tests.benchmark_tasks.factories import SuiteFactory, SuiteVersionFactory
from tests.leaderboard.factories import measured
from tests.leaderboard.showing import words_of
from tests.submissions.factories import SystemFactory

if TYPE_CHECKING:
    from django.test import Client

    from benchmark_tasks.models import SuiteVersion

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


@pytest.fixture
def rows() -> dict[str, Entry]:
    """Rows of one system, the better ones with the weaker claims; two of its rows have other inputs."""
    version: SuiteVersion = SuiteVersionFactory(suite=SuiteFactory(slug="small", position=1), tasks=2)
    system = SystemFactory(name="Otter")
    made = {}
    for name, provenance, passed, month, inputs in (
        ("best", "graded_here", 20.0, 5, Inputs.FULL),
        ("old", "with_trajectories", 15.0, 1, Inputs.FULL),
        ("new", "with_trajectories", 10.0, 3, Inputs.FULL),
        ("paper", "graded_here", 8.0, 2, Inputs.PAPER_ONLY),
        ("paper again", "graded_here", 9.0, None, Inputs.PAPER_ONLY),
    ):
        entry = measured(
            version,
            system=system,
            owner=system.owner,
            provenance=Provenance(provenance),
            metric={"tests_passed": passed},
            inputs=inputs,
        )
        Entry.objects.filter(pk=entry.pk).update(date=month and datetime(2026, month, 1, tzinfo=UTC))
        made[name] = entry
    represent(system.pk)
    return made


def submissions(client: Client, query: str = "") -> list[int]:
    """The submissions of the page's rows, in order."""
    page = client.get(f"/board/small/{query}").content.decode()
    return [int(number) for number in re.findall(r'name="row" value="s(\d+)"', page)]


def test_the_strongest_claim_represents_a_system_and_of_equal_claims_the_newest(rows: dict[str, Entry]) -> None:
    version = rows["new"].suite_version
    chosen = folded(board_metrics(version, kind=Kind.RANKED)).values_list("entry", flat=True)
    assert set(chosen) == {rows["new"].pk}


def test_the_page_says_how_many_rows_are_folded(client: Client, rows: dict[str, Entry]) -> None:
    assert submissions(client) == [rows["new"].submission_id]
    shown = words_of(client.get("/board/small/"))
    assert [shown.count(text) for text in ("4 more rows", "show every row")] == [1, 1]
    everything = [rows[name].submission_id for name in ("best", "old", "new", "paper again", "paper")]
    assert submissions(client, "?fold=no") == everything
    assert submissions(client, f"?system={rows['new'].system.slug}") == everything
    assert submissions(client, "?system=another") == []
    assert "One row for each system" in words_of(client.get("/board/small/?fold=no"))
    # A script inserts the others below this one.
    assert client.get("/board/small/").content.count(b'<tr role="row" class="leading-row"') == 1


def test_a_row_with_reduced_inputs_leads_only_without_one_of_full_inputs(
    client: Client, rows: dict[str, Entry]
) -> None:
    for name in ("best", "old", "new"):
        gone = rows[name].submission_id or 0
        Submission.objects.filter(pk=gone).update(visibility="withdrawn")
        refresh_visibility(gone)
    assert submissions(client) == [rows["paper"].submission_id]


def test_a_partial_row_leads_only_without_a_complete_one(client: Client, rows: dict[str, Entry]) -> None:
    partial = EntryMetric.objects.filter(entry__in=[rows["new"].pk, rows["old"].pk, rows["best"].pk])
    partial.update(answered=1, tests_rate=None)
    represent(rows["new"].system_id)
    assert submissions(client) == [rows["paper"].submission_id]
    EntryMetric.objects.update(answered=1, tests_rate=None)
    represent(rows["new"].system_id)
    assert submissions(client) == [rows["new"].submission_id]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("?show=graded_here", ["best", "paper again", "paper"]),
        ("?since=2026-04-01", ["best"]),
        ("?until=2026-01-31", ["old"]),
        ("?show=all&inputs=paper_only", ["paper again", "paper"]),
    ],
)
def test_a_filter_that_chooses_among_a_system_s_rows_shows_each(
    client: Client, rows: dict[str, Entry], query: str, expected: list[str]
) -> None:
    assert submissions(client, query) == [rows[name].submission_id for name in expected]


def test_files_and_the_api_have_every_row(client: Client, rows: dict[str, Entry]) -> None:
    assert len(client.get("/board/small/?format=json").json()["rows"]) == 5
    assert client.get("/api/v1/suites/small/board").json()["total"] == 5


def test_a_withdrawn_row_represents_nothing(client: Client, rows: dict[str, Entry]) -> None:
    gone = rows["new"].submission_id or 0
    Submission.objects.filter(pk=gone).update(visibility="withdrawn")
    refresh_visibility(gone)
    assert submissions(client) == [rows["old"].submission_id]


def test_a_submission_that_is_evaluated_again_represents_nothing_meanwhile(
    client: Client, rows: dict[str, Entry]
) -> None:
    gone = rows["new"].submission_id or 0
    Submission.objects.filter(pk=gone).update(state="evaluating")
    assert recompute_submission(gone) is None
    assert submissions(client) == [rows["old"].submission_id]


def test_a_row_that_moves_to_another_version_represents_nothing_on_its_former_one(
    client: Client, rows: dict[str, Entry]
) -> None:
    former = rows["new"].suite_version
    newer = SuiteVersionFactory(suite=former.suite, number=former.number + 1, tasks=2)
    moved = rows["new"].submission_id or 0
    Submission.objects.filter(pk=moved).update(suite_version=newer)
    recompute_submission(moved)
    shown = [
        folded(board_metrics(version, kind=Kind.RANKED)).values_list("entry", flat=True) for version in (former, newer)
    ]
    assert [set(chosen) for chosen in shown] == [{rows["old"].pk}, {rows["new"].pk}]


def test_the_upgrade_chooses_the_same_rows(rows: dict[str, Entry]) -> None:
    overall = EntryMetric.objects.filter(entry__in=[entry.pk for entry in rows.values()])
    chosen = dict(overall.values_list("entry", "represents"))
    assert chosen == {
        **{rows[name].pk: None for name in ("best", "old", "paper", "paper again")},
        rows["new"].pk: 4,
    }
    overall.update(represents=0)
    import_module("leaderboard.migrations.0017_one_row_a_system").choose(apps, None)
    assert dict(overall.values_list("entry", "represents")) == chosen


def test_the_badge_is_of_the_row_that_represents_the_system(client: Client, rows: dict[str, Entry]) -> None:
    badge = client.get(f"/systems/{rows['new'].system.slug}/badge.svg").content.decode()
    assert "35.7 %" in badge
