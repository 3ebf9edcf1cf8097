"""Which tasks no percentage counts, and how that is said."""

from __future__ import annotations

import pytest

from benchmark_tasks.domain.folders import LFS_ADVICE
from benchmark_tasks.domain.left_out import left_out_groups, left_out_text, tasks_left_out
from benchmark_tasks.enums import AuditState
from benchmark_tasks.models import TaskRevision

WEAK = {"task": "a/1", "why": "weak test: it caught only 1 of 2 seeded bugs"}
UNAUDITED = {"task": "b/1", "why": "not audited: whether its test tells right from wrong is not known yet"}


def test_how_many_are_left_out_is_said_by_kind() -> None:
    assert left_out_text([]) == ""
    assert left_out_text([WEAK]) == "1 task left out: 1 weak test"
    assert left_out_text([WEAK, UNAUDITED, {**WEAK, "task": "c/1"}]) == "3 tasks left out: 2 weak test, 1 not audited"


def test_each_reason_stands_once_with_its_tasks() -> None:
    many = [{"task": f"p/{number}", "why": f"not runnable: data_{number}.pt {LFS_ADVICE}"} for number in (1, 2)]
    assert left_out_groups([WEAK, *many, {"task": "d/1", "why": "weak test"}]) == {
        "weak test": {"it caught only 1 of 2 seeded bugs": ["a/1"], "": ["d/1"]},
        "not runnable": {"files are Git LFS pointers; fetch them with 'git lfs pull' and import again": ["p/1", "p/2"]},
    }


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"audit_state": AuditState.PASSED}, ""),
        ({"audit_state": AuditState.WEAK}, "weak test"),
        (
            {"audit_state": AuditState.WEAK, "audit": {"reasons": [], "weakness": "weak test: it caught 1 of 2"}},
            "weak test: it caught 1 of 2",
        ),
        (
            {"audit_state": AuditState.UNAUDITED},
            "not audited: whether its test tells right from wrong is not known yet",
        ),
        (
            {"audit_state": AuditState.UNAUDITED, "audit": {"obstacle": "no sandbox works"}},
            "not audited: no sandbox works",
        ),
        ({"audit_state": AuditState.FAILED}, "failed its audit: its test does not tell right from wrong"),
        (
            {"audit_state": AuditState.FAILED, "audit": {"reasons": ["the masked stub passes", "and more"]}},
            "failed its audit: the masked stub passes",
        ),
        (
            {"audit_state": AuditState.INCOMPLETE, "audit": {"reasons": ["the module 'torch' is missing"]}},
            "environment incomplete: the module 'torch' is missing",
        ),
        (
            {"audit_state": AuditState.PASSED, "not_runnable_reasons": ["no golden file", "no test"]},
            "not runnable: no golden file (and 1 more)",
        ),
    ],
)
def test_a_task_counts_where_it_takes_answers_and_its_audit_passed(fields: dict[str, object], why: str) -> None:
    assert TaskRevision(**fields).why_left_out == why


@pytest.mark.parametrize(
    ("state", "runnable"),
    [
        (AuditState.UNAUDITED, True),
        (AuditState.PASSED, True),
        (AuditState.WEAK, True),
        (AuditState.FAILED, False),
        (AuditState.INCOMPLETE, False),
    ],
)
def test_answers_are_taken_unless_the_audit_failed_or_stopped(state: AuditState, runnable: bool) -> None:
    assert TaskRevision(audit_state=state).runnable is runnable


def test_nothing_is_left_out_of_no_tasks() -> None:
    assert tasks_left_out([]) == []
