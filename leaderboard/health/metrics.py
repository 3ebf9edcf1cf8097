"""Report the state in database and queue for ``/metrics``, when it is read. Processes count events themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import structlog
from django.db import DatabaseError
from django.utils import timezone
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from benchmark_tasks.domain import garbage
from benchmark_tasks.domain.metrics import PREFIX
from evaluator.enums import WorkState
from evaluator.judging import judge_budget
from evaluator.models import Judgement
from evaluator.queue.listening import listening
from evaluator.queue.pushing import POOL_OF
from leaderboard.backup import places
from leaderboard.health.queues import oldest_question
from leaderboard.health.status import audit_states, status, unaudited_tasks
from submissions.domain import checking

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from datetime import datetime

    from leaderboard.health.status import HostState, Status

log = structlog.get_logger(__name__)
_GAUGES: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "state_readable": ("1 if the database answered when the metrics were read, else 0.", ()),
    "queue_reachable": ("1 if the queue's server answers, else 0.", ()),
    "queue_depth": ("Items of work that wait.", ("pool",)),
    "queue_oldest_seconds": ("Age of the item that has waited longest; 0 if none waits.", ("pool",)),
    "workers": ("Workers that listen to the pool's queue.", ("pool",)),
    "test_runs": ("Test runs by state.", ("state",)),
    "tasks": ("Tasks of the suites' newest versions by the state of their audit.", ("audit",)),
    "held": ("Items that wait for a maintainer after infrastructure errors.", ("kind",)),
    "judge_dollars_left": ("US dollars that judges may still spend today.", ()),
    "judge_tokens_left": ("Tokens that judges may still use today.", ()),
    "storage_bytes": (
        "Bytes in the content store at the last daily sweep, by what names them.",
        ("named_by",),
    ),
    "missing_files": ("Files that rows name and the store lacks.", ()),
    "backup_age_seconds": ("Age of the newest backup in BACKUPS; decades if there is none or none can be read.", ()),
    "self_check_ok": ("1 if the newest round of attacks ended as expected, else 0.", ("kind",)),
    "self_check_age_seconds": ("Time since the newest round of attacks ended.", ("kind",)),
    "hosts": ("Hosts by sign of life: live or silent.", ("state",)),
    "host_free_disk_bytes": ("Free space where a live host's data folder lies.", ("host",)),
    "host_clock_off_seconds": ("Seconds by which a live host's clock is ahead of the database's.", ("host",)),
}
"""Name without prefix -> its meaning, and its labels."""


class StateCollector(Collector):
    """Reads the state with a constant number of queries. If the database does not answer, only ``state_readable``."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield every gauge."""
        try:
            found = _values()
        except DatabaseError as error:
            log.warning("database unreachable", error=str(error))
            found = {"state_readable": {(): 0}}
        for family in families():
            for labels, value in found.get(family.name.removeprefix(PREFIX), {}).items():
                family.add_metric(labels, value)
            yield family


def families() -> Iterator[GaugeMetricFamily]:
    """Yield every gauge without values."""
    for name, (meaning, labels) in _GAUGES.items():
        yield GaugeMetricFamily(f"{PREFIX}{name}", meaning, labels=labels)


def _values() -> dict[str, Mapping[tuple[str, ...], float]]:
    """Return the values of each gauge by the values of its labels."""
    found = status()
    budget = judge_budget.today()
    return {
        "state_readable": {(): 1},
        **_queues(found),
        **_hosts(found.hosts),
        "test_runs": {(state,): getattr(found.queue, state) for state in ("queued", "running", "held", "done")},
        "tasks": {(state,): number for state, number in audit_states().items()},
        "held": {
            ("submissions",): found.held,
            ("test_runs",): found.queue.held,
            ("judgements",): Judgement.objects.filter(state=WorkState.HELD).count(),
        },
        "judge_dollars_left": {(): float(budget.dollars_left)},
        "judge_tokens_left": {(): budget.tokens_left},
        "storage_bytes": {(name,): size for name, size in garbage.sizes().items()},
        "missing_files": {(): found.missing_files},
        "backup_age_seconds": {(): _age(made)} if (made := places.newest_made()) else {},
        "self_check_ok": {(each.kind,): each.check.ok for each in found.rounds if each.check},
        "self_check_age_seconds": {(each.kind,): _age(each.check.finished) for each in found.rounds if each.check},
    }


def _queues(found: Status) -> dict[str, Mapping[tuple[str, ...], float]]:
    queue, unaudited = found.queue, unaudited_tasks()
    depths = {
        "tests": (queue.queued, queue.oldest_waiting),
        "model_calls": (queue.questions, oldest_question()),
        "builds": (len(unaudited), min((each.created for each in unaudited), default=None)),
        "site": (checking.waiting(), checking.oldest_waiting()),
    }
    workers = listening()
    return {
        "queue_reachable": {(): workers is not None},
        "queue_depth": {(pool,): depth for pool, (depth, _) in depths.items()},
        "queue_oldest_seconds": {(pool,): _age(oldest) for pool, (_, oldest) in depths.items()},
        "workers": {} if workers is None else {(pool,): workers[name] for name, pool in POOL_OF.items()},
    }


def _hosts(hosts: Iterable[HostState]) -> dict[str, Mapping[tuple[str, ...], float]]:
    live = [each.host for each in hosts if each.live]
    return {
        "hosts": {("live",): len(live), ("silent",): sum(not each.live for each in hosts)},
        "host_free_disk_bytes": {(each.name,): each.disk_bytes for each in live},
        "host_clock_off_seconds": {(each.name,): each.clock_off for each in live},
    }


def _age(since: datetime | None) -> float:
    return max(0.0, (timezone.now() - since).total_seconds()) if since else 0.0
