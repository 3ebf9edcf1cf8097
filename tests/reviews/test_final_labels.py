"""The final label of an answer, and whose it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from reviews.cases.final_labels import final_labels, human_labels
from reviews.enums import CaseKind, CaseState, Role
from tests.leaderboard.judging import JudgeFactory, judged
from tests.reviews.factories import ReviewerFactory, answers, case_of, decided, reviewed

if TYPE_CHECKING:
    from evaluator.models import JudgeConfig
    from reviews.models import Case
    from submissions.models import Implementation

pytestmark = pytest.mark.django_db


@pytest.fixture
def judge() -> JudgeConfig:
    made: JudgeConfig = JudgeFactory()
    return made


@pytest.fixture
def answer() -> Implementation:
    (made,) = answers()
    return made


def labelled(answer: Implementation, *labels: str, state: CaseState, **facts: Any) -> Case:
    case = case_of(answer, state=state, **facts)
    for label in labels:
        reviewed(case, ReviewerFactory(), label)
    return case


def decide(case: Case, label: str) -> Case:
    decided(case, ReviewerFactory(adjudicator=True), label)
    return case


def final(answer: Implementation, judge: JudgeConfig | None = None) -> tuple[str, str, Case | None] | None:
    found = final_labels([answer.pk], judge).get(answer.pk)
    return (found.label, found.source.value, found.case) if found else None


def test_nobody_said_anything(answer: Implementation, judge: JudgeConfig) -> None:
    case_of(answer)
    assert (final(answer, judge), final(answer)) == (None, None)


def test_the_judge_alone(answer: Implementation, judge: JudgeConfig) -> None:
    judged(answer, JudgeFactory(), "LI")
    assert final(answer, judge) is None
    judged(answer, judge, "CC")
    assert (final(answer, judge), final(answer)) == (("CC", "judge", None), None)


@pytest.mark.parametrize(
    "facts", [{"label": ""}, {"label": "CC", "abstained": True}, {"label": "CC", "state": "running"}]
)
def test_a_judge_that_abstained_or_is_not_done_says_nothing(
    answer: Implementation, judge: JudgeConfig, facts: dict[str, Any]
) -> None:
    judged(answer, judge, **facts)
    assert final(answer, judge) is None


class TestPeople:
    @pytest.fixture(autouse=True)
    def judge_says_cc(self, answer: Implementation, judge: JudgeConfig) -> None:
        judged(answer, judge, "CC")

    @pytest.mark.parametrize(
        ("state", "labels"),
        [
            (CaseState.QUEUED, ("LI",)),
            (CaseState.LEASED, ("LI",)),
            (CaseState.ONE_LABEL, ("LI",)),
            (CaseState.TWO_LABELS, ("LI", "LI")),
            (CaseState.DISPUTED, ("LI", "LI")),
            (CaseState.ADJUDICATING, ("LI", "LI")),
        ],
    )
    def test_what_was_said_in_an_open_case_counts_nowhere(
        self, answer: Implementation, judge: JudgeConfig, state: CaseState, labels: tuple[str, ...]
    ) -> None:
        labelled(answer, *labels, state=state)
        assert final(answer, judge) == ("CC", "judge", None)
        assert human_labels([answer.pk]) == {}

    def test_a_single_label_where_one_was_wanted_beats_the_judge(
        self, answer: Implementation, judge: JudgeConfig
    ) -> None:
        case = labelled(answer, "LI", state=CaseState.AGREED, labels_wanted=1)
        assert final(answer, judge) == ("LI", "single", case)

    def test_two_that_agree(self, answer: Implementation, judge: JudgeConfig) -> None:
        case = labelled(answer, "LI", "LI", state=CaseState.AGREED)
        assert final(answer, judge) == ("LI", "agreed", case)

    def test_two_that_differ_leave_it_to_the_judge_until_it_is_decided(
        self, answer: Implementation, judge: JudgeConfig
    ) -> None:
        case = labelled(answer, "LI", "LC", state=CaseState.DISPUTED)
        assert final(answer, judge) == ("CC", "judge", None)
        decide(case, "LC")
        type(case).objects.update(state=CaseState.FINAL)
        assert final(answer, judge) == ("LC", "decision", case)

    def test_a_decision_beats_two_that_agree(self, answer: Implementation, judge: JudgeConfig) -> None:
        case = decide(labelled(answer, "LI", "LI", state=CaseState.FINAL), "LC")
        assert final(answer, judge) == ("LC", "decision", case)

    def test_an_adjudicators_blind_label_is_not_counted(self, answer: Implementation, judge: JudgeConfig) -> None:
        case = labelled(answer, "LI", state=CaseState.AGREED, labels_wanted=1)
        reviewed(case, ReviewerFactory(adjudicator=True), "LC", role=Role.ADJUDICATOR)
        assert final(answer, judge) == ("LI", "single", case)

    @pytest.mark.parametrize("kind", [CaseKind.REPEAT, CaseKind.PRACTICE])
    def test_repeats_and_practice_do_not_count(
        self, answer: Implementation, judge: JudgeConfig, kind: CaseKind
    ) -> None:
        labelled(answer, "LI", state=CaseState.AGREED, kind=kind)
        assert final(answer, judge) == ("CC", "judge", None)

    def test_void_labels_do_not_count(self, answer: Implementation, judge: JudgeConfig) -> None:
        decide(labelled(answer, "LI", "LI", state=CaseState.VOID), "LI")
        assert final(answer, judge) == ("CC", "judge", None)


class TestRounds:
    @pytest.mark.parametrize("labels", [(), ("LC",), ("LC", "LC"), ("CC", "LC")])
    def test_the_old_label_stays_until_the_new_round_is_settled(
        self, answer: Implementation, labels: tuple[str, ...]
    ) -> None:
        old = decide(labelled(answer, "LI", "CC", state=CaseState.REOPENED), "LI")
        new = labelled(answer, *labels, state=CaseState.DISPUTED, round=2)
        assert final(answer) == ("LI", "decision", old)
        decide(new, "LC")
        type(new).objects.filter(pk=new.pk).update(state=CaseState.FINAL)
        assert final(answer) == ("LC", "decision", new)

    def test_a_void_round_leaves_the_one_before_in_force(self, answer: Implementation) -> None:
        old = labelled(answer, "LI", "LI", state=CaseState.REOPENED)
        labelled(answer, "CC", "CC", state=CaseState.VOID, round=2)
        assert final(answer) == ("LI", "agreed", old)

    def test_a_round_after_a_void_one_starts_anew(self, answer: Implementation) -> None:
        labelled(answer, "LI", "LI", state=CaseState.VOID)
        new = labelled(answer, "CC", state=CaseState.AGREED, labels_wanted=1, round=2)
        assert final(answer) == ("CC", "single", new)


@pytest.mark.parametrize("number", [1, 4])
def test_queries_do_not_grow(judge: JudgeConfig, number: int, django_assert_num_queries: Any) -> None:
    made = answers(number)
    for answer in made:
        decide(labelled(answer, "LI", "CC", state=CaseState.REOPENED), "LC")
        labelled(answer, "LI", state=CaseState.ONE_LABEL, round=2)
        judged(answer, judge, "CC")
    numbers = [answer.pk for answer in made]
    with django_assert_num_queries(3):
        assert {label.label for label in final_labels(numbers, judge).values()} == {"LC"}
    with django_assert_num_queries(2):
        assert human_labels(numbers).keys() == set(numbers)
