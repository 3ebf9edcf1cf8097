"""Measure whole suites on two workers beside their bare processes and beside upstream's procedure.

Evaluates the golden sample of LMR-Mini, and of LMR-BENCH where its data set is given, on an instance of its own (a new
data folder with SQLite and Redis) with two real worker processes. Workers are started and idle before the clock starts,
from the plan to the last verdict; golden outputs exist already, as after an audit.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.perf.bare import BareTest, bare_test
from tests.perf.rows import Goal, Row, progress

if TYPE_CHECKING:
    from submissions.models import Submission

PROJECT_ROOT = Path(__file__).resolve().parents[2]
MINI, UPSTREAM = "lmr-mini", "lmr-bench"
GOAL = Goal(1.1)
WORKERS = 2
TIMEOUT_SECONDS = 900.0
MANAGE = (sys.executable, "manage.py")


@contextmanager
def instance() -> Iterator[None]:
    """An empty instance in a folder of its own, with the shipped catalogue and its queue running."""
    with tempfile.TemporaryDirectory(prefix="lmr-board-benchmark-") as folder, ExitStack() as stack:
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "leaderboard.settings", "DATA_DIR": folder, "ENV_FILE": os.devnull,
            "LOG_LEVEL": "ERROR", "EVALUATOR_SANDBOX": "bubblewrap", "DAILY_SUBMISSIONS": "1000",
        }  # fmt: skip
        for command in (["migrate", "-v0"], ["createcachetable"], ["load_catalogue"], ["prepare_evaluator"]):
            manage(*command)
        import django

        django.setup()
        mark_as_audited()
        stack.enter_context(redis_server())
        yield


def manage(*command: str) -> None:
    """Run a command of the instance that must succeed."""
    subprocess.run([*MANAGE, *command], cwd=PROJECT_ROOT, check=True, stdout=subprocess.DEVNULL)


def mark_as_audited() -> None:
    """Let every task count, without the minutes that audits take."""
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


@contextmanager
def golden_bundle(suite: str) -> Iterator[Path]:
    """A file with the golden answers to the suite's tasks."""
    from benchmark_tasks.domain.queries import current_version
    from benchmark_tasks.models import Suite
    from submissions.domain.samples import SampleKind, build_sample

    version = current_version(Suite.objects.get(slug=suite))
    assert version is not None
    with tempfile.NamedTemporaryFile(suffix=".zip") as bundle:
        bundle.write(build_sample(SampleKind.GOLDEN, version).content)
        bundle.flush()
        yield Path(bundle.name)


@contextmanager
def submitted(bundle: Path) -> Iterator[Submission]:
    """Submit the sample; cancel it afterwards, so that the same bundle can be submitted again."""
    from submissions.domain.operators import local_operator
    from submissions.domain.submitting import submit
    from submissions.enums import SubmissionState
    from submissions.models import Submission

    submission = submit(owner=local_operator(), path=bundle).submission
    try:
        yield submission
    finally:
        Submission.objects.filter(pk=submission.pk).update(state=SubmissionState.CANCELLED)


def require_passed(submission: Submission) -> None:
    """End the part if a golden answer did not pass: a run that fails early would look quick."""
    from evaluator.models import TestRun

    runs = TestRun.objects.filter(implementation__submission=submission).exclude(outcome="not_attempted")
    if wrong := list(runs.exclude(outcome="passed").values_list("revision__task__slug", "outcome", "reason")):
        sys.exit(f"the golden sample did not pass: {wrong}")


def evaluate(bundle: Path) -> float:
    """Submit the sample, wait for its score, and return the seconds between its plan and its last verdict."""
    from django.db.models import Max, Min

    from evaluator.models import TestRun
    from submissions.enums import SubmissionState
    from submissions.models import Submission

    with submitted(bundle) as submission:
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while not Submission.objects.filter(pk=submission.pk, state=SubmissionState.SCORED).exists():
            if time.monotonic() > deadline:
                sys.exit(f"the sample was not scored in {TIMEOUT_SECONDS:g} s: is the sandbox all right?")
            time.sleep(0.05)
        require_passed(submission)
        runs = TestRun.objects.filter(implementation__submission=submission)
        ends = runs.aggregate(begun=Min("created"), ended=Max("finished"))
        return float((ends["ended"] - ends["begun"]).total_seconds())


def bare_tests(bundle: Path, folder: Path) -> list[BareTest]:
    """Lay out every answer's test in ``folder``."""
    with submitted(bundle) as submission:
        answers = submission.implementations.filter(attempted=True).select_related(
            "revision__task__suite", "revision__task__paper", "submission__suite_version__seed_epoch"
        )
        return [bare_test(answer, folder / str(number)) for number, answer in enumerate(answers.order_by("pk"))]


def total(tests: list[BareTest], *, as_upstream: bool = False) -> float:
    """Seconds that all tests take, one after the other."""
    begun = time.perf_counter()
    for test in tests:
        test.run_as_upstream() if as_upstream else test.run()
    return time.perf_counter() - begun


def missing_images(tests: list[BareTest]) -> list[str]:
    """Return the images that the engine lacks, or the whole engine."""
    if shutil.which("docker") is None:
        return ["Docker"]
    images = sorted({test.image for test in tests})
    inspect = ["docker", "image", "inspect"]
    return [each for each in images if subprocess.run([*inspect, each], capture_output=True, check=False).returncode]


def measure_suite(suite: str, rounds: int) -> list[Row]:
    """Return the suite's rows: medians of the rounds; in each, all ways take their turn."""
    with golden_bundle(suite) as bundle, tempfile.TemporaryDirectory(prefix="lmr-board-benchmark-") as folder:
        tests = bare_tests(bundle, Path(folder))
        missing = missing_images(tests)
        ours, bare, upstream = list[float](), list[float](), list[float]()
        with workers(WORKERS):
            evaluate(bundle)  # golden outputs, fork servers, file caches
            total(tests)
            for number in range(rounds):
                progress(f"  {suite}: round {number + 1} of {rounds}")
                ours.append(evaluate(bundle))
                bare.append(total(tests))
                if not missing:
                    upstream.append(total(tests, as_upstream=True))
    title = f"{suite}, {len(tests)} golden answers, {WORKERS} workers"
    median = statistics.median(ours)
    rows = [Row(title, median, f"sum of bare processes / {WORKERS}", statistics.median(bare) / WORKERS, GOAL)]
    if missing:
        return [*rows, Row(f"{suite} by upstream's procedure", missing=f"not installed: {', '.join(missing)}")]
    return [*rows, Row(title, median, "upstream's procedure, one by one", statistics.median(upstream))]


def measure(*, source: str, rounds: int) -> list[Row]:
    """Return the rows of both suites."""
    with instance():
        rows = measure_suite(MINI, rounds)
        if not source:
            return [*rows, Row(UPSTREAM, missing="needs the data set: make bench SOURCE=FOLDER (docs/lmr-bench.md)")]
        progress(f"  {UPSTREAM}: import and environments")
        manage("import_suite", source, "--slug", UPSTREAM)
        manage("prepare_suite", UPSTREAM)
        mark_as_audited()
        return [*rows, *measure_suite(UPSTREAM, rounds)]
