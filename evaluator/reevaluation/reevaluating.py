"""Measure scored submissions again: start, stop, retry and apply a re-evaluation, and compute its changes."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from benchmark_tasks.domain.queries import current_version
from benchmark_tasks.models import Suite, SuiteVersion
from benchmark_tasks.signals import suite_imported
from evaluator.enums import ReevaluationState, RunState
from evaluator.models import Reevaluation, TestRun
from evaluator.outcomes import Outcome
from evaluator.queue.pushing import push
from evaluator.reevaluation.planning import UNDER_WAY, with_new_seeds
from evaluator.signals import submission_reevaluated
from evaluator.testing.finalising import UNFINISHED, requeue_held, stop_runs
from submissions.domain.audit import record
from submissions.enums import SubmissionState, Verb
from submissions.exceptions import NotAllowedError, WrongStateError
from submissions.models import Implementation, Submission

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from evaluator.reevaluation.planning import PlannedReevaluation
    from submissions.models import User


def start(*, planned: PlannedReevaluation, reason: str, actor: User | None) -> Reevaluation:
    """Queue the runs of ``planned``. The submission's old results count until all new ones exist.

    ``actor`` is None for the command line. Raises :class:`NotAllowedError` for anyone but maintainers and without a
    reason, :class:`WrongStateError` when there is nothing to do, the plan is outdated, or one is under way.
    """
    _require_maintainer(actor)
    if not reason.strip():
        msg = "Give a reason: it is published beside the difference."
        raise NotAllowedError(msg)
    if not planned.needed:
        msg = f"Submission {planned.submission.pk} has no answers to measure again."
        raise WrongStateError(msg)
    with transaction.atomic():
        submission = _lock(planned)
        reevaluation = _new(planned, reason, actor)
        for run in planned.runs:
            run.reevaluation = reevaluation
        TestRun.objects.bulk_create(planned.runs)
        record(
            verb=Verb.REEVALUATING,
            subject=submission,
            actor=actor,
            reason=reason,
            data={"reevaluation": reevaluation.pk, "runs": len(planned.runs)},
        )
        transaction.on_commit(partial(push, sum(run.state == RunState.QUEUED for run in planned.runs)))
        # With nothing to run (such as changed facts of a task), it is done already.
        transaction.on_commit(partial(finalise_reevaluation, reevaluation.pk))
    return reevaluation


def _lock(planned: PlannedReevaluation) -> Submission:
    as_planned = Submission.objects.filter(
        pk=planned.submission.pk, state=SubmissionState.SCORED, suite_version=planned.submission.suite_version_id
    )
    submission = as_planned.select_for_update().first()
    if submission is None:
        msg = f"Submission {planned.submission.pk} changed since this was planned. Plan it again."
        raise WrongStateError(msg)
    return submission


def _new(planned: PlannedReevaluation, reason: str, actor: User | None) -> Reevaluation:
    try:
        with transaction.atomic():
            return Reevaluation.objects.create(
                submission=planned.submission,
                from_version_id=planned.submission.suite_version_id,
                to_version=planned.target,
                reason=reason,
                actor=actor,
            )
    except IntegrityError:
        msg = f"Submission {planned.submission.pk} is being re-evaluated already."
        raise WrongStateError(msg) from None


def retry(*, reevaluation: Reevaluation, actor: User) -> int:
    """Queue a held re-evaluation's held runs again and return how many. For maintainers; recorded."""
    _require_maintainer(actor)
    with transaction.atomic():
        if not Reevaluation.objects.filter(pk=reevaluation.pk, state=ReevaluationState.HELD).update(
            state=ReevaluationState.RUNNING, held_reason=""
        ):
            msg = "Only a held re-evaluation can be retried."
            raise WrongStateError(msg)
        count = requeue_held(TestRun.objects.filter(reevaluation=reevaluation))
        record(verb=Verb.RETRIED, subject=reevaluation, actor=actor, data={"runs": count})
    return count


def cancel(*, reevaluation: Reevaluation, actor: User | None) -> None:
    """Stop a re-evaluation; its submission stays unchanged. For maintainers; recorded.

    Raises :class:`NotAllowedError`, and :class:`WrongStateError` when it has ended.
    """
    _require_maintainer(actor)
    with transaction.atomic():
        if not Reevaluation.objects.filter(pk=reevaluation.pk, state__in=UNDER_WAY).update(
            state=ReevaluationState.CANCELLED, ended=timezone.now()
        ):
            msg = "This re-evaluation has already ended."
            raise WrongStateError(msg)
        record(
            verb=Verb.REEVALUATION_STOPPED,
            subject=reevaluation.submission,
            actor=actor,
            data={"reevaluation": reevaluation.pk},
        )
        stop_runs(TestRun.objects.filter(reevaluation=reevaluation), "The re-evaluation was stopped.")


def finalise_reevaluation(pk: int) -> None:
    """Apply the re-evaluation when all its runs are done, or hold it with the reason when one of them is held."""
    with transaction.atomic():
        under_way = Reevaluation.objects.filter(pk=pk, state=ReevaluationState.RUNNING)
        reevaluation = under_way.select_for_update().first()
        runs = TestRun.objects.filter(reevaluation=pk)
        if reevaluation is None or runs.filter(state__in=UNFINISHED).exists():
            return
        held = runs.filter(state=RunState.HELD).order_by("pk").first()
        if held is not None:
            under_way.update(state=ReevaluationState.HELD, held_reason=held.reason)
            return
        _apply(reevaluation)


def reevaluations_to_finalise() -> list[int]:
    """Return running re-evaluations whose runs have all ended: the step that applies them was lost. One query."""
    unfinished = TestRun.objects.filter(reevaluation=OuterRef("pk"), state__in=UNFINISHED)
    ended = Reevaluation.objects.filter(~Exists(unfinished), state=ReevaluationState.RUNNING)
    return list(ended.values_list("pk", flat=True))


def _apply(reevaluation: Reevaluation) -> None:
    """Replace all old results by the new ones; move the submission and its answers to the new suite version."""
    submission = Submission.objects.select_for_update().get(pk=reevaluation.submission_id)
    old = TestRun.objects.current().filter(implementation__submission=submission)
    before = {run.implementation_id: run for run in old.only("implementation").order_by("pk")}
    new = list(reevaluation.runs.all())
    for run in new:
        run.supersedes = before.get(run.implementation_id)
    TestRun.objects.bulk_update(new, ["supersedes"])
    submission.suite_version = reevaluation.to_version
    digests = (run.environment_digest for run in new if run.environment_digest)
    submission.environment_digest = next(digests, submission.environment_digest)
    submission.save(update_fields=["suite_version", "environment_digest"])
    for task, revision in reevaluation.to_version.revisions.values_list("task_id", "pk"):
        answers = Implementation.objects.filter(submission=submission, revision__task=task)
        answers.exclude(revision=revision).update(revision=revision)
    # From here on the new runs are the current ones.
    reevaluation.state, reevaluation.ended, reevaluation.held_reason = ReevaluationState.APPLIED, timezone.now(), ""
    reevaluation.save(update_fields=["state", "ended", "held_reason"])
    record(
        verb=Verb.REEVALUATED,
        subject=submission,
        actor=reevaluation.actor,
        reason=reevaluation.reason,
        data={"reevaluation": reevaluation.pk, "changed": _as_changes(reevaluation)},
    )
    submission_reevaluated.send(sender=Submission, submission=submission)


def _as_changes(reevaluation: Reevaluation) -> dict[str, list[str]]:
    """Return the difference as lines of a submission's history: name -> old, new."""
    difference = differences([reevaluation])[reevaluation.pk]
    changes = {each.name: [each.before, each.after] for each in difference.changed}
    if reevaluation.from_version_id != reevaluation.to_version_id:
        changes["suite version"] = [str(reevaluation.from_version.number), str(reevaluation.to_version.number)]
    if difference.before != difference.after:
        changes["passed tasks"] = [text.replace("/", " of ") for text in (difference.before, difference.after)]
    return changes


def new_epoch(*, suite: Suite, actor: User | None) -> SuiteVersion:
    """Draw new private seeds for ``suite``: a new version with the same task revisions and the next seed epoch.

    Scored submissions stay on their version until they are re-evaluated. Raises :class:`WrongStateError` before the
    suite's first import.
    """
    _require_maintainer(actor)
    with transaction.atomic():
        suite = Suite.objects.select_for_update().get(pk=suite.pk)
        current = current_version(suite)
        if current is None:
            msg = f"{suite} has no version yet: import it first."
            raise WrongStateError(msg)
        version = with_new_seeds(current)
        version.seed_epoch.save()
        version.save()
        version.revisions.set(current.revisions.all())
        transaction.on_commit(
            partial(suite_imported.send_robust, sender=SuiteVersion, suite_version=version, actor=actor)
        )
    return version


def _require_maintainer(actor: User | None) -> None:
    if actor is not None and not actor.is_staff:
        msg = "Only maintainers re-evaluate submissions."
        raise NotAllowedError(msg)


@dataclass(frozen=True, slots=True)
class Change:
    """An answer whose outcome changed. ``name`` is its task, with the trial where there are several."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Difference:
    """Changes by an applied re-evaluation of ``measured`` answers, and the row's passed/counted tasks."""

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
    """Return the changes of each applied re-evaluation, by its key. Three queries, regardless of their number.

    They are computed from the test runs, which are never overwritten.
    """
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
    """Compute one difference from all ``runs`` of the submission that ever counted, oldest first."""
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
    """Return passed and counted tasks as on the board: pass@1 over the trials, without tasks that are left out."""
    passed = [run for run in runs if run.outcome == Outcome.PASSED and run.implementation.revision.task_id in counted]
    return f"{len(passed) / trials:g}/{len(counted)}"
