"""Collect what others published about one answer: reported results, and outcomes of answers that were tested again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evaluator.outcomes import Outcome
from leaderboard.board.rows import visible_entries
from leaderboard.board.upstream_results import NEVER_RAN_NOTE
from leaderboard.evidence.cases import disagreements
from leaderboard.evidence.outcomes import SENTENCES
from leaderboard.models import ReportedResult

if TYPE_CHECKING:
    from benchmark_tasks.models import Task
    from leaderboard.models import ReportedRun


@dataclass(frozen=True, slots=True)
class ShownReport:
    """One answer of a reported run. ``result`` is what was published, None if nothing was, not even for a total.

    ``outcome`` is that of our test if the published answer was tested again, by the run ``again``. ``totals_only``: the
    run has no result of any single task.
    """

    run: ReportedRun
    result: ReportedResult | None
    outcome: Outcome | None
    again: ReportedRun | None
    totals_only: bool

    @property
    def sentence(self) -> str:
        """The outcome in a sentence, with who published it."""
        if self.run.remeasures:
            return SENTENCES[self.outcome] if self.outcome else "The authors published no answer to this task."
        if self.result is None:
            nothing = "totals only, no result of a single task" if self.totals_only else "no result for this task"
            return f"The authors published {nothing}."
        if self.never_ran:
            return "The authors count this answer as failed: their test never ran."
        if self.result.tests_passed is None:
            return "The authors published no result of its unit tests."
        return f"The authors report that the answer {'passes' if self.result.tests_passed else 'fails'} its unit tests."

    @property
    def never_ran(self) -> bool:
        """Whether the authors count the answer as failed although their test never ran."""
        return bool(self.result and self.result.tests_note == NEVER_RAN_NOTE)

    @property
    def css(self) -> str:
        """The class of the outcome's colour."""
        passed = self.result.tests_passed if self.result else None
        if self.run.remeasures:
            passed = self.outcome == Outcome.PASSED if self.outcome else None
        return "pending" if passed is None else "passed" if passed else "failed"

    @property
    def disagreements(self) -> tuple[str, ...]:
        """How the reported raters differ."""
        return disagreements(self.result) if self.result else ()


def shown_report(run: ReportedRun, task: Task, *, totals_only: bool = False) -> ShownReport:
    """Return what was published about the answer of ``run`` to ``task``. Two queries.

    Of a re-measured run, the result is that of the reported run whose answers it has.
    """
    results = ReportedResult.objects.select_related("run__suite", "run__system", "run__remeasures", "task__paper")
    shown = results.filter(task=task, run__in=visible_entries().values("reported_run"))
    result = shown.filter(run=run.remeasures or run).first()
    tested = shown.filter(run=run) if run.remeasures else shown.filter(run__remeasures=run)
    measured = tested.exclude(outcome="").first()
    return ShownReport(
        run=run,
        result=result,
        outcome=Outcome(measured.outcome) if measured else None,
        again=measured.run if measured else None,
        totals_only=totals_only,
    )
