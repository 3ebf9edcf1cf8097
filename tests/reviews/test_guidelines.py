"""The guidelines: the shipped revision, the next ones, how they differ, and who has read which."""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING

import pytest
from django.db import connection

from evaluator.judging.labels import Label
from reviews.enums import Confidence, ErrorClass
from reviews.exceptions import ReviewError
from reviews.models import GuidelineReading, GuidelineRevision
from reviews.people import guidelines
from reviews.people.guidelines import difference, publish
from submissions.enums import Verb
from submissions.exceptions import NotAllowedError
from submissions.models import AuditEvent
from tests.reviews.factories import ReviewerFactory
from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from submissions.models import User


@pytest.fixture
def maintainer(db: None) -> User:
    made: User = UserFactory(username="carol", is_staff=True)
    return made


class TestShipped:
    def test_the_first_revision_is_what_is_shipped(self, db: None) -> None:
        first = guidelines.current()
        assert (first.number, first.text, first.created_by) == (1, guidelines.SHIPPED.read_text(), None)
        assert guidelines.current() == first
        assert GuidelineRevision.objects.count() == 1

    def test_it_speaks_of_every_label_class_and_confidence(self) -> None:
        text = guidelines.SHIPPED.read_text()
        words = [*Label, *(f"| {each.label} |" for each in ErrorClass), *(f"**{each.label}**" for each in Confidence)]
        assert [str(word) for word in words if str(word) not in text] == []

    def test_its_examples_are_what_it_says_of_them(self) -> None:
        golden, rewrite, slip, no_total, another = re.findall(
            r"```python\n(.*?)```", guidelines.SHIPPED.read_text(), re.DOTALL
        )
        results = {}
        for name, source in {"golden": golden, "CC": rewrite, "LC": slip, "LI": no_total, "other": another}.items():
            space: dict[str, object] = {}
            exec(source, space)  # noqa: S102 - our own five examples
            results[name] = [
                [round(x, 9) for x in space["smoothed"](*given)] for given in (([1, 2, 5], 1), ([4, 4], 0))
            ]
        assert results["CC"] == results["golden"]
        assert [results[name] == results["golden"] for name in ("LC", "LI", "other")] == [False] * 3
        assert results["LI"][1] == results["golden"][1]


@pytest.mark.django_db(transaction=True)
def test_two_who_ask_first_get_the_same() -> None:
    found, both = list[int](), threading.Barrier(2)

    def ask() -> None:
        try:
            both.wait(timeout=20)
            found.append(guidelines.current().pk)
        finally:
            connection.close()

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(found), len(set(found)), GuidelineRevision.objects.count()) == (2, 1, 1)


class TestPublishing:
    def test_the_next_revision_leaves_the_old_one_as_it_was(self, maintainer: User) -> None:
        first = guidelines.current()
        made = publish(actor=maintainer, text="# New\r\n\r\nText. \r\n\r\n", changes=" Shorter. ", made_from=1)
        assert (made.number, made.text, made.changes, made.created_by) == (
            2,
            "# New\n\nText.\n",
            "Shorter.",
            maintainer,
        )
        assert list(GuidelineRevision.objects.values_list("number", "text"))[1] == (1, first.text)
        assert guidelines.current() == made
        assert AuditEvent.objects.get().verb == Verb.GUIDELINE

    def test_only_maintainers(self, db: None) -> None:
        with pytest.raises(NotAllowedError):
            publish(actor=UserFactory(), text="Mine.", changes="All.")
        assert not GuidelineRevision.objects.filter(number=2).exists()

    @pytest.mark.parametrize(
        ("text", "changes", "said"),
        [(None, "None.", "of revision 1, unchanged"), (" \n ", "All.", "are empty"), ("New.", " ", "what is new")],
    )
    def test_what_changes_nothing_is_refused(self, maintainer: User, text: str | None, changes: str, said: str) -> None:
        windows = guidelines.current().text.replace("\n", "\r\n")
        with pytest.raises(ReviewError, match=said):
            publish(actor=maintainer, text=windows if text is None else text, changes=changes)
        assert GuidelineRevision.objects.count() == 1

    def test_what_was_made_from_an_older_one_is_refused(self, maintainer: User) -> None:
        guidelines.current()
        publish(actor=maintainer, text="Second.", changes="All.", made_from=1)
        with pytest.raises(ReviewError, match="Revision 2 came out while you wrote from revision 1"):
            publish(actor=maintainer, text="Third.", changes="All.", made_from=1)
        assert guidelines.current().text == "Second.\n"

    def test_of_two_at_once_one_wins(self, maintainer: User, monkeypatch: pytest.MonkeyPatch) -> None:
        first = guidelines.current()
        publish(actor=maintainer, text="Second.", changes="All.")
        monkeypatch.setattr(guidelines, "current", lambda: first)
        with pytest.raises(ReviewError, match="Revision 2 came out"):
            publish(actor=maintainer, text="Another second.", changes="All.", made_from=1)


class TestReading:
    def test_a_new_revision_is_unread_again(self, maintainer: User) -> None:
        reviewer, first = ReviewerFactory(), guidelines.current()
        assert (guidelines.unread(reviewer), guidelines.last_read(reviewer)) == (first, None)
        guidelines.acknowledge(reviewer, first)
        guidelines.acknowledge(reviewer)
        assert (guidelines.unread(reviewer), guidelines.last_read(reviewer)) == (None, first)
        assert GuidelineReading.objects.count() == 1
        second = publish(actor=maintainer, text="Second.", changes="All.")
        assert (guidelines.unread(reviewer), guidelines.last_read(reviewer)) == (second, first)
        assert guidelines.unread(ReviewerFactory()) == second

    def test_one_that_is_not_in_force_any_more_is_not_noted(self, maintainer: User) -> None:
        reviewer, first = ReviewerFactory(), guidelines.current()
        publish(actor=maintainer, text="Second.", changes="All.")
        with pytest.raises(ReviewError, match="Revision 2 has come out meanwhile"):
            guidelines.acknowledge(reviewer, first)
        assert not GuidelineReading.objects.exists()


def test_the_difference_is_by_lines_and_blind_to_line_ends() -> None:
    found = difference("one\ntwo\n", "one\r\ntwo, or three\r\n")
    assert [row.kind for row in found.rows] == ["equal", "changed"]
    assert found.has_changes
    assert not difference("a\nb\n", "a\nb").has_changes


def test_markup_in_guidelines_is_safe() -> None:
    body = guidelines.rendered("# A\n\n<script>x</script> [b](javascript:alert(1)) <img src=x onerror=y>").body
    assert ("<script" in body, "javascript:" in body.split("href")[-1] and "href" in body, "<img" in body) == (
        False,
        False,
        False,
    )
