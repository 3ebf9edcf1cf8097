"""What locked labels mean for their case: the next annotator, agreement, or an adjudicator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from reviews.cases.closing import close_if_labelled
from reviews.enums import CaseKind, CaseState, FinalSource, Role, Severity, TriggerKind
from reviews.models import Case, CaseEvent, Trigger
from reviews.signals import case_settled
from tests.evaluator.factories import TestRunFactory
from tests.reviews.factories import case_of, ready, reviewed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_django import DjangoCaptureOnCommitCallbacks

    from reviews.models import Reviewer

pytestmark = pytest.mark.django_db


@pytest.fixture
def told() -> Iterator[list[Case]]:
    """The cases that others heard of."""
    cases: list[Case] = []

    def hear(case: Case, **_: Any) -> None:
        cases.append(case)

    case_settled.connect(hear)
    yield cases
    case_settled.disconnect(hear)


def settled(*labels: str, **facts: Any) -> Case:
    """A case after so many people have locked these labels, as it is stored."""
    case = case_of(**{"state": CaseState.LEASED, **facts})
    for label in labels:
        reviewed(case, ready(), label)
    close_if_labelled(case)
    return Case.objects.get(pk=case.pk)


def test_one_label_of_two_leaves_the_case_to_the_next_annotator(
    told: list[Case], django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        case = settled("CC")
    assert (case.state, case.label, case.source, case.settled) == (CaseState.ONE_LABEL, "", "", None)
    assert told == []


def test_two_equal_labels_settle_the_case(
    told: list[Case], django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        case = settled("LC", "LC", state=CaseState.ONE_LABEL)
    assert (case.state, case.label, case.source) == (CaseState.AGREED, "LC", FinalSource.AGREED)
    assert case.settled is not None
    assert told == [case]
    assert list(CaseEvent.objects.values_list("before", "after", "what")) == [
        ("one_label", "two_labels", "label locked"),
        ("two_labels", "agreed", "the labels agree"),
    ]


@pytest.mark.parametrize(
    ("labels", "severity"), [(("CC", "LI"), Severity.CONFLICT), (("CC", "LC"), Severity.CONTRADICTION)]
)
def test_two_different_labels_go_to_an_adjudicator(labels: tuple[str, str], severity: Severity) -> None:
    case = settled(*labels)
    assert (case.state, case.label, case.source, case.settled) == (CaseState.DISPUTED, "", "", None)
    assert case.severity == severity
    assert Trigger.objects.get().kind == TriggerKind.HUMANS_DIFFER
    assert CaseEvent.objects.last().what == "humans_differ"


def test_labels_that_contradict_the_tests_go_to_an_adjudicator() -> None:
    case = case_of(state=CaseState.ONE_LABEL)
    TestRunFactory(implementation=case.implementation, done="wrong_output")
    reviewed(case, ready(), "CC")
    reviewed(case, ready(), "CC")
    close_if_labelled(case)
    assert case.state == CaseState.DISPUTED
    assert Trigger.objects.get().kind == TriggerKind.TESTS_OPPOSE


def test_a_reason_that_the_case_was_opened_for_counts_and_is_not_stored_twice() -> None:
    case = case_of(state=CaseState.ONE_LABEL, severity=Severity.APPEAL)
    Trigger.objects.create(case=case, kind=TriggerKind.APPEAL, detail="Look at line 3.")
    reviewed(case, ready(), "CC")
    reviewed(case, ready(), "CC")
    close_if_labelled(case)
    assert (case.state, case.severity) == (CaseState.DISPUTED, Severity.APPEAL)
    assert Trigger.objects.get().detail == "Look at line 3."


def test_where_one_label_is_wanted_it_settles_the_case_and_is_marked_single() -> None:
    case = settled("LI", labels_wanted=1)
    assert (case.state, case.label, case.source) == (CaseState.AGREED, "LI", FinalSource.SINGLE)


def test_a_single_label_that_contradicts_the_tests_goes_to_an_adjudicator() -> None:
    case = case_of(labels_wanted=1)
    TestRunFactory(implementation=case.implementation, done="passed")
    reviewed(case, ready(), "LI")
    close_if_labelled(case)
    assert case.state == CaseState.DISPUTED


def test_an_adjudicators_label_settles_nothing(adjudicator: Reviewer) -> None:
    case = case_of(state=CaseState.ONE_LABEL)
    reviewed(case, ready(), "CC")
    reviewed(case, adjudicator, "CC", role=Role.ADJUDICATOR)
    close_if_labelled(case)
    assert case.state == CaseState.ONE_LABEL


def test_a_repeat_ends_without_a_label_of_its_own(
    annotator: Reviewer, told: list[Case], django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    case = case_of(kind=CaseKind.REPEAT, reserved_for=annotator, labels_wanted=1)
    reviewed(case, annotator, "LI")
    with django_capture_on_commit_callbacks(execute=True):
        close_if_labelled(case)
    assert (case.state, case.label, case.source) == (CaseState.AGREED, "", "")
    assert case.settled is not None
    assert told == []


@pytest.mark.parametrize("state", [CaseState.AGREED, CaseState.FINAL, CaseState.VOID, CaseState.DISPUTED])
def test_a_case_that_is_past_labelling_stays_as_it_is(state: CaseState) -> None:
    assert settled("CC", "LI", state=state).state == state
    assert not CaseEvent.objects.exists()


def test_practice_stays_as_it_is() -> None:
    assert settled("CC", kind=CaseKind.PRACTICE, known_label="CC", state=CaseState.QUEUED).state == CaseState.QUEUED
