"""Which runs a host can take, and what the others wait for."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from django.conf import settings
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Coalesce

from benchmark_tasks.models import TaskRevision
from evaluator.enums import RunState
from evaluator.hosts.rows import with_signs_of_life
from evaluator.models import Host, TestRun
from evaluator.queue import leases
from evaluator.sandbox.interface import SandboxError
from evaluator.sandbox.task_environments import environment_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from django.db.models import QuerySet

NO_HOST: Final = "waiting: no host that is up offers the environment of this task"
_SEVERAL: Final = 2
_GRADED: Final = Coalesce("revision", "implementation__revision")
"""The revision that decides a run's environment."""


def able(waiting: QuerySet[TestRun]) -> QuerySet[TestRun]:
    """Return those of ``waiting`` that this host can take.

    A host that has not reported, or is the only one, takes all: a run whose environment it lacks then gets the reason.
    A host with a problem leaves all to the others.
    """
    listed = with_signs_of_life()
    host = next((each for each, _ in listed if each.name == settings.ENVIRONMENT.host_name), None)
    if host is None or not any(each != host for each in evaluating(listed)):
        return waiting
    if host.problem:
        return waiting.none()
    return waiting.alias(graded=_GRADED).filter(_offered_by([host], _environments(waiting)))


def leave_to_others(problem: str) -> bool:
    """Take no runs until this host's next report finds no ``problem``; return whether another host goes on."""
    Host.objects.filter(name=settings.ENVIRONMENT.host_name).update(problem=problem)
    return any(each.name != settings.ENVIRONMENT.host_name for each in evaluating(with_signs_of_life()))


def waits_for_another_host() -> bool:
    """Return whether runs are due that this host cannot take."""
    due = leases.due(TestRun.objects.all())
    return due.exists() and not able(due).exists()


def note_unable() -> int:
    """Store on waiting runs that no live host can take what they wait for, and remove it later; return their number."""
    waiting = TestRun.objects.filter(state=RunState.QUEUED)
    hosts = evaluating(with_signs_of_life())
    if len(hosts) < _SEVERAL:  # one host takes all
        return 0
    offered = waiting.alias(graded=_GRADED).filter(_offered_by(hosts, _environments(waiting)))
    takeable = set(offered.values_list("pk", flat=True))
    waiting.filter(pk__in=takeable, reason=NO_HOST).update(reason="")
    return waiting.exclude(pk__in=takeable).update(reason=NO_HOST)


def evaluating(listed: Iterable[tuple[Host, bool]]) -> list[Host]:
    """Return those of the ``listed`` hosts that evaluate now."""
    return [host for host, live in listed if live and "tests" in host.pools and not host.problem]


def _environments(waiting: QuerySet[TestRun]) -> dict[str, list[int]]:
    """Return the waiting runs' revisions by the name of their environment; empty where a task names none."""
    pks = waiting.annotate(graded=_GRADED).values("graded")
    found = defaultdict(list)
    for revision in TaskRevision.objects.filter(pk__in=pks).select_related("task__suite", "task__paper"):
        try:
            name = environment_name(revision)
        except SandboxError:
            name = ""
        found[name].append(revision.pk)
    return dict(found)


def _offered_by(hosts: Iterable[Host], environments: Mapping[str, list[int]]) -> Q:
    """Select the runs that one of ``hosts`` can take. Without an environment's name any can: it stores the reason."""
    able = Q(graded__in=environments.get("", []))
    for host in hosts:
        for name, digest in host.environments.items():
            if name in environments:
                able |= Q(graded__in=environments[name]) & ~_pinned_elsewhere(name, digest)
    return able


def _pinned_elsewhere(name: str, digest: str) -> Q:
    """Select the runs whose score has a result that another state of the environment gave.

    The check when a verdict is stored (``task_environments.require_same``) decides; this one avoids useless tries.
    """
    decided = TestRun.objects.filter(environment=name).exclude(environment_digest__in=["", digest])
    first = decided.filter(reevaluation__isnull=True, implementation__submission=OuterRef("implementation__submission"))
    repeated = decided.filter(reevaluation=OuterRef("reevaluation"))
    return Q(reevaluation__isnull=True) & Q(Exists(first)) | Q(Exists(repeated))
