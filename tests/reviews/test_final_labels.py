"""The final labels of answers and their sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from reviews.cases.final_labels import final_labels, reviewed_labels
from reviews.enums import CaseKind, CaseState, Role
from reviews.models import Case
from tests.leaderboard.judging import JudgeFactory, judged
from tests.reviews.factories import ReviewerFactory, answers, case_of, decided, reviewed

if TYPE_CHECKING:
    from evaluator.models import JudgeConfig
    from submissions.models import Implementation

pytestmark = pytest.mark.django_db
BY_JUDGE = ("CC", "judge", None)


@pytest.fixture
def answer(judge: JudgeConfig) -> Implementation:
    """A published answer that the judge labels CC."""
    (made,) = answers()
    judged(made, judge, "CC")
    return made


def labelled(answer: Implementation, *labels: str, state: CaseState, **facts: Any) -> Case:
    case = case_of(answer, state=state, **facts)
    for label in labels:
        reviewed(case, ReviewerFactory(), label)
    return case


def decide(case: Case, label: str) -> Case:
    decided(case, ReviewerFactory(adjudicator=True), label)
    Case.objects.filter(pk=case.pk, state=CaseState.DISPUTED).update(state=CaseState.FINAL)
    return case


def final(answer: Implementation, judge: JudgeConfig | None = None) -> tuple[str, str, Case | None] | None:
    found = final_labels([answer.pk], judge).get(answer.pk)
    return (found.label, found.source.value, found.case) if found else None


def test_the_judges_label_alone(answer: Implementation, judge: JudgeConfig) -> None:
    case_of(answer)
    assert (final(answer, judge), final(answer), final(answer, JudgeFactory())) == (BY_JUDGE, None, None)


@pytest.mark.parametrize(
    "facts", [{"label": ""}, {"label": "CC", "abstained": True}, {"label": "CC", "state": "running"}]
)
def test_an_abstention_or_open_judgement_gives_no_label(judge: JudgeConfig, facts: dict[str, Any]) -> None:
    (answer,) = answers()
    judged(answer, judge, **facts)
    assert final(answer, judge) is None


class TestAnnotators:
    @pytest.mark.parametrize(
        ("state", "labels"),
        [
            (CaseState.QUEUED, ["LI"]),
            (CaseState.LEASED, ["LI"]),
            (CaseState.ONE_LABEL, ["LI"]),
            (CaseState.TWO_LABELS, ["LI", "LI"]),
            (CaseState.DISPUTED, ["LI", "LI"]),
            (CaseState.ADJUDICATING, ["LI", "LI"]),
            (CaseState.VOID, ["LI", "LI"]),
        ],
    )
    def test_labels_of_open_or_void_cases_do_not_count(
        self, answer: Implementation, judge: JudgeConfig, state: CaseState, labels: list[str]
    ) -> None:
        case = labelled(answer, *labels, state=state)
        if state == CaseState.VOID:
            decide(case, "LI")
        assert (final(answer, judge), reviewed_labels([answer.pk])) == (BY_JUDGE, {})

    def test_a_single_label_where_one_was_wanted_beats_the_judge(
        self, answer: Implementation, judge: JudgeConfig
    ) -> None:
        case = labelled(answer, "LI", state=CaseState.AGREED, labels_wanted=1)
        reviewed(case, ReviewerFactory(adjudicator=True), "LC", role=Role.ADJUDICATOR)
        assert final(answer, judge) == ("LI", "single", case)

    def test_two_equal_labels(self, answer: Implementation, judge: JudgeConfig) -> None:
        case = labelled(answer, "LI", "LI", state=CaseState.AGREED)
        assert final(answer, judge) == ("LI", "agreed", case)

    @pytest.mark.parametrize("labels", [["LI", "LC"], ["LI", "LI"]])
    def test_a_decision_beats_both(self, answer: Implementation, judge: JudgeConfig, labels: list[str]) -> None:
        case = labelled(answer, *labels, state=CaseState.DISPUTED)
        assert final(answer, judge) == BY_JUDGE
        decide(case, "LC")
        assert final(answer, judge) == ("LC", "decision", case)

    @pytest.mark.parametrize("kind", [CaseKind.REPEAT, CaseKind.PRACTICE])
    def test_repeats_and_practice_do_not_count(
        self, answer: Implementation, judge: JudgeConfig, kind: CaseKind
    ) -> None:
        labelled(answer, "LI", state=CaseState.AGREED, kind=kind)
        assert final(answer, judge) == BY_JUDGE


class TestRounds:
    @pytest.mark.parametrize("labels", [[], ["LC"], ["LC", "LC"], ["CC", "LC"]])
    def test_the_old_label_stays_until_the_new_round_is_closed(self, answer: Implementation, labels: list[str]) -> None:
        old = decide(labelled(answer, "LI", "CC", state=CaseState.REOPENED), "LI")
        new = labelled(answer, *labels, state=CaseState.DISPUTED, round=2)
        assert final(answer) == ("LI", "decision", old)
        decide(new, "LC")
        assert final(answer) == ("LC", "decision", new)

    def test_a_void_round_leaves_the_previous_label_in_force(self, answer: Implementation) -> None:
        old = labelled(answer, "LI", "LI", state=CaseState.REOPENED)
        labelled(answer, "CC", "CC", state=CaseState.VOID, round=2)
        assert final(answer) == ("LI", "agreed", old)
        new = labelled(answer, "CC", state=CaseState.AGREED, labels_wanted=1, round=3)
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
        assert reviewed_labels(numbers).keys() == set(numbers)
