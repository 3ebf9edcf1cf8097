"""Deciding a case once, with reasons, some of them flagging the task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from reviews.cases.flags import flag_task, flags_of, lift
from reviews.enums import AssignmentState, CaseState, FinalSource, Role
from reviews.exceptions import IncompleteError, LeaseLostError, NotReadyError, ReviewError
from reviews.labelling.adjudicating import decide
from reviews.models import Assignment, Case, CaseEvent, Decision, TaskFlag
from reviews.signals import task_flagged
from submissions.enums import Verb
from submissions.exceptions import NotAllowedError, WrongStateError
from submissions.models import AuditEvent
from tests.reviews.factories import (
    ReviewerFactory,
    answers,
    assigned,
    case_of,
    claimed,
    decided,
    expired,
    guideline,
    labelled,
    ready,
    reviewed,
)
from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmark_tasks.models import TaskRevision
    from reviews.models import Decision, Reviewer
    from submissions.models import User

pytestmark = pytest.mark.django_db
GIVEN: dict[str, Any] = {"label": "LC", "reasons": ["judge_error"], "note": "The judge took the mask for a bug."}


@pytest.fixture
def assignment(adjudicator: Reviewer) -> Assignment:
    """An assignment at the evidence of a case on which two annotators differ."""
    case = case_of(state=CaseState.ADJUDICATING)
    reviewed(case, ready(), "CC")
    reviewed(case, ready(), "LI")
    return labelled(case, adjudicator, "LC", role=Role.ADJUDICATOR)


def test_a_decision_closes_the_case(
    assignment: Assignment, adjudicator: Reviewer, heard: list[Case], committing: Callable[[], Any]
) -> None:
    with committing():
        decision = decide(assignment=assignment, **GIVEN)
    case = Case.objects.get()
    assert (case.state, case.label, case.source) == (CaseState.FINAL, "LC", FinalSource.DECISION)
    assert case.closed == decision.decided
    assert (decision.case, decision.adjudicator, decision.guideline.number) == (case, adjudicator, 1)
    assert (decision.label, decision.reasons, decision.note) == ("LC", ["judge_error"], GIVEN["note"])
    assert (assignment.state, assignment.lease_until) == (AssignmentState.DONE, None)
    event = CaseEvent.objects.get()
    assert (event.before, event.after, event.what) == ("adjudicating", "final", "decided: judge_error")
    audit = AuditEvent.objects.get()
    assert (audit.verb, audit.actor, audit.subject_id) == (Verb.DECIDED, adjudicator.user, str(case.pk))
    assert (audit.reason, audit.data) == (GIVEN["note"], {"label": "LC", "reasons": ["judge_error"]})
    assert (heard, TaskFlag.objects.count()) == ([case], 0)


def test_several_reasons_are_stored_in_order_and_flag_the_task(assignment: Assignment) -> None:
    given = {**GIVEN, "reasons": ["judge_error", "bad_golden", "bad_test", "judge_error"]}
    decision = decide(assignment=assignment, **given)
    assert decision.reasons == ["bad_test", "bad_golden", "judge_error"]
    assert decision.reason_names == "bad test, bad golden function, judge's error"
    assert set(TaskFlag.objects.values_list("reason", flat=True)) == {"bad_test", "bad_golden"}
    assert decide(assignment=assignment, **given) == decision


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"label": ""}, "label"),
        ({"reasons": []}, "reasons"),
        ({"reasons": "judge_error"}, "reasons"),
        ({"reasons": ["judge_error", "boredom"]}, "reasons"),
        ({"reasons": [["judge_error"]]}, "reasons"),
        ({"label": "LI", "reasons": ["judge_error", "equivalent"]}, "reasons"),
        ({"note": " too short  "}, "note"),
        ({"note": "x" * 10_001}, "note"),
    ],
)
def test_an_incomplete_decision_is_refused_by_field(assignment: Assignment, given: dict[str, Any], field: str) -> None:
    with pytest.raises(IncompleteError) as caught:
        decide(assignment=assignment, **{**GIVEN, **given})
    assert set(caught.value.errors) == {field}
    assert Case.objects.get().state == CaseState.ADJUDICATING


def test_a_repeated_decision_is_stored_once_and_a_different_one_refused(assignment: Assignment) -> None:
    first = decide(assignment=assignment, **GIVEN)
    assert decide(assignment=assignment, **GIVEN) == first
    with pytest.raises(LeaseLostError, match="decided this case as LC"):
        decide(assignment=assignment, **{**GIVEN, "label": "CC"})
    assert (Decision.objects.get().label, AuditEvent.objects.count()) == ("LC", 1)


def test_deciding_needs_a_locked_label_and_the_adjudicators_role(adjudicator: Reviewer) -> None:
    blind = assigned(case_of(state=CaseState.ADJUDICATING), adjudicator, role=Role.ADJUDICATOR)
    with pytest.raises(NotReadyError, match="Lock your own label"):
        decide(assignment=blind, **GIVEN)
    with pytest.raises(NotReadyError):
        decide(assignment=labelled(case_of(state=CaseState.DISPUTED), ready(), "CC"), **GIVEN)
    assert not Decision.objects.exists()


def test_a_late_decision_is_accepted_while_the_case_is_free(assignment: Assignment) -> None:
    expired(assignment)
    decide(assignment=assignment, **GIVEN)
    assert (assignment.state, Case.objects.get().state) == (AssignmentState.DONE, CaseState.FINAL)


def test_a_late_decision_stays_a_draft_if_another_has_or_decided_the_case(assignment: Assignment) -> None:
    expired(assignment)
    rival = ready(annotator=False, adjudicator=True)
    taken = claimed(rival, Role.ADJUDICATOR)
    with pytest.raises(LeaseLostError, match="no longer hold this case"):
        decide(assignment=assignment, **GIVEN)
    assert Assignment.objects.get(pk=assignment.pk).draft == {"decision": GIVEN}
    taken.delete()
    theirs = labelled(assignment.case, rival, "CC", role=Role.ADJUDICATOR)
    decide(assignment=theirs, **{**GIVEN, "label": "CC"})
    with pytest.raises(LeaseLostError, match="Another adjudicator has decided"):
        decide(assignment=assignment, **GIVEN)
    assert Decision.objects.get().adjudicator == rival


def test_a_void_case_is_not_decided(assignment: Assignment) -> None:
    Case.objects.update(state=CaseState.VOID)
    with pytest.raises(LeaseLostError, match="review has ended"):
        decide(assignment=assignment, **GIVEN)
    assert Case.objects.get().state == CaseState.VOID


def test_new_guidelines_must_be_read_before_deciding(assignment: Assignment) -> None:
    guideline(2, text="# Labels\n\nLook twice.\n")
    with pytest.raises(NotReadyError, match="revision 2"):
        decide(assignment=assignment, **GIVEN)
    assert Assignment.objects.get(pk=assignment.pk).draft == {"decision": GIVEN}


REASON = "The tolerance was mended in revision 2."


@pytest.fixture
def flagged_tasks() -> Iterator[list[TaskRevision]]:
    """Collect the revisions of ``task_flagged`` signals."""
    found: list[TaskRevision] = []

    def hear(revision: TaskRevision, **_: Any) -> None:
        found.append(revision)

    task_flagged.connect(hear)
    yield found
    task_flagged.disconnect(hear)


def decision(*reasons: str) -> Decision:
    return decided(case_of(), ReviewerFactory(adjudicator=True), "CC", reasons=list(reasons) or ["bad_test"])


def flagged(reason: str = "bad_test") -> TaskFlag:
    (flag,) = flag_task(decision(reason))
    return flag


@pytest.mark.parametrize("reason", ["bad_test", "bad_golden"])
def test_a_bad_test_or_golden_function_flags_the_task_once(
    reason: str, flagged_tasks: list[TaskRevision], committing: Callable[[], Any]
) -> None:
    made = decision(reason)
    with committing():
        (flag,) = flag_task(made)
    revision = made.case.implementation.revision
    assert (flag.revision, flag.reason, flag.lifted) == (revision, reason, None)
    assert flagged_tasks == [revision]
    event = AuditEvent.objects.get(verb=Verb.TASK_FLAGGED)
    assert (event.actor, event.subject_kind) == (made.adjudicator.user, "task")
    assert (event.subject_text, event.data) == (str(revision.task), {"case": made.case_id, "revision": revision.number})
    assert flag_task(made) == [flag]
    assert (TaskFlag.objects.count(), AuditEvent.objects.count()) == (1, 1)


def test_each_reason_flags_separately(maintainer: User) -> None:
    test, golden = flag_task(decision("bad_test", "bad_golden", "judge_error"))
    assert (test.reason, golden.reason) == ("bad_test", "bad_golden")
    lift(actor=maintainer, flag=test, reason=REASON)
    assert [flag.reason for flag in flags_of([golden.revision_id])[golden.revision_id]] == ["bad_golden"]


def test_maintainers_lift_a_flag(
    maintainer: User, flagged_tasks: list[TaskRevision], committing: Callable[[], Any]
) -> None:
    flag = flagged()
    with committing():
        lift(actor=maintainer, flag=flag, reason=f" {REASON} ")
    flag.refresh_from_db()
    assert (flag.lifted is not None, flag.lifted_by, flag.lifted_because) == (True, maintainer, REASON)
    assert flagged_tasks == [flag.revision]
    event = AuditEvent.objects.get(verb=Verb.FLAG_LIFTED)
    assert (event.actor, event.reason, event.data["case"]) == (maintainer, REASON, flag.decision.case_id)
    with pytest.raises(WrongStateError, match="already lifted"):
        lift(actor=maintainer, flag=flag, reason=REASON)


def test_lifting_a_flag_needs_a_maintainer_and_a_reason(maintainer: User) -> None:
    flag = flagged()
    with pytest.raises(NotAllowedError, match="Only maintainers"):
        lift(actor=flag.decision.adjudicator.user or UserFactory(), flag=flag, reason=REASON)
    with pytest.raises(ReviewError, match="at least 10 characters"):
        lift(actor=maintainer, flag=flag, reason="  mended.  ")
    flag.refresh_from_db()
    assert flag.lifted is None


def test_raised_flags_by_revision(maintainer: User, django_assert_num_queries: Any) -> None:
    first, second = flagged(), flagged("bad_golden")
    lifted, elsewhere = flagged(), flagged()
    lift(actor=maintainer, flag=lifted, reason=REASON)
    (unflagged,) = answers()
    again = TaskFlag.objects.create(revision=first.revision, decision=decision(), reason="bad_test")
    revisions = [first.revision_id, second.revision_id, lifted.revision_id, unflagged.revision_id]
    with django_assert_num_queries(1):
        found = flags_of(revisions)
        cases = [flag.decision.case.pk for flags in found.values() for flag in flags]
    assert found == {first.revision_id: [first, again], second.revision_id: [second]}
    assert elsewhere.decision.case_id not in cases
