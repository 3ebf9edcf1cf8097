"""Measure an answer from claim to verdict in each sandbox, beside its test as a bare process.

All golden answers of LMR-Mini take their turn in every way, round after round, so that a busy machine slows all alike.
A time is the mean over the answers of their medians over the rounds.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.perf.rows import Goal, Row, progress
from tests.perf.suites import MINI, bare_tests, golden_bundle, instance, require_passed, submitted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.perf.bare import BareTest

GOAL: Final = Goal(1.0, plus=0.050)
RUNTIME: Final = "runsc"
IDLE_MINUTES: Final = 15


@dataclass(frozen=True, slots=True)
class Way:
    """A sandbox with its settings, by their names in ``Environment``."""

    name: str
    settings: dict[str, Any]
    goal: Goal | None = None

    @property
    def forks(self) -> bool:
        """Whether boxes are forked from a server."""
        return bool(self.settings.get("sandbox_idle_minutes"))

    @contextmanager
    def chosen(self) -> Iterator[None]:
        """Use this sandbox."""
        from django.conf import settings
        from django.test import override_settings

        with override_settings(ENVIRONMENT=replace(settings.ENVIRONMENT, **self.settings)):
            yield


WAYS: Final = (
    Way("bubblewrap, forked", {"evaluator_sandbox": "bubblewrap", "sandbox_idle_minutes": IDLE_MINUTES}, GOAL),
    Way("bubblewrap, started", {"evaluator_sandbox": "bubblewrap", "sandbox_idle_minutes": 0}),
    Way("Docker", {"evaluator_sandbox": "docker"}),
    Way("gVisor", {"evaluator_sandbox": "docker", "sandbox_runtime": RUNTIME}),
)


def obstacle(way: Way) -> str:
    """Return why this sandbox cannot be used here; empty if it can."""
    from evaluator.sandbox.configuration import configured_sandbox
    from evaluator.sandbox.interface import SandboxError

    if way.settings.get("sandbox_runtime"):
        command = ["docker", "info", "--format", "{{json .Runtimes}}"]
        known = shutil.which("docker") and subprocess.run(command, capture_output=True, text=True, check=False).stdout
        if f'"{RUNTIME}"' not in (known or ""):
            return "not installed"
    with way.chosen():
        try:
            configured_sandbox()
        except SandboxError as error:
            return f"does not work: {error}".replace("\n", " ")
    return ""


def seconds_of_answers(bundle: Path, way: Way) -> list[float]:
    """Seconds from claim to verdict of each golden answer, in this process."""
    from evaluator.testing.evaluate import evaluate_next

    took = []
    with way.chosen(), submitted(bundle) as submission:
        while True:
            begun = time.perf_counter()
            if not evaluate_next(submission_id=submission.pk):
                break
            took.append(time.perf_counter() - begun)
        require_passed(submission)
    return took


def await_server(way: Way) -> None:
    """Wait until boxes can be forked: the first answers start the server."""
    from evaluator.sandbox.bubblewrap import BubblewrapSandbox
    from evaluator.sandbox.configuration import configured_sandbox
    from evaluator.sandbox.interface import BoxSpec

    spec = BoxSpec(label="benchmark", argv=("python", "-c", "pass"), mounts=(), may_fork=True)
    with way.chosen():
        sandbox = configured_sandbox()
        assert isinstance(sandbox, BubblewrapSandbox)
        for _ in range(300):
            if sandbox.fork_servers.run(spec, lambda: False) is not None:
                return
            time.sleep(0.2)
    sys.exit("boxes cannot be forked here: the fork server did not start (it needs root and control groups)")


def seconds_of_bare(tests: list[BareTest]) -> list[float]:
    """Seconds of each bare process."""
    took = []
    for test in tests:
        begun = time.perf_counter()
        test.run()
        took.append(time.perf_counter() - begun)
    return took


def mean_of_medians(rounds: list[list[float]]) -> float:
    """Return the mean over answers of their medians over rounds."""
    return statistics.fmean([statistics.median(answer) for answer in zip(*rounds, strict=True)])


def measure(*, rounds: int, **_: object) -> list[Row]:
    """Return a row for each sandbox."""
    took: dict[str, list[list[float]]] = defaultdict(list)
    with (
        instance(),
        golden_bundle(MINI) as bundle,
        tempfile.TemporaryDirectory(prefix="lmr-board-benchmark-") as folder,
    ):
        tests = bare_tests(bundle, Path(folder))
        obstacles = {way.name: obstacle(way) for way in WAYS}
        for way in WAYS:  # golden outputs and processor family
            if obstacles[way.name]:
                continue
            try:
                seconds_of_answers(bundle, way)
                if way.forks:
                    await_server(way)
            except SystemExit as reason:
                obstacles[way.name] = str(reason)
        usable = [way for way in WAYS if not obstacles[way.name]]
        for number in range(rounds):
            progress(f"  round {number + 1} of {rounds}")
            took["bare"].append(seconds_of_bare(tests))
            for way in usable:
                took[way.name].append(seconds_of_answers(bundle, way))
    bare = mean_of_medians(took["bare"])
    return [
        Row(f"an answer in {way.name}", missing=obstacles[way.name])
        if obstacles[way.name]
        else Row(f"an answer in {way.name}", mean_of_medians(took[way.name]), "bare process", bare, way.goal)
        for way in WAYS
    ]
