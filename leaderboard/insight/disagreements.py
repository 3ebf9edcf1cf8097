"""Choose the most striking answers on which unit tests, judge and annotators contradict each other."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Final, NamedTuple

from leaderboard.board.caching import Kept, fetched, key_of
from leaderboard.board.matrix import evidence_address, results_on
from reviews.enums import OPEN, CaseKind
from reviews.models import Case

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from django.db.models import QuerySet

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
    ones, the order is that of ``rows`` and ``tasks``. At most one query.
    """
    rows = [row for row in rows if row.marks.get("human")]
    open_cases = _open_cases(rows)
    key = key_of("striking", [row.stamp or row for row in rows], [task.slug for task in tasks], sorted(open_cases))
    known = _CHOSEN.get_many([key]).get(key)
    if known is None:
        known = _chosen(rows, tasks, open_cases)
        _CHOSEN.set_many({key: known})
    return known


def _chosen(
    rows: Sequence[BoardRow], tasks: Sequence[MatrixTask], open_cases: Collection[tuple[int, str]]
) -> list[Disagreement]:
    found = [each for each in _contradictory(rows, tasks) if (each.row.submission, each.task.slug) not in open_cases]
    found.sort(key=lambda each: -each.conflicts)
    chosen: list[_Answer] = []
    for one_a_system in (True, False):
        for answer in found:
            if len(chosen) == MOST:
                break
            systems, slugs = {each.row.system for each in chosen}, {each.task.slug for each in chosen}
            if answer.task.slug not in slugs and not (one_a_system and answer.row.system in systems):
                chosen.append(answer)
    return [each.described for each in chosen]


def _open_cases(rows: Sequence[BoardRow]) -> set[tuple[int, str]]:
    """Return (submission, task's slug) of the answers of ``rows`` that wait for labels or a decision."""
    submissions = sorted(row.submission for row in rows if row.submission)
    if not submissions:
        return set()

    def cases() -> QuerySet[Case, tuple[int, str]]:
        found = Case.objects.filter(implementation__submission__in=submissions, kind=CaseKind.REVIEW, state__in=OPEN)
        return found.values_list("implementation__submission", "implementation__revision__task__slug")

    return {(submission, task) for submission, task in fetched(cases, "open cases", submissions)}


class _Answer(NamedTuple):
    """An answer on which raters contradict each other, and in how many pairs."""

    conflicts: int
    row: BoardRow
    task: MatrixTask

    @property
    def described(self) -> Disagreement:
        share, judge, annotators = results_on(self.row, self.task)
        tests = "passes" if share else "fails"
        raters = (
            f"judge and annotators call it {_CALLS[judge]}"
            if judge == annotators
            else f"the judge calls it {_CALLS[judge]}, annotators {_CALLS[annotators]}"
        )
        sentence = f"{self.row.system}, {self.task.slug}: {tests} its tests; {raters}."
        return Disagreement(sentence, evidence_address(self.row, self.task), self.conflicts)


def _contradictory(rows: Iterable[BoardRow], tasks: Sequence[MatrixTask]) -> Iterator[_Answer]:
    for row in rows:
        tests, judge, human = row.marks.get("tests"), row.marks.get("judge"), row.marks.get("human")
        if tests and judge and human:
            for task in tasks:
                # Trials that differ, and abstentions, contradict no rater.
                conflicts = _CONFLICTS.get((tests[task.place], judge[task.place], human[task.place]))
                if conflicts:
                    yield _Answer(conflicts, row, task)


def _conflicts(passed: float, judge: str, annotators: str) -> int:
    """Return how many pairs of raters contradict each other: passed or CC against LI, failed against CC."""
    labels = (judge, annotators)
    against_tests = labels.count("LI" if passed else "CC")
    return against_tests + (set(labels) == {"CC", "LI"})


_CONFLICTS: Final[dict[tuple[float | None, str, str], int]] = {
    results: _conflicts(*results) for results in product((0.0, 1.0), _CALLS, _CALLS)
}
_CHOSEN: Final[Kept[list[Disagreement]]] = Kept(100)
