"""Published answers that were measured again: facts that ship with the project, beside what was reported."""

from __future__ import annotations

import io
import json
from datetime import date
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest
from django.core.management import call_command
from django.urls import reverse

from benchmark_tasks.domain.queries import revisions_of
from benchmark_tasks.facts.lmr_bench import lmr_bench
from benchmark_tasks.models import Suite, SuiteVersion
from evaluator.outcomes import Outcome
from leaderboard.board import reported
from leaderboard.board.matrix import tasks_of
from leaderboard.board.ranks import rank_version
from leaderboard.board.reported import REMEASURED_FILE, follow_suite, load_published
from leaderboard.board.results import category_numbers
from leaderboard.board.states import note_change, state_of
from leaderboard.insight.agreement.raters import Selection
from leaderboard.insight.agreement.report import read_report
from leaderboard.insight.analysis.data import SuiteResults
from leaderboard.models import Entry, EntryMetric, ReportedRun
from leaderboard.models.enums import Provenance
from tests.leaderboard.showing import rows_of, words_of

if TYPE_CHECKING:
    from pathlib import Path

    from django.test import Client

    from leaderboard.board.row import BoardRow

pytestmark = pytest.mark.django_db

AGAIN, OF = "openhands-gpt-4o-remeasured", "openhands-gpt-4o"
PAGE = f"/reported/{AGAIN}/"
SOME = {"dpo/1": "wrong_output", "decbound/1": "passed", "knowprob/4": "passed", "cd/1": "raised"}
EVERY = dict.fromkeys(sorted(lmr_bench().task_slugs), "passed")


@pytest.fixture
def version() -> SuiteVersion:
    call_command("load_catalogue", stdout=io.StringIO())
    found: SuiteVersion = SuiteVersion.objects.get(suite__slug="lmr-bench")
    return found


@pytest.fixture
def load(version: SuiteVersion, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Load a file of one run with these outcomes by task."""

    def loaded(tasks: dict[str, str]) -> int:
        file = tmp_path / "remeasured.json"
        run = {"slug": AGAIN, "of": OF, "source_address": "https://example.org/answers", "tasks": tasks}
        file.write_text(json.dumps({"evaluator_version": "5", "measured": "2026-11-26", "runs": [run]}))
        # This module copies the path when it is imported, which must not happen while another file replaces it.
        import_module("leaderboard.insight.published_answers")
        monkeypatch.setattr(reported, "REMEASURED_FILE", file)
        count = load_published()
        note_change(version.pk, results=True)
        rank_version(version.pk)
        return count

    return loaded


def again(version: SuiteVersion) -> BoardRow:
    (row,) = [row for row in rows_of(version) if row.remeasures]
    return row


def test_the_shipped_runs_have_their_answers_and_passes(version: SuiteVersion) -> None:
    shipped = json.loads(REMEASURED_FILE.read_text(encoding="utf-8"))
    load_published()
    rows = {row.key: row for row in rows_of(version) if row.remeasures}
    assert set(rows) == {f"r-{run['slug']}" for run in shipped["runs"]}
    for run in shipped["runs"]:
        assert set(map(Outcome, run["tasks"].values()))
        row = rows[f"r-{run['slug']}"]
        passed = sum(outcome == "passed" for outcome in run["tasks"].values())
        assert row.partial_tests is not None
        found = (row.remeasures, row.partial_tests.passed, row.partial_tests.answered, row.partial_tests.tasks)
        assert found == (run["of"], passed, len(run["tasks"]), 28)


class TestRowsWithSomeAnswers:
    def test_the_row_has_passes_of_answers_and_no_percentage_of_all_tasks(
        self, load: Any, version: SuiteVersion
    ) -> None:
        assert load(SOME) == 14
        row = again(version)
        assert (row.provenance, row.remeasures, row.reported) == (Provenance.REMEASURED, OF, True)
        assert row.partial_tests is not None
        assert row.partial_tests.model_dump() == {
            "passed": 2,
            "answered": 4,
            "tasks": 28,
            "percent_of_answered": 50.0,
        }
        assert (row.tests, row.rank, row.judge, row.human, row.final) == (None,) * 5
        metrics = EntryMetric.objects.filter(entry__reported_run__slug=AGAIN)
        assert set(metrics.values_list("tests_rate", "tests_low", "tests_high", "rank_from")) == {(None,) * 4}
        assert sum(each.answered or 0 for each in metrics if each.category_id) == 4
        assert category_numbers(metrics) == []

    def test_it_is_folded_below_the_reported_row_and_last_in_files(
        self, load: Any, version: SuiteVersion, client: Client
    ) -> None:
        load(SOME)

        def listed(query: str) -> list[str]:
            page = client.get(f"/board/lmr-bench/{query}").content.decode()
            return [part.partition('"')[0] for part in page.split('name="row" value="')[1:]]

        assert (len(listed("")), f"r-{OF}" in listed(""), f"r-{AGAIN}" in listed("")) == (7, True, False)
        assert len(listed("?fold=no")) == 14
        own = listed(f"?system={Entry.objects.get(reported_run__slug=OF).system.slug}")
        assert (len(own), own[0], own[-1]) == (4, f"r-{OF}", f"r-{AGAIN}")
        only = client.get("/board/lmr-bench/?show=reported").content.decode()
        assert f'value="r-{AGAIN}"' not in only
        *_, last = client.get("/board/lmr-bench/?format=json").json()["rows"]
        numbers = ("tests_passed", "tasks", "tests_percent", "tests_low", "partial_passed", "partial_answered")
        assert [last[name] for name in numbers] == [None, None, None, None, 2, 4]
        assert (last["provenance"], last["address"]) == ("remeasured", f"http://testserver{PAGE}")

    def test_the_page_shows_passes_and_answers(self, load: Any, client: Client) -> None:
        load(SOME)
        assert "2 of 4 answers pass 50.0 % of 4 (of 28 tasks)" in words_of(client.get("/board/lmr-bench/?fold=no"))

    def test_nothing_computed_from_rows_changes(self, version: SuiteVersion, load: Any) -> None:
        def computed() -> list[Any]:
            results = SuiteResults(version)
            report = read_report(suite=version.suite, selection=Selection())
            state = state_of(SuiteVersion.objects.get(pk=version.pk))
            metrics = EntryMetric.objects.filter(entry__reported_run__remeasures=None).order_by("entry", "category")
            return [
                [(row.run, row.tests) for row in results.rows],
                [pair.as_data() for pair in report.pairs],
                state.pass_rates,
                list(metrics.values_list("entry__reported_run__slug", "tests_rate", "rank_from", "rank_to")),
            ]

        load({})
        Entry.objects.filter(reported_run__slug=AGAIN).delete()
        note_change(version.pk, results=True)
        rank_version(version.pk)
        before = computed()
        load(SOME | {"dpo/1": "passed"})
        assert Entry.objects.filter(reported_run__slug=AGAIN).exists()
        assert computed() == before

    def test_no_reported_case_nor_imported_result_is_of_it(self, load: Any, client: Client, version: Any) -> None:
        load(SOME)
        assert client.get(reverse("reported_case", args=[AGAIN, "dpo", 1])).status_code == 404
        assert client.get(reverse("reported_case", args=[OF, "dpo", 1])).status_code == 200

    def test_it_moves_with_the_suite(self, load: Any, version: SuiteVersion) -> None:
        load(SOME)
        newer = SuiteVersion.objects.create(suite=version.suite, number=2, seed_epoch=version.seed_epoch)
        newer.revisions.set(version.revisions.all())
        assert follow_suite(Suite.objects.get(slug="lmr-bench")) == 14
        moved = again(newer).partial_tests
        assert moved is not None
        assert (moved.passed, moved.answered) == (2, 4)

    def test_papers_after_a_month_count_only_their_answers(
        self, load: Any, client: Client, version: SuiteVersion
    ) -> None:
        load(SOME)
        month = min(task.first_public for task in tasks_of(version) if task.slug in SOME)
        later = [task.slug for task in tasks_of(version) if task.first_public > month]
        answered = [slug for slug in later if slug in SOME]
        passed = sum(SOME[slug] == "passed" for slug in answered)
        assert 0 < len(answered) < 4
        shown = words_of(client.get(f"/board/lmr-bench/?fold=no&papers={month}"))
        assert f"{passed} of {len(answered)} answer" in shown
        assert f"(of {len(later)} tasks)" in shown


def test_the_page_lists_outcome_evaluator_and_date_beside_what_was_reported(load: Any, client: Client) -> None:
    load(SOME)
    page = words_of(client.get(PAGE))
    assert "Tested with evaluator 5, on 26 November 2026" in page
    for line in ("dpo/1 wrong output failed", "decbound/1 passed passed", "cd/1 raised an error failed"):
        assert line in page
    assert "This run has no answer to 24 tasks" in page
    assert f'href="/reported/{OF}/"' in client.get(PAGE).content.decode()
    assert f'href="{PAGE}"' in client.get(f"/reported/{OF}/").content.decode()
    assert 'id="dpo-1"' in client.get(PAGE).content.decode(), "the evidence links to it"
    evidence = f'href="/board/lmr-bench/answers/r-{AGAIN}/dpo/1/"'
    assert evidence in client.get("/board/lmr-bench/?fold=no").content.decode()


def test_the_api_has_outcomes_evaluator_and_date(load: Any, client: Client) -> None:
    load(SOME)
    run = client.get(f"/api/v1/reported/{AGAIN}").json()
    assert (run["remeasures"], run["evaluator_version"], run["measured"]) == (OF, "5", "2026-11-26")
    assert {each["task"]: (each["outcome"], each["tests_passed"]) for each in run["results"]} == {
        task: (outcome, outcome == "passed") for task, outcome in SOME.items()
    }
    assert run["row"]["partial_tests"]["percent_of_answered"] == 50.0
    results = client.get("/api/v1/suites/lmr-bench/tasks/dpo/1/results").json()["items"]
    (found,) = [each for each in results if each["provenance"] == "remeasured"]
    assert (found["outcomes"], found["passed"]) == (["wrong_output"], False)


def test_a_task_s_difficulty_counts_it_apart_from_the_reported_runs(load: Any, client: Client) -> None:
    load({})
    before = client.get("/api/v1/suites/lmr-bench/tasks/dpo/1/difficulty").json()
    load(SOME)
    assert "wrong output" in words_of(client.get("/suites/lmr-bench/tasks/dpo/1/"))
    difficulty = client.get("/api/v1/suites/lmr-bench/tasks/dpo/1/difficulty").json()
    measured = difficulty.pop("measured")
    assert (before.pop("measured"), measured["passed"], measured["tasks"]) == (None, 0.0, 1)
    assert difficulty == before


def test_a_run_with_every_answer_is_ranked_and_represents_the_reported_one(
    load: Any, client: Client, version: SuiteVersion
) -> None:
    load(EVERY)
    row = again(version)
    assert row.tests is not None
    assert (row.tests.passed, row.tests.tasks, row.partial_tests, row.rank) == (28, 28, None, (1, 1))
    page = client.get("/board/lmr-bench/").content.decode()
    assert (f'value="r-{AGAIN}"' in page, f'value="r-{OF}"' in page) == (True, False)
    by_label = {row.run: row.provenance for row in SuiteResults(version).rows}
    assert (by_label[AGAIN], by_label[OF]) == (Provenance.REMEASURED, Provenance.REPORTED)


def test_loading_again_replaces_outcomes_and_writes_nothing_else(load: Any, version: SuiteVersion) -> None:
    load(SOME)
    keys = list(EntryMetric.objects.order_by("pk").values_list("pk", flat=True))
    load(SOME)
    assert list(EntryMetric.objects.order_by("pk").values_list("pk", flat=True)) == keys
    load({"dpo/1": "passed"})
    found = again(version).partial_tests
    assert found is not None
    assert (found.passed, found.answered) == (1, 1)
    run = ReportedRun.objects.get(slug=AGAIN)
    assert (run.measured, run.evaluator_version) == (date(2026, 11, 26), "5")
    marks = Entry.objects.get(reported_run=run).marks["tests"]
    places = {each.task.slug: place for place, each in enumerate(revisions_of(version))}
    assert [place for place, share in enumerate(marks) if share is not None] == [places["dpo/1"]]


def test_the_badge_of_the_system_is_of_the_reported_run(load: Any, client: Client) -> None:
    load(SOME)
    assert "25.0 %" in client.get("/systems/reported-openhands-gpt-4o/badge.svg").content.decode()
