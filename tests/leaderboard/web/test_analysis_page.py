"""The analysis page, and the data and charts of its figures."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from benchmark_tasks.models import TaskRevision
from leaderboard.board.entries import recompute_submission
from leaderboard.insight.analysis.figures import BY_SLUG
from leaderboard.insight.analysis.report import compute_report
from leaderboard.models import EntryMetric
from reviews.enums import CaseState, FinalSource
from submissions.enums import Inputs, Kind, Visibility
from submissions.models import Implementation, Submission
from submissions.trajectories.steps import Action
from tests.benchmark_tasks.factories import CategoryFactory, SuiteFactory, SuiteVersionFactory
from tests.leaderboard.factories import MetricFactory, label_counts, measured, reported
from tests.leaderboard.insight.reading import SMALL, chart, section, table, values
from tests.leaderboard.judging import JudgeFactory, judged, walked
from tests.leaderboard.showing import counted
from tests.reviews.factories import assigned, case_of, ready, reviewed
from tests.submissions.factories import SystemFactory, UserFactory

if TYPE_CHECKING:
    from django.test import Client
    from pytest_django import DjangoCaptureOnCommitCallbacks

    from benchmark_tasks.models import SuiteVersion

pytestmark = pytest.mark.django_db


@pytest.fixture
def version() -> SuiteVersion:
    made: SuiteVersion = SuiteVersionFactory(suite=SuiteFactory(slug="small"), tasks=2)
    return made


def run(version: SuiteVersion, *outcomes: str, **facts: Any) -> Submission:
    """A published run with its row."""
    submission = counted(version, *outcomes, **{"published": True, **facts})
    recompute_submission(submission.pk)
    return submission


def test_measured_and_reported_runs_are_distinguished(client: Client, version: SuiteVersion) -> None:
    run(version, "passed", "wrong_output", system=SystemFactory(name="Ours"))
    reported(version, system=SystemFactory(name="Theirs"), metric={"tasks": 2, "tests_passed": 2.0})
    rows = table(client, "scores")
    assert values(rows, "system", "source", "tests_percent") == [
        ("Theirs", "reported", "100.0"),
        ("Ours", "graded here", "50.0"),
    ]
    names = {trace["name"]: trace["y"] for trace in chart(client, "scores")["data"]}
    assert names == {"measured here": [1], "reported": [0]}


@pytest.mark.parametrize(("tasks", "points"), [(1, 89), (9, 55), (28, 35), (35, 31), (60, 25)])
def test_the_width_of_intervals_is_that_of_the_suites_own_number_of_tasks(
    client: Client, version: SuiteVersion, tasks: int, points: int
) -> None:
    for _ in range(2):
        measured(version, metric={"tasks": tasks, "tests_passed": 1.0})
    reported(version, metric={"tasks": 27, "tests_passed": 1.0})
    reported(version, metric={"tests_passed": None})
    words = section(client, "scores")
    noun = "task" if tasks == 1 else "tasks"
    assert f"With {tasks} {noun} an interval is up to {points} points wide." in words
    assert words.count("points wide") == 1


def test_samples_are_not_counted(client: Client, version: SuiteVersion) -> None:
    run(version, "passed", kind=Kind.CALIBRATION, system=SystemFactory(name="A sample"))
    page = client.get(SMALL).content.decode()
    assert "A sample" not in page
    assert "Nothing is published on this version yet." in page


def test_each_category_shows_passed_tasks(client: Client, version: SuiteVersion) -> None:
    first, second = version.revisions.order_by("pk")
    for place, (revision, slug) in enumerate(((first, "decoding"), (second, "evaluation"))):
        category = CategoryFactory(slug=slug, title=f"Of {slug}", definition="", position=place)
        TaskRevision.objects.filter(pk=revision.pk).update(category=category)
    run(version, "passed", "wrong_output", system=SystemFactory(name="Ours"))
    reported(version, system=SystemFactory(name="Totals only"))
    rows = table(client, "categories")
    assert [{key: row[key] for key in row if key != "source"} for row in rows] == [
        {"system": "Ours", "category_1": "1/1", "category_2": "0/1"}
    ]
    assert "Only totals were published of 1 more." in section(client, "categories")
    cells = chart(client, "categories")["data"]
    assert [(trace["name"], trace["text"], trace["marker"]["color"]) for trace in cells] == [
        ("Of decoding", ["1/1"], [1.0]),
        ("Of evaluation", ["0/1"], [0]),
    ]


def test_inputs_show_the_best_run_of_each_kind(client: Client, version: SuiteVersion) -> None:
    system = SystemFactory(name="Ours")
    for inputs, outcomes in (
        (Inputs.FULL, ("passed", "passed")),
        (Inputs.PAPER_ONLY, ("passed", "wrong_output")),
        (Inputs.PAPER_ONLY, ("wrong_output", "wrong_output")),
    ):
        run(version, *outcomes, inputs=inputs, system=system)
    run(version, "passed", "passed", system=SystemFactory(name="Full alone"))
    assert values(table(client, "inputs"), "system", "inputs", "tests_percent") == [
        ("Ours", "paper only", "50.0"),
        ("Ours", "paper only", "0.0"),
        ("Ours", "paper, repository and instruction", "100.0"),
    ]
    (line,) = chart(client, "inputs")["data"]
    assert (line["x"], line["y"]) == ([0, 2], [50.0, 100.0])


def test_the_cost_figure_marks_the_pareto_front(client: Client, version: SuiteVersion) -> None:
    for name, outcomes, cost in (
        ("Cheap", ("passed", "wrong_output"), 0.1),
        ("Dear and no better", ("passed", "wrong_output"), 0.5),
        ("Dear and better", ("passed", "passed"), 0.3),
    ):
        submission = run(version, *outcomes, system=SystemFactory(name=name))
        Implementation.objects.filter(submission=submission).update(usage={"cost_usd": cost})
        recompute_submission(submission.pk)
    run(version, "passed", "passed", system=SystemFactory(name="Of unknown cost"))
    assert values(table(client, "cost"), "system", "cost_usd", "on_front") == [
        ("Cheap", "0.2", "yes"),
        ("Dear and better", "0.6", "yes"),
        ("Dear and no better", "1.0", "no"),
    ]
    front, *_ = chart(client, "cost")["data"]
    assert (front["x"], front["y"]) == ([0.2, 0.6], [50.0, 100.0])


def test_the_history_includes_the_record_so_far(client: Client, version: SuiteVersion) -> None:
    for day, outcomes in (
        (3, ("passed", "wrong_output")),
        (1, ("wrong_output", "wrong_output")),
        (7, ("wrong_output",) * 2),
    ):
        run(version, *outcomes, published_at=datetime(2026, 5, day, 23, tzinfo=UTC))
    reported(version)
    assert values(table(client, "history"), "date", "tests_percent", "record_percent") == [
        ("2026-05-07", "0.0", "50.0"),
        ("2026-05-03", "50.0", "50.0"),
        ("2026-05-01", "0.0", "0.0"),
    ]
    assert "Left out without a date: 1 reported." in section(client, "history")


def test_the_history_of_one_day_has_that_day_on_its_axis(client: Client, version: SuiteVersion) -> None:
    for hour in (9, 17):
        run(version, "passed", "wrong_output", published_at=datetime(2026, 5, 3, hour, tzinfo=UTC))
    axis = chart(client, "history")["layout"]["xaxis"]
    assert (axis["type"], axis["range"]) == ("date", ["2026-05-02", "2026-05-04"])
    assert (axis["tickvals"], axis["tickformat"]) == (["2026-05-03"], "%Y-%m-%d")


def test_actions_by_system_and_by_outcome(client: Client, version: SuiteVersion) -> None:
    submission = run(version, "passed", "wrong_output", system=SystemFactory(name="Walker"))
    one, two = submission.implementations.order_by("revision_id")
    walked(one, Action.RUN, Action.RUN, Action.READ, Action.FINISH)
    walked(two, Action.READ, Action.FINISH)
    compute_report(version)
    assert values(table(client, "actions"), "name", "run", "read", "finish", "actions") == [
        ("Walker", "33.333333", "33.333333", "33.333333", "6")
    ]
    assert values(table(client, "outcomes"), "name", "run", "read", "answers") == [
        ("passed", "2.0", "1.0", "1"),
        ("failed", "0.0", "1.0", "1"),
    ]


@pytest.mark.parametrize("visibility", [Visibility.PRIVATE, Visibility.HIDDEN, Visibility.WITHDRAWN])
def test_unpublished_runs_appear_nowhere_even_for_maintainers(
    client: Client, version: SuiteVersion, visibility: str
) -> None:
    system = SystemFactory(name="Secret Weapon", backbone="Secret Weapon")
    secret = run(version, "passed", "passed", system=system)
    run(version, "passed", "wrong_output", system=SystemFactory(name="Shown", backbone="shown"))
    walked(secret.implementations.order_by("pk")[0], Action.RUN)
    Implementation.objects.update(usage={"cost_usd": 1})
    recompute_submission(secret.pk)
    compute_report(version)
    assert "Secret Weapon" in client.get(SMALL).content.decode()
    Submission.objects.filter(pk=secret.pk).update(visibility=visibility)
    client.force_login(UserFactory(is_staff=True))
    for figure in BY_SLUG:
        for form in ("", "csv", "json", "chart"):
            text = client.get(
                SMALL, {"figure": figure, "format": form} if form else {"figure": figure}
            ).content.decode()
            assert "Secret Weapon" not in text, (figure, form)
    assert values(table(client, "scores"), "system") == [("Shown",)]


def test_an_annotator_sees_no_data_of_the_held_answer(client: Client, version: SuiteVersion) -> None:
    version.revisions.update(category=CategoryFactory())
    answers = list(run(version, "passed", "wrong_output").implementations.order_by("pk"))
    walked(answers[0], Action.RUN)
    figures = ("tests-confusion", "errors", "categories", "actions", "outcomes")
    judge = JudgeFactory(name="Stern")
    for answer in answers:
        judged(answer, judge, "CC")
    earlier = case_of(answers[0], state=CaseState.REOPENED, label="LI", source=FinalSource.SINGLE)
    reviewed(earlier, ready(), "LI")
    compute_report(version)
    reviewer = ready()
    assert reviewer.user is not None
    client.force_login(reviewer.user)
    assert [bool(table(client, figure)) for figure in figures] == [True] * 5
    assigned(case_of(answers[0], state=CaseState.LEASED, round=2), reviewer)
    assert [table(client, figure) for figure in figures] == [[]] * 5
    for figure in ("tests-confusion", "errors", "actions", "outcomes"):
        assert "so it is hidden until you submit your label" in section(client, figure)


def test_a_missing_report_is_announced(client: Client, version: SuiteVersion) -> None:
    run(version, "passed", "passed")
    for figure in ("regression", "confusion", "actions", "outcomes", "errors"):
        assert "A worker computes this" in section(client, figure), figure
    compute_report(version)
    assert "A worker computes this" not in client.get(SMALL).content.decode()
    assert re.search(r"Computed \d{4}-\d\d-\d\d \d\d:\d\d UTC\.", section(client, "regression"))
    assert "No numbers: there is nothing to compare: one model only." in section(client, "regression")


def test_names_are_escaped_in_html_and_spreadsheets(client: Client, version: SuiteVersion) -> None:
    measured(version, system=SystemFactory(name="=cmd()<script>"))
    page = client.get(SMALL).content.decode()
    assert ("=cmd()&lt;script&gt;" in page, "=cmd()<script>" in page) == (True, False)
    assert values(table(client, "scores"), "system") == [("'=cmd()<script>",)]


def test_long_tables_are_cut_on_the_page_and_whole_in_files(client: Client, version: SuiteVersion) -> None:
    for _ in range(43):
        measured(version)
    page = client.get(SMALL).content.decode()
    scores = page.split('id="scores"')[1].split("</section>")[0]
    assert scores.count('<th scope="row">') == 15
    assert "Data: the first 15 of 43 rows" in scores
    assert "The chart shows the first 40 of 43." in scores
    assert '<a href="?figure=scores">More rows' in scores
    assert client.get(SMALL, {"figure": "scores"}).content.decode().count('<th scope="row">') == 43
    assert len(chart(client, "scores")["data"][0]["x"]) == 40
    assert len(table(client, "scores")) == 43
    rows = client.get(SMALL, {"figure": "scores", "format": "json"}).json()
    assert (rows["figure"], rows["of_paper"], len(rows["rows"])) == ("scores", "Table 2", 43)


def test_a_public_page_is_cached_until_its_data_or_report_change(
    client: Client, version: SuiteVersion, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        run(version, "passed", "wrong_output", system=SystemFactory(name="First"))
    tag = client.get(SMALL).headers["ETag"]
    assert client.get(SMALL, headers={"If-None-Match": tag}).status_code == 304
    with django_capture_on_commit_callbacks(execute=True):
        run(version, "passed", "passed", system=SystemFactory(name="Second"))
    changed = client.get(SMALL, headers={"If-None-Match": tag})
    assert (changed.status_code, "Second" in changed.content.decode()) == (200, True)
    compute_report(version)
    assert client.get(SMALL, headers={"If-None-Match": changed.headers["ETag"]}).status_code == 200


@pytest.mark.parametrize(
    "query", ["figure=absent", "figure=scores&format=exe", "format=csv", "figure=scores&format=chart", "version=9"]
)
def test_unknown_selections_are_not_found(client: Client, version: SuiteVersion, query: str) -> None:
    assert client.get(f"{SMALL}?{query}").status_code == 404


def test_a_suite_without_a_version_and_a_site_without_suites(client: Client) -> None:
    assert client.get("/analysis/").status_code == 200
    SuiteFactory(slug="small")
    assert client.get(SMALL).status_code == 200
    assert client.get("/analysis/absent/").status_code == 404


def test_queries_do_not_grow_with_rows(client: Client, version: SuiteVersion) -> None:
    def made(number: int) -> int:
        for _ in range(number):
            run(version, "passed", "wrong_output", system=SystemFactory(backbone="alpha"))
            entry = reported(version, metric={"tasks": 2, "tests_passed": 1.0})
            category = CategoryFactory()
            MetricFactory(entry=entry, category=category, tasks=2, tests_passed=1.0)
            EntryMetric.objects.update(labels={"judge": label_counts(1, 0, 1, tasks=2)})
        compute_report(version)
        with CaptureQueriesContext(
            connection,
        ) as queries:
            assert client.get(SMALL).status_code == 200
        return len(queries)

    assert made(1) == made(3) <= 16
