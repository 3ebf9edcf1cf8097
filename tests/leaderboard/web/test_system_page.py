"""The page of a system: its best row in a sentence, its history, and its neighbours; and a reported run's page."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from leaderboard.board.histories import Point, history_of
from leaderboard.board.row import BoardRow, TestsCell
from leaderboard.models.enums import Provenance
from submissions.enums import Inputs, Kind, Visibility
from submissions.models import Submission
from tests.benchmark_tasks.factories import SuiteFactory, SuiteVersionFactory
from tests.leaderboard.factories import label_counts, measured, reported
from tests.leaderboard.showing import words_of
from tests.reviews.factories import assigned, case_of, ready
from tests.submissions.factories import ImplementationFactory, SystemFactory, UserFactory

if TYPE_CHECKING:
    from django.test import Client

    from benchmark_tasks.models import SuiteVersion
    from leaderboard.models import Entry
    from submissions.models import System


def row(
    day: int | None, percent: float | None, *, inputs: str = "full", bounds: tuple[Any, Any] = (0, 100)
) -> BoardRow:
    """A row of a day in May, with unit tests if ``percent`` is given."""
    return BoardRow(
        system="Solver",
        system_slug="solver",
        backbone="none",
        scaffold="none",
        organisation="",
        inputs=inputs,
        inputs_text="",
        provenance=Provenance.GRADED_HERE,
        reported=False,
        calibration=False,
        address="/submissions/1/",
        submission=1,
        tests=None
        if percent is None
        else TestsCell(percent=percent, low=bounds[0], high=bounds[1], passed=0, tasks=28),
        judge=None,
        human=None,
        unpublished=0,
        date=datetime(2026, 5, day, 12, tzinfo=UTC) if day else None,
        remarks=(),
    )


class TestHistory:
    def test_points_are_at_their_day_and_percentage_oldest_first(self) -> None:
        history = history_of([row(11, 75, bounds=(50, 100)), row(1, 25), row(6, 50)])
        assert history is not None
        (series,) = history.series
        assert [(point.x, point.y) for point in series.points] == [(50, 102), (367, 72), (684, 42)]
        assert series.points[2] == Point(684, 42, low=72, high=12, words="2026-05-11: 75.0 % [50.0, 100.0]")
        assert series.path == "50.0,102.0 367.0,72.0 684.0,42.0"
        assert list(history.ticks) == [(132, 0), (72, 50), (12, 100)]
        assert (history.first.day, history.last.day, history.one_day) == (1, 11, False)

    def test_each_kind_of_inputs_is_a_line_of_its_own_on_the_same_axis(self) -> None:
        history = history_of([row(5, 10, inputs="paper_only"), row(1, 20), row(9, 30), row(9, 40, inputs="paper_only")])
        assert history is not None
        drawn = {series.inputs: [point.x for point in series.points] for series in history.series}
        words = {each: row(1, 0, inputs=each).inputs_word for each in ("full", "paper_only")}
        assert drawn == {words["full"]: [50, 684], words["paper_only"]: [367, 684]}

    def test_one_day_is_in_the_middle_and_a_missing_interval_has_no_length(self) -> None:
        history = history_of([row(3, 50, bounds=(None, None))])
        assert history is not None
        assert history.series[0].points == (Point(367, 72, 72, 72, "2026-05-03: 50.0 % [50.0, 50.0]"),)
        assert history.one_day

    def test_rows_without_date_or_tests_are_not_drawn(self) -> None:
        assert history_of([row(None, 50), row(3, None)]) is None
        history = history_of([row(None, 50), row(3, None), row(4, 0)])
        assert history is not None
        assert [len(series.points) for series in history.series] == [1]


@pytest.fixture
def solver() -> System:
    made: System = SystemFactory(slug="solver", name="Solver")
    return made


@pytest.fixture
def version() -> SuiteVersion:
    made: SuiteVersion = SuiteVersionFactory(suite=SuiteFactory(slug="small", title="Small"), tasks=1)
    return made


def of(version: SuiteVersion, name: str | System, passed: float | None, **facts: Any) -> Entry:
    """A row of a system that passed ``passed`` of 28 tasks."""
    system = SystemFactory(name=name) if isinstance(name, str) else name
    return measured(version, system=system, metric={"tests_passed": passed}, **facts)


def neighbours(client: Client) -> list[list[tuple[str, str, str]]]:
    """Per suite version: each neighbour's position, its system, and the rows in the link to the comparison."""
    groups = client.get("/systems/solver/").context["groups"]
    return [
        [
            (word, row.system, compare.removeprefix("/compare/small/?version=1&"))
            for word, row, compare in group.neighbours
        ]
        for group in groups
    ]


@pytest.mark.django_db
class TestNeighbours:
    def test_neighbours_are_nearest_above_and_below_the_leading_row(
        self, client: Client, version: SuiteVersion, solver: System
    ) -> None:
        of(version, solver, 20, inputs=Inputs.PAPER_ONLY)
        of(version, solver, 9)
        leading = of(version, solver, 11)
        first = {name: of(version, name, passed) for name, passed in (("Far above", 20), ("Above", 12))}
        second = {name: of(version, name, passed) for name, passed in (("Below", 10), ("Far below", 3))}
        of(version, first["Far above"].system, 12, inputs=Inputs.PAPER_ONLY)
        of(version, "Unknown", None)
        of(version, "Sample", 11, kind=Kind.CALIBRATION)
        of(version, "Secret", 11, published=False)
        of(SuiteVersionFactory(tasks=1), "Elsewhere", 11)
        own = f"row=s{leading.submission_id}"
        assert neighbours(client) == [
            [
                ("next above", "Above", f"{own}&row=s{first['Above'].submission_id}"),
                ("next below", "Below", f"{own}&row=s{second['Below'].submission_id}"),
            ]
        ]
        page = client.get("/systems/solver/").content.decode()
        assert f'href="/compare/small/?version=1&amp;{own}&amp;row=s{first["Above"].submission_id}"' in page

    def test_a_just_withdrawn_row_is_no_neighbour(self, client: Client, version: SuiteVersion, solver: System) -> None:
        of(version, solver, 11)
        gone = of(version, "Secretive", 12)
        of(version, "Above", 13)
        Submission.objects.filter(entry=gone).update(visibility=Visibility.WITHDRAWN)
        assert [(word, name) for word, name, _ in neighbours(client)[0]] == [("next above", "Above")]

    def test_a_neighbour_with_the_same_result_is_level(
        self, client: Client, version: SuiteVersion, solver: System
    ) -> None:
        of(version, solver, 11)
        of(version, "Same", 11)
        of(version, "Above", 12)
        assert [(word, name) for word, name, _ in neighbours(client)[0]] == [("level with it", "Same")]

    def test_each_suite_has_its_own_neighbours_and_samples_have_none(
        self, client: Client, version: SuiteVersion, solver: System
    ) -> None:
        other: SuiteVersion = SuiteVersionFactory(suite=SuiteFactory(title="Zweite"), tasks=1)
        for place, each in enumerate([version, other]):
            of(each, solver, 11)
            of(each, f"Beside {place}", 10)
        sample = SuiteVersionFactory(suite=SuiteFactory(title="Sampled"), tasks=1)
        of(sample, solver, 11, kind=Kind.CALIBRATION)
        of(sample, "Beside the sample", 10)
        found = sorted([(word, name) for word, name, _ in group] for group in neighbours(client))
        assert found == [[], [("next below", "Beside 0")], [("next below", "Beside 1")]]

    def test_reported_rows_are_neighbours_and_have_neighbours(
        self, client: Client, version: SuiteVersion, solver: System
    ) -> None:
        reported(version, system=solver, slug="own", metric={"tests_passed": 11.0})
        reported(version, system=SystemFactory(name="Told"), slug="told", metric={"tests_passed": 12.0})
        assert neighbours(client) == [[("next above", "Told", "row=r-own&row=r-told")]]


@pytest.mark.django_db
class TestFinding:
    """The sentence with a system's leading row on a suite, and with a reported run's numbers."""

    def test_the_sentence_is_about_the_row_that_leads_on_the_board(
        self, client: Client, version: SuiteVersion, solver: System
    ) -> None:
        of(version, solver, 20, inputs=Inputs.PAPER_ONLY)
        of(version, solver, 9)
        of(version, solver, 11)
        page = words_of(client.get("/systems/solver/"))
        assert "11 of 28 tasks pass their unit tests: 39.3 %" in page
        assert page.count("tasks pass their unit tests") == 1

    def test_other_inputs_lead_only_without_full_ones_and_some_answers_only_without_a_complete_row(
        self, client: Client, version: SuiteVersion, solver: System
    ) -> None:
        measured(version, system=solver, metric={"tests_passed": 7, "answered": 25, "tests_rate": None})
        assert "7 of 25 answers pass their unit tests; the suite counts 28 tasks." in words_of(
            client.get("/systems/solver/")
        )
        of(version, solver, 3, inputs=Inputs.PAPER_ONLY)
        assert "3 of 28 tasks pass their unit tests" in words_of(client.get("/systems/solver/"))

    def test_samples_have_no_sentence(self, client: Client, version: SuiteVersion, solver: System) -> None:
        of(version, solver, 28, kind=Kind.CALIBRATION)
        assert "tasks pass" not in words_of(client.get("/systems/solver/"))

    def test_a_reported_run_begins_with_its_numbers(self, client: Client, version: SuiteVersion) -> None:
        labels = {"human": label_counts(7, 14, 7, tasks=28)}
        run = reported(version, slug="theirs", metric={"tests_passed": 11.0, "labels": labels}).reported_run
        assert run is not None
        page = words_of(client.get("/reported/theirs/"))
        before, _, after = page.partition("Annotators label 25.0 % CC (correct), 50.0 % LC (right idea, wrong detail),")
        assert "11 of 28 tasks pass their unit tests: 39.3 % [23.6, 57.6] ." in before
        assert after.startswith(" 25.0 % LI (wrong).")
        assert after.index("Task by task") < after.index("Facts")

    def test_a_row_that_the_viewer_labels_has_no_sentence(
        self, client: Client, version: SuiteVersion, solver: System
    ) -> None:
        entry = of(version, solver, 11)
        annotator = ready(user=UserFactory())
        answer = ImplementationFactory(submission=entry.submission, revision=version.revisions.get())
        assigned(case_of(answer), annotator)
        assert annotator.user is not None
        client.force_login(annotator.user)
        page = words_of(client.get("/systems/solver/"))
        assert ("Hidden until you lock your label" in page, "tasks pass" in page) == (True, False)
