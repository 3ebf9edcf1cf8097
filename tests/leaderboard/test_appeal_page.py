"""Human review on the page of an answer: the final label, an open review, flags, and appeals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from reviews.enums import CaseState, FinalSource, Severity, TriggerKind
from reviews.models import Case, Trigger
from submissions.models import Implementation
from tests.evaluator.factories import TestRunFactory
from tests.leaderboard.judging import JudgeFactory, judged, show
from tests.leaderboard.showing import address_of, text_of
from tests.reviews.factories import ReviewerFactory, answers, case_of, decided, ready, reviewed
from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from django.test import Client

    from submissions.models import User

pytestmark = pytest.mark.django_db

EVIDENCE = "Equation 3 takes the mean over tokens; the test takes it over sequences."


@pytest.fixture
def answer(alice: User) -> Implementation:
    """Published, measured, and judged CC."""
    (made,) = answers(owner=alice)
    judge = JudgeFactory()
    show(made.submission.suite_version.suite, judge)
    judged(made, judge, "CC")
    TestRunFactory(implementation=made, done="wrong_output")
    return made


def page(client: Client, answer: Implementation, user: User | None = None) -> Any:
    if user is not None:
        client.force_login(user)
    return client.get(answer.get_absolute_url())


class TestReview:
    def test_an_open_review_tells_nothing_but_that_it_is_open(self, client: Client, answer: Implementation) -> None:
        case = case_of(answer, state=CaseState.ONE_LABEL)
        reviewed(case, ReviewerFactory(pseudonym="Marked Moth"), "LI", note="A marked note.")
        for user in (None, UserFactory(is_staff=True), answer.submission.owner):
            response = page(client, answer, user)
            text = text_of(response)
            assert "in review" in text
            for hidden in (
                "final label",
                "Final label",
                "Marked Moth",
                "A marked note.",
                f'href="{case.get_absolute_url()}"',
            ):
                assert hidden not in response.content.decode()

    def test_while_an_appeal_is_heard_the_old_label_stays_and_no_new_one_is_told(
        self, client: Client, answer: Implementation
    ) -> None:
        old = case_of(answer, state=CaseState.REOPENED, label="LI", source=FinalSource.DECISION)
        decided(old, ReviewerFactory(adjudicator=True), "LI")
        new = case_of(answer, state=CaseState.ONE_LABEL, round=2)
        reviewed(new, ReviewerFactory(), "CC")
        text = text_of(page(client, answer))
        assert "LI final label (adjudicator&#x27;s decision), until the review that is under way ends" in text
        assert "CC final label" not in text


class TestAppeal:
    def test_the_owner_appeals_and_the_answer_is_in_review(
        self, client: Client, answer: Implementation, alice: User
    ) -> None:
        client.force_login(alice)
        response: Any = client.post(address_of(answer, "appeal"), {"evidence": EVIDENCE}, follow=True)
        assert response.redirect_chain == [(f"{answer.get_absolute_url()}#review", 302)]
        assert "Your appeal is in" in text_of(response)
        assert "in review" in text_of(response)
        trigger = Trigger.objects.get()
        assert (trigger.kind, trigger.detail, trigger.raised_by) == (TriggerKind.APPEAL, EVIDENCE, alice)
        assert Case.objects.get().severity == Severity.APPEAL

    def test_nobody_else_is_offered_it(self, client: Client, answer: Implementation) -> None:
        for user in (None, UserFactory(), ready(adjudicator=True).user):
            assert 'id="appeal"' not in page(client, answer, user).content.decode()

    def test_what_is_wrong_stands_beside_what_was_typed(
        self, client: Client, answer: Implementation, alice: User
    ) -> None:
        client.force_login(alice)
        response: Any = client.post(address_of(answer, "appeal"), {"evidence": "Too short."})
        assert (response.status_code, "at least 30 characters" in text_of(response)) == (422, True)
        assert ">\nToo short.</textarea>" in response.content.decode()
        assert not Trigger.objects.exists()
