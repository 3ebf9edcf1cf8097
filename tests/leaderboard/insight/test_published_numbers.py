"""The numbers of the paper and of upstream's files, computed from the shipped results."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from benchmark_tasks.models import SuiteVersion
from leaderboard.insight.analysis.figures import SECTIONS
from leaderboard.insight.analysis.paper import TABLE_5
from leaderboard.insight.analysis.report import compute_report
from tests.leaderboard.insight.reading import finding, section, table, values

if TYPE_CHECKING:
    from django.test import Client

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("shipped")]

BENCH = "/analysis/lmr-bench/"


def rounded(row: dict[str, str], *keys: str) -> tuple[float | None, ...]:
    return tuple(round(float(row[key]), 1) if row[key] else None for key in keys)


class TestPublishedNumbers:
    """The numbers of docs/design/published-numbers.md, computed from the shipped results."""

    JUDGE = tuple(f"judge_{label}_percent" for label in ("CC", "LC", "LI"))
    ANNOTATORS = tuple(f"annotators_{label}_percent" for label in ("CC", "LC", "LI"))

    def test_table_2(self, client: Client) -> None:
        found = {
            row["system"]: rounded(row, "tests_percent", *self.JUDGE, *self.ANNOTATORS, "paper_tests_percent")
            for row in table(client, "scores", BENCH)
        }
        assert found == {
            "GPT-4o": (39.3, 17.9, 10.7, 71.4, 25.0, 14.3, 60.7, 39.3),
            "GPT-4.1": (42.9, 7.1, 28.6, 64.3, 35.7, 32.1, 32.1, 42.9),
            "o4-mini": (42.9, 25.0, 21.4, 53.6, 32.1, 28.6, 39.3, 42.9),
            "OpenHands (GPT-4o)": (25.0, 3.6, 10.7, 85.7, 21.4, 17.9, 60.7, 25.0),
            "OpenHands (GPT-4.1)": (35.7, 17.9, 14.3, 67.9, 32.1, 25.0, 42.9, 32.1),
            "OpenHands (o4-mini)": (35.7, 35.7, 14.3, 50.0, 39.3, 21.4, 39.3, 35.7),
            "OpenHands (Claude 3.7)": (50.0, None, None, None, None, None, None, None),
        }

    def test_where_files_and_paper_differ(self, client: Client) -> None:
        text = section(client, "scores", BENCH).split("Where files and paper differ")[1]
        given = ", paper, repository and instruction: the files give "
        assert f"OpenHands (GPT-4.1){given}unit tests 35.7 (paper 32.1)." in text
        assert f"OpenHands (GPT-4o){given}judge CC 3.6 (paper 7.1), judge LC 10.7 (paper 7.1)." in text
        assert f"o4-mini{given}annotators CC 32.1 (paper 35.7), annotators LC 28.6 (paper 32.1)" in text
        assert text.count("the files give") == 4

    def test_table_3(self, client: Client) -> None:
        rows = [row for row in table(client, "inputs", BENCH) if "repository" not in row["inputs"]]
        found = [(row["system"], row["inputs"], *rounded(row, "tests_percent", *self.JUDGE)) for row in rows]
        assert sorted(found) == [
            ("OpenHands (GPT-4.1)", "paper and goal file", 28.6, 7.1, 14.3, 78.6),
            ("OpenHands (GPT-4.1)", "paper only", 32.1, 28.6, 14.3, 57.1),
            ("OpenHands (GPT-4o)", "paper and goal file", 25.0, 3.6, 7.1, 89.3),
            ("OpenHands (GPT-4o)", "paper only", 21.4, 10.7, 7.1, 82.1),
            ("OpenHands (o4-mini)", "paper and goal file", 39.3, 42.9, 17.9, 39.3),
            ("OpenHands (o4-mini)", "paper only", 39.3, 46.4, 3.6, 50.0),
        ]
        assert "Where files and paper differ" not in section(client, "inputs", BENCH)

    def test_table_5_as_printed_beside_the_fit_of_the_reported_runs(self, client: Client) -> None:
        compute_report(SuiteVersion.objects.get(suite__slug="lmr-bench"))
        rows = table(client, "regression", BENCH)
        printed = [row for row in rows if row["fit"] == "paper's Table 5"]
        keys = ("coefficient", "error", "z", "p", "low", "high")
        assert [(row["term"], *(float(row[key]) for key in keys)) for row in printed] == [
            tuple(term) for term in TABLE_5
        ]
        ours = [row for row in rows if row["fit"] == "reported runs"]
        terms = ["constant", "model: Claude 3.7", "model: GPT-4o", "model: o4-mini"]
        assert [row["term"] for row in ours] == terms
        page = section(client, "regression", BENCH)
        summary = (
            "Reported runs: 140 answers to 28 tasks of 23 papers, 53 passed; the reference is GPT-4.1. Not used: the "
        )
        assert summary + "repository metrics, since 28 of 28 tasks have no repository here." in page

    def test_table_6(self, client: Client) -> None:
        rows = table(client, "binary", BENCH)
        found = {
            row["system"]: rounded(row, "judge_CC_percent", "judge_rest_percent", "paper_cc_percent") for row in rows
        }
        assert found == {
            "GPT-4o": (17.9, 82.1, 14.3),
            "GPT-4.1": (7.1, 92.9, 21.4),
            "o4-mini": (25.0, 75.0, 25.0),
            "OpenHands (GPT-4o)": (3.6, 96.4, 7.1),
            "OpenHands (GPT-4.1)": (17.9, 82.1, 28.6),
            "OpenHands (o4-mini)": (35.7, 64.3, 39.3),
        }
        assert "other shares of CC than the judge's files give for 5 of 6 runs" in section(client, "binary", BENCH)

    def test_figure_2(self, client: Client) -> None:
        rows = table(client, "tasks", BENCH)
        assert sum(int(row["tasks"]) for row in rows) == 28
        most = max(rows, key=lambda row: int(row["tasks"]))
        assert (len(rows), most["category"], most["tasks"]) == (9, "Training Objectives & Optimization", "7")

    def test_confusion(self, client: Client) -> None:
        compute_report(SuiteVersion.objects.get(suite__slug="lmr-bench"))
        rows = table(client, "confusion", BENCH)
        counts = [f"second_says_{label}" for label in ("CC", "LC", "LI")]
        assert values(rows, "first", "second", "first_says", *counts, "answers", "agreement_percent", "kappa") == [
            ("Reported annotators", "Reported judge", "CC", "23", "15", "14", "52", "62.5", "0.381125"),
            ("Reported annotators", "Reported judge", "LC", "5", "10", "24", "39", "62.5", "0.381125"),
            ("Reported annotators", "Reported judge", "LI", "2", "3", "72", "77", "62.5", "0.381125"),
        ]

    def test_figure_7_as_printed(self, client: Client) -> None:
        compute_report(SuiteVersion.objects.get(suite__slug="lmr-bench"))
        assert values(table(client, "errors", BENCH), "answers", "paper_percent") == [
            ("0", ""),
            ("0", "43.1"),
            ("0", "27.6"),
            ("0", "13.8"),
            ("0", ""),
        ]
        assert "no annotator has marked an error" in section(client, "errors", BENCH)

    def test_findings(self, client: Client) -> None:
        compute_report(SuiteVersion.objects.get(suite__slug="lmr-bench"))
        assert {each.slug: finding(client, each.slug, BENCH) for each in SECTIONS} == {
            "scores": (
                "OpenHands (Claude 3.7) passes the most, 14 of 28; "
                "the intervals of all 6 other runs overlap with its own"
            ),
            "inputs": (
                "Given the paper alone, 2 of 3 systems pass fewer tasks than with everything, 1 more; "
                "the intervals of all overlap"
            ),
            "difficulty": "9 of 28 tasks are passed by none of 5 runs, 4 by all of them",
            "categories": (
                "The pass rate is lowest in Feature Learning & Representation and Evaluation Metrics (0 % each), "
                "highest in Prompt Engineering & Instruction Tuning (5 of 5)"
            ),
            "tests-confusion": (
                "Of 39 answers that pass their tests, annotators label 13 wrong (LI); of 73 that fail, 17 correct (CC)"
            ),
            "contradictions": (
                "Judge and tests contradict each other least in Feature Learning & Representation (0 of 4), "
                "most in Training Objectives & Optimization (13 of 28)"
            ),
            "binary": (
                "The judge labels fewer answers CC (correct) than pass their tests in 5 of 6 runs, annotators in 5 of 6"
            ),
            "confusion": (
                "The reported annotators and the reported judge agree on 105 of 168 answers; "
                "of the other 63, 53 are rated lower by the reported judge"
            ),
            "cutoff": "The model with the later knowledge cutoff passes more in 12 of 14 pairs of runs",
            "cost": "Score against cost",
            "history": "History",
            "regression": "In the fit of reported runs, none of 3 terms differs from 0 at the 5 % level",
            "tasks": "Training Objectives & Optimization has the most tasks, 7 of 28",
            "errors": "Errors that annotators mark",
            "actions": "What agents do",
            "outcomes": "Actions of answers that passed and failed",
        }

    def test_figures_with_data_are_on_the_page_and_the_others_are_listed(self, client: Client) -> None:
        compute_report(SuiteVersion.objects.get(suite__slug="lmr-bench"))
        page = client.get(BENCH).content.decode()
        absent = {"cost", "history", "errors", "actions", "outcomes"}
        shown = [each.slug for each in SECTIONS if each.slug not in absent]
        assert re.findall(r'<section class="analysis-figure[^"]*" id="([\w-]+)"', page) == shown
        listed = page.split("No figure yet")[1].split("</ul>")[0]
        lines = re.findall(r"<li>(.*?):", re.sub(r"</?a[^>]*>", "", listed), re.DOTALL)
        titles = {title for line in lines for title in line.strip().split(", ")}
        assert titles == {each.title for each in SECTIONS if each.slug in absent}
        # The first suite is upstream's.
        assert client.get("/analysis/").content.decode() == page
