"""The guidelines' pages: reading, revisions, differences, saying that one has read them, writing the next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.urls import reverse

from reviews.models import GuidelineReading, GuidelineRevision, Reviewer
from reviews.people import guidelines
from tests.leaderboard.showing import text_of
from tests.reviews.factories import ReviewerFactory, guideline, ready
from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from django.test import Client
    from pytest_django import DjangoAssertNumQueries

    from submissions.models import User

pytestmark = pytest.mark.django_db
EDIT = "/reviews/guidelines/edit/"


@pytest.fixture
def carol() -> User:
    made: User = UserFactory(username="carol", is_staff=True)
    return made


def signed_in(client: Client, reviewer: Reviewer) -> Client:
    assert reviewer.user is not None
    client.force_login(reviewer.user)
    return client


def text(response: Any) -> str:
    return text_of(response)


class TestReading:
    def test_everybody_reads_the_shipped_ones(self, client: Client) -> None:
        page = client.get("/reviews/guidelines/").content.decode()
        assert ("<h1>Labelling guidelines</h1>" in page, page.count("<h1"), 'id="worked-examples"' in page) == (
            True,
            1,
            True,
        )
        assert ("I have read" in page, EDIT in page) == (False, False)

    def test_a_text_without_a_title_gets_one(self, client: Client) -> None:
        guideline(text="Only text.")
        assert "<h1>Labelling guidelines</h1>" in client.get("/reviews/guidelines/").content.decode()

    def test_an_old_revision_says_that_it_is_old(self, client: Client) -> None:
        guideline(1, text="# One")
        guideline(2, text="# Two", changes="More of it.")
        page = text(client.get("/reviews/guidelines/1/"))
        assert ("is not in force any more" in page, "More of it." in page) == (True, True)
        assert "is not in force any more" not in text(client.get("/reviews/guidelines/2/"))

    def test_the_difference_stands_above(self, client: Client) -> None:
        guideline(1, text="# Title\n\nOld line.\n")
        guideline(2, text="# Title\n\nOld line.\nSecond.\n", changes="Said <b>more</b>.")
        guideline(3, text="# Title\n\nNew line.\nSecond.\n", changes="Said it anew.")
        response = client.get("/reviews/guidelines/3/?since=1")
        rows = [(row.left and row.left.text, row.right.text) for row in response.context["difference"].rows]
        assert rows == [("# Title", "# Title"), ("", ""), ("Old line.", "New line."), (None, "Second.")]
        page = response.content.decode()
        assert ("Said &lt;b&gt;more&lt;/b&gt;." in page, "Said it anew." in page) == (True, True)

    @pytest.mark.parametrize("address", ["9/", "1/?since=9", "1/?since=x", "1/?since=-1", f"{10**12}/"])
    def test_what_is_not_there(self, client: Client, address: str) -> None:
        assert client.get(f"/reviews/guidelines/{address}").status_code == 404

    @pytest.mark.parametrize("number", [2, 6])
    def test_queries_do_not_grow(
        self, client: Client, number: int, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        for each in range(1, number + 1):
            guideline(each, text=f"# {each}")
        with django_assert_num_queries(4):
            client.get(f"/reviews/guidelines/{number}/?since=1")


class TestHavingRead:
    def test_what_is_new_comes_first_for_whoever_has_read_an_earlier_revision(self, client: Client) -> None:
        reviewer = ready()
        guideline(2, text="# Labels\n\nCC, LC, LI, or none.\n", changes="None is a label.")
        heading = "What revision 2 changes since revision 1"
        page = text(signed_in(client, reviewer).get("/reviews/guidelines/"))
        assert heading in page
        assert page.index(heading) < page.index("CC, LC, LI, or none.")
        guidelines.acknowledge(reviewer)
        assert heading not in text(client.get("/reviews/guidelines/"))

    def test_a_reviewer_says_so_once(self, client: Client) -> None:
        reviewer = ReviewerFactory()
        page = signed_in(client, reviewer).get("/reviews/guidelines/").content.decode()
        assert 'action="/reviews/guidelines/1/read/"' in page
        response = client.post("/reviews/guidelines/1/read/")
        assert (response["Location"], GuidelineReading.objects.get().reviewer) == ("/reviews/", reviewer)
        assert "I have read" not in client.get("/reviews/guidelines/").content.decode()

    def test_an_overtaken_revision_leads_to_the_newest(self, client: Client) -> None:
        reviewer = ready()
        guideline(2)
        guideline(3)
        response = signed_in(client, reviewer).post("/reviews/guidelines/2/read/")
        assert response["Location"] == "/reviews/guidelines/3/?since=1"
        assert guidelines.last_read(reviewer) == guideline(1)

    def test_only_reviewers(self, client: Client) -> None:
        guideline()
        address = "/reviews/guidelines/1/read/"
        assert client.post(address)["Location"] == "/accounts/login/?next=/reviews/guidelines/1/"
        for person in (UserFactory(is_staff=True), ReviewerFactory(active=False).user):
            client.force_login(person)
            assert client.post(address).status_code == 404
        assert client.get(address)["Location"] == "/reviews/guidelines/1/"
        assert not GuidelineReading.objects.exists()


class TestWriting:
    TYPED = {"made_from": "1", "text": "# New\r\n\r\nWords.\r\n", "changes": "Shorter."}

    def test_maintainers_only(self, client: Client) -> None:
        assert client.get(EDIT).status_code == 302
        signed_in(client, ready(adjudicator=True))
        assert (client.get(EDIT).status_code, client.post(EDIT, self.TYPED).status_code) == (404, 404)
        assert GuidelineRevision.objects.count() == 1

    def test_publishing(self, client: Client, carol: User) -> None:
        client.force_login(carol)
        form = client.get(EDIT).context["form"]
        assert (form.initial["made_from"], form.initial["text"]) == (1, guidelines.current().text)
        assert client.post(EDIT, self.TYPED)["Location"] == "/reviews/guidelines/2/"
        made = guidelines.current()
        assert (made.number, made.text, made.changes, made.created_by) == (2, "# New\n\nWords.\n", "Shorter.", carol)

    def test_a_preview_publishes_nothing_and_keeps_what_was_typed(self, client: Client, carol: User) -> None:
        client.force_login(carol)
        response = client.post(EDIT, {**self.TYPED, "text": "# New\n\n*Words* <b>x</b>", "preview": "1"})
        page = response.content.decode()
        assert (response.status_code, guidelines.current().number) == (200, 1)
        assert ("<em>Words</em> &lt;b&gt;x&lt;/b&gt;" in page, "Shorter.</textarea>" in page) == (True, True)
        assert response.context["difference"].rows[0].right.text == "# New"

    @pytest.mark.parametrize(
        ("changes", "said"),
        [
            ({"made_from": "7"}, "Revision 1 came out while you wrote from revision 7"),
            ({"changes": ""}, "This field is required"),
            ({"text": "A\u202eB"}, "direction character"),
            ({"made_from": "x"}, "whole number"),
        ],
    )
    def test_what_is_refused_keeps_the_text(
        self, client: Client, carol: User, changes: dict[str, str], said: str
    ) -> None:
        client.force_login(carol)
        typed = {**self.TYPED, **changes}
        response = client.post(EDIT, typed)
        page = response.content.decode()
        assert (response.status_code, said in page, typed["text"].split("\r\n")[0] in page) == (422, True, True)
        assert guidelines.current().number == 1

    def test_the_link_to_it_is_for_maintainers(self, client: Client, carol: User) -> None:
        client.force_login(carol)
        assert reverse("review_guidelines_edit") in client.get("/reviews/guidelines/").content.decode()
