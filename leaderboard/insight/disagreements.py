"""Choose the most striking answers on which unit tests, judge and annotators contradict each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from leaderboard.board.matrix import evidence_address, results_on
from reviews.enums import OPEN, CaseKind
from reviews.models import Case

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from leaderboard.board.matrix import MatrixTask
    from leaderboard.board.row import BoardRow

MOST: Final = 3
_CALLS: Final = {"CC": "correct", "LC": "right in idea but wrong in detail", "LI": "wrong"}


class Disagreement(NamedTuple):
    """An answer in a sentence, the address of its evidence, and how many pairs of raters contradict each other."""

    sentence: str
    address: str
    conflicts: int


def striking(rows: Sequence[BoardRow], tasks: Sequence[MatrixTask]) -> list[Disagreement]:
    """Return the answers of ``rows`` with most contradictions, at most one a task and, if possible, one a system.

    Only answers with an annotators' label count, and none with an open case, which annotators label blind. Of equal
    ones, the order is that of ``rows`` and ``tasks``. One query.
    """
    open_cases = _open_cases(rows)
    contradictory = (
        each for each in _contradictory(rows, tasks) if (each[0].submission, each[1].slug) not in open_cases
    )
    found = sorted(contradictory, key=lambda each: -each[2].conflicts)
    chosen: list[tuple[BoardRow, MatrixTask, Disagreement]] = []
    for one_a_system in (True, False):
        for row, task, disagreement in found:
            known = any(
                task.slug == other.slug or (one_a_system and row.system == of.system) for of, other, _ in chosen
            )
            if len(chosen) < MOST and not known:
                chosen.append((row, task, disagreement))
    return [disagreement for _, _, disagreement in chosen]


def _open_cases(rows: Sequence[BoardRow]) -> set[tuple[int | None, str]]:
    """Return (submission, task's slug) of the answers of ``rows`` that wait for labels or a decision."""
    submissions = [row.submission for row in rows if row.submission]
    cases = Case.objects.filter(implementation__submission__in=submissions, kind=CaseKind.REVIEW, state__in=OPEN)
    return set(cases.values_list("implementation__submission", "implementation__revision__task__slug"))


def _contradictory(
    rows: Iterable[BoardRow], tasks: Sequence[MatrixTask]
) -> Iterator[tuple[BoardRow, MatrixTask, Disagreement]]:
    for row in rows:
        for task in tasks:
            share, judge, annotators = results_on(row, task)
            # Trials that differ, and abstentions, contradict no rater.
            if share not in {0, 1} or judge not in _CALLS or annotators not in _CALLS:
                continue
            right = [label == "CC" for label in (judge, annotators)]
            wrong = [label == "LI" for label in (judge, annotators)]
            against_tests = sum(wrong if share else right)
            conflicts = against_tests + ((right[0] and wrong[1]) or (wrong[0] and right[1]))
            if conflicts:
                tests = "passes" if share else "fails"
                raters = (
                    f"judge and annotators call it {_CALLS[judge]}"
                    if judge == annotators
                    else f"the judge calls it {_CALLS[judge]}, annotators {_CALLS[annotators]}"
                )
                sentence = f"{row.system}, {task.slug}: {tests} its tests; {raters}."
                yield row, task, Disagreement(sentence, evidence_address(row, task), conflicts)
