"""Plan which scored submissions are measured again, and why, for the command's dry run and the maintainers' page."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from django.utils import timezone

from benchmark_tasks.domain.queries import revisions_of
from benchmark_tasks.enums import Protocol
from benchmark_tasks.models import SeedEpoch, Suite, SuiteVersion, Task, TaskRevision
from evaluator.enums import ReevaluationState, RunState
from evaluator.models import Reevaluation, TestRun
from evaluator.sandbox.configuration import EVALUATOR_VERSION, is_comparable
from evaluator.sandbox.task_environments import Offer, short_digest
from submissions.answers.contents import task_named
from submissions.enums import SubmissionState
from submissions.models import Implementation, Submission

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from django.db.models import QuerySet


class WrongChoiceError(Exception):
    """``field`` (suite, task or submission) names nothing that can be measured again; the message gives a remedy."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


UNDER_WAY: Final = (ReevaluationState.RUNNING, ReevaluationState.HELD)


@dataclass(frozen=True, slots=True)
class PlannedReevaluation:
    """Planned re-evaluation of ``submission``: ``runs`` to add, and how many answers are ``kept`` with their old run.

    The runs are not saved yet; each gives its reason in ``supersedes_reason``. ``target`` is the suite version that it
    ends on. If ``stale`` is not empty, that is the submission's own version: the tasks of the current version differ
    from those that were answered, and each text names one such change.
    """

    submission: Submission
    target: SuiteVersion
    runs: tuple[TestRun, ...]
    kept: int
    stale: tuple[str, ...]
    under_way: bool

    @property
    def moves(self) -> bool:
        """Whether the submission moves to another suite version."""
        return self.target.pk != self.submission.suite_version_id

    @property
    def needed(self) -> bool:
        """Whether there is anything to do that is not under way already."""
        return (bool(self.runs) or self.moves) and not self.under_way

    @property
    def reasons(self) -> tuple[tuple[str, int], ...]:
        """The reasons, each with its number of answers, the most frequent first."""
        counts = Counter(why for run in self.runs for why in run.supersedes_reason.split("; "))
        return tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def choose(*, suite: str = "", task: str = "", submissions: Collection[int] = ()) -> tuple[QuerySet[Submission], str]:
    """Select the scored submissions of a suite (by slug), with answers to a task, or with these numbers.

    The task is named ``suite/paper/1``, or ``paper/1`` beside its suite. Returns the submissions and the task's full
    name. Raises :class:`WrongChoiceError`.
    """
    found = Submission.objects.filter(state=SubmissionState.SCORED)
    if submissions:
        _require_scored(submissions)
        found = found.filter(pk__in=submissions)
    if suite:
        if not Suite.objects.filter(slug=suite).exists():
            known = ", ".join(Suite.objects.values_list("slug", flat=True)) or "none, import one first"
            raise WrongChoiceError("suite", f"There is no suite {suite}. Known: {known}.")
        found = found.filter(suite_version__suite__slug=suite)
    if task:
        task = _full_task_name(task, suite)
        of_suite, _, slug = task.partition("/")
        answers = Implementation.objects.filter(revision__task__suite__slug=of_suite, revision__task__slug=slug)
        found = found.filter(pk__in=answers.values("submission"))
    return found, task


def _require_scored(numbers: Collection[int]) -> None:
    states = dict(Submission.objects.filter(pk__in=numbers).values_list("pk", "state"))
    for number in numbers:
        if number not in states:
            raise WrongChoiceError("submission", f"There is no submission {number}; its number is in its address.")
        if states[number] != SubmissionState.SCORED:
            why = "only scored submissions are measured again"
            raise WrongChoiceError("submission", f"Submission {number} is {states[number]}: {why}.")


def _full_task_name(task: str, suite: str) -> str:
    written = task_named(task)
    for name in [f"{suite}/{written}", written] if suite else [written]:
        of_suite, _, slug = name.partition("/")
        if suite in ("", of_suite) and Task.objects.filter(suite__slug=of_suite, slug=slug).exists():
            return name
    if suite:
        raise WrongChoiceError("task", f"There is no task {task} in {suite}. Write it like dpo/1.")
    raise WrongChoiceError("task", f"There is no task {task}. Write it as suite/task, like lmr-mini/dpo/1.")


def with_new_seeds(current: SuiteVersion) -> SuiteVersion:
    """Return the version that a new seed epoch would make of ``current``. Neither is saved."""
    suite = current.suite
    newest = suite.seed_epochs.order_by("-number").values_list("number", flat=True)[0]
    epoch = SeedEpoch(suite=suite, number=newest + 1)
    return SuiteVersion(
        suite=suite,
        number=current.number + 1,
        seed_epoch=epoch,
        changes=f"New private seeds were drawn (seed epoch {epoch.number}); no task changed.",
    )


def fits(submission: Submission, version: SuiteVersion) -> bool:
    """Return whether ``submission`` belongs to ``version``, or its answers also count as answers to it."""
    if submission.suite_version_id == version.pk:
        return True
    return not _stale(_answers([submission])[submission.pk], _by_task(version))


def plan(
    submissions: QuerySet[Submission],
    *,
    offered: Callable[[TaskRevision], Offer | None],
    task: str = "",
    new_seeds: bool = False,
) -> list[PlannedReevaluation]:
    """Plan the re-evaluation of each of ``submissions``, oldest first, in a constant number of queries.

    ``offered`` returns the environment that a revision would be measured in now; None if unknown, and then
    environments are not compared. ``task`` (``suite/paper/1``) keeps only plans in which that task must run again or
    is stale. Submissions that need nothing stay in the list, to show that they were examined. ``new_seeds`` plans as
    if the suites had a new seed epoch; such a plan is for display only, since its versions do not exist.
    """
    listed = list(
        submissions.select_related("owner", "system", "suite_version__suite", "suite_version__seed_epoch").order_by(
            "pk"
        )
    )
    answers = _answers(listed)
    runs = {
        run.implementation_id: run
        for run in TestRun.objects.current()
        .filter(implementation__submission__in=listed)
        .order_by("pk")
        .defer("cases", "log")
    }
    busy = set(
        Reevaluation.objects.filter(submission__in=listed, state__in=UNDER_WAY).values_list("submission_id", flat=True)
    )
    targets = {}
    for version in _newest_versions(listed):
        target = with_new_seeds(version) if new_seeds else version
        targets[version.suite_id] = target, _by_task(version)
    plans = [
        _planned(submission, answers[submission.pk], runs, *targets[submission.suite_version.suite_id], offered)
        if submission.pk not in busy
        else PlannedReevaluation(submission, submission.suite_version, (), 0, (), under_way=True)
        for submission in listed
    ]
    slug = task.partition("/")[2]
    return [each for each in plans if not slug or _concerns(each, slug)]


def fingerprint(plans: Iterable[PlannedReevaluation]) -> str:
    """Return a digest that changes with the plan, so that a user confirms only the plan that was shown."""
    shown = [
        (each.submission.pk, each.target.pk, [(run.implementation_id, run.supersedes_reason) for run in each.runs])
        for each in plans
        if each.needed
    ]
    return hashlib.sha256(repr(shown).encode()).hexdigest()


def _newest_versions(submissions: list[Submission]) -> list[SuiteVersion]:
    suites = {submission.suite_version.suite_id for submission in submissions}
    versions = SuiteVersion.objects.filter(suite__in=suites).select_related("suite", "seed_epoch").order_by("number")
    return list({version.suite_id: version for version in versions}.values())


def _by_task(version: SuiteVersion) -> dict[int, TaskRevision]:
    return {revision.task_id: revision for revision in revisions_of(version)}


def _answers(submissions: list[Submission]) -> dict[int, list[Implementation]]:
    grouped: dict[int, list[Implementation]] = {submission.pk: [] for submission in submissions}
    found = (
        Implementation.objects.filter(submission__in=submissions)
        .select_related("revision__task__suite", "revision__task__paper")
        .defer("diff", "goal_source", "raw_answer", "revision__masked_source")
        .order_by("pk")
    )
    for answer in found:
        grouped[answer.submission_id].append(answer)
    return grouped


def _planned(
    submission: Submission,
    answers: list[Implementation],
    runs: Mapping[int, TestRun],
    target: SuiteVersion,
    current: Mapping[int, TaskRevision],
    offered: Callable[[TaskRevision], Offer | None],
) -> PlannedReevaluation:
    stale = _stale(answers, current) if target.pk != submission.suite_version_id else ()
    if stale:
        target, current = submission.suite_version, {}
    again = []
    for answer in answers:
        revision = current.get(answer.revision.task_id, answer.revision)
        before = runs.get(answer.pk)
        if before and (why := _differences(before, revision, target, offered)):
            again.append(_new_run(answer, revision, target, before, "; ".join(why)))
    kept = len(answers) - len(again)
    return PlannedReevaluation(submission, target, tuple(again), kept=kept, stale=stale, under_way=False)


def _new_run(
    answer: Implementation, revision: TaskRevision, target: SuiteVersion, before: TestRun, why: str
) -> TestRun:
    run = TestRun(
        implementation=answer,
        revision=revision if revision.pk != answer.revision_id else None,
        grading_hash=revision.grading_hash,
        seed_epoch=target.seed_epoch.number,
        evaluator_version=EVALUATOR_VERSION,
        supersedes_reason=why,
    )
    if answer.files is None:
        # No box was needed to decide it, and none would decide otherwise.
        run.state, run.outcome, run.reason = RunState.DONE, before.outcome, before.reason
        run.seconds, run.finished = 0.0, timezone.now()
    return run


def _stale(answers: list[Implementation], current: Mapping[int, TaskRevision]) -> tuple[str, ...]:
    """Return why the answers do not count as answers to the current version; the owner may submit again."""
    found = {}
    for answer in answers:
        old, new = answer.revision, current.get(answer.revision.task_id)
        slug = old.task.slug
        if new is None:
            found[slug] = f"{slug} has left the suite"
        elif not new.runnable:
            found[slug] = f"{slug} cannot be run any more"
        elif new.repository_hash != old.repository_hash:
            found[slug] = f"{slug} has another masked repository"
        elif new.statement_hash != old.statement_hash:
            found[slug] = f"{slug} has another statement"
    answered = {answer.revision.task_id for answer in answers}
    added = [revision.task.slug for task, revision in current.items() if revision.runnable and task not in answered]
    return (*found.values(), *(f"{slug} is new" for slug in added))


def _differences(
    run: TestRun, revision: TaskRevision, version: SuiteVersion, offered: Callable[[TaskRevision], Offer | None]
) -> tuple[str, ...]:
    """Return how the conditions of ``run`` differ from today's."""
    why = []
    if run.grading_hash != revision.grading_hash:
        why.append("new grading content")
    if run.seed_epoch != version.seed_epoch.number:
        why.append(f"seed epoch {run.seed_epoch} → {version.seed_epoch.number}")
    if not is_comparable(run.evaluator_version, sealed=revision.protocol == Protocol.SEALED):
        why.append(f"evaluator {run.evaluator_version} → {EVALUATOR_VERSION}")
        # A run that was decided without a box has no environment.
    offer = offered(revision) if run.environment_digest else None
    if offer and offer.name != run.environment:
        why.append(f"environment {run.environment} → {offer.name}")
    elif offer and offer.digest != run.environment_digest:
        why.append(f"environment {short_digest(run.environment_digest)} → {short_digest(offer.digest)}")
    return tuple(why)


def _concerns(planned: PlannedReevaluation, slug: str) -> bool:
    return (
        planned.under_way
        or any(run.graded_revision.task.slug == slug for run in planned.runs)
        or any(text.startswith(f"{slug} ") for text in planned.stale)
    )
