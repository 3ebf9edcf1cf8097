"""What locked labels mean for their case: the next annotator, agreement, or an adjudicator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from reviews.cases.closing import close_if_labelled
from reviews.enums import CaseKind, CaseState, FinalSource, Role, Severity, TriggerKind
from reviews.models import Case, CaseEvent, Trigger
from tests.evaluator.factories import TestRunFactory
from tests.reviews.factories import case_of, ready, reviewed

if TYPE_CHECKING:
    from collections.abc import Callable

    from reviews.models import Reviewer

pytestmark = pytest.mark.django_db


def closed_case(*labels: str, outcome: str = "", **facts: Any) -> Case:
    """A case after so many annotators have locked these labels, as it is stored."""
    case = case_of(**{"state": CaseState.LEASED, **facts})
    if outcome:
        TestRunFactory(implementation=case.implementation, done=outcome)
    for label in labels:
        reviewed(case, ready(), label)
    close_if_labelled(case)
    return Case.objects.get(pk=case.pk)


@pytest.mark.parametrize(
    ("labels", "wanted", "state", "source"),
    [
        (["CC"], 2, CaseState.ONE_LABEL, ""),
        (["LC", "LC"], 2, CaseState.AGREED, FinalSource.AGREED),
        (["LC"], 1, CaseState.AGREED, FinalSource.SINGLE),
    ],
)
def test_as_many_equal_labels_as_are_wanted_close_the_case(
    labels: list[str], wanted: int, state: str, source: str, heard: list[Case], committing: Callable[[], Any]
) -> None:
    with committing():
        case = closed_case(*labels, labels_wanted=wanted)
    done = state == CaseState.AGREED
    assert (case.state, case.label, case.source) == (state, "LC" if done else "", source)
    assert (case.closed is not None, heard) == (done, [case] if done else [])


def test_each_step_leaves_an_event() -> None:
    closed_case("LC", "LC", state=CaseState.ONE_LABEL)
    assert list(CaseEvent.objects.values_list("before", "after", "what")) == [
        ("one_label", "two_labels", "label locked"),
        ("two_labels", "agreed", "the labels agree"),
    ]


@pytest.mark.parametrize(
    ("labels", "outcome", "kind", "severity"),
    [
        (["CC", "LI"], "", TriggerKind.ANNOTATORS_DIFFER, Severity.CONFLICT),
        (["LI"], "passed", TriggerKind.TESTS_OPPOSE, Severity.CONTRADICTION),
    ],
)
def test_labels_that_differ_or_contradict_the_tests_go_to_an_adjudicator(
    labels: list[str], outcome: str, kind: str, severity: int
) -> None:
    case = closed_case(*labels, outcome=outcome, labels_wanted=len(labels))
    assert (case.state, case.label, case.source, case.closed) == (CaseState.DISPUTED, "", "", None)
    assert (Trigger.objects.get().kind, case.severity) == (kind, severity)
    last = CaseEvent.objects.last()
    assert last is not None
    assert last.what == kind


def test_a_reason_that_the_case_was_opened_for_counts_and_is_not_stored_twice() -> None:
    case = case_of(state=CaseState.ONE_LABEL, severity=Severity.APPEAL)
    Trigger.objects.create(case=case, kind=TriggerKind.APPEAL, detail="Look at line 3.")
    reviewed(case, ready(), "CC")
    reviewed(case, ready(), "CC")
    close_if_labelled(case)
    assert (case.state, case.severity) == (CaseState.DISPUTED, Severity.APPEAL)
    assert Trigger.objects.get().detail == "Look at line 3."


def test_an_adjudicators_label_closes_nothing(adjudicator: Reviewer) -> None:
    case = case_of(state=CaseState.ONE_LABEL)
    reviewed(case, ready(), "CC")
    reviewed(case, adjudicator, "CC", role=Role.ADJUDICATOR)
    close_if_labelled(case)
    assert case.state == CaseState.ONE_LABEL


def test_a_repeat_ends_without_a_label_of_its_own(
    annotator: Reviewer, heard: list[Case], committing: Callable[[], Any]
) -> None:
    case = case_of(kind=CaseKind.REPEAT, reserved_for=annotator, labels_wanted=1)
    reviewed(case, annotator, "LI")
    with committing():
        close_if_labelled(case)
    assert (case.state, case.label, case.source) == (CaseState.AGREED, "", "")
    assert (case.closed is not None, heard) == (True, [])


@pytest.mark.parametrize("state", [CaseState.AGREED, CaseState.FINAL, CaseState.VOID, CaseState.DISPUTED])
def test_a_case_that_is_past_labelling_stays_as_it_is(state: CaseState) -> None:
    assert closed_case("CC", "LI", state=state).state == state
    assert not CaseEvent.objects.exists()


def test_practice_stays_as_it_is() -> None:
    assert closed_case("CC", kind=CaseKind.PRACTICE, known_label="CC", state=CaseState.QUEUED).state == CaseState.QUEUED
