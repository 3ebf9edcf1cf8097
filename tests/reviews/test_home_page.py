"""/reviews/ for visitors, newcomers and annotators, and the page of an invitation."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from reviews.annotators.invitations import accept, invite
from reviews.cases.states import note
from reviews.enums import AssignmentState, CaseKind, CaseState, Role, TriggerKind
from reviews.models import Assignment, Conflict, Reviewer, Trigger
from tests.leaderboard.showing import text_of
from tests.reviews.factories import (
    ReviewerFactory,
    answers,
    assigned,
    case_of,
    closed_case,
    decided,
    guideline,
    ready,
    reviewed,
)
from tests.submissions.factories import SystemFactory, UserFactory

if TYPE_CHECKING:
    from django.test import Client

    from submissions.models import User

pytestmark = pytest.mark.django_db
HOME, PROFILE = "/reviews/", "/reviews/profile/"


def home(client: Client, reviewer: Reviewer | None = None) -> Any:
    if reviewer is not None:
        assert reviewer.user is not None
        client.force_login(reviewer.user)
    return client.get(HOME)


def page(client: Client, reviewer: Reviewer | None = None) -> str:
    text: str = home(client, reviewer).content.decode()
    return text


class TestStrangers:
    def test_visitors_see_how_to_join_and_no_queue(self, client: Client, maintainer: User) -> None:
        case_of(answers(system=SystemFactory(name="Marker System"))[0])
        text = page(client)
        assert ("Become an annotator" in text, f'href="/accounts/login/?next={HOME}"' in text) == (True, True)
        client.force_login(UserFactory())
        hidden = ("Marker System", 'class="tiles"', reverse("review_claim"), "Not counted", reverse("review_people"))
        assert [word for word in hidden if word in text + page(client)] == []
        client.force_login(maintainer)
        linked = page(client)
        assert [reverse(name) in linked for name in ("review_people", "review_dashboard")] == [True, True]

    def test_deactivated_reviewers_see_a_message(self, client: Client) -> None:
        text = page(client, ReviewerFactory(active=False))
        assert ("has ended your work as an annotator" in text, "Not counted" in text) == (True, False)


class TestReviewers:
    def test_a_newcomer_sees_the_steps_and_no_next_item(self, client: Client) -> None:
        guideline()
        text = page(client, ReviewerFactory(affiliation=""))
        assert text.index("Complete your profile") < text.index("Read the guidelines.")
        assert ("Next item" in text, "Before your first item" in text, "Practise" in text) == (False, True, False)
        case_of(kind=CaseKind.PRACTICE, known_label="CC", explanation="Because.")
        text = page(client, ready())
        assert ("Practise</button>" in text, "Next item to label" in text) == (True, False)

    @pytest.mark.parametrize("roles", [["annotator"], ["adjudicator"], ["annotator", "adjudicator"]])
    def test_the_page_offers_the_next_item(self, client: Client, roles: list[str]) -> None:
        text = page(client, ready(annotator="annotator" in roles, adjudicator="adjudicator" in roles))
        assert [role for role in Role if f'name="role" value="{role}"' in text] == roles
        assert text.count(f'action="{reverse("review_claim")}"') == len(roles)

    def test_a_held_item_can_be_continued(self, client: Client) -> None:
        reviewer = ready(adjudicator=True)
        held = assigned(case_of(state=CaseState.LEASED), reviewer, lease_until=timezone.now() + timedelta(minutes=20))
        text = page(client, reviewer)
        assert (reverse("label", args=[held.pk]) in text, "Next item" in text) == (True, False)
        assert "yours for 20\xa0minutes more" in text or "yours for 19\xa0minutes more" in text
        Assignment.objects.update(lease_until=timezone.now() - timedelta(minutes=1))
        assert "Your time with it ran out" in text_of(home(client))
        Assignment.objects.update(state=AssignmentState.EVIDENCE, lease_until=timezone.now() + timedelta(minutes=2))
        text = page(client)
        assert (reverse("adjudicate", args=[held.pk]) in text, "an item to decide on" in text) == (True, True)
        assert "Your current item" not in page(client, ready())

    def test_counts_reveal_neither_answers_nor_triggers(self, client: Client) -> None:
        """A count of audits that falls by one when one is claimed would reveal its trigger."""
        annotator = ready()
        case = case_of(answers(system=SystemFactory(name="Marker System", organisation="Marker Lab"))[0])
        Trigger.objects.create(case=case, kind=TriggerKind.AUDIT, inclusion_probability=0.1)
        case_of(answers(owner=annotator.user)[0])
        Trigger.objects.create(case=case_of(state=CaseState.DISPUTED), kind=TriggerKind.APPEAL)
        response = home(client, annotator)
        counts = response.context["counts"]
        assert (counts.unclaimed, counts.disputes, counts.mine) == (1, 0, 0)
        text = response.content.decode()
        assert [word for word in ("Marker", "Disputes", "Audits", "Appeals") if word in text] == []
        text = text_of(home(client, ready(annotator=False, adjudicator=True)))
        assert ("Disputes1to adjudicate" in text, "Waiting" in text) == (True, False)
        assert [word for word in ("Marker", "Audits", "Appeals") if word in text] == []

    def test_the_reviewers_numbers_of_today(self, client: Client, annotator: Reviewer) -> None:
        reviewed(case_of(), annotator, "CC", active_seconds=100)
        reviewed(case_of(), annotator, "LI", active_seconds=80)
        reviewed(case_of(), annotator, "LI", active_seconds=900, locked=timezone.now() - timedelta(days=2))
        reviewed(case_of(kind=CaseKind.PRACTICE), annotator, "LC", active_seconds=60)
        reviewed(case_of(), ready(), "CC", active_seconds=100)
        assert home(client, annotator).context["today"] == {"labels": 2, "minutes": 3}


@pytest.mark.parametrize("address", [HOME, "/reviews/dashboard/", "/reviews/people/", "/reviews/people/{}/", PROFILE])
def test_queries_grow_on_no_page_of_reviewing(as_maintainer: Client, maintainer: User, address: str) -> None:
    person, counts = ready(user=maintainer, adjudicator=True, affiliation="Alpha Lab"), []
    for _ in range(3):
        for _ in range(2):
            case_of(state=CaseState.DISPUTED)
            case = closed_case(answers()[0], 1, state=CaseState.FINAL, label="CC", source="decision")
            note(case, before="", after="agreed", reviewer=ReviewerFactory())
            reviewed(case, person, "CC")
            decided(case, ReviewerFactory(adjudicator=True), "CC")
            Conflict.objects.create(reviewer=person, system=answers()[0].submission.system)
            accept(user=UserFactory(), secret=invite(actor=maintainer, annotator=True, adjudicator=False)[1])
        with CaptureQueriesContext(connection) as queries:
            assert as_maintainer.get(address.format(person.pk)).status_code == 200
        counts.append(len(queries))
    assert counts[1] == counts[2]
