"""The evidence behind a mark: of a submission, a reported and a re-measured run, and the steps to its neighbours."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

import pytest
from django.utils import timezone

from benchmark_tasks.domain.catalogue import SHIPPED_SUITE
from evaluator.enums import Variant
from evaluator.models import TestRun
from leaderboard.board.states import note_change
from leaderboard.board.upstream_results import NEVER_RAN_NOTE
from leaderboard.evidence import answer_code
from leaderboard.models import EntryMetric, ReportedRun
from reviews.enums import CaseState, FinalSource
from submissions.enums import Kind, Visibility
from submissions.models import Implementation, Submission
from tests.benchmark_tasks.factories import SuiteFactory, SuiteVersionFactory
from tests.evaluator.factories import TestRunFactory
from tests.leaderboard.factories import ReportedResultFactory, measured, reported
from tests.leaderboard.judging import JudgeFactory, judged, show, vote
from tests.leaderboard.showing import words_of
from tests.reviews.factories import FINDING, ReviewerFactory, assigned, case_of, ready, reviewed
from tests.submissions.factories import ImplementationFactory, SystemFactory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.test import Client

    from benchmark_tasks.models import SuiteVersion
    from leaderboard.models import Entry

pytestmark = pytest.mark.django_db

CASES = [
    {"seed": 3, "index": 0, "outcome": "passed", "difference": "", "error": "", "public": True},
    {"seed": 3, "index": 1, "outcome": "raised", "difference": "", "error": "ValueError: <b>no</b>", "public": True},
    {"seed": 9, "index": 0, "outcome": "passed", "difference": "secret", "error": "", "public": False},
]
SOURCE = "def double(x):\n    y = x\n    return y + y\n"


@pytest.fixture
def version() -> SuiteVersion:
    """Three tasks."""
    made: SuiteVersion = SuiteVersionFactory(suite=SuiteFactory(slug="small"), tasks=3)
    return made


def tasks(version: SuiteVersion) -> list[str]:
    found = version.revisions.order_by("task__paper__folder_name", "task__index")
    return [f"{each.task.paper.slug}/{each.task.index}" for each in found]


def row(entry: Entry, tests: Sequence[float | None], passed: float) -> Entry:
    entry.marks = {"tests": list(tests)}
    entry.save()
    EntryMetric.objects.filter(entry=entry).update(tests_passed=passed, tests_rate=passed / 28)
    note_change(entry.suite_version_id)
    return entry


def key(entry: Entry) -> str:
    return f"s{entry.submission_id}" if entry.submission_id else f"r-{entry.reported_run.slug}"


def address(entry: Entry, place: int = 0) -> str:
    return f"/board/small/answers/{key(entry)}/{tasks(entry.suite_version)[place]}/"


def answered(version: SuiteVersion, name: str = "Ours", **facts: Any) -> tuple[Entry, Implementation]:
    """A published row whose answer to the first task raises in one of two public test cases."""
    entry = row(measured(version, system=SystemFactory(name=name), **facts), [0.0, 1.0, None], 9)
    revision = version.revisions.order_by("task__paper__folder_name").first()
    answer: Implementation = ImplementationFactory(
        submission=entry.submission, revision=revision, goal_source=SOURCE, usage={"cost_usd": 0.5}
    )
    TestRunFactory(implementation=answer, done="raised", cases=CASES, seconds=2.0, finished=timezone.now())
    return entry, answer


def steps(client: Client, at: str) -> dict[str, str]:
    return {step.key: step.address for step in client.get(at).context["cell"].steps}


def test_a_submission_s_answer_shows_outcome_test_case_code_raters_and_cost(
    client: Client, version: SuiteVersion
) -> None:
    entry, answer = answered(version)
    judge = JudgeFactory(name="Careful May")
    show(version.suite, judge)
    finding = {"point": "Adds <i>twice</i>.", "severity": "major", "lines": "lines 2 to 3"}
    judgement = judged(answer, judge, "LC")
    vote(judgement, 1, "LC", findings=[finding, {**finding, "point": "Of no line.", "lines": ""}])
    vote(judgement, 2, "LC", findings=[finding])
    # Its lines are those of the code without comments, which is not shown.
    vote(judgement, 3, "LC", findings=[{**finding, "point": "Of other lines."}], variant=Variant.STRIPPED)
    case = case_of(answer, state=CaseState.AGREED, label="LI", source=FinalSource.AGREED, closed=timezone.now())
    reviewed(case, ReviewerFactory(pseudonym="Quiet Owl"), "LI", findings=[FINDING])
    response = client.get(address(entry))
    shown, text = words_of(response), response.content.decode()
    for expected in (
        "The answer fails its unit tests: it raises an error.",
        "1 of 2 public, 1 of 1 private test cases pass.",
        "First failing test case: seed 3, test case 1, raised an error ValueError: <b>no</b>",
        "LC right idea, wrong detail by Careful May",
        "LI wrong · final label (a single annotator)",
        "Quiet Owl LI",
        "Cost US $ 0.5000, as declared",
    ):
        assert expected in shown, expected
    assert "<b>no</b>" not in text
    assert f'href="{answer.get_absolute_url()}"' in text
    assert f'href="{case.get_absolute_url()}"' in text
    below = [
        (line.right and line.right.number, who, each.text)
        for line in response.context["code"].comparison.rows
        for who, each, _ in line.below
    ]
    assert below == [(2, "Quiet Owl", FINDING["text"]), (3, "Careful May", "Adds <i>twice</i>.")]
    assert "secret" not in text


def test_unchanged_lines_with_a_finding_are_not_folded(client: Client, version: SuiteVersion) -> None:
    entry, answer = answered(version)
    lines = [f"    a{number} = {number}" for number in range(30)]
    source = "\n".join(["def double(x):", *lines])
    type(answer.revision).objects.filter(pk=answer.revision_id).update(masked_source=f"{source}\n    pass\n")
    Implementation.objects.filter(pk=answer.pk).update(goal_source=f"{source}\n    return 2\n")
    unchanged = [block.is_hidden for block in client.get(address(entry)).context["code"].comparison.blocks]
    assert True in unchanged
    vote(judged(answer, JudgeFactory(), "LC"), 1, "LC", findings=[{"point": "P", "severity": "minor", "lines": "5"}])
    unchanged = [block.is_hidden for block in client.get(address(entry)).context["code"].comparison.blocks]
    assert True not in unchanged


def test_code_and_findings_are_for_those_who_may_see_them(client: Client, version: SuiteVersion) -> None:
    entry, answer = answered(version)
    finding = {"point": "A marked point.", "severity": "major", "lines": "2"}
    vote(judged(answer, JudgeFactory(), "LC"), 1, "LC", findings=[finding])
    assert ("A marked point." in words_of(client.get(address(entry)))) is True
    Submission.objects.update(code_licence="")
    shown = words_of(client.get(address(entry)))
    assert ("A marked point." in shown, "return y + y" in shown) == (False, False)
    assert "The code is shown once its owner publishes the submission." in shown
    client.force_login(answer.submission.owner)
    assert "return y + y" in words_of(client.get(address(entry)))


def test_the_reference_implementation_is_shown_only_if_it_is_public(
    client: Client, version: SuiteVersion, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_code, "shown_golden", lambda _: "def double(x):\n    return x * sentinel")
    entry, _ = answered(version)
    shown = words_of(client.get(address(entry)))
    assert ("Answer beside the masked function" in shown, "sentinel" in shown) == (True, False)
    type(version.suite).objects.filter(pk=version.suite_id).update(slug=SHIPPED_SUITE)
    shown = words_of(client.get(address(entry).replace("/small/", f"/{SHIPPED_SUITE}/")))
    assert ("Answer beside the reference implementation" in shown, "sentinel" in shown) == (True, True)


def test_each_trial_is_shown(client: Client, version: SuiteVersion) -> None:
    entry, first = answered(version, trials=2)
    second = ImplementationFactory(submission=entry.submission, revision=first.revision, trial=2)
    TestRunFactory(implementation=second, done="passed")
    at = address(entry)
    assert "Trial 1 of 2: 1 raised an error · 2 passed" in words_of(client.get(at))
    assert "The answer passes its unit tests." in words_of(client.get(f"{at}?trial=2"))
    assert [client.get(f"{at}?trial={number}").status_code for number in ("3", "0", "x", "")] == [404] * 4


def test_cost_and_time_are_shown_where_either_is_known(client: Client, version: SuiteVersion) -> None:
    entry, answer = answered(version)
    assert "Cost and time Cost US $ 0.5000" in words_of(client.get(address(entry)))
    Implementation.objects.filter(pk=answer.pk).update(usage={})
    TestRun.objects.filter(implementation=answer).update(seconds=0.0)
    note_change(entry.suite_version_id)
    assert "Cost and time" not in words_of(client.get(address(entry)))


def test_a_test_that_never_ran_is_not_called_a_failed_one(client: Client, version: SuiteVersion) -> None:
    entry = row(reported(version, system=SystemFactory(name="Theirs"), slug="theirs"), [0.0, None, None], 5)
    task = version.revisions.order_by("task__paper__folder_name").first().task
    ReportedResultFactory(
        run=entry.reported_run,
        task=task,
        tests_passed=False,
        tests_note=NEVER_RAN_NOTE,
        judge_label="LC",
        human_label="CC",
    )
    shown = words_of(client.get(address(entry)))
    assert "The authors count this answer as failed: their test never ran." in shown
    assert "their test never ran and counts as failed, but the annotator labels the answer CC (correct)" in shown
    assert NEVER_RAN_NOTE not in shown
    assert "the unit test fails" not in shown


def test_a_reported_answer_shows_what_the_authors_published_and_what_not(client: Client, version: SuiteVersion) -> None:
    entry = row(reported(version, system=SystemFactory(name="Theirs"), slug="theirs"), [1.0, None, None], 5)
    task = version.revisions.order_by("task__paper__folder_name").first().task
    words = {"judge_text": "The judge's <b>own</b> words.", "human_comment": "A comment.", "human_annotator": 2}
    ReportedResultFactory(run=entry.reported_run, task=task, judge_label="CC", human_label="LI", **words)
    shown = words_of(client.get(address(entry)))
    for expected in (
        "The authors report that the answer passes its unit tests.",
        "The authors did not publish this answer’s code, cost or time.",
        "judge and annotator are two steps apart",
        "Judge CC correct",
        "LI wrong by annotator 2",
        "The judge's <b>own</b> words.",
        "A comment.",
        "Facts and sources",
    ):
        assert expected in shown, expected
    assert f"/cases/reported/theirs/{tasks(version)[0]}/" in client.get(address(entry)).content.decode()
    assert "The authors published no result for this task." in words_of(client.get(address(entry, 1)))
    totals = reported(version, slug="totals")
    assert "The authors published totals only, no result of a single task." in words_of(client.get(address(totals)))


def test_a_re_measured_answer_shows_both_outcomes(client: Client, version: SuiteVersion) -> None:
    published = row(reported(version, slug="theirs"), [1.0, 1.0, None], 5)
    run = {"remeasures": published.reported_run, "evaluator_version": "6", "measured": date(2026, 11, 26)}
    partial = {"answered": 1, "tests_passed": 0.0, "tests_rate": None}
    again = reported(version, system=published.system, slug="again", metric=partial, **run)
    again.marks = {"tests": [0.0, None, None]}
    again.save()
    task = version.revisions.order_by("task__paper__folder_name").first().task
    ReportedResultFactory(run=published.reported_run, task=task, tests_passed=True, judge_label="LC")
    ReportedResultFactory(run=again.reported_run, task=task, tests_passed=None, outcome="raised")
    shown = words_of(client.get(address(again)))
    for expected in (
        "The answer fails its unit tests: it raises an error.",
        "tested the published answer again, with evaluator 6, on 26 November 2026. The authors report that it passes.",
        "LC right idea, wrong detail",
        "The answer’s code is not on this site.",
    ):
        assert expected in shown, expected
    shown = words_of(client.get(address(published)))
    assert "tested the published answer again: raised an error The re-measured run" in shown
    assert "The authors published no answer to this task." in words_of(client.get(address(again, 1)))
    assert steps(client, address(published))["ArrowDown"] == address(again)
    assert steps(client, address(again))["ArrowUp"] == address(published)
    lower = row(reported(version, slug="lower"), [1.0, 1.0, None], 4)
    assert steps(client, address(lower))["ArrowUp"] == address(again)
    assert steps(client, address(again))["ArrowDown"] == address(lower)
    ReportedRun.objects.filter(slug="again").delete()
    assert "tested the published answer again" not in words_of(client.get(address(published)))


def test_steps_lead_along_the_tasks_and_the_rows_that_have_results(client: Client, version: SuiteVersion) -> None:
    best, middle, last = (
        row(reported(version, slug=slug), [1.0, 0.0, 1.0], passed) for slug, passed in (("a", 20), ("b", 15), ("c", 9))
    )
    reported(version, slug="totals", metric={"tests_passed": 12.0})
    assert steps(client, address(middle, 1)) == {
        "ArrowLeft": address(middle, 0),
        "ArrowRight": address(middle, 2),
        "ArrowUp": address(best, 1),
        "ArrowDown": address(last, 1),
    }
    assert steps(client, address(best, 0)).keys() == {"ArrowRight", "ArrowDown"}
    assert steps(client, address(last, 2)).keys() == {"ArrowLeft", "ArrowUp"}


def test_steps_lead_along_all_samples(client: Client, version: SuiteVersion) -> None:
    system = SystemFactory(name="Sample")
    one, two = (
        row(measured(version, system=system, kind=Kind.CALIBRATION), [1.0, 0.0, 1.0], passed) for passed in (20, 10)
    )
    for entry in (one, two):
        ImplementationFactory(
            submission=entry.submission, revision=version.revisions.order_by("task__paper__folder_name").first()
        )
    assert steps(client, address(one))["ArrowDown"] == address(two)
    assert steps(client, address(two))["ArrowUp"] == address(one)


@pytest.mark.parametrize("n", [3, 60])
def test_steps_take_few_queries(
    client: Client, version: SuiteVersion, n: int, django_assert_max_num_queries: Any
) -> None:
    rows = [row(reported(version, slug=f"r{place}"), [1.0, 0.0, 1.0], place) for place in range(n)]
    client.get(address(rows[1]))
    with django_assert_max_num_queries(17):
        client.get(address(rows[1]))


def test_rows_and_tasks_that_are_not_on_the_board_have_no_evidence(client: Client, version: SuiteVersion) -> None:
    entry, _ = answered(version)
    at = address(entry)
    assert client.get(at).status_code == 200
    for wrong in (
        at.replace("/small/", "/other/"),
        at.replace(key(entry), "s999999"),
        at.replace(key(entry), "r-none"),
        at.replace(key(entry), "nothing"),
        f"{at[:-2]}9/",
    ):
        assert client.get(wrong).status_code == 404, wrong
    client.force_login(entry.submission.owner)
    Submission.objects.update(visibility=Visibility.WITHDRAWN)
    assert client.get(at).status_code == 404


def test_steps_skip_the_rows_that_the_viewer_is_labelling(client: Client, version: SuiteVersion) -> None:
    row(reported(version, slug="best"), [1.0, 1.0, 1.0], 20)
    entry, answer = answered(version)
    row(reported(version, slug="last"), [0.0, 0.0, 0.0], 1)
    person = ready()
    best, last = "/board/small/answers/r-best/", "/board/small/answers/r-last/"
    first = tasks(version)[0]
    assert steps(client, f"{best}{first}/")["ArrowDown"] == address(entry)
    assigned(case_of(answer), person)
    client.force_login(person.user)  # type: ignore[arg-type]
    assert client.get(address(entry)).status_code == 403
    assert steps(client, f"{best}{first}/")["ArrowDown"] == f"{last}{first}/"
