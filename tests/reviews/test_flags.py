"""Tasks that a decision put in doubt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from reviews.cases.flags import flag_task, flags_of, lift
from reviews.enums import ReasonCode
from reviews.exceptions import ReviewError
from reviews.models import TaskFlag
from reviews.signals import task_flagged
from submissions.enums import Verb
from submissions.exceptions import NotAllowedError, WrongStateError
from submissions.models import AuditEvent
from tests.reviews.factories import ReviewerFactory, answers, case_of, decided
from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmark_tasks.models import TaskRevision
    from reviews.models import Decision
    from submissions.models import User

pytestmark = pytest.mark.django_db

REASON = "The tolerance was mended in revision 2."


@pytest.fixture
def flagged_tasks() -> Iterator[list[TaskRevision]]:
    """The revisions of which ``task_flagged`` was sent."""
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


def test_no_other_reason_does(flagged_tasks: list[TaskRevision], committing: Callable[[], Any]) -> None:
    others = [reason for reason in ReasonCode.values if reason not in {"bad_test", "bad_golden"}]
    with committing():
        assert [flag_task(decision(reason)) for reason in others] == [[]] * 5
    assert (flagged_tasks, TaskFlag.objects.count(), AuditEvent.objects.count()) == ([], 0, 0)


def test_each_reason_flags_by_itself(maintainer: User) -> None:
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
    with pytest.raises(WrongStateError, match="lifted already"):
        lift(actor=maintainer, flag=flag, reason=REASON)


def test_nobody_else_lifts_it_and_nobody_without_a_reason(maintainer: User) -> None:
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
    asked = [first.revision_id, second.revision_id, lifted.revision_id, unflagged.revision_id]
    with django_assert_num_queries(1):
        found = flags_of(asked)
        cases = [flag.decision.case.pk for flags in found.values() for flag in flags]
    assert found == {first.revision_id: [first, again], second.revision_id: [second]}
    assert elsewhere.decision.case_id not in cases
