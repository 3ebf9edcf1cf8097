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
from tests.leaderboard.factories import measured, reported
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
    assert "Good and Like do not differ significantly on these 10 tasks: 3 against 0 discordant, p = 0.25." in page
    assert "+30.0 [ +0.0" not in page
    page = words(client.get(address(poor, good)).content.decode())
    assert "Good passes more of these 10 tasks than Poor: 0 against 10 discordant, p = 0.002." in page


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


def test_discordant_tasks_come_first(client: Client, version: SuiteVersion) -> None:
    first = ours(version, "A", [1.0] * TASKS)
    second = ours(version, "B", [1.0] * 8 + [0.0, None])
    page = words(client.get(address(first, second)).content.decode())
    assert "1 discordant task first" in page
    assert page.index("p8/1") < page.index("p0/1")


def test_a_reported_run_with_totals_only_cannot_be_compared(client: Client, version: SuiteVersion) -> None:
    first = ours(version, "A", [1.0] * TASKS)
    totals = reported(version, system=SystemFactory(name="T"), slug="no-agent-t.1")
    page = words(client.get(address(first, totals)).content.decode())
    assert "A and T cannot be compared: no task has a published result of both." in page


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("", "Choose two to four systems."),
        ("?row=", "Choose two to four systems."),
        ("?row=s999999&row=r-none", "2 of the rows asked for are not on this board"),
        ("?row=s0&row=%00&row=r-%27&row=s1e9", "4 of the rows asked for are not on this board"),
    ],
)
def test_invalid_choices_are_reported(client: Client, version: SuiteVersion, query: str, message: str) -> None:
    response = client.get(f"/compare/small/{query}")
    assert response.status_code == 200
    assert message in words(response.content.decode())


def test_five_are_too_many_and_one_is_not_enough(client: Client, version: SuiteVersion) -> None:
    rows = [ours(version, f"S{number}", [1.0] * TASKS) for number in range(5)]
    page = words(client.get(address(*rows)).content.decode())
    assert "Four systems are compared at most" in page
    assert "S3 and S4" not in page
    assert "Choose a second system." in words(client.get(address(rows[0])).content.decode())


def test_unpublished_rows_are_not_compared(client: Client, version: SuiteVersion) -> None:
    shown = ours(version, "Shown", [1.0] * TASKS)
    hidden = ours(version, "Secret Weapon", [0.0] * TASKS)
    Submission.objects.filter(entry=hidden).update(visibility=Visibility.HIDDEN)
    page = client.get(address(shown, hidden)).content.decode()
    assert ("Secret Weapon" in page, "1 of the rows asked for is not on this board" in words(page)) == (False, True)


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

    def test_two_answers_are_shown_side_by_side(self, client: Client, version: SuiteVersion) -> None:
        one = self.answered(version, "A", "def f():\n    return 1\n")
        two = self.answered(version, "B", "def f():\n    return 2\n")
        page = client.get(address(one, two).replace("/compare/small/", "/compare/small/p0/1/")).content.decode()
        assert ("return</span>" in page, "Left" in page, "Right" in page) == (True, True, True)

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
