"""The pages that compare systems, and two answers."""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING, Any

import pytest

from leaderboard.board.states import note_change
from submissions.enums import Kind, Visibility
from submissions.models import Submission
from tests.benchmark_tasks.factories import (
    PaperFactory,
    SuiteFactory,
    SuiteVersionFactory,
    TaskFactory,
    TaskRevisionFactory,
)
from tests.evaluator.factories import TestRunFactory
from tests.leaderboard.factories import ReportedResultFactory, measured, measured_outcome, reported
from tests.leaderboard.showing import words
from tests.reviews.factories import assigned, case_of, ready
from tests.submissions.factories import ImplementationFactory, SystemFactory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.test import Client

    from benchmark_tasks.models import SuiteVersion
    from leaderboard.models import Entry

pytestmark = pytest.mark.django_db
TASKS = 10


@pytest.fixture
def version() -> SuiteVersion:
    made: SuiteVersion = SuiteVersionFactory(suite=SuiteFactory(slug="small", position=1))
    for number in range(TASKS):
        paper = PaperFactory(suite=made.suite, slug=f"p{number}", folder_name=f"p{number}")
        task = TaskFactory(suite=made.suite, paper=paper, index=1, slug=f"p{number}/1")
        made.revisions.add(TaskRevisionFactory(task=task))
    return made


def ours(version: SuiteVersion, name: str, tests: Sequence[float | None], **facts: Any) -> Entry:
    entry = measured(version, system=SystemFactory(name=name), **facts)
    entry.marks = {"tests": list(tests)}
    entry.save()
    note_change(version.pk)
    return entry


def address(*entries: Entry, more: str = "") -> str:
    names = [f"s{each.submission_id}" if each.submission_id else f"r-{each.reported_run.slug}" for each in entries]
    return f"/compare/small/?{'&'.join(f'row={name}' for name in names)}{more}"


def test_a_sentence_states_whether_two_systems_differ(client: Client, version: SuiteVersion) -> None:
    good = ours(version, "Good", [1.0] * TASKS)
    like = ours(version, "Like", [1.0] * 7 + [0.0] * 3)
    poor = ours(version, "Poor", [0.0] * TASKS)
    page = words(client.get(address(good, like)).content.decode())
    sentence = "3 of these 10 tasks are solved by Good only, none by Like only: a fair coin does as well."
    assert f"{sentence} p = 0.25" in page
    page = words(client.get(address(poor, good)).content.decode())
    assert (
        "10 of these 10 tasks are solved by Good only, none by Poor only: "
        "a fair coin rarely does as well, so Good is better. p = 0.002" in page
    )
    same = ours(version, "Same", [1.0] * TASKS)
    assert "Good and Same do equally well on these 10 tasks. p = 1.00" in words(
        client.get(address(good, same)).content.decode()
    )
    often = ours(version, "Often", [0.5] * 2 + [1.0] * 8, trials=2)
    assert "2 of these 10 tasks are solved more often by Good, none more often by Often: a fair coin" in words(
        client.get(address(often, good)).content.decode()
    )
    once = ours(version, "Once", [0.0] + [None] * 9)
    assert "1 of the 1 task that both have is solved by Good only, none by Once only" in words(
        client.get(address(once, good)).content.decode()
    )


def test_a_chart_has_the_difference_with_its_interval_and_zero(client: Client, version: SuiteVersion) -> None:
    good, like = ours(version, "Good", [1.0] * TASKS), ours(version, "Like", [1.0] * 5 + [0.0] * 5)
    page = client.get(address(good, like)).content.decode()
    pair = client.get(address(good, like, more="&format=json")).json()["pairs"][0]
    chart = page.partition('<svg class="difference"')[2].partition("</svg>")[0]
    assert re.findall(r'interval-tick" x1="([^"]*)"', chart) == ["200"]
    assert re.findall(r'cx="([^"]*)"', chart) == [f"{200 + 195 * pair['difference'] / pair['high']:.1f}"]
    assert re.findall(r'interval-range" x1="[^"]*" y1="13" x2="([^"]*)"', chart) == ["395.0"]
    shown = words(page)
    assert "← Like better Good better →" in shown
    assert "a difference this large or larger would appear in 6 of 100 such comparisons." in shown
    assert f"Difference +50.0 [ +{pair['low']:.1f}, +{pair['high']:.1f}] percentage points" in shown.replace(
        "[+", "[ +"
    )


def test_p_is_adjusted_for_the_pairs_shown(client: Client, version: SuiteVersion) -> None:
    rows = [
        ours(version, "A", [1.0] * TASKS),
        ours(version, "B", [0.0] * 6 + [1.0] * 4),
        ours(version, "C", [0.0] * TASKS),
    ]
    pairs = client.get(address(*rows, more="&format=json")).json()["pairs"]
    assert [(each["p"], each["p_holm"]) for each in pairs] == [
        (pytest.approx(2 / 2**6), pytest.approx(2 * 2 / 2**6)),
        (pytest.approx(2 / 2**10), pytest.approx(3 * 2 / 2**10)),
        (pytest.approx(2 / 2**4), pytest.approx(2 / 2**4)),
    ]
    assert [(each["first_only"], each["second_only"], each["tasks"], each["papers"]) for each in pairs] == [
        (6, 0, 10, 10),
        (10, 0, 10, 10),
        (4, 0, 10, 10),
    ]


def tasks_shown(page: str) -> list[str]:
    return re.findall(r'<th role="rowheader" scope="row"><a [^>]*>([^<]+)</a>', page.partition("compare-tasks")[2])


def test_tasks_that_differ_are_shown_first_and_all_on_request(client: Client, version: SuiteVersion) -> None:
    first = ours(version, "A", [1.0] * TASKS)
    second = ours(version, "B", [1.0] * 8 + [0.0, None])
    page = client.get(address(first, second)).content.decode()
    assert tasks_shown(page) == ["p8/1"]
    assert "1 that differ / all 10" in words(page)
    assert len(re.findall(r'<a class="m (?:(?!tabindex)[^>])*>', page)) == 2
    page = client.get(address(first, second, more="&tasks=all")).content.decode()
    assert tasks_shown(page) == ["p8/1", *(f"p{place}/1" for place in range(10) if place != 8)]
    alike = ours(version, "C", [1.0] * TASKS)
    assert "The unit tests differ on no task." in words(client.get(address(first, alike)).content.decode())
    files = client.get(address(first, second, more="&format=json")).json()
    assert len(files["rows"]) == 2 * TASKS


def test_an_answer_that_does_not_apply_is_named(client: Client, version: SuiteVersion) -> None:
    first, second = ours(version, "A", [1.0] * TASKS), ours(version, "B", [0.0] * TASKS)
    for slug, outcome in (("p0/1", "bad_patch"), ("p1/1", "wrong_output")):
        revision = version.revisions.get(task__slug=slug)
        measured_outcome(second, outcome, revision=revision)
    page = words(client.get(address(first, second)).content.decode())
    assert (page.count("answer does not apply"), page.count("failed")) == (1, 9)
    theirs = reported(version, slug="theirs")
    again = reported(version, system=SystemFactory(name="T"), slug="again", remeasures=theirs.reported_run)
    again.marks = {"tests": [0.0] * TASKS}
    again.save()
    task = version.revisions.get(task__slug="p3/1").task
    ReportedResultFactory(run=again.reported_run, task=task, tests_passed=None, outcome="bad_patch")
    page = words(client.get(address(first, again)).content.decode())
    assert (page.count("answer does not apply"), page.count("failed")) == (1, 9)


def test_a_reported_run_with_totals_only_cannot_be_compared(client: Client, version: SuiteVersion) -> None:
    first = ours(version, "A", [1.0] * TASKS)
    totals = reported(version, system=SystemFactory(name="T"), slug="no-agent-t.1")
    page = words(client.get(address(first, totals)).content.decode())
    assert "A and T cannot be compared: no task has a published result of both." in page
    assert ("that differ" in page, "p9/1" in page) == (False, True)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("", "Choose two to four systems."),
        ("?row=", "Choose two to four systems."),
        ("?row=s999999&row=r-none", "2 of the requested rows are not on this board"),
        ("?row=s0&row=%00&row=r-%27&row=s1e9", "4 of the requested rows are not on this board"),
    ],
)
def test_invalid_choices_are_reported(client: Client, version: SuiteVersion, query: str, message: str) -> None:
    response = client.get(f"/compare/small/{query}")
    assert response.status_code == 200
    assert message in words(response.content.decode())


def test_five_are_too_many_and_one_is_not_enough(client: Client, version: SuiteVersion) -> None:
    rows = [ours(version, f"S{number}", [1.0] * TASKS) for number in range(5)]
    page = words(client.get(address(*rows)).content.decode())
    assert "At most four systems are compared" in page
    assert "S3 and S4" not in page
    assert "Choose a second system." in words(client.get(address(rows[0])).content.decode())


def test_unpublished_rows_are_not_compared(client: Client, version: SuiteVersion) -> None:
    shown = ours(version, "Shown", [1.0] * TASKS)
    hidden = ours(version, "Secret Weapon", [0.0] * TASKS)
    Submission.objects.filter(entry=hidden).update(visibility=Visibility.HIDDEN)
    page = client.get(address(shown, hidden)).content.decode()
    assert ("Secret Weapon" in page, "1 of the requested rows is not on this board" in words(page)) == (False, True)


def test_the_table_can_be_downloaded(client: Client, version: SuiteVersion) -> None:
    rows = [ours(version, "=cmd", [1.0] * TASKS), ours(version, "B", [0.0] * TASKS)]
    lines = list(csv.DictReader(client.get(address(*rows, more="&format=csv")).content.decode().splitlines()))
    assert [(line["system"], line["tests"]) for line in (lines[0], lines[-1])] == [("'=cmd", "1.0"), ("B", "0.0")]
    assert len(lines) == 2 * TASKS


class TestTwoAnswers:
    def answered(self, version: SuiteVersion, name: str, source: str, **facts: Any) -> Entry:
        entry = ours(version, name, [1.0] * TASKS, **facts)
        revision = version.revisions.get(task__slug="p0/1")
        ImplementationFactory(submission=entry.submission, revision=revision, goal_source=source)
        Submission.objects.filter(entry=entry).update(code_licence="MIT")
        return entry

    def test_two_answers_are_shown_side_by_side_with_outcomes_and_labels(
        self, client: Client, version: SuiteVersion
    ) -> None:
        one = self.answered(version, "A", 'def f():\n    """Long\n    text."""\n    return 1\n')
        two = self.answered(version, "B", "def f():\n    return 2\n")
        one.marks |= {"judge": ["LC"] + [""] * 9, "human": ["LI"] + [""] * 9}
        one.save()
        TestRunFactory(implementation=one.submission.implementations.get(), done="passed")
        TestRunFactory(implementation=two.submission.implementations.get(), done="wrong_output")
        response = client.get(address(one, two).replace("/compare/small/", "/compare/small/p0/1/"))
        page = words(response.content.decode())
        assert "A passed judge LC annotators LI B wrong output judge – annotators –" in page
        left = [line.left.text for line in response.context["comparison"].rows if line.left]
        assert left == ["def f():", '    """…"""', "    return 1"]
        compared = client.get(address(one, two, more="&tasks=all")).content.decode()
        codes = f"/compare/small/p0/1/?row=s{one.submission_id}&amp;row=s{two.submission_id}"
        assert (f'hx-get="{codes}"' in compared, f'<a href="{codes}">' in compared) == (True, True)
        assert 'id="codes"' in response.content.decode()

    def test_an_answer_that_does_not_apply_gives_the_reason(self, client: Client, version: SuiteVersion) -> None:
        one = self.answered(version, "A", "def f():\n    return 1\n")
        two = self.answered(version, "B", "")
        answer = two.submission.implementations.get()
        answer.answer_error = {"message": "No such file: <a.py>", "file": "a.py", "line": None}
        answer.save()
        TestRunFactory(implementation=answer, done="bad_patch")
        path = address(one, two).replace("/compare/small/", "/compare/small/p0/1/")
        page = client.get(path).content.decode()
        assert "B answer does not apply judge – annotators – No such file: <a.py>" in words(page)
        assert "<a.py>" not in page

    def test_answers_are_shown_only_if_both_are_public(self, client: Client, version: SuiteVersion) -> None:
        one = self.answered(version, "A", "def f():\n    return 1\n")
        two = self.answered(version, "B", "def f():\n    return 'sentinel'\n")
        path = address(one, two).replace("/compare/small/", "/compare/small/p0/1/")
        assert client.get(path).status_code == 200
        for changes in ({"visibility": Visibility.PRIVATE}, {"code_licence": ""}):
            Submission.objects.filter(entry=two).update(visibility=Visibility.PUBLISHED, code_licence="MIT")
            Submission.objects.filter(entry=two).update(**changes)
            response = client.get(path)
            assert (response.status_code, b"sentinel" in response.content) == (404, False)


def test_a_compared_calibration_sample_stays_selected(client: Client, version: SuiteVersion) -> None:
    ranked, sample = (
        ours(version, "Ranked", [1.0] * TASKS),
        ours(version, "Sample", [0.0] * TASKS, kind=Kind.CALIBRATION),
    )
    page = client.get(address(ranked, sample)).content.decode()
    chosen = re.findall(r'<option value="([^"]+)" selected>', page)
    assert chosen == [f"s{ranked.submission_id}", f"s{sample.submission_id}"]
    assert f's{sample.submission_id}"' not in client.get(address(ranked)).content.decode()


def test_files_include_held_rows_without_numbers(client: Client, version: SuiteVersion) -> None:
    held, other = ours(version, "Held", [1.0] * TASKS), ours(version, "Other", [0.0] * TASKS)
    person = ready()
    answer = ImplementationFactory(submission=held.submission, revision=version.revisions.first())
    assigned(case_of(answer), person)
    client.force_login(person.user)  # type: ignore[arg-type]
    file = client.get(address(held, other, more="&format=json")).json()
    columns = ("system", "tests", "judge", "annotators", "hidden_while_you_label")
    assert [tuple(row[name] for name in columns) for row in file["rows"]] == [
        *[("Held", None, None, None, True)] * TASKS,
        *[("Other", 0.0, "", "", False)] * TASKS,
    ]
    (pair,) = file["pairs"]
    assert pair.pop("words") == "Held and Other cannot be compared while you label an answer of one of them."
    assert (pair.pop("first"), pair.pop("second")) == (f"s{held.submission_id}", f"s{other.submission_id}")
    assert len(pair) == 9
    assert set(pair.values()) == {None}
    lines = list(csv.DictReader(client.get(address(held, other, more="&format=csv")).content.decode().splitlines()))
    assert [(line["system"], line["hidden_while_you_label"]) for line in lines[TASKS - 1 : TASKS + 1]] == [
        ("Held", "True"),
        ("Other", "False"),
    ]
