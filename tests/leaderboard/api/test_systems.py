"""Systems through the API: their numbers and neighbours, and from whom these are hidden."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from leaderboard.board.entries import recompute_submission
from submissions.domain import organisations
from submissions.models import OrganisationGrant, Submission
from tests.benchmark_tasks.factories import CategoryFactory, SuiteFactory, SuiteVersionFactory
from tests.leaderboard.api.program import Program
from tests.leaderboard.factories import measured
from tests.leaderboard.showing import scored
from tests.reviews.factories import assigned, case_of, ready
from tests.submissions.factories import SystemFactory, UserFactory
from tests.submissions.organisations import registered

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


def test_a_system_says_how_and_when_its_organisation_was_confirmed(maintainer: User) -> None:
    version = SuiteVersionFactory(suite=SuiteFactory(slug="small"), tasks=1)
    system = SystemFactory(slug="solver", organisation="Example Lab")
    measured(version, system=system)

    def shown() -> list[tuple[object, ...]]:
        one, (listed,) = Program().get("/systems/solver"), Program().get("/systems")["items"]
        (row,) = Program().get("/suites/small/board")["items"]
        own = [(each["organisation_confirmed"], each["organisation_confirmed_on"]) for each in (one, listed)]
        return [*own, (one["runs"][0]["organisation_confirmed"], row["organisation_confirmed"])]

    assert shown() == [(None, None)] * 3
    registered("Example Lab", by=maintainer)
    organisations.confirm(system=system, actor=maintainer, reason="Known.")
    OrganisationGrant.objects.update(created="2026-03-04T23:30:00-01:00")
    assert shown() == [("hand", "2026-03-05"), ("hand", "2026-03-05"), ("hand", "hand")]
