"""What has to be done before the first item, and again when the guidelines have changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from reviews.enums import AssignmentState, CaseKind, Role
from reviews.models import Reviewer
from reviews.people import guidelines
from reviews.people.readiness import MissingStepError, require_ready, what_is_missing
from tests.reviews.factories import ReviewerFactory, case_of, ready, reviewed
from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from reviews.models import Case

pytestmark = pytest.mark.django_db


def practice_case() -> Case:
    return case_of(kind=CaseKind.PRACTICE, known_label="CC", explanation="Because.")


def test_a_newcomer_has_three_steps_in_order() -> None:
    practice_case()
    reviewer = ReviewerFactory(affiliation="")
    assert [(step.name, step.sentence, step.address) for step in what_is_missing(reviewer)] == [
        (
            "profile",
            "Complete your profile: where you work, and whose answers you must not label.",
            "/reviews/profile/",
        ),
        ("guidelines", "Read the guidelines.", "/reviews/guidelines/"),
        ("practice", "Label 1 practice item with known answers.", "/reviews/"),
    ]


def test_each_step_is_asked_for_until_it_is_done() -> None:
    case = practice_case()
    reviewer: Reviewer = ReviewerFactory(affiliation="")
    asked = []
    for _ in range(3):
        with pytest.raises(MissingStepError) as caught:
            require_ready(reviewer, Role.ANNOTATOR)
        asked.append(caught.value.address)
        if len(asked) == 1:
            reviewer.affiliation = "none"
            reviewer.save()
        elif len(asked) == 2:
            guidelines.acknowledge(reviewer)
        else:
            reviewed(case, reviewer, "CC")
    require_ready(reviewer, Role.ANNOTATOR)
    assert (asked, what_is_missing(reviewer)) == (["/reviews/profile/", "/reviews/guidelines/", "/reviews/"], [])


def test_a_practice_item_at_hand_is_not_done() -> None:
    case, reviewer = practice_case(), ready()
    reviewer.assignments.create(case=case, state=AssignmentState.ACTIVE)
    assert [step.name for step in what_is_missing(reviewer)] == ["practice"]


def test_changed_guidelines_ask_for_their_difference() -> None:
    guidelines.current()
    reviewer = ready()
    carol = UserFactory(is_staff=True)
    guidelines.publish(actor=carol, text="Second.", changes="All.")
    guidelines.publish(actor=carol, text="Third.", changes="All.")
    with pytest.raises(MissingStepError, match="what is new in revision 3") as caught:
        require_ready(reviewer, Role.ANNOTATOR)
    assert caught.value.address == "/reviews/guidelines/3/?since=1"


@pytest.mark.parametrize(
    ("facts", "said"),
    [({}, "You are not an adjudicator"), ({"adjudicator": True, "active": False}, "not an active adjudicator")],
)
def test_a_role_that_one_does_not_have(facts: dict[str, bool], said: str) -> None:
    with pytest.raises(MissingStepError, match=said) as caught:
        require_ready(ready(**facts), Role.ADJUDICATOR)
    assert caught.value.address == "/reviews/"
