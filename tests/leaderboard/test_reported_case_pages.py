"""What others reported of single answers: pages of disagreements, and their rows in the list of cases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from benchmark_tasks.facts.categories import CATEGORIES
from leaderboard.models import Entry, ReportedResult
from reviews.enums import CaseState, FinalSource
from tests.benchmark_tasks.factories import CategoryFactory, SuiteVersionFactory
from tests.leaderboard.factories import ReportedResultFactory, reported
from tests.leaderboard.showing import text_of
from tests.reviews.factories import case_of

if TYPE_CHECKING:
    from django.test import Client

    from benchmark_tasks.models import SuiteVersion

pytestmark = pytest.mark.django_db


@pytest.fixture
def version() -> SuiteVersion:
    made: SuiteVersion = SuiteVersionFactory(tasks=4)
    return made


def results(version: SuiteVersion, *rows: tuple[bool | None, str, str], **facts: Any) -> list[ReportedResult]:
    """A reported run with a (tests, judge, human) for each of the version's first tasks."""
    run = reported(version).reported_run
    revisions = version.revisions.order_by("task__paper__folder_name", "task__index")
    return [
        ReportedResultFactory(
            run=run, task=revision.task, tests_passed=tests, judge_label=judge, human_label=human, **facts
        )
        for revision, (tests, judge, human) in zip(revisions, rows, strict=False)
    ]


def address(result: ReportedResult) -> str:
    return reverse("reported_case", args=[result.run.slug, result.task.paper.slug, result.task.index])


def listed(client: Client, **query: str) -> list[str]:
    return [line.address for line in client.get(reverse("cases"), query).context["page"].object_list]


class TestList:
    @pytest.mark.parametrize(
        ("row", "is_listed"),
        [
            ((None, "CC", "LI"), True),
            ((None, "LC", "LI"), True),
            ((None, "LI", "LI"), False),
            ((True, "", "LI"), True),
            ((False, "", "CC"), True),
            ((False, "CC", "CC"), True),
            ((True, "CC", "CC"), False),
            ((True, "", "LC"), False),
            ((False, "", "LI"), False),
            ((True, "LI", ""), False),
            ((None, "", ""), False),
        ],
    )
    def test_only_disagreements_are_cases(
        self, client: Client, version: SuiteVersion, row: tuple[bool | None, str, str], is_listed: bool
    ) -> None:
        (result,) = results(version, row)
        assert listed(client) == ([address(result)] if is_listed else [])

    def test_they_stand_after_what_was_decided_here_and_are_marked(self, client: Client, version: SuiteVersion) -> None:
        one, two = results(version, (True, "CC", "LI"), (None, "LC", "CC"))
        own = case_of(state=CaseState.AGREED, label="CC", source=FinalSource.AGREED)
        assert listed(client) == [own.get_absolute_url(), address(one), address(two)]
        first = client.get(reverse("cases")).context["page"].object_list[1]
        assert (first.tests.text, first.judge, first.humans, first.label, first.settled, first.reported) == (
            "passed",
            "CC",
            ("LI",),
            "",
            None,
            True,
        )
        assert client.get(reverse("cases")).content.decode().count('<span class="badge reported">reported</span>') == 2

    def test_filters(self, client: Client, version: SuiteVersion) -> None:
        category = CategoryFactory(slug=CATEGORIES[1].slug)
        revision = version.revisions.order_by("task__paper__folder_name", "task__index")[1]
        revision.category = category
        revision.save()
        one, two = results(version, (True, "CC", "LI"), (None, "LC", "CC"))
        case_of(state=CaseState.AGREED, label="CC", source=FinalSource.AGREED)
        both = [address(one), address(two)]
        assert listed(client, what="reported") == both
        assert listed(client, suite=version.suite.slug) == both
        assert listed(client, category=category.slug) == [address(two)]
        assert (listed(client, reason="bad_test"), listed(client, what="reported", source="agreed")) == ([], [])

    def test_queries_do_not_grow(self, client: Client, version: SuiteVersion) -> None:
        counts = []
        for _ in range(2):
            results(version, (True, "CC", "LI"), (None, "LC", "CC"), (False, "CC", "CC"))
            with CaptureQueriesContext(connection) as queries:
                client.get(reverse("cases"))
            counts.append(len(queries))
        assert counts[0] == counts[1]


class TestPage:
    def test_labels_words_and_where_the_code_is(self, client: Client, version: SuiteVersion) -> None:
        words = {"judge_text": "The judge's <b>own</b> words.", "human_comment": "A comment.", "human_annotator": 2}
        (result,) = results(version, (True, "CC", "LI"), **words)
        result.task.paper.repository_address = "https://example.org/repository"
        result.task.paper.save()
        response: Any = client.get(address(result))
        text, shown = text_of(response), response.content.decode()
        assert "Reported upstream, not reviewed here." in text
        assert (
            "judge and human are two steps apart; the unit test passes what the human calls logically incorrect" in text
        )
        assert "LI logically incorrect by annotator 2" in text
        for link in ("https://example.org/results", "https://example.org/repository", result.task.get_absolute_url()):
            assert f'href="{link}"' in shown
        # Imported words are quoted, folded and never markup.
        assert shown.count("<details><summary>") == 2
        assert ("The judge&#x27;s &lt;b&gt;own&lt;/b&gt; words." in shown, "A comment." in shown) == (True, True)

    def test_a_run_that_is_not_shown_has_no_cases(self, client: Client, version: SuiteVersion) -> None:
        (result,) = results(version, (True, "CC", "LI"))
        Entry.objects.update(published=False)
        assert (client.get(address(result)).status_code, listed(client)) == (404, [])
