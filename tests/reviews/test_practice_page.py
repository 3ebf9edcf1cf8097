"""``/reviews/practice/…/``: the own label beside the known one, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.urls import reverse

from reviews.enums import CaseKind
from reviews.models import Assignment
from reviews.people.practice import next_practice
from tests.reviews.factories import ReviewerFactory, case_of, ready, reviewed
from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from django.test import Client

    from reviews.models import Reviewer

pytestmark = pytest.mark.django_db


def practised(reviewer: Reviewer, known: str, said: str, **facts: Any) -> Assignment:
    case = case_of(kind=CaseKind.PRACTICE, known_label=known, explanation=f"It is {known} because of a sign.")
    review = reviewed(case, reviewer, said, **facts)
    return Assignment.objects.get(review=review)


def sign_in(client: Client, reviewer: Reviewer) -> None:
    assert reviewer.user is not None
    client.force_login(reviewer.user)


def page(client: Client, assignment: Assignment) -> str:
    sign_in(client, assignment.reviewer)
    answer = client.get(reverse("practice_answer", args=[assignment.pk]))
    assert answer.status_code == 200
    return answer.content.decode()


def test_the_known_label_stands_beside_the_own_one(client: Client) -> None:
    reviewer = ready()
    assignment = practised(reviewer, "LI", "LC", note="Not <i>sure</i>.")
    case_of(kind=CaseKind.PRACTICE, known_label="CC", explanation="Later.")
    text = page(client, assignment)
    assert "LC, logically correct" in text
    assert "LI, logically incorrect" in text
    assert "another one" in text
    assert "It is LI because of a sign." in text
    assert "It doubles where it should square." in text
    assert "candidate 1–2" in text
    assert "Not &lt;i&gt;sure&lt;/i&gt;." in text
    assert "Item 1 of 2" in text
    assert "Next practice item" in text
    assert "You have seen all of them" not in text
    assert "Later." not in text


def test_the_last_page_sums_up(client: Client) -> None:
    reviewer = ready()
    practised(reviewer, "CC", "CC")
    text = page(client, practised(reviewer, "LI", "CC"))
    assert "You have seen all of them" in text
    assert "1 of your 2 labels agrees with the known ones." in text
    assert "Take the first real item" in text
    assert "You marked no lines." in text


def test_before_the_label_is_locked_there_is_no_answer(client: Client) -> None:
    reviewer = ready()
    case_of(kind=CaseKind.PRACTICE, known_label="LI", explanation="Because.")
    assignment = next_practice(reviewer)
    assert assignment is not None
    sign_in(client, reviewer)
    answer = client.get(reverse("practice_answer", args=[assignment.pk]))
    assert (answer.status_code, answer["Location"]) == (302, reverse("label", args=[assignment.pk]))
    assert b"Because." not in answer.content


def test_it_is_nobody_elses_business(client: Client) -> None:
    assignment = practised(ready(), "CC", "CC")
    address = reverse("practice_answer", args=[assignment.pk])
    assert client.get(address).status_code == 302
    for user in (UserFactory(), UserFactory(is_staff=True), ReviewerFactory().user):
        client.force_login(user)
        assert client.get(address).status_code == 404


def test_real_items_have_no_such_page(client: Client) -> None:
    reviewer = ready()
    review = reviewed(case_of(), reviewer, "CC")
    sign_in(client, reviewer)
    assert client.get(reverse("practice_answer", args=[review.assignment_id])).status_code == 404
