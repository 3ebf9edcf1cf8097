"""A sandbox whose boxes are all forked, so that the tests of boxes run against it too."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from evaluator.sandbox.bubblewrap import BubblewrapSandbox
from evaluator.sandbox.forking import can_fork

if TYPE_CHECKING:
    from collections.abc import Callable

    from evaluator.sandbox.box_names import BoxName
    from evaluator.sandbox.fork_slots import Slot
    from evaluator.sandbox.interface import BoxResult, BoxSpec, Dialogue


WAIT_SECONDS = 60.0


class ForkedBubblewrap(BubblewrapSandbox):
    """Forks every box that can be forked."""

    _keys: frozenset[str] = frozenset()

    def start_server(self, slot: Slot, spec: BoxSpec) -> Callable[[], bool]:
        self._keys |= {slot.key}
        return super().start_server(slot, spec)

    def stop_servers(self) -> None:
        """Stop the servers that it started; others may belong to another test process."""
        self.fork_servers.sweep(lambda slot: slot.key in self._keys)

    def run(
        self, spec: BoxSpec, *, cancelled: Callable[[], bool] = lambda: False, dialogue: Dialogue | None = None
    ) -> BoxResult:
        return super().run(replace(spec, may_fork=True), cancelled=cancelled, dialogue=dialogue)

    def _run(self, name: BoxName, spec: BoxSpec, cancelled: Callable[[], bool], dialogue: Dialogue | None) -> BoxResult:
        if dialogue is not None or not can_fork(spec):
            return super()._run(name, spec, cancelled, dialogue)
        deadline = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < deadline:  # other test processes may use all servers that are allowed
            result = self.fork_servers.run(spec, cancelled)
            if result is not None:
                return result
            time.sleep(0.05)
        raise AssertionError(f"no server forked the box {spec.label}")
