"""Judges: the list, one judge, adding and retiring one, and the board's differences with another judge."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.html import escape

from benchmark_tasks.enums import AuditState
from benchmark_tasks.models import TaskRevision
from evaluator.enums import WorkState
from evaluator.judging.health import summarise
from evaluator.judging.prompt import CUT_PAPER, NO_PAPER, RUBRIC, WHOLE_PAPER
from evaluator.models import JudgeConfig, JudgeHealth, Judgement, ShownJudge
from leaderboard.board.entries import recompute_submission
from leaderboard.insight import judge_differences
from leaderboard.insight.judge_differences import compare
from leaderboard.insight.judges import Verdicts, judge_facts, list_judges
from submissions.enums import Api, Kind, Provider, Visibility
from submissions.models import Endpoint, Submission
from tests.benchmark_tasks.factories import SuiteFactory, SuiteVersionFactory
from tests.leaderboard.judging import JudgeFactory, judged, show, vote
from tests.leaderboard.showing import counted, text_of, words_of
from tests.submissions.factories import SubmissionFactory, SystemFactory, UserFactory, with_answers

if TYPE_CHECKING:
    Judges = tuple[JudgeConfig, JudgeConfig]
    from benchmark_tasks.models import SuiteVersion
    from submissions.models import Implementation, User

pytestmark = pytest.mark.django_db


def rate(count: int, n: int, low: float | None = None, high: float | None = None) -> dict[str, Any]:
    return {"count": count, "n": n, "value": count / n if n else None, "low": low, "high": high}


SUMMARY = {
    "sensitivity": rate(9, 10, 0.596, 0.982),
    "injection_resistance": rate(1, 4, 0.046, 0.699),
    "repeatability": rate(0, 0),
    "table": {"golden": {"CC": 9, "LC": 1, "LI": 0, "abstained": 0}},
    "missed": ["injection_resistance"],
}
CANARY: dict[str, Any] = {"canary": "dpo/1 <b>golden</b>", "task": "dpo/1", "kind": "golden", "expected": ["CC"]}
CANARY |= {"labels": ["CC", "CC", ""], "ok": True, "abstained": False}


def checked(config: JudgeConfig, **facts: Any) -> JudgeHealth:
    now = timezone.now()
    given = {"summary": SUMMARY, "results": [CANARY], "started": now, "finished": now, **facts}
    made: JudgeHealth = JudgeHealth.objects.create(config=config, **given)
    return made


def published_answer(**submission: Any) -> Implementation:
    made: Implementation = with_answers(SubmissionFactory(published=True, **submission), 1)[0]
    recompute_submission(made.submission_id)
    return made


def endpoint_of(owner: User, **facts: Any) -> Endpoint:
    made: Endpoint = Endpoint.objects.create(
        **{
            "owner": owner,
            "name": "My model",
            "provider": Provider.OPENAI,
            "api": Api.CHAT,
            "base_url": "https://models.example.org/v1",
            "model": "careful-2026-05",
            "sealed_key": "sealed-secret",
            **facts,
        }
    )
    return made


class TestList:
    def test_lists_each_judge_s_suites_and_health(self, client: Client) -> None:
        retired, active = JudgeFactory(name="Old", active=False), JudgeFactory(name="New")
        answer = published_answer()
        show(answer.submission.suite_version.suite, active)
        judged(answer, active, "CC", dollars=Decimal("0.02"))
        judged(published_answer(), active, "LI", dollars=Decimal("0.04"))
        checked(active, summary={}, finished=timezone.now() - timedelta(days=1))
        newest = checked(active)
        first, second = list_judges()
        assert first["config"] == active
        assert (first["verdicts"].judged, first["verdicts"].dollars) == (2, Decimal("0.03"))
        assert first["suites"] == [answer.submission.suite_version.suite]
        assert first["health"]["row"] == newest
        names = ("name", "percent", "count", "n", "missed")
        assert [tuple(each[name] for name in names) for each in first["health"]["rates"]] == [
            ("Sensitivity", 90.0, 9, 10, False),
            ("Injection resistance", 25.0, 1, 4, True),
            ("Repeatability", None, 0, 0, False),
        ]
        assert (second["config"], second["verdicts"], second["health"]) == (retired, Verdicts(), None)
        text = text_of(client.get("/judges/"))  # type: ignore[arg-type]
        assert "Injection resistance 25.0 % [4.6, 69.9] 1 of 4 misses its threshold" in text
        assert "Repeatability undefined" in text

    def test_the_empty_page_links_to_the_documentation(self, client: Client) -> None:
        response = client.get("/judges/")
        assert "No judge is configured, so nothing is judged yet." in text_of(response)  # type: ignore[arg-type]
        assert 'href="/docs/judging/"' in response.content.decode()

    def test_a_round_without_results_leaves_its_rates_undefined(self, client: Client) -> None:
        checked(JudgeFactory(), summary=summarise([]), results=[], error="The key was refused.")
        (only,) = list_judges()
        rates = [(each["percent"], each["n"], each["missed"]) for each in only["health"]["rates"]]
        assert rates == [(None, 0, False)] * 6
        assert (only["health"]["misses"], only["health"]["table"]) == ([], [])
        assert "Injection resistance undefined" in text_of(client.get("/judges/"))  # type: ignore[arg-type]


class TestPage:
    def test_shows_each_health_check_also_an_aborted_one(self, client: Client) -> None:
        config = JudgeFactory()
        checked(config)
        checked(config, summary={}, results=[], error="The provider said <no>.")
        page = client.get(config.get_absolute_url()).content.decode()
        assert "dpo/1 &lt;b&gt;golden&lt;/b&gt;" in page
        assert "The provider said &lt;no&gt;." in page
        assert page.count('class="health"') == 2

    def test_shows_its_prompt_and_prices_and_not_its_address(self, client: Client) -> None:
        config = JudgeFactory(price_input=Decimal("2.5"), price_output=Decimal(10))
        page = client.get(config.get_absolute_url()).content.decode()
        for text in (config.digest, "careful-2026-05", "US $ 2.5 in, 10 out", escape(RUBRIC.splitlines()[0])):
            assert text in page
        assert all(escape(sentence) in page for sentence in (WHOLE_PAPER, CUT_PAPER, NO_PAPER))
        assert "models.example.org" not in page

    def test_labels_splits_and_flags_count_published_answers_only(self) -> None:
        config = JudgeFactory()
        for label, labels, facts in (
            ("CC", ("CC", "CC", "LC"), {"surface_sensitive": True}),
            ("CC", ("CC", "CC", "CC"), {}),
            ("", ("CC", "LI", ""), {"injection_suspected": True}),
        ):
            row = judged(published_answer(), config, label, **facts)
            for sample, each in enumerate(labels, start=1):
                vote(row, sample, each)
        private = judged(with_answers(SubmissionFactory(), 1)[0], config, "LI")
        vote(private, 1, "LI")
        found = judge_facts(config)["verdicts"]
        assert found.labels == {"CC": 2, "LC": 0, "LI": 0, "abstained": 1}
        assert found.splits == [("1 CC, 1 LI, 1 abstained", 1), ("2 CC, 1 LC", 1), ("3 CC", 1)]
        assert (found.judged, found.sensitive, found.suspected) == (3, 1, 1)
        Submission.objects.update(visibility=Visibility.WITHDRAWN)
        assert judge_facts(config)["verdicts"] == Verdicts()

    def test_family_overlap_is_disclosed(self, client: Client) -> None:
        config = JudgeFactory(vendor="Careful")
        for system in (
            SystemFactory(name="By backbone", backbone="careful-1"),
            SystemFactory(name="By organisation", organisation="Careful Ltd"),
            SystemFactory(name="Of others"),
        ):
            judged(published_answer(system=system), config, "CC")
        secret = with_answers(SubmissionFactory(system=SystemFactory(name="Secret", backbone="careful-2")), 1)[0]
        judged(secret, config, "CC")
        published_answer(system=SystemFactory(name="Not judged", backbone="careful-3"))
        assert [system.name for system in judge_facts(config)["related"]] == ["By backbone", "By organisation"]
        page = text_of(client.get(config.get_absolute_url()))  # type: ignore[arg-type]
        assert "It judges systems of its own family." in page
        assert "Secret" not in page


class TestActing:
    def test_a_judge_is_made_from_one_s_own_endpoint(self, client: Client, maintainer: User) -> None:
        endpoint = endpoint_of(maintainer)
        others = endpoint_of(UserFactory(), name="Somebody's model")
        client.force_login(maintainer)
        page = client.get(reverse("judge_form")).content.decode()
        assert ("My model" in page, "Somebody" in page, "sealed-secret" in page) == (True, False, False)
        typed = {"endpoint": endpoint.pk, "name": "Careful", "vendor": "Careful", "votes": 3, "votes_when_split": 5}
        refused = client.post(reverse("judge_add"), {**typed, "endpoint": others.pk})
        assert (refused.status_code, JudgeConfig.objects.count()) == (422, 0)
        assert "You have no such endpoint." in refused.content.decode()
        refused = client.post(reverse("judge_add"), {**typed, "votes": 4, "votes_when_split": 3})
        for text in ("Give an odd number", "Give at least the number of votes (4).", 'value="Careful"'):
            assert text in refused.content.decode()
        response = client.post(reverse("judge_add"), typed)
        made = JudgeConfig.objects.get()
        assert response["Location"] == made.get_absolute_url()
        assert (made.name, made.votes, made.votes_when_split, made.created_by) == ("Careful", 3, 5, maintainer)

    def test_a_suite_s_answers_can_be_queued_for_judging(self, client: Client, maintainer: User) -> None:
        config, answer = JudgeFactory(name="New"), published_answer()
        suite = answer.submission.suite_version.suite
        client.force_login(maintainer)
        address = reverse("judge_plan", args=[config.slug])
        for given, text in (
            ("none", "Choose an existing suite."),
            (suite.slug, f"1 answer waits for New on {suite.title}."),
            (suite.slug, f"Nothing new waits for New on {suite.title}."),
        ):
            assert text in client.post(address, {"suite": given}, follow=True).content.decode()
        assert Judgement.objects.get().implementation == answer

    def test_held_answers_are_shown_to_maintainers_with_the_command(self, client: Client, maintainer: User) -> None:
        config = JudgeFactory(name="New", slug="newest")
        Judgement.objects.create(config=config, implementation=published_answer(), state=WorkState.HELD)
        expected = (
            "1 answer is held after an error. Correct its cause, then restart it: "
            "manage.py judge --pending --config newest --retry-held"
        )
        assert expected not in text_of(client.get(config.get_absolute_url()))  # type: ignore[arg-type]
        client.force_login(maintainer)
        assert expected in text_of(client.get(config.get_absolute_url()))  # type: ignore[arg-type]

    def test_a_judge_can_be_retired_once(self, client: Client, maintainer: User) -> None:
        config = JudgeFactory(name="Old")
        client.force_login(maintainer)
        for text in ("Old is retired. Its labels stay.", "This judge is already retired."):
            response = client.post(reverse("judge_retire", args=[config.slug]), follow=True)
            assert text in response.content.decode()


@pytest.fixture
def version() -> SuiteVersion:
    made: SuiteVersion = SuiteVersionFactory(suite=SuiteFactory(slug="lmr-mini", position=1), tasks=2)
    return made


@pytest.fixture
def two_judges(version: SuiteVersion) -> Judges:
    """The judge that the board shows, and a new one."""
    old, new = JudgeFactory(name="Old Judge"), JudgeFactory(name="New Judge")
    show(version.suite, old)
    return old, new


def labelled(version: SuiteVersion, two_judges: Judges, name: str, before: str, after: str, **facts: Any) -> Submission:
    """A published, scored submission with labels like ``CC LI`` of both judges; ``-``: abstained, ``?``: not judged."""
    submission = counted(version, **{"system": SystemFactory(name=name), "published": True, **facts})
    answers = list(submission.implementations.order_by("revision_id", "trial"))
    for config, labels in zip(two_judges, (before, after), strict=True):
        for answer, label in zip(answers, labels.split(), strict=True):
            if label != "?":
                judged(answer, config, label.strip("-"))
    recompute_submission(submission.pk)
    return submission


def address(config: JudgeConfig) -> str:
    return f"{reverse('judge_differences', args=[config.slug])}?suite=lmr-mini"


def test_compare_counts_moved_labels_and_waiting_answers(version: SuiteVersion, two_judges: Judges) -> None:
    first = labelled(version, two_judges, "Alpha", "CC LI", "LC LI")
    labelled(version, two_judges, "Beta", "- CC", "CC ?")
    found = compare(version=version, old=two_judges[0], new=two_judges[1])
    assert (found.answers, found.both, found.waiting) == (4, 3, 1)
    assert [(each.submission.system.name, old, new) for each, old, new in found.moved] == [
        ("Alpha", "CC", "LC"),
        ("Beta", "abstained", "CC"),
    ]
    assert found.moved[0][0] == first.implementations.order_by("revision_id")[0]
    assert found.matrix == [
        ("CC", [0, 1, 0, 0]),
        ("LC", [0, 0, 0, 0]),
        ("LI", [0, 0, 1, 0]),
        ("abstained", [1, 0, 0, 0]),
    ]


def test_ranks_count_cc_with_ties_on_counted_tasks(version: SuiteVersion, two_judges: Judges) -> None:
    labelled(version, two_judges, "Alpha", "CC CC", "CC LI")
    labelled(version, two_judges, "Beta", "CC LI", "CC CC")
    labelled(version, two_judges, "Gamma", "LI CC", "LI CC")
    labelled(version, two_judges, "Sample", "CC CC", "CC CC", kind=Kind.CALIBRATION)
    rows = compare(version=version, old=two_judges[0], new=two_judges[1]).ranks
    assert [(row.entry.system.name, row.before, row.before_rank, row.after, row.after_rank) for row in rows] == [
        ("Beta", 1, 2, 2, 1),
        ("Alpha", 2, 1, 1, 2),
        ("Gamma", 1, 2, 1, 2),
    ]
    assert {row.tasks for row in rows} == {2}
    weak = version.revisions.order_by("pk")[0]
    TaskRevision.objects.filter(pk=weak.pk).update(audit_state=AuditState.WEAK)
    for submission in Submission.objects.all():
        recompute_submission(submission.pk)
    rows = compare(version=version, old=two_judges[0], new=two_judges[1]).ranks
    assert {row.entry.system.name: (row.before, row.after, row.tasks) for row in rows} == {
        "Alpha": (1, 0, 1),
        "Beta": (0, 1, 1),
        "Gamma": (1, 1, 1),
    }


def test_of_many_rows_and_answers_the_best_and_the_newest_are_listed(
    client: Client, version: SuiteVersion, two_judges: Judges, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge_differences, "LISTED", 2)
    for name in ("Alpha", "Beta", "Gamma"):
        labelled(version, two_judges, name, "CC LI", "LI CC")
    labelled(version, two_judges, "Delta", "CC LI", "CC CC")
    found = compare(version=version, old=two_judges[0], new=two_judges[1])
    assert (found.moves, [answer.submission.system.name for answer, _, _ in found.moved]) == (7, ["Delta", "Gamma"])
    assert [(row.entry.system.name, row.after_rank) for row in found.ranks] == [("Delta", 1), ("Alpha", 2)]
    assert found.ranks_that_move == 3
    assert "2 of 7, those of the newest submissions" in words_of(client.get(address(two_judges[1])))


def test_unpublished_answers_are_not_counted(version: SuiteVersion, two_judges: Judges) -> None:
    labelled(version, two_judges, "Secret Weapon", "CC CC", "LI LI", published=False)
    found = compare(version=version, old=two_judges[0], new=two_judges[1])
    assert (found.answers, found.moved, found.ranks) == (0, [], [])


def test_without_a_suite_that_with_most_public_verdicts_is_compared(
    client: Client, version: SuiteVersion, two_judges: Judges
) -> None:
    other = SuiteVersionFactory(suite=SuiteFactory(slug="other", position=2), tasks=2)
    show(other.suite, two_judges[0])
    labelled(version, two_judges, "Alpha", "CC LI", "LC ?")
    labelled(version, two_judges, "Private", "CC CC", "LI LI", published=False)
    labelled(other, two_judges, "Beta", "CC LI", "LI CC")
    differences = f"/api/v1/judges/{two_judges[1].slug}/differences"
    assert client.get(differences).json()["suite"] == "other"
    labelled(version, two_judges, "Gamma", "CC LI", "LC LI")
    assert client.get(differences).json()["suite"] == "lmr-mini"


def test_the_differences_are_public_and_only_maintainers_can_show_the_judge(
    client: Client, version: SuiteVersion, two_judges: Judges
) -> None:
    labelled(version, two_judges, "Alpha", "CC LI", "LI ?")
    page = words_of(client.get(address(two_judges[1])))
    assert "1 of 2 answers judged by both; 1 label would move, 0 places would change." in page
    assert ("Show New Judge on the board" in page, "Alpha" in page) == (False, True)
    client.force_login(UserFactory(is_staff=True))
    assert "Show New Judge on the board" in client.get(address(two_judges[1])).content.decode()
    assert "Show Old Judge on the board" not in client.get(address(two_judges[0])).content.decode()


def test_showing_a_judge_changes_the_board(client: Client, version: SuiteVersion, two_judges: Judges) -> None:
    labelled(version, two_judges, "Alpha", "CC LI", "LC LI")
    client.force_login(UserFactory(is_staff=True, username="carol@mail.example"))
    action = reverse("judge_show", args=[two_judges[1].slug])
    typed = {"suite": "lmr-mini", "instead_of": two_judges[0].slug, "reason": "Healthier."}
    for changes, text in (
        ({"reason": ""}, "This field is required."),
        ({"instead_of": "none"}, "The board now shows another judge."),
    ):
        refused = client.post(action, {**typed, **changes})
        assert (refused.status_code, text in refused.content.decode()) == (422, True)
        assert ("Healthier." in refused.content.decode()) is ("reason" not in changes)
        assert ShownJudge.objects.get().config == two_judges[0]
    response = client.post(action, typed, follow=True)
    assert response.redirect_chain == [("/board/lmr-mini/", 302)]
    assert "now shows New Judge in 1 row." in response.content.decode()
    assert ShownJudge.objects.get().config == two_judges[1]
    page = words_of(client.get(two_judges[0].get_absolute_url()))
    assert f"changed from {two_judges[0].slug} to {two_judges[1].slug} , by carol: Healthier." in page
    assert "Healthier." not in client.get(JudgeFactory().get_absolute_url()).content.decode()


def test_an_unhealthy_judge_has_a_warning(client: Client, two_judges: Judges) -> None:
    new = two_judges[1]
    assert "was never checked with canaries" in client.get(address(new)).content.decode()
    rate = {"value": 0.0, "low": 0.0, "high": 0.4, "count": 0, "n": 5}
    summary = {"injection_resistance": rate, "missed": ["injection_resistance"]}
    now = timezone.now()
    health = JudgeHealth.objects.create(config=new, summary=summary, started=now, finished=now)
    assert "failed its newest health check" in client.get(address(new)).content.decode()
    health.summary = {"injection_resistance": {**rate, "value": 1.0}, "missed": []}
    health.save()
    assert "health check" not in client.get(address(new)).content.decode()
