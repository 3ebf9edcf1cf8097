"""Show three marks for each task of a row, by unit tests, judge and annotators, to make their disagreement visible."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

from django.db.models import F
from django.urls import reverse
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from pydantic import BaseModel

from benchmark_tasks.domain.queries import in_order, revisions_of
from benchmark_tasks.models import TaskRevision

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from benchmark_tasks.models import SuiteVersion
    from leaderboard.board.row import BoardRow

TASK_ORDERS: Final = ("category", "difficulty")
_LABEL_MARKS: Final = {"CC": "g", "LC": "m", "LI": "b", "A": "a", "M": "x"}
_WRITTEN: Final = {"A": "abstained", "M": "mixed"}
_LABEL_WORDS: Final = {"A": "abstained", "M": "differs between trials"}


class MatrixTask(BaseModel, frozen=True):
    """A column of the matrix. ``place`` is its index in the lists of ``Entry.marks``; ``starts``: a group begins here.

    ``suite`` is its suite's slug. ``pass_rate`` is the mean share of trials that pass over the ranked rows; None if no
    row has a result.
    ``first_public`` is the year or month in which its paper was first public (``Paper.first_public``).
    """

    slug: str
    paper: str
    index: int
    address: str
    title: str
    category: str
    category_slug: str
    place: int
    suite: str = ""
    first_public: str = ""
    starts: bool = False
    pass_rate: float | None = None

    @property
    def percent(self) -> float | None:
        """The pass rate in per cent."""
        return None if self.pass_rate is None else 100 * self.pass_rate


def tasks_of(version: SuiteVersion) -> list[MatrixTask]:
    """Return the tasks of a suite version by category, in the paper's order. One query."""
    return _by_category(revisions_of(version))


def tasks_by_version(versions: Collection[int]) -> dict[int, list[MatrixTask]]:
    """Return suite version's id -> its tasks as :func:`tasks_of` does. One query."""
    found = TaskRevision.objects.filter(suite_versions__in=versions).annotate(version=F("suite_versions"))
    revisions: dict[int, list[TaskRevision]] = {version: [] for version in versions}
    for revision in in_order(found):
        revisions[revision.version].append(revision)  # type: ignore[attr-defined]
    return {version: _by_category(listed) for version, listed in revisions.items()}


def _by_category(revisions: Iterable[TaskRevision]) -> list[MatrixTask]:
    placed = list(enumerate(revisions))
    placed.sort(key=lambda each: (each[1].category.position if each[1].category else 1_000, each[0]))
    return [
        MatrixTask(
            slug=revision.task.slug,
            paper=revision.task.paper.slug,
            index=revision.task.index,
            address=revision.task.get_absolute_url(),
            title=revision.goal,
            category=revision.category.title if revision.category else "no category",
            category_slug=revision.category.slug if revision.category else "",
            place=place,
            suite=revision.task.suite.slug,
            first_public=revision.task.paper.first_public,
        )
        for place, revision in placed
    ]


def arranged(
    tasks: Sequence[MatrixTask], pass_rates: Sequence[float | None], *, category: str = "", order: str = "category"
) -> list[MatrixTask]:
    """Return the ``tasks`` in a category (all without one) with their pass rates; by difficulty, the hardest first."""
    chosen = [
        task.model_copy(update={"pass_rate": pass_rates[task.place] if pass_rates else None})
        for task in tasks
        if not category or task.category_slug == category
    ]
    if order == "difficulty":
        return sorted(chosen, key=lambda task: (task.pass_rate is None, task.pass_rate or 0, task.place))
    return [
        task.model_copy(update={"starts": bool(place) and chosen[place - 1].category != task.category})
        for place, task in enumerate(chosen)
    ]


def results_on(row: BoardRow, task: MatrixTask) -> tuple[float | None, str, str]:
    """Return the share of trials that pass a task, and the labels by judge and annotators; None and "" if unknown."""
    tests, judge, human = (row.marks.get("tests"), row.marks.get("judge"), row.marks.get("human"))
    place = task.place
    return tests[place] if tests else None, judge[place] if judge else "", human[place] if human else ""


def has_marks(row: BoardRow) -> bool:
    """Return whether a result of any single task is known."""
    marks = row.marks
    labelled = any((*marks.get("judge", []), *marks.get("human", [])))
    return labelled or any(share is not None for share in marks.get("tests", []))


def cells(
    row: BoardRow, tasks: Sequence[MatrixTask], *, each_stops: bool = False
) -> list[tuple[MatrixTask, SafeString]]:
    """Write a link with three marks for each of ``tasks``, to the evidence behind them; its label has words.

    A mark without any result is hollow. Empty if no results of single tasks are known. The Tab key stops once in a row,
    in which the arrow keys move on (``static/js/board.js``), unless ``each_stops``.
    """
    if not tasks or not has_marks(row):
        return []
    found: list[tuple[MatrixTask, SafeString]] = []
    absent = {each["task"]: each["why"] for each in row.left_out}
    for task in tasks:
        share, judge, human = results_on(row, task)
        words = escape(f"{task.slug}: {_words(row, (share, judge, human), absent.get(task.slug, ''))}")
        known = share is not None or judge or human
        marks = f"t{_tests_mark(share)} j{_LABEL_MARKS.get(judge, 'n')} h{_LABEL_MARKS.get(human, 'n')}"
        group = " starts" if task.starts else ""
        stop = ' tabindex="-1"' if found and not each_stops else ""
        classes, address = f"m {marks if known else 'hollow'}{group}", evidence_address(row, task)
        html = f'<a class="{classes}" href="{address}"{stop} aria-label="{words}"></a>'
        found.append((task, mark_safe(html)))  # noqa: S308 - the words are escaped, all else are slugs and numbers
    return found


def evidence_address(row: BoardRow, task: MatrixTask) -> str:
    """Return the address of the evidence behind a row's mark."""
    return f"{_board_of(task.suite)}answers/{row.key}/{task.paper}/{task.index}/"


@cache
def _board_of(suite: str) -> str:
    """Return the address of a suite's board. A page has thousands of marks, and reversing takes time."""
    return reverse("board", args=[suite])


def answer_address(row: BoardRow) -> Callable[[MatrixTask], str]:
    """Return a function from a task to the address of the row's answer, or the task's if the publication lacks it.

    Answers that were measured again have lines on the run's page.
    """
    if not row.reported:
        return lambda task: f"{row.address}answers/{task.paper}/{task.index}/1/"
    if row.remeasures:
        return lambda task: row.address + ("" if results_on(row, task)[0] is None else f"#{task.paper}-{task.index}")
    before = f"{reverse('cases')}reported/{row.key.removeprefix('r-')}/"
    absent = {each["task"] for each in row.not_reported}
    return lambda task: task.address if task.slug in absent else f"{before}{task.paper}/{task.index}/"


def _tests_mark(share: float | None) -> str:
    if share is None:
        return "n"
    return "g" if share >= 1 else "m" if share > 0 else "b"


def _words(row: BoardRow, results: tuple[float | None, str, str], absent: str) -> str:
    """Describe the results on a task; ``absent`` is why the row does not count it, if so."""
    share, judge, human = results
    tests = _tests_words(share, row.trials)
    if row.remeasures:
        return f"{tests}, tested again here" if tests else "the authors published no answer"
    if row.reported and not (tests or judge or human):
        return "the authors published no result"
    unknown = "not published by the authors" if row.reported else "not known"
    if not tests:
        tests = f"tests not counted: {absent}" if absent and not row.reported else f"tests {unknown}"
    missing = unknown if row.reported else "no label"
    labels = (
        f"{who} {_LABEL_WORDS.get(label, label) or missing}" for who, label in (("judge", judge), ("annotators", human))
    )
    return ", ".join((tests, *labels))


def _tests_words(share: float | None, trials: int) -> str:
    if share is None:
        return ""
    if trials > 1:
        return f"tests passed in {round(share * trials)} of {trials} trials"
    return "tests passed" if share >= 1 else "tests failed"


_LABELS_MEAN: Final = "CC, LC, LI, abstained, or mixed where trials differ; empty without a label."
FILE_MEANINGS: Final = {
    "system": ("text", "The system's name."),
    "inputs": ("text", "What the system was given: full, paper_only or paper_goal_file."),
    "task": ("text", "The task, as paper and index."),
    "category": ("text", "The task's category."),
    "tests": ("number", "Share of trials whose unit test passes, from 0 to 1; empty if not counted or not known."),
    "judge": ("text", f"The LLM judge's label: {_LABELS_MEAN}"),
    "annotators": ("text", f"The annotators' label: {_LABELS_MEAN}"),
    "address": ("text", "The answer's page."),
}
"""Type and meaning of each field of the matrix as a file, which has a line for each system and task."""
FILE_COLUMNS: Final = tuple(FILE_MEANINGS)


def file_rows(row: BoardRow, tasks: Sequence[MatrixTask], site: str) -> list[list[Any]]:
    """Return the lines of one row. While the viewer labels an answer of it, they have None for results and labels."""
    address_of = answer_address(row)
    lines: list[list[Any]] = []
    for task in tasks if row.marks or row.closed else ():
        share, *labels = results_on(row, task)
        about = (row.system, row.inputs, task.slug, task.category)
        written = (None if row.closed else _WRITTEN.get(label, label) for label in labels)
        lines.append([*about, share, *written, f"{site}{address_of(task)}"])
    return lines
