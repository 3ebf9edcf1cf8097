"""Whether the rows of a file of labels agree with each other: cases, people, and what the labels settle."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

from reviews.enums import CaseKind, CaseState, FinalSource, Role
from reviews.record.label_files import DECISION, REVIEW, LabelRow, Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from uuid import UUID

_OF_CASE: Final = (
    *("kind", "round", "state", "case_label", "case_source", "case_created", "case_settled", "triggers", "suite"),
    *("suite_version", "submission", "bundle_digest", "task", "trial", "system"),
)
_OF_PERSON: Final = ("pseudonym", "name")


def problems_within(rows: Sequence[tuple[int, LabelRow]]) -> list[Problem]:
    """What contradicts itself in the file, in the order of its lines."""
    problems = [
        *_twice(rows, "identifier", lambda row: row.identifier),
        *_twice(rows, "reviewer in a case", lambda row: (row.case, row.reviewer) if row.record == REVIEW else None),
        *_twice(rows, "decision of a case", lambda row: row.case if row.record == DECISION else None),
        *_twice(rows, "answer and round", _place, same=lambda row: row.case),
        *_twice(rows, "pseudonym", lambda row: row.pseudonym, same=lambda row: row.reviewer),
        *_differing(rows, "case", _OF_CASE, lambda row: row.case),
        *_differing(rows, "reviewer", _OF_PERSON, lambda row: row.reviewer),
    ]
    cases: dict[UUID, list[tuple[int, LabelRow]]] = defaultdict(list)
    for line, row in rows:
        cases[row.case].append((line, row))
    for numbered in [] if problems else cases.values():
        problems += [Problem(numbered[0][0], message) for message in _unsettled([row for _, row in numbered])]
    return sorted(problems, key=lambda problem: problem.line)


def _place(row: LabelRow) -> tuple[Any, ...]:
    whose = row.reviewer if row.kind == CaseKind.REPEAT else None
    return (row.suite, row.bundle_digest, row.submission, row.task, row.trial, row.kind, row.round, whose)


def _twice(
    rows: Sequence[tuple[int, LabelRow]],
    what: str,
    key: Callable[[LabelRow], Any],
    same: Callable[[LabelRow], Any] | None = None,
) -> Iterator[Problem]:
    """Rows with the ``key`` of an earlier one; None has no key. What is the ``same`` may have it again."""
    seen: dict[Any, tuple[int, Any]] = {}
    for line, row in rows:
        found, owner = key(row), same(row) if same else object()
        if found is None:
            continue
        first, other = seen.setdefault(found, (line, owner))
        if other != owner:
            yield Problem(line, f"has the same {what} as line {first}; leave one of them out.")


def _differing(
    rows: Sequence[tuple[int, LabelRow]], what: str, names: Sequence[str], key: Callable[[LabelRow], UUID]
) -> Iterator[Problem]:
    seen: dict[UUID, tuple[int, LabelRow]] = {}
    for line, row in rows:
        first, other = seen.setdefault(key(row), (line, row))
        wrong = [name for name in names if getattr(row, name) != getattr(other, name)]
        if wrong:
            yield Problem(line, f"says another {', '.join(wrong)} of the same {what} than line {first}.")


def _unsettled(rows: list[LabelRow]) -> Iterator[str]:
    """Why the labels of a case do not settle it as the file says it was."""
    first = rows[0]
    labels = [row.label for row in rows if row.record == REVIEW and row.role == Role.ANNOTATOR]
    decision = next((row for row in rows if row.record == DECISION), None)
    if first.kind == CaseKind.REPEAT:
        if len(labels) != 1 or len(rows) != 1 or first.case_label or first.case_source:
            yield "a repeat holds one annotator's label, and settles nothing (no case_label, no case_source)."
        return
    if decision is not None:
        settles = (FinalSource.DECISION, decision.label, CaseState.FINAL)
    elif labels and len(set(labels)) == 1:
        source = FinalSource.AGREED if len(labels) > 1 else FinalSource.SINGLE
        settles = (source, labels[0], CaseState.AGREED)
    else:
        yield f"the rows of case {first.case} settle nothing: no decision, and no labels that agree."
        return
    source, label, state = settles
    if (first.case_source, first.case_label) != (source, label) or first.state not in {state, CaseState.REOPENED}:
        yield (
            f"the rows of case {first.case} settle it as {label} ({source.value}, {state.value}), and the file says "
            f"{first.case_label or 'nothing'} ({first.case_source or 'no source'}, {first.state})."
        )
