"""Triggers that open a case, by rule or random draw, and that send two labels to an adjudicator."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from evaluator.models import TestRun
from reviews.cases import voiding
from reviews.cases.sampling import drawn
from reviews.cases.triggers import (
    NewTrigger,
    after_labels,
    consider,
    consider_missed,
    consider_submission,
    open_case,
    store_triggers,
)
from reviews.enums import CaseState, FinalSource, Severity, TriggerKind
from reviews.models import Case, CaseEvent, Trigger
from submissions.enums import Kind, SubmissionState, Visibility
from submissions.models import Implementation, Submission
from tests.evaluator.factories import TestRunFactory
from tests.leaderboard.judging import JudgeFactory, judged, show
from tests.reviews.factories import answers, case_of, rated, shares

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from evaluator.models import JudgeConfig

pytestmark = pytest.mark.django_db
ROWS = range(1, 4001)


def taken(purpose: str, share: float) -> set[int]:
    return {pk for pk in ROWS if drawn(purpose, pk, share)}


@pytest.mark.both_databases
def test_draws_keep_their_share_repeat_and_are_independent(settings: Any) -> None:
    settings.SECRET_KEY = "a-key-for-drawing"
    first, half = taken("audit", 0.1), taken("audit", 0.5)
    # 400 expected, standard deviation 19; 1000 for both purposes, standard deviation 27.
    assert 340 < len(first) < 460
    assert 900 < len(half & taken("repeat", 0.5)) < 1100
    assert taken("audit", 0.1) == first < half
    assert (taken("audit", 0.0), taken("audit", 1.0)) == (set(), set(ROWS))
    settings.SECRET_KEY = "another-key"
    assert taken("audit", 0.1) != first


@pytest.fixture(autouse=True)
def nothing_is_drawn(settings: Any) -> Iterator[None]:
    """Disable random draws, and forget earlier sweeps."""
    shares(settings, audit=0, gap=0)
    cache.clear()
    yield
    cache.clear()


def of(case: Case | None) -> list[tuple[str, float]]:
    assert case is not None
    return list(case.triggers.order_by("pk").values_list("kind", "inclusion_probability"))


class TestRules:
    @pytest.mark.parametrize(
        ("outcome", "label", "opens"),
        [
            ("passed", "LI", True),
            ("passed", "LC", False),
            ("passed", "CC", False),
            ("wrong_output", "CC", True),
            ("wrong_output", "LC", False),
            ("wrong_output", "LI", False),
            ("raised", "CC", False),
        ],
    )
    @pytest.mark.both_databases
    def test_tests_and_judge_contradict_each_other(
        self, judge: JudgeConfig, outcome: str, label: str, opens: bool
    ) -> None:
        case = consider(rated(judge, outcome, label))
        if not opens:
            assert case is None
            return
        assert case is not None
        assert (case.state, case.severity, case.round, case.kind) == ("queued", 40, 1, "review")
        (trigger,) = case.triggers.all()
        assert (trigger.kind, trigger.inclusion_probability) == ("tests_oppose", 1.0)
        assert trigger.detail == f"unit tests: {outcome.replace('_', ' ')}; judge: {label}"
        (event,) = case.events.all()
        assert (event.before, event.after, event.what) == ("", "queued", "opened")

    @pytest.mark.both_databases
    def test_an_answer_that_used_what_the_test_lacks_does_not_wait_for_the_judge(self, judge: JudgeConfig) -> None:
        (answer,) = answers()
        TestRunFactory(implementation=answer, done="test_lacks")
        case = consider(answer)
        assert case is not None
        assert (case.state, case.severity) == ("queued", Severity.CONTRADICTION)
        (trigger,) = case.triggers.all()
        assert (trigger.kind, trigger.detail) == ("test_lacks", "used what the test lacks")
        assert trigger.inclusion_probability == 1.0
        # The judge's verdict adds nothing: it does not contradict a test that says nothing.
        assert of(consider(rated(judge, "test_lacks", "CC"))) == [("test_lacks", 1.0)]

    @pytest.mark.parametrize(
        ("label", "facts", "words"),
        [
            ("CC", {"split": True}, "its votes were split"),
            ("", {}, "it abstained"),
            ("LC", {"injection_suspected": True}, "it suspects text written to influence judges"),
            ("LI", {"surface_sensitive": True}, "its label changes with the comments"),
        ],
    )
    def test_the_judge_is_unsure(self, judge: JudgeConfig, label: str, facts: dict[str, bool], words: str) -> None:
        case = consider(rated(judge, "raised", label, **facts))
        assert case is not None
        assert case.severity == Severity.UNSURE
        assert [(trigger.kind, trigger.detail) for trigger in case.triggers.all()] == [("judge_unsure", words)]

    def test_every_judged_answer_may_be_audited(self, settings: Any, judge: JudgeConfig) -> None:
        shares(settings, audit=1)
        assert of(consider(rated(judge, "passed", "CC"))) == [("audit", 1.0)]
        assert of(consider(rated(judge, "passed", "LI"))) == [("tests_oppose", 1.0), ("audit", 1.0)]
        (unjudged,) = answers()
        TestRunFactory(implementation=unjudged, done="passed")
        assert consider(unjudged) is None

    def test_the_audit_probability_is_stored(
        self, settings: Any, judge: JudgeConfig, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        shares(settings, audit=0.25)
        monkeypatch.setattr("reviews.cases.triggers.drawn", lambda name, _, share: (name, share) == ("audit", 0.25))
        case = consider(rated(judge, "passed", "CC"))
        assert of(case) == [("audit", 0.25)]
        assert case is not None
        assert case.severity == Severity.AUDIT

    def test_the_shown_judge_counts_or_else_another_active_one(self, judge: JudgeConfig) -> None:
        other, retired = JudgeFactory(), JudgeFactory(active=False)
        agreeing = rated(judge, "passed", "CC")
        judged(agreeing, other, "LI")
        assert consider(agreeing) is None
        undecided = rated(judge, "passed", "", state="running", abstained=False)
        judged(undecided, retired, "LI")
        assert consider(undecided) is None
        judged(undecided, other, "LI")
        assert of(consider(undecided)) == [("tests_oppose", 1.0)]

    def test_a_superseded_run_does_not_count(self, judge: JudgeConfig) -> None:
        answer = rated(judge, "passed", "LI")
        TestRunFactory(implementation=answer, done="raised", seed_epoch=2, supersedes=TestRun.objects.get())
        assert consider(answer) is None


@pytest.mark.parametrize(
    "facts",
    [
        {"visibility": Visibility.PRIVATE},
        {"visibility": Visibility.HIDDEN},
        {"visibility": Visibility.WITHDRAWN},
        {"code_licence": ""},
        {"kind": Kind.CALIBRATION},
        {"state": SubmissionState.HELD},
        {},
    ],
)
def test_only_ranked_published_and_scored_answers_with_code_are_reviewed(
    settings: Any, judge: JudgeConfig, facts: dict[str, Any]
) -> None:
    shares(settings, audit=1)
    answer = rated(judge, "passed", "LI")
    if facts:
        Submission.objects.update(**facts)
    else:
        Implementation.objects.update(attempted=False)
    assert (consider(answer), consider_submission(answer.submission_id), consider_missed()) == (None, 0, 0)


class TestAgain:
    @pytest.mark.both_databases
    def test_considering_twice_changes_nothing(self, settings: Any, judge: JudgeConfig) -> None:
        shares(settings, audit=1)
        answer = rated(judge, "passed", "LI")
        assert consider(answer) == consider(answer)
        assert consider_submission(answer.submission_id) == 0
        assert open_case(answer.pk, [NewTrigger(TriggerKind.AUDIT, Severity.AUDIT)]) is None
        assert (Case.objects.count(), Trigger.objects.count(), CaseEvent.objects.count()) == (1, 2, 1)

    @pytest.mark.parametrize("state", [CaseState.QUEUED, CaseState.LEASED])
    def test_an_unlabelled_case_gets_further_triggers(self, judge: JudgeConfig, state: CaseState) -> None:
        answer = rated(judge, "passed", "LI")
        case = case_of(answer, severity=Severity.AUDIT, state=state)
        Trigger.objects.create(case=case, kind=TriggerKind.AUDIT, inclusion_probability=0.1)
        assert of(consider(answer)) == [("audit", 0.1), ("tests_oppose", 1.0)]
        case.refresh_from_db()
        assert case.severity == Severity.CONTRADICTION

    def test_a_severity_is_never_lowered(self, judge: JudgeConfig) -> None:
        answer = rated(judge, "raised", "CC", split=True)
        case = case_of(answer, severity=Severity.APPEAL)
        assert of(consider(answer)) == [("judge_unsure", 1.0)]
        case.refresh_from_db()
        assert case.severity == Severity.APPEAL

    @pytest.mark.parametrize("state", [CaseState.ONE_LABEL, CaseState.ADJUDICATING, CaseState.FINAL])
    def test_a_labelled_case_gets_only_the_audit_trigger(
        self, settings: Any, judge: JudgeConfig, state: CaseState
    ) -> None:
        shares(settings, audit=1)
        answer = rated(judge, "passed", "LI")
        case = case_of(answer, state=state)
        assert of(consider(answer)) == [("audit", 1.0)]
        case.refresh_from_db()
        assert (case.state, case.round, Case.objects.count()) == (state, 1, 1)


class TestAgreed:
    def agreed(self, answer: Implementation) -> Case:
        return case_of(answer, state=CaseState.AGREED, label="LI", source="agreed", closed=timezone.now())

    def test_a_later_verdict_two_steps_away_disputes_the_case(
        self, judge: JudgeConfig, heard: list[Case], committing: Callable[[], Any]
    ) -> None:
        answer = rated(judge, "raised", "CC")
        case = self.agreed(answer)
        with committing():
            consider(answer)
        case.refresh_from_db()
        assert (case.state, case.label, case.source, case.closed, case.severity) == ("disputed", "", "", None, 50)
        assert (of(case), heard) == ([("judge_opposes", 1.0)], [case])

    @pytest.mark.parametrize("verdict", ["LC", "LI", ""])
    def test_a_later_verdict_one_step_away_does_not(self, judge: JudgeConfig, verdict: str) -> None:
        answer = rated(judge, "raised", verdict)
        case = self.agreed(answer)
        consider(answer)
        case.refresh_from_db()
        assert (case.state, case.label, of(case)) == ("agreed", "LI", [])

    def test_a_repeated_trigger_does_not(self, judge: JudgeConfig) -> None:
        answer = rated(judge, "raised", "CC")
        case = self.agreed(answer)
        Trigger.objects.create(case=case, kind=TriggerKind.JUDGE_OPPOSES)
        consider(answer)
        case.refresh_from_db()
        assert case.state == CaseState.AGREED


class TestAfterLabels:
    def case(self, judge: JudgeConfig, outcome: str = "raised", verdict: str = "LC", **facts: Any) -> Case:
        return case_of(rated(judge, outcome, verdict, **facts), state=CaseState.TWO_LABELS)

    def found(self, case: Case, *labels: str) -> list[tuple[str, int, float]]:
        one, other = labels
        return [(each.kind, each.severity, each.inclusion_probability) for each in after_labels(case, (one, other))]

    @pytest.mark.parametrize(
        ("outcome", "verdict", "labels", "found"),
        [
            ("raised", "LC", ("LI", "CC"), [("humans_differ", 50, 1.0)]),
            ("raised", "LC", ("CC", "LI"), [("humans_differ", 50, 1.0)]),
            ("raised", "LC", ("CC", "LC"), [("humans_differ", 40, 1.0)]),
            ("raised", "CC", ("LI", "LI"), [("judge_opposes", 50, 1.0)]),
            ("raised", "LI", ("CC", "CC"), [("judge_opposes", 50, 1.0)]),
            ("passed", "LC", ("LI", "LI"), [("tests_oppose", 40, 1.0)]),
            ("wrong_output", "LC", ("CC", "CC"), [("tests_oppose", 40, 1.0)]),
            ("passed", "CC", ("CC", "CC"), []),
            ("raised", "", ("LI", "LI"), []),
        ],
    )
    def test_contradictions_between_raters(
        self, judge: JudgeConfig, outcome: str, verdict: str, labels: tuple[str, str], found: list[Any]
    ) -> None:
        assert self.found(self.case(judge, outcome, verdict), *labels) == found

    def test_without_tests_and_judge_equal_labels_suffice(self) -> None:
        assert after_labels(case_of(), ("LC", "LC")) == []

    def test_one_step_from_the_judge_is_sampled(
        self, settings: Any, judge: JudgeConfig, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        shares(settings, gap=0.2)
        case = self.case(judge)
        purposes = []

        def draw(purpose: str, pk: int, share: float) -> bool:
            purposes.append((purpose, pk, share))
            return len(purposes) == 1

        monkeypatch.setattr("reviews.cases.triggers.drawn", draw)
        assert self.found(case, "CC", "CC") == [("judge_gap", 20, 0.2)]
        assert self.found(case, "CC", "CC") == []
        assert purposes == [("judge gap", case.implementation_id, 0.2)] * 2

    def test_an_appeal_always_goes_to_an_adjudicator(self, judge: JudgeConfig) -> None:
        case = self.case(judge)
        Trigger.objects.create(case=case, kind=TriggerKind.APPEAL, detail="Look at line 3.")
        found = after_labels(case, ("LC", "LC"))
        assert [(each.kind, each.severity) for each in found] == [("appeal", 60)]
        store_triggers(case, found)
        assert [trigger.detail for trigger in case.triggers.all()] == ["Look at line 3."]
        assert case.severity == Severity.APPEAL


@pytest.mark.both_databases
class TestCatchingUp:
    def test_lost_signals_are_found_once(self, judge: JudgeConfig) -> None:
        rated(judge, "passed", "LI")
        rated(judge, "passed", "CC")
        assert (consider_missed(), consider_missed()) == (1, 0)
        rated(judge, "wrong_output", "CC")
        assert consider_missed() == 1

    def test_answers_considered_long_ago_are_skipped(self, judge: JudgeConfig) -> None:
        consider_missed()
        old = timezone.now() - timedelta(days=1)
        answer = rated(judge, "passed", "LI", finished=old)
        Submission.objects.filter(pk=answer.submission_id).update(published_at=old)
        assert consider_missed() == 0
        Submission.objects.filter(pk=answer.submission_id).update(published_at=timezone.now())
        assert consider_missed() == 1

    def test_one_query_without_changes(self) -> None:
        consider_missed()
        with CaptureQueriesContext(connection) as queries:
            consider_missed()
        statements = [query["sql"] for query in queries if "shared_cache" not in query["sql"]]
        assert len([sql for sql in statements if sql.startswith("SELECT")]) == 1


@pytest.mark.parametrize("number", [2, 6])
@pytest.mark.both_databases
def test_queries_do_not_grow_with_the_answers(judge: JudgeConfig, number: int, django_assert_num_queries: Any) -> None:
    made = answers(number)
    show(made[0].submission.suite_version.suite, judge)
    for answer in made:
        TestRunFactory(implementation=answer, done="passed")
        judged(answer, judge, "CC")
    voiding.end(case_of(made[0]), what="the environment was broken")
    case_of(made[1], state=CaseState.FINAL, source=FinalSource.DECISION, label="CC")
    with django_assert_num_queries(6):
        assert consider_submission(made[0].submission_id) == 0
