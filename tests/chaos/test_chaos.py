"""Random faults during runs: each run ends once, with the result that it has without faults, and leaves nothing.

``make test`` injects each fault once during 30 runs; ``make chaos`` and ``make test-all`` inject more during 60.
``CHAOS_SEED`` chooses the faults; a failure prints its seed and a timeline.
"""

from __future__ import annotations

import os
import random
import secrets
import shutil
import subprocess
import tempfile
import time
from functools import partial
from pathlib import Path
from signal import SIGKILL, SIGQUIT, SIGTERM
from typing import TYPE_CHECKING

import pytest

from tests.chaos.instance import Instance, strays
from tests.chaos.services import ServiceMissingError
from tests.conftest import IN_FULL
from tests.evaluator.processes import children_of, kill, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.chaos.services import Service

# Each has five boxes, and one answer that needs none.
SUBMISSIONS = 12 if IN_FULL else 6
FAULTS = 8 if IN_FULL else 5
EVERY_SECONDS = (1.0, 3.0)
AWAY_SECONDS = (0.2, 2.0)

pytestmark = [pytest.mark.chaos, pytest.mark.xdist_group("boxes-of-runs")]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short path that other users may enter: it holds sockets, and PostgreSQL runs as another user."""
    made = Path(tempfile.mkdtemp(prefix="chaos-", dir="/tmp"))
    made.chmod(0o711)
    yield made
    shutil.rmtree(made, ignore_errors=True)


class Chaos:
    """Injects faults into an instance, one after the other, and records which and when."""

    def __init__(self, instance: Instance, seed: str) -> None:
        self._instance = instance
        self._random = random.Random(seed)  # noqa: S311 - to be repeated, not to be secret
        self._began = time.monotonic()
        self.timeline: list[str] = []

    def faults(self) -> dict[str, Callable[[], None]]:
        """All faults, by name."""
        instance = self._instance
        found: dict[str, Callable[[], None]] = {
            "worker killed, its work-horse goes on": partial(self._kill_worker, parent=True, horses=False),
            "work-horse killed": partial(self._kill_worker, parent=False, horses=True),
            "worker and work-horse killed": partial(self._kill_worker, parent=True, horses=True),
            "redis killed, everything in it lost": partial(self._restart, instance.redis, SIGKILL),
            "postgresql killed": partial(self._restart, instance.postgres, SIGQUIT),
        }
        if instance.docker:
            found["docker stopped and started"] = partial(self._restart, instance.docker, SIGTERM)
            found["docker killed and started"] = partial(self._restart, instance.docker, SIGKILL)
        return found

    def inject(self) -> None:
        """Inject every fault once, then random ones, until there were ``FAULTS`` or everything is scored."""
        faults = self.faults()
        names = self._random.sample(sorted(faults), k=len(faults))
        names += self._random.choices(sorted(faults), k=FAULTS - len(names))
        for name in names:
            time.sleep(self._random.uniform(*EVERY_SECONDS))
            if self._instance.unfinished() == 0:
                self._note("everything is scored")
                return
            self._note(name)
            faults[name]()

    def _kill_worker(self, *, parent: bool, horses: bool) -> None:
        workers = self._instance.keeper.workers()
        # Prefer a worker with a work-horse.
        busy = [worker for worker in workers if children_of(worker)] or workers
        if busy:
            worker = self._random.choice(busy)
            kill([*([worker] if parent else []), *(children_of(worker) if horses else [])])

    def _restart(self, service: Service, number: int) -> None:
        service.kill(number)  # type: ignore[arg-type]
        time.sleep(self._random.uniform(*AWAY_SECONDS))
        service.start()

    def _note(self, text: str) -> None:
        self.timeline.append(f"{time.monotonic() - self._began:6.1f} s  {text}")


@pytest.mark.parametrize(
    "sandbox",
    [pytest.param("bubblewrap", marks=pytest.mark.bubblewrap), pytest.param("docker", marks=pytest.mark.docker)],
)
def test_every_run_ends_once_as_without_faults_and_nothing_is_left(sandbox: str, folder: Path) -> None:
    seed = os.environ.get("CHAOS_SEED") or secrets.token_hex(4)
    try:
        instance = Instance(folder, sandbox=sandbox)
    except ServiceMissingError as missing:
        pytest.skip(str(missing))
    timeline: list[str] = []
    try:
        with instance:
            with instance.keeper:
                instance.prepare(1)
                instance.wait_until_scored()
                (expected,) = instance.verdicts().values()
                instance.prepare(SUBMISSIONS)
                chaos = Chaos(instance, seed)
                timeline = chaos.timeline
                chaos.inject()
                instance.wait_until_scored()
            _check_verdicts(instance, expected)
            _check_nothing_is_left(instance)
    except (AssertionError, TimeoutError, OSError, subprocess.SubprocessError) as error:
        text = "\n".join([f"CHAOS_SEED={seed} ({sandbox})", *timeline, str(error), instance.log_ends()])
        pytest.fail(text, pytrace=False)


def _check_verdicts(instance: Instance, expected: list[tuple[object, ...]]) -> None:
    outcomes = [verdict[2] for verdict in expected]
    assert outcomes == ["passed", "wrong_output", "raised", "passed", "passed", "not_attempted"], outcomes
    verdicts = instance.verdicts()
    assert len(verdicts) == 1 + SUBMISSIONS
    for submission, found in verdicts.items():
        assert found == expected, f"submission {submission}: {found}"
    accepted = instance.accepted_attempts()
    assert accepted == [1] * (5 * (1 + SUBMISSIONS)), accepted
    assert instance.query("SELECT count(*) FROM evaluator_attempt WHERE state = 'running'") == [(0,)]


def _check_nothing_is_left(instance: Instance) -> None:
    """No process, container, copy of a mount or cgroup is left. An orphan may need time to notice its lost lease."""
    wait_until(lambda: not _programs_left(instance), f"these to end: {_programs_left(instance)}", seconds=20)
    # Boxes are listed machine-wide, and other tests may run at the same time.
    nothing = "boxes removed: 0"
    wait_until(lambda: instance.printed("reconcile").strip().endswith(nothing), "the sweep to find nothing", seconds=20)
    staged = [
        path.name for place in ("boxes", "docker-boxes") for path in (instance.data / "sandbox" / place).glob("run-*")
    ]
    assert staged == []
    assert list((instance.data / "work").glob("*/*")) == []
    if instance.docker:
        assert instance.docker.containers() == []


def _programs_left(instance: Instance) -> list[str]:
    ours = ("postgres", "redis-server", "dockerd", "containerd")
    return [line for line in strays(instance.data) if not any(name in line for name in ours)]
