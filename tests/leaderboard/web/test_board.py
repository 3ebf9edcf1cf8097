"""The boards' pages, and the rows behind them."""

from __future__ import annotations

import csv
import json
import re
from datetime import UTC, datetime
from io import StringIO
from typing import TYPE_CHECKING

import pytest
from django.core.management import CommandError, call_command

from benchmark_tasks.models import SuiteVersion
from leaderboard.board import blocks
from leaderboard.board.caching import forget
from leaderboard.board.columns import COLUMNS, SORT_KEYS
from leaderboard.models import Entry, EntryMetric
from leaderboard.models.enums import Provenance
from leaderboard.web import listing
from submissions.domain.publishing import correct_system
from submissions.enums import Inputs, Kind, SubmissionState, Visibility
from submissions.models import Submission
from tests.benchmark_tasks.factories import SuiteFactory, SuiteVersionFactory
from tests.leaderboard.factories import label_counts, measured, reported
from tests.leaderboard.showing import rows_of
from tests.submissions.factories import SubmissionFactory, SystemFactory

if TYPE_CHECKING:
    from django.test import Client

pytestmark = pytest.mark.django_db


FACTS = {
    "closed": {"weights": "closed", "knowledge_cutoff": "2023-10"},
    "open": {"weights": "open", "knowledge_cutoff": "2024-06"},
}


def version_with_tasks(slug: str = "lmr-mini") -> SuiteVersion:
    made: SuiteVersion = SuiteVersionFactory(suite=SuiteFactory(slug=slug, position=1), tasks=2)
    return made


def names(page: str) -> list[str]:
    """Systems in the order of the page's rows."""
    return re.findall(r'class="system-name"[^>]*>([^<]+)<', page)


class TestRows:
    def test_numbers_are_percentages_with_interval_and_denominator(self) -> None:
        entry = reported(metric={"labels": {"judge": label_counts(5, 3, 18, tasks=28, abstained=2)}})
        (row,) = rows_of(entry.suite_version)
        assert row.tests is not None
        assert (row.tests.percent, row.tests.low, row.tests.high) == pytest.approx((1100 / 28, 23.61, 57.59))
        assert (row.tests.passed, row.tests.tasks) == (11, 28)
        assert row.judge is not None
        assert (row.judge.cc, row.judge.lc, row.judge.li) == (17.9, 10.7, 64.3)
        assert (row.judge.labelled, row.judge.abstained, row.judge.tasks) == (26, 2, 28)

    @pytest.mark.parametrize(
        ("changes", "entry_flag"),
        [
            ({"visibility": Visibility.PRIVATE}, False),
            ({"visibility": Visibility.PRIVATE}, True),
            ({"visibility": Visibility.HIDDEN}, True),
            ({"visibility": Visibility.WITHDRAWN}, True),
            ({"state": SubmissionState.HELD}, True),
            ({}, False),
        ],
    )
    def test_unpublished_rows_appear_nowhere_even_when_the_flag_is_stale(
        self, client: Client, changes: dict[str, str], entry_flag: bool
    ) -> None:
        version = version_with_tasks()
        entry = measured(version, system=SystemFactory(name="Secret Weapon"))
        Submission.objects.filter(entry=entry).update(**changes)
        entry.published = entry_flag
        entry.save()
        assert rows_of(version) == []
        assert "Secret Weapon" not in client.get("/").content.decode()

    def test_counts_the_unpublished_of_the_same_system_and_suite_only(self) -> None:
        entry = measured(version_with_tasks())
        same = {"system": entry.system, "owner": entry.system.owner, "suite_version": entry.suite_version}
        SubmissionFactory(**same)
        SubmissionFactory(**same, visibility=Visibility.HIDDEN)
        SubmissionFactory(**same, published=True)
        SubmissionFactory(**same, state=SubmissionState.CANCELLED)
        SubmissionFactory(**same, kind=Kind.CALIBRATION)
        SubmissionFactory(**{**same, "suite_version": SuiteVersionFactory()})
        SubmissionFactory(**{**same, "system": SystemFactory()})
        (row,) = rows_of(entry.suite_version)
        assert row.unpublished == 2

    @pytest.mark.both_databases
    def test_sorts_both_ways_with_missing_values_last(self) -> None:
        version = version_with_tasks()
        for name, passed in (("B", 20.0), ("A", 4.0), ("C", None)):
            reported(version, system=SystemFactory(name=name), metric={"tests_passed": passed})
        order = {
            sort: [row.system for row in rows_of(version, sort=sort)]
            for sort in ("-tests", "tests", "system", "-system", "judge")
        }
        assert order == {
            "-tests": ["B", "A", "C"],
            "tests": ["A", "B", "C"],
            "system": ["A", "B", "C"],
            "-system": ["C", "B", "A"],
            "judge": ["A", "B", "C"],
        }

    @pytest.mark.parametrize("key", SORT_KEYS)
    @pytest.mark.both_databases
    def test_every_column_sorts_in_the_database(self, key: str) -> None:
        version = version_with_tasks()
        judge = {"judge": label_counts(5, 3, 20, tasks=28)}
        low = measured(
            version, system=SystemFactory(name="Low", organisation="a", **FACTS["closed"]), metric={"labels": judge}
        )
        more = {"judge": label_counts(6, 4, 21, tasks=31), "human": label_counts(1, 1, 1, tasks=3)}
        high = measured(
            version,
            system=SystemFactory(name="Top", backbone="z", scaffold="z", organisation="b", **FACTS["open"]),
            inputs=Inputs.PAPER_ONLY,
            trials=3,
            metric={"labels": more, "tests_passed": 12.0, "rank_from": 2, "rank_to": 3},
        )
        Entry.objects.filter(pk=low.pk).update(cost=1.5, tokens=10, date=datetime(2026, 1, 1, tzinfo=UTC))
        Entry.objects.filter(pk=high.pk).update(cost=2.5, tokens=20, date=datetime(2026, 2, 1, tzinfo=UTC))
        both = [[row.system for row in rows_of(version, sort=sort)] for sort in (key, f"-{key}")]
        with_value = {
            "rank": (["Top", "Low"], ["Top", "Low"]),
            "source": (["Low", "Top"], ["Low", "Top"]),
            **dict.fromkeys(("human", "human-lc", "human-li"), (["Top", "Low"], ["Top", "Low"])),
            **dict.fromkeys(("judge-li", "final-li"), (["Top", "Low"], ["Low", "Top"])),
        }
        assert both == [*with_value.get(key, (["Low", "Top"], ["Top", "Low"]))]

    def test_every_sort_key_has_a_heading(self, client: Client) -> None:
        reported(version_with_tasks())
        columns = "&".join(f"columns={column.key}" for column in COLUMNS)
        page = client.get(f"/?{columns}&sort=system").content.decode()
        # The default order, most unit tests first, needs no parameter.
        assert {key.removeprefix("-") for key in re.findall(r"&amp;sort=([a-z-]+)", page)} == {*SORT_KEYS} - {"tests"}

    def test_a_list_sorts_by_every_column_both_ways(self, client: Client) -> None:
        reported(version_with_tasks())
        chosen = "columns=system&columns=judge"
        for sort, selected, more in (
            ("", "", [("", "Unit tests ↓"), ("tests", "Unit tests ↑")]),
            ("-system", "-system", []),
            ("cost", "cost", [("cost", "Cost ↑"), ("-cost", "Cost ↓")]),
        ):
            page = client.get(f"/?{chosen}&sort={sort}").content.decode()
            (orders,) = re.findall(r'<select name="sort".*?</select>', page, re.DOTALL)
            options = re.findall(r'<option value="([^"]*)"( selected)?>([^<]+)<', orders)
            assert [value for value, mark, _ in options if mark] == [selected]
            expected = [
                *(("system", "System ↑"), ("-system", "System ↓")),
                *(more if not sort else []),
                *(("-judge", "LLM judge CC ↓"), ("judge", "LLM judge CC ↑")),
                *(("-judge-lc", "LLM judge LC ↓"), ("judge-lc", "LLM judge LC ↑")),
                *(("-judge-li", "LLM judge LI ↓"), ("judge-li", "LLM judge LI ↑")),
                *(more if sort else []),
            ]
            assert [(value, title) for value, _, title in options] == expected
            assert '<input type="hidden" name="sort"' not in page

    def test_remarks_are_assigned_to_their_rater(self) -> None:
        entry = reported(remarks=["Judge: a.", "Unit tests: b.", "Humans: c.", "Setup: d."])
        (row,) = rows_of(entry.suite_version)
        assert (row.judge_remarks, row.tests_remarks, row.human_remarks) == (
            ("Judge: a.",),
            ("Unit tests: b.",),
            ("Humans: c.",),
        )
        assert row.remarks[-1] == "Setup: d."


class TestPage:
    def test_samples_are_in_a_table_of_their_own_below(self, client: Client) -> None:
        version = version_with_tasks()
        measured(version, system=SystemFactory(name="Golden"), kind=Kind.CALIBRATION, metric={"tests_passed": 28.0})
        measured(version, system=SystemFactory(name="Real"))
        ranked, samples = client.get("/board/lmr-mini/").content.decode().split("Calibration samples")
        assert (names(ranked), names(samples)) == (["Real"], ["Golden"])

    def test_only_the_first_samples_are_listed_and_the_api_has_all(
        self, client: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(listing, "_FEW", 2)
        version, link = version_with_tasks(), '<a href="/api/v1/suites/lmr-mini/board?kind=calibration&amp;version=1">'
        for number, more in enumerate((False, False, True)):
            measured(version, system=SystemFactory(name=f"Golden {number}"), kind=Kind.CALIBRATION)
            page = client.get("/board/lmr-mini/?sort=system").content.decode()
            assert names(page) == [f"Golden {place}" for place in range(min(number + 1, 2))]
            assert (link in page) is more
        assert client.get("/api/v1/suites/lmr-mini/board?kind=calibration").json()["total"] == 3

    @pytest.mark.parametrize(
        ("address", "expected"),
        [
            ("?inputs=paper_only", ["Reported"]),
            ("?show=measured", ["Measured"]),
            ("?show=reported", ["Reported"]),
            ("?q=tidewater", ["Measured"]),
            ("?q=alpha+measured", ["Measured"]),
            ("?q=nobody", []),
            ("?sort=nonsense&show=%00&inputs=nothing", ["Measured", "Reported"]),
        ],
    )
    def test_filters_and_order_are_in_the_address(self, client: Client, address: str, expected: list[str]) -> None:
        version = version_with_tasks()
        measured(version, system=SystemFactory(name="Measured", organisation="Tidewater"))
        reported(version, system=SystemFactory(name="Reported"), inputs=Inputs.PAPER_ONLY)
        assert names(client.get(f"/board/lmr-mini/{address}").content.decode()) == expected

    def test_only_the_newest_version_is_shown_by_default(self, client: Client) -> None:
        old = version_with_tasks()
        measured(old, system=SystemFactory(name="Old"))
        new = SuiteVersionFactory(suite=old.suite, number=2, seed_epoch=old.seed_epoch, tasks=1)
        measured(new, system=SystemFactory(name="New"))
        page = client.get("/board/lmr-mini/").content.decode()
        assert names(page) == ["New"]
        assert 'href="?version=1"' in page
        assert names(client.get("/board/lmr-mini/?version=1").content.decode()) == ["Old"]


def test_suites_of_the_same_title_are_distinguished(client: Client) -> None:
    version_with_tasks("first")
    for slug in ("mine", "other"):
        SuiteFactory(slug=slug, title="Same", position=2)
    page = client.get("/").content.decode()
    tabs = re.findall(r"><strong>([^<]+)</strong> <span[^>]*>([^<]+)</span>", page)
    assert tabs == [
        ("First", "· 2 tasks · open"),
        *(("Same " + slug, "· 0 tasks · closed") for slug in ("(mine)", "(other)")),
    ]
    assert "Same (mine)</a></h2>" in client.get("/suites/").content.decode()


class TestControls:
    @pytest.mark.both_databases
    def test_a_page_has_fifty_rows_unless_all_are_requested(self, client: Client) -> None:
        version = version_with_tasks()
        for number in range(52):
            reported(version, system=SystemFactory(name=f"S{number:02}"))
        first = client.get("/?sort=system").content.decode()
        assert (names(first)[0], len(names(first))) == ("S00", 50)
        assert names(client.get("/?sort=system&page=2").content.decode()) == ["S50", "S51"]
        assert len(names(client.get("/?rows=all").content.decode())) == 52
        assert "page 1 of 2" in first
        assert len(list(csv.reader(client.get("/?format=csv").content.decode().splitlines()))) == 53

    @pytest.mark.both_databases
    @pytest.mark.parametrize("query", ["format=csv", "format=csv&sort=-system", "format=csv&q=S1", "format=json"])
    def test_files_that_are_read_in_parts_are_the_same(
        self, client: Client, monkeypatch: pytest.MonkeyPatch, query: str
    ) -> None:
        version = version_with_tasks()
        for number in range(12):
            reported(version, system=SystemFactory(name=f"S{number:02}"), metric={"tests_rate": number % 5 / 5})
        whole = client.get(f"/?{query}").content
        assert len(re.findall(rb"\bS\d\d\b", whole)) == (2 if "q=" in query else 12)
        forget()
        monkeypatch.setattr(listing, "_PART", 5)
        assert client.get(f"/?{query}").content == whole

    @pytest.mark.parametrize("page", ["0", "-1", "x", "99999999999999999999", ""])
    def test_a_missing_page_falls_back_to_the_nearest(self, client: Client, page: str) -> None:
        reported(version_with_tasks(), system=SystemFactory(name="Only"))
        assert names(client.get(f"/?page={page}").content.decode()) == ["Only"]

    def test_columns_can_be_chosen_and_empty_ones_are_left_out(self, client: Client) -> None:
        version = version_with_tasks()
        measured(version, system=SystemFactory(name="Only", backbone="model-x", organisation="Tidewater"))
        usual = client.get("/").content.decode()
        assert [f'class="column-{key}"' in usual for key in ("tests", "judge", "rank", "cost", "backbone")] == [
            *(True, True, False, False, False)
        ]
        chosen = client.get("/?columns=backbone&columns=cost&columns=nonsense").content.decode()
        assert [f'class="column-{key}"' in chosen for key in ("system", "backbone", "cost", "tests")] == [
            *(True, True, True, False)
        ]
        assert '<td role="cell">model-x</td>' in chosen

    def test_a_column_with_values_of_samples_only_is_shown(self, client: Client) -> None:
        version = version_with_tasks()
        measured(version, system=SystemFactory(name="Ranked"))
        sources = {"sources": {"decision": 1, "agreed": 0, "single": 0, "judge": 0}}
        labels = {"final": label_counts(1, 0, 0, tasks=28) | sources}
        measured(version, system=SystemFactory(name="Sample"), kind=Kind.CALIBRATION, metric={"labels": labels})
        page = client.get("/").content.decode()
        assert page.count('class="column-final"') == 2
        assert "1 decided" in page

    @pytest.mark.both_databases
    def test_facets_offer_values_of_the_board_s_rows(self, client: Client) -> None:
        version = version_with_tasks()
        about = {"backbone": "x", "scaffold": "Hands", "organisation": "Org", "weights": "open"}
        measured(version, system=SystemFactory(name="A", **about))
        reported(version, system=SystemFactory(name="B", backbone="x", scaffold="none", organisation=""))
        measured(version, system=SystemFactory(name="Secret", backbone="hidden-model"), published=False)
        page = client.get("/").content.decode()
        options = re.findall(r'<option value="([^"]+)"[^>]*>([^<]+)</option>', page)
        offered = {("x", "x (2)"), ("Hands", "Hands (1)"), ("none", "no agent (1)"), ("Org", "Org (1)")}
        assert offered <= set(options)
        assert "hidden-model" not in page
        for query, expected in (
            ("agent=Hands", ["A"]),
            ("agent=none", ["B"]),
            ("weights=open", ["A"]),
            ("backbone=x", ["A", "B"]),
        ):
            assert names(client.get(f"/?sort=system&{query}").content.decode()) == expected

    @pytest.mark.django_db(transaction=True)
    def test_facets_and_names_of_all_rows_follow_a_correction(
        self, client: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(blocks, "LEAST_KEPT", 1)
        version = version_with_tasks()
        system = SystemFactory(name="A", backbone="x")
        second = [measured(version, system=system).submission for _ in range(2)][1]
        assert '<option value="x">x (2)</option>' in client.get("/").content.decode()
        assert second is not None
        correct_system(submission=second, actor=second.owner, changes={"backbone": "y", "name": "Z"}, reason="A slip.")
        page = client.get("/").content.decode()
        assert '<option value="y">y (2)</option>' in page
        assert '<option value="x"' not in page
        assert set(EntryMetric.objects.values_list("name", flat=True)) == {"z"}

    @pytest.mark.both_databases
    def test_dates_filter_the_rows(self, client: Client) -> None:
        version = version_with_tasks()
        for name, month in (("Old", 1), ("New", 3)):
            entry = measured(version, system=SystemFactory(name=name))
            Entry.objects.filter(pk=entry.pk).update(date=datetime(2026, month, 2, 12, tzinfo=UTC))
        for query, expected in (
            ("since=2026-02-01", ["New"]),
            ("until=2026-01-02", ["Old"]),
            ("until=2026-01-01", []),
            ("since=nonsense", ["New", "Old"]),
        ):
            assert names(client.get(f"/?sort=system&{query}").content.decode()) == expected

    def test_htmx_gets_the_address_without_empty_choices(self, client: Client) -> None:
        reported(version_with_tasks(), system=SystemFactory(name="Only"))
        response = client.get("/?q=only&inputs=&agent=", headers={"hx-request": "true"})
        assert response["HX-Push-Url"] == "/?q=only"


def test_the_files_have_the_page_s_values(client: Client) -> None:
    version = version_with_tasks()
    labels = {"judge": label_counts(5, 3, 20, tasks=28)}
    entry = measured(version, system=SystemFactory(name="=Alpha", backbone="x"), metric={"labels": labels})
    Entry.objects.filter(pk=entry.pk).update(cost=1.25, tokens=1200)
    (row,) = client.get("/board/lmr-mini/?format=json").json()["rows"]
    tests = ("tests_percent", "tests_low", "tests_high", "tests_passed", "tasks")
    assert (row["system"], *(row[key] for key in tests)) == ("=Alpha", 39.3, 23.6, 57.6, 11.0, 28)
    assert (row["judge_cc_percent"], row["annotators_cc_percent"], row["final_cc_percent"]) == (17.9, None, 17.9)
    assert (row["cost_usd"], row["tokens"], row["rank_from"]) == (1.25, 1200, None)
    assert row["address"] == f"http://testserver/submissions/{entry.submission_id}/"
    (line,) = csv.DictReader(client.get("/board/lmr-mini/?format=csv").content.decode().splitlines())
    assert (line["system"], line["tests_percent"], line["annotators_cc_percent"]) == ("'=Alpha", "39.3", "")
    assert client.get("/board/lmr-mini/?format=exe").status_code == 404


def output(*arguments: str) -> str:
    stream = StringIO()
    call_command("board", *arguments, stdout=stream)
    return stream.getvalue()


def test_the_command_prints_the_page_s_rows() -> None:
    version = SuiteVersionFactory(suite=SuiteFactory(slug="small"), tasks=1)
    reported(
        version, system=SystemFactory(name="Reported"), metric={"labels": {"judge": label_counts(5, 3, 20, tasks=28)}}
    )
    measured(version, system=SystemFactory(name="Measured"), metric={"tests_passed": 14.0})
    measured(version, published=False, system=SystemFactory(name="Secret"))
    lines = [line.split("  ") for line in output("--suite", "small").splitlines()]
    cells = [[cell.strip() for cell in line if cell.strip()] for line in lines]
    assert cells == [
        ["system", "inputs", "tests %", "judge CC/LC/LI", "human CC/LC/LI", "source"],
        ["Measured", "full", "50.0 [23.6, 57.6]", "–", "–", "graded here"],
        ["Reported", "full", "39.3 [23.6, 57.6]", "17.9 / 10.7 / 71.4", "–", "reported"],
    ]


def test_the_command_s_json_is_one_object_with_one_decimal() -> None:
    entry = reported(SuiteVersionFactory(suite=SuiteFactory(slug="small"), tasks=1), remarks=["Setup: x."])
    report = json.loads(output("--suite", "small", "--json"))
    assert {key: report[key] for key in ("suite", "version", "category")} == {
        "suite": "small",
        "version": 1,
        "category": None,
    }
    (row,) = report["rows"]
    assert row["tests"] == {"percent": 39.3, "low": 23.6, "high": 57.6, "passed": 11.0, "tasks": 28}
    assert row["judge"] is None
    assert row["system"] == entry.system.name
    assert (row["provenance"], row["source"]) == ("reported", Provenance.REPORTED.sentence)
    assert row["remarks"] == ["Setup: x."]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--suite", "absent"], "There is no suite 'absent'. Known: bare, small."),
        (["--suite", "small", "--category", "absent"], "There is no category 'absent'. Known: feature-learning"),
        (["--suite", "bare"], "has no version yet"),
    ],
)
def test_the_command_reports_unknown_names(arguments: list[str], message: str) -> None:
    SuiteFactory(slug="bare")
    SuiteVersionFactory(suite=SuiteFactory(slug="small"), tasks=1)
    with pytest.raises(CommandError, match=message):
        output(*arguments)
