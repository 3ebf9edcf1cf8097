"""Public pages of human review: the list of cases, a closed case, and an answer's review with appeals."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import escape

from benchmark_tasks.domain.catalogue import SHIPPED_SUITE
from benchmark_tasks.facts.categories import CATEGORIES
from leaderboard.models import Entry, ReportedResult
from reviews.cases.states import note
from reviews.enums import CaseState, FinalSource, Severity, TriggerKind
from reviews.models import Case, Trigger
from submissions.enums import SubmissionState
from submissions.models import Implementation, Submission
from tests.benchmark_tasks.factories import CategoryFactory, SuiteFactory, SuiteVersionFactory
from tests.evaluator.factories import TestRunFactory
from tests.leaderboard.factories import ReportedResultFactory, reported
from tests.leaderboard.judging import JudgeFactory, judged, show, vote
from tests.leaderboard.showing import address_of, text_of
from tests.reviews.factories import FINDING, ReviewerFactory, answers, case_of, decided, ready, reviewed
from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.test import Client

    from benchmark_tasks.models import SuiteVersion
    from submissions.models import User

pytestmark = pytest.mark.django_db


LABEL = "A marked note of an annotator."
DECISION = "A marked note of the decision."


def agreed(answer: Implementation | None = None, label: str = "LI", *, days_ago: int = 0, **facts: Any) -> Case:
    """Two annotators agree on ``label``."""
    when = timezone.now() - timedelta(days=days_ago)
    given = {"state": CaseState.AGREED, "label": label, "source": FinalSource.AGREED, "closed": when, **facts}
    case = case_of(answer, **given)
    reviewed(case, ReviewerFactory(pseudonym=f"Quiet Owl {case.pk}"), label, note=LABEL)
    reviewed(case, ReviewerFactory(name="Ada Example", shows_name=True), label)
    return case


def final(answer: Implementation | None = None, *, reasons: Sequence[str] = ("bad_test",), **facts: Any) -> Case:
    """An adjudicator decided on LI; the annotators had labelled CC and LC."""
    given = {
        "state": CaseState.FINAL,
        "label": "LI",
        "source": FinalSource.DECISION,
        "closed": timezone.now(),
        **facts,
    }
    case = case_of(answer, **given)
    reviewed(case, ReviewerFactory(), "CC")
    reviewed(case, ReviewerFactory(), "LC", note=LABEL)
    decided(
        case,
        ReviewerFactory(adjudicator=True, pseudonym=f"Calm Otter {case.pk}"),
        "LI",
        reasons=list(reasons),
        note=DECISION,
    )
    return case


def page(client: Client, shown: Case | Implementation, user: User | None = None) -> Any:
    if user is not None:
        client.force_login(user)
    return client.get(shown.get_absolute_url())


def listed(client: Client, **query: str) -> list[tuple[str, bool]]:
    """Each row's address, and whether it is reported."""
    rows = client.get(reverse("cases"), query).content.decode().partition("<tbody")[2].split("<tr ")[1:]
    return [(row.partition('href="')[2].partition('"')[0], "badge reported" in row) for row in rows]


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


class TestPage:
    def test_docstrings_are_folded_with_a_link_that_shows_them(self, client: Client) -> None:
        source = 'def double(x):\n    """Return twice x."""\n    return 2 * x\n'
        case = final(answers(answer={"goal_source": source})[0])
        for query, shown, link in (("", False, "?docstrings=shown"), ("?docstrings=shown", True, "?")):
            response: Any = client.get(case.get_absolute_url() + query)
            linked = f'href="{link}#code"' in response.content.decode()
            assert ("Return twice x" in text_of(response), linked) == (shown, True)

    def test_a_closed_case_shows_all_raters_and_the_decision(self, client: Client) -> None:
        case = final()
        answer = case.implementation
        judge = JudgeFactory(name="Careful Judge")
        show(answer.submission.suite_version.suite, judge)
        vote(judged(answer, judge, "CC"), 1, "CC", rationale=["A marked reason of the judge."])
        judged(answer, JudgeFactory(name="Other Judge"), "LI")
        TestRunFactory(implementation=answer, done="wrong_output", reason="1 of 4 cases failed")
        Trigger.objects.create(case=case, kind=TriggerKind.AUDIT, inclusion_probability=0.1)
        Trigger.objects.create(case=case, kind=TriggerKind.ANNOTATORS_DIFFER)
        text = text_of(page(client, case))
        for shown in (
            "wrong · the final label of this round (adjudicator&#x27;s decision)",
            *("1 of 4 cases failed", "Careful Judge", "A marked reason of the judge.", LABEL, DECISION),
            "Why the raters differed: bad test",
            f"by Calm Otter {case.pk}, who had labelled it blind before, under revision 1 of the guidelines",
            *("sampled at random (drawn with probability 10 %)", "the annotators differ", "high confidence"),
            "under revision 1 of the guidelines",
        ):
            assert shown in text, shown
        assert "Other Judge" not in text
        assert "refuse right code" not in text
        assert f'href="{answer.get_absolute_url()}"' in page(client, case).content.decode()

    @pytest.mark.parametrize("state", [each for each in CaseState if each not in {"agreed", "final", "reopened"}])
    def test_open_and_void_cases_have_no_page_for_anyone(self, client: Client, state: str) -> None:
        case = agreed(state=state)
        users = (None, UserFactory(is_staff=True), case.implementation.submission.owner)
        assert [page(client, case, user).status_code for user in users] == [404, 404, 404]
        assert listed(client) == []

    def test_a_case_of_a_held_submission_has_no_page(self, client: Client) -> None:
        case = agreed()
        Submission.objects.update(state=SubmissionState.HELD)
        assert (page(client, case).status_code, listed(client)) == (404, [])

    def test_without_a_licence_texts_that_quote_code_are_hidden(self, client: Client) -> None:
        case = final()
        reviewed(case, ReviewerFactory(), "LI", findings=[{**FINDING, "text": "A marked finding."}])
        vote(judged(case.implementation, JudgeFactory(), "CC"), 1, "CC", rationale=["A marked reason."])
        Submission.objects.update(code_licence="")
        text = text_of(page(client, case))
        for hidden in ("return 2 * x", LABEL, DECISION, "A marked finding.", "A marked reason."):
            assert hidden not in text
        assert "The owner has not given a licence to show it." in text
        assert "A marked finding." in text_of(page(client, case, UserFactory(is_staff=True)))

    @pytest.mark.parametrize(("slug", "shown"), [(SHIPPED_SUITE, True), ("secret-suite", False)])
    def test_findings_on_a_secret_golden_function_stay_secret(self, client: Client, slug: str, shown: bool) -> None:
        version = SuiteVersionFactory(suite=SuiteFactory(slug=slug))
        case = agreed(answers(suite_version=version)[0])
        findings = [{**FINDING, "side": "golden", "text": "A marked golden line."}, dict(FINDING)]
        reviewed(case, ReviewerFactory(), "LI", findings=findings)
        text = text_of(page(client, case))
        assert ("A marked golden line." in text) is shown
        assert FINDING["text"] in text

    def test_findings_are_shown_below_their_lines(self, client: Client) -> None:
        source = "def double(x):\n    y = x\n    return y + y\n"
        case = agreed(answers(answer={"goal_source": source})[0])
        findings = [{**FINDING, "text": "second"}, {**FINDING, "start": 90, "end": 99, "text": "beyond the end"}]
        reviewed(case, ReviewerFactory(pseudonym="Bright Wren"), "LI", findings=findings)
        rows = [
            (row.right.number if row.right else None, [(placed.who, placed.finding.text) for placed in row.below])
            for row in page(client, case).context["page"]["code"].comparison.rows
        ]
        wren = [(number, text) for number, below in rows for who, text in below if who == "Bright Wren"]
        assert wren == [(2, "second"), (3, "beyond the end")]

    def test_the_history_omits_annotators_and_private_details(self, client: Client) -> None:
        case = agreed()
        annotator = ReviewerFactory(pseudonym="Hidden Heron")
        queued, leased, one, two = (CaseState(each) for each in ("queued", "leased", "one_label", "two_labels"))
        for before, after in ((queued, leased), (leased, queued), (leased, one), (one, two), (two, CaseState.AGREED)):
            note(case, before=before, after=after, reviewer=annotator, what="a secret what")
        response = page(client, case)
        assert [what for _, what in response.context["page"]["history"]] == [
            "the review was opened",
            "the first label was locked",
            "the second label was locked",
            "closed: the annotators agree",
        ]
        assert not [each for each in ("Hidden Heron", "a secret what") if each in response.content.decode()]

    def test_foreign_text_is_escaped(self, client: Client) -> None:
        case, script = agreed(), "<script>alert(1)</script>"
        findings = [{**FINDING, "text": script}]
        reviewed(case, ReviewerFactory(pseudonym="Bold <b>Bird</b>"), "LI", note=script, findings=findings)
        Trigger.objects.create(case=case, kind=TriggerKind.APPEAL, detail=script)
        shown = page(client, case).content.decode()
        assert (script in shown, "<b>Bird" in shown, shown.count("&lt;script&gt;alert(1)")) == (False, False, 3)


class TestList:
    def test_newest_first_with_each_rater_s_label(self, client: Client) -> None:
        old, new = agreed(days_ago=3), final()
        judge = JudgeFactory()
        show(new.implementation.submission.suite_version.suite, judge)
        judged(new.implementation, judge, "CC")
        judged(old.implementation, judge, "LC")
        TestRunFactory(implementation=new.implementation, done="timeout")
        response: Any = client.get(reverse("cases"))
        rows = response.context["cases"]
        # The other suite's board shows no judge, so the judge that decides disputes is named.
        assert [(row.case, row.judge, [review.label for review in row.case.blind]) for row in rows] == [
            (new, "CC", ["CC", "LC"]),
            (old, "LC", ["LI", "LI"]),
        ]
        assert (rows[0].tests.text, rows[1].tests) == ("timed out", None)
        text = text_of(response)
        assert "timed out CC CC LC LI adjudicator&#x27;s decision bad test" in text
        assert "– LC LI LI LI" in text

    def test_columns_without_any_entry_are_left_out(self, client: Client, version: SuiteVersion) -> None:
        def heads() -> list[str]:
            page = client.get(reverse("cases")).content.decode()
            return re.findall(r'<th [^>]*scope="col"[^>]*>([^<]*)', page)

        results(version, (True, "CC", "LI"))
        assert heads() == ["Case", "System", "Tests", "Judge", "Annotators"]
        agreed()
        assert heads() == ["Case", "System", "Tests", "Judge", "Annotators", "Final", "Closed"]
        final()
        assert heads()[5:] == ["Final", "Reason", "Closed"]

    def test_reported_cases_follow_own_cases_across_pages(
        self, client: Client, version: SuiteVersion, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("leaderboard.web.views.cases.PAGE_SIZE", 2)
        one, two, three, four = ((address(each), True) for each in results(version, *[(True, "CC", "LI")] * 4))
        own = agreed().get_absolute_url(), False
        assert [listed(client, page=str(number)) for number in (1, 2, 3)] == [[own, one], [two, three], [four]]

    def test_only_disagreements_are_cases(self, client: Client) -> None:
        disagree = [(None, "CC", "LI"), (True, "", "LI"), (False, "", "CC"), (None, "LC", "CC")]
        agree = [(None, "LI", "LI"), (True, "CC", "CC"), (True, "LI", ""), (None, "", "")]
        found = results(SuiteVersionFactory(tasks=8), *disagree, *agree)
        assert listed(client) == [(address(each), True) for each in found[:4]]

    def test_filters_narrow_the_list(self, client: Client, version: SuiteVersion) -> None:
        one, two = agreed(), final(reasons=["judge_error", "equivalent"])
        three, four = (address(each) for each in results(version, (True, "CC", "LI"), (None, "LC", "CC")))
        category = CategoryFactory(slug=CATEGORIES[1].slug)
        fourth = version.revisions.order_by("task__paper__folder_name", "task__index")[1]
        for revision in (one.implementation.revision, fourth):
            revision.category = category
            revision.save()
        suite = two.implementation.submission.suite_version.suite.slug
        first, second = one.get_absolute_url(), two.get_absolute_url()
        wanted = {
            ("suite", suite): [second],
            ("suite", version.suite.slug): [three, four],
            ("suite", "no-such-suite"): [second, first, three, four],
            ("category", category.slug): [first, four],
            ("reason", "equivalent"): [second],
            ("reason", "bad_test"): [],
            ("source", "agreed"): [first],
            ("what", "own"): [second, first],
            ("what", "reported"): [three, four],
        }
        for (name, value), expected in wanted.items():
            assert [found for found, _ in listed(client, **{name: value})] == expected, (name, value)
        assert listed(client, what="reported", source="agreed") == []


class TestReportedPage:
    def test_shows_labels_comments_and_links_to_the_code(self, client: Client, version: SuiteVersion) -> None:
        words = {"judge_text": "The judge's <b>own</b> words.", "human_comment": "A comment.", "human_annotator": 2}
        (result,) = results(version, (True, "CC", "LI"), **words)
        response: Any = client.get(address(result))
        text, shown = text_of(response), response.content.decode()
        assert "Reported upstream, not reviewed here." in text
        assert "judge and annotator are two steps apart; the unit test passes, but the annotator labels" in text
        assert "LI wrong by annotator 2" in text
        category = version.revisions.get(task=result.task).category
        assert f"{result.task.slug} · {escape(category.title)}" in text
        system = result.run.system.get_absolute_url()
        for link in ("https://example.org/results", result.task.get_absolute_url(), system):
            assert f'href="{link}"' in shown
        # Imported text is quoted, folded and escaped.
        assert text.count("The judge’s text") + text.count("The annotator’s comment") == 2
        assert ("The judge&#x27;s &lt;b&gt;own&lt;/b&gt; words." in shown, "A comment." in shown) == (True, True)

    def test_an_unpublished_run_has_no_cases(self, client: Client, version: SuiteVersion) -> None:
        (result,) = results(version, (True, "CC", "LI"))
        Entry.objects.update(published=False)
        assert (client.get(address(result)).status_code, listed(client)) == (404, [])


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


class TestReview:
    def test_an_open_review_shows_only_that_it_is_open(self, client: Client, answer: Implementation) -> None:
        case = case_of(answer, state=CaseState.ONE_LABEL)
        reviewed(case, ReviewerFactory(pseudonym="Marked Moth"), "LI", note="A marked note.")
        for user in (None, UserFactory(is_staff=True), answer.submission.owner):
            response = page(client, answer, user)
            text = text_of(response)
            assert "in review" in text
            link = f'href="{case.get_absolute_url()}"'
            for hidden in ("final label", "Final label", "Marked Moth", "A marked note.", link):
                assert hidden not in response.content.decode()

    def test_during_an_appeal_the_old_label_stays_and_new_labels_are_hidden(
        self, client: Client, answer: Implementation
    ) -> None:
        old = case_of(answer, state=CaseState.REOPENED, label="LI", source=FinalSource.DECISION)
        decided(old, ReviewerFactory(adjudicator=True), "LI")
        new = case_of(answer, state=CaseState.ONE_LABEL, round=2)
        reviewed(new, ReviewerFactory(), "CC")
        text = text_of(page(client, answer))
        assert "LI wrong · final label (adjudicator&#x27;s decision), until the open review ends" in text
        assert "CC final label" not in text


class TestAppeal:
    def test_an_owner_s_appeal_opens_a_review(self, client: Client, answer: Implementation, alice: User) -> None:
        client.force_login(alice)
        response: Any = client.post(address_of(answer, "appeal"), {"evidence": EVIDENCE}, follow=True)
        assert response.redirect_chain == [(f"{answer.get_absolute_url()}#top", 302)]
        assert "Your appeal is received" in text_of(response)
        assert "in review" in text_of(response)
        trigger = Trigger.objects.get()
        assert (trigger.kind, trigger.detail, trigger.raised_by) == (TriggerKind.APPEAL, EVIDENCE, alice)
        assert Case.objects.get().severity == Severity.APPEAL

    def test_only_the_owner_is_offered_an_appeal(self, client: Client, answer: Implementation) -> None:
        for user in (None, UserFactory(), ready(adjudicator=True).user):
            assert 'id="appeal"' not in page(client, answer, user).content.decode()

    def test_an_error_keeps_the_typed_text(self, client: Client, answer: Implementation, alice: User) -> None:
        client.force_login(alice)
        response: Any = client.post(address_of(answer, "appeal"), {"evidence": "Too short."})
        assert (response.status_code, "at least 30 characters" in text_of(response)) == (422, True)
        assert ">\nToo short.</textarea>" in response.content.decode()
        assert not Trigger.objects.exists()
