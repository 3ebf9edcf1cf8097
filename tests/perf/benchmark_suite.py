"""Measure a second worker's gain: ``python -m tests.perf.benchmark_suite [--runs 3] [--sandbox docker]``. Not a test.

Evaluates the golden sample of ``lmr-mini`` on an instance of its own (a new data folder with SQLite and Redis) with one
real worker process and with two, in turn. Prints the median seconds from the plan to the last verdict, their ratio and
its target. Workers are started and idle before the clock starts; golden outputs exist already, as after an audit. The
load is printed as well: on a busy machine the figures mean little.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

PROJECT_ROOT = Path(__file__).resolve().parents[2]
SUITE = "lmr-mini"
TARGET = 0.65
TIMEOUT_SECONDS = 300.0
MANAGE = (sys.executable, "manage.py")


@contextmanager
def instance(sandbox: str) -> Iterator[None]:
    """An empty instance in a folder of its own, with the shipped catalogue and its queue running."""
    with tempfile.TemporaryDirectory(prefix="lmr-board-benchmark-") as folder, ExitStack() as stack:
        for name in ("DATABASE_URL", "REDIS_URL"):
            os.environ.pop(name, None)
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "leaderboard.settings", "DATA_DIR": folder, "ENV_FILE": os.devnull,
            "LOG_LEVEL": "ERROR", "EVALUATOR_SANDBOX": sandbox, "DAILY_SUBMISSIONS": "1000",
        }  # fmt: skip
        for command in (["migrate", "-v0"], ["createcachetable"], ["load_catalogue"], ["prepare_evaluator"]):
            subprocess.run([*MANAGE, *command], cwd=PROJECT_ROOT, check=True, stdout=subprocess.DEVNULL)
        import django

        django.setup()
        _mark_as_audited()
        stack.enter_context(redis_server())
        yield


def _mark_as_audited() -> None:
    from benchmark_tasks.enums import AuditState
    from benchmark_tasks.models import TaskRevision

    TaskRevision.objects.update(audit_state=AuditState.PASSED)


@contextmanager
def redis_server() -> Iterator[None]:
    """The embedded Redis of the instance."""
    from django.conf import settings

    from leaderboard.supervision import embedded_redis

    environment = settings.ENVIRONMENT
    socket, folder = environment.embedded_redis_socket, environment.data_dir / "redis"
    embedded_redis.prepare_folders(socket=socket, folder=folder)
    command = embedded_redis.command_line(binary=embedded_redis.server_binary(), socket=socket, folder=folder)
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            while not embedded_redis.answers(environment.queue_url):
                time.sleep(0.02)
            yield
        finally:
            process.terminate()


@contextmanager
def workers(count: int) -> Iterator[None]:
    """Run ``count`` worker processes, all waiting for work."""
    from rq import Worker

    from evaluator.queue.pushing import opened

    processes = [
        subprocess.Popen([*MANAGE, "worker", "--name", f"benchmark-{number}"], cwd=PROJECT_ROOT)
        for number in range(count)
    ]
    try:
        with opened() as queue:
            deadline = time.monotonic() + TIMEOUT_SECONDS
            while sum(worker.get_state() == "idle" for worker in Worker.all(queue.connection)) < count:
                if time.monotonic() > deadline or any(process.poll() is not None for process in processes):
                    sys.exit("the workers did not start")
                time.sleep(0.1)
        yield
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait()


def evaluate(bundle: Path) -> float:
    """Submit the sample, wait for its score, and return the seconds between its plan and its last verdict."""
    from django.db.models import Max, Min

    from evaluator.models import TestRun
    from submissions.domain.operators import local_operator
    from submissions.domain.submitting import submit
    from submissions.enums import SubmissionState
    from submissions.models import Submission

    submission = submit(owner=local_operator(), path=bundle).submission
    mine = Submission.objects.filter(pk=submission.pk)
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not mine.filter(state=SubmissionState.SCORED).exists():
        if time.monotonic() > deadline:
            sys.exit(f"the sample was not scored in {TIMEOUT_SECONDS:g} s: is the sandbox all right?")
        time.sleep(0.05)
    runs = TestRun.objects.filter(implementation__submission=submission)
    if runs.exclude(outcome="passed").exists():
        sys.exit(f"the golden sample did not pass: {list(runs.values_list('outcome', 'reason'))}")
    ends = runs.aggregate(begun=Min("created"), ended=Max("finished"))
    # Once the submission is cancelled, the same bundle can be submitted again.
    mine.update(state=SubmissionState.CANCELLED)
    return float((ends["ended"] - ends["begun"]).total_seconds())


def measure(bundle: Path, *, runs: int) -> dict[int, list[float]]:
    """Seconds of ``runs`` evaluations with one worker and with two, in turn, after a warm-up."""
    seconds: dict[int, list[float]] = {1: [], 2: []}
    with workers(1):
        evaluate(bundle)
    for _ in range(runs):
        for count, found in seconds.items():
            with workers(count):
                found.append(evaluate(bundle))
    return seconds


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.perf.benchmark_suite", description=__doc__)
    parser.add_argument("--runs", type=int, default=3, help="evaluations with each number (default: %(default)s)")
    parser.add_argument("--sandbox", choices=["auto", "bubblewrap", "docker"], default="auto")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    with instance(options.sandbox):
        from benchmark_tasks.domain.queries import current_version
        from benchmark_tasks.models import Suite
        from evaluator.sandbox.configuration import configured_sandbox
        from submissions.domain.samples import SampleKind, build_sample

        version = current_version(Suite.objects.get(slug=SUITE))
        assert version is not None
        with tempfile.NamedTemporaryFile(suffix=".zip") as bundle:
            bundle.write(build_sample(SampleKind.GOLDEN, version).content)
            bundle.flush()
            seconds = measure(Path(bundle.name), runs=options.runs)
        name = configured_sandbox().name
    one, two = (statistics.median(seconds[count]) for count in (1, 2))
    listed = {count: " ".join(f"{value:.2f}" for value in found) for count, found in seconds.items()}
    sys.stdout.write(
        f"{SUITE} in {name}, {os.cpu_count()} processors, load before {load:.1f}\n"
        f"one worker    median {one:6.2f} s   ({listed[1]})\n"
        f"two workers   median {two:6.2f} s   ({listed[2]})\n"
        f"two / one     {two / one:6.2f}     target: at most {TARGET}: {'met' if two <= TARGET * one else 'missed'}\n"
    )


if __name__ == "__main__":
    main()
