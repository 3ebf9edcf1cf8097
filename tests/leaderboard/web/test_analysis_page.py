"""The analysis page, and the data and charts of its figures."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from html import unescape
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
from tests.leaderboard.insight.reading import SMALL, finding, points, section, table, values
from tests.leaderboard.judging import JudgeFactory, judged, walked
from tests.leaderboard.showing import counted, words_of
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
    assert points(client, "scores") == [
        "Theirs (reported): 100.0 % of tests, 95 % interval 23.6 to 57.6",
        "Ours (graded here): 50.0 % of tests, 95 % interval 9.5 to 90.5",
    ]
    drawing = client.get(f"{SMALL}figures/scores.svg").content.decode()
    assert [name in drawing for name in (">measured here<", ">reported<")] == [True, True]
    assert finding(client, "scores") == (
        "Theirs passes the most, 2 of 2; the interval of the other run overlaps with its own"
    )


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
    page = " ".join(client.get(SMALL).content.decode().split())
    assert "A sample" not in page
    assert ": nothing is published on this version yet" in page


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
    assert points(client, "categories") == [
        "Ours, Of decoding: 1/1 tasks passed",
        "Ours, Of evaluation: 0/1 tasks passed",
    ]
    assert finding(client, "categories") == (
        "The pass rate is lowest in Of evaluation (0 of 1), highest in Of decoding (1 of 1)"
    )


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
    interval = "95 % interval 9.5 to 90.5"
    assert points(client, "inputs") == [
        f"Ours (graded here): 50.0 % of tests, {interval}, given paper only",
        "Ours (graded here): 100.0 % of tests, 95 % interval 34.2 to 100.0, given paper, repository and instruction",
    ]
    assert finding(client, "inputs") == (
        "Given the paper alone, Ours passes 1 of 2 tasks; with everything, 2 of 2; the intervals overlap"
    )


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
    assert finding(client, "cost") == "Cheap and Dear and better are the best for the cost, of 3 runs with a known cost"
    assert [text.rpartition(", ")[2] for text in points(client, "cost")] == ["US $ 0.20", "US $ 0.60", "US $ 1.00"]


def test_two_costs_are_too_few_for_a_chart(client: Client, version: SuiteVersion) -> None:
    for _ in range(2):
        submission = run(version, "passed", "wrong_output")
        Implementation.objects.filter(submission=submission).update(usage={"cost_usd": 1})
        recompute_submission(submission.pk)
    assert (points(client, "cost"), len(table(client, "cost"))) == ([], 2)
    assert "No figure yet: only 2 published runs state the cost of all answers." in section(client, "cost")
    page = " ".join(client.get(SMALL).content.decode().split())
    assert re.findall(r">([^<]*)</a>: only 2 published runs state the cost of all answers", page) == [
        "Score against cost"
    ]
    assert 'href="/analysis/small/figures/cutoff/"' not in page, "it has no table either"


def test_scores_by_the_knowledge_cutoff_of_the_model(client: Client, version: SuiteVersion) -> None:
    for cutoff, outcomes in (
        ("2024-06", ("passed", "passed")),
        ("2023-10", ("passed", "wrong_output")),
        ("2024-06", ("wrong_output", "wrong_output")),
        ("", ("passed", "passed")),
    ):
        run(version, *outcomes, system=SystemFactory(name=f"Of {cutoff}", knowledge_cutoff=cutoff))
    rows = table(client, "cutoff")
    assert values(rows, "knowledge_cutoff", "tests_percent") == [
        ("2024-06", "100.0"),
        ("2024-06", "0.0"),
        ("2023-10", "50.0"),
    ]
    assert [text.rpartition("; ")[2] for text in points(client, "cutoff")] == [
        "cutoff 2023-10",
        "cutoff 2024-06",
        "cutoff 2024-06",
    ]
    assert finding(client, "cutoff") == "The model with the later knowledge cutoff passes more in 1 of 2 pairs of runs"


def test_difficulty_lists_the_hardest_task_first(client: Client, version: SuiteVersion) -> None:
    for outcomes in (("passed", "wrong_output"), ("passed", "wrong_output"), ("wrong_output", "passed")):
        run(version, *outcomes)
    reported(version, metric={"tasks": 2, "tests_passed": 2.0})
    compute_report(version)
    rows = table(client, "difficulty")
    assert values(rows, "runs", "passed", "tests_percent", "tests_low") == [
        ("3", "1.0", "33.333333", "6.149194"),
        ("3", "2.0", "66.666667", "20.76596"),
    ]
    assert finding(client, "difficulty") == "Each of 2 tasks is passed by at least one of 3 runs, none by all of them"
    assert [text.partition(": ")[2] for text in points(client, "difficulty")] == [
        "passed by 1 of 3 runs, 95 % interval 6 to 79 %",
        "passed by 2 of 3 runs, 95 % interval 21 to 94 %",
    ]


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
    drawing = client.get(f"{SMALL}figures/history.svg").content.decode()
    assert re.findall(r">([^<]*(?: May|published)[^<]*)</text>", drawing)[-2:] == ["3 May", "published, 2026"]
    assert finding(client, "history") == "The best score has been 50.0 % since 2026-05-03"


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
        for form in ("/", "/embed/", ".csv", ".json", ".svg"):
            text = client.get(f"{SMALL}figures/{figure}{form}").content.decode()
            assert "Secret Weapon" not in text, (figure, form)
    assert values(table(client, "scores"), "system") == [("Shown",)]


def test_an_annotator_sees_no_data_of_the_held_answer(client: Client, version: SuiteVersion) -> None:
    version.revisions.update(category=CategoryFactory())
    answers = list(run(version, "passed", "wrong_output").implementations.order_by("pk"))
    walked(answers[0], Action.RUN)
    figures = ("tests-confusion", "difficulty", "errors", "categories", "actions", "outcomes")
    judge = JudgeFactory(name="Stern")
    for answer in answers:
        judged(answer, judge, "CC")
    earlier = case_of(answers[0], state=CaseState.REOPENED, label="LI", source=FinalSource.SINGLE)
    reviewed(earlier, ready(), "LI")
    compute_report(version)
    reviewer = ready()
    assert reviewer.user is not None
    client.force_login(reviewer.user)
    assert [bool(table(client, figure)) for figure in figures] == [True] * 6
    assigned(case_of(answers[0], state=CaseState.LEASED, round=2), reviewer)
    assert [table(client, figure) for figure in figures] == [[]] * 6
    for figure in ("tests-confusion", "difficulty", "errors", "actions", "outcomes"):
        assert "so it is hidden until you lock your label" in section(client, figure)


def test_a_missing_report_is_announced(client: Client, version: SuiteVersion) -> None:
    run(version, "passed", "passed")
    for figure in ("regression", "difficulty", "confusion", "actions", "outcomes", "errors"):
        assert "a worker computes this" in section(client, figure), figure
    compute_report(version)
    assert "a worker computes this" not in client.get(SMALL).content.decode()
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
    assert f'<a href="{SMALL}figures/scores/">All rows, link and embed' in scores
    assert client.get(f"{SMALL}figures/scores/").content.decode().count('<th scope="row">') == 43
    assert len(points(client, "scores")) == 40
    assert len(table(client, "scores")) == 43
    rows = client.get(f"{SMALL}figures/scores.json").json()
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
    "address",
    [
        "figures/absent/",
        "figures/scores.exe",
        "figures/scores.svg",
        "figures/absent/embed/",
        "?figure=absent",
        "?version=9",
    ],
)
def test_unknown_selections_are_not_found(client: Client, version: SuiteVersion, address: str) -> None:
    assert client.get(f"{SMALL}{address}").status_code == 404


@pytest.mark.parametrize(
    ("query", "address"),
    [
        ("figure=scores", "figures/scores/"),
        ("figure=scores&format=csv&version=1", "figures/scores.csv?version=1"),
        ("figure=scores&format=chart", "figures/scores/"),
    ],
)
def test_former_addresses_redirect(client: Client, version: SuiteVersion, query: str, address: str) -> None:
    response = client.get(f"{SMALL}?{query}")
    assert (response.status_code, response.headers["Location"]) == (301, f"{SMALL}{address}")


def test_only_the_embedded_figure_may_be_framed_by_other_sites(client: Client, version: SuiteVersion) -> None:
    run(version, "passed", "wrong_output", system=SystemFactory(name='Ours "best"'))
    page = client.get(f"{SMALL}figures/scores/")
    embedded = client.get(f"{SMALL}figures/scores/embed/")
    assert "frame-ancestors *" in embedded.headers["Content-Security-Policy"]
    assert "X-Frame-Options" not in embedded.headers
    assert not embedded.cookies
    assert "frame-ancestors 'none'" in page.headers["Content-Security-Policy"]
    assert page.headers["X-Frame-Options"] == "DENY"
    (line,) = re.findall(r'id="figure-embed" readonly value="([^"]*)"', page.content.decode())
    title = "Ours &quot;best&quot; passes 1 of 2 tasks; there is no other run to compare it with"
    assert unescape(line).startswith(
        f'<iframe src="http://testserver{SMALL}figures/scores/embed/" title="{title}" width'
    )


def test_a_figure_s_pictures_have_its_finding(client: Client, version: SuiteVersion) -> None:
    run(version, "passed", "wrong_output", system=SystemFactory(name="Ours & <theirs>"))
    svg = client.get(f"{SMALL}figures/scores.svg")
    texts = [unescape(text) for text in re.findall(r"<text [^>]*>([^<]*)</text>", svg.content.decode())]
    assert svg.headers["Content-Type"] == "image/svg+xml"
    assert " ".join(texts[:2]) == "Ours & <theirs> passes 1 of 2 tasks; there is no other run to compare it with"
    assert texts[-1] == "LMR-Board · http://testserver/analysis/small/figures/scores/"
    assert "var(" not in svg.content.decode()
    png = client.get(f"{SMALL}figures/scores.png")
    assert (png.headers["Content-Type"], png.content[:4]) == ("image/png", b"\x89PNG")


def test_figures_without_data_are_listed_by_reason(client: Client, version: SuiteVersion) -> None:
    run(version, "passed", "wrong_output")
    compute_report(version)
    page = words_of(client.get(SMALL))
    assert (
        "No figure yet Inputs: no published run was given reduced inputs "
        "Tests against labels: no published answer has both an outcome and a label "
    ) in page


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

    assert made(1) == made(3) <= 22
