"""What applied re-evaluations changed, computed from the test runs: none of them is ever overwritten."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db.models import Q

from benchmark_tasks.models import SuiteVersion
from evaluator.enums import ReevaluationState
from evaluator.models import TestRun
from evaluator.testing.types import Outcome

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from evaluator.models import Reevaluation


@dataclass(frozen=True, slots=True)
class Change:
    """An answer whose outcome is another one now. ``name`` is its task, with the trial where there are several."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Difference:
    """What an applied re-evaluation changed of ``measured`` answers, and in the row's passed/counted tasks."""

    measured: int
    changed: list[Change]
    reasons: list[str]
    before: str
    after: str

    @property
    def text(self) -> str:
        """One line: ``new grading content; 1 outcome changed (dpo/1 passed → wrong output), 7/9 → 6/9``."""
        number = len(self.changed)
        listed = ", ".join(f"{each.name} {each.before} → {each.after}" for each in self.changed)
        what = f"{number} outcome{'s' if number != 1 else ''} changed ({listed})" if number else "no outcome changed"
        row = f"{self.before} → {self.after}" if self.before != self.after else self.after
        return "; ".join([*self.reasons, f"{what}, {row}"])


def differences(reevaluations: Collection[Reevaluation]) -> dict[int, Difference]:
    """The difference of each applied one of ``reevaluations``, by its key. Three queries, however many there are."""
    applied = [each for each in reevaluations if each.state == ReevaluationState.APPLIED]
    if not applied:
        return {}
    runs: dict[int, list[TestRun]] = defaultdict(list)
    counting = TestRun.objects.filter(Q(reevaluation=None) | Q(reevaluation__state=ReevaluationState.APPLIED))
    counting = counting.filter(implementation__submission__in=[each.submission_id for each in applied])
    for run in counting.select_related("implementation__revision__task").defer("cases", "log").order_by("pk"):
        runs[run.implementation.submission_id].append(run)
    ends = {pk for each in applied for pk in (each.from_version_id, each.to_version_id)}
    counted = {
        version.pk: {revision.task_id for revision in version.revisions.all() if not revision.why_left_out}
        for version in SuiteVersion.objects.filter(pk__in=ends).prefetch_related("revisions")
    }
    return {each.pk: _difference(each, runs[each.submission_id], counted) for each in applied}


def _difference(reevaluation: Reevaluation, runs: Iterable[TestRun], counted: dict[int, set[int]]) -> Difference:
    """``runs`` are all of the submission that ever counted, oldest first; its re-evaluations follow one another."""
    before: dict[int, TestRun] = {}
    new: dict[int, TestRun] = {}
    for run in runs:
        if (run.reevaluation_id or 0) < reevaluation.pk:
            before[run.implementation_id] = run
        elif run.reevaluation_id == reevaluation.pk:
            new[run.implementation_id] = run
    trials = reevaluation.submission.trials
    return Difference(
        measured=len(new),
        changed=[
            Change(_name(run, trials), Outcome(before[answer].outcome).words, Outcome(run.outcome).words)
            for answer, run in new.items()
            if run.outcome != before[answer].outcome
        ],
        reasons=list(dict.fromkeys(why for run in new.values() for why in run.supersedes_reason.split("; ") if why)),
        before=_passed(before.values(), counted[reevaluation.from_version_id], trials),
        after=_passed((before | new).values(), counted[reevaluation.to_version_id], trials),
    )


def _name(run: TestRun, trials: int) -> str:
    slug = run.implementation.revision.task.slug
    return f"{slug} trial {run.implementation.trial}" if trials > 1 else slug


def _passed(runs: Iterable[TestRun], counted: set[int], trials: int) -> str:
    """Passed and counted tasks as on the board: pass@1 over the trials, without the tasks that are left out."""
    passed = [run for run in runs if run.outcome == Outcome.PASSED and run.implementation.revision.task_id in counted]
    return f"{len(passed) / trials:g}/{len(counted)}"
