"""The page of rater agreement."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from leaderboard.insight.agreement import raters
from submissions.enums import Visibility
from submissions.models import Submission
from tests.benchmark_tasks.factories import SuiteFactory, SuiteVersionFactory
from tests.leaderboard.factories import measured, measured_outcome
from tests.leaderboard.judging import JudgeFactory, judged
from tests.leaderboard.showing import words
from tests.submissions.factories import SystemFactory, UserFactory

if TYPE_CHECKING:
    from django.test import Client

    from benchmark_tasks.models import SuiteVersion
    from evaluator.models import JudgeConfig
    from submissions.models import Implementation


pytestmark = pytest.mark.django_db

BENCH = "/agreement/lmr-bench/"
SMALL = "/agreement/small/"


@pytest.fixture
def version() -> SuiteVersion:
    made: SuiteVersion = SuiteVersionFactory(suite=SuiteFactory(slug="small"), tasks=1)
    return made


@pytest.fixture
def judges() -> tuple[JudgeConfig, JudgeConfig]:
    return JudgeFactory(slug="one", name="Judge <b>One</b>"), JudgeFactory(slug="other", name="Other Judge")


def rated(version: SuiteVersion, judges: tuple[JudgeConfig, ...], *labels: str, **submission: Any) -> Implementation:
    """A published answer that passed its tests, with a label of each judge."""
    answer = measured_outcome(measured(version, **submission), "passed").implementation
    for judge, label in zip(judges, labels, strict=True):
        judged(answer, judge, label)
    return answer


def read(client: Client, address: str, **query: str) -> str:
    response = client.get(address, query)
    assert response.status_code == 200
    return response.content.decode()


@pytest.mark.usefixtures("shipped")
class TestShipped:
    def test_a_cell_links_to_its_answers(self, client: Client) -> None:
        page = read(client, BENCH, first="reported-annotators", second="reported-judge", cell="LI,CC")
        listed = page.split('id="answers"')[1]
        assert "2 answers" in words(listed)
        addresses = re.findall(r'<th role="rowheader" scope="row">\s*<a href="(/cases/reported/[^"]+)">', listed)
        assert len(addresses) == 2
        assert all(client.get(address).status_code == 200 for address in addresses)
        link = re.search(r'<a href="(\?[^"]+)#answers" aria-label="2 answers: Reported annotators LI', page)
        assert link
        assert "cell=LI%2CCC" in link.group(1)

    def test_the_binary_view_and_filters(self, client: Client) -> None:
        text = words(read(client, BENCH, binary="1"))
        assert "The reported annotators and the reported unit tests agree on 75 of 112 answers; of the other 37" in text
        assert "CC 23 29 52 rest 7 109 116 all 30 138 168" in text
        assert "n = 28 answers in 23 papers." in words(read(client, BENCH, system="reported-openhands-gpt-4o"))
        few = words(read(client, BENCH, system="reported-openhands-gpt-4o", category="evaluation-metrics"))
        assert "too few shared items (" in few
        assert "Cohen's kappa" in few
        assert "No two raters labelled the same answer here." in words(read(client, BENCH, inputs="paper_only"))

    def test_unknown_selections_are_not_found(self, client: Client) -> None:
        for query in ("system=absent", "inputs=<i>", "first=tests&second=tests", "cell=LI,XX", "cell=LI"):
            response = client.get(f"{BENCH}?{query}")
            assert (response.status_code, "<i>" in response.content.decode()) == (404, False)


def test_an_answer_s_row_links_to_it_and_names_are_escaped(
    client: Client, version: SuiteVersion, judges: tuple[JudgeConfig, JudgeConfig]
) -> None:
    answer = rated(version, judges, "LI", "CC", system=SystemFactory(name="<script>x</script>"))
    rated(version, judges, "CC", "")
    page = read(client, SMALL, cell="LI,CC")
    assert f'<a href="{answer.get_absolute_url()}">{answer.revision.task.slug}</a>' in page
    assert "&lt;script&gt;x&lt;/script&gt;" in page
    assert "<script>x" not in page
    assert "<b>One" not in page
    assert "On 1 more, one of the two abstained." in words(page)
    assert "too few shared items (1 of at least 10)" in page


@pytest.mark.parametrize("visibility", [Visibility.PRIVATE, Visibility.HIDDEN, Visibility.WITHDRAWN])
def test_unpublished_answers_are_not_counted_even_for_maintainers(
    client: Client, version: SuiteVersion, judges: tuple[JudgeConfig, JudgeConfig], visibility: str
) -> None:
    rated(version, judges, "CC", "CC", system=SystemFactory(name="Shown"))
    secret = rated(version, judges, "LI", "CC", system=SystemFactory(name="Secret Weapon", slug="secret"))
    Submission.objects.filter(pk=secret.submission_id).update(visibility=visibility)
    client.force_login(UserFactory(is_staff=True))
    page = read(client, SMALL, cell="LI,CC")
    assert "n = 1 answer in 1 paper." in words(page)
    assert "Secret Weapon" not in page
    assert client.get(SMALL, {"system": "secret"}).status_code == 404


def test_the_choice_of_a_system_is_escaped_and_keeps_the_selection(client: Client) -> None:
    row = measured(system=SystemFactory(name='<b>A&B</b> "C"', slug="chosen"))
    page = client.get(f"/agreement/{row.suite_version.suite.slug}/?system=chosen").content.decode()
    (select,) = re.findall(r'<select[^>]* name="system"[^>]*>.*?</select>', page, re.DOTALL)
    assert re.sub(r"<select[^>]*>", "", select) == (
        '<option value="">all</option>'
        '<option value="chosen" selected>&lt;b&gt;A&amp;B&lt;/b&gt; &quot;C&quot;</option></select>'
    )
    assert 'id="id_system"' in select


def test_of_many_systems_one_is_named_by_its_slug(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raters, "MOST_OFFERED", 1)
    first = measured(system=SystemFactory(slug="first"))
    address = f"/agreement/{first.suite_version.suite.slug}/"
    assert '<option value="first">' in client.get(address).content.decode()
    measured(first.suite_version, system=SystemFactory(slug="second"))
    page = client.get(f"{address}?system=second").content.decode()
    (field,) = re.findall(r'<input[^>]* name="system"[^>]*>', page)
    assert 'value="second"' in field
    assert '<option value="first"' not in page
    assert client.get(f"{address}?system=third").status_code == 404


@pytest.mark.usefixtures("shipped")
class TestPublishedAnswers:
    def test_every_disagreement_is_listed_with_its_reason(self, client: Client) -> None:
        page = read(client, f"{BENCH}published/")
        text = words(page)
        assert (
            "LMR-Board’s tests agree with 46 of 61 published verdicts Of the other 15, LMR-Board’s test is right"
            in text
        )
        assert "sessions of two runs of OpenHands (GPT-4o) and OpenHands (GPT-4.1), and does not state" in text
        assert "In 5 of the 15, LMR-Board’s test gives the second run’s answer the published verdict" in text
        assert "erred on at least 9 of 61 answers: they passed 5 wrong ones and failed 4 right ones" in text
        assert (
            "passed 4 tasks without an answer in the sessions, which are not counted: hits/1 of OpenHands (GPT-4o), "
            "steplength/1 of OpenHands (GPT-4o), decbound/1 of OpenHands (GPT-4.1) and hits/1 of OpenHands (o4-mini)."
            in text
        )
        assert (
            "LMR-Board’s test passes steplength/1 of OpenHands (GPT-4o) and decbound/1 of OpenHands (GPT-4.1)." in text
        )
        assert page.count('<tr role="row">') == 1 + 15
        row = page.split('tasks/simclr/1/">simclr/1</a>')[1].split("</tr>")[0]
        assert '<a href="/reported/openhands-gpt-4o/">OpenHands (GPT-4o)</a>' in row
        assert words(row).endswith(
            "OpenHands (GPT-4o) passed wrong output passed as published LMR-Board The answer takes each image's "
            "similarity with itself for its positive pair, so the loss ignores the other view."
        )

    def test_the_agreement_page_links_to_it(self, client: Client) -> None:
        assert "agree with 46 of 61 published verdicts" in read(client, BENCH)
        assert f'href="{BENCH}published/"' in read(client, BENCH)

    def test_queries_do_not_grow(self, client: Client, django_assert_max_num_queries: Any) -> None:
        read(client, f"{BENCH}published/")
        with django_assert_max_num_queries(6):
            read(client, f"{BENCH}published/")


def test_a_suite_without_published_answers_has_an_empty_page(client: Client, version: SuiteVersion) -> None:
    assert "No published answers to" in read(client, f"{SMALL}published/")
    assert f"{SMALL}published/" not in read(client, SMALL)
    assert client.get("/agreement/none/published/").status_code == 404


def test_without_reported_runs_and_tasks_the_page_has_no_links_to_them(client: Client) -> None:
    SuiteFactory(slug="lmr-bench")
    page = read(client, f"{BENCH}published/")
    assert page.count('<tr role="row">') == 1 + 15
    assert "/reported/" not in page
    assert "/tasks/" not in page
