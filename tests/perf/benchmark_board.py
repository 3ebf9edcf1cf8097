"""Measure requests of a board with many rows: ``python -m tests.perf.benchmark_board [--sizes 13,1000]``. Not a test.

Fills the LMR-BENCH board of an instance of its own (a new data folder with SQLite, or the database that DATABASE_URL
names, which must be empty) to each size in turn. Then requests it from two web processes, two requests at a time: the
same bytes from a bare view, the cached board (kept), and the board after its data changed. Before each of the first two
requests another board's data change, so that the database writes as often. Prints milliseconds (median and 95th
percentile), the ratio of the 95th percentiles to the bare view's, and the page's size in bytes. The load is printed as
well: on a busy machine the figures mean little.
"""

from __future__ import annotations

import argparse
import gzip
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING

from tests.perf.benchmark_suite import MANAGE, PROJECT_ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from leaderboard.models import Entry, EntryMetric
    from leaderboard.models.board import Marks

SUITE, ANOTHER, PORT, AT_ONCE, WARMED = "lmr-bench", "another-suite", 18_740, 2, 20
BOARD = f"/board/{SUITE}/"
TARGETS = {"kept": 1.5, "changed": 6.0}


@contextmanager
def instance(*, served: bool = True) -> Iterator[Path]:
    """Make an empty instance with the catalogue and the 13 published rows; two processes serve it if ``served``."""
    with tempfile.TemporaryDirectory(prefix="lmr-board-benchmark-") as folder, ExitStack() as stack:
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "tests.perf.settings", "DATA_DIR": folder, "ENV_FILE": os.devnull,
            "LOG_LEVEL": "ERROR", "WEB_WORKERS": "2", "PORT": str(PORT), "ALLOWED_HOSTS": "localhost,127.0.0.1",
        }  # fmt: skip
        commands = [["migrate", "--verbosity", "0"], ["createcachetable"], ["load_catalogue"], ["load_published"]]
        for command in [*commands, ["collectstatic", "--no-input", "--verbosity", "0"]]:
            subprocess.run([*MANAGE, *command], cwd=PROJECT_ROOT, check=True, stdout=subprocess.DEVNULL)
        import django

        django.setup()
        _add_another()
        if served:
            server = [sys.executable, "-m", "gunicorn", "--config", "gunicorn.conf.py", "leaderboard.wsgi"]
            process = stack.enter_context(subprocess.Popen(server, cwd=PROJECT_ROOT))
            stack.callback(process.terminate)
            _wait_for_server()
        yield Path(folder)


def _add_another() -> None:
    from benchmark_tasks.models import SeedEpoch, Suite, SuiteVersion

    suite = Suite.objects.create(slug=ANOTHER, title="Another suite")
    SuiteVersion.objects.create(suite=suite, number=1, seed_epoch=SeedEpoch.objects.earliest("pk"))


def _wait_for_server() -> None:
    for _ in range(300):
        try:
            get("/healthz")
        except OSError:
            time.sleep(0.1)
        else:
            return
    sys.exit("the web server did not start")


def fill(rows: int) -> None:
    """Add published submissions until the board has ``rows`` rows, with three raters' results of every task."""
    from django.utils import timezone

    from benchmark_tasks.models import SuiteVersion
    from leaderboard.board.ranks import rank_outdated
    from leaderboard.models import Entry, EntryMetric
    from submissions.models import Submission, System, User

    version = SuiteVersion.objects.get(suite__slug=SUITE)
    owner, _ = User.objects.get_or_create(username="benchmark")
    there = Entry.objects.filter(suite_version=version).count()
    chance = random.Random(there)  # noqa: S311 - figures to look at, no secrets
    now = timezone.now()
    facts = {"owner": owner, "suite_version": version, "state": "scored", "visibility": "published"}
    for start in range(there, rows, 2_000):
        numbers = range(start, min(rows, start + 2_000))
        systems = System.objects.bulk_create(
            System(
                slug=f"benchmark-{number}", name=f"System {number}", backbone=f"model-{number % 40}",
                scaffold=("none", "hands")[number % 2], organisation=f"Laboratory {number % 25}", owner=owner,
            )
            for number in numbers
        )  # fmt: skip
        submissions = Submission.objects.bulk_create(
            Submission(system=system, published_at=now, bundle_digest=f"{system.pk:064d}", **facts)
            for system in systems
        )
        marks = [_marks(chance) for _ in systems]
        entries = Entry.objects.bulk_create(
            Entry(
                suite_version=version, submission=sent, system_id=sent.system_id, inputs="full", kind="ranked",
                provenance="graded_here", published=True,
                marks=mark, cost=chance.random(), tokens=chance.randrange(10**6), date=now, counting=99,
            )
            for sent, mark in zip(submissions, marks, strict=True)
        )  # fmt: skip
        EntryMetric.objects.bulk_create(_metric(entry, mark) for entry, mark in zip(entries, marks, strict=True))
    change(results=True)
    rank_outdated()


def _marks(chance: random.Random) -> Marks:
    judge, human = ([chance.choice(("CC", "LC", "LI")) for _ in range(28)] for _ in range(2))
    return {"tests": [float(chance.random() < 0.4) for _ in range(28)], "judge": judge, "human": human}


def _metric(entry: Entry, marks: Marks) -> EntryMetric:
    from leaderboard.board.labels import distributions
    from leaderboard.models import EntryMetric
    from leaderboard.statistics.intervals import wilson

    passed = sum(share == 1.0 for share in marks["tests"])
    low, high = wilson(passed, 28)
    labels_by_rater = {"judge": marks["judge"], "human": marks["human"]}
    counts = {
        rater: {label: float(labels.count(label)) for label in ("CC", "LC", "LI")}
        for rater, labels in labels_by_rater.items()
    }
    return EntryMetric(
        entry=entry, suite_version_id=entry.suite_version_id, listed=entry.listed, strength=2,
        name=entry.system.name.lower(),
        tasks=28, tests_rate=passed / 28, tests_passed=passed, tests_low=low, tests_high=high,
        labels=distributions(counts, 28),
    )  # fmt: skip


def change(suite: str = SUITE, *, results: bool = False) -> None:
    """Increase the version of a board's data, as any change does."""
    from benchmark_tasks.models import SuiteVersion
    from leaderboard.board.states import note_change

    note_change(SuiteVersion.objects.get(suite__slug=suite).pk, results=results)


def change_another() -> None:
    """Do the same work as :func:`change` without changing the measured board."""
    change(ANOTHER)


def get(path: str, **headers: str) -> bytes:
    """The body of a response with status 200."""
    connection = HTTPConnection("127.0.0.1", PORT, timeout=60)
    connection.request("GET", path, headers=headers)
    response = connection.getresponse()
    content = response.read()
    connection.close()
    if response.status != 200:
        sys.exit(f"{path} answered {response.status}")
    return content


def milliseconds(path: str, requests: int, before: Callable[[], None]) -> list[float]:
    """Milliseconds of each of ``requests`` requests, after a warm-up; calls ``before`` before each request."""

    def timed(_: int) -> float:
        before()
        started = time.perf_counter()
        get(path)
        return 1000 * (time.perf_counter() - started)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(timed, range(WARMED)))
        return list(pool.map(timed, range(requests)))


def main() -> None:
    """Measure each size and print a line for it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="13,1000,10000,100000", help="rows, ascending; default: %(default)s")
    parser.add_argument("--requests", type=int, default=300, help="of each kind; default: %(default)s")
    options = parser.parse_args()
    with instance() as folder:
        targets = ", ".join(f"{name} at most {most} x" for name, most in TARGETS.items())
        sys.stdout.write(
            f"load {os.getloadavg()[0]:.1f}; milliseconds, median / p95; targets, of the bare p95: {targets}\n"
        )
        sys.stdout.write("| rows | bare | kept | changed | kept / bare | changed / bare | bytes | compressed |\n")
        sys.stdout.write("|---|---|---|---|---|---|---|---|\n")
        for rows in map(int, options.sizes.split(",")):
            fill(rows)
            content = get(BOARD)
            (folder / f"{rows}.html").write_bytes(content)
            took = {
                "bare": milliseconds(f"/bare/{rows}.html", options.requests, change_another),
                "kept": milliseconds(BOARD, options.requests, change_another),
                "changed": milliseconds(BOARD, options.requests, change),
            }
            p95 = {name: statistics.quantiles(values, n=20)[-1] for name, values in took.items()}
            cells = [f"{statistics.median(took[name]):.1f} / {p95[name]:.1f}" for name in took]
            ratios = [f"{p95[name] / p95['bare']:.2f}" for name in ("kept", "changed")]
            sizes = [f"{len(content):,}", f"{len(gzip.compress(content, 6)):,}"]
            sys.stdout.write(f"| {' | '.join([f'{rows:,}', *cells, *ratios, *sizes])} |\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
