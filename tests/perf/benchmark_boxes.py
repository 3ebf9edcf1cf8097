"""Measure a box's overhead: ``python -m tests.perf.benchmark_boxes [--runs 20]``. Not a test.

Imports NumPy bare, in boxes of bubblewrap, started and forked, and in boxes of Docker, in turn, so that a busy machine
slows all alike. Prints median and least milliseconds, the ratio to bare, the difference from bare, and the target.

Bare is the interpreter and packages of the bubblewrap box, with a box's options and variables. A sandbox that does not
work here is named and left out. The load is printed as well: on a busy machine the figures mean little.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from evaluator.sandbox.box import BOX_VARIABLES, INTERPRETER_OPTIONS
from evaluator.sandbox.bubblewrap import BubblewrapSandbox
from evaluator.sandbox.docker_engine import DockerSandbox
from evaluator.sandbox.environments import prepare_environment
from evaluator.sandbox.interface import BoxSpec, Ending, Sandbox, SandboxError

PROGRAM = "import numpy"
PYTHON = Path("/usr/bin/python3")
WARM_UPS = 2
IDLE_SECONDS = 300.0
SPEC = BoxSpec(label="benchmark", argv=("python", "-c", PROGRAM), mounts=())
FORKED = replace(SPEC, may_fork=True)

TARGETS: dict[str, tuple[float, float]] = {"bubblewrap": (1.5, 0.030), "docker": (1.0, 0.250)}
"""Upper limit by sandbox: a multiple of bare, plus seconds."""


def run_bare(packages: Path) -> None:
    """Run the program with the box's packages, but without a box."""
    code = f"import sys; sys.path.append({str(packages)!r}); {PROGRAM}"
    subprocess.run([str(PYTHON), *INTERPRETER_OPTIONS, "-c", code], env=BOX_VARIABLES, check=True)


def run_boxed(sandbox: Sandbox, spec: BoxSpec = SPEC) -> None:
    """Run the program in a box."""
    result = sandbox.run(spec)
    if (result.ending, result.exit_code) != (Ending.EXITED, 0):
        sys.exit(f"{sandbox.name}: the program ended with {result}")


def await_server(sandbox: BubblewrapSandbox) -> None:
    """Wait until boxes can be forked."""
    while sandbox.fork_servers.run(FORKED, lambda: False) is None:
        time.sleep(0.2)


def measure(ways: dict[str, Callable[[], None]], *, runs: int) -> dict[str, list[float]]:
    """Seconds of ``runs`` runs of each way, in turn, after a warm-up."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(WARM_UPS + runs):
        for name, way in ways.items():
            begun = time.perf_counter()
            way()
            if number >= WARM_UPS:
                seconds[name].append(time.perf_counter() - begun)
    return seconds


def usable(sandbox: Sandbox) -> bool:
    """Return whether the sandbox passes its check; print the reason if not."""
    try:
        sandbox.check()
    except SandboxError as error:
        sys.stdout.write(f"{sandbox.name} is left out: {error}\n")
        return False
    return True


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.perf.benchmark_boxes", description=__doc__)
    parser.add_argument("--runs", type=int, default=20, help="runs of each (default: %(default)s)")
    runs = parser.parse_args().runs
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="lmr-board-benchmark-") as folder:
        state_dir = Path(folder)
        state_dir.chmod(0o711)
        numpy = next(prepare_environment("numpy", state_dir, python=PYTHON).root.rglob("numpy/__init__.py"))
        docker = DockerSandbox(state_dir)
        bubblewrap = BubblewrapSandbox(state_dir, python=PYTHON, fork_idle_seconds=IDLE_SECONDS)
        ways: dict[str, Callable[[], None]] = {"bare": partial(run_bare, numpy.parents[1])}
        if usable(bubblewrap):
            await_server(bubblewrap)
            ways["bubblewrap"] = partial(run_boxed, bubblewrap)
            ways["bubblewrap, forked"] = partial(run_boxed, bubblewrap, FORKED)
        if usable(docker):
            ways["docker"] = partial(run_boxed, docker)
        seconds = measure(ways, runs=runs)
        bubblewrap.fork_servers.sweep(lambda _slot: True)
        docker.close()
    sys.stdout.write(f"{runs} runs of each in turn, {os.cpu_count()} processors, load before {load:.1f}\n")
    base = statistics.median(seconds["bare"])
    for name, times in seconds.items():
        median = statistics.median(times)
        sys.stdout.write(
            f"{name:<18} median {median * 1e3:6.1f} ms   least {min(times) * 1e3:6.1f} ms   "
            f"{median / base:5.2f} x bare   {(median - base) * 1e3:+7.1f} ms{_beside(name, median, base)}\n"
        )


def _beside(name: str, median: float, base: float) -> str:
    """The target for ``name`` and whether ``median`` (seconds) meets it."""
    if name not in TARGETS:
        return ""
    ratio, added = TARGETS[name]
    most = ratio * base + added
    verdict = "met" if median <= most else "missed"
    return f"   target {ratio:g} x bare + {added * 1e3:.0f} ms = {most * 1e3:6.1f} ms: {verdict}"


if __name__ == "__main__":
    main()
