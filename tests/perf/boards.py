"""Measure requests of a board with many rows beside a bare view and beside nginx, which return the same bytes.

Fills the LMR-BENCH board of an instance of its own to each size in turn, and requests it from two web processes, two
requests at a time: from nginx, from a bare view, the cached board (kept), and the board after its data changed. Before
each request but the last kind, another board's data change, so that the database writes as often.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING

from tests.perf.rows import Goal, Row, p95, progress
from tests.perf.suites import MANAGE, PROJECT_ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from leaderboard.models import Entry, EntryMetric
    from leaderboard.models.board import Marks

SUITE, ANOTHER, AT_ONCE, WARMED = "lmr-bench", "another-suite", 2, 20
PORT, NGINX_PORT = 18_740, 18_741
SIZES = (13, 1_000, 10_000, 100_000)
REQUESTS = 60
BOARD = f"/board/{SUITE}/"
GOALS = {"kept": Goal(1.5), "changed": Goal(3.5)}


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
            wait_for_server()
        yield Path(folder)


def _add_another() -> None:
    from benchmark_tasks.models import SeedEpoch, Suite, SuiteVersion

    suite = Suite.objects.create(slug=ANOTHER, title="Another suite")
    SuiteVersion.objects.create(suite=suite, number=1, seed_epoch=SeedEpoch.objects.earliest("pk"))


@contextmanager
def nginx(folder: Path) -> Iterator[None]:
    """Serve the files of ``folder`` with two processes of nginx, configured below it."""
    place = folder / "nginx"
    place.mkdir()
    temporary = "".join(
        f"{kind}_temp_path {place}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    user = "user root;" if os.geteuid() == 0 else ""  # the folder is private
    (place / "nginx.conf").write_text(
        f"{user} daemon off; worker_processes 2; pid {place}/pid; error_log {place}/errors;\n"
        f"events {{}} http {{ access_log off; {temporary} default_type text/html; "
        f"server {{ listen 127.0.0.1:{NGINX_PORT}; root {folder}; }} }}\n",
        encoding="utf-8",
    )
    with subprocess.Popen(["nginx", "-e", place / "errors", "-c", place / "nginx.conf"]) as process:
        try:
            wait_for_server("/nginx/pid", NGINX_PORT)
            yield
        finally:
            process.terminate()


def wait_for_server(path: str = "/healthz", port: int = PORT) -> None:
    """Wait until a server answers; end the part if it never does."""
    for _ in range(1_200):
        try:
            get(path, port)
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


def get(path: str, port: int = PORT) -> bytes:
    """The body of a response with status 200."""
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path)
    response = connection.getresponse()
    content = response.read()
    connection.close()
    if response.status != 200:
        sys.exit(f"{path} answered {response.status}")
    return content


def seconds(path: str, requests: int, before: Callable[[], None], port: int = PORT) -> list[float]:
    """Seconds of each of ``requests`` requests, after a warm-up; calls ``before`` before each request."""

    def timed(_: int) -> float:
        before()
        started = time.perf_counter()
        get(path, port)
        return time.perf_counter() - started

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(timed, range(WARMED)))
        return list(pool.map(timed, range(requests)))


def measure(*, rounds: int, **_: object) -> list[Row]:
    """Return the rows of every size: 95th percentiles of :data:`REQUESTS` requests a round."""
    rows, requests = [], REQUESTS * rounds
    with instance() as folder, ExitStack() as stack:
        has_nginx = shutil.which("nginx") is not None
        if has_nginx:
            stack.enter_context(nginx(folder))
        for size in SIZES:
            progress(f"  {size:,} rows")
            fill(size)
            content, name = get(BOARD), f"{size}.html"
            (folder / name).write_bytes(content)
            ways = {"kept": seconds(BOARD, requests, change_another), "changed": seconds(BOARD, requests, change)}
            bare = p95(seconds(f"/bare/{name}", requests, change_another))
            static = p95(seconds(f"/{name}", requests, change_another, NGINX_PORT)) if has_nginx else None
            for way, took in ways.items():
                title = f"board of {size:,} rows, {way}, p95 ({len(content):,} bytes)"
                rows.append(Row(title, p95(took), "bare view", bare, GOALS[way]))
                if static is not None:
                    rows.append(Row(title, p95(took), "nginx", static))
        if not has_nginx:
            rows.append(Row("boards beside nginx", missing="not installed (package nginx-light)"))
    return rows
