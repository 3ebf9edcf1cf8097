"""A case's states: moves, closing by labels, voiding and reviving."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.utils import timezone

from evaluator.models import TestRun
from reviews.cases import states, voiding
from reviews.cases.closing import close_if_labelled
from reviews.cases.triggers import consider
from reviews.enums import AssignmentState, CaseKind, CaseState, FinalSource, Role, Severity, TriggerKind
from reviews.models import Case, CaseEvent, Trigger
from tests.evaluator.factories import TestRunFactory
from tests.reviews.factories import ReviewerFactory, assigned, case_of, rated, ready, reviewed, shares

if TYPE_CHECKING:
    from collections.abc import Callable

    from evaluator.models import JudgeConfig
    from reviews.models import Reviewer

pytestmark = pytest.mark.django_db
WAITING = [CaseState.QUEUED, CaseState.LEASED]


def test_a_move_sets_state_and_fields_and_records_an_event() -> None:
    case, reviewer, now = case_of(), ReviewerFactory(), timezone.now()
    facts: dict[str, Any] = {"reviewer": reviewer, "what": "the labels agree", "label": "LC", "closed": now}
    assert states.move(case, allowed=WAITING, after=CaseState.AGREED, **facts)
    stored = Case.objects.get()
    for each in (case, stored):
        assert (each.state, each.label, each.closed) == (CaseState.AGREED, "LC", now)
    event = CaseEvent.objects.get()
    assert (event.before, event.after, event.reviewer, event.what) == ("queued", "agreed", reviewer, "the labels agree")


@pytest.mark.both_databases
def test_a_move_from_another_state_changes_nothing() -> None:
    case = case_of(state=CaseState.FINAL)
    assert not states.move(case, allowed=[CaseState.QUEUED], after=CaseState.LEASED, severity=60)
    assert (case.state, case.severity, Case.objects.get().state) == (CaseState.FINAL, 10, CaseState.FINAL)
    assert not CaseEvent.objects.exists()


@pytest.mark.both_databases
def test_a_stale_row_moves_nothing() -> None:
    case = case_of()
    Case.objects.update(state=CaseState.LEASED)
    assert not states.move(case, allowed=WAITING, after=CaseState.ONE_LABEL)
    assert Case.objects.get().state == CaseState.LEASED
    assert states.move(states.hold(case.pk), allowed=WAITING, after=CaseState.ONE_LABEL)
    assert Case.objects.get().state == CaseState.ONE_LABEL


def closed_case(*labels: str, outcome: str = "", **facts: Any) -> Case:
    """Return the stored case after annotators have locked these labels."""
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
@pytest.mark.both_databases
def test_the_wanted_number_of_equal_labels_closes_the_case(
    labels: list[str], wanted: int, state: str, source: str, heard: list[Case], committing: Callable[[], Any]
) -> None:
    with committing():
        case = closed_case(*labels, labels_wanted=wanted)
    done = state == CaseState.AGREED
    assert (case.state, case.label, case.source) == (state, "LC" if done else "", source)
    assert (case.closed is not None, heard) == (done, [case] if done else [])


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


def test_an_existing_trigger_counts_and_is_not_stored_twice() -> None:
    case = case_of(state=CaseState.ONE_LABEL, severity=Severity.APPEAL)
    Trigger.objects.create(case=case, kind=TriggerKind.APPEAL, detail="Look at line 3.")
    reviewed(case, ready(), "CC")
    reviewed(case, ready(), "CC")
    close_if_labelled(case)
    assert (case.state, case.severity) == (CaseState.DISPUTED, Severity.APPEAL)
    assert Trigger.objects.get().detail == "Look at line 3."


def test_an_adjudicators_label_does_not_close_a_case(adjudicator: Reviewer) -> None:
    case = case_of(state=CaseState.ONE_LABEL)
    reviewed(case, ready(), "CC")
    reviewed(case, adjudicator, "CC", role=Role.ADJUDICATOR)
    close_if_labelled(case)
    assert case.state == CaseState.ONE_LABEL


def test_a_repeat_closes_without_a_label(annotator: Reviewer, heard: list[Case], committing: Callable[[], Any]) -> None:
    case = case_of(kind=CaseKind.REPEAT, reserved_for=annotator, labels_wanted=1)
    reviewed(case, annotator, "LI")
    with committing():
        close_if_labelled(case)
    assert (case.state, case.label, case.source) == (CaseState.AGREED, "", "")
    assert (case.closed is not None, heard) == (True, [])


@pytest.mark.parametrize(
    ("state", "kind"), [("agreed", "review"), ("void", "review"), ("disputed", "review"), ("queued", "practice")]
)
def test_practice_and_cases_past_labelling_are_not_changed(state: str, kind: str) -> None:
    assert closed_case("CC", "LI", state=state, kind=kind).state == state
    assert not CaseEvent.objects.exists()


@pytest.mark.both_databases
def test_only_a_reevaluation_opens_the_next_round(settings: Any, judge: JudgeConfig) -> None:
    shares(settings, audit=0)
    answer = rated(judge, "passed", "LI")
    voiding.end(case_of(answer), what="the environment was broken")
    consider(answer)
    assert [case.state for case in Case.objects.all()] == ["void"]
    old = TestRun.objects.get()
    later = timezone.now() + timedelta(minutes=1)
    TestRunFactory(implementation=answer, done="passed", seed_epoch=2, supersedes=old, finished=later)
    case = consider(answer)
    assert case is not None
    assert (case.round, case.state, case.triggers.get().kind) == (2, "queued", "tests_oppose")


@pytest.mark.parametrize(("labels", "state"), [([], "queued"), (["LI"], "one_label"), (["LI", "CC"], "disputed")])
def test_a_case_withdrawn_for_a_moment_is_revived(
    settings: Any, judge: JudgeConfig, labels: list[str], state: str
) -> None:
    shares(settings, audit=0)
    answer = rated(judge, "passed", "LI")
    case = case_of(answer)
    for label in labels:
        reviewed(case, ReviewerFactory(), label)
    assert voiding.end_of_submission(answer.submission_id) == 1
    assert consider(answer) == case
    case.refresh_from_db()
    assert (case.state, case.round, case.reviews.count()) == (state, 1, len(labels))


def test_a_revived_case_with_all_its_labels_is_disputed_and_announced_once(
    heard: list[Case], committing: Callable[[], Any]
) -> None:
    case = case_of(labels_wanted=1)
    reviewed(case, ReviewerFactory(), "LI")
    voiding.end(case, what="x")
    with committing():
        assert voiding.revive(case) is True
        assert (case.state, voiding.revive(case)) == ("disputed", False)
    assert heard == [case]


def test_voiding_ends_leases_and_keeps_labels() -> None:
    case = case_of(state=CaseState.ADJUDICATING)
    held = assigned(case, ReviewerFactory(), state=AssignmentState.EVIDENCE, draft={"note": "so far"})
    done = reviewed(case, ReviewerFactory(), "LC").assignment
    assert done is not None
    assert voiding.end(case, what="x" * 300) is True
    assert voiding.end(case, what="again") is False
    held.refresh_from_db()
    done.refresh_from_db()
    assert (held.state, held.lease_until, held.draft) == ("returned", None, {"note": "so far"})
    assert (done.state, case.reviews.count(), case.state) == ("done", 1, "void")
    assert CaseEvent.objects.get().what == "x" * 200


@pytest.mark.parametrize("kind", [CaseKind.REPEAT, CaseKind.PRACTICE])
def test_repeats_are_voided_and_revived_but_not_practice(kind: CaseKind) -> None:
    case = case_of(kind=kind, reserved_for=ReviewerFactory())
    submission = case.implementation.submission_id
    repeats = kind == CaseKind.REPEAT
    assert voiding.end_of_submission(submission) == repeats
    case.refresh_from_db()
    assert case.state == (CaseState.VOID if repeats else CaseState.QUEUED)
    assert voiding.revive_unrated(submission) == repeats
    case.refresh_from_db()
    assert case.state == CaseState.QUEUED


def test_a_repeat_voided_by_a_maintainer_stays_void() -> None:
    case = case_of(kind=CaseKind.REPEAT, reserved_for=ReviewerFactory())
    voiding.end(case, what="the environment was broken")
    assert voiding.revive_unrated(case.implementation.submission_id) == 0


@pytest.mark.parametrize("state", [CaseState.AGREED, CaseState.FINAL, CaseState.REOPENED])
def test_closed_cases_stay_when_their_submission_is_withdrawn(state: CaseState) -> None:
    case = case_of(state=state, label="CC")
    assert voiding.end_of_submission(case.implementation.submission_id) == 0
    assert (Case.objects.get().state, Case.objects.get().label) == (state, "CC")
