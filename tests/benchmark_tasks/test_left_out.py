"""Tasks that no percentage counts, and the texts about them."""

from __future__ import annotations

import pytest

from benchmark_tasks.domain.folders import LFS_ADVICE
from benchmark_tasks.domain.left_out import LeftOut, audited_later, audited_so_far_text, left_out_groups, left_out_text
from benchmark_tasks.enums import AuditState
from benchmark_tasks.models import TaskRevision

WEAK: LeftOut = {"task": "a/1", "why": "weak test: it caught only 1 of 2 seeded bugs"}
UNAUDITED: LeftOut = {
    "task": "b/1",
    "why": "not audited: it is not known yet whether its test distinguishes right from wrong answers",
}


def test_left_out_tasks_are_counted_by_kind() -> None:
    assert left_out_text([]) == ""
    assert left_out_text([WEAK]) == "1 task left out: 1 weak test"
    assert left_out_text([WEAK, UNAUDITED, {**WEAK, "task": "c/1"}]) == "3 tasks left out: 2 weak test, 1 not audited"


def test_each_reason_appears_once_with_its_tasks() -> None:
    many: list[LeftOut] = [
        {"task": f"p/{number}", "why": f"not runnable: data_{number}.pt {LFS_ADVICE}"} for number in (1, 2)
    ]
    assert left_out_groups([WEAK, *many, {"task": "d/1", "why": "weak test"}]) == {
        "weak test": {"it caught only 1 of 2 seeded bugs": ["a/1"], "": ["d/1"]},
        "not runnable": {"files are Git LFS pointers; fetch them with 'git lfs pull' and import again": ["p/1", "p/2"]},
    }


@pytest.mark.parametrize(
    ("state", "audit", "why"),
    [
        (AuditState.PASSED, {}, ""),
        (AuditState.WEAK, {}, "weak test"),
        (AuditState.WEAK, {"reasons": [], "weakness": "weak test: it caught 1 of 2"}, "weak test: it caught 1 of 2"),
        (
            AuditState.UNAUDITED,
            {},
            "not audited: it is not known yet whether its test distinguishes right from wrong answers",
        ),
        (AuditState.UNAUDITED, {"obstacle": "no sandbox works"}, "not audited: no sandbox works"),
        (AuditState.FAILED, {"reasons": ["the stub passes", "and more"]}, "failed its audit: the stub passes"),
        (AuditState.INCOMPLETE, {"reasons": ["'torch' is missing"]}, "environment incomplete: 'torch' is missing"),
    ],
)
def test_a_task_counts_where_its_audit_passed(state: AuditState, audit: dict[str, object], why: str) -> None:
    revision = TaskRevision(audit_state=state, audit=audit)
    assert (revision.why_left_out, revision.runnable) == (why, not why.startswith(("failed", "environment")))


def test_a_task_that_is_not_runnable_does_not_count() -> None:
    revision = TaskRevision(audit_state=AuditState.PASSED, not_runnable_reasons=["no golden file", "no test"])
    assert revision.why_left_out == "not runnable: no golden file (and 1 more)"


@pytest.mark.parametrize(
    ("passed", "answers", "counted", "text"),
    [
        (1, 1, 1, "1 of 1 answer passed; 1 task is audited so far and counts"),
        (5, 20, 2, "5 of 20 answers passed; 2 tasks are audited so far and count"),
        (0, 3, 0, "0 of 3 answers passed; no task is audited yet, so none counts"),
    ],
)
def test_while_tasks_are_audited_all_answers_are_counted(passed: int, answers: int, counted: int, text: str) -> None:
    assert audited_so_far_text(passed, answers, counted) == text


def test_tasks_that_cannot_run_or_are_audited_are_not_counted_later() -> None:
    waiting = TaskRevision(audit_state=AuditState.UNAUDITED)
    closed = TaskRevision(audit_state=AuditState.UNAUDITED, not_runnable_reasons=["a file is missing"])
    audited = [TaskRevision(audit_state=state) for state in AuditState if state != AuditState.UNAUDITED]
    assert audited_later([waiting, closed, *audited, waiting]) == 2
