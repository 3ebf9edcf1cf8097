"""What has to be done before the first item, and again when the guidelines have changed."""

from __future__ import annotations

import pytest

from reviews.enums import AssignmentState, CaseKind, Role
from reviews.models import Reviewer
from reviews.people import guidelines
from reviews.people.readiness import MissingStepError, require_ready, what_is_missing
from tests.reviews.factories import ReviewerFactory, case_of, guideline, ready, reviewed

pytestmark = pytest.mark.django_db


def test_a_newcomer_is_asked_for_three_steps_in_order_until_each_is_done() -> None:
    case = case_of(kind=CaseKind.PRACTICE, known_label="CC", explanation="Because.")
    reviewer: Reviewer = ReviewerFactory(affiliation="")
    steps = what_is_missing(reviewer)
    assert [(step.name, step.address) for step in steps] == [
        *(("profile", "/reviews/profile/"), ("guidelines", "/reviews/guidelines/"), ("practice", "/reviews/")),
    ]
    assert steps[2].sentence == "Label 1 practice item with known answers."
    asked = []
    for number in range(3):
        with pytest.raises(MissingStepError) as caught:
            require_ready(reviewer, Role.ANNOTATOR)
        asked.append(caught.value.address)
        if number == 0:
            reviewer.affiliation = "none"
            reviewer.save()
        elif number == 1:
            guidelines.acknowledge(reviewer)
            held = reviewer.assignments.create(case=case, state=AssignmentState.ACTIVE)
        else:
            held.delete()
            reviewed(case, reviewer, "CC")
    require_ready(reviewer, Role.ANNOTATOR)
    assert (asked, what_is_missing(reviewer)) == ([step.address for step in steps], [])


def test_changed_guidelines_ask_for_their_difference() -> None:
    reviewer = ready()
    guideline(2)
    guideline(3)
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
