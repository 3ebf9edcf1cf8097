"""Judges through the API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from leaderboard.models import EntryMetric
from submissions.models import Implementation, Submission
from tests.benchmark_tasks.factories import SuiteFactory, SuiteVersionFactory
from tests.leaderboard.api.program import Program
from tests.leaderboard.factories import measured, measured_outcome
from tests.leaderboard.judging import JudgeFactory, judged, show, vote
from tests.reviews.factories import assigned, case_of, ready
from tests.submissions.factories import SystemFactory

if TYPE_CHECKING:
    from benchmark_tasks.models import SuiteVersion
    from evaluator.models import JudgeConfig
    from submissions.models import User

pytestmark = pytest.mark.django_db


@pytest.fixture
def version() -> SuiteVersion:
    made: SuiteVersion = SuiteVersionFactory(suite=SuiteFactory(slug="small", position=1), tasks=1)
    return made


@pytest.fixture
def judges(version: SuiteVersion) -> tuple[JudgeConfig, JudgeConfig]:
    one: JudgeConfig = JudgeFactory(slug="one", name="One")
    show(version.suite, one)
    return one, JudgeFactory(slug="other", name="Other")


def rated(version: SuiteVersion, judges: tuple[JudgeConfig, ...], *labels: str, **submission: Any) -> Implementation:
    answer = measured_outcome(measured(version, **submission), "passed").implementation
    for judge, label in zip(judges, labels, strict=True):
        vote(judged(answer, judge, label), 1, label)
    return answer


def test_the_list(version: SuiteVersion, judges: tuple[JudgeConfig, JudgeConfig]) -> None:
    rated(version, judges, "CC", "LI")
    private = rated(version, judges, "CC", "LI")
    Submission.objects.filter(pk=private.submission_id).update(visibility="private")
    listed = {each["slug"]: each for each in Program().get("/judges")["items"]}
    assert listed["one"] == {
        "slug": "one",
        "name": "One",
        "model": "careful-2026-05",
        "vendor": "Careful",
        "active": True,
        "votes": 3,
        "votes_when_split": 5,
        "prompt_version": judges[0].prompt_version,
        "suites": ["small"],
        "judged": 1,
        "dollars": None,
        "page": "/judges/one/",
        "health": None,
    }
    assert listed["other"]["suites"] == []


def test_a_judge_counts_published_answers_only(version: SuiteVersion, judges: tuple[JudgeConfig, JudgeConfig]) -> None:
    rated(version, judges, "CC", "LI", system=SystemFactory(slug="kin", organisation="Careful"))
    private = rated(version, judges, "LI", "LI", system=SystemFactory(slug="secret", organisation="Careful"))
    Submission.objects.filter(pk=private.submission_id).update(visibility="hidden")
    judge = Program().get("/judges/one")
    assert judge["labels"] == {"CC": 1, "LC": 0, "LI": 0, "abstained": 0}
    assert (judge["judged"], judge["splits"], judge["related"]) == (1, {"1 CC": 1}, ["kin"])
    assert (judge["digest"], judge["health"]) == (judges[0].digest, [])
    assert "base_url" not in judge
    assert Program().problem("GET", "/judges/none")["status"] == 404


def test_the_list_needs_the_same_queries_for_any_number_of_judges(version: SuiteVersion) -> None:
    counts = []
    for _ in range(2):
        for _ in range(3):
            show(SuiteFactory(position=1), JudgeFactory())
        with CaptureQueriesContext(connection) as queries:
            Program().get("/judges")
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_what_would_change_if_the_board_showed_another_judge(
    version: SuiteVersion, judges: tuple[JudgeConfig, JudgeConfig]
) -> None:
    same = rated(version, judges, "LC", "LC", system=SystemFactory(slug="same", name="Same"))
    moves = rated(version, judges, "CC", "LI", system=SystemFactory(slug="moves", name="Moves"))
    # The other judge has not labelled this answer.
    rated(version, judges[:1], "LI", system=SystemFactory(slug="waits", name="Waits"))
    for visibility in ("private", "hidden", "withdrawn"):
        secret = rated(version, judges, "CC", "LI", system=SystemFactory(name="Secret"))
        Submission.objects.filter(pk=secret.submission_id).update(visibility=visibility)
    Implementation.objects.update(files={"core.py": "x = 1\n"})
    EntryMetric.objects.update(tasks=1)
    response = Program().send("GET", "/judges/other/differences?suite=small")
    differences = response.json()
    assert "Secret" not in str(differences)
    about = ("judge", "shown", "suite", "suite_version", "answers", "both", "waiting", "page")
    assert [differences[name] for name in about] == [
        *("other", "one", "small", version.number, 3, 2, 1, "/judges/other/differences/?suite=small"),
    ]
    assert differences["labels"] == ["CC", "LC", "LI", "abstained"]
    assert differences["matrix"] == [[0, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
    assert differences["moved"] == [
        {
            "task": moves.revision.task.slug,
            "submission": moves.submission_id,
            "trial": 1,
            "system": "Moves",
            "before": "CC",
            "after": "LI",
            "page": moves.get_absolute_url(),
        }
    ]
    shown = ("system_slug", "submission", "before", "after", "place_before", "place_after")
    assert [tuple(each[name] for name in shown) for each in differences["places"]][:2] == [
        ("moves", moves.submission_id, 1, 0, 1, 1),
        ("same", same.submission_id, 0, 0, 2, 1),
    ]
    again = Program().send(
        "GET", "/judges/other/differences?suite=small", headers={"If-None-Match": response.headers["ETag"]}
    )
    assert again.status_code == 304
    for wrong in ("none/differences", "other/differences?suite=none", "other/differences?suite=small&version=9"):
        assert Program().problem("GET", f"/judges/{wrong}")["status"] == 404


def test_differences_are_hidden_from_annotators_of_their_answers(
    version: SuiteVersion, judges: tuple[JudgeConfig, JudgeConfig], bob: User
) -> None:
    held = rated(version, judges, "CC", "LI")
    assert Program(bob).get("/judges/other/differences?suite=small")["suite"] == "small"
    assigned(case_of(held), ready(user=bob))
    problem = Program(bob).problem("GET", "/judges/other/differences?suite=small")
    assert problem["type"] == "/docs/api/#blind"


def test_differences_need_the_same_queries_for_any_number_of_answers(
    version: SuiteVersion, judges: tuple[JudgeConfig, JudgeConfig]
) -> None:
    counts = []
    for number in range(2):
        for _ in range(3):
            rated(version, judges, "CC", "LI")
        Implementation.objects.update(files={"core.py": "x = 1\n"})
        with CaptureQueriesContext(connection) as queries:
            differences = Program().get("/judges/other/differences?suite=small")
        assert len(differences["moved"]) == 3 * (number + 1)
        counts.append(len(queries))
    assert counts[0] == counts[1]
