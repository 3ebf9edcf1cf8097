"""Report the state of this instance's evaluator: the public part, and what only maintainers see.

It contains no paths, no secrets and no names of unpublished things: only counts, times, digests and public causes.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from django.conf import settings
from django.db.models import Max, OuterRef, Subquery

from benchmark_tasks.domain import garbage
from benchmark_tasks.domain.clock import TOLERATED_SECONDS
from benchmark_tasks.enums import AuditState
from benchmark_tasks.models import SuiteVersion, TaskRevision
from evaluator.enums import SelfCheckKind
from evaluator.hosts.rows import with_signs_of_life
from evaluator.models import EnvironmentBuild, Host, SelfCheck
from evaluator.sandbox.configuration import EVALUATOR_VERSION
from evaluator.sandbox.task_environments import short_digest
from leaderboard.health.queues import QueueState, infra_summary, queue_state
from leaderboard.settings.environment import POOLS
from submissions.enums import SubmissionState
from submissions.models import Submission

if TYPE_CHECKING:
    from collections.abc import Iterable

    from django.db.models import QuerySet

_KINDS: Final = {
    SelfCheckKind.FULL: "Full attack test",
    SelfCheckKind.SHORT: "Short attack test",
    SelfCheckKind.CANARY: "Attack test at the start of a worker",
}
_COMMAND: Final = {
    SelfCheckKind.FULL: "not run yet; an operator runs it with manage.py attack",
    SelfCheckKind.SHORT: "not run yet; workers run it after they start and every few hours",
    SelfCheckKind.CANARY: "not run yet; every worker runs it when it starts",
}


@dataclass(frozen=True, slots=True)
class Round:
    """The newest round of attacks of one kind. ``check`` is None if there was none; ``hint`` explains who runs it."""

    kind: SelfCheckKind
    title: str
    hint: str
    check: SelfCheck | None

    @property
    def verdict(self) -> str:
        """``29 of 29 ended as expected``, or why there is no number."""
        if self.check is None:
            return self.hint
        if self.check.error:
            return "ended with an infrastructure error, so it has no result"
        return f"{self.check.repelled} of {len(self.check.results)} ended as expected"

    @property
    def failures(self) -> list[dict[str, Any]]:
        """The attacks and controls that ended otherwise than expected. Their ``reason`` is for maintainers."""
        return [row for row in self.check.results if not row["repelled"]] if self.check else []

    @property
    def protocols(self) -> list[tuple[str, int, int]]:
        """(Protocol, number repelled, number run) of the attacks, without the controls."""
        return [(way, *counts) for way, counts in self.check.attacks.items()] if self.check else []


@dataclass(frozen=True, slots=True)
class HostState:
    """A host; its ``number`` replaces its name for the public. ``live``: it reported lately."""

    number: int
    host: Host
    live: bool

    @property
    def problems(self) -> list[str]:
        """What is wrong with it, as public predicates."""
        if not self.live:
            return ["has been silent for more than 100 seconds"]
        off = abs(self.host.clock_off) > TOLERATED_SECONDS
        return [
            *(["cannot run boxes"] if self.host.problem else []),
            *([f"has a clock that is {self.host.clock_off:+.0f} s off"] if off else []),
        ]

    def as_data(self) -> dict[str, Any]:
        """Return what everyone may know of it."""
        host = self.host
        return {
            "number": self.number,
            "version": host.version,
            "live": self.live,
            "pools": host.pools,
            "sandbox": host.sandbox,
            "family": host.family,
            "environments": sorted(host.environments),
            "processors": host.processors,
            "memory_mb": host.memory_mb,
            "disk_mb": host.disk_mb,
            "clock_off": host.clock_off,
            "seen": host.seen,
        }


@dataclass(frozen=True, slots=True)
class Status:
    """The data of the status page."""

    evaluator_version: str
    queue: QueueState
    sandbox: str
    rounds: tuple[Round, ...]
    builds: tuple[EnvironmentBuild, ...]
    digest: str
    causes: list[dict[str, Any]]
    held: int
    audits_waiting: int
    missing_files: int
    hosts: tuple[HostState, ...]

    @property
    def troubles(self) -> list[str]:
        """The problems, worst first, for the top of the page; empty if there are none."""
        causes = dict.fromkeys(entry.check.cause for entry in self.rounds if entry.check and entry.check.cause)
        found = [f"Nothing can be evaluated here: {cause}." for cause in causes]
        if self.queue.registered is None:
            found.append("The queue's server does not answer: submissions wait.")
        elif not self.queue.registered:
            found.append("No worker is running: submissions wait.")
        if self.queue.model_workers == 0 and self.queue.questions:
            found.append("No worker for requests to models is running: answers and verdicts wait.")
        failed = [entry for entry in self.rounds if entry.check and not entry.check.ok and not entry.check.cause]
        found += [f"{entry.title}: {entry.verdict}." for entry in failed]
        if self.causes:
            found.append("Runs wait, or are held, because of an infrastructure error.")
        elif self.queue.stalled:
            found.append("Runs have been waiting for minutes, and none is under way.")
        found += [f"Host {each.number} {problem}." for each in self.hosts for problem in each.problems]
        if unserved := pools_without_host((each.host, each.live) for each in self.hosts):
            found.append(f"No host that is up does this work, so it waits: {', '.join(unserved)}.")
        if self.missing_files:
            found.append(f"Stored files are missing: {self.missing_files}.")
        return found


def pools_without_host(listed: Iterable[tuple[Host, bool]]) -> list[str]:
    """Return the pools that none of the live hosts has; none if no host is live, which is another problem."""
    served = {pool for host, live in listed if live for pool in host.pools}
    return [pool for pool in POOLS if served and pool not in served]


def status() -> Status:
    """Read the status from the database and the queue's server, in a constant number of queries."""
    rounds = tuple(
        Round(kind, title, _COMMAND[kind], SelfCheck.objects.filter(kind=kind).first())
        for kind, title in _KINDS.items()
    )
    newest = max((entry.check for entry in rounds if entry.check), key=lambda check: check.finished, default=None)
    queue = queue_state()
    return Status(
        evaluator_version=EVALUATOR_VERSION,
        queue=queue,
        sandbox=", ".join(queue.sandboxes) or (newest.sandbox if newest else ""),
        rounds=rounds,
        builds=_builds(),
        digest=short_digest(newest.environment_digest) if newest else "",
        causes=infra_summary(),
        held=Submission.objects.filter(state=SubmissionState.HELD).count(),
        audits_waiting=len(unaudited_tasks()),
        missing_files=len(garbage.missing()),
        hosts=tuple(HostState(number, *each) for number, each in enumerate(with_signs_of_life(), start=1)),
    )


def as_data(found: Status) -> dict[str, Any]:
    """Return the public part as plain data, for ``/status.json``."""
    queue = found.queue
    return {
        "version": settings.VERSION,
        "ok": not found.troubles,
        "troubles": found.troubles,
        "evaluator": {
            "version": found.evaluator_version,
            "sandbox": found.sandbox,
            "environment_digest": found.digest,
            "without_resource_limits": queue.unconfined,
        },
        "queue": {
            "reachable": queue.registered is not None,
            "workers": queue.registered,
            "waiting": queue.queued,
            "running": queue.running,
            "held_runs": queue.held,
            "oldest_waiting": queue.oldest_waiting,
            "model_workers": queue.model_workers,
            "questions_waiting": queue.questions,
            "questions_running": queue.questions_running,
        },
        "held_submissions": found.held,
        "audits_waiting": found.audits_waiting,
        "missing_files": found.missing_files,
        "hosts": [each.as_data() for each in found.hosts],
        "causes": found.causes,
        "environments": [
            {
                "name": build.name,
                "sandbox": build.sandbox,
                "state": build.state,
                "source": short_digest(build.source_digest),
                "built": build.created,
            }
            for build in found.builds
        ],
        "self_checks": [_round_data(entry) for entry in found.rounds],
    }


def _round_data(entry: Round) -> dict[str, Any]:
    check = entry.check
    return {
        "kind": entry.kind.value,
        "made": check.finished if check else None,
        "ok": check.ok if check else None,
        "sandbox": check.sandbox if check else "",
        "as_expected": check.repelled if check else 0,
        "of": len(check.results) if check else 0,
        "protocols": {way: {"repelled": repelled, "fired": fired} for way, repelled, fired in entry.protocols},
        "unexpected": [
            {key: row[key] for key in ("attack", "group", "protocol", "expected", "outcome")} for row in entry.failures
        ],
    }


def _builds() -> tuple[EnvironmentBuild, ...]:
    """Return the newest build of each environment for each sandbox."""
    newest = EnvironmentBuild.objects.order_by().values("name", "sandbox").annotate(newest=Max("pk")).values("newest")
    return tuple(EnvironmentBuild.objects.filter(pk__in=newest).order_by("name", "sandbox"))


def audit_states() -> dict[str, int]:
    """Count the tasks of each suite's newest version by the state of their audit. One query."""
    counts = Counter(_newest_tasks().order_by().values_list("audit_state", flat=True))
    return {state: counts[state] for state in AuditState.values}


def _newest_tasks() -> QuerySet[TaskRevision]:
    newest = SuiteVersion.objects.filter(suite=OuterRef("suite")).order_by("-number").values("pk")[:1]
    return TaskRevision.objects.filter(suite_versions__in=SuiteVersion.objects.filter(pk=Subquery(newest)))


def unaudited_tasks() -> list[TaskRevision]:
    """List the runnable tasks of each suite's newest version that were not audited yet. One query."""
    unaudited = _newest_tasks().filter(audit_state=AuditState.UNAUDITED)
    listed = unaudited.select_related("task__suite").only("not_runnable_reasons", "audit", "created", "task")
    return [revision for revision in listed if not revision.not_runnable_reasons]
