"""The finding of a board in words, and ranks among rows that a filter selects."""

from __future__ import annotations

from typing import Any

import pytest

from leaderboard.board.matrix import MatrixTask
from leaderboard.board.row import BoardRow, TestsCell
from leaderboard.insight.disagreements import Disagreement, striking
from leaderboard.insight.finding import MOST_LINES, finding_of
from leaderboard.insight.ranking import ranked_among
from leaderboard.models.board import Marks
from leaderboard.models.enums import Provenance


def row(name: str, passed: float | None, tasks: int = 28, **more: Any) -> BoardRow:
    """A reported row with unit tests, which has results by task unless ``marks`` says otherwise."""
    values = {
        "system": name,
        "system_slug": name.lower(),
        "backbone": name,
        "scaffold": "",
        "organisation": "",
        "inputs": "full",
        "provenance": Provenance.REPORTED,
        "reported": True,
        "calibration": False,
        "tests": None if passed is None else TestsCell.counted(passed, tasks),
        "judge": None,
        "human": None,
        "unpublished": 0,
        "inputs_text": "",
        "address": f"/reported/{name.lower()}/",
        "submission": None,
        "marks": Marks(tests=[1.0]),
    }
    return BoardRow(**{**values, **more})


def tasks(number: int) -> list[MatrixTask]:
    return [
        MatrixTask(
            suite="small",
            slug=f"p{place}/1",
            paper=f"p{place}",
            index=1,
            address=f"/tasks/p{place}/1/",
            title="f",
            category="",
            category_slug="",
            place=place,
        )
        for place in range(number)
    ]


A20 = "A solves 20 of 28 tasks."
CANNOT = "With 28 tasks, {} cannot be distinguished from {} measured task by task."
ONE_TOTAL = "Only its total was published, so it cannot be compared task by task."
LARGER = "Its lead over the two other systems measured task by task is larger than the choice of papers explains."


@pytest.mark.parametrize(
    ("rows", "ranked", "sentence", "certainty"),
    [
        (
            [row("A", 14, rank=(1, 4)), row("B", 12, rank=(1, 5))],
            5,
            "A solves 14 of 28 tasks.",
            CANNOT.format("it", "three of the four other systems"),
        ),
        (
            [row("A", 14, rank=(1, 5)), row("B", 14, rank=(1, 5))],
            5,
            "A and B lead: each solves 14 of 28 tasks.",
            CANNOT.format("A", "any of the four other systems"),
        ),
        (
            [row(name, 14, rank=(1, 4)) for name in "ABCD"],
            12,
            "Four systems lead: each solves 14 of 28 tasks.",
            CANNOT.format("A", "three of the 11 other systems"),
        ),
        ([row("A", 20, rank=(1, 1))], 3, A20, LARGER),
        ([row("A", 20, rank=(1, 2))], 2, A20, CANNOT.format("it", "the other system")),
        ([row("A", 20, rank=(1, 3))], 3, A20, CANNOT.format("it", "either of the two other systems")),
        ([row("A", 20, rank=(1, 1))], 1, A20, "No other system is measured task by task."),
        # Another system beats it on the tasks that both have, so nothing is said of a lead.
        ([row("A", 20, rank=(2, 2))], 3, A20, ""),
        ([row("A", 20, marks=Marks(judge=["CC"]))], 3, A20, ONE_TOTAL),
        ([row("A", 20)], 0, A20, ""),
        ([row("A", 1, tasks=1)], 0, "A solves 1 of 1 task.", "Fewer than six tasks are too few to rank systems."),
        ([row("A", 14 + 1 / 3)], 0, "A solves 14.3 of 28 tasks.", ""),
        ([row("A", 0, rank=(1, 2)), row("B", 0, rank=(1, 2))], 2, "No system solves any of the 28 tasks.", ""),
        ([row("A", 20, inputs="paper_only")], 0, "A, paper only solves 20 of 28 tasks.", ""),
        ([row("A", None)], 0, "No system has results yet.", ""),
        ([row("Hidden", None, closed=True), row("A", 5)], 0, "A solves 5 of 28 tasks.", ""),
        ([], 0, "No system has results yet.", ""),
    ],
)
def test_the_finding_in_words(rows: list[BoardRow], ranked: int, sentence: str, certainty: str) -> None:
    found = finding_of(rows, ranked=ranked)
    assert (found.sentence, found.certainty) == (sentence, certainty)
    assert found.text == f"{sentence} {certainty}".strip()


def test_the_finding_of_a_category_and_of_selected_systems() -> None:
    rows = [row("A", 3, tasks=7, rank=(1, 2)), row("B", 2, tasks=7, rank=(1, 2))]
    found = finding_of(rows, ranked=2, scope=" of Data Augmentation", selected=True, among_shown=True)
    assert found.sentence == "Of the systems shown, A solves most: 3 of 7 tasks of Data Augmentation."
    assert found.certainty == (
        "With 7 tasks, it cannot be distinguished from the other system shown here task by task."
    )
    ties = finding_of([row("A", 3), row("B", 3)], ranked=0, selected=True).sentence
    assert ties == "Of the systems shown, A and B lead: each solves 3 of 28 tasks."
    assert finding_of([], ranked=0, selected=True).sentence == "No row matches these filters."
    assert finding_of([], ranked=0, scope=" of Decoding").sentence == "No system has results of Decoding yet."


def test_the_chart_has_the_first_rows_with_results_or_hidden_ones() -> None:
    rows = [row("Hidden", None, closed=True), row("Labels only", None), *(row(f"S{place}", 9) for place in range(9))]
    lines = finding_of(rows, ranked=0).lines
    assert [line.system for line in lines] == ["Hidden", *(f"S{place}" for place in range(MOST_LINES - 1))]


@pytest.mark.parametrize(
    ("band", "words"), [((1, 1), "1st"), ((2, 3), "2nd to 3rd"), ((4, 11), "4th to 11th"), ((21, 112), "21st to 112th")]
)
def test_rank_bands_in_words(band: tuple[int, int], words: str) -> None:
    assert row("A", 1, rank=band).rank_words == words


def test_a_row_without_a_rank_says_why() -> None:
    assert row("A", 1, marks=Marks(judge=["CC"])).why_unranked == "total only"
    assert row("A", 1, marks=Marks(tests=[None])).why_unranked == "total only"
    assert row("A", 1).why_unranked == "–"
    partial = {"passed": 1, "answered": 2, "tasks": 28}
    assert row("A", None, partial_tests=partial).why_unranked == "partial run"
    assert row("A", 1).rank_words == ""


def test_selected_rows_are_ranked_among_themselves() -> None:
    ten = tasks(10)
    best = row("Best", 10, tasks=10, marks=Marks(tests=[1.0] * 10), rank=(3, 9), stamp="x")
    worst = row("Worst", 0, tasks=10, marks=Marks(tests=[0.0] * 10))
    totals = row("Totals", 9, tasks=10, marks=Marks())
    ranked = ranked_among([best, totals, worst], ten)
    assert [(each.system, each.rank) for each in ranked] == [("Best", (1, 1)), ("Totals", None), ("Worst", (2, 2))]
    assert ranked[0].stamp != best.stamp
    # Five tasks with results among ten are too few.
    five = row("Five", 5, tasks=10, marks=Marks(tests=[1.0] * 5 + [None] * 5))
    assert [each.rank for each in ranked_among([five], ten)] == [None]
    assert ranked_among([], ten) == []


@pytest.mark.django_db
class TestDisagreements:
    def test_the_most_contradictory_answers_come_first_one_a_task_and_a_system(self) -> None:
        marks = Marks(tests=[1.0, 0.0, 1.0], judge=["CC", "LI", "LI"], human=["LI", "CC", "LI"])
        rows = [row("A", 2, marks=marks), row("B", 2, marks=Marks(tests=[0.0] * 3, judge=["LC"] * 3, human=["CC"] * 3))]
        assert striking(rows, tasks(3)) == [
            Disagreement(
                "A, p0/1: passes its tests; the judge calls it correct, annotators wrong.",
                "/board/small/answers/r-a/p0/1/",
                2,
            ),
            Disagreement(
                "B, p1/1: fails its tests; the judge calls it right in idea but wrong in detail, annotators correct.",
                "/board/small/answers/r-b/p1/1/",
                1,
            ),
            Disagreement(
                "A, p2/1: passes its tests; judge and annotators call it wrong.", "/board/small/answers/r-a/p2/1/", 2
            ),
        ]

    @pytest.mark.parametrize(
        "marks",
        [
            Marks(tests=[0.5], judge=["LI"], human=["LI"]),
            Marks(tests=[1.0], judge=["A"], human=["LI"]),
            Marks(tests=[1.0], judge=["LI"], human=[""]),
            Marks(tests=[1.0], judge=["CC"], human=["LC"]),
            Marks(tests=[None], judge=["CC"], human=["LI"]),
            Marks(judge=["CC"], human=["LI"]),
        ],
    )
    def test_answers_without_three_clear_results_are_left_out(self, marks: Marks) -> None:
        assert striking([row("A", 1, marks=marks)], tasks(1)) == []
