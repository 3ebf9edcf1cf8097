"""Measure every page and list of the API on PostgreSQL, at two sizes of an instance.

Fills an instance of its own by ``generate_load``, to each size in turn, and requests every page that a visitor, a
submitter, an annotator and a maintainer can see from one web process, one request at a time, each after a change of
the data that no cached page, row or count survives. A page's time at the larger size is beside that at the smaller.

``BENCH_FOLDER`` names a folder that keeps the instances, each in a database of its own, for the next measurement.
"""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING, Final

import psycopg

from tests.perf.boards import PORT, wait_for_server
from tests.perf.rows import Goal, Row, p95, progress
from tests.perf.suites import MANAGE, PROJECT_ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.db.models import Model

    from submissions.models import User
    from tests.chaos.services import Postgres
    from tests.perf.visits import People, Visit

SIZES: Final = tuple(int(each) for each in os.environ.get("BENCH_SIZES", "10000,100000").split(","))
REQUESTS: Final = 3
WARMED: Final = 1
GOAL: Final = Goal(1.5, 0.02)
"""What does not grow may vary by as much."""
BACKUP_SIZE: Final = 10_000


@dataclass(frozen=True, slots=True)
class Viewer:
    """Somebody who looks: ``words`` for the table, the account, and the headers that prove it, for pages and API."""

    words: str
    user: User | None
    page_headers: dict[str, str]
    api_headers: dict[str, str]

    def headers(self, path: str) -> dict[str, str]:
        """Return the headers of a request."""
        return self.api_headers if path.startswith("/api/") else self.page_headers


@dataclass(frozen=True, slots=True)
class Taken:
    """What a page took: seconds to the first byte of each request, queries, and bytes."""

    seconds: list[float]
    queries: int
    size: int


@contextmanager
def instances() -> Iterator[Postgres]:
    """Start a PostgreSQL server, and set the environment of an instance that uses it."""
    from tests.chaos.services import Postgres

    with ExitStack() as stack:
        kept = os.environ.get("BENCH_FOLDER")
        made = kept or stack.enter_context(tempfile.TemporaryDirectory(prefix="lmr-board-benchmark-"))
        folder = Path(made).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o755)  # the server runs as another user
        postgres = Postgres(folder)
        postgres.start()
        stack.callback(postgres.kill, signal.SIGINT)
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "leaderboard.settings", "DATA_DIR": f"{folder}/var", "ENV_FILE": os.devnull,
            "DATABASE_URL": postgres.url, "LOG_LEVEL": "ERROR", "WEB_WORKERS": "1", "PORT": str(PORT),
            "ALLOWED_HOSTS": "localhost,127.0.0.1", "METRICS_TOKEN": "measured", "API_TOKEN_REQUESTS": "1000000",
            "API_ANONYMOUS_REQUESTS": "1000000",
        }  # fmt: skip
        import django

        django.setup()
        yield postgres


def fill(postgres: Postgres, size: int) -> list[Row]:
    """Connect to the instance with so many submissions. If there is none, copy a smaller one, and add the rest."""
    from django.db import connection

    name = f"of_{size}"
    connection.close()  # a database with connections cannot be copied
    with psycopg.connect(postgres.dsn, autocommit=True) as server:
        there = [int(each[3:]) for (each,) in server.execute("SELECT datname FROM pg_database") if each[:3] == "of_"]
        if size not in there:
            smaller = [f"of_{each}" for each in sorted(there) if each < size]
            server.execute(f"CREATE DATABASE {name} TEMPLATE {['template0', *smaller][-1]}")
    connection.settings_dict["NAME"] = name
    os.environ["DATABASE_URL"] = postgres.url.removesuffix("postgres") + name
    for command in (["migrate", "-v0"], ["createcachetable"], ["load_catalogue"], ["load_published"]):
        manage(*command)
    manage("collectstatic", "--no-input", "-v0")
    generated = manage("generate_load", "--submissions", str(size))
    rows = [Row(f"{size:,} submissions: analyse", manage("analyse", "--suite", "lmr-bench"))]
    if size not in there:
        rows.insert(0, Row(f"{size:,} submissions: generate_load, from the size before", generated))
    return rows


def manage(*command: str) -> float:
    """Run a command of the instance that must succeed; return its seconds."""
    begun = time.perf_counter()
    subprocess.run([*MANAGE, *command], cwd=PROJECT_ROOT, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begun


@contextmanager
def server() -> Iterator[int]:
    """Serve the instance from one web process; yield that process's id."""
    command = [sys.executable, "-m", "gunicorn", "--config", "gunicorn.conf.py", "leaderboard.wsgi"]
    with subprocess.Popen(command, cwd=PROJECT_ROOT) as process:
        try:
            wait_for_server()
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii")
            yield int(children.split()[0])
        finally:
            process.terminate()


def resident(process: int) -> float:
    """Return the resident memory of a process in MB."""
    for line in Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    sys.exit("the web process has ended")


def change() -> None:
    """Change the data of every board in every way that cached values depend on."""
    from django.db.models import F

    from leaderboard.models import BoardState

    more = {name: F(name) + 1 for name in ("changed", "surroundings", "results", "ranked")}
    BoardState.objects.update(**more)


def viewers() -> tuple[People, list[Viewer]]:
    """Return the people of the generated data, and everybody who looks."""
    from django.test import Client

    from submissions.domain import tokens
    from submissions.enums import Scope
    from submissions.models import User
    from tests.perf.visits import People

    maintainer, _ = User.objects.get_or_create(username="benchmark", defaults={"is_staff": True})
    submitter, annotator = (User.objects.get(username=name) for name in ("load-0", "load-reviewer-0"))
    found = [Viewer("visitor", None, {}, {})]
    for words, user in (("submitter", submitter), ("annotator", annotator), ("maintainer", maintainer)):
        client = Client()
        client.force_login(user)
        token = tokens.make(owner=user, name=f"benchmark {time.time()}", scopes=[Scope.READ], days=1)[1]
        cookie = f"sessionid={client.cookies['sessionid'].value}"
        found.append(Viewer(words, user, {"Cookie": cookie}, {"Authorization": f"Bearer {token}"}))
    return People(submitter, annotator, maintainer), found


def request(path: str, headers: dict[str, str]) -> tuple[int, float, bytes]:
    """Return a response's status, seconds to its first byte, and body."""
    connection = HTTPConnection("127.0.0.1", PORT, timeout=120)
    try:
        begun = time.perf_counter()
        connection.request("GET", path, headers={"Accept": "text/html", **headers})
        response = connection.getresponse()
        took = time.perf_counter() - begun
        return response.status, took, response.read()
    finally:
        connection.close()


def measured_page(visit: Visit, viewer: Viewer) -> Taken | None:
    """Measure a page; None if this viewer cannot see it, or if it takes no GET."""
    headers = viewer.headers(visit.path)
    path = visit.path.replace("page=last", "page=1000000")
    status, _, body = request(path, headers)
    if status != 200:
        return None
    took = []
    for _ in range(WARMED + REQUESTS):
        change()
        status, seconds, body = request(path, headers)
        if status != 200:
            sys.exit(f"{path} answered {status} to the {viewer.words}")
        took.append(seconds)
    del took[:WARMED]
    return Taken(took, queries(path, viewer), len(body))


def queries(path: str, viewer: Viewer) -> int:
    """Return the number of queries of a request after a change, in this process."""
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    client = Client(HTTP_HOST="localhost", headers=viewer.headers(path))
    client.get(path)
    change()
    with CaptureQueriesContext(connection) as captured:
        client.get(path)
    return len(captured)


def measure_pages() -> dict[tuple[str, str], Taken]:
    """Measure every page as a visitor; one that visitors cannot see as everybody who can."""
    from tests.perf.visits import visits

    people, everybody = viewers()
    found = {}
    for visit in visits(people):
        for viewer in everybody:
            if (visit.name, everybody[0].words) in found:
                break
            if (taken := measured_page(visit, viewer)) is not None:
                found[visit.name, viewer.words] = taken
                slow = statistics.median(taken.seconds)
                if slow > 0.25:
                    progress(f"    {visit.name} as {viewer.words}: {slow:.2f} s, {taken.queries} queries")
    return found


def measure(*, rounds: int, **_: object) -> list[Row]:
    """Return a row for each page and viewer, and those of the instance at each size."""
    del rounds
    pages: dict[int, dict[tuple[str, str], Taken]] = {}
    others: list[Row] = []
    with instances() as postgres:
        for size in SIZES:
            progress(f"  {size:,} submissions: generate …")
            others += [*fill(postgres, size), *_sizes(size)]
            progress(f"  {size:,} submissions: pages …")
            with server() as process:
                request("/", {})
                before = resident(process)
                pages[size] = measure_pages()
                scrapes = [request("/metrics", {"Authorization": "Bearer measured"})[1] for _ in range(REQUESTS)]
                others.append(Row(f"{size:,} submissions: scrape of /metrics, p95", p95(scrapes)))
                memory = f"{before:.0f} MB after the first page, {resident(process):.0f} MB after all"
                others.append(Row(f"{size:,} submissions: memory of the web process", figure=memory))
            if size <= BACKUP_SIZE:
                others.append(_backup(size))
    return [*_page_rows(pages), *others]


def _sizes(size: int) -> list[Row]:
    from leaderboard.load.generating import database_bytes
    from submissions.models import Implementation, Submission

    total = database_bytes()
    models: list[type[Model]] = [Submission, Implementation]
    rows = ", ".join(f"{model._base_manager.count():,} {model._meta.verbose_name_plural}" for model in models)
    return [Row(f"{size:,} submissions: database", figure=f"{total / 1e9:.2f} GB, {rows}")]


def _backup(size: int) -> Row:
    file = Path(os.environ["DATA_DIR"]) / f"{size}.tar"
    seconds = manage("backup", str(file))
    title = f"{size:,} submissions: backup ({file.stat().st_size / 1e9:.2f} GB)"
    file.unlink()
    return Row(title, seconds)


def _page_rows(pages: dict[int, dict[tuple[str, str], Taken]]) -> Iterator[Row]:
    """Yield a row for each page at the largest size, beside the smallest one."""
    small, large = min(pages), max(pages)
    for (name, viewer), taken in pages[large].items():
        beside = pages[small].get((name, viewer))
        median = 1000 * statistics.median(taken.seconds)
        facts = f"median {median:.0f} ms, {taken.queries} queries, {taken.size:,} bytes"
        title = f"{name}, {viewer}, {large:,}: longest of three ({facts})"
        if beside is None:
            yield Row(title, p95(taken.seconds))
        else:
            yield Row(title, p95(taken.seconds), f"{small:,} ({beside.queries} queries)", p95(beside.seconds), GOAL)
