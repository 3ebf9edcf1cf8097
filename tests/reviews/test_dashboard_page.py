"""``/reviews/dashboard/``, and the export of labels on it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.urls import reverse
from django.utils import timezone

from reviews.cases.states import note
from reviews.enums import CaseState, Severity, TriggerKind
from reviews.models import Case, Trigger
from reviews.record.exporting import export
from tests.leaderboard.showing import text_of
from tests.reviews.factories import ReviewerFactory, answers, assigned, case_of, reviewed
from tests.reviews.settled import record_of_everything, settled
from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from django.http import HttpResponse
    from django.test import Client
    from pytest_django import DjangoAssertNumQueries

    from submissions.models import User

pytestmark = pytest.mark.django_db

ADDRESS = "/reviews/dashboard/"


@pytest.fixture
def maintainer() -> User:
    user: User = UserFactory(is_staff=True)
    return user


def page(client: Client, user: User, address: str = ADDRESS) -> str:
    client.force_login(user)
    answer = client.get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def body(answer: HttpResponse | Any) -> bytes:
    return b"".join(answer.streaming_content)


def test_strangers_sign_in_and_other_accounts_find_nothing(client: Client) -> None:
    for address in (ADDRESS, "/reviews/labels/export/?format=csv"):
        client.logout()
        assert client.get(address).status_code == 302
        client.force_login(UserFactory())
        assert client.get(address).status_code == 404


def test_annotators_see_their_own_row_only(client: Client) -> None:
    mine, other = ReviewerFactory(), ReviewerFactory()
    case = settled(answers()[0], 1, state=CaseState.FINAL, label="LI", source="decision")
    reviewed(case, mine, "CC")
    reviewed(case, other, "LI")
    text = page(client, mine.user)
    assert mine.pseudonym in text
    assert other.pseudonym not in text
    assert "Your work" in text
    assert "Export" not in text
    assert f"Case {case.pk}" not in text
    assert client.get("/reviews/labels/export/?format=csv").status_code == 404


def test_annotators_are_told_no_urgency(client: Client) -> None:
    """Of a single waiting case, "direct conflict" would tell what others said."""
    case_of(severity=Severity.CONFLICT)
    case_of(severity=Severity.AUDIT)
    text = page(client, ReviewerFactory().user)
    assert text.count("waiting for an annotator") == 1
    assert "direct conflict" not in text
    assert "Severity" not in text


def test_maintainers_see_everybody_and_what_happened(client: Client, maintainer: User) -> None:
    people = [ReviewerFactory(), ReviewerFactory()]
    case = case_of(severity=Severity.CONFLICT)
    note(case, before="queued", after="leased", reviewer=people[0], what="taken by somebody")
    text = page(client, maintainer)
    assert all(person.pseudonym in text for person in people)
    assert "direct conflict" in text
    assert f"Case {case.pk}" in text
    assert "taken by somebody" in text


def test_only_maintainers_who_do_not_label_see_why_cases_wait(client: Client, maintainer: User) -> None:
    """How many are audits, or appeals, falls when somebody takes one, and so tells what was taken."""
    for kind, days in ((TriggerKind.AUDIT, 3), (TriggerKind.AUDIT, 5), (TriggerKind.APPEAL, 1)):
        case = case_of()
        Case.objects.filter(pk=case.pk).update(created=timezone.now() - timedelta(days=days))
        Trigger.objects.create(case=case, kind=kind)
    client.force_login(maintainer)
    assert "an appeal 1 1 day ago sampled at random 2 5 days ago" in text_of(client.get(ADDRESS))  # type: ignore[arg-type]
    for user in (ReviewerFactory(user=maintainer).user, ReviewerFactory(adjudicator=True).user):
        text = page(client, user)
        assert ("an appeal" in text, "sampled at random" in text) == (False, False)


def test_what_was_said_of_open_cases_is_shown_nowhere(client: Client, maintainer: User) -> None:
    case = case_of(state=CaseState.ONE_LABEL)
    reviewed(case, ReviewerFactory(), "LI", note="a telling remark")
    text = page(client, maintainer)
    assert "1 label," in text
    assert "a telling remark" not in text
    assert reverse("case", args=[case.pk]) not in text


def test_maintainers_who_label_are_not_told_why_a_case_is_open(client: Client, maintainer: User) -> None:
    ReviewerFactory(user=maintainer)
    case = case_of(state=CaseState.DISPUTED, severity=Severity.CONFLICT)
    note(case, before="two_labels", after="disputed", what="judge_opposes")
    done = settled(answers()[0], 1, state=CaseState.AGREED, label="CC", source="agreed")
    note(done, before="two_labels", after="agreed", what="the labels agree")
    text = page(client, maintainer)
    assert f"Case {case.pk}" in text
    assert "judge_opposes" not in text
    assert "direct conflict" not in text
    assert "the labels agree" in text
    assert reverse("case", args=[done.pk]) in text


def test_what_is_not_published_has_no_public_page_to_link_to(client: Client, maintainer: User) -> None:
    done = settled(answers(published=False)[0], 1, state=CaseState.AGREED, label="CC", source="agreed")
    text = page(client, maintainer)
    assert f"Case {done.pk}" in text
    assert reverse("case", args=[done.pk]) not in text


def test_the_cases_of_the_answer_in_hand_are_left_out(client: Client, maintainer: User) -> None:
    mine = ReviewerFactory(user=maintainer)
    one, other = answers(2)
    earlier, elsewhere = (
        settled(each, 1, state=CaseState.REOPENED, label="CC", source="single") for each in (one, other)
    )
    for case in (earlier, elsewhere):
        reviewed(case, ReviewerFactory(), "CC")
    held = case_of(one, round=2)
    assigned(held, mine)
    text = page(client, maintainer)
    assert "are neither shown nor exported until you submit your label" in text
    assert [f"Case {case.pk}<" in text for case in (earlier, held, elsewhere)] == [False, False, True]
    for suite in ("", one.submission.suite_version.suite.slug):
        exported = body(client.get(f"/reviews/labels/export/?format=jsonl&suite={suite}")).decode()
        assert str(earlier.identifier) not in exported
        assert str(elsewhere.identifier) in exported


def test_cases_are_listed_by_state_and_page(client: Client, maintainer: User) -> None:
    for answer in answers(27):
        case_of(answer)
    done = case_of(state=CaseState.AGREED)
    text = page(client, maintainer)
    assert "page 1 of 2" in text
    assert "28 cases" in text
    assert f"Case {done.pk}" in text
    assert "page 2 of 2" in page(client, maintainer, f"{ADDRESS}?page=2")
    only = page(client, maintainer, f"{ADDRESS}?state=agreed")
    assert "1 case," in only
    assert "28 cases" in page(client, maintainer, f"{ADDRESS}?state=nonsense&page=x")


def test_empty_pages_say_what_to_do(client: Client, maintainer: User) -> None:
    text = page(client, maintainer)
    assert "manage.py sample_disputes" in text
    assert "Nobody labels yet." in text
    assert "No case in this state." in page(client, maintainer, f"{ADDRESS}?state=agreed")


@pytest.mark.parametrize("number", [1, 4])
def test_queries_do_not_grow(
    client: Client, maintainer: User, number: int, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for answer in answers(number):
        case = settled(answer, 1, state=CaseState.AGREED, label="CC", source="agreed")
        note(case, before="", after="agreed", reviewer=ReviewerFactory())
        reviewed(case, ReviewerFactory(), "CC")
    client.force_login(maintainer)
    with django_assert_max_num_queries(15):
        assert client.get(ADDRESS).status_code == 200


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_the_export_is_the_commands(client: Client, maintainer: User, form: Any) -> None:
    record_of_everything()
    client.force_login(maintainer)
    answer: Any = client.get(f"/reviews/labels/export/?format={form}&suite=")
    name = f"labels-all-{timezone.now():%Y%m%d}.{form}"
    assert answer["Content-Disposition"] == f'attachment; filename="{name}"'
    assert answer["Content-Type"].startswith({"csv": "text/csv", "jsonl": "application/jsonl"}[form])
    assert "no-store" in answer["Cache-Control"]
    assert body(answer).decode() == "".join(export(form=form))


def test_unknown_formats_and_suites_are_not_there(client: Client, maintainer: User) -> None:
    client.force_login(maintainer)
    assert client.get("/reviews/labels/export/").status_code == 404
    assert client.get("/reviews/labels/export/?format=xls").status_code == 404
    assert client.get("/reviews/labels/export/?format=csv&suite=none").status_code == 404


def test_ages_are_those_of_the_oldest(client: Client, maintainer: User) -> None:
    case = case_of()
    Case.objects.filter(pk=case.pk).update(created=timezone.now() - timedelta(days=3))
    assert "3\xa0days ago" in page(client, maintainer)
