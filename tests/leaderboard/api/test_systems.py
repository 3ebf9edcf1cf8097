"""Systems, for programs: what of them is told to whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from leaderboard.board.entries import recompute_submission
from submissions.models import Submission
from tests.benchmark_tasks.factories import CategoryFactory
from tests.leaderboard.api.asking import Program
from tests.leaderboard.showing import scored
from tests.reviews.factories import assigned, case_of, ready
from tests.submissions.factories import UserFactory

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


def test_numbers_of_categories_are_hidden_from_whoever_labels_an_answer_of_it(
    submission: Submission, bob: User
) -> None:
    address = f"/systems/{submission.system.slug}"
    answer = submission.implementations.order_by("revision_id").first()
    assert answer is not None
    assigned(case_of(answer), ready(user=bob))
    (open_run,) = Program().get(address)["runs"]
    assert [(each["category"], each["tests"]["passed"]) for each in open_run["categories"]] == [
        ("feature-learning-representation", 1.0)
    ]
    (run,) = Program(bob).get(address)["runs"]
    # In a category of a few tasks the numbers say what single answers did.
    assert run["categories"] == []
    assert run["key"] == open_run["key"]
