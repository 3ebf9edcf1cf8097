"""The guidelines: shipped and later revisions, comparisons, confirmations of reading, and their pages."""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection

from reviews.annotators import guidelines
from reviews.annotators.guidelines import difference, publish
from reviews.exceptions import ReviewError
from reviews.models import GuidelineReading, GuidelineRevision
from submissions.enums import Verb
from submissions.exceptions import NotAllowedError
from submissions.models import AuditEvent
from tests.leaderboard.showing import text_of
from tests.reviews.factories import ReviewerFactory, guideline, ready
from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from django.test import Client

    from reviews.models import Reviewer
    from submissions.models import User

PAGES, EDIT = "/reviews/guidelines/", "/reviews/guidelines/edit/"
TYPED = {"made_from": "1", "text": "# New\r\n\r\nWords.\r\n", "changes": "Shorter."}


class TestShipped:
    def test_the_first_revision_is_the_shipped_text(self, db: None) -> None:
        first = guidelines.current()
        assert (first.number, first.text, first.created_by) == (1, guidelines.SHIPPED.read_text(), None)
        assert (guidelines.current(), GuidelineRevision.objects.count()) == (first, 1)

    def test_its_examples_have_the_stated_labels(self) -> None:
        blocks = re.findall(r"```python\n(.*?)```", guidelines.SHIPPED.read_text(), re.DOTALL)
        results = {}
        for name, source in zip(("golden", "CC", "LC", "LI", "other"), blocks, strict=True):
            space: dict[str, Any] = {}
            exec(source, space)  # noqa: S102 - our own five examples
            results[name] = [
                [round(x, 9) for x in space["smoothed"](*given)] for given in (([1, 2, 5], 1), ([4, 4], 0))
            ]
        assert results["CC"] == results["golden"]
        assert [results[name] == results["golden"] for name in ("LC", "LI", "other")] == [False] * 3
        assert results["LI"][1] == results["golden"][1]

    @pytest.mark.django_db(transaction=True)
    def test_two_first_requests_get_the_same_revision(self) -> None:
        found, both = list[int](), threading.Barrier(2)

        def request() -> None:
            try:
                both.wait(timeout=20)
                found.append(guidelines.current().pk)
            finally:
                connection.close()

        threads = [threading.Thread(target=request) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (len(found), len(set(found)), GuidelineRevision.objects.count()) == (2, 1, 1)


class TestPublishing:
    def test_the_next_revision_does_not_change_the_old_one(self, maintainer: User) -> None:
        first = guidelines.current()
        made = publish(actor=maintainer, text="# New\r\n\r\nText. \r\n\r\n", changes=" Shorter. ", made_from=1)
        assert (made.number, made.text, made.changes) == (2, "# New\n\nText.\n", "Shorter.")
        assert (made.created_by, AuditEvent.objects.get().verb) == (maintainer, Verb.GUIDELINE)
        assert list(GuidelineRevision.objects.values_list("number", "text"))[1] == (1, first.text)
        assert guidelines.current() == made

    def test_only_maintainers_publish(self, db: None) -> None:
        with pytest.raises(NotAllowedError):
            publish(actor=UserFactory(), text="Mine.", changes="All.")
        assert not GuidelineRevision.objects.filter(number=2).exists()

    @pytest.mark.parametrize(
        ("text", "changes", "message"),
        [(None, "None.", "of revision 1, unchanged"), (" \n ", "All.", "are empty"), ("New.", " ", "what is new")],
    )
    def test_an_empty_or_unchanged_text_is_refused(
        self, maintainer: User, text: str | None, changes: str, message: str
    ) -> None:
        windows = guidelines.current().text.replace("\n", "\r\n")
        with pytest.raises(ReviewError, match=message):
            publish(actor=maintainer, text=windows if text is None else text, changes=changes)
        assert GuidelineRevision.objects.count() == 1

    def test_a_text_based_on_an_older_revision_is_refused(
        self, maintainer: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first = guidelines.current()
        publish(actor=maintainer, text="Second.", changes="All.", made_from=1)
        with pytest.raises(ReviewError, match="Revision 2 was published while you edited revision 1"):
            publish(actor=maintainer, text="Third.", changes="All.", made_from=1)
        assert guidelines.current().text == "Second.\n"
        # One of two simultaneous requests stores it.
        monkeypatch.setattr(guidelines, "current", lambda: first)
        with pytest.raises(ReviewError, match="Revision 2 was published"):
            publish(actor=maintainer, text="Another second.", changes="All.", made_from=1)

    def test_a_new_revision_is_unread_again(self, maintainer: User, reviewer: Reviewer) -> None:
        first = guidelines.current()
        assert (guidelines.unread(reviewer), guidelines.last_read(reviewer)) == (first, None)
        guidelines.acknowledge(reviewer, first)
        guidelines.acknowledge(reviewer)
        assert (guidelines.unread(reviewer), guidelines.last_read(reviewer)) == (None, first)
        assert GuidelineReading.objects.count() == 1
        second = publish(actor=maintainer, text="Second.", changes="All.")
        assert (guidelines.unread(reviewer), guidelines.last_read(reviewer)) == (second, first)
        with pytest.raises(ReviewError, match="Revision 2 has been published meanwhile"):
            guidelines.acknowledge(ReviewerFactory(), first)
        assert GuidelineReading.objects.count() == 1


def test_the_comparison_is_by_lines_and_ignores_line_ends() -> None:
    found = difference("one\ntwo\n", "one\r\ntwo, or three\r\n")
    assert [row.kind for row in found.rows] == ["equal", "changed"]
    assert (found.has_changes, difference("a\nb\n", "a\nb").has_changes) == (True, False)


def test_markup_in_guidelines_is_safe() -> None:
    body = guidelines.rendered("# A\n\n<script>x</script> [b](javascript:alert(1)) <img src=x onerror=y>").body
    assert ("<script" in body, "javascript:" in body.split("href")[-1] and "href" in body, "<img" in body) == (
        *(False, False, False),
    )


@pytest.mark.django_db
class TestReadingPages:
    def test_the_guidelines_are_public(self, client: Client, maintainer: User) -> None:
        page = client.get(PAGES).content.decode()
        assert ("<h1>Labelling guidelines</h1>" in page, page.count("<h1"), 'id="worked-examples"' in page) == (
            *(True, 1, True),
        )
        assert ("I have read" in page, EDIT in page) == (False, False)
        client.force_login(maintainer)
        assert EDIT in client.get(PAGES).content.decode()
        guideline(2, text="Only text.")
        assert "<h1>Labelling guidelines</h1>" in client.get(PAGES).content.decode()

    def test_an_old_revision_is_marked_and_a_new_one_shows_its_changes(self, client: Client) -> None:
        guideline(1, text="# Title\n\nOld line.\n")
        guideline(2, text="# Title\n\nOld line.\nSecond.\n", changes="Said <b>more</b>.")
        guideline(3, text="# Title\n\nNew line.\nSecond.\n", changes="Reworded.")
        old = "is not in force any more"
        assert [old in text_of(client.get(f"{PAGES}{number}/")) for number in (2, 3)] == [True, False]  # type: ignore[arg-type]
        response = client.get(f"{PAGES}3/?since=1")
        rows = [(row.left and row.left.text, row.right.text) for row in response.context["difference"].rows]
        assert rows == [("# Title", "# Title"), ("", ""), ("Old line.", "New line."), (None, "Second.")]
        page = response.content.decode()
        assert ("Said &lt;b&gt;more&lt;/b&gt;." in page, "Reworded." in page) == (True, True)

    @pytest.mark.parametrize("address", ["9/", "1/?since=9", "1/?since=x", "1/?since=-1", f"{10**12}/"])
    def test_missing_revisions_are_404(self, client: Client, address: str) -> None:
        assert client.get(f"{PAGES}{address}").status_code == 404

    @pytest.mark.parametrize("number", [2, 6])
    def test_queries_do_not_grow(self, client: Client, number: int, django_assert_num_queries: Any) -> None:
        for each in range(1, number + 1):
            guideline(each, text=f"# {each}")
        with django_assert_num_queries(4):
            client.get(f"{PAGES}{number}/?since=1")

    def test_a_reviewer_confirms_reading_once(self, client: Client, reviewer: Reviewer) -> None:
        client.force_login(reviewer.user)  # type: ignore[arg-type]
        assert f'action="{PAGES}1/read/"' in client.get(PAGES).content.decode()
        assert client.post(f"{PAGES}1/read/")["Location"] == "/reviews/"
        assert GuidelineReading.objects.get().reviewer == reviewer
        assert "I have read" not in client.get(PAGES).content.decode()

    def test_confirming_an_old_revision_leads_to_the_newest_changes(self, client: Client) -> None:
        reviewer = ready()
        guideline(2)
        guideline(3, text="# Labels\n\nCC, LC, LI, or none.\n")
        client.force_login(reviewer.user)  # type: ignore[arg-type]
        assert client.post(f"{PAGES}2/read/")["Location"] == f"{PAGES}3/?since=1"
        assert guidelines.last_read(reviewer) == guideline(1)
        assert "Changes in revision 3 since revision 1" in text_of(client.get(PAGES))  # type: ignore[arg-type]

    def test_only_reviewers_confirm_reading(self, client: Client) -> None:
        guideline()
        address = f"{PAGES}1/read/"
        assert client.post(address)["Location"] == f"/accounts/login/?next={PAGES}1/"
        for person in (UserFactory(is_staff=True), ReviewerFactory(active=False).user):
            client.force_login(person)
            assert client.post(address).status_code == 404
        assert not GuidelineReading.objects.exists()


class TestWritingPage:
    def test_maintainers_only(self, client: Client, adjudicator: Reviewer) -> None:
        assert client.get(EDIT).status_code == 302
        client.force_login(adjudicator.user)  # type: ignore[arg-type]
        assert (client.get(EDIT).status_code, client.post(EDIT, TYPED).status_code) == (404, 404)
        assert GuidelineRevision.objects.count() == 1

    def test_a_preview_publishes_nothing_and_the_form_does(self, as_maintainer: Client) -> None:
        form = as_maintainer.get(EDIT).context["form"]
        assert (form.initial["made_from"], form.initial["text"]) == (1, guidelines.current().text)
        response = as_maintainer.post(EDIT, {**TYPED, "text": "# New\n\n*Words* <b>x</b>", "preview": "1"})
        page = response.content.decode()
        assert (response.status_code, guidelines.current().number) == (200, 1)
        assert ("<em>Words</em> &lt;b&gt;x&lt;/b&gt;" in page, "Shorter.</textarea>" in page) == (True, True)
        assert response.context["difference"].rows[0].right.text == "# New"
        assert as_maintainer.post(EDIT, TYPED)["Location"] == f"{PAGES}2/"
        assert guidelines.current().text == "# New\n\nWords.\n"

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"made_from": "7"}, "Revision 1 was published while you edited revision 7"),
            ({"changes": ""}, "This field is required"),
            ({"text": "A\u202eB"}, "direction character"),
        ],
    )
    def test_a_refused_text_is_kept(self, as_maintainer: Client, changes: dict[str, str], message: str) -> None:
        typed = {**TYPED, **changes}
        response = as_maintainer.post(EDIT, typed)
        page = response.content.decode()
        assert (response.status_code, message in page, typed["text"].split("\r\n")[0] in page) == (422, True, True)
        assert guidelines.current().number == 1
