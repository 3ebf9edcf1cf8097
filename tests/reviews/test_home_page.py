"""/reviews/ for strangers, newcomers and reviewers at work, and the page of an invitation."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from reviews.enums import AssignmentState, CaseKind, CaseState, Role, TriggerKind
from reviews.models import Assignment, Invitation, Reviewer, Trigger
from reviews.people.reviewers import invite
from tests.leaderboard.showing import text_of
from tests.reviews.factories import ReviewerFactory, answers, assigned, case_of, guideline, ready, reviewed
from tests.submissions.factories import PASSWORD, SystemFactory, UserFactory

if TYPE_CHECKING:
    from django.test import Client

    from submissions.models import User

pytestmark = pytest.mark.django_db
HOME = "/reviews/"


def home(client: Client, reviewer: Reviewer | None = None) -> Any:
    if reviewer is not None:
        assert reviewer.user is not None
        client.force_login(reviewer.user)
    return client.get(HOME)


class TestStrangers:
    def test_they_read_what_it_is_and_how_to_join(self, client: Client) -> None:
        text = text_of(home(client))
        assert ("Become a reviewer" in text, "What waits" in text) == (True, False)
        assert f'href="/accounts/login/?next={HOME}"' in home(client).content.decode()

    def test_nothing_of_the_queue_is_told(self, client: Client) -> None:
        case_of(answers(system=SystemFactory(name="Marker System"))[0])
        client.force_login(UserFactory())
        page = home(client).content.decode()
        assert ("Marker System" in page, "Unclaimed" in page, "review_claim" in page) == (False, False, False)

    def test_maintainers_are_told_where_to_invite(self, client: Client) -> None:
        client.force_login(UserFactory(is_staff=True))
        assert reverse("review_people") in home(client).content.decode()

    def test_who_was_ended_is_told_so(self, client: Client) -> None:
        text = text_of(home(client, ReviewerFactory(active=False)))
        assert ("has ended your work as a reviewer" in text, "What waits" in text) == (True, False)


class TestReviewers:
    def test_a_newcomer_sees_the_steps_and_no_next_item(self, client: Client) -> None:
        guideline()
        page = home(client, ReviewerFactory(affiliation="")).content.decode()
        steps = page.index("Complete your profile"), page.index("Read the guidelines.")
        assert steps == tuple(sorted(steps))
        assert ("Next item" in page, "Before your first item" in page, "Practise" in page) == (False, True, False)

    def test_practice_is_begun_when_only_practice_is_left(self, client: Client) -> None:
        case_of(kind=CaseKind.PRACTICE, known_label="CC", explanation="Because.")
        page = home(client, ready()).content.decode()
        assert ("Practise</button>" in page, "Next item to label" in page) == (True, False)

    @pytest.mark.parametrize(
        ("facts", "roles"),
        [
            ({}, ["annotator"]),
            ({"annotator": False, "adjudicator": True}, ["adjudicator"]),
            ({"adjudicator": True}, ["annotator", "adjudicator"]),
        ],
    )
    def test_the_next_item_is_a_press_away(self, client: Client, facts: dict[str, bool], roles: list[str]) -> None:
        page = home(client, ready(**facts)).content.decode()
        offered = [role for role in Role if f'name="role" value="{role}"' in page]
        assert (offered, page.count(f'action="{reverse("review_claim")}"')) == (roles, len(roles))

    def test_what_is_held_is_gone_on_with(self, client: Client) -> None:
        reviewer = ready(adjudicator=True)
        held = assigned(case_of(state=CaseState.LEASED), reviewer, lease_until=timezone.now() + timedelta(minutes=20))
        page = home(client, reviewer).content.decode()
        assert (reverse("label", args=[held.pk]) in page, "Next item" in page) == (True, False)
        assert "yours for 20\xa0minutes more" in page or "yours for 19\xa0minutes more" in page
        Assignment.objects.update(lease_until=timezone.now() - timedelta(minutes=1))
        assert "Your time with it ran out" in text_of(home(client))
        Assignment.objects.update(state=AssignmentState.EVIDENCE, lease_until=timezone.now() + timedelta(minutes=2))
        page = home(client).content.decode()
        assert (reverse("adjudicate", args=[held.pk]) in page, "an item to decide on" in page) == (True, True)

    def test_a_practice_item_is_nobody_elses(self, client: Client) -> None:
        reviewer = ready()
        case = case_of(kind=CaseKind.PRACTICE, known_label="CC", explanation="Because.")
        assigned(case, reviewer, lease_until=timezone.now() - timedelta(minutes=1))
        page = text_of(home(client, reviewer))
        assert ("You hold a practice item" in page, "practice is not counted" in page) == (True, True)
        assert [words in page for words in ("ran out", "anybody", "nobody else", "yours for")] == [False] * 4

    def test_others_items_are_not_ones_own(self, client: Client) -> None:
        assigned(case_of(state=CaseState.LEASED), ready())
        assert "The item at hand" not in text_of(home(client, ready()))

    def test_counts_are_ones_own_and_tell_no_answer(self, client: Client) -> None:
        reviewer = ready()
        case_of(answers(system=SystemFactory(name="Marker System", organisation="Marker Lab"))[0])
        case_of(answers(owner=reviewer.user)[0])
        case_of(state=CaseState.DISPUTED)
        response = home(client, reviewer)
        counts = response.context["counts"]
        assert (counts.unclaimed, counts.disputes, counts.mine) == (1, 0, 0)
        page = response.content.decode()
        assert [word in page for word in ("Marker", "Disputes", "Audits", "Appeals")] == [False] * 4

    def test_adjudicators_see_what_is_disputed(self, client: Client) -> None:
        case_of(state=CaseState.DISPUTED)
        page = text_of(home(client, ready(annotator=False, adjudicator=True)))
        assert ("Disputes1to adjudicate" in page, "Unclaimed" in page) == (True, False)

    def test_nobody_who_labels_is_told_how_many_are_audits_or_appeals(self, client: Client) -> None:
        """They would fall by one when an audit is taken, and so tell why it is reviewed."""
        Trigger.objects.create(case=case_of(), kind=TriggerKind.AUDIT, inclusion_probability=0.1)
        Trigger.objects.create(case=case_of(state=CaseState.DISPUTED), kind=TriggerKind.APPEAL)
        page = text_of(home(client, ready(adjudicator=True)))
        assert [word in page for word in ("Unclaimed1", "Disputes1", "Audits", "Appeals")] == [True, True, False, False]

    def test_the_own_numbers_of_today(self, client: Client) -> None:
        reviewer = ready()
        reviewed(case_of(), reviewer, "CC", active_seconds=100)
        reviewed(case_of(), reviewer, "LI", active_seconds=80)
        reviewed(case_of(), reviewer, "LI", active_seconds=900, locked=timezone.now() - timedelta(days=2))
        reviewed(case_of(kind=CaseKind.PRACTICE), reviewer, "LC", active_seconds=60)
        reviewed(case_of(), ready(), "CC", active_seconds=100)
        assert home(client, reviewer).context["today"] == {"labels": 2, "minutes": 3}

    def test_queries_do_not_grow(self, client: Client) -> None:
        reviewer, counts = ready(adjudicator=True, affiliation="Alpha Lab"), []
        home(client, reviewer)
        for _ in range(3):
            case_of()
            case_of(state=CaseState.DISPUTED)
            reviewed(case_of(state=CaseState.ONE_LABEL), reviewer, "CC")
            with CaptureQueriesContext(connection) as queries:
                home(client)
            counts.append(len(queries))
        assert len(set(counts)) == 1


class TestJoining:
    @pytest.fixture
    def maintainer(self) -> User:
        made: User = UserFactory(is_staff=True)
        return made

    def link(self, maintainer: User, **roles: Any) -> str:
        secret = invite(actor=maintainer, **{"annotator": True, "adjudicator": False, **roles})[1]
        return reverse("review_join", args=[secret])

    def test_it_says_what_one_becomes_and_makes_nobody_by_looking(self, client: Client, maintainer: User) -> None:
        address = self.link(maintainer, adjudicator=True)
        client.force_login(UserFactory(username="dana"))
        text = text_of(client.get(address))  # type: ignore[arg-type]
        assert ("as annotator and adjudicator" in text, "Accept as dana" in text) == (True, True)
        assert (Reviewer.objects.count(), Invitation.objects.filter(used=None).count()) == (0, 1)

    def test_accepting_leads_home(self, client: Client, maintainer: User) -> None:
        address, dana = self.link(maintainer), UserFactory()
        client.force_login(dana)
        response = client.post(address, follow=True)
        assert (response.redirect_chain, Reviewer.objects.get().user) == ([(HOME, 302)], dana)
        assert f"Others will know you as {Reviewer.objects.get().pseudonym}" in response.content.decode()
        assert client.get(address)["Location"] == HOME

    def test_who_is_signed_out_comes_back(self, client: Client, maintainer: User) -> None:
        address = self.link(maintainer)
        page = client.get(address).content.decode()
        assert f'href="/accounts/login/?next={address}"' in page
        assert client.post(address)["Location"] == f"/accounts/login/?next={address}"
        dana = UserFactory()
        typed = {"login": dana.username, "password": PASSWORD, "next": address}
        assert client.post("/accounts/login/", typed)["Location"] == address
        assert not Reviewer.objects.exists()

    def test_a_used_link_says_so(self, client: Client, maintainer: User) -> None:
        address = self.link(maintainer)
        client.force_login(UserFactory())
        client.post(address)
        client.force_login(UserFactory())
        for response in (client.get(address), client.post(address)):
            assert (response.status_code, "has been used" in response.content.decode()) == (410, True)
        assert Reviewer.objects.count() == 1

    def test_a_link_that_gives_nothing_new_says_so(self, client: Client, maintainer: User) -> None:
        reviewer = ReviewerFactory()
        client.force_login(reviewer.user)
        response = client.post(self.link(maintainer))
        assert (response.status_code, "stays valid for somebody else" in response.content.decode()) == (409, True)

    def test_a_wrong_link_is_not_there(self, client: Client, maintainer: User) -> None:
        address = self.link(maintainer)
        assert client.get(f"{address[:-2]}/").status_code == 404
