"""What an adjudicator is shown: labels without names in random order, failed cases, judges, why the case is there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.utils import timezone

from evaluator.testing.shown_outcomes import PrivateCases
from reviews.cases.evidence import evidence, shown_tests, shuffled
from reviews.enums import CaseState, FinalSource, Role, TriggerKind
from reviews.models import Review, Trigger
from tests.evaluator.factories import TestRunFactory
from tests.leaderboard.judging import judged, vote
from tests.reviews.factories import FINDING, answers, assigned, case_of, decided, ready, reviewed
from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from evaluator.models import JudgeConfig
    from reviews.models import Assignment, Case, Reviewer
    from submissions.models import Implementation

pytestmark = pytest.mark.django_db

CODE: Any = {"candidate": "def double(x):\n    return 2 * x", "golden": "def double(x):\n    return x + x"}


def case(seed: int, outcome: str, *, public: bool = True, difference: str = "") -> dict[str, Any]:
    return {"seed": seed, "index": 0, "public": public, "outcome": outcome, "difference": difference, "error": ""}


def disputed(reviewer: Reviewer, answer: Implementation | None = None, **facts: Any) -> tuple[Case, Assignment]:
    """Two annotators said LI and CC, the adjudicator LC."""
    made = case_of(answer, state=CaseState.ADJUDICATING, **facts)
    golden = {**FINDING, "side": "golden", "start": 2, "end": 2, "error_class": ""}
    reviewed(made, ready(), "LI", findings=[dict(FINDING), golden], note="Not the paper's formula.")
    reviewed(made, ready(), "CC", confidence=1)
    assignment = reviewed(made, reviewer, "LC", role=Role.ADJUDICATOR).assignment
    assert assignment is not None
    return made, assignment


def test_labels_have_letters_findings_their_lines_and_nobody_a_name(adjudicator: Reviewer) -> None:
    made, assignment = disputed(adjudicator)
    shown = evidence(assignment, **CODE)
    assert [letter for letter, _ in shown["labels"]] == ["A", "B"]
    by_label = {label.label: label for _, label in shown["labels"]}
    assert set(by_label) == {"LI", "CC"}
    assert [(each.where, each.quoted, each.error_class) for each in by_label["LI"].findings] == [
        ("candidate, lines 1 to 2", CODE["candidate"], "problem not fully understood"),
        ("golden function, line 2", "    return x + x", ""),
    ]
    assert by_label["LI"].note == "Not the paper's formula."
    assert (by_label["CC"].confidence, by_label["CC"].meaning) == ("low", "completely correct")
    assert (shown["own"].label, shown["own"].confidence) == ("LC", "high")
    for review in made.reviews.select_related("reviewer"):
        assert review.reviewer.pseudonym not in repr(shown)


def test_long_findings_are_cut(adjudicator: Reviewer) -> None:
    made = case_of(state=CaseState.ADJUDICATING)
    reviewed(made, ready(), "LI", findings=[{**FINDING, "start": 1, "end": 30}])
    assignment = reviewed(made, adjudicator, "CC", role=Role.ADJUDICATOR).assignment
    lines = [f"line {number}" for number in range(1, 31)]
    assert assignment is not None
    (_, label), *_ = evidence(assignment, candidate="\n".join(lines), golden="")["labels"]
    assert label.findings[0].quoted == "\n".join([*lines[:12], "…"])


def test_the_order_is_stable_and_differs_between_readers_and_cases() -> None:
    """With two labels each order comes up about half the time: among twenty never only one."""
    made = case_of()
    for label in ("LI", "CC"):
        reviewed(made, ready(), label)
    listed = list(made.reviews.all())
    readers = [ready(adjudicator=True) for _ in range(20)]
    orders = [[review.label for review in shuffled(listed, made, reader)] for reader in readers]
    assert {tuple(order) for order in orders} == {("LI", "CC"), ("CC", "LI")}
    assert orders == [[review.label for review in shuffled(reversed(listed), made, reader)] for reader in readers]


def test_before_the_own_label_is_locked_there_is_no_evidence(adjudicator: Reviewer) -> None:
    early = assigned(case_of(), adjudicator, role=Role.ADJUDICATOR)
    with pytest.raises(Review.DoesNotExist):
        evidence(early, **CODE)


def test_failed_public_cases_are_shown_and_private_ones_counted() -> None:
    (answer,) = answers()
    assert shown_tests(answer).badge.text == "waiting"
    cases = [
        case(11, "passed"),
        case(12, "wrong_output", difference="1 of 4 values differ\n  value[2]"),
        case(424242, "passed", public=False),
        case(434343, "wrong_output", public=False, difference="expected 3.14159"),
    ]
    TestRunFactory(implementation=answer, done="wrong_output", reason="1 of 2 public cases failed", cases=cases)
    shown = shown_tests(answer)
    assert (shown.badge.text, shown.reason) == ("wrong output", "1 of 2 public cases failed")
    assert (shown.public, shown.private, shown.names_tests) == (2, PrivateCases(1, 2), False)
    assert [(row.seed, row.headline, row.opened) for row in shown.failed] == [(12, "1 of 4 values differ", True)]
    assert [secret for secret in ("3.14159", "434343") if secret in repr(shown)] == []


def test_judges_with_their_reasons_and_why_the_case_is_there(adjudicator: Reviewer, judge: JudgeConfig) -> None:
    made, assignment = disputed(adjudicator)
    row = judged(made.implementation, judge, "LI")
    vote(row, 1, "LI", rationale=["It never squares."])
    vote(row, 2)
    Trigger.objects.create(case=made, kind=TriggerKind.AUDIT, inclusion_probability=0.1)
    Trigger.objects.create(case=made, kind=TriggerKind.APPEAL, detail="Equation 3 says so.", raised_by=UserFactory())
    shown = evidence(assignment, **CODE)
    assert [vote.rationale for vote in shown["judges"][0].counted_votes] == [["It never squares."], []]
    assert len(shown["judges"][0].abstentions) == 1
    assert [(why.get_kind_display(), why.sampled, why.detail) for why in shown["triggers"]] == [
        ("sampled at random", "drawn with probability 10 %", ""),
        ("an appeal", "", "Equation 3 says so."),
    ]


def test_earlier_rounds_are_shown_without_who_was_in_them(adjudicator: Reviewer) -> None:
    (answer,) = answers()
    first = case_of(answer, state=CaseState.REOPENED, label="LI", source=FinalSource.DECISION, closed=timezone.now())
    before = ready(adjudicator=True)
    decided(first, before, "LI", reasons=["judge_error"], note="The mean is over tokens.")
    shown = evidence(disputed(adjudicator, answer, round=2)[1], **CODE)
    (earlier,) = shown["earlier"]
    assert (earlier, earlier.decision.reason_names) == (first, "judge's error")
