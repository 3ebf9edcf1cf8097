"""Systems through the API: their numbers and neighbours, and from whom these are hidden."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from leaderboard.board.entries import recompute_submission
from submissions.models import Submission
from tests.benchmark_tasks.factories import CategoryFactory, SuiteFactory, SuiteVersionFactory
from tests.leaderboard.api.program import Program
from tests.leaderboard.factories import measured
from tests.leaderboard.showing import scored
from tests.reviews.factories import assigned, case_of, ready
from tests.submissions.factories import SystemFactory, UserFactory

if TYPE_CHECKING:
    from submissions.models import User

pytestmark = pytest.mark.django_db


@pytest.fixture
def submission() -> Submission:
    """A published submission that passes one of the two tasks of a category."""
    made = scored(UserFactory(), "wrong_output", "passed", published=True)
    made.suite_version.revisions.update(category=CategoryFactory())
    recompute_submission(made.pk)
    return made


def test_numbers_of_categories_are_hidden_from_annotators_of_the_system(submission: Submission, bob: User) -> None:
    address = f"/systems/{submission.system.slug}"
    answer = submission.implementations.order_by("revision_id").first()
    assert answer is not None
    assigned(case_of(answer), ready(user=bob))
    (open_run,) = Program().get(address)["runs"]
    assert [(each["category"], each["tests"]["passed"]) for each in open_run["categories"]] == [
        ("feature-learning-representation", 1.0)
    ]
    (run,) = Program(bob).get(address)["runs"]
    # Numbers of a category with few tasks reveal results of single answers.
    assert run["categories"] == []
    assert run["key"] == open_run["key"]


def test_a_system_has_its_neighbours_on_each_board() -> None:
    version = SuiteVersionFactory(suite=SuiteFactory(slug="small"), tasks=1)
    own, above = SystemFactory(slug="solver"), SystemFactory(slug="better")
    best = measured(version, system=own, metric={"tests_passed": 11})
    beside = measured(version, system=above, metric={"tests_passed": 12})
    measured(version, system=SystemFactory(name="Secret"), published=False, metric={"tests_passed": 11})
    (neighbour,) = Program().get("/systems/solver")["neighbours"]
    assert (neighbour["row"].pop("system_slug"), neighbour.pop("row")["tests"]["passed"]) == ("better", 12)
    query = f"row=s{best.submission_id}&row=s{beside.submission_id}"
    assert neighbour == {
        "suite": "small",
        "suite_version": version.number,
        "place": "next above",
        "compare": f"/compare/small/?version={version.number}&{query}",
    }
