"""Judges and rater agreement, for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from submissions.models import Submission
from tests.benchmark_tasks.factories import SuiteFactory, SuiteVersionFactory
from tests.leaderboard.api.asking import Program
from tests.leaderboard.factories import measured, measured_outcome
from tests.leaderboard.judging import JudgeFactory, judged, show, vote
from tests.reviews.factories import assigned, case_of, ready
from tests.submissions.factories import SystemFactory

if TYPE_CHECKING:
    from benchmark_tasks.models import SuiteVersion
    from evaluator.models import JudgeConfig
    from submissions.models import Implementation, User

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


def test_one_judge_counts_published_answers_alone(
    version: SuiteVersion, judges: tuple[JudgeConfig, JudgeConfig]
) -> None:
    rated(version, judges, "CC", "LI", system=SystemFactory(slug="kin", organisation="Careful"))
    private = rated(version, judges, "LI", "LI", system=SystemFactory(slug="secret", organisation="Careful"))
    Submission.objects.filter(pk=private.submission_id).update(visibility="hidden")
    told = Program().get("/judges/one")
    assert told["labels"] == {"CC": 1, "LC": 0, "LI": 0, "abstained": 0}
    assert (told["judged"], told["splits"], told["related"]) == (1, {"1 CC": 1}, ["kin"])
    assert (told["digest"], told["health"]) == (judges[0].digest, [])
    assert "base_url" not in told
    assert Program().problem("GET", "/judges/none")["status"] == 404


def test_the_list_asks_the_same_queries_for_many(version: SuiteVersion) -> None:
    asked = []
    for _ in range(2):
        for _ in range(3):
            show(SuiteFactory(position=1), JudgeFactory())
        with CaptureQueriesContext(connection) as queries:
            Program().get("/judges")
        asked.append(len(queries))
    assert asked[0] == asked[1]


def test_agreement(version: SuiteVersion, judges: tuple[JudgeConfig, JudgeConfig]) -> None:
    for label in ("CC", "LI") * 6:
        rated(version, judges, "CC", label)
    private = rated(version, judges, "LI", "LI")
    Submission.objects.filter(pk=private.submission_id).update(visibility="withdrawn")
    told = Program().get("/suites/small/agreement?first=judge:one&second=judge:other")
    (pair,) = told["pairs"]
    assert (pair["first_name"], pair["second_name"], pair["n"], pair["conflicts"]) == ("One", "Other", 12, 6)
    assert (pair["labels"], pair["matrix"]) == (["CC", "LC", "LI"], [[6, 0, 6], [0, 0, 0], [0, 0, 0]])
    assert pair["agreement"]["value"] == 0.5
    assert pair["kappa"]["value"] == 0
    assert told["page"] == "/agreement/small/"
    for wrong in ("first=none", "system=none", "category=none", "first=judge:one&second=judge:one"):
        assert Program().problem("GET", f"/suites/small/agreement?{wrong}")["status"] == 404


def test_tables_of_few_answers_are_hidden_from_who_labels_one(
    version: SuiteVersion, judges: tuple[JudgeConfig, JudgeConfig], bob: User
) -> None:
    assigned(case_of(rated(version, judges, "CC", "LI")), ready(user=bob))
    assert Program().get("/suites/small/agreement")["pairs"]
    assert Program(bob).get("/suites/small/agreement")["pairs"] == []
