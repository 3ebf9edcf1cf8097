"""Time the boxes of a sandbox, and count its fork servers, for ``/metrics``. No verdict depends on it."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Final

from benchmark_tasks.domain import metrics
from evaluator.sandbox.box import LocalSandbox
from evaluator.sandbox.fork_slots import Slot

if TYPE_CHECKING:
    from collections.abc import Callable

    from evaluator.sandbox.interface import BoxResult, BoxSpec, Dialogue

_START_SECONDS: Final = metrics.histogram(
    "box_start_seconds",
    "Seconds that a box took besides its program: to make and to remove it.",
    *("sandbox", "way"),
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0),
)
_RUN_SECONDS: Final = metrics.histogram(
    "box_run_seconds",
    "Seconds that the program in a box ran.",
    *("sandbox", "way"),
    buckets=(0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0),
)
_FORK_SERVERS: Final = metrics.gauge("fork_servers", "Fork servers that run on the host.", "sandbox")
_this_thread = threading.local()


class Measured(LocalSandbox):
    """To be placed before a sandbox's class among the bases of another."""

    def run(
        self, spec: BoxSpec, *, cancelled: Callable[[], bool] = lambda: False, dialogue: Dialogue | None = None
    ) -> BoxResult:
        """See :meth:`Sandbox.run`."""
        started, _this_thread.forked = time.monotonic(), False
        result = super().run(spec, cancelled=cancelled, dialogue=dialogue)
        labels = (self.name, "forked" if _this_thread.forked else "fresh")
        metrics.observe(_RUN_SECONDS, result.wall_seconds, *labels)
        metrics.observe(_START_SECONDS, max(0.0, time.monotonic() - started - result.wall_seconds), *labels)
        return result

    def reap(self, *, keep: Callable[[str], bool]) -> int:
        """See :meth:`Sandbox.reap`."""
        reaped = super().reap(keep=keep)
        # The sweep has removed those that ended.
        folder = self.forks() if hasattr(self, "forks") else None
        metrics.measure(_FORK_SERVERS, len(Slot.all_below(folder)) if folder else 0, self.name)
        return reaped

    def _fork(self, spec: BoxSpec, cancelled: Callable[[], bool]) -> BoxResult | None:
        result = super()._fork(spec, cancelled)
        _this_thread.forked = result is not None
        return result
