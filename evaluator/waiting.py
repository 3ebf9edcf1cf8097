"""Say what unfinished submissions wait for, their place in the queue, and the expected time."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from django.db.models import Avg, Count, F, Q
from django.utils import timezone

from benchmark_tasks.models import TaskRevision
from evaluator.enums import AttemptState, GenerationState, RunState, WaitsFor, WorkState
from evaluator.hosts.able import NO_HOST, evaluating
from evaluator.hosts.rows import with_signs_of_life
from evaluator.models import Attempt, Generation, TestRun
from evaluator.queue import leases
from evaluator.queue.listening import listening
from evaluator.queue.pushing import MODELS, RUNS
from evaluator.sandbox.interface import SandboxError
from evaluator.sandbox.task_environments import environment_name
from submissions.enums import SubmissionState

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from datetime import datetime

    from submissions.models import Submission

MEASURED: Final = 500
"""Number of newest attempts whose median duration is the expected one."""
LONGEST_PAUSE: Final = 2.0
"""Most seconds between two tests of a worker that count as its pause; in longer ones nothing waited."""
_TESTED: Final = (SubmissionState.QUEUED, SubmissionState.RUNNING)
_MINUTE: Final = 60
_HOUR: Final = 3600
_OWNER: Final = "implementation__submission__owner_id"
_SUITE: Final = "implementation__submission__suite_version__suite_id"


@dataclass(frozen=True, slots=True)
class Wait:
    """What a submission waits for, in words.

    ``place`` is the number of tests, of all submitters, that start before its next one; None if its next test is not
    due. ``seconds`` is the expected time until all its tests, or all its model's answers, are done; None with the
    reason ``no_estimate``.
    """

    waits_for: WaitsFor
    text: str
    place: int | None = None
    seconds: float | None = None
    no_estimate: str = ""

    @property
    def sentence(self) -> str:
        """Everything as one line."""
        parts = [self.text]
        if self.place is not None:
            parts.append(f"Tests of all submitters before its next one: {self.place}.")
        if self.seconds is not None:
            parts.append(f"Expected end: {_duration(self.seconds)}.")
        elif self.no_estimate:
            parts.append(f"No expected time: {self.no_estimate}.")
        return " ".join(parts)


def waits_of(submissions: Collection[Submission], *, here: bool = False) -> dict[int, Wait]:
    """Map the ids of those ``submissions`` that are not finished to what they wait for.

    ``here``: this process runs their tests, so that workers and hosts do not matter. At most eight queries, whatever
    their number, and one look at the queue's server; none if all are finished.
    """
    asked = [each for each in submissions if each.state in {SubmissionState.GENERATING, SubmissionState.HELD}]
    tested = [each for each in submissions if each.state in _TESTED]
    if not asked and not tested:
        return {}
    workers = listening()
    return _asked(asked, workers) | _tested(tested, workers, here=here)


def wait_of(submission: Submission, *, here: bool = False) -> Wait | None:
    """Return what ``submission`` waits for; None if it is finished. See :func:`waits_of`."""
    return waits_of([submission], here=here).get(submission.pk)


def _asked(submissions: Collection[Submission], workers: Counter[str] | None) -> dict[int, Wait]:
    """Describe submissions that wait for a model, or are held."""
    if not submissions:
        return {}
    answered = Count("requests", filter=Q(requests__state=WorkState.DONE))
    found = Generation.objects.filter(submission__in=submissions).order_by().select_related("endpoint")
    counted = found.annotate(answered=answered, total=Count("requests"), mean=Avg("requests__seconds"))
    generations = {each.submission_id: each for each in counted}
    waits = {}
    for each in submissions:
        generation = generations.get(each.pk)
        if generation is not None and generation.state in {GenerationState.PAUSED, GenerationState.HELD}:
            text = f"{generation.get_state_display().capitalize()}: {generation.reason or 'no reason was stored.'}"
            waits[each.pk] = Wait(WaitsFor.RESUMING, text, no_estimate="it goes on when it is resumed")
        elif each.state == SubmissionState.HELD:
            text = f"Held: {each.held_reason or 'an infrastructure error.'}"
            waits[each.pk] = Wait(WaitsFor.MAINTAINER, text, no_estimate="a maintainer must retry it")
        elif generation is not None:
            waits[each.pk] = _questions(generation, workers)
    return waits


def _questions(generation: Any, workers: Counter[str] | None) -> Wait:
    """Describe a run whose model is being asked; ``generation`` has ``answered``, ``total`` and ``mean``."""
    left = generation.total - generation.answered
    text = (
        f"Waits for answers of the model {generation.settings.get('model', '')}: "
        f"{generation.answered} of {generation.total} arrived."
    )
    until = generation.endpoint.not_before if generation.endpoint else None
    if until and until > timezone.now():
        text = f"{text} The provider limits requests: the next is sent at {_clock(until)}."
    obstacle = _no_worker(workers, MODELS, "worker for requests to models")
    if obstacle:
        return Wait(WaitsFor.WORKER, f"{obstacle} {text}", no_estimate="nothing is sent now")
    if generation.mean is None:
        return Wait(WaitsFor.MODEL, text, no_estimate="no answer of this run was measured yet")
    at_once = min(workers[MODELS] if workers else 1, generation.endpoint.requests_at_once if generation.endpoint else 1)
    seconds = max(left / at_once, 1) * generation.mean
    return Wait(WaitsFor.MODEL, text, seconds=seconds + (_seconds_until(until) if until else 0))


class _Run(NamedTuple):
    """A waiting test run."""

    submission: int
    revision: int
    suite: int
    reason: str
    not_before: datetime | None

    @property
    def due(self) -> bool:
        """Whether a host can take it now."""
        return self.reason != NO_HOST and not _seconds_until(self.not_before)


@dataclass
class _Queue:
    """The waiting runs of one owner in the order of claims, and ``others``: waiting and running runs of each owner."""

    owner: int
    runs: list[_Run]
    waiting: Mapping[int, int]
    running: Mapping[int, int]
    due: list[_Run] = field(init=False)

    def __post_init__(self) -> None:
        self.due = [run for run in self.runs if run.due]

    def others_before(self, position: int) -> int:
        """Return how many runs of other owners start before this owner's at ``position``, if none ends until then.

        ``evaluator.testing.claims.fair_order`` takes the owner with the fewest running runs, then the lowest id.
        """
        level = self.running.get(self.owner, 0) + position
        return sum(
            min(max(level - self.running.get(owner, 0) + (owner < self.owner), 0), waiting)
            for owner, waiting in self.waiting.items()
            if owner != self.owner
        )


class _Measured(NamedTuple):
    """Median seconds of recent attempts: of a task revision, of a suite, of all."""

    revisions: dict[int, float]
    suites: dict[int, float]
    every: float | None

    def of(self, run: _Run) -> float | None:
        """Return the expected seconds of ``run``; None if no test of its suite was measured."""
        return self.revisions.get(run.revision, self.suites.get(run.suite))


def _measured() -> _Measured:
    """Read how long the newest attempts that used a box kept a worker busy. One query.

    That is the time from claim to verdict and the worker's pause before it, in which it forks and imports.
    """
    attempts = Attempt.objects.filter(state=AttemptState.ACCEPTED, ended__isnull=False).exclude(sandbox="")
    names = ("started", "ended", "run__implementation__revision_id", f"run__{_SUITE}")
    rows = list(attempts.order_by("-pk").values_list(*names)[:MEASURED])
    ends = sorted(ended for _, ended, _, _ in rows)
    revisions, suites, every = defaultdict(list), defaultdict(list), []
    for started, ended, revision, suite in rows:
        earlier = bisect_left(ends, started)
        pause = (started - ends[earlier - 1]).total_seconds() if earlier else 0.0
        seconds = (ended - started).total_seconds() + (pause if pause <= LONGEST_PAUSE else 0.0)
        revisions[revision].append(seconds)
        suites[suite].append(seconds)
        every.append(seconds)
    return _Measured(
        {key: median(found) for key, found in revisions.items()},
        {key: median(found) for key, found in suites.items()},
        median(every) if every else None,
    )


def _tested(submissions: Collection[Submission], workers: Counter[str] | None, *, here: bool) -> dict[int, Wait]:
    """Describe submissions whose answers are being tested."""
    if not submissions:
        return {}
    queues = _queues({each.owner_id for each in submissions})
    counts: dict[int, Counter[str]] = defaultdict(Counter)
    runs = TestRun.objects.current().filter(implementation__submission__in=submissions, implementation__attempted=True)
    grouped = runs.order_by().values_list("implementation__submission", "state").annotate(number=Count("pk"))
    for submission, state, number in grouped:
        counts[submission][state] = number
    hosts = with_signs_of_life()
    obstacle = "" if here else _no_worker(workers, RUNS, "worker")
    if not here and not obstacle and hosts and not evaluating(hosts):
        obstacle = "No host that is up can run tests."
    measured = _measured()
    missing = _environments(run for queue in queues.values() for run in queue.runs if run.reason == NO_HOST)
    return {
        each.pk: _tests(
            each.pk, queues[each.owner_id], counts[each.pk], measured, obstacle, missing, workers, here=here
        )
        for each in submissions
    }


def _queues(owners: Collection[int]) -> dict[int, _Queue]:
    """Read the waiting runs of ``owners`` and the numbers of all owners' runs. Three queries."""
    queued = TestRun.objects.filter(state=RunState.QUEUED)
    due = leases.due(queued).exclude(reason=NO_HOST)
    waiting = dict(due.order_by().values_list(_OWNER).annotate(number=Count("pk")))
    running = dict(
        TestRun.objects.filter(state=RunState.RUNNING).order_by().values_list(_OWNER).annotate(number=Count("pk"))
    )
    in_order = queued.filter(**{f"{_OWNER}__in": owners}).order_by(F("reevaluation").asc(nulls_first=True), "pk")
    found: dict[int, list[_Run]] = defaultdict(list)
    names = ("implementation__submission_id", "implementation__revision_id", _SUITE, "reason", "not_before")
    for owner, reevaluation, *values in in_order.values_list(_OWNER, "reevaluation", *names):
        run = _Run(*values)
        # A re-evaluation's run delays later ones, but its submission does not wait for it.
        found[owner].append(run._replace(submission=0) if reevaluation else run)
    return {owner: _Queue(owner, found[owner], waiting, running) for owner in owners}


def _tests(
    submission: int,
    queue: _Queue,
    states: Counter[str],
    measured: _Measured,
    obstacle: str,
    missing: Mapping[int, str],
    workers: Counter[str] | None,
    *,
    here: bool,
) -> Wait:
    """Describe one submission whose answers are being tested."""
    own = [run for run in queue.runs if run.submission == submission]
    running = states[RunState.RUNNING]
    text = f"{states[RunState.DONE]} of {_number(states.total(), 'test')} done"
    text = f"{text}, {running} running." if running else f"{text}."
    hostless = sorted({missing[run.revision] for run in own if run.reason == NO_HOST})
    delayed = [run for run in own if run.reason != NO_HOST and not run.due]
    if hostless:
        text = f"{text} No host that is up offers the environment {', '.join(hostless)}."
    if delayed:
        first = min(delayed, key=lambda run: _seconds_until(run.not_before))
        reason, when = first.reason.rstrip(".") or "it was given back", _clock(first.not_before)
        again = f"{_number(len(delayed), 'test')} to be repeated after an infrastructure error ({reason})"
        text = f"{text} {again}; next try at {when}."
    if obstacle and not running:
        missing_part = WaitsFor.HOST if workers and workers[RUNS] else WaitsFor.WORKER
        return Wait(missing_part, f"{obstacle} {text}", no_estimate="nothing is tested now")
    positions = [number for number, run in enumerate(queue.due) if run.submission == submission]
    place = positions[0] + queue.others_before(positions[0]) if positions else None
    waits_for = WaitsFor.TESTS if running else WaitsFor.WORKER
    if not running and not positions and own:
        waits_for = WaitsFor.RETRY if delayed else WaitsFor.HOST
    elif not running and not here:
        text = f"{text} The next one waits for a free worker."
    if hostless:
        return Wait(waits_for, text, place, no_estimate="a host with that environment must start")
    seconds = _expected(queue, positions, running, own, measured, workers[RUNS] if workers else 0)
    why = "" if seconds is not None else "no test of this suite was measured here"
    return Wait(waits_for, text, place, seconds, why)


def _expected(
    queue: _Queue, positions: list[int], running: int, own: list[_Run], measured: _Measured, workers: int
) -> float | None:
    """Return the expected seconds until a submission's last run is done; None if that cannot be known.

    Runs that are under way are half done on average.
    """
    if measured.every is None or not workers or not (own or running):
        return None
    before = queue.due[: positions[-1] + 1] if positions else []
    expected = [measured.of(run) for run in [*before, *own]]
    if None in expected:
        return None
    known = [seconds for seconds in expected if seconds is not None]
    ahead = queue.others_before(positions[-1]) if positions else 0
    under_way = sum(queue.running.values()) if positions else running
    work = sum(known[: len(before)]) + (ahead + under_way / 2) * measured.every
    latest = max((_seconds_until(run.not_before) for run in own), default=0.0)
    return max(work / workers, latest + max(known, default=measured.every / 2))


def _environments(runs: Any) -> dict[int, str]:
    """Map the task revisions of ``runs`` to the names of their environments. One query, or none."""
    wanted = {run.revision for run in runs}
    if not wanted:
        return {}
    found = {}
    for revision in TaskRevision.objects.filter(pk__in=wanted).select_related("task__suite", "task__paper"):
        try:
            found[revision.pk] = environment_name(revision)
        except SandboxError:
            found[revision.pk] = f"of {revision.task.slug}"
    return found


def _no_worker(workers: Counter[str] | None, queue: str, what: str) -> str:
    if workers is None:
        return "The queue's server does not answer."
    return "" if workers[queue] else f"No {what} is running."


def _seconds_until(moment: datetime | None) -> float:
    return max((moment - timezone.now()).total_seconds(), 0.0) if moment else 0.0


def _clock(moment: datetime | None) -> str:
    return f"{timezone.localtime(moment):%H:%M:%S %Z}" if moment else "once"


def _number(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _duration(seconds: float) -> str:
    if seconds < _MINUTE:
        return "less than a minute"
    if seconds < 2 * _HOUR:
        return f"about {_number(round(seconds / _MINUTE), 'minute')}"
    return f"about {round(seconds / _HOUR)} hours"
